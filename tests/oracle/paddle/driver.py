#!/usr/bin/env python3
"""driver.py - drives the real allocators of a PaddlePaddle wheel on the device of a dry run (../README.md: the protocol).

PaddlePaddle chooses its allocator when it is imported, by flags, and CUDA's runtime is linked into it.  So there are two processes: the
outer one translates the head of the trace to flags and starts itself again under gemem-dry-run; the inner one makes tensors, and marks
the beginning of each event in the recording, by waiting for a stream of its own.  The device calls, refused ones too, and what is held
are those of that recording.  There is one stream (scenarios.py).

A tensor is its block: Tensor.data_ptr() is where it lies; where PaddlePaddle's statistics count blocks they say how long it is.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from unused import stand_for  # noqa: E402

STRATEGIES = {  # gemem's allocator: flags
    'paddle-auto-growth': {'allocator_strategy': 'auto_growth'},
    'paddle-vmm-auto-growth': {'allocator_strategy': 'auto_growth', 'use_virtual_memory_auto_growth': '1'},
    'paddle-buddy': {'allocator_strategy': 'naive_best_fit'},
    'paddle-thread-local': {'allocator_strategy': 'thread_local'},
    'paddle': {},
}
NO_FLAGS = {'version'}
MARK = '1'  # the recording's name of the first stream that is waited for
TRIMMED = {'paddle-auto-growth', 'paddle-buddy', 'paddle-thread-local'}  # of which empty_cache() is an event
ROUNDED = {'paddle-auto-growth', 'paddle-vmm-auto-growth'}               # whose statistics count blocks; the others' count requests


def read(path):
    with open(path) as f:
        return f.read()


def head_of(text, name):
    found = re.search(r'^# %s: "(.*)"$' % name, text, re.M)
    return found.group(1) if found else ''


def pairs(text):
    return dict(re.findall(r'(\w+)=([^,]*)', text))


# ---- the outer process

def flags_of(text):
    flags = dict(STRATEGIES[head_of(text, 'allocator')])
    for name, value in pairs(head_of(text, 'settings')).items():
        if name not in NO_FLAGS:
            flags[name] = {'yes': '1', 'no': '0'}.get(value, value)
    flags = {'FLAGS_' + name: value for name, value in flags.items()}
    return {name: os.environ.get(name, value) for name, value in flags.items()}  # of a line that was pasted


def calls_of(recording, create):
    """Rows of device calls, and the bytes held after each event.  @create: of pages, whose address is their number, as on gemem's device."""
    rows, held, blocks, seq, pages, bytes_held = [], [], {}, -1, 0, 0
    for line in recording.splitlines():
        words = line.split()
        fields = dict(word.split('=') for word in words if '=' in word)
        if words[:1] == ['stream-sync'] and fields.get('stream') == MARK:
            held += [bytes_held] if seq >= 0 else []
            seq += 1
        elif words[:1] == ['free']:
            size, address = blocks.pop(words[1])
            bytes_held -= int(size)
            rows.append('%d,free,0,%s,%s,1,0\n' % (seq, size, address))
        elif words[:1] in (['alloc'], ['oom']):
            good = words[0] == 'alloc'
            pages += create and good
            address = fields.get('addr') or '0x%x' % (pages if good else 0)
            rows.append('%d,%s,0,%s,%s,%d,0\n' % (seq, 'create' if create else 'malloc', fields['size'], address, good))
            if good:
                blocks[words[1]] = fields['size'], address
                bytes_held += int(fields['size'])
    return rows, held


def outer(dry, arguments):
    files = dict(word.split('=', 1) for word in arguments if word.startswith(('events=', 'calls=', 'stats=')))
    trace = [word for word in arguments if '=' not in word][0]
    text = read(trace)
    with tempfile.TemporaryDirectory() as work:
        recording, rows, stats = (os.path.join(work, name) for name in ('out.gmt', 'rows', 'stats'))
        result = subprocess.run([dry, '--orders=1', '--capacity', pairs(head_of(text, 'device'))['capacity'], '-o', recording,
                                 sys.executable, os.path.abspath(__file__), '--inner', head_of(text, 'allocator'), trace, rows, stats],
                                env=dict(os.environ, **flags_of(text)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if result.returncode:
            sys.exit(result.stderr[-2000:])
        subprocess.run([os.path.join(os.path.dirname(dry), 'gemem-sim'), 'convert', '-q', recording, work + '/out.txt'], check=True)
        calls, held = calls_of(read(work + '/out.txt'), head_of(text, 'allocator') == 'paddle-vmm-auto-growth')
        written = {'events': ['seq,kind,id,size,address,block,reserved,device\n'] + ['%s,%d,0\n' % (row, held[int(row.split(',')[0])]) for row in read(rows).splitlines()],
                   'calls': ['seq,call,stream,size,address,ok,device\n', *calls], 'stats': [read(stats)]}
    for name, path in files.items():
        with open(path, 'w') as f:
            f.writelines(written[name])


# ---- the inner process

class Driver:
    def __init__(self, allocator):
        import ctypes

        import paddle

        self.paddle, self.allocator, self.rows, self.blocks = paddle, allocator, [], {}
        self.held, self.used = paddle.device.cuda.memory_reserved, paddle.device.cuda.memory_allocated
        paddle.set_device('gpu:0')
        self.cuda = ctypes.CDLL('libcuda.so.1')
        self.mark = ctypes.c_void_p()
        paddle.device.cuda.synchronize()  # makes the context
        if self.cuda.cuStreamCreate(ctypes.byref(self.mark), 1) != 0:
            sys.exit('there is no stream for marks')

    def next(self):
        """Tells the recording that an event begins."""
        self.cuda.cuStreamSynchronize(self.mark)

    def alloc(self, seq, ident, size):
        before = self.used()
        try:
            tensor = self.paddle.empty([size], dtype='uint8')
        except MemoryError:
            self.rows.append('%d,alloc,%d,%d,,' % (seq, ident, size))
            return
        block = str(self.used() - before) if self.allocator in ROUNDED else '-'
        self.blocks[ident] = tensor, '%d,0x%x,%s' % (size, tensor.data_ptr(), block)
        self.rows.append('%d,alloc,%d,%s' % (seq, ident, self.blocks[ident][1]))

    def free(self, seq, ident):
        if ident in self.blocks:
            self.rows.append('%d,free,%d,%s' % (seq, ident, self.blocks.pop(ident)[1]))

    def event(self, seq, line):
        words = line.split()
        fields = dict(word.split('=') for word in words if '=' in word)
        self.next()
        if words[0] == 'alloc' and fields['size'] != '0':
            self.alloc(seq, int(words[1]), int(fields['size']))
        elif words[0] == 'free':
            self.free(seq, int(words[1]))
        elif words[0] == 'trim' and self.allocator in TRIMMED:
            self.paddle.device.cuda.empty_cache()
            self.rows.append('%d,trim,,,,' % seq)


def inner(allocator, trace, rows, stats):
    stand_for('httpx', 'PIL')  # for downloads and pictures
    driver = Driver(allocator)
    lines = [line for line in read(trace).splitlines() if line and not line.startswith('#')]
    for seq, line in enumerate(lines):
        driver.event(seq, line)
    driver.next()
    with open(rows, 'w') as f:
        f.writelines(row + '\n' for row in driver.rows)
    with open(stats, 'w') as f:
        f.write('allocated %d\nreserved %d\n' % (driver.used(), driver.held()))
    os._exit(0)  # before anything is freed


if sys.argv[1] == '--inner':
    inner(*sys.argv[2:])
else:
    outer(sys.argv[1], sys.argv[2:])
