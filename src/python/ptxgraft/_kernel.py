"""Kernels: grafted, loaded, launched."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from ptxgraft import _arrays, _cuda_core
from ptxgraft._device import Buffer, Device, Stream
from ptxgraft._library import (
    NULL,
    Dimensions,
    Error,
    Handle,
    Options,
    bytes_of,
    check,
    decode,
    dimensions,
    enum_value,
    ffi,
    info,
    invalid,
    lib,
    name_bytes,
    text_of,
)
from ptxgraft._machine_code import MachineCode

if TYPE_CHECKING:
    from ptxgraft._skeleton import Skeleton

_ONE = (1, 1, 1)
_KEPT_TYPES = (int, tuple, type(None))
# What a handler of a signal raised while a thread was within a launch, by the thread.
_raised: dict[int, BaseException] = {}


def _keep_raised(kind: object, error: BaseException, traceback: object) -> None:
    _raised[get_ident()] = error


def _should_stop(payload: object) -> int:
    """The library asks every few milliseconds. Python runs its handlers of signals as it enters here: what they raise ends the launch."""
    return 0


ffi.def_extern(name="ptxgraft_python_should_stop", error=1, onerror=_keep_raised)(_should_stop)


class Parameter(NamedTuple):
    """A parameter of a kernel, as its PTX declares it."""

    name: str
    type: str  #: "u64", "f32"; "b8" for structs
    size: int


class Attributes(NamedTuple):
    """What a loaded kernel takes; what is not known is 0: the emulator has no registers to count."""

    registers: int
    local_size: int
    static_shared_size: int
    most_dynamic_shared_size: int
    const_size: int
    threads_per_block: int
    binary_version: int
    ptx_version: int


# How a value is stored: by the C type of a parameter's bytes.
_C_TYPES = {("f", 4): "float", ("f", 8): "double", ("s", 1): "int8_t", ("s", 2): "int16_t", ("s", 4): "int32_t", ("s", 8): "int64_t"}
_KINDS = {"b": "u", "u": "u", "s": "s", "f": "f"}


def _c_type(parameter: Parameter) -> str:
    kind = _KINDS.get(parameter.type[0], "u")
    digits = parameter.type[1:].partition("x")[0]
    if not digits.isdigit() or int(digits) != parameter.size * 8 or parameter.size > 8:
        return f"char[{parameter.size}]"
    if kind == "f" and parameter.size == 2:
        return "uint16_t"
    return _C_TYPES.get((kind, parameter.size), f"uint{digits}_t")


class _Frame:
    """The C structs of a launch, which is used by one at a time and again and again."""

    __slots__ = ("options", "slots", "stores", "count", "key", "_kept")

    def __init__(self, parameters: tuple[Parameter, ...], is_emulator: bool):
        self.count = len(parameters)
        self.slots = ffi.new("ptxgraft_argument[]", max(self.count, 1))
        self.stores: list[Any] = []
        self._kept: list[Any] = []
        for slot, parameter in zip(self.slots, parameters):
            c_type = _c_type(parameter)
            value = ffi.new(c_type if c_type.endswith("]") else f"{c_type}*")
            self.stores.append(value)
            slot.data, slot.size = value, parameter.size
        self.options = ffi.new("ptxgraft_launch_options*", lib.ptxgraft_launch_options_init)
        if is_emulator:
            self.options.should_stop = lib.ptxgraft_python_should_stop
        self.key: Any = None

    def set_shape(self, key: tuple[Any, ...]) -> None:
        grid, block, shared_size, cluster, cooperative, budget, limit = key
        options, self.key = self.options, None  # until all of it is set
        options.grid, options.block = dimensions(grid), dimensions(block)
        options.cluster = _ONE if cluster is None else dimensions(cluster)
        options.shared_size, options.cooperative = shared_size, cooperative
        options.instruction_budget, options.time_limit_ms = budget, limit
        # A list may be another one by the next launch.
        self.key = key if all(type(extents) in _KEPT_TYPES for extents in (grid, block, cluster)) else None


def _check_launch(status: int) -> None:
    """An error of this thread's launch, or what a handler of a signal raised within it."""
    raised = _raised.pop(get_ident(), None)
    if raised is not None:
        raise raised
    check(status)


