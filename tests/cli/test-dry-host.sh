#!/bin/sh
# test-dry-host.sh - dry/python/lazy_host.py, what it rests on: dropped pages read as zero and have no memory, and a read or a write leaves its mark.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip "host pages" "there is no python3"; done_testing; }
cat >pages.py <<'END'
import ctypes
import mmap
import sys

sys.path.insert(0, sys.argv[1])
import lazy_host

page, size = mmap.PAGESIZE, 64 * mmap.PAGESIZE
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
memory[:] = b"x" * size


def point(ok, text):
    print(("ok" if ok else "not ok") + " - " + text)


first, last = lazy_host.whole_pages(address + 100, 10 * page)
point((first, last) == (address + page, address + 10 * page), "whole pages of a range that begins inside one")
point(lazy_host.whole_pages(address + 100, 50)[0] == lazy_host.whole_pages(address + 100, 50)[1], "none in a small range")
point(lazy_host.touched(address, size) is True, "written memory is touched")
point(lazy_host.drop(address + 100, 10 * page), "a range is dropped")
point(lazy_host.touched(address + 100, 10 * page) is False, "its pages have no memory")
point(memory[:100] == b"x" * 100 and memory[100 + 10 * page :] == b"x" * (size - 100 - 10 * page), "what lies around it is as it was")
point(lazy_host.touched(address + 100, 10 * page) is False, "reading around it does not touch it")
point(memory[5 * page] == 0, "it reads as zero")
point(lazy_host.touched(address + 100, 10 * page) is True, "a read leaves its mark")
point(memory[100 : 100 + 10 * page] == bytes(10 * page), "all of it reads as zero")
lazy_host.drop(address, size)
memory[7 * page] = 1
point(lazy_host.touched(address, size) is True, "and so does a write")
END
"$python" pages.py "$GEMEM_SRCDIR/dry/python" >points 2>&1 || echo "not ok - it ran" >>points
points points
done_testing
