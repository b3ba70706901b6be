"""known_watch.py - where known.py stands between the program and PyTorch: the operators, the backward pass and what it calls of Python, threads, storages, lists of tensors.

Why: each operator that is named is seen by a dispatch key of PyTorch that nothing else uses, above autograd (known.py says why no mode of Python serves).

Invariants: the program's operators make the requests that they make without this.  What goes wrong here is nothing to the program: its tensor is not known.
"""
import ast
import contextlib
import functools
import importlib
import linecache
import os
import sys
import threading

from . import known_operators as operators
from .known_nodes import COPIED, LARGER, SMALL, Unknown, Value

SHOWN = "site-packages/gemem/known.py"  # where these functions stand in call stacks: in a package, not in the program
_ASIDE = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(SHOWN) + "/")  # lines of gemem's begin with these


class Watch(object):
    """The part of Known that PyTorch calls."""

    def watch_higher(self):
        """Operators that are given functions (flex_attention, cond) look for their kernels in Python, where the fallback of these keys does not count."""
        kind = getattr(self.torch._ops, "HigherOrderOperator", None)
        begin = getattr(kind, "__init__", None)
        if not hasattr(kind, "fallthrough"):
            return

        def pass_on(one):
            for key in (self.key, self.backward):
                one.fallthrough(key)

        @functools.wraps(begin)
        def begin_again(one, *args, **kwargs):
            begin(one, *args, **kwargs)
            pass_on(one)

        kind.__init__ = begin_again
        for one in getattr(self.torch._ops, "_higher_order_ops", {}).values():
            pass_on(one)

    def watch_threads(self):
        """Each thread has keys of its own, and begins without."""
        begin = threading.Thread._bootstrap_inner

        def begin_again(thread):
            self.watch_here()
            begin(thread)

        threading.Thread._bootstrap_inner = self.shown(begin_again)

    def watch_here(self):
        """This thread is watched, unless a child of fork() asks."""
        self.torch._C._dispatch_tls_set_dispatch_key_included(self.key, os.getpid() == self.pid)

    def watch_inference(self, mode):
        """MODE, inference mode, gives a thread back the keys that it had when it began: none, if CUDA began within it."""
        end = mode.__exit__

        @functools.wraps(end)
        def end_again(guard, *error):
            end(guard, *error)
            if self.torch is not None:
                self.watch_here()

        mode.__exit__ = end_again

    def watch_storages(self):
        """What copies storages (torch.save, torch.load, copy.deepcopy, pickle) makes no tensors that are those of the program."""
        storage = self.torch.UntypedStorage
        copy, write_file, set_from_file = storage.copy_, storage._write_file, storage._set_from_file

        @self.shown
        def copy_again(to, source, *args, **kwargs):
            with self.guard(self.keys):
                try:
                    found = self.before_storage(to, source)
                except Exception:  # no node, or it cannot be computed
                    found = None
                self.threads.pending = [found] if isinstance(found, Value) else None
                result = copy(to, source, *args, **kwargs)
                self.threads.pending = None
                if isinstance(found, Value):
                    if found.is_long():
                        found.give(to.data_ptr(), to.nbytes())
                elif to.device.type == "cuda":
                    self.nodes.pop(to._cdata, None)
                    if found is not None:
                        self.nodes[to._cdata] = self.weak(to), found, COPIED, self.foreign.value, lambda: None
                return result

        @self.shown
        def write_again(one, *args):
            return write_file(one.cpu() if one.is_cuda else one, *args)

        @self.shown
        def set_again(one, *args, **kwargs):
            if not one.is_cuda:
                return set_from_file(one, *args, **kwargs)
            host = storage(one.nbytes())
            set_from_file(host, *args, **kwargs)
            return one.copy_(host)

        storage.copy_, storage._write_file, storage._set_from_file = copy_again, write_again, set_again

    def watch_versions(self):
        """PyTorch's compiler counts a version of what its code is about to write in place, which is seen as it is launched."""
        inner = self.torch._C
        count, tensor = getattr(inner, "_increment_version", None), self.torch.Tensor

        @self.shown
        def count_again(tensors):
            given = tensors if isinstance(tensors, tensor) else list(tensors)
            kept = self.quietly(self.before_version, given) if self.nodes and self.is_compiled() else None
            count(given)
            for one, node in kept or ():
                self.quietly(self.put, one, node)

        if count is not None:
            inner._increment_version = count_again

    @staticmethod
    def is_compiled():
        """Whether it is PyTorch's compiler that calls, by a function of PyTorch's."""
        frame = sys._getframe(2).f_back
        return frame is not None and os.sep + "_functorch" + os.sep in frame.f_code.co_filename

    def before_version(self, tensors):
        """Tensors of a list of which something is known, each with its node."""
        found = [(one, self.get(one)) for one in ([tensors] if isinstance(tensors, self.torch.Tensor) else tensors) if self.suits(one)]
        return [(one, node) for one, node in found if node is not None]

    def before_storage(self, to, source):
        """Of what TO, a storage, is about to get from SOURCE: its node, or for the host the value."""
        torch = self.torch
        if torch.cuda.is_current_stream_capturing() or to.nbytes() != source.nbytes():
            raise Unknown
        if not source.is_cuda:
            data = torch.empty(0, dtype=torch.uint8).set_(source)
            whole = source.nbytes() > LARGER and self.looks_whole(data)
            if source.nbytes() > LARGER and not whole:
                raise Unknown
            return self.keep(data, source.nbytes() > SMALL and not whole).node
        entry = self.nodes.get(source._cdata)
        if entry is None or not self.lasts(source, entry):
            raise Unknown
        node, noted = entry[1], entry[4]()
        if node.void or node.lost or entry[2] is not COPIED and (noted is None or self.version(noted) != entry[2]):
            raise Unknown
        if to.is_cuda:
            return node
        if node.meta is not None and node.meta[3] not in self.whole and (node.assumed or node.unsure or node.nbytes > SMALL):
            raise Unknown
        data = self.evaluate(node)[: to.nbytes()]
        if node.unknown is not None:
            raise Unknown
        self.told(node.assumed)
        return Value(None, data.view(torch.uint8), node.assumed)

    def looks_whole(self, data):
        """Whether these bytes, whose type nobody tells, are integers below 2^24 or truth values: real numbers but zeros have other bits in the last of each four."""
        if data.numel() % 4 or not data[:SMALL].any():
            return False
        last = data.view(self.torch.int8)[3::4]
        return all(bool(((one == 0) | (one == -1)).all()) for one in (last[:SMALL], last)) or all(bool((one <= 1).all()) for one in (data[:SMALL], data))

    def watch_backward(self):
        """Changes the keys while the backward pass runs, and back where it runs Python."""
        torch, inner = self.torch, self.torch._C
        run = torch.autograd._engine_run_backward
        forward, backward = inner.DispatchKeySet(self.key), self.backward_keys

        @self.shown
        def run_backward(*args, **kwargs):
            with change(forward, backward):
                return run(*args, **kwargs)

        def change(less, more):
            included, excluded = inner._dispatch_tls_local_include_set(), inner._dispatch_tls_local_exclude_set()
            return inner._ForceDispatchKeyGuard((included | more) - less, excluded)

        def again():
            return change(backward, forward)

        function = torch.autograd.function.BackwardCFunction
        apply = function.apply

        @self.shown
        def apply_again(*args):
            with again():
                return apply(*args)

        torch.autograd._engine_run_backward, function.apply = run_backward, apply_again
        for name in ("register_hook", "register_post_accumulate_grad_hook"):
            if hasattr(torch.Tensor, name):
                setattr(torch.Tensor, name, self.watch_hooks(getattr(torch.Tensor, name), again))
        hooks = getattr(importlib.import_module("torch.utils.hooks"), "BackwardHook", None)
        if hooks is not None:
            begin = hooks.__init__

            @functools.wraps(begin)
            def begin_again(hook, module, *lists):
                begin(hook, module, *[[self.in_keys(one, again) for one in each] for each in lists])

            hooks.__init__ = begin_again
        saved = torch.autograd.graph.saved_tensors_hooks
        begin_saved = saved.__init__

        @functools.wraps(begin_saved)
        def begin_saved_again(one, pack, unpack):
            begin_saved(one, self.in_program(pack), self.in_program(unpack))

        saved.__init__ = begin_saved_again
        recomputation = getattr(importlib.import_module("torch.utils.checkpoint"), "_recomputation_hook", None)
        if recomputation is not None:
            enter, leave = recomputation.__enter__, recomputation.__exit__

            def enter_again(hook):
                hook._gemem_keys = again()
                hook._gemem_keys.__enter__()
                return enter(hook)

            def leave_again(hook, *error):
                result = leave(hook, *error)
                hook._gemem_keys.__exit__(*error)
                return result

            recomputation.__enter__, recomputation.__exit__ = enter_again, leave_again

    def in_python(self):
        """Inside: what Python does for a tensor of its own kind, which runs without keys that come before it, is watched as the program is."""
        inner = self.torch._C if self.torch is not None else None
        if inner is None or not any(inner._dispatch_tls_is_dispatch_key_included(key) for key in (self.key, self.backward)):
            return contextlib.nullcontext()
        included = inner._dispatch_tls_local_include_set() | inner.DispatchKeySet(self.key)
        return inner._ForceDispatchKeyGuard(included - self.backward_keys, inner._dispatch_tls_local_exclude_set() - self.keys)

    def in_program(self, function):
        """FUNCTION, which an operator or the backward pass calls, run as the program's Python is."""

        @self.shown
        def run(*args):
            with self.in_python():
                return function(*args)

        return functools.update_wrapper(run, function)

    def in_keys(self, hook, again):
        """HOOK, run as the program's Python is."""

        @self.shown
        def run(*args):
            with again():
                return hook(*args)

        return functools.update_wrapper(run, hook)

    def watch_hooks(self, register, again):
        """REGISTER, a method of tensors, whose hooks run as the program's Python does."""

        @functools.wraps(register)
        def register_again(tensor, hook):
            return register(tensor, self.in_keys(hook, again))

        return register_again

    def watch_others(self):
        """Sees each call of those operators of other packages that have been registered by now, and were not seen yet."""
        have = {one.ns for one in self.library}
        for full in operators.OF_OTHERS if have else ():
            package, _, name = full.partition("::")
            if package not in have and self.torch._C._dispatch_has_kernel(full):
                self.library.append(self.torch.library.Library(package, "IMPL"))
                self.watch(getattr(getattr(self.torch.ops, package), name).default, name, self.library[-1])

    def watch(self, op, name, library=None):
        """Sees each call of OP, which is registered as NAME in LIBRARY, or PyTorch's."""
        library = library or self.library[1]
        schema = op._schema
        if any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns):
            return  # a view
        base = name.partition(".")[0]
        written = self.written(op)
        if written and (len(written) > 1 or written[0] not in (0, "out")):
            return
        if any(one.type.kind() == "ListType" for one in schema.returns):
            return  # other operators make these
        ask = getattr(self, "before_" + base.strip("_"), None)
        random = base.strip("_") in operators.RANDOM
        redispatch, guard, keys, below = op._handle.redispatch_boxed, self.guard, self.keys, self.below
        written = written[0] if written else None
        tensors = [i for i, one in enumerate(schema.arguments) if one.type.kind() == "TensorType"]
        whole = self.call_whole(op)

        strided, layers, numbers = self.torch.strided, self.layers, self.numbers
        reads = {"_local_scalar_dense": 0, "_to_copy": 0, "copy": 1, "copy_": 1}.get(base)
        of_sparse = base in operators.OF_SPARSE
        structured = base in operators.STRUCTURED and written is None

        def note(args, kwargs, result, state, values):
            try:
                if structured and result.layout is not strided:
                    self.note_parts(op, args, kwargs, result)
                else:
                    self.note(op, base, written, args, kwargs, result, state, values)
            except Exception:  # whatever it is, it concerns what is known, not the program
                pass

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *self.as_tensors(args, tensors), **kwargs)
            n, state, values = len(args), None, None
            if random or ask and not (of_sparse and args[0].layout is strided):
                with guard(keys):
                    state = self.generator(args, kwargs) if random else None
                    values = self.ask(ask, args, kwargs) if ask else None
            self.threads.pending = values
            self.threads.whole = reads is not None and args[reads].dtype in self.whole and args[reads].dtype not in self.masks
            if not values and n and getattr(args[0], "layout", strided) is not strided:
                # operators of sparse tensors are made of others
                result = below_all(*args, **kwargs) if 1 in tensors and n > 1 and type(args[1]) in numbers else redispatch(keyset & below, *args, **kwargs)
                if structured and (base in operators.DENSE or result.layout is not strided):
                    with guard(keys):
                        note(args, kwargs, result, None, None)
                return result
            with guard(keys):
                for i in tensors:
                    if i < n and type(args[i]) in numbers:
                        result = whole(*args, **kwargs)
                        break
                else:
                    result = redispatch(keyset & below, *args, **kwargs)
                self.threads.pending = None
                note(args, kwargs, result, state, values)
                return result

        def below_all(*args, **kwargs):
            with guard(keys):
                return whole(*args, **kwargs)

        self.shown(call)
        library.impl(name, call, operators.KEY, with_keyset=True)
        if base in operators.SELECT:
            library.impl(name, call, operators.BACKWARD_KEY, with_keyset=True)

    def watch_alias(self, alias, base):
        """ALIAS is BASE from here on, which is seen: PyTorch would make a tensor of a number before it is, which torch.func cannot give to Python."""
        aten = self.torch.ops.aten
        for overload in getattr(aten, alias).overloads():
            if overload in getattr(aten, base).overloads():
                whole = self.call_whole(getattr(getattr(aten, base), overload))
                call = lambda keyset, *args, whole=whole, **kwargs: whole(*args, **kwargs)
                self.library[1].impl(alias + ("" if overload == "default" else "." + overload), self.shown(call), operators.KEY, with_keyset=True)

    @staticmethod
    def written(op):
        """Which arguments OP writes: places, and names of those that have none."""
        return [one.name if one.kwarg_only else i for i, one in enumerate(op._schema.arguments) if one.alias_info is not None and one.alias_info.is_write]

    def watch_writer(self, op, name):
        """Sees that OP, of which nothing else is known, writes, also where no version tells it: in inference mode, and by x.data."""
        places, each = [i for i in self.written(op) if isinstance(i, int)], self.each(name)
        scales = name.partition(".")[0] == "_amp_update_scale_"
        redispatch, guard, keys, below, layers = op._handle.redispatch_boxed, self.guard, self.keys, self.below, self.layers

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *args, **kwargs)
            with guard(keys):
                scale = self.quietly(self.scale, op, args) if scales else None
                result = redispatch(keyset & below, *args, **kwargs)
                if scale is not None:
                    for tensor, node in zip(args, scale):
                        self.quietly(self.put, tensor, node)
                elif self.nodes and each is not None:
                    self.write_each(each, args, kwargs)
                elif self.nodes:
                    for i in places:
                        self.quietly(self.forget, args[i] if i < len(args) else None)
                return result

        made_of_others = self.torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "CompositeImplicitAutograd")  # which are seen
        if places and not made_of_others:
            self.library[1].impl(name, self.shown(call), operators.KEY, with_keyset=True)

    def watch_lists(self, op, name):
        """Sees what OP, an operator of lists that makes new ones (_foreach_add), makes of each tensor."""
        each, written = self.each(name), self.written(op)
        redispatch, guard, keys, below, layers = op._handle.redispatch_boxed, self.guard, self.keys, self.below, self.layers

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *args, **kwargs)
            with guard(keys):
                result = redispatch(keyset & below, *args, **kwargs)
                if self.nodes:
                    self.make_each(each, args, kwargs, result)
                return result

        if each is not None and not written:
            self.library[1].impl(name, self.shown(call), operators.KEY, with_keyset=True)

    def watch_view(self, op, name):
        """Sees that OP, which writes no element, gives its tensor another version, or other memory."""
        redispatch, guard, keys, below, layers = op._handle.redispatch_boxed, self.guard, self.keys, self.below, self.layers

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *args, **kwargs)
            with guard(keys):
                tensor = args[0]
                node = self.quietly(self.get, tensor) if self.nodes and tensor.is_cuda and self.suits(tensor) else None
                source = args[1] if len(args) > 1 and isinstance(args[1], self.torch.Tensor) else None
                result = redispatch(keyset & below, *args, **kwargs)
                if tensor.is_cuda and self.suits(tensor):
                    self.quietly(self.renew, tensor, node, source)
                return result

        made_of_others = self.torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "CompositeImplicitAutograd")
        if not made_of_others:
            self.library[1].impl(name, self.shown(call), operators.KEY, with_keyset=True)

    def renew(self, tensor, node, source):
        """TENSOR, whose node was NODE, is another view of its memory, or of that of SOURCE, or of one that was copied."""
        storage = tensor.untyped_storage()
        entry = self.nodes.get(storage._cdata)
        if entry is None or entry[0].expired():
            return
        if entry[2] is COPIED or source is not None and self.get(source) is entry[1] or node is entry[1] and node.nbytes == storage.nbytes():
            self.put(tensor, entry[1])

    def scale(self, op, args):
        """The nodes of GradScaler's scale and of how many steps it has had, after another one without overflow."""
        try:
            after = [self.value(one)[0].clone() for one in args[:2]]
        except Unknown:
            return None
        self.tell(self.no_overflow)
        op(*after, self.torch.zeros(1), *args[3:])
        return [self.keep(one).node for one in after]

    def each(self, name):
        """What NAME, an operator of lists (_foreach_add_), does with each tensor; None: it is none of these."""
        base, _, overload = name.partition(".")
        if not base.startswith("_foreach_") or base[9:].rstrip("_") not in operators.OPERATORS:
            return None
        overload = {"": "default", "ScalarList": "Scalar", "List": "Tensor"}.get(overload, overload)
        if base[9:].rstrip("_") in operators.VALUED:
            return self.valued(getattr(self.torch.ops.aten, base[9:]).default) if overload != "Tensor" else None
        own = getattr(self.torch.ops.aten, base[9:], None)
        default = getattr(own, "default", None)
        takes = default._schema.arguments[1].type.kind() if default and len(default._schema.arguments) > 1 else ""
        return getattr(own, overload, default if takes == {"Scalar": "NumberType", "Tensor": "TensorType"}.get(overload) else None)

    @staticmethod
    def valued(op):
        """OP, whose factor is a keyword, for the form of lists, where it comes fourth."""

        def call(one, first, second, value=1):
            return op(one, first, second, value=value)

        call._schema = op._schema
        return call

    def write_each(self, op, args, kwargs):
        """The tensors of a list have been written, each as OP would do."""
        for i, tensor in enumerate(args[0]):
            if self.has_node(tensor):
                try:
                    self.write(op, op._schema.name[6:], 0, self.own(args, i), kwargs, None, True)
                except Exception:  # it is no longer known
                    self.quietly(self.forget, tensor)

    def make_each(self, op, args, kwargs, result):
        """The tensors of a list have been made, each as OP would do of those in its place."""
        for i, tensor in enumerate(result):
            if self.has_node(args[0][i]):
                try:
                    self.note(op, op._schema.name[6:], None, self.own(args, i), kwargs, tensor, None, None)
                except Exception:  # it is not known
                    self.quietly(self.forget, tensor)

    def has_node(self, tensor):
        return self.suits(tensor) and tensor.untyped_storage()._cdata in self.nodes

    @staticmethod
    def quietly(function, *args):
        """What FUNCTION returns; None if it fails, which concerns what is known, not the program."""
        try:
            return function(*args)
        except Exception:
            return None

    @staticmethod
    def own(args, i):
        """Of the lists in ARGS what is in place I."""
        return tuple(one[i] if isinstance(one, (list, tuple)) else one for one in args)

    @staticmethod
    def calling():
        """The frame of Python that called the operator; None: there is none."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_ASIDE):
            frame = frame.f_back
        return frame

    def caller(self):
        """The file of that frame."""
        frame = self.calling()
        return frame.f_code.co_filename if frame is not None else ""

    def is_called(self, base):
        """Whether it is a line of Python that calls BASE, and not another operator; where neither can be told, it is one that does."""
        frame = self.calling()
        if frame is None:
            return False
        key = frame.f_code, frame.f_lasti, base
        if key not in self.calls:
            self.calls[key] = self.find_call(*key)
        return self.calls[key]

    @staticmethod
    def find_call(code, at, base):
        base = base.strip("_")
        try:
            line, last, column, end = list(code.co_positions())[at // 2]
            lines = [linecache.getline(code.co_filename, i).encode() for i in range(line, last + 1)]
            lines[-1] = lines[-1][:end]
            lines[0] = lines[0][column:]
            one = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
        except (AttributeError, IndexError, SyntaxError, TypeError, ValueError):
            return any(name.strip("_") == base for name in code.co_names)
        if isinstance(one, ast.Subscript):
            return base == "fill"  # x[...] = 0
        called = getattr(one, "func", None)
        return getattr(called, "attr", getattr(called, "id", "")).strip("_") in (base, *operators.COMPOSED)

    @staticmethod
    def shown(function):
        """Stacks show FUNCTION in a package of gemem's."""
        function.__code__ = function.__code__.replace(co_filename=SHOWN)
        return function

    def as_tensors(self, args, places):
        """ARGS with tensors for the numbers that stand in PLACES of tensors, of types with which the operator's result is of the same type."""
        torch, numbers = self.torch, [i for i in places if i < len(args) and type(args[i]) in self.numbers]
        if not numbers:
            return args
        args, others = list(args), [one.dtype for one in args if isinstance(one, torch.Tensor)]
        with torch._C._DisableFuncTorch(), self.guard(self.keys):
            for i in numbers:
                kept = [one for one in others if torch.result_type(torch.empty(0, dtype=one), args[i]) == one]
                args[i] = torch.scalar_tensor(args[i], dtype=kept[0] if kept else torch.get_default_dtype() if type(args[i]) is float else None)
        return args

    def call_whole(self, op):
        """OP for arguments with a number in the place of a tensor, which is no tensor of its type: x / 2 is one of x's."""
        inner, function = self.torch._C, op._op

        def call(*args, **kwargs):
            with inner.DisableTorchFunction() if inner._len_torch_function_stack() else contextlib.nullcontext():
                return function(*args, **kwargs)

        return self.shown(call)

    def note(self, op, base, written, args, kwargs, result, state, values):
        """OP returned RESULT: the nodes of what it made or wrote."""
        if self.torch.cuda.is_current_stream_capturing():
            return self.capture(result)
        if written is not None:
            if (args[0] if written == 0 else kwargs[written]).is_cuda:
                return self.write(op, base, written, args, kwargs, state)
            if values and values[0].is_long():
                args[0].copy_(values[0].bytes)
            return None
        if isinstance(result, self.torch.Tensor):
            if result.is_cuda:
                return self.make(op, base, args, kwargs, result, None, state)
            if values and values[0].is_long():  # else values.py gives it, or what --value chooses
                result.copy_(values[0].bytes)
        elif isinstance(result, tuple):
            state = next(self.seeds) if base in operators.DRAWN else state
            for i, one in enumerate(result):
                if isinstance(one, self.torch.Tensor) and one.is_cuda:
                    self.make(op, base, args, kwargs, one, i, state)
        return None

    def capture(self, result):
        """What a graph writes is known only if something else writes there since the last graph was launched."""
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, self.torch.Tensor) and one.is_cuda and self.suits(one):
                self.forget(one)
                storage = one.untyped_storage()
                self.captured[storage._cdata] = [self.weak(storage), None]
