"""host-faults.py - runs commands on a host that fails where it is told to (tests/fault/host-faults.c); TAP on standard output.

    host-faults.py LIBRARY all|some KIND... < COMMANDS

A line of COMMANDS is "OUTPUT...: COMMAND": the files and folders that it writes ("FOLDER/"), and how; before these "several" where a run that fails leaves
others, each with its line. Each command runs undisturbed first. Then KIND happens at every place ("all": up to MOST, a thousand of a database, a hundred where a picture is drawn), or at some, and each run must end in one of two ways:
  the same status, and every output is that of the undisturbed run;
  status 1 and one line that says what failed; every output is what was there before, or what it is to become, and nothing else is left behind.
Where a disk is full, or a file cannot be opened, read, closed or renamed, the line names the file and the cause. "short" must change nothing.
KIND: a kind of host-faults.c, "memory+" and "map+" (none from there on), "disk" and "damaged" (ENOSPC and EIO after some bytes), "gnuplot" (a full disk there).
"""
import concurrent.futures, os, re, shutil, sqlite3, subprocess, sys, tempfile

library, extent, kinds = sys.argv[1], sys.argv[2], sys.argv[3:]
workers = os.cpu_count() if extent == "all" else 2
NOTE = re.compile(r"[a-z-]+: (note|warning): ")
IO = "Input/output error|disk I/O error"
# KIND: what host-faults.c is told, how many of its places are tried of "some", the cause that is named
KINDS = {
    "short": ("short", 1, None),
    "disk": ("disk:{}:28", 9, "No space left on device|database or disk is full"),
    "damaged": ("disk:{}:5", 3, IO),
    "gnuplot": ("disk:{}:28", 4, "gnuplot could not write all of it"),
    "open": ("open:{}:24", 4, "Too many open files|unable to open"),
    "close": ("close:{}:5", 3, IO),
    "rename": ("rename:{}:5", 4, IO),
    "read": ("read:{}:5", 4, IO),
    "memory": ("memory:{}", 9, None),
    "memory+": ("memory:{}+", 5, None),
    "large": ("large:{}", 20, None),
    "map": ("map:{}", 3, None),
    "map+": ("map:{}+", 2, None),
}
MOST = 20000
FEW = ("damaged", "read", "memory+", "gnuplot")  # where the same happens as at the places of another kind
number = failed = 0


def tell(passed, name, problems=()):
    global number, failed
    number += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    for problem in problems[:10]:
        print("# " + problem, flush=True)


def columns(database, table):
    """All but what is measured."""
    return ", ".join(name for _, name, *_ in database.execute(f"PRAGMA table_info ({table})") if name != "run_time")


def contents(path):
    """What is in a file, or in a folder; None: nothing there."""
    if os.path.isdir(path):
        return {name: contents(os.path.join(path, name)) for name in sorted(os.listdir(path))}
    if not os.path.lexists(path):
        return None
    if path.endswith(".db"):
        with sqlite3.connect(path) as database:  # its rows; a table that is new and empty may stay
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return [(name, row) for name in tables for row in database.execute(f"SELECT {columns(database, name)} FROM {name}")] or None
    with open(path, "rb") as file:
        return file.read()


def whole(before, after, new):
    """Whether an output is the old or the new one; of a folder, every file."""
    if isinstance(after, dict):
        return all(whole((before or {}).get(name), value, (new or {}).get(name)) for name, value in after.items())
    return after == before or after == new


