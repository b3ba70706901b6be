"""ranks.py - ranks of a distributed PyTorch program in a dry run: their numbers, the objects that they exchange, where they wait, and one rank that runs alone.

PyTorch's NCCL exchanges Python objects through device memory and works on their sizes with kernels, which do nothing here.  So objects go from rank to rank through
the store in which ranks meet anyway, as they are; what the real functions take of the device for a moment (the pickled bytes and their sizes) is not in the recording; where that is more than 1 MiB, it is said to be unknown.

Collectives are done at once and wait for nobody.  A program that calls barrier() wants to wait, because one rank writes a file that others read: so ranks wait for
each other there, in the store.

gemem-dry-run --rank R --world N runs one rank without the others.  Its store answers for those that are not there: counters have reached their end, nobody waits, and
what another rank would have written is what this one wrote, or zeros.  An object of an absent rank is this rank's own; where there is none, the program is told so.

The tensors of a collective live until a thread of PyTorch's, the watchdog, has seen that it is done, for which it looks every 100 ms.  DistributedDataParallel makes its
buckets anew before the second step: whether the first ones are still held then depends on how fast steps are.  Dry steps are much faster than real ones, so it waits here.

DeepSpeed's ZeRO 3 has rank 0 tell others its numbers through the device, and ends where they differ.  A rank would find its own tensor unchanged there: the check is
left out, as if all ranks held the same.

    ranks.start (torch, note, assume, known)   once, when torch has been imported; NOTE writes a line of the notes, ASSUME one that names the line of the program;
                                             KNOWN is that of known.py
    ranks.watch_deepspeed (module)        once deepspeed.runtime.zero.utils has been imported
    ranks.watch_zero (module)             once torch.distributed.optim.zero_redundancy_optimizer has been imported
"""
import ctypes
import datetime
import functools
import inspect
import io
import os
import pickle
import sys
import time

_WATCHDOG = 0.25  # seconds after which PyTorch's watchdog has looked at all collectives that are done
_LONGEST_WAIT = datetime.timedelta(hours=1)  # for the slowest rank
_PART = 1 << 20  # bytes of an object that go through the store at once
_assume = []  # start()'s ASSUME
_ABSENT = bytes(128)  # the size of NCCL's unique id


def _alone():
    """(rank, world) of --rank and --world, or None."""
    world = os.environ.get("GEMEM_DRY_WORLD")
    return (int(os.environ["GEMEM_DRY_RANK"]), int(world)) if world else None


def _store_class(distributed):
    class Store(distributed.Store):
        """The store of a rank that is alone."""

        def __init__(self, world):
            super().__init__()
            self.world, self.values = world, {}

        def set(self, key, value):
            self.values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key):
            return self.values.get(key, _ABSENT)

        def add(self, key, number):
            return self.world

        def compare_set(self, key, expected, value):
            self.set(key, value)
            return self.values[key]

        def wait(self, *arguments):
            pass

        def check(self, keys):
            return all(key in self.values for key in keys)

        def delete_key(self, key):
            return self.values.pop(key, None) is not None

        def clone(self):
            return self

        def num_keys(self):
            return len(self.values)

        def set_timeout(self, timeout):
            pass

        def append(self, key, value):
            self.values[key] = self.values.get(key, b"") + bytes(value)

        def multi_get(self, keys):
            return [self.get(key) for key in keys]

        def multi_set(self, keys, values):
            for key, value in zip(keys, values):
                self.set(key, value)

        def has_extended_api(self):
            return True

    return Store


def _small(store, theirs):
    """A class that makes groups of gloo of one rank, which wait for no other, in the place of its own."""

    class Kind(type):
        def __call__(cls, prefixed, rank, world, *arguments, **options):
            return theirs(store(), 0, 1, *arguments, **options)

        def __instancecheck__(cls, group):
            return isinstance(group, theirs)

        def __getattr__(cls, name):
            return getattr(theirs, name)

    return Kind("ProcessGroupGloo", (), {})