class Kernel(Handle):
    """An entry of a skeleton with its stubs, loaded on a device. Any number of threads launch and read one at once.

    >>> import numpy, ptxgraft
    >>> device = ptxgraft.Device("emulator")
    >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
    >>> kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, device)
    >>> x = numpy.arange(5, dtype=numpy.float32)
    >>> y = numpy.empty_like(x)
    >>> kernel.launch(1, 32, x, y, 5)
    >>> y
    array([ 0.,  1.,  4.,  9., 16.], dtype=float32)
    """

    __slots__ = ("device", "_frames", "_parameters", "_owner")
    _noun = "kernel"
    device: Device
    _frames: list[_Frame]

    def __init__(self) -> None:
        raise TypeError("a kernel comes from Skeleton.graft, graft_many or Device.borrow_kernel")

    @classmethod
    def _make(cls, skeleton: Skeleton, device: Device, options: Options) -> Kernel:
        if not isinstance(device, Device):
            raise invalid(f"a {type(device).__name__} is no ptxgraft.Device")
        return cls._new(device, cls._create(lib.ptxgraft_kernel_create, skeleton._handle, device._handle, options.struct))

    @classmethod
    def _new(cls, device: Device, handle: Any) -> Kernel:
        kernel = cls.__new__(cls)
        kernel._handle = handle
        kernel.device = device
        kernel._frames = []
        kernel._parameters = None
        kernel._owner = None
        return kernel

    @classmethod
    def _borrow(cls, device: Device, owner: Any) -> Kernel:
        kind, number = _cuda_core.function_handle(owner)
        handle = cls._create(lib.ptxgraft_kernel_create_borrowed, device._handle, enum_value("FUNCTION_HANDLE", kind), number)
        kernel = cls._new(device, handle)
        kernel._owner = owner
        return kernel

    def launch(
        self,
        grid: Dimensions,
        block: Dimensions,
        *arguments: Any,
        stream: Any = None,
        shared_size: int = 0,
        cluster: Optional[Dimensions] = None,
        cooperative: bool = False,
        instruction_budget: int = 0,
        time_limit_ms: int = 0,
    ) -> None:
        """Checks shape and arguments and launches; asynchronous on a GPU, where what fails may be reported by a later call.

        An argument is a Buffer; an array of a GPU on that GPU, on whose memory the kernel works in place; an array of the host on the
        emulator, which is copied there and back, or worked on in place where the device has `process_memory` (there a read-only array
        is copied, and writing to it is an error); a number, which must fit the parameter's type; a TensorMap; or the bytes of a
        struct. `stream`: a Stream, or what Device.borrow_stream takes. On the emulator Ctrl-C
        ends the launch, and so do `instruction_budget` and `time_limit_ms`."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self.parameters, self.device.is_emulator)
        kept: Optional[_Lent] = None
        try:
            key = (grid, block, shared_size, cluster, cooperative, instruction_budget, time_limit_ms)
            try:
                if frame.key != key:
                    frame.set_shape(key)
            except ValueError:  # NumPy's arrays are not compared as a whole
                frame.set_shape(key)
            if len(arguments) != frame.count:
                raise self._count_error(len(arguments))
            index = 0
            for argument, store in zip(arguments, frame.stores):
                kind = type(argument)
                if kind is Buffer and argument._device is self.device:
                    store[0] = argument._address
                elif kind is float or (kind is int and argument >= 0):
                    store[0] = argument
                else:
                    kept = kept or _Lent(self)
                    kept.set(store, argument, index)
                index += 1
            if stream is not None:
                stream = stream if type(stream) is Stream else self.device.borrow_stream(stream)
                frame.options.stream = stream._handle
            if kept is not None:
                kept.lend()
            status = lib.ptxgraft_kernel_launch(self._handle, frame.options, frame.slots, index)
            if status or _raised:
                _check_launch(status)
            if kept is not None:
                kept.give_back()
        except (TypeError, OverflowError, AttributeError) as error:
            raise self._argument_error(arguments, error) from None
        finally:
            if stream is not None:
                frame.options.stream = NULL
            self._frames.append(frame)

    def _count_error(self, given: int) -> Error:
        wanted = ", ".join(f"{p.type} {p.name}" for p in self.parameters)
        message = f"the kernel takes {len(self.parameters)} arguments ({wanted}), and {given} are given"
        return Error("argument_count_wrong", message)

    def _argument_error(self, arguments: Sequence[Any], error: Exception) -> Error:
        """What a store of cffi did not take, in words."""
        for index, (argument, parameter) in enumerate(zip(arguments, self.parameters)):
            try:
                if isinstance(argument, Buffer) and argument._address is None:
                    return invalid(f"the buffer of argument {index} is closed", index)
                if isinstance(argument, (int, float)):
                    _store_number(ffi.new(f"{_c_type(parameter)}*"), argument, parameter)
            except (TypeError, OverflowError, Error) as found:
                return invalid(f"argument {index} is {argument!r}, and parameter {parameter.name} is a .{parameter.type}: {found}", index)
        return invalid(str(error))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        if self._parameters is None:
            count = lib.ptxgraft_kernel_get_parameter_count(self._handle)
            infos = (info("parameter_info", lib.ptxgraft_kernel_get_parameter, self._handle, i) for i in range(count))
            self._parameters: Optional[tuple[Parameter, ...]] = tuple(Parameter(decode(p.name), decode(p.type), p.size) for p in infos)
        return self._parameters

    @property
    def entry(self) -> str:
        return decode(lib.ptxgraft_kernel_get_entry(self._handle))

    @property
    def assembler(self) -> str:
        """What made the machine code, "nvptxcompiler 13.5.37"; "" on the emulator."""
        return decode(lib.ptxgraft_kernel_get_assembler(self._handle))

    @property
    def ptx(self) -> str:
        """With the stubs in; "" of a borrowed kernel."""
        return text_of(lib.ptxgraft_kernel_get_ptx, self._handle)

    @property
    def cubin(self) -> bytes:
        """The machine code, an ELF. On the emulator, and of a borrowed kernel, there is none: an error."""
        return bytes_of(lib.ptxgraft_kernel_get_cubin, self._handle)

    @property
    def machine_code(self) -> MachineCode:
        """With all that is known of it, and the routes of the stubs."""
        return MachineCode._new(MachineCode._create(lib.ptxgraft_machine_code_create_from_kernel, self._handle))

    def to_cuda_core(self) -> Any:
        """A cuda.core.Kernel of the same machine code, which cuda.core loads a second time on its current device; of a borrowed kernel
        the one that it was borrowed from. A kernel with constants that are data has no other: nobody would write them there."""
        if self._owner is not None:
            return _cuda_core.kernel_of(self._owner)
        code = self.machine_code
        if code.banks:
            sites = ", ".join(bank.site for bank in code.banks)
            raise invalid(f"the constants of {sites} are data, which cuda.core would not write: graft with constants that are text")
        return code.to_cuda_core().get_kernel(self.entry)

    def attributes(self) -> Attributes:
        struct = info("kernel_attributes", lib.ptxgraft_kernel_get_attributes, self._handle)
        return Attributes(*(getattr(struct, field) for field in Attributes._fields))

    def occupancy(self, threads: int, shared_size: int = 0) -> int:
        """How many blocks of so many threads and bytes of dynamic shared memory a multiprocessor runs at once; 0: a launch is not possible.

        >>> import ptxgraft
        >>> device = ptxgraft.Device("emulator:sm_90")
        >>> ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90").graft({}, device).occupancy(1024)
        2
        """
        blocks = ffi.new("uint32_t*")
        check(lib.ptxgraft_kernel_get_occupancy(blocks, self._handle, threads, shared_size))
        return int(blocks[0])

    def times(self) -> dict[str, float]:
        """Milliseconds that the steps of the graft took: "render", "assemble", "link", "load"."""
        struct = info("kernel_times", lib.ptxgraft_kernel_get_times, self._handle)
        return {step: getattr(struct, step) for step in ("render", "assemble", "link", "load")}

    def set_constants(self, site: str, constants: Sequence[int], stream: Optional[Stream] = None) -> None:
        """The bits of other constants for a site whose stub has them as data; they count for what is launched later on that stream."""
        bits = ffi.new("uint64_t[]", list(constants))
        number = NULL if stream is None else stream._handle
        check(lib.ptxgraft_kernel_set_constants(self._handle, name_bytes(site), bits, len(bits), number))

    def variable(self, name: str) -> Buffer:
        """A `.global` or `.const` variable of the kernel's module, by its name in PTX."""
        handle = Buffer._create(lib.ptxgraft_buffer_create_from_variable, self._handle, name_bytes(name))
        return Buffer._new(self.device, handle)

    def close(self) -> None:
        super().close()
        self._owner = None

    def _description(self) -> str:
        return f"{self.entry} on {self.device.name}"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<tr><td>{escape(p.type)}</td><td>{escape(p.name)}</td><td>{p.size}</td></tr>" for p in self.parameters)
        attributes = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.attributes()._asdict().items() if value)
        return (
            f"<table><caption>kernel <b>{escape(self.entry)}</b> on {escape(self.device.name)}: {attributes}</caption>"
            f"<tr><th>type</th><th>parameter</th><th>bytes</th></tr>{rows}</table>"
            f"<details><summary>PTX</summary><pre>{escape(self.ptx)}</pre></details>"
        )


