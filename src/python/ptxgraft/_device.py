"""Devices: CUDA GPUs and the emulator, their memory, streams and events, and what the emulator's checks found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ptxgraft import _arrays, _cuda_core
from ptxgraft._library import NULL, Handle, Options, check, decode, enum_name, ffi, info, invalid, lib, name_bytes, text_of
from ptxgraft._profile import Profile, profile_of

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    from ptxgraft._kernel import Kernel

    NumPyArray = numpy.typing.NDArray[Any]


class Finding(NamedTuple):
    """A mistake of a kernel. One that happens again at the same instruction, or the same two, is one finding."""

    code: str  #: "data_race", "memory_not_written", …
    check: str  #: the check that found it, "races"; "" for what ended a launch
    message: str
    line: int  #: in the kernel's PTX, from 1; 0: it has no place
    column: int
    threads: int  #: in how many threads it happened
    blocks: int


class Report(NamedTuple):
    """What launches on an emulator did, and what its checks found where they keep going."""

    warp_instructions: int
    thread_instructions: int
    found_count: int  #: findings, those that are not listed too
    excused_count: int
    findings: tuple[Finding, ...]

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(f.code)}</td><td>{f.line}</td><td>{f.threads}</td><td><pre>{escape(f.message)}</pre></td></tr>"
            for f in self.findings
        )
        head = f"<p>{self.warp_instructions} warp instructions, {self.found_count} findings</p>"
        return head + (f"<table><tr><th>what</th><th>line</th><th>threads</th><th></th></tr>{rows}</table>" if rows else "")


class Device(Handle):
    """Where kernels run: "auto" (the first GPU, else the emulator), "cuda", "cuda:1", "emulator", "emulator:sm_80",
    "emulator:sm_80:fast" (without checks).

    A cuda.core.Device is that GPU, in the same context.

    `sm`, `threads`, `memory_size`, `instruction_budget`, `time_limit_ms`, `keep_going`, `checks`, `excuses`, `process_memory` and
    `profile` are of an emulator (c/device.h says what each does). Any number of threads use one device at once; on an emulator
    launches and copies take turns.

    With `process_memory` an emulator works on arrays of the host in place, as a GPU on its own, and addresses of the host are those
    of the device. Without, which is the default, each array is an allocation of its own, and the emulator finds what a kernel does
    beyond its end, and what it reads that nobody wrote; with it such a kernel goes on with whatever of Python's memory lies there.

    >>> import ptxgraft
    >>> ptxgraft.Device("emulator:sm_80").target
    'sm_80'
    """

    __slots__ = ("is_emulator", "process_memory")
    _noun = "device"
    is_emulator: bool
    process_memory: bool  #: whether its memory is that of this process

    def __init__(
        self,
        name: Any = "auto",
        *,
        sm: int = 0,
        threads: int = 0,
        memory_size: int = 0,
        instruction_budget: int = 0,
        time_limit_ms: int = 0,
        keep_going: int = 0,
        checks: Optional[str] = None,
        excuses: Iterable[str] = (),
        process_memory: bool = False,
        profile: bool = False,
    ):
        options = Options("device_options")
        struct = options.struct
        if not isinstance(name, str):
            name = _cuda_core.device_name(name) or _no_device(name)
        struct.sm, struct.threads, struct.memory_size = sm, threads, memory_size
        struct.instruction_budget, struct.time_limit_ms, struct.keep_going = instruction_budget, time_limit_ms, keep_going
        options.text("checks", checks)
        options.texts("excuses", "excuse_count", excuses)
        struct.process_memory, struct.profile = process_memory, profile
        self._take(self._create(lib.ptxgraft_device_open_with_options, name_bytes(name), struct))
        self.process_memory = self.is_emulator and process_memory

    def _take(self, handle: Any) -> None:
        self._handle = handle
        self.is_emulator = lib.ptxgraft_device_get_kind(handle) == lib.PTXGRAFT_DEVICE_emulator
        self.process_memory = False

    @classmethod
    def borrow(cls, context: Any) -> Device:
        """The GPU of a CUcontext that somebody else made and keeps longer: a number, or a cuda.core Context."""
        device = cls.__new__(cls)
        number = context if isinstance(context, int) else int(getattr(context, "handle", context))
        device._take(cls._create(lib.ptxgraft_device_open_borrowed, number))
        return device

    @staticmethod
    def cuda_count() -> int:
        """Number of GPUs."""
        return int(lib.ptxgraft_device_get_cuda_count())

    @property
    def name(self) -> str:
        """Such as "NVIDIA H200" or "emulator"."""
        return decode(lib.ptxgraft_device_get_name(self._handle))

    @property
    def target(self) -> str:
        """The architecture to compile skeletons for: "sm_90a"."""
        return decode(lib.ptxgraft_device_get_target(self._handle))

    def properties(self) -> dict[str, Union[int, float, str]]:
        """What the device is, by the names of c/device.h; a number that it does not know is 0.

        >>> import ptxgraft
        >>> ptxgraft.Device("emulator").properties()["warp_size"]
        32
        """
        struct = info("device_properties", lib.ptxgraft_device_get_properties, self._handle)
        result: dict[str, Union[int, float, str]] = {"kind": enum_name("device_kind", struct.kind)}
        for field, _ in ffi.typeof(struct[0]).fields[2:]:
            value = getattr(struct, field)
            result[field] = value if isinstance(value, (int, float)) else decode(value)
        return result

    def check_health(self) -> None:
        """Raises the error that a GPU's context was lost with."""
        check(lib.ptxgraft_device_get_health(self._handle))

    def synchronize(self) -> None:
        """Waits for everything that was launched."""
        check(lib.ptxgraft_device_synchronize(self._handle))

    def take_output(self) -> str:
        """What kernels on the emulator printed since it was last asked."""
        return text_of(lib.ptxgraft_device_take_output, self._handle)

    def take_report(self) -> Report:
        """What launches on the emulator did and found since it was last asked."""
        out = ffi.new("ptxgraft_report**")
        check(lib.ptxgraft_device_take_report(out, self._handle))
        report = ffi.gc(out[0], lib.ptxgraft_report_destroy)
        sums = info("report_info", lib.ptxgraft_report_get_info, report)
        findings = (info("finding_info", lib.ptxgraft_report_get_finding, report, i) for i in range(sums.finding_count))
        return Report(
            sums.warp_instructions,
            sums.thread_instructions,
            sums.found_count,
            sums.excused_count,
            tuple(
                Finding(
                    decode(lib.ptxgraft_status_get_name(f.status)),
                    decode(f.check),
                    decode(f.message),
                    f.line,
                    f.column,
                    f.threads,
                    f.blocks,
                )
                for f in findings
            ),
        )

    def profile(self) -> Profile:
        """What launches on an emulator with `profile` executed, since it was opened or its profile was cleared; those of another module
        begin anew.

        >>> import ptxgraft
        >>> device = ptxgraft.Device("emulator", profile=True)
        >>> simple = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
        >>> simple.graft({"function": "x x mul.f32 -> y"}, device).launch(1, 32, device.upload(bytes(128)), device.allocate(128), 32)
        >>> [line.lanes for line in device.profile().lines if "mul" in line.instruction and ".f32" in line.instruction]
        [32]
        """
        return profile_of(self._handle)

    def clear_profile(self) -> None:
        """Counts begin anew."""
        check(lib.ptxgraft_device_clear_profile(self._handle))

    def allocate(self, size: int) -> Buffer:
        """Device memory of so many bytes; what it holds is not specified."""
        return Buffer._make(self, lib.ptxgraft_buffer_create, size)

    def upload(self, array: Any) -> Buffer:
        """A buffer with a copy of an array of the host; `download` gives an array like it.

        >>> import numpy, ptxgraft
        >>> device = ptxgraft.Device("emulator")
        >>> device.upload(numpy.arange(4, dtype=numpy.float32)).download()
        array([0., 1., 2., 3.], dtype=float32)
        """
        place = _arrays.place_of(array)
        if not place.is_host:
            raise invalid("the array is in a GPU's memory already: borrow it, or give it to the launch")
        buffer = self.allocate(place.size)
        buffer._dtype, buffer._shape = getattr(array, "dtype", None), getattr(array, "shape", None)
        buffer._write(place, 0)
        return buffer

    def borrow_buffer(self, array: Any) -> Buffer:
        """The memory of an array as a buffer, without a copy: of a GPU's (`__cuda_array_interface__`, DLPack), of the host's on an
        emulator with `process_memory`. The buffer keeps the array.

        >>> import numpy, ptxgraft
        >>> x = numpy.zeros(4, numpy.uint8)
        >>> ptxgraft.Device("emulator", process_memory=True).borrow_buffer(x).fill(7)
        >>> x
        array([7, 7, 7, 7], dtype=uint8)
        """
        return self._borrow(_arrays.place_of(array), array)

    def _borrow(self, place: _arrays.Place, array: Any) -> Buffer:
        if not (place.is_host if self.process_memory else not place.is_host and not self.is_emulator):
            where = "the host's" if place.is_host else "a GPU's"
            raise invalid(f"the array is in {where} memory, and {self.name} works on its own: upload copies")
        if place.is_host:
            place.check_in_place()
        buffer = Buffer._make(self, lib.ptxgraft_buffer_create_borrowed, place.address, place.size)
        buffer._owner = place.owner
        buffer._dtype, buffer._shape = getattr(array, "dtype", None), getattr(array, "shape", None)
        return buffer

    def create_stream(self) -> Stream:
        return Stream(self, Stream._create(lib.ptxgraft_stream_create, self._handle), None)

    def borrow_stream(self, stream: Any) -> Stream:
        """A stream of somebody else, who keeps it longer: a CUstream as a number, or an object of PyTorch, CuPy, Numba or cuda.core."""
        return Stream(self, Stream._create(lib.ptxgraft_stream_create_borrowed, self._handle, _stream_number(stream)), stream)

    def borrow_kernel(self, kernel: Any) -> Kernel:
        """A kernel that somebody else loaded on this GPU: a cuda.core.Kernel, or a CUkernel or CUfunction of cuda.bindings. The new one
        keeps it, and launches as every Kernel does; the driver has to be one of CUDA 12.4 or later.

        Of its parameters the driver tells the sizes alone: their names are "0", "1" and so on. One of 2, 4 or 8 bytes is a "b16", "b32"
        or "b64", and takes buffers, arrays and whole numbers as ever; an f32 is given as a number of NumPy, `numpy.float32(1.5)`, as
        a `float` of Python could be of either size. It has no PTX and no machine code."""
        from ptxgraft._kernel import Kernel

        return Kernel._borrow(self, kernel)

    def create_event(self) -> Event:
        return Event(self)

    def _description(self) -> str:
        return f"{self.name}, {self.target}"