def _leave_alone(torch, c10d, rank, world):
    """Lets init_process_group() begin without the other ranks."""
    store = _store_class(torch.distributed)(world)

    def meet(url, *arguments, **options):
        yield store, rank, world

    handlers = sys.modules["torch.distributed.rendezvous"]._rendezvous_handlers
    for scheme in list(handlers):
        handlers[scheme] = meet

    _replace(c10d, "ProcessGroupGloo", functools.partial(_small, torch.distributed.HashStore))

    class TCPStore(object):
        def __new__(cls, *arguments, **options):
            return store

    _replace(c10d, "TCPStore", lambda theirs: TCPStore)


def _replace(c10d, name, make):
    """Replaces a function of torch.distributed by what MAKE makes of it, wherever that has been imported."""
    theirs = getattr(c10d, name, None)
    if theirs is None:
        return
    ours = make(theirs) if isinstance(theirs, type) else functools.wraps(theirs)(make(theirs))
    for module in [m for key, m in list(sys.modules.items()) if key.startswith("torch.distributed")]:
        if vars(module).get(name) is theirs:
            setattr(module, name, ours)


def _tell_sizes(c10d):
    """Groups that are split from others: NCCL is only told a color, so that the size has to be told beside it."""
    library = ctypes.CDLL(None)

    def tell(make, size, rank):
        library.gemem_dry_next_group(size, rank)
        try:
            return make()
        finally:
            library.gemem_dry_next_group(0, 0)

    def helper(theirs):
        def made(group_size, group_rank, *arguments, **options):
            return tell(lambda: theirs(group_size, group_rank, *arguments, **options), group_size, max(group_rank or 0, 0))

        return made

    def split(theirs):
        def made(parent_pg=None, split_ranks=None, *arguments, **options):
            rank = c10d.get_rank(parent_pg)
            mine = next((ranks for ranks in split_ranks or [] if rank in ranks), [])
            return tell(lambda: theirs(parent_pg, split_ranks, *arguments, **options), len(mine), sorted(mine).index(rank) if mine else 0)

        return made

    _replace(c10d, "_new_process_group_helper", helper)
    _replace(c10d, "split_group", split)


class _Awaited(object):
    """The work of a barrier that the program waits for later: done when all ranks have come, which is when KEY is in the store."""

    def __init__(self, work, store, key):
        self.work, self.store, self.key = work, store, key

    __class__ = property(lambda self: type(self.work))

    def __getattr__(self, name):
        return getattr(self.work, name)

    def is_completed(self):
        return self.store.check([self.key]) and self.work.is_completed()

    def wait(self, *arguments, **options):
        self.store.wait([self.key], _LONGEST_WAIT)
        return self.work.wait(*arguments, **options)


