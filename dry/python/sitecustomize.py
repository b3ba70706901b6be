"""sitecustomize.py - what gemem-dry-run adds to Python programs: PyTorch's own memory history, up to the end of the process, and what CuPy's pools are asked for (pools.py).

Python imports this module before the program, because its folder stands first in $PYTHONPATH.  Nothing is imported that the program does not import: a finder waits
until the program imports torch (or cupy), and the history begins when the program initialises CUDA.  At the end of the process, also by SIGTERM or os._exit(), the snapshot
becomes $GEMEM_DRY_SNAPSHOTS/PID.pickle; which PyTorch it is, PID.torch ("version 2.11.0+cu130").  Calls of the program that switch its own history on or off do not
end this one.  JAX keeps no history; it is told to ask the driver for each request.  The program's own sitecustomize, if there is one, runs after this.  No failure in
here stops the program; it is said on standard error.
"""
import os
import sys

_FOLDER = os.environ.get("GEMEM_DRY_SNAPSHOTS")
_MOST_REQUESTS = int(os.environ.get("GEMEM_DRY_HISTORY") or 1000000)  # the last ones; PyTorch makes 1 to 5 KB of each when it writes them
_HERE = os.path.dirname(os.path.abspath(__file__))


def _say(error):
    sys.stderr.write("gemem-dry-run: what is recorded of Python: %s\n" % (error,))


def _find_libraries():
    """Starts this Python again if the launcher did not know where it looks for modules (it was started by a shell, uv, conda): what stands for NVIDIA's libraries
    must be there before the process starts."""
    launcher, known = os.environ.get("GEMEM_DRY_LAUNCHER"), os.environ.get("GEMEM_DRY_ROOTS", "").split(":")
    standard = os.path.dirname(os.__file__)
    folders = [path for path in sys.path if os.path.isdir(path) and path not in (_HERE, standard) and not path.endswith("lib-dynload")]
    if not launcher or all(folder in known for folder in folders):
        return
    if not sys.executable or os.path.realpath(sys.executable) != os.path.realpath("/proc/self/exe"):
        return  # Python inside of another program, which cannot be started again from here
    import subprocess

    with open("/proc/self/cmdline", "rb") as stream:
        arguments = stream.read().split(b"\0")[1:-1]
    bare = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    told = subprocess.run([launcher, "--print-environment"] + folders, env=bare, stdout=subprocess.PIPE)
    if told.returncode == 0:
        sys.stdout.flush()
        environment = dict(variable.split(b"=", 1) for variable in told.stdout.split(b"\0") if variable)
        os.execve(sys.executable, [os.fsencode(sys.executable)] + arguments, environment)


def _load(name):
    """The module NAME that lies beside this one, in a package of its own; the folder is no longer searched when the program runs."""
    import importlib

    if "_gemem" not in sys.modules:
        sys.modules["_gemem"] = type(sys)("_gemem")
        sys.modules["_gemem"].__path__ = [_HERE]
    return importlib.import_module("_gemem." + name)


def _note(word, text):
    _load("values").note(word, text)


def _leave_uncompiled(torch):
    """Dynamo compiles what runs below a function of the program that it has left: of these files nothing."""
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    skip = getattr(frames, "skip_code", None)
    if hasattr(frames, "set_code_exec_strategy"):  # since PyTorch 2.8 or so
        action = frames._FrameAction
        strategy = frames._FrameExecStrategy(action.SKIP, action.DEFAULT)
        skip = lambda code: frames.set_code_exec_strategy(code, strategy)
    if skip is None:
        return
    import gc
    import types

    functions = [one for one in gc.get_objects() if type(one) is types.FunctionType]
    codes = [one.__code__ for one in functions if one.__globals__.get("__name__", "").startswith("_gemem.")]
    while codes:
        code = codes.pop()
        skip(code)
        codes += [one for one in code.co_consts if type(one) is types.CodeType]


