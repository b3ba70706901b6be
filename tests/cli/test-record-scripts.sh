#!/bin/sh
# test-record-scripts.sh - gemem.record() of the Python package with modules that say what PyTorch and RMM would.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip "scripts" "there is no python3"; done_testing; }
mkdir -p modules/torch/cuda modules/rmm

cat >modules/torch/__init__.py <<'END'
from . import cuda
END
cat >modules/torch/cuda/__init__.py <<'END'
from . import memory
END
cat >modules/torch/cuda/memory.py <<'END'
calls = []
A, M = 0x7F0000000000, 1 << 20


def _record_memory_history(enabled="all", **options):
    if "global_record_annotations" in options and calls == ["older"]:
        raise TypeError("an older PyTorch")
    calls.append(enabled)


def _snapshot():
    event = {"stream": 0, "time_us": 1700000000000000, "frames": []}
    segment = {"device": 0, "address": A, "total_size": 2 * M, "allocated_size": 0, "active_size": 0, "stream": 0, "segment_type": "small",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
               "blocks": [{"address": A, "size": 2 * M, "requested_size": 0, "state": "inactive", "frames": []}]}
    trace = [dict(event, action="segment_alloc", addr=A, size=2 * M), dict(event, action="alloc", addr=A, size=1000),
             dict(event, action="free_requested", addr=A, size=1000), dict(event, action="free_completed", addr=A, size=1000)]
    return {"segments": [segment], "device_traces": [trace], "allocator_settings": {}}
END
cat >modules/rmm/__init__.py <<'END'
from . import mr
END
cat >modules/rmm/mr.py <<'END'
import os
devices, logs, flushed = [0], {}, 0


def enable_logging(log_file_name):
    stem, extension = os.path.splitext(log_file_name)
    for device in devices:
        logs[device] = f"{stem}.dev{device}{extension}"
        with open(logs[device], "w") as stream:
            stream.write("Thread,Time,Action,Pointer,Size,Stream\n")


def allocate(device, pointer, size):
    with open(logs[device], "a") as stream:
        stream.write(f"7,15:47:02.841961,allocate,0x{pointer:x},{size},0\n")


def free(device, pointer, size):
    with open(logs[device], "a") as stream:
        stream.write(f"7,15:47:02.841962,free,0x{pointer:x},{size},0\n")


def flush_logs():
    global flushed
    flushed += 1


def get_log_filenames():
    return logs


def disable_logging():
    assert flushed == 1
END
PYTHONPATH=$GEMEM_TMP/modules:$GEMEM_SRCDIR/python PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

# ---- PyTorch
cat >one.py <<'END'
import gemem, torch
gemem.snapshot("one.gmt")
gemem.snapshot("one.pickle")
with gemem.record("two.txt"):
    assert torch.cuda.memory.calls == ["all"]
assert torch.cuda.memory.calls == ["all", None]
torch.cuda.memory.calls[:] = ["older"]
with gemem.record("older.gmt"):
    pass
assert torch.cuda.memory.calls == ["older", "all", None]
try:
    with gemem.record("three.gmt"):
        raise MemoryError("the program's own")
except MemoryError:
    pass
END
run 0 "$python" one.py
run 0 gemem-sim info one.gmt; says out 'format: pytorch-snapshot'
run 0 gemem-sim info one.pickle
check "a text trace" grep -q '^alloc 1 size=1000' two.txt
run 0 gemem-sim validate three.gmt
run 1 "$python" -c 'import gemem; gemem.snapshot("no/folder/x.gmt")'; says err 'gemem.command.Error: .*no/folder/x.gmt'
run 1 env GEMEM_SIM=./nowhere "$python" -c 'import gemem; gemem.snapshot("x.gmt")'; says err './nowhere: No such file or directory; install gemem'

# ---- RMM
cat >four.py <<'END'
import gemem, rmm
with gemem.record("four.gmt", "rmm"):
    rmm.mr.free(0, 0x500, 8)  # of before
    rmm.mr.allocate(0, 0x1000, 4096)
    rmm.mr.free(0, 0x1000, 4096)
END
run 0 "$python" four.py
run 0 gemem-sim info four.gmt; says out 'format: rmm-csv'; says out 'events +2$'
cat >five.py <<'END'
import gemem, rmm
rmm.mr.devices[:] = [0, 1, 2]
with gemem.record("five.gmt", "rmm"):
    rmm.mr.allocate(0, 0x1000, 4096)
    rmm.mr.allocate(2, 0x2000, 8192)
END
run 0 "$python" five.py
check "a file for each device that allocated" test "$(echo five*.gmt)" = 'five.dev0.gmt five.dev2.gmt'
run 0 gemem-sim info five.dev2.gmt --trace-device=2; says out '8192|8.000 KiB'
cat >six.py <<'END'
import gemem, rmm
with gemem.record("no/folder/six.gmt", "rmm"):
    raise MemoryError("the program's own")
END
run 1 "$python" six.py; says err 'MemoryError: the program'; says err '^gemem.record: no/folder/six.gmt: .*No such file'
run 0 "$python" -c 'import gemem
with gemem.record("empty.gmt", "rmm"): pass'
run 0 gemem-sim info empty.gmt; says out 'events +0'
done_testing
