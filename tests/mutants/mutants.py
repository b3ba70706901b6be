#!/usr/bin/env python3
"""mutants.py - changes single lines of the library at random, one at a time, and says which changes no quick test sees.

    tests/mutants/mutants.py [-n COUNT] [-s SEED] [-b BUILD] [-l SECONDS] [-a] [-k KNOWN] [FILE...]

    -n COUNT    mutants to try (20)
    -s SEED     which ones (1)
    -b BUILD    the folder it builds in, and finds built the next time; without it one that is removed
    -l SECONDS  tests that take longer are left out (3)
    -a          all scripts, also for files that their names do not speak of
    -k KNOWN    FILE:LINE: all that this line can become, instead of some drawn at random
    FILE        a file or folder of the library (default: allocators planners sim/engine traces graphs)

A mutant swaps a comparison, a sign or a truth value, negates a condition, is off by one, or drops a statement.  What does not
compile, or compiles to the same object, is no mutant.  The tests are those of unit, conformance, vectors, fidelity and cli that
pass in the unchanged build within SECONDS: first those whose names have words of the file's, then the quicker ones; scripts only
where they have such a word, or with -a.  A test that fails, crashes or takes four times as long as it did kills the mutant.  One that
only loses memory or a lock survives here: that is for the sanitizers.
Prints a line for each mutant, then the rate and the survivors.  Nothing in the source is changed.  Needs gcc, git and GNU make.
"""
import argparse, os, random, re, shutil, signal, subprocess, sys, tempfile, time

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
FILES = ["allocators", "planners", "sim/engine", "traces", "graphs"]
TESTS = ("unit", "conformance", "vectors", "fidelity", "cli")
FLAGS = "-O1 -g0 -fvisibility=default"

# ---- what a line can become

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SWAPS = {**COMPARISONS, "&&": "||", "||": "&&", "+": "-", "-": "+", "TRUE": "FALSE", "FALSE": "TRUE"}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|->|\+\+|--|<<|>>|[-+]=|[<>=!]=|&&|\|\||[<>]|(?<= )[-+](?= )'
                   r'|\b(?:TRUE|FALSE)\b|(?<![\w.])\d+(?![\w.])')
STATEMENT = re.compile(r"^\s+(?!return|goto|break|continue|const|static|typedef|g_auto|case|default|else)[A-Za-z_*(][^={}]*(?:\(.*\)|[^=!<>]=[^=].*|\+\+|--);\s*$")
DECLARATION = re.compile(r"^\s+(?:[A-Za-z_]\w*\s+)+\**\s*[A-Za-z_]\w*\s*(?:=|;|,|\[)")
CONDITION = re.compile(r"^(\s*(?:else )?if \()(.*)(\))$")


def mutations(line):
    """What @line can become: (how, text)."""
    found = []
    if re.match(r"\s*(?:#|\*|/\*|$)", line):
        return found
    for token in TOKEN.finditer(line):
        old = token.group()
        new = SWAPS.get(old) or (str(int(old) + 1) if old.isdigit() else None)
        if new is not None:
            found.append((f"{old} -> {new}", line[:token.start()] + new + line[token.end():]))
    condition = CONDITION.match(line)
    if condition and condition.group(2).count("(") == condition.group(2).count(")"):
        found.append(("negated", f"{condition.group(1)}!({condition.group(2)}){condition.group(3)}"))
    if STATEMENT.match(line) and not DECLARATION.match(line):
        found.append(("dropped", "  ;"))
    return found


def candidates(folder, files):
    """Every change of every line of @files in @folder: (file, line number, how, text), without what comments have."""
    for name in files:
        comment = False
        for number, line in enumerate(lines_of(folder, name), 1):
            inside, comment = comment, ("*/" not in line if comment or line.rfind("/*") > line.rfind("*/") else False)
            if not inside:
                yield from ((name, number, how, text) for how, text in mutations(line))


def lines_of(folder, name):
    with open(os.path.join(folder, name)) as f:
        return f.read().split("\n")