class _History(object):
    """The history of one process."""

    def __init__(self, torch):
        self.memory = torch.cuda.memory
        self.record, self.write = self.memory._record_memory_history, self.memory._dump_snapshot
        self.cuda, self.initialised = torch.cuda, torch.cuda.is_initialized
        self.values = _load("values").values
        self.torch = torch
        self.pid, self.done, self.records = 0, False, False
        self.allocator = _load("allocator").Watch(torch, lambda: self.records and self.pid == os.getpid())

    def begin(self):
        """Runs when CUDA has been initialised, before the program's first request."""
        import atexit

        self.pid, self.done = os.getpid(), False
        self.allocator.begin()
        _tell_version(self.torch)  # again: this may be a child of the process that imported it
        if "PYTORCH_NO_CUDA_MEMORY_CACHING" not in os.environ:  # else each request is a call of CUDA, and no history has it
            self.begin_records()
        atexit.register(self.end)
        self.watch_signals()
        try:
            self.values.begin(self.memory)
            if not os.environ.get("GEMEM_DRY_ZEROS"):
                self.values.follow(_load("known").known, self.torch)
            _leave_uncompiled(self.torch)
        except Exception as error:
            sys.stderr.write("gemem-dry-run: values that the program looks at: %s\n" % (error,))

    def begin_records(self):
        try:
            # Stacks of requests, not of frees: PyTorch 2.11 loses an error of Python that is on its way when a block is freed with its stack
            # (torch.utils.checkpoint ends recomputation with one).
            wanted = dict(context="alloc", stacks="python", max_entries=_MOST_REQUESTS)
            try:
                self.record(global_record_annotations=True, **wanted)
            except TypeError:  # PyTorch before 2.6
                self.record(**wanted)
            self.records = True
        except Exception as error:  # PyTorch's other allocator, cudaMallocAsync, has no history
            sys.stderr.write("gemem-dry-run: the recording has the calls of CUDA alone, for PyTorch keeps no history: %s\n" % (error,))

    def end(self):
        """Writes the snapshot, once, and only in the process that began."""
        if self.done or self.pid != os.getpid() or not self.initialised():
            return
        self.done = True
        self.values.end()
        self.allocator.tell_parts(_load("values").tell)
        self.keep()

    def keep(self):
        """Writes the snapshot of what there is by now."""
        if not self.records:
            return
        path = os.path.join(_FOLDER, "%d.pickle" % self.pid)
        try:
            self.allocator.write(path + ".part", self.write)
            os.rename(path + ".part", path)
            self.tell_refusals()
        except Exception as error:
            _say(error)
            self.give_up(path, error)

    def give_up(self, path, error):
        """Leaves the space on the disk to the recording of CUDA's calls, and says what is missing."""
        try:
            if os.path.exists(path + ".part"):
                os.remove(path + ".part")
                _note("python", "PyTorch's%s requests could not be written: %s" % (" last" * os.path.exists(path), getattr(error, "strerror", None) or error))
        except OSError as worse:
            _say(worse)

    def tell_refusals(self):
        """How often PyTorch emptied its cache because a request was refused; 0: each time it was the program that did (dry/verdict/verdict.c).  A program that sets
        such counts to zero when requests have been refused is not seen through."""
        stats = [self.memory.memory_stats(device) for device in range(self.cuda.device_count())]
        _tell_version(self.torch)  # without what was told with an earlier snapshot
        with open(os.path.join(_FOLDER, "%d.torch" % os.getpid()), "a") as stream:
            stream.write("refusals %d\n" % sum(one.get("num_alloc_retries", 0) + one.get("num_ooms", 0) for one in stats))

    def watch_signals(self):
        """SIGTERM ends a process without a word; this writes the snapshot first.  Where the program itself handles the signal it is written again at the end, which a
        program that does not end soon (vLLM's engine) does not reach: it is killed."""
        import signal

        def stop(number, frame):
            signal.signal(number, signal.SIG_IGN)  # the terminal, the launcher and the user may each send one
            self.end()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        def keep_before(handler):
            def handle(number, frame):
                if not self.done and self.pid == os.getpid():
                    self.keep()
                return handler(number, frame)

            return handle

        try:
            for number in (signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                if handler is signal.SIG_DFL:
                    signal.signal(number, stop)
                elif callable(handler):
                    signal.signal(number, keep_before(handler))
        except ValueError:  # not the main thread
            pass

    def program_records(self, enabled="all", *arguments, **options):
        """The program's own call: what it asks for is recorded anyway, and goes on when it ends its recording."""


def _leave_host_lazy(torch):
    """Large tensors of random numbers on the host take no memory (lazy_host.py), unless --fill-host was given."""
    if os.environ.get("GEMEM_DRY_FILL_HOST"):
        return
    module = _load("lazy_host")
    module.start(torch)

    def tell():
        for place in module.read():
            _note("host", place)

    import atexit

    atexit.register(tell)


def _tell_version(torch):
    """Writes PID.torch; returns what PyTorch says of its versions, or None."""
    version = getattr(torch, "version", None)
    with open(os.path.join(_FOLDER, "%d.torch" % os.getpid()), "w") as stream:
        for name, value in (("version", torch.__version__), ("cuda", getattr(version, "cuda", None)), ("hip", getattr(version, "hip", None))):
            stream.write("%s %s\n" % (name, value or ""))
    return version


def _on_torch(torch):
    """Runs when the program has imported torch."""
    if not getattr(_tell_version(torch), "cuda", None):
        return  # nothing of it will use a GPU of NVIDIA; gemem-dry-run says so
    history = _History(torch)
    history.memory._record_memory_history = history.program_records
    leave = os._exit

    def end_and_leave(status):
        history.end()
        leave(status)

    os._exit = end_and_leave
    torch.cuda._lazy_call(history.begin)
    if hasattr(torch, "distributed"):
        _load("ranks").start(torch, _note, _load("values").values.assume, _load("known").known)
    if hasattr(torch, "inference_mode"):
        _load("known").known.watch_inference(torch.inference_mode)
    _leave_host_lazy(torch)


def _watch_values():
    import atexit

    values = _load("values").values
    values.begin()
    atexit.register(values.end)


def _on_cupy(cupy):
    _watch_values()
    if not os.environ.get("GEMEM_DRY_ZEROS"):
        _load("values").values.follow_cupy(_load("known_cupy").replay, cupy)
    _load("pools").watch_cupy(cupy, _load("lines").Stacks())


def _on_rmm(rmm):
    _watch_values()
    if os.environ.get("GEMEM_DRY_RMM"):
        _load("pools").watch_rmm(rmm, _load("lines").Stacks())
    else:
        _load("pools").watch_limits(rmm, _note)


def _on_jax(jax):
    """Runs when the program has imported jax.  Unless the program chose an allocator, JAX passes every request on to the driver (cuda_async), so
    that the recording has them; PID.jax says what its own allocator would have been told (dry/verdict/jax.c)."""
    chosen, parent = os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR"), os.environ.get("GEMEM_DRY_JAX")  # what a parent process chose here is not the program's
    grows = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "").lower() in ("0", "false", "no", "n", "f", "off")
    if parent and chosen == "cuda_async":
        chosen, grows = None, parent == "grows"
    facts = [("version", jax.__version__)]
    if not chosen:
        os.environ["GEMEM_DRY_JAX"] = "grows" if grows else "begins"
        os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "cuda_async"
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "true"  # else XLA compiles for another limit

    def write():
        part = os.environ.get("XLA_CLIENT_MEM_FRACTION") or os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION")
        more = [] if chosen else [("recorded", "cuda_async")] + [("part", part)] * bool(part) + [("grows", "yes")] * grows
        with open(os.path.join(_FOLDER, "%d.jax" % os.getpid()), "w") as stream:
            stream.writelines("%s %s\n" % fact for fact in facts + more)

    import atexit

    write()
    _watch_values()
    atexit.register(write)  # the program may say the part after it has imported JAX


