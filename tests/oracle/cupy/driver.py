#!/usr/bin/env python3
"""driver.py - drives the real memory pool of a CuPy wheel on a stub device (../README.md: the protocol).

CuPy is extension modules for Python, so this driver is not in C++.  The pool takes its device allocations from functions, which is
CuPy's own interface (PythonFunctionAllocator); they are the device here, by the rules of ../device.h.  CuPy asks CUDA for the current
device besides, so the program is run by gemem-dry-run.  A stream is a number that stands for its handle (ExternalStream).

Python's garbage collector, which CuPy calls before it reports that memory is short, has nothing to free.
"""
import gc
import re
import sys

from cupy.cuda import ExternalStream, memory, runtime

OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation


class Device:
    """Allocations ascend in whole steps and never come back; n bytes are had iff held + n <= capacity."""

    def __init__(self, settings, calls):
        self.capacity, self.next, self.step = settings.get('capacity', 80 << 30), settings.get('base', 0x100000000000), settings.get('step', 2 << 20)
        self.blocks, self.held, self.calls, self.seq, self.stream = {}, 0, calls, 0, 0

    def malloc(self, size, device):
        address = self.next if self.held + size <= self.capacity else 0
        self.calls.append('%d,malloc,%d,%d,0x%x,%d,0\n' % (self.seq, self.stream, size, address, address != 0))
        if not address:
            raise runtime.CUDARuntimeError(OUT_OF_MEMORY)
        self.next += -(-size // self.step) * self.step
        self.blocks[address] = size
        self.held += size
        return address

    def free(self, address, device):
        size = self.blocks.pop(address)
        self.held -= size
        self.calls.append('%d,free,0,%d,0x%x,1,0\n' % (self.seq, size, address))


def settings_of(text, given):
    """Those of the head, as numbers, and of the command line."""
    found = {}
    for line in re.findall(r'^# (?:settings|device): "(.*)"$', text, re.M) + [','.join(given)]:
        for key, value in re.findall(r'(\w+)=([^,]*)', line):
            found[key] = int(value) if value.isdigit() else value
    return found


class Driver:
    def __init__(self, settings):
        self.rows, self.calls, self.blocks = [], [], {}
        self.device = Device(settings, self.calls)
        self.source = memory.PythonFunctionAllocator(self.device.malloc, self.device.free)
        self.pool = memory.MemoryPool(self.source.malloc)
        self.streams = {}
        if 'limit' in settings:
            self.pool.set_limit(size=settings['limit'])

    def alloc(self, seq, ident, size, stream):
        self.device.stream = stream
        if stream not in self.streams:
            self.streams[stream] = ExternalStream(stream)
        self.streams[stream].use()
        try:
            block = self.pool.malloc(size)
        except memory.OutOfMemoryError:
            self.rows.append('%d,alloc,%d,%d,,,%d,0\n' % (seq, ident, size, self.device.held))
            return
        self.blocks[ident] = block, size
        self.rows.append('%d,alloc,%d,%d,0x%x,%d,%d,0\n' % (seq, ident, size, block.ptr, block.mem.size, self.device.held))

    def free(self, seq, ident):
        if ident not in self.blocks:
            return
        block, size = self.blocks.pop(ident)
        row = '%d,free,%d,%d,0x%x,%d,' % (seq, ident, size, block.ptr, block.mem.size)
        del block
        self.rows.append('%s%d,0\n' % (row, self.device.held))

    def event(self, seq, line):
        words = line.split()
        fields = dict(word.split('=') for word in words if '=' in word)
        self.device.seq = seq
        if words[0] == 'alloc' and fields['size'] != '0':
            self.alloc(seq, int(words[1]), int(fields['size']), int(fields.get('stream', 0)))
        elif words[0] == 'free':
            self.free(seq, int(words[1]))
        elif words[0] == 'trim':
            self.pool.free_all_blocks()
            self.rows.append('%d,trim,,,,,%d,0\n' % (seq, self.device.held))

    def stats(self):
        return {name: getattr(self.pool, name)() for name in ('used_bytes', 'free_bytes', 'total_bytes', 'n_free_blocks')}


def write(path, *parts):
    if path:
        with open(path, 'w') as f:
            f.writelines(part for some in parts for part in some)


def main():
    given = [word for word in sys.argv[1:] if '=' in word]
    files = dict(word.split('=', 1) for word in given if word.startswith(('events=', 'calls=', 'stats=')))
    with open([word for word in sys.argv[1:] if '=' not in word][0]) as f:
        text = f.read()
    driver = Driver(settings_of(text, [word for word in given if word.split('=')[0] not in files]))
    gc.freeze()
    for seq, line in enumerate(line for line in text.splitlines() if line and not line.startswith('#')):
        driver.event(seq, line)
    write(files.get('events'), ['seq,kind,id,size,address,block,reserved,device\n'], driver.rows)
    write(files.get('calls'), ['seq,call,stream,size,address,ok,device\n'], driver.calls)
    write(files.get('stats'), ['%s %d\n' % item for item in driver.stats().items()])


main()
