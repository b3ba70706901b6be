"""pools.py - the requests of a program to CuPy's memory pools, each with its Python stack, told to the recorder (record/requests.c).

    watch_cupy(cupy, stacks)     once CuPy has been imported
    watch_rmm(rmm, stacks)       once RMM has been imported, if the user asks for it
    watch_limits(rmm, note)      once RMM has been imported, if not: only whether a resource may refuse what the device has

CuPy calls its memory hooks (cupy.cuda.MemoryHook) for every request to a pool and every block that comes back to one, in the thread that asks.  They are those of the
thread: ours is entered in the thread that imports CuPy and in each that Python starts later.  Requests of other threads (those of C, and of Python that ran before) are
not seen, nor which pool serves a request.  The program's own hooks, pools and allocators are as they were.  No failure in here stops the program.
"""
import ctypes
import re
import sys
import threading

from . import known_cupy


class Pools(object):
    """The recorder's functions, for one library; NAME: gemem's allocator that decides as its pool does; STACKS: of lines.py."""

    def __init__(self, name, library, stacks):
        recorder = ctypes.CDLL(None)
        number, text = ctypes.c_uint64, ctypes.c_char_p
        self.start, self.request, self.release = recorder.gemem_record_begin, recorder.gemem_record_request, recorder.gemem_record_release
        self.request.argtypes = (ctypes.c_int, number, number, number, number)
        self.start.argtypes, self.release.argtypes = (ctypes.c_uint32,), (ctypes.c_int, number)
        self.name, self.stacks = recorder.gemem_record_library, stacks
        self.name.argtypes = (text, text, text)
        self.allocator, self.library = name.encode(), library.encode()

    def configure(self, settings):
        self.name(self.allocator, settings.encode(), self.library)

    def begin(self):
        self.start(self.stacks.number(sys._getframe(1)))

    def end(self):
        """Forgets the request that began."""
        self.request(0, 0, 0, 0, 0)


def _release_of(version):
    """The release of CuPy that gemem knows and that decides as this one."""
    return "13.6" if int(version.split(".")[0]) < 14 else "14.2"


def _harmless(method):
    """The method, whose failure is said once and does not reach the program."""

    def call(self, **facts):
        try:
            method(self, **facts)
        except Exception as error:
            self.pools.end()
            if not self.failed:
                sys.stderr.write("gemem-dry-run: requests of CuPy are missing in the recording: %s\n" % (error,))
            self.failed = True

    return call


def _make_hook(cupy, pools):
    current = cupy.cuda.get_current_stream

    class Hook(cupy.cuda.MemoryHook):
        name = "gemem-dry-run"
        failed = False

        def __init__(self):
            self.pools, self.replay = pools, known_cupy.replay

        @_harmless
        def malloc_preprocess(self, **request):
            self.pools.begin()

        @_harmless
        def malloc_postprocess(self, device_id, size, mem_size, mem_ptr, **more):
            self.pools.request(device_id, mem_ptr, size, mem_size, current().ptr)
            self.replay.library and self.replay.block_begins(mem_ptr, mem_size)

        @_harmless
        def free_preprocess(self, device_id, mem_ptr, **more):
            if mem_ptr:
                self.pools.release(device_id, mem_ptr)
                self.replay.library and self.replay.block_ends(mem_ptr)

    return Hook()


def _watch_threads(hook):
    """Enters the hook in each thread that Python starts from here on."""
    run = threading.Thread._bootstrap_inner

    def enter_and_run(thread):
        hook.__enter__()
        run(thread)

    threading.Thread._bootstrap_inner = enter_and_run


def watch_cupy(cupy, stacks):
    """Runs when the program has imported CuPy."""
    import atexit

    version = cupy.__version__
    pools = Pools("cupy-pool", "CuPy " + version, stacks)
    hook = _make_hook(cupy, pools)

    def configure():
        """The pool's limit is what the program leaves it at."""
        if not pools.stacks.known:
            return  # no request, so the library may not even be there
        limit = cupy.get_default_memory_pool().get_limit()
        pools.configure("version=%s,tie=recorded%s" % (_release_of(version), ",limit=%d" % limit if limit else ""))

    pools.configure("version=%s,tie=recorded" % _release_of(version))
    hook.__enter__()
    _watch_threads(hook)
    atexit.register(configure)


# ---- RMM, if $GEMEM_DRY_RMM says so.  It tells nobody of its requests; a resource of its own kind that calls Python, CallbackMemoryResource, can stand before another,
# which changes the program: doc/dry-run-frameworks.md says how.

# those whose settings can be read, or that need none; what stands before another one, or is made of others, is taken for that
_RESOURCES = {"PoolMemoryResource": "rmm-pool", "ArenaMemoryResource": "rmm-arena", "CudaAsyncMemoryResource": "rmm-cuda-async"}

_LARGEST = re.compile(r"current/max/try size = [^,]*, *([0-9.]+) (B|KiB|MiB|GiB|TiB)")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _resource_of(resource):
    """The part of a resource that the recording names."""
    while type(resource).__name__ not in _RESOURCES and getattr(resource, "upstream_mr", None) is not None:
        resource = resource.upstream_mr
    return resource