def check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, Kernel):
        raise _cuda_core.no_kernel(kernel)


def _store_number(store: Any, value: Any, parameter: Parameter) -> None:
    """A number of Python into a parameter's bytes. C's `int` is a .u32 in PTX: negative numbers that fit its bits are taken."""
    if isinstance(value, int) and value < 0 and parameter.type[0] in "ub" and value >= -(1 << (8 * parameter.size - 1)):
        value += 1 << (8 * parameter.size)
    store[0] = value


class _Lent:
    """The arguments of a launch that are neither buffers nor plain numbers."""

    __slots__ = ("_kernel", "_buffers", "_copies", "_in_place")

    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self._buffers: dict[tuple[int, int], Buffer] = {}
        self._copies: list[_Copy] = []
        self._in_place: list[_arrays.Place] = []  # whose memory lasts as long as this

    def set(self, store: Any, argument: Any, index: int) -> None:
        parameter = self._kernel.parameters[index]
        if isinstance(argument, Buffer):
            if argument._address is None:
                raise invalid(f"the buffer of argument {index} is closed", index)
            raise Error("device_differs", f"the buffer of argument {index} is on another device than the kernel", index=index)
        data = _bytes_of_value(argument, parameter, index)
        if data is None and isinstance(argument, (int, float)):
            _store_number(store, argument, parameter)
        elif data is not None:
            ffi.memmove(store, data, parameter.size)
        elif parameter.size != 8 or parameter.type[0] == "f":
            noun = type(argument).__name__
            raise invalid(f"argument {index} is a {noun}, and parameter {parameter.name} is a .{parameter.type}, no address", index)
        else:
            self._set_array(store, argument, index)

    def _set_array(self, store: Any, array: Any, index: int) -> None:
        place, device = _arrays.place_of(array, index), self._kernel.device
        if place.is_host and device.is_emulator and (place.read_only or not device.process_memory):
            self._copies = _joined(self._copies, _Copy(store, place, index))
        elif place.is_host and device.process_memory:
            store[0] = self._address_in_place(place, index)
        else:
            store[0] = self._address(array, place, index)

    def _address_in_place(self, place: _arrays.Place, index: int) -> int:
        try:
            place.check_in_place()
        except Error as error:
            error.index = index
            raise
        self._in_place.append(place)
        return place.address

    def _address(self, array: Any, place: _arrays.Place, index: int) -> int:
        """Of an array on a GPU."""
        key = (place.address, place.size)
        try:
            buffer = self._buffers.get(key) or self._kernel.device._borrow(place, array)
        except Error as error:
            error.index = index
            raise
        self._buffers[key] = buffer
        return buffer.address

    @property
    def copy_count(self) -> int:
        return len(self._copies)

    def lend(self) -> None:
        """Copies the host's arrays, and tells the kernel where they are."""
        for copy in self._copies:
            copy.lend(self._kernel.device)

    def give_back(self) -> None:
        for copy in self._copies:
            copy.give_back()