class Place:
    """A folder in which a command runs, with old outputs there or none."""

    def __init__(self, command, name, existing):
        self.command, self.folder = command, os.path.abspath(name)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "tmp"))
        for output in command.outputs if existing else ():
            path = os.path.join(self.folder, output)
            if output.endswith(".db"):
                with sqlite3.connect(path) as database:
                    database.executescript("CREATE TABLE older (n); INSERT INTO older VALUES (1);")
            elif not output.endswith("/"):
                with open(path, "w") as file:
                    file.write("old\n")
        self.old = self.found()

    def found(self):
        return {output: contents(os.path.join(self.folder, output)) for output in self.command.outputs}

    def names(self):
        left = os.listdir(self.folder) + ["tmp/" + name for name in os.listdir(os.path.join(self.folder, "tmp"))]
        return {name for name in left if name + "/" not in self.command.outputs}

    def run(self, fault, program=None):
        environment = dict(os.environ, GEMEM_FAULT=fault, GEMEM_FAULT_COUNTS=os.path.abspath("counts"), LD_PRELOAD=library)
        environment["TMPDIR"] = os.path.join(self.folder, "tmp")
        environment["GEMEM_FAULT_PROGRAM"] = program or self.command.words[0]
        with tempfile.TemporaryFile() as out:  # a regular file, which can be full
            done = subprocess.run(self.command.words, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                  timeout=600, close_fds=False)
            out.seek(0)
            return done.returncode, done.stderr.decode("utf-8", "replace"), out.read()


class Command:
    def __init__(self, line):
        outputs, self.text = line.split(": ", 1)
        self.several = outputs.startswith("several")
        self.outputs, self.words = outputs.removeprefix("several").split(), self.text.split()
        self.new, self.counts = {}, {}
        for existing in (True, False):
            place = Place(self, "run", existing)
            self.status, self.said, self.stdout = place.run("count")
            self.new[existing], self.listed = place.found(), place.names()
        if os.path.exists("counts"):
            with open("counts") as file:
                self.counts = {kind: int(n) for kind, n in (line.split() for line in file)}
            os.remove("counts")

    def judge(self, kind, fault, existing, folder):
        """What is wrong, or None."""
        place, new, cause = Place(self, folder, existing), self.new[existing], KINDS[kind][2]
        status, said, stdout = place.run(fault, kind if kind == "gnuplot" else None)
        after = place.found()
        lines = [line for line in said.splitlines() if not NOTE.match(line)]
        if status == self.status and ("its sha256 is left out" in said or (after == new and stdout == self.stdout)):
            return None
        told = f"status {status}: {' | '.join(lines)}"
        if status != 1 or kind == "short":
            return told + "".join(f", {name} differs" for name in after if after[name] != new[name])
        if not lines or (len(lines) > 1 and not self.several):
            return told
        for name in after:
            if not whole(place.old[name], after[name], new[name]):
                return f"{told}: {name} is neither old nor new"
        more = {name for name in place.names() - self.listed if not name.endswith(".db-journal")}  # which SQLite itself takes up
        if more:
            return f"{told}: left {' '.join(more)}"
        if cause and not re.search(f": .*({cause})", lines[0]):
            return f"{told}: no cause"
        return None

    def test(self, kind):
        fault, some, _ = KINDS[kind]
        counted = fault.split(":")[0]
        places = 20000 if kind == "gnuplot" else self.counts.get(counted, 0)
        if extent == "all":
            slow = 100 if any(output.endswith("/") for output in self.outputs) else 1000 if any(output.endswith(".db") for output in self.outputs) else MOST
            some = min(slow, 300 if kind in FEW else MOST)
        step = max(1, -(-places // some))
        last = places + (counted not in ("disk", "read"))
        numbers = range(0 if counted in ("disk", "read") else 1, last, step) if kind != "short" else [0]

        def one(at, worker):
            problem = self.judge(kind, fault.format(at), at // step % 2 == 1, f"run-{worker}")
            return problem and f"{fault.format(at)}: {problem}"

        def some_of(worker):
            return [one(at, worker) for at in numbers[worker::workers]]

        if not numbers:
            return
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            problems = [problem for part in pool.map(some_of, range(workers)) for problem in part if problem]
        tell(not problems, f"{kind}, {len(numbers)} of {max(places, len(numbers))} places, {len(problems)} bad: {self.text}", problems)


for line in sys.stdin.read().splitlines():
    command = Command(line)
    if not command.counts or command.status != 0:
        tell(False, f"undisturbed, {command.status}: {command.text}", command.said.splitlines())
        continue
    for kind in kinds:
        if kind != "gnuplot" or any(output.endswith("/") for output in command.outputs):
            command.test(kind)
print(f"1..{number}")
sys.exit(failed > 0)