# ---- the build

class Build:
    """A copy of the source, built so that the tests and gemem-sim share one library, in which one object is replaced."""

    def __init__(self, folder):
        self.folder = folder
        self.library = os.path.join(folder, ".libs/libgemem.so.0.0.0")
        self.make()
        self.command = self.compiler()
        self.objects = [self.object_of(f) for f in self.variable("library_sources") + self.cuda() if f.endswith(".c")]
        self.link()

    def run(self, command):
        return subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    def make(self):
        files = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
        for name in filter(os.path.exists, (os.path.join(SOURCE, f) for f in files if f)):
            copy = os.path.join(self.folder, os.path.relpath(name, SOURCE))
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            if not os.path.exists(copy) or os.path.getmtime(copy) != os.path.getmtime(name):
                shutil.copy2(name, copy, follow_symlinks=False)
        if not os.path.exists(os.path.join(self.folder, "Makefile")):
            self.run(["./bootstrap"])
            self.run(["./configure", "-q", f"CFLAGS={FLAGS}", "CC=" + os.environ.get("CC", "gcc")])
        self.run(["make", "-s", "test_libs=tests/util/libtestutil.la dry/launch/liblaunch.la libgemem.la $(DEPS_LIBS) -lm",
                  "libgemem_la_LDFLAGS=-version-info 0:0:0", "all", *self.variable("check_LTLIBRARIES"),
                  *(t for t in self.variable("test_programs") if t.split("/")[1] in TESTS)])

    def variable(self, name):
        return self.run(["make", "-s", "--no-print-directory", "tree_now=", "--eval", f"say: ; @echo $({name})", "say"]).split()

    def cuda(self):
        return self.variable("cuda_sources") if os.path.exists(os.path.join(self.folder, "devices/cuda/.libs/driver.o")) else []

    def object_of(self, source):
        folder, name = os.path.split(source)
        return os.path.join(folder, ".libs", name[:-2] + ".o")

    def compiler(self):
        text = self.run(["make", "-n", "V=1", "tree_now=", "-W", "base/error.c", "base/error.lo"])
        return re.search(r"--mode=compile +(.*?) -MT ", text).group(1).replace("'\"", '"').replace("\"'", '"').split()

    def compile(self, source, text):
        """Makes the object of @source with @text for it; None: it does not compile."""
        changed = os.path.join(self.folder, os.path.dirname(source), "mutant-" + os.path.basename(source))
        with open(changed, "w") as f:
            f.write(text)
        made = subprocess.run([*self.command, "-fPIC", "-w", "-c", changed, "-o", changed + ".o"], cwd=self.folder, stderr=subprocess.DEVNULL)
        os.remove(changed)
        return changed + ".o" if made.returncode == 0 else None

    def link(self, instead=None):
        objects = [instead[1] if instead and o == instead[0] else o for o in self.objects]
        libraries = self.run(["make", "-s", "--no-print-directory", "tree_now=", "--eval", "say: ; @echo $(libgemem_internal_la_LIBADD)", "say"]).split() \
            if not hasattr(self, "libraries") else self.libraries
        self.libraries = libraries
        self.run(["gcc", "-shared", "-Wl,-soname,libgemem.so.0", "-o", self.library + ".new", *objects, *libraries])
        os.rename(self.library + ".new", self.library)


# ---- the tests