def _on_tensorflow(tensorflow):
    """Runs when the program has imported tensorflow.  Unless the program chose an allocator, TensorFlow passes every request on to the driver's pools,
    so that the recording has them; PID.tensorflow says what its own allocator would have been told (dry/verdict/tensorflow.c)."""
    ours = "GEMEM_DRY_TF_GPU_ALLOCATOR"  # for the processes that the program starts
    facts = [("version", tensorflow.__version__)]
    if not os.environ.get("TF_GPU_ALLOCATOR") or os.environ.get(ours) == os.environ["TF_GPU_ALLOCATOR"]:
        os.environ["TF_GPU_ALLOCATOR"] = os.environ[ours] = "cuda_malloc_async"
        facts.append(("recorded", "cuda_malloc_async"))
    if os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower() in ("1", "true"):
        facts.append(("grows", "yes"))

    def write():
        with open(os.path.join(_FOLDER, "%d.tensorflow" % os.getpid()), "w") as stream:
            stream.writelines("%s %s\n" % fact for fact in facts)

    def set_memory_growth(device, enable):
        set_growth(device, enable)
        if enable and ("grows", "yes") not in facts:
            facts.append(("grows", "yes"))
            write()

    write()
    set_growth = tensorflow.config.experimental.set_memory_growth
    tensorflow.config.experimental.set_memory_growth = set_memory_growth


def _on_ctypes(module):
    _load("lines").watch()


def _on_stopping_criteria(module):
    _load("values").watch_generation(module)


def _on_vllm(module):
    _load("values").watch_vllm(module)


def _on_logging(module):
    _load("said").watch_logging(module, _note)


def _on_traceback(module):
    _load("said").watch_printed(module, _note)


def _on_nested(module):
    _load("known").watch_nested(module.NestedTensor)


def _on_compiled(module):
    _load("known_triton").watch_compiled(module.CachingAutotuner)


def _on_triton(module):
    _load("known_triton").watch(module.JITFunction)


def _on_torchvision(module):
    _load("known").known.watch_others()


def _on_deepspeed(module):
    _load("ranks").watch_deepspeed(module)


def _on_zero(module):
    _load("ranks").watch_zero(module)


