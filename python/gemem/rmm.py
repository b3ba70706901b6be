"""rmm.py - what RAPIDS' memory manager did, as a trace for gemem-sim, in one call.

    import gemem
    with gemem.record("etl.gmt", "rmm"):
        etl()

RMM's logging adaptor is put before the memory resource of each device that has one; its log becomes PATH, or PATH with .devN before the extension where several
devices allocated.  What was allocated before the block and is freed in it is left out.  RMM's log has no call stacks; gemem-record --stacks has those of its device calls.
"""
import contextlib
import os
import sys
import tempfile

from gemem.command import convert


def _rows(log):
    """Whether LOG holds more than its heading."""
    with open(log, encoding="utf-8") as stream:
        return sum(1 for _, line in zip(range(2), stream) if line.strip()) > 1


def convert_all(logs, path):
    """Writes the logs {device: file} to PATH, or to one file for each device; returns the names written."""
    logs = {device: log for device, log in logs.items() if log and os.path.exists(log)}
    used = {device: log for device, log in logs.items() if _rows(log)} or dict(list(logs.items())[:1])
    stem, extension = os.path.splitext(path)
    names = {device: path if len(used) == 1 else f"{stem}.dev{device}{extension}" for device in used}
    for device, log in used.items():
        convert(log, names[device], trace_format="rmm-csv", allow_partial=True)
    return [names[device] for device in sorted(names)]


@contextlib.contextmanager
def record(path):
    """Records what RMM allocates within the block and writes it to PATH."""
    import rmm

    with tempfile.TemporaryDirectory() as folder:
        rmm.mr.enable_logging(log_file_name=os.path.join(folder, "rmm.csv"))
        try:
            yield
        finally:
            failing = sys.exc_info()[0] is not None
            rmm.mr.flush_logs()
            logs = dict(rmm.mr.get_log_filenames())
            rmm.mr.disable_logging()
            try:
                convert_all(logs, path)
            except Exception as error:  # the program's own error comes first
                if not failing:
                    raise
                print(f"gemem.record: {path}: {error}", file=sys.stderr)