class Test:
    def __init__(self, build, name):
        self.build, self.name, self.seconds, self.limit = build, name, 0, None
        self.words = set(re.split(r"\W+", name))

    def passes(self, limit):
        """Whether it passes within @limit seconds."""
        run = ("sh " if self.name.endswith(".sh") else "") + os.path.join(self.build.folder, self.name)
        work = tempfile.mkdtemp(prefix="gemem-mutant-")
        environment = {**os.environ, "GEMEM_SRCDIR": self.build.folder, "GEMEM_BUILDDIR": self.build.folder, "TMPDIR": work}
        environment.setdefault("GEMEM_SHARED", os.path.join(SOURCE, "../shared"))
        process = subprocess.Popen(["sh", "-c", f'. "$GEMEM_SRCDIR/tests/util/env.sh"; cd "$TMPDIR"; exec {run}'], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        began = time.monotonic()
        try:
            output = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            output = b"not ok"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            shutil.rmtree(work, ignore_errors=True)
        self.seconds = time.monotonic() - began
        return process.returncode == 0 and not re.search(rb"^(?:not ok|Bail out)", output, re.M) and b"# SKIP" not in output[:200]


    def measure(self, longest):
        """Finds out, in the unchanged build, whether it counts, and how long it may take."""
        counts = self.passes(longest)
        self.limit = 4 * self.seconds + 5 if counts else 0


def tests_of(tests, source, scripts):
    """Those that can see a change of @source, the likeliest first."""
    words = set(re.split(r"\W+", source[:-2])) - {"allocators", "sim"}
    words |= {w[:-1] for w in words if w.endswith("s")}
    common = {id(t): len(words & t.words) for t in tests}
    return sorted((t for t in tests if scripts or common[id(t)] or not t.name.endswith(".sh")), key=lambda t: (-common[id(t)], t.seconds))


# ---- mutants

def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


def make_mutant(build, source, number, text):
    """The object of the mutant; None: it does not compile, or it is the same."""
    lines = lines_of(build.folder, source)
    original = build.compile(source, "\n".join(lines))
    os.rename(original, original + ".whole")
    lines[number - 1] = text
    mutant = build.compile(source, "\n".join(lines))
    return None if mutant is None or same(mutant, original + ".whole") else mutant


def kill(build, tests, given, mutant):
    """The test that kills @mutant; None: it survives, "": it is none."""
    source, number, _, text = mutant
    made = make_mutant(build, source, number, text)
    if made is None:
        return ""
    unknown = [t for t in tests_of(tests, source, given.a) if t.limit is None]
    if unknown:
        build.link()
        for test in unknown:
            test.measure(given.l)
    build.link((build.object_of(source), made))
    return next((t.name for t in tests_of(tests, source, given.a) if t.limit > 0 and not t.passes(t.limit)), None)


def sources(arguments):
    names = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "--", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    return sorted(n for n in set(names) if n.endswith(".c"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=20)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("-b")
    parser.add_argument("-l", type=float, default=3)
    parser.add_argument("-a", action="store_true")
    parser.add_argument("-k")
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    folder = given.b or tempfile.mkdtemp(prefix="gemem-mutants-")
    os.makedirs(folder, exist_ok=True)
    try:
        build = Build(os.path.realpath(folder))
        if given.k:
            place, line = given.k.split(":")
            drawn = [c for c in candidates(build.folder, [place]) if c[1] == int(line)]
        else:
            drawn = list(candidates(build.folder, sources(given.files or FILES)))
            random.Random(given.s).shuffle(drawn)
        tests = [Test(build, name) for name in build.variable("test_programs") + build.variable("test_scripts") if name.split("/")[1] in TESTS]
        print(f"# {len(drawn)} changes to draw from, seed {given.s}", flush=True)
        tried, survivors = 0, []
        for mutant in drawn:
            if tried >= given.n and not given.k:
                break
            killer = kill(build, tests, given, mutant)
            if killer == "":
                continue
            tried += 1
            says = f"{mutant[0]}:{mutant[1]}: {mutant[2]}:{mutant[3]}"
            print(f"killed by {killer}: {says}" if killer else f"SURVIVES: {says}", flush=True)
            survivors += [] if killer else [says]
        print(f"# {sum(t.limit is not None and t.limit > 0 for t in tests)} tests took part, at most {sum(t.seconds for t in tests if t.limit):.0f} s together")
        print(f"# {tried - len(survivors)} of {tried} mutants killed" + "".join(f"\n{s}" for s in survivors))
    finally:
        if not given.b:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