def _no_device(value: Any) -> str:
    raise invalid(f"a {type(value).__name__} is no device: neither a name nor a cuda.core.Device")


def _stream_number(stream: Any) -> int:
    """A CUstream as a number."""
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in "cuda_stream", "ptr", "handle":  # PyTorch's, CuPy's, Numba's
        number = getattr(stream, attribute, None)
        number = getattr(number, "value", number)
        if isinstance(number, int):
            return number
    raise invalid(f"a {type(stream).__name__} is no stream")


class Buffer(Handle):
    """Device memory. As a context it is freed at the end of the block, else with the last reference.

    >>> import ptxgraft
    >>> device = ptxgraft.Device("emulator")
    >>> with device.allocate(8) as buffer:
    ...     buffer.write(b"ptxgraft")
    ...     buffer.read(4)
    b'ptxg'
    """

    __slots__ = ("_device", "_address", "_dtype", "_shape", "_owner", "size")
    _noun = "buffer"
    size: int  #: in bytes
    _device: Device
    _address: Optional[int]
    _dtype: Any
    _shape: Any
    _owner: Any

    def __init__(self) -> None:
        raise TypeError("a buffer comes from Device.allocate, upload or borrow_buffer")

    @classmethod
    def _make(cls, device: Device, function: Any, *arguments: Any) -> Buffer:
        return cls._new(device, cls._create(function, device._handle, *arguments))

    @classmethod
    def _new(cls, device: Device, handle: Any) -> Buffer:
        buffer = cls.__new__(cls)
        buffer._handle = handle
        buffer._device = device
        buffer._address = lib.ptxgraft_buffer_get_address(handle)
        buffer.size = lib.ptxgraft_buffer_get_size(handle)
        buffer._dtype = buffer._shape = buffer._owner = None
        return buffer

    @property
    def address(self) -> int:
        """On the device, for pointers within structs that are given to a kernel."""
        if self._address is None:
            raise invalid("the buffer is closed")
        return self._address

    def write(self, data: Any, offset: int = 0) -> None:
        """Copies an array or bytes of the host into the buffer."""
        place = _arrays.place_of(data)
        if not place.is_host:
            raise invalid("the data is in a GPU's memory")
        self._write(place, offset)

    def _write(self, place: _arrays.Place, offset: int) -> None:
        check(lib.ptxgraft_buffer_write(self._handle, offset, ffi.cast("void*", place.address), place.size))

    def read(self, size: Optional[int] = None, offset: int = 0) -> bytes:
        """Bytes from `offset` on; waits for launches that came before."""
        if size is not None and size < 0:
            raise invalid(f"{size} bytes are wanted")
        count = self.size - offset if size is None else size
        count = max(count, 0)
        data = ffi.new("char[]", count + 1)
        check(lib.ptxgraft_buffer_read(data, self._handle, offset, count))
        return bytes(ffi.buffer(data, count))

    def read_into(self, array: Any, offset: int = 0) -> None:
        """Fills an array of the host with what begins at `offset`."""
        place = _arrays.place_of(array)
        if place.read_only or not place.is_host:
            raise invalid("the array is read-only" if place.read_only else "the array is in a GPU's memory")
        check(lib.ptxgraft_buffer_read(ffi.cast("void*", place.address), self._handle, offset, place.size))

    def download(self, dtype: Any = None, shape: Any = None) -> NumPyArray:
        """A NumPy array with a copy; of a buffer that was uploaded, its type and shape are those of what it came from."""
        import numpy

        kind = numpy.dtype(dtype if dtype is not None else self._dtype if isinstance(self._dtype, numpy.dtype) else numpy.uint8)
        if not kind.itemsize or self.size % kind.itemsize:
            raise invalid(f"the buffer's {self.size} bytes are no whole number of {kind}")
        if shape is None:
            is_like = dtype is None and self._shape is not None and isinstance(self._dtype, numpy.dtype)
            shape = tuple(self._shape) if is_like else (self.size // kind.itemsize,)
        array = numpy.empty(shape, kind)
        self.read_into(array)
        return array

    def fill(self, value: int) -> None:
        """Sets every byte."""
        check(lib.ptxgraft_buffer_fill(self._handle, value))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For PyTorch, CuPy, Numba and JAX: bytes, or the type and shape of what was uploaded."""
        if self._device.is_emulator:
            raise AttributeError("the emulator's memory is no GPU's")
        dtype = getattr(self._dtype, "str", None)
        shape = (self.size,) if dtype is None else tuple(self._shape)
        return {"shape": shape, "typestr": dtype or "|u1", "data": (self.address, False), "version": 3}

    def to_cuda_core(self) -> Any:
        """A cuda.core.Buffer over the same memory, which keeps this one. Of the emulator there is none: its memory is no GPU's."""
        if self._device.is_emulator:
            raise invalid("the buffer is in the emulator's memory, and cuda.core has that of GPUs")
        return _cuda_core.module().Buffer.from_handle(self.address, self.size, owner=self)

    def close(self) -> None:
        """Frees it now; later calls with it are errors."""
        super().close()
        self._address = self._owner = None

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _description(self) -> str:
        return f"of {self.size} bytes at {self.address:#x} on {self._device.name}"


class Stream(Handle):
    """An order of launches on a device."""

    __slots__ = ("_device", "_owner")
    _noun = "stream"

    def __init__(self, device: Device, handle: Any, owner: Any):
        self._device, self._handle, self._owner = device, handle, owner

    def synchronize(self) -> None:
        check(lib.ptxgraft_stream_synchronize(self._handle))

    def __cuda_stream__(self) -> tuple[int, int]:
        """For cuda.core, CuPy and others that take streams of this protocol: cuda.core's Device.create_stream does."""
        if self._device.is_emulator:
            raise invalid("the stream is the emulator's, and no GPU's")
        return 0, int(lib.ptxgraft_stream_get_handle(self._handle))


class Event(Handle):
    """A point in a stream's time.

    >>> import ptxgraft
    >>> device = ptxgraft.Device("emulator")
    >>> start, end = device.create_event(), device.create_event()
    >>> start.record(); end.record()
    >>> end.elapsed_since(start) >= 0
    True
    """

    __slots__ = ()
    _noun = "event"

    def __init__(self, device: Device):
        self._handle = self._create(lib.ptxgraft_event_create, device._handle)

    def record(self, stream: Optional[Stream] = None) -> None:
        check(lib.ptxgraft_event_record(self._handle, NULL if stream is None else stream._handle))

    def elapsed_since(self, start: Event) -> float:
        """Milliseconds; waits for both."""
        milliseconds = ffi.new("float*")
        check(lib.ptxgraft_event_get_elapsed(milliseconds, start._handle, self._handle))
        return float(milliseconds[0])