class _Rmm(object):
    """Puts a CallbackMemoryResource before each memory resource that the program sets, and takes it away from those that it gets."""

    def __init__(self, rmm, stacks):
        self.mr, self.version, self.stacks = rmm.mr, rmm.__version__, stacks
        self.pools, self.settings = None, ""
        self.covers = {}  # id of the resource before -> (that, the program's own)

    def set_model(self, resource):
        """The first resource that is more than the device names the allocator of the recording."""
        resource = _resource_of(resource)
        name = _RESOURCES.get(type(resource).__name__, "direct")
        if self.pools is None or (self.pools.allocator == b"direct" and name != "direct"):
            self.pools = self.pools or Pools(name, "RMM " + self.version, self.stacks)
            self.pools.allocator = name.encode()
            self.settings = "version=" + ("24.12" if self.version < "25" else "26.10") if name in ("rmm-pool", "rmm-arena") else ""
            if name == "rmm-pool":
                self.settings += ",initial_pool_size=%d" % resource.pool_size()
            self.pools.configure(self.settings)

    def learn_limit(self, error):
        """No resource tells its largest size; since RMM 25 its error does."""
        found = self.pools.allocator == b"rmm-pool" and "maximum_pool_size" not in self.settings and _LARGEST.search(error)
        if found:
            self.settings += ",maximum_pool_size=%d" % (float(found.group(1)) * _UNITS[found.group(2)])
            self.pools.configure(self.settings)

    def cover(self, resource, device):
        if resource is None or id(resource) in self.covers:
            return resource
        self.set_model(resource)
        pools = self.pools

        def allocate(size, stream):
            address = 0
            pools.begin()
            try:
                address = resource.allocate(size, stream)
                return address
            except MemoryError as error:
                self.learn_limit(str(error))
                raise
            finally:
                pools.request(device, address, size, 0, stream.__cuda_stream__()[1])

        def deallocate(address, size, stream):
            pools.release(device, address)
            resource.deallocate(address, size, stream)

        cover = self.mr.CallbackMemoryResource(allocate, deallocate)
        self.covers[id(cover)] = (cover, resource)
        return cover

    def uncover(self, resource):
        return self.covers.get(id(resource), (None, resource))[1]

    def replace(self, name, make):
        """Replaces the function NAME in each of RMM's modules by make(function)."""
        function = getattr(self.mr, name)
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").split(".")[0] == "rmm" and getattr(module, name, None) is function:
                setattr(module, name, make(function))


def watch_rmm(rmm, stacks):
    """Runs when the program has imported RMM."""
    from rmm._cuda.gpu import getDevice

    state, mr = _Rmm(rmm, stacks), rmm.mr
    set_one, get_one, reinitialize = mr.set_per_device_resource, mr.get_per_device_resource, rmm.reinitialize

    def reinitialize_and_cover(*arguments, **options):
        reinitialize(*arguments, **options)
        devices = options.get("devices", arguments[4] if len(arguments) > 4 else 0)
        for device in [devices] if isinstance(devices, int) else devices:
            set_one(device, state.cover(get_one(device), device))

    state.replace("set_current_device_resource", lambda function: lambda mr: function(state.cover(mr, getDevice())))
    state.replace("set_per_device_resource", lambda function: lambda device, mr: function(device, state.cover(mr, device)))
    state.replace("get_current_device_resource", lambda function: lambda: state.uncover(function()))
    state.replace("get_per_device_resource", lambda function: lambda device: state.uncover(function(device)))
    rmm.reinitialize = rmm.rmm.reinitialize = reinitialize_and_cover


def watch_limits(rmm, note):
    """Notes that a pool of a largest size was made: what it refuses, no device call tells."""
    reinitialize, mr = rmm.reinitialize, rmm.mr

    def tell(most, name="maximum_pool_size"):
        if isinstance(most, (int, str)) and most:
            note("pools", "of RMM, %s=%s: what they refuse is not seen; GEMEM_DRY_RMM=1 shows it" % (name, most))

    class PoolMemoryResource(mr.PoolMemoryResource):
        def __init__(self, upstream_mr, initial_pool_size=None, maximum_pool_size=None):
            tell(maximum_pool_size)
            super().__init__(upstream_mr, initial_pool_size, maximum_pool_size)

    class LimitingResourceAdaptor(mr.LimitingResourceAdaptor):
        def __init__(self, upstream_mr, allocation_limit):
            tell(allocation_limit, "allocation_limit")
            super().__init__(upstream_mr, allocation_limit)

    def reinitialize_and_tell(*arguments, **options):
        if options.get("pool_allocator", arguments[0] if arguments else False):
            tell(options.get("maximum_pool_size", arguments[3] if len(arguments) > 3 else None))
        return reinitialize(*arguments, **options)

    mr.PoolMemoryResource, mr.LimitingResourceAdaptor = PoolMemoryResource, LimitingResourceAdaptor
    rmm.reinitialize = rmm.rmm.reinitialize = reinitialize_and_tell
