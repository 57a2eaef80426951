"""Kernels as functions of JAX arrays, under `jit` and `vmap`: custom calls of XLA, on the CPU by the emulator, and on a GPU on XLA's stream."""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import os
import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import jax
import numpy

from ptxgraft._device import Device
from ptxgraft._kernel import Kernel, PlannedLaunch, check_kernel
from ptxgraft._library import NULL, Dimensions, Error, Handle, check, closing, ffi, invalid, lib


def _first(*names: str) -> Any:
    """The first of some modules that this JAX has; None where it has none."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


_mlir, _batching = _first("jax.interpreters.mlir"), _first("jax.interpreters.batching")
_ffi = _first("jax.ffi", "jax.extend.ffi")
_core = _first("jax.extend.core", "jax.core")

Launch = Callable[..., tuple[Dimensions, Dimensions, Sequence[Any]]]
_TARGET = "ptxgraft_launch"
_OLDEST_JAXLIB = (0, 4, 35)  # whose FFI is as xla.h has it; before, its structs were others under the same version


class Operand(NamedTuple):
    """An array of a launch that is planned, when it has no elements yet: what JAX knows of it as it traces."""

    shape: tuple[int, ...]
    dtype: Any  #: of NumPy
    place: int  #: among the inputs, with the outputs behind them

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)


#: Plans whose structs have the address of a kernel or a device, by their identity: equal ones are several.
_plans_of: weakref.WeakKeyDictionary[Handle, weakref.WeakValueDictionary[int, _Plan]] = weakref.WeakKeyDictionary()


def _forget(handle: Handle) -> None:
    """Calls with what is closed are errors from then on."""
    if isinstance(handle, (Kernel, Device)):
        for plan in _plans_of.pop(handle, weakref.WeakValueDictionary()).values():
            plan.struct.kernel = plan.struct.device = NULL


closing.append(_forget)


class _Plan:
    """Launches of a kernel on operands of known shapes, one for each element of a batch. Equal plans do the same."""

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        operands: tuple[Operand, ...],
        inputs: int,
        method: str,
        batch: Optional[int],
        rows: tuple[bool, ...],
    ):
        self.kernel, self.launch, self.operands, self.inputs, self.method = kernel, launch, operands, inputs, method
        self.batch = batch  # how many launches; None: it is no batch
        self.rows = rows  # which inputs have one for each
        grid, block, arguments = launch(*operands)
        constants = [self._constant(argument, i) for i, argument in enumerate(arguments)]
        self._planned = planned = PlannedLaunch(kernel, (grid, block, 0, None, False, 0, 0), tuple(constants))
        planned.frame.options.should_stop = NULL  # no handler of Python's runs on XLA's threads
        operand_of = [argument.place if isinstance(argument, Operand) else -1 for argument in arguments]
        stored = tuple(bytes(ffi.buffer(store)) for store in planned.frame.stores)
        self._key = (
            kernel,
            planned.frame.key,
            stored,
            tuple(operand_of),
            operands,
            inputs,
            method,
            batch,
            rows,
            launch if method != "sequential" else None,
        )
        self.struct = self._make_struct(operand_of)

    def _constant(self, argument: Any, index: int) -> Any:
        """What stands for an argument until the launch."""
        if not isinstance(argument, Operand):
            return argument
        parameters = self.kernel.parameters
        if index < len(parameters) and (parameters[index].size != 8 or parameters[index].type[0] == "f"):
            parameter = parameters[index]
            raise invalid(f"argument {index} is an array, and parameter {parameter.name} is a .{parameter.type}, no address", index)
        return 0

    def _make_struct(self, operand_of: list[int]) -> Any:
        struct, device, frame = ffi.new("ptxgraft_python_plan*"), self.kernel.device, self._planned.frame
        self._operand_of = ffi.new("int32_t[]", operand_of or [-1])
        rows = [*self.rows, *([self.batch is not None] * (len(self.operands) - self.inputs))]
        described = [(o.nbytes, row, o.place >= self.inputs) for o, row in zip(self.operands, rows)]
        self._described = ffi.new("ptxgraft_python_operand[]", described)
        for handle in self.kernel, device:
            _plans_of.setdefault(handle, weakref.WeakValueDictionary())[id(self)] = self
        struct.kernel, struct.device, struct.options = self.kernel._handle, device._handle, frame.options
        struct.arguments, struct.operand_of, struct.argument_count = frame.slots, self._operand_of, frame.count
        struct.operands, struct.operand_count = self._described, len(described)
        struct.launches = 1 if self.batch is None else self.batch
        struct.copies, struct.on_gpu = device.is_emulator and not device.process_memory, not device.is_emulator
        return struct

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Plan) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<plan of {self.kernel!r}>"

    @property
    def results(self) -> list[Any]:
        """Shapes and types."""
        head = () if self.batch is None else (self.batch,)
        return [jax.ShapeDtypeStruct((*head, *o.shape), o.dtype) for o in self.operands[self.inputs :]]

    def run(self, *inputs: Any) -> list[Any]:
        """On arrays of the host."""
        arrays = [numpy.ascontiguousarray(array) for array in inputs]
        outputs = [numpy.empty(result.shape, result.dtype) for result in self.results]
        pointers = ffi.new("void*[]", [ffi.cast("void*", array.ctypes.data) for array in (*arrays, *outputs)])
        changed = ffi.new("size_t*", len(self.operands))
        status = lib.ptxgraft_python_run(self.struct, pointers, NULL, changed)
        if status and changed[0] < len(self.operands):
            raise Error("memory_read_only", f"the kernel wrote to input {changed[0]}, which JAX keeps", index=changed[0])
        check(status)
        return outputs


def call(kernel: Kernel, launch: Launch, *inputs: Any, output: Any = None, vmap_method: str = "sequential") -> Any:
    """What a kernel writes, of arrays.

    `launch(*inputs, *outputs)` gives grid, block and the arguments of a launch, from what JAX knows of arrays as it traces: `shape`,
    `size`, `ndim`, `nbytes`, `dtype`. `output` is a jax.ShapeDtypeStruct, or a list of them for a tuple of results; None: shape and type
    of the first input. The kernel must not write to an input, nor read an output before it wrote there: the usual emulator finds both.

    Under `vmap` the kernel is launched for each element of the batch ("sequential"), or, with `vmap_method="broadcast_all"`, once
    for all of them: then `launch` is asked again, with arrays that have the batch in front.

    A kernel of the emulator works on arrays of the CPU, and one of a GPU on that GPU's, in place and on XLA's stream. Both are custom
    calls by XLA's FFI: no Python runs in a jitted function. Where JAX has no FFI, and on arrays of a GPU, the emulator is called back.

    >>> import jax, ptxgraft, ptxgraft.jax
    >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
    >>> kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, ptxgraft.Device("emulator"))
    >>> square = jax.jit(lambda x: ptxgraft.jax.call(kernel, lambda x, y: (1, 128, (x, y, x.size)), x))
    >>> square(jax.numpy.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 4.0, 9.0]
    """
    check_kernel(kernel)
    if vmap_method not in ("sequential", "broadcast_all"):
        raise invalid(f"there is no vmap_method {vmap_method!r}; there are sequential, broadcast_all")
    arrays = [jax.numpy.asarray(array) for array in inputs]
    if output is None and not arrays:
        raise invalid("a call without inputs says what its output is")
    is_one = output is None or hasattr(output, "shape")
    outputs = [arrays[0] if output is None else output] if is_one else list(output)
    known = [*((a.shape, a.dtype) for a in arrays), *((o.shape, _canonical(o.dtype)) for o in outputs)]
    operands = tuple(Operand(tuple(shape), numpy.dtype(dtype), i) for i, (shape, dtype) in enumerate(known))
    plan = _Plan(kernel, launch, operands, len(arrays), vmap_method, None, (False,) * len(arrays))
    results = _primitive.bind(*arrays, plan=plan)
    return results[0] if is_one else tuple(results)


def _canonical(dtype: Any) -> Any:
    kept = jax.dtypes.canonicalize_dtype(dtype)
    if kept != numpy.dtype(dtype):
        raise invalid(f"an output is of {numpy.dtype(dtype)}, which JAX has with jax_enable_x64 alone")
    return kept


_primitive = _core.Primitive("ptxgraft_launch")
_primitive.multiple_results = True


def _apply(*arrays: Any, plan: _Plan) -> Any:
    """Outside of jit."""
    if plan.kernel.device.is_emulator:
        return [jax.numpy.asarray(result) for result in plan.run(*map(numpy.asarray, arrays))]
    return _compiled(plan)(*arrays)


@functools.lru_cache(256)
def _compiled(plan: _Plan) -> Any:
    return jax.jit(lambda *arrays: _primitive.bind(*arrays, plan=plan))


def _abstract(*arrays: Any, plan: _Plan) -> Any:
    return [jax.core.ShapedArray(result.shape, result.dtype) for result in plan.results]


def _vmapped(arrays: Sequence[Any], places: Sequence[Optional[int]], *, plan: _Plan) -> Any:
    """The batch in front of every array that has one; of another batch around it, one batch of all."""
    batch = next(array.shape[place] for array, place in zip(arrays, places) if place is not None)
    moved = [array if place is None else jax.numpy.moveaxis(array, place, 0) for array, place in zip(arrays, places)]
    outer = [place is not None for place in places]
    if plan.method == "broadcast_all":
        return _bind_whole(batch, moved, outer, plan)
    inner = 1 if plan.batch is None else plan.batch
    rows = tuple(a or b for a, b in zip(plan.rows, outer))
    flat = [_flat(array, has, row, batch, inner) if row or has else array for array, has, row in zip(moved, outer, plan.rows)]
    new = _Plan(plan.kernel, plan.launch, plan.operands, plan.inputs, plan.method, batch * inner, rows)
    results = _primitive.bind(*flat, plan=new)
    head = (batch,) if plan.batch is None else (batch, inner)
    return [result.reshape((*head, *result.shape[1:])) for result in results], [0] * len(results)


def _flat(array: Any, has_outer: bool, has_inner: bool, outer: int, inner: int) -> Any:
    """One row for each of outer times inner launches."""
    rest = array.shape[has_outer + has_inner :]
    own = ((outer if has_outer else 1), (inner if has_inner else 1), *rest)
    return jax.numpy.broadcast_to(array.reshape(own), (outer, inner, *rest)).reshape((outer * inner, *rest))


def _bind_whole(batch: int, arrays: Sequence[Any], has: Sequence[bool], plan: _Plan) -> Any:
    """One launch, over arrays with the batch in front."""
    whole = [array if row else jax.numpy.broadcast_to(array, (batch, *array.shape)) for array, row in zip(arrays, has)]
    operands = tuple(o._replace(shape=(batch, *o.shape)) for o in plan.operands)
    new = _Plan(plan.kernel, plan.launch, operands, plan.inputs, plan.method, None, plan.rows)
    results = _primitive.bind(*whole, plan=new)
    return results, [0] * len(results)


_primitive.def_impl(_apply)
_primitive.def_abstract_eval(_abstract)
_batching.primitive_batchers[_primitive] = _vmapped


def _lower_to_callback(context: Any, *arrays: Any, plan: _Plan) -> Any:
    if not plan.kernel.device.is_emulator:
        raise invalid(f"the kernel is on {plan.kernel.device.name}, and this is compiled for another device, or by a JAX without an FFI")

    def run(*values: Any) -> Any:
        return jax.pure_callback(lambda *given: plan.run(*map(numpy.asarray, given)), plan.results, *values)

    return _mlir.lower_fun(run, multiple_results=True)(context, *arrays)


def _lower_to_call(context: Any, *arrays: Any, plan: _Plan, on_gpu: bool) -> Any:
    if plan.kernel.device.is_emulator == on_gpu:
        return _lower_to_callback(context, *arrays, plan=plan)
    context.module_context.add_keepalive(plan)  # what is compiled has its address
    address = numpy.int64(int(ffi.cast("uintptr_t", plan.struct)))
    rule = _ffi.ffi_lowering(_TARGET)
    return rule(context, *arrays, plan=address, process=numpy.int64(lib.ptxgraft_python_xla_process))


def _jaxlib_version() -> tuple[int, ...]:
    version: str = _first("jaxlib.version").__version__
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _register() -> bool:
    """The handler with XLA; whether it takes it."""
    if not hasattr(_ffi, "register_ffi_target") or _jaxlib_version() < _OLDEST_JAXLIB:
        return False
    lib.ptxgraft_python_xla_process = int.from_bytes(os.urandom(7), "little") | 1
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    handler = int(ffi.cast("uintptr_t", ffi.addressof(lib, "ptxgraft_python_xla_call")))
    try:
        for platform in "cpu", "CUDA":
            _ffi.register_ffi_target(_TARGET, make(handler, None, None), platform=platform)
    except RuntimeError:  # an FFI of another version
        return False
    return True


def _set_lowering(by_ffi: bool) -> None:
    _mlir.register_lowering(_primitive, _lower_to_callback)
    for platform, on_gpu in ("cpu", False), ("cuda", True):
        rule = functools.partial(_lower_to_call, on_gpu=on_gpu) if by_ffi else _lower_to_callback
        _mlir.register_lowering(_primitive, rule, platform=platform)


has_ffi = _register()  #: whether jitted functions launch without Python
_set_lowering(has_ffi)
