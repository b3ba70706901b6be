#!/usr/bin/env python3
"""driver.py - makes a memory resource of RMM as a line of Python says, and serves a trace by it (../README.md: the protocol).

The line is what a person pastes, run as it is: line=TEXT.  Without one it is the resource that the trace's head names.  What the resource
holds of the device is what the device has less free than before.  Decisions are compared through C++ (../rmm), so that the rows here
tell no more than that.
"""
import sys

import rmm
import rmm.mr

NAMED = {'rmm-pool': 'rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=0))'}


def free():
    return rmm.mr.available_device_memory()[0]


def head(text, name):
    return next((line.split('"')[1] for line in text.splitlines() if line.startswith('# %s: ' % name)), '')


def serve(lines, before, out):
    resource, blocks = rmm.mr.get_current_device_resource(), {}
    for seq, words in enumerate(line.split() for line in lines):
        ident, size = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0, 0
        if words[0] == 'alloc':
            size = int(words[2].split('=')[1])
            try:
                blocks[ident] = resource.allocate(size), size
            except MemoryError:
                pass
        elif words[0] == 'free' and ident in blocks:
            resource.deallocate(*blocks.pop(ident))
        else:
            continue
        served = ident in blocks or words[0] == 'free'
        out.write('%d,%s,%d,%d,%s,-,%d,0\n' % (seq, words[0], ident, size, '0x0' if served else '', before - free()))


def main():
    given = dict(word.split('=', 1) for word in sys.argv[1:-1])
    with open(sys.argv[-1]) as f:
        text = f.read()
    before = free()
    try:
        exec(given.get('line') or NAMED[head(text, 'allocator')])
    except (RuntimeError, TypeError, ValueError, MemoryError) as error:
        print('refused: %s' % error, file=sys.stderr)
        sys.exit(2)
    with open(given['events'], 'w') as out:
        out.write('seq,kind,id,size,address,block,reserved,device\n')
        serve((line for line in text.splitlines() if line and not line.startswith('#')), before, out)


main()