class _Finder(object):
    """Stands before all other finders and tells when one of these modules has been imported."""

    awaited = {
        "ctypes": _on_ctypes,
        "logging": _on_logging,
        "traceback": _on_traceback,
        "torch": _on_torch,
        "cupy": _on_cupy,
        "rmm": _on_rmm,
        "jax": _on_jax,
        "tensorflow": _on_tensorflow,
        "transformers.generation.stopping_criteria": _on_stopping_criteria,
        "vllm.v1.worker.gpu.async_utils": _on_vllm,
        "torch.nested._internal.nested_tensor": _on_nested,
        "torch._inductor.runtime.triton_heuristics": _on_compiled,
        "triton.runtime.jit": _on_triton,
        "torchvision.extension": _on_torchvision,
        "deepspeed.runtime.zero.utils": _on_deepspeed,
        "torch.distributed.optim.zero_redundancy_optimizer": _on_zero,
    }

    def __init__(self):
        self.active = False

    def find_spec(self, name, path=None, target=None):
        if name not in self.awaited or self.active:
            return None
        import importlib.util

        self.active = True  # the others are asked now
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.active = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def execute_and_tell(module):
            execute(module)
            try:
                self.awaited.pop(name, lambda module: None)(module)
            except Exception as error:
                sys.stderr.write("gemem-dry-run: what is recorded of %s: %s\n" % (name, error))

        spec.loader.exec_module = execute_and_tell
        return spec


def _keep_interrupt():
    """Lets a program that Ctrl-C ended end by that signal: Python forgets it where anything is compiled at the end, as PyTorch does for the snapshot.
    Runs last of all."""
    import atexit

    def end():
        if getattr(sys, "last_type", None) is KeyboardInterrupt and not getattr(sys, "ps1", None):
            import signal

            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)

    atexit.register(end)


def _is_about_memory(error):
    """Whether an exception, or one that it came from, says that memory was refused."""
    import re

    about, seen = re.compile("out.?of.?memory|resource.?exhausted|alloc(?:ation)?.?failed|memoryerror", re.IGNORECASE), set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if about.search("%s %s" % (type(error).__name__, error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _refused_library(error):
    """The library of NVIDIA's whose status says that the device had no memory for it; None."""
    import re

    status = re.search("(CU[A-Z]+)_(?:STATUS_)?(?:INTERNAL_ERROR_DEVICE_)?ALLOC(?:ATION)?_FAILED", str(error))
    return "cu" + status.group(1)[2:] if status else None


def _tell_end():
    """Notes the error that ends the program: one that is not about memory, as what was refused before did not end it, and a library that was refused some."""
    import atexit

    def tell():
        error = getattr(sys, "last_value", None)
        if isinstance(error, Exception):
            _load("said").tell_error(error, _note)
        if error is not None and not _is_about_memory(error):
            _note("ended", "%d %s" % (os.getpid(), type(error).__name__))
        elif error is not None and _refused_library(error):
            torch = sys.modules.get("torch")
            device = torch.cuda.current_device() if torch is not None and torch.cuda.is_initialized() else 0
            _note("refused", "%d %d %s" % (os.getpid(), device, _refused_library(error)))

    atexit.register(tell)


_WRITES = 30  # seconds that the snapshot of a process may take


def _spare_recordings():
    """A parent that kills a process (vLLM its engine, at once after SIGTERM) waits until that has written the snapshot which SIGTERM makes it write."""
    import signal
    import time

    kill = os.kill

    def written(pid):
        path = os.path.join(_FOLDER, "%d." % pid)
        uses = os.path.exists(path + "torch") and os.path.exists(path + "gmj")
        return not uses or os.path.exists(path + "pickle") and not os.path.exists(path + "pickle.part")

    def kill_when_written(pid, number):
        if number == signal.SIGKILL and pid > 0 and pid != os.getpid() and not written(pid):
            kill(pid, signal.SIGTERM)
            until = time.monotonic() + _WRITES
            while not written(pid) and time.monotonic() < until and _runs(pid):
                time.sleep(0.05)
        return kill(pid, number)

    os.kill = kill_when_written


def _runs(pid):
    """Whether process PID has not ended yet."""
    try:
        with open("/proc/%d/stat" % pid) as stream:
            return stream.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False


def _run_the_programs_own():
    """The module of this name that Python would have found without this one."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) not in (None, "sitecustomize"):
            raise
        sys.modules["sitecustomize"] = ours


if _FOLDER:
    os.environ["GEMEM_DRY_PYTHON"] = "1"  # says so to libgemem-dry.so (dry/driver/notes.c)
    try:
        _find_libraries()
    except Exception as error:
        sys.stderr.write("gemem-dry-run: what stands for NVIDIA's libraries: %s\n" % (error,))
    _keep_interrupt()
    _tell_end()
    _spare_recordings()
    sys.meta_path.insert(0, _Finder())
_run_the_programs_own()
