"""command.py - gemem-sim as a function: its options as keywords, its own messages as errors.

gemem-sim is looked for in $PATH, or named by $GEMEM_SIM.  Nothing is computed here: every number comes from the command.
"""
import json
import os
import pickle
import subprocess
import tempfile


class Error(RuntimeError):
    """What gemem-sim says went wrong."""


def _words(options):
    """The options of a command line: capacity="16GiB" is --capacity=16GiB, zoo=True is --zoo, a list repeats; for_ is --for."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is True:
                words.append(option)
            elif item is not False and item is not None:
                words.append(f"{option}={item}")
    return words


def run(command, *arguments, statuses=(0,), **options):
    """What `gemem-sim COMMAND OPTIONS ARGUMENTS` prints; Error unless its exit status is one of STATUSES."""
    line = [os.environ.get("GEMEM_SIM", "gemem-sim"), command, *_words(options), "--", *map(os.fspath, arguments)]
    try:
        result = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise Error(f"{line[0]}: {error.strerror}; install gemem, or name gemem-sim by $GEMEM_SIM") from error
    if result.returncode not in statuses:
        raise Error(result.stderr.strip() or f"{line[0]} ended with status {result.returncode}")
    return result.stdout


def convert(source, path, **options):
    """Writes the trace in the file SOURCE to PATH, which ends in .gmt or .txt."""
    run("convert", source, path, **options)


class Traces:
    """The files of TRACES for a while: a path, a recording, a snapshot of PyTorch in memory, or a list of those."""

    def __init__(self, traces):
        self._given = traces if isinstance(traces, (list, tuple)) else [traces]
        self._folder = None

    def _file(self, number, trace):
        if not isinstance(trace, dict):
            return os.fspath(trace)
        path = os.path.join(self._folder.name, f"snapshot{number or ''}.pickle")
        with open(path, "wb") as stream:
            pickle.dump(trace, stream)
        return path

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        return [self._file(number, trace) for number, trace in enumerate(self._given)]

    def __exit__(self, *_):
        self._folder.cleanup()


def read(command, traces, statuses=(0,), **options):
    """The JSON of a command about TRACES."""
    with Traces(traces) as files:
        return json.loads(run(command, *files, statuses=statuses, format="json", quiet=True, **options))