class _Copy:
    """A copy of an array of the host in the emulator's memory; arrays that overlap have one, and overlap there too."""

    __slots__ = ("begin", "end", "_members", "_buffer", "_before")
    _buffer: Buffer

    def __init__(self, store: Any, place: _arrays.Place, index: int):
        self.begin, self.end = place.address, place.address + place.size
        self._members: list[tuple[Any, _arrays.Place, int]] = [(store, place, index)]  # and the argument
        self._before: Optional[bytes] = None  # where an array is read-only

    def is_beside(self, other: _Copy) -> bool:
        """Whether they share bytes, or are of the same empty array."""
        return (self.begin < other.end and other.begin < self.end) or (self.begin, self.end) == (other.begin, other.end)

    def join(self, other: _Copy) -> None:
        self.begin, self.end = min(self.begin, other.begin), max(self.end, other.end)
        self._members = other._members + self._members

    def lend(self, device: Device) -> None:
        size = self.end - self.begin
        memory: Any = ffi.cast("char*", self.begin)
        if any(place.read_only for _, place, _ in self._members):
            self._before = bytes(ffi.buffer(memory, size))
            memory = ffi.from_buffer(self._before)
        self._buffer = device.allocate(size)
        check(lib.ptxgraft_buffer_write(self._buffer._handle, 0, memory, size))
        for store, place, _ in self._members:
            store[0] = self._buffer.address + place.address - self.begin

    def give_back(self) -> None:
        """Elements of an array that may be written; of one that is read-only the kernel changed nothing else."""
        expected = None if self._before is None else bytearray(self._before)
        for _, place, _ in self._members:
            if not place.read_only:
                offset = place.address - self.begin
                check(lib.ptxgraft_buffer_read(ffi.cast("char*", place.address), self._buffer._handle, offset, place.size))
                if expected is not None:
                    expected[offset : offset + place.size] = self._buffer.read(place.size, offset)
        if expected is None or self._buffer.read() == expected:
            return
        after = self._buffer.read()
        for _, place, index in self._members:
            part = slice(place.address - self.begin, place.address - self.begin + place.size)
            if after[part] != expected[part]:
                raise Error("memory_read_only", f"the kernel wrote to argument {index}, and the array is read-only", index=index)