class _Objects(object):
    """Object collectives of groups that have no other device than the GPU."""

    def __init__(self, torch, c10d, note, assume):
        self.distributed, self.c10d, self.note, self.assume = torch.distributed, c10d, note, assume
        self.alone, self.counts = _alone(), {}
        for name in ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "send_object_list", "recv_object_list"):
            _replace(c10d, name, functools.partial(self.choose, getattr(self, name)))
        _replace(c10d, "barrier", self.barrier)

    def choose(self, ours, theirs):
        place = list(inspect.signature(theirs).parameters).index("group")

        def function(*arguments, **options):
            group = arguments[place] if len(arguments) > place else options.get("group")
            on_gpu = self.distributed.is_initialized() and "nccl" in str(self.distributed.get_backend(group))
            return (ours if on_gpu else theirs)(*arguments, **options)

        return function

    def members(self, group):
        return self.distributed.get_process_group_ranks(group if group is not None else self.distributed.group.WORLD)

    def begin(self, group, what):
        """The name of one exchange, the same in all ranks that take part."""
        key = "gemem/%s/%s" % (",".join(map(str, self.members(group))) if group is not None else "", what)
        self.counts[key] = self.counts.get(key, 0) + 1
        return "%s/%d" % (key, self.counts[key])

    def put(self, key, rank, value):
        """In parts, because a store refuses more than 8 MiB at once."""
        store, data = self.c10d._get_default_store(), pickle.dumps(value)
        parts = range(0, len(data), _PART)
        if len(parts) > 1:
            self.note("buffers", "of PyTorch's for a moment, for Python objects of more than %d MiB that ranks exchange" % (_PART >> 20))
        for i, start in enumerate(parts):
            store.set("%s/%d/%d" % (key, rank, i), data[start : start + _PART])
        store.set("%s/%d" % (key, rank), str(len(parts)))

    def fetch(self, key, rank, own):
        """What rank RANK put; OWN stands for it where this rank is alone."""
        if self.alone and rank != self.alone[0]:
            self.assume()
            return own
        store = self.c10d._get_default_store()
        parts = int(store.get("%s/%d" % (key, rank)))
        return pickle.loads(b"".join(store.get("%s/%d/%d" % (key, rank, i)) for i in range(parts)))

    def source(self, group, rank, group_rank):
        """The rank among all of one that is given by either number."""
        return self.distributed.get_global_rank(group if group is not None else self.distributed.group.WORLD, group_rank) if group_rank is not None else rank or 0

    def all_gather_object(self, object_list, obj, group=None):
        if self.distributed.get_rank(group) < 0:
            return
        key = self.begin(group, "gather")
        self.put(key, self.distributed.get_rank(), obj)
        for i, rank in enumerate(self.members(group)):
            object_list[i] = self.fetch(key, rank, obj)

    def gather_object(self, obj, object_gather_list=None, dst=None, group=None, group_dst=None):
        here = self.distributed.get_rank() == self.source(group, dst, group_dst)
        self.all_gather_object(object_gather_list if here else [None] * len(self.members(group)), obj, group)

    def broadcast_object_list(self, object_list, src=None, group=None, device=None, group_src=None):
        if self.distributed.get_rank(group) < 0:
            return
        key, root = self.begin(group, "broadcast"), self.source(group, src, group_src)
        if self.distributed.get_rank() == root:
            self.put(key, root, object_list)
        else:
            object_list[:] = self.fetch(key, root, list(object_list))

    def scatter_object_list(self, scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
        if self.distributed.get_rank(group) < 0:
            return
        key, root = self.begin(group, "scatter"), self.source(group, src, group_src)
        if self.distributed.get_rank() == root:
            self.put(key, root, scatter_object_input_list)
        whole = self.fetch(key, root, None)
        if whole is None:
            raise self.absent(root)
        scatter_object_output_list[0] = whole[self.distributed.get_rank(group)]

    def send_object_list(self, object_list, dst=None, group=None, device=None, group_dst=None, **options):
        rank, to = self.distributed.get_rank(), self.source(group, dst, group_dst)
        self.put(self.begin(group, "send %d %d" % (rank, to)), rank, object_list)

    def recv_object_list(self, object_list, src=None, group=None, device=None, group_src=None, **options):
        rank, origin = self.distributed.get_rank(), self.source(group, src, group_src)
        objects = self.fetch(self.begin(group, "send %d %d" % (origin, rank)), origin, None)
        if objects is None:
            raise self.absent(origin)
        object_list[:] = objects
        return origin

    def barrier(self, theirs):
        def wait_for_all(*arguments, **options):
            work, group = theirs(*arguments, **options), arguments[0] if arguments else options.get("group")
            if self.alone or self.distributed.get_rank(group) < 0:
                return work
            key, store = self.begin(group, "barrier"), self.c10d._get_default_store()
            if store.add(key, 1) == len(self.members(group)):
                store.set(key + "/all", b"")
            if work is not None:  # async_op
                return _Awaited(work, store, key + "/all")
            store.wait([key + "/all"], _LONGEST_WAIT)

        return wait_for_all

    def absent(self, rank):
        return RuntimeError("gemem-dry-run --rank: this rank waits for an object of rank %d, which does not run; run all ranks (torchrun), or tell the program what it would get" % rank)


def _keep_known(c10d, known, assume):
    """What a rank that is alone in its group gives to a collective is known after it as before: nobody else adds to it.  Whether numbers are finite all ranks take to be the
    same, so that the greatest and the least of their answers is this rank's; so they are of what the host wrote, as if all ranks had written the same (ASSUME)."""
    kinds = c10d.ReduceOp
    chosen = (kinds.MAX, kinds.MIN, kinds.BAND, kinds.BOR)
    unchanging = (kinds.SUM, kinds.PRODUCT, kinds.MAX, kinds.MIN, kinds.BAND, kinds.BOR, kinds.BXOR)

    def watched(theirs, second):
        def call(tensor, *arguments, **options):
            given = dict(zip((second, "group"), arguments), **options)
            unchanged = second == "src" or given.get("op", kinds.SUM) in unchanging
            node = known.quietly(known.lasting, tensor) if unchanged else None
            result = theirs(tensor, *arguments, **options)
            if node is None:
                return result
            agreed = second == "src" or given.get("op", kinds.SUM) in chosen
            alone, written = c10d.get_world_size(given.get("group")) == 1, agreed and known.is_hosts(node)
            if alone or written or agreed and node.finite:
                known.quietly(known.put, tensor, node)
            if written and not alone:
                assume()
            return result

        return call

    _replace(c10d, "all_reduce", lambda theirs: watched(theirs, "op"))
    _replace(c10d, "broadcast", lambda theirs: watched(theirs, "src"))


def _wait_for_watchdog(torch):
    """Lets each DistributedDataParallel begin its second step when the collectives of the first hold no memory."""
    reducer = torch._C._distributed_c10d.Reducer
    rebuild, calls = reducer._rebuild_buckets, {}

    def rebuild_when_free(self):
        calls[id(self)] = calls.get(id(self), 0) + 1
        if calls[id(self)] == 2:
            time.sleep(_WATCHDOG)
        return rebuild(self)

    reducer._rebuild_buckets = rebuild_when_free


def watch_zero(module):
    """ZeroRedundancyOptimizer collects its states by a broadcast of objects of its own."""
    if not hasattr(module, "_broadcast_object"):
        return

    def broadcast_object(obj, src_rank, group=None, device=None):
        here, saved = module.dist.get_rank() == src_rank, io.BytesIO()
        if here:
            module.torch.save(obj, saved)
        objects = [saved.getvalue()]
        module.dist.broadcast_object_list(objects, src=src_rank, group=group)
        return obj if here else module.torch.load(io.BytesIO(objects[0]), map_location=device, weights_only=False)

    module._broadcast_object = broadcast_object


def watch_deepspeed(module):
    def agree(numbers):
        for assume in _assume:
            assume()

    if hasattr(module, "assert_ints_same_as_other_ranks"):
        module.assert_ints_same_as_other_ranks = agree


def start(torch, note, assume, known):
    """Replaces what ranks use to find each other."""
    if not torch.distributed.is_available():
        return
    import torch.distributed.distributed_c10d as c10d

    _assume[:] = [assume]
    alone = _alone()
    if alone:
        _leave_alone(torch, c10d, *alone)
    _Objects(torch, c10d, note, assume)
    _tell_sizes(c10d)
    if hasattr(torch, "_C"):  # not in the module that our tests call torch
        _wait_for_watchdog(torch)
        _keep_known(c10d, known, assume)

    def begin(theirs):
        def init_process_group(*arguments, **options):
            theirs(*arguments, **options)
            note("rank", "%d %d" % (os.getpid(), torch.distributed.get_rank()))

        return init_process_group

    _replace(c10d, "init_process_group", begin)