def _joined(copies: list[_Copy], new: _Copy) -> list[_Copy]:
    """The copies with another one, which takes in those that it overlaps."""
    beside = [copy for copy in copies if copy.is_beside(new)]
    for copy in beside:
        new.join(copy)
    return [*(copy for copy in copies if copy not in beside), new]


class PlannedLaunch:
    """A launch that is queued later, with all that it needs until then."""

    __slots__ = ("struct", "frame", "_kernel", "_arguments", "_lent")

    def __init__(self, kernel: Kernel, key: tuple[Any, ...], arguments: tuple[Any, ...]):
        check_kernel(kernel)
        self._kernel, self._arguments, self._lent = kernel, arguments, _Lent(kernel)
        self.frame = frame = _Frame(kernel.parameters, kernel.device.is_emulator)
        try:
            frame.set_shape(key)
            if len(arguments) != frame.count:
                raise kernel._count_error(len(arguments))
            for index, (argument, store) in enumerate(zip(arguments, frame.stores)):
                self._set(store, argument, index)
        except (TypeError, OverflowError, AttributeError) as error:
            raise kernel._argument_error(arguments, error) from None
        self.struct = ffi.new("ptxgraft_planned_launch*", (kernel._handle, frame.options, frame.slots, frame.count))

    def _set(self, store: Any, argument: Any, index: int) -> None:
        if isinstance(argument, Buffer) and argument._device is self._kernel.device:
            store[0] = argument._address
            return
        self._lent.set(store, argument, index)
        if self._lent.copy_count:
            raise invalid(f"argument {index} is an array that a launch would copy: upload it first", index)

    check = staticmethod(_check_launch)


def _bytes_of_value(argument: Any, parameter: Parameter, index: int) -> Optional[Any]:
    """The bytes of a number of NumPy or of a struct; None of an array."""
    if isinstance(argument, bytes):
        data: Any = argument
    elif "numpy" in sys.modules and isinstance(argument, sys.modules["numpy"].generic):
        data = argument.tobytes()
        is_float = parameter.type[0] == "f"
        if argument.dtype.kind in "fiu" and parameter.type[0] != "b" and is_float != (argument.dtype.kind == "f"):
            raise invalid(f"argument {index} is a {argument.dtype}, and parameter {parameter.name} is a .{parameter.type}", index)
    elif hasattr(argument, "__ptxgraft_value__"):  # a tensor map
        data = argument.__ptxgraft_value__()
    else:
        return None
    if len(data) != parameter.size:
        message = f"argument {index} has {len(data)} bytes, and parameter {parameter.name} (.{parameter.type}) {parameter.size}"
        raise Error("argument_size_wrong", message, index=index)
    return data
