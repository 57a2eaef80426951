"""The emitter: kernels that Python writes, one call an instruction, which is looked up in the table of PTX when it is made.

>>> import numpy, ptxgraft
>>> emitter = ptxgraft.dsl.Emitter("sm_80")
>>> k = emitter.entry("add_one")
>>> data = k.argument("u64", "data")
>>> i, address, x = k.register("u32"), k.register("u64"), k.register("f32")
>>> k.emit("mov.u32", i, "%tid.x")
>>> k.emit("mad.wide.u32", address, i, 4, data)
>>> k.emit("ld.global.f32", x, f"[{address}]")
>>> k.emit("add.f32", x, x, 1.0)
>>> k.emit("st.global.f32", f"[{address}]", x)
>>> k.emit("ret")
>>> numbers = numpy.array([1, 2, 3], numpy.float32)
>>> ptxgraft.Skeleton.from_ptx(emitter.ptx).graft({}, ptxgraft.Device("emulator")).launch(1, 3, numbers)
>>> numbers
array([2., 3., 4.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from ptxgraft._library import NULL, Handle, Options, check, decode, enum_value, ffi, invalid, lib, name_bytes, text_bytes, text_of
from ptxgraft.stack import _effect_bits

Value = Union[str, int, float]  #: an operand: a register, an address "[%rd1+4]", a name, or a number


def _spelled(value: Value) -> bytes:
    if isinstance(value, bool):
        return b"1" if value else b"0"
    if isinstance(value, float):
        text = repr(value)
        if text.lstrip("-") in ("inf", "nan"):
            raise invalid(f"{text} is written by its bits: 0f7F800000, 0d7FF0000000000000")
        return text_bytes(text)
    return name_bytes(str(value))


def _optional(text: Optional[str]) -> Any:
    return NULL if text is None else name_bytes(text)


class Emitter(Handle):
    """A module that is put together; one thread at a time uses it. `version` is "8.6"; None: 9.0, or the first with the target."""

    __slots__ = ()
    _noun = "emitter"

    def __init__(self, target: str = "sm_90a", *, version: Optional[str] = None):
        self._handle = self._create(lib.ptxgraft_emitter_create, name_bytes(target), _optional(version))

    def _builder(self, function: Any, name: str) -> Builder:
        out = ffi.new("ptxgraft_builder**")
        check(function(out, self._handle, name_bytes(name)))
        return Builder(self, out[0])

    def entry(self, name: str) -> Builder:
        """A new `.visible .entry`."""
        return self._builder(lib.ptxgraft_emitter_add_entry, name)

    def function(self, name: str) -> Builder:
        """A new `.func`."""
        return self._builder(lib.ptxgraft_emitter_add_function, name)

    def variable(
        self,
        name: str,
        type: str,
        *,
        space: str = "global",
        count: int = 0,
        values: Optional[str] = None,
        align: int = 0,
        is_visible: bool = False,
    ) -> str:
        """A variable in "global", "const" or "shared"; its name. `values` is the initialiser as PTX has it, "{1, 2, 3}"."""
        options = _variable(name, type, space, count, values, align, is_visible)
        check(lib.ptxgraft_emitter_add_variable(self._handle, options.struct))
        return name

    @property
    def ptx(self) -> str:
        """The module, verified; or the first error, of a builder or of the whole, with its place."""
        return text_of(lib.ptxgraft_emitter_get_ptx, self._handle)

    @property
    def text(self) -> str:
        """The module, not looked at."""
        return text_of(lib.ptxgraft_emitter_get_text, self._handle)


def _variable(
    name: str, type: Optional[str], space: str, count: int, values: Optional[str], align: int, is_visible: bool = False
) -> Options:
    options = Options("variable_options")
    options.text("name", name)
    options.text("type", type)
    options.text("values", values)
    options.struct.space, options.struct.count = enum_value("SPACE", space), count
    options.struct.align, options.struct.is_visible = align, is_visible
    return options


class Operand:
    """An operand of a site that is emitted: a register, or a fragment of several."""

    def __init__(self, direction: str, type: str, name: str, *registers: str):
        self.direction, self.type, self.name, self.registers = direction, type, name, registers


class Builder:
    """A function of an emitter."""

    __slots__ = ("emitter", "_handle")

    def __init__(self, emitter: Emitter, handle: Any):
        self.emitter, self._handle = emitter, handle

    def _named(self, function: Any, *arguments: Any) -> str:
        out = ffi.new("char**")
        check(function(out, self._handle, *arguments))
        return decode(out[0])

    def argument(self, type: str, name: str) -> str:
        """A parameter and a register with its value."""
        return self._named(lib.ptxgraft_builder_add_argument, name_bytes(type), name_bytes(name))

    def parameter(self, type: str, name: str, *, count: int = 0, align: int = 0) -> str:
        """A parameter; its name. Of `count` bytes where the type is "b8": a struct."""
        check(lib.ptxgraft_builder_add_parameter(self._handle, name_bytes(type), name_bytes(name), count, align))
        return name

    def result(self, type: str, name: str) -> str:
        """What a `.func` gives back."""
        check(lib.ptxgraft_builder_add_result(self._handle, name_bytes(type), name_bytes(name)))
        return name

    def register(self, type: str, name: Optional[str] = None) -> str:
        """A new register, "%f3"; with a name `%<name>`."""
        return self._named(lib.ptxgraft_builder_add_register, name_bytes(type), _optional(name))

    def label(self, stem: Optional[str] = None) -> str:
        """A new label; `place` says where it stands."""
        return self._named(lib.ptxgraft_builder_add_label, _optional(stem))

    def place(self, label: str) -> None:
        check(lib.ptxgraft_builder_place(self._handle, name_bytes(label)))

    def shared(self, name: str, type: str, *, count: int = 0, align: int = 0) -> str:
        """A variable in shared memory; its name."""
        options = _variable(name, type, "shared", count, None, align)
        check(lib.ptxgraft_builder_add_variable(self._handle, options.struct))
        return name

    def emit(self, name: str, *operands: Value, guard: Optional[str] = None) -> None:
        """An instruction of the table: name and operands as PTX has them; numbers are constants. `guard` is "%p1" or "!%p1". What
        does not exist is an error that says what would be right."""
        texts = [ffi.new("char[]", _spelled(operand)) for operand in operands]
        check(lib.ptxgraft_builder_emit(self._handle, _optional(guard), name_bytes(name), ffi.new("char*[]", texts), len(texts)))

    def lines(self, text: str) -> None:
        """PTX as it is."""
        data = text_bytes(text)
        check(lib.ptxgraft_builder_add_lines(self._handle, data, len(data)))

    def comment(self, text: str) -> None:
        check(lib.ptxgraft_builder_add_comment(self._handle, name_bytes(text)))

    def directives(
        self,
        *,
        max_threads: Sequence[int] = (0, 0, 0),
        required_threads: Sequence[int] = (0, 0, 0),
        cluster: Sequence[int] = (0, 0, 0),
        min_blocks: int = 0,
        max_registers: int = 0,
    ) -> None:
        """What is said of an entry before its body (PTX ISA 11.2)."""
        options = Options("entry_directives")
        for field, value in (("max_threads", max_threads), ("required_threads", required_threads), ("cluster", cluster)):
            setattr(options.struct, field, (*value, 1, 1)[:3] if any(value) else (0, 0, 0))
        options.struct.min_blocks, options.struct.max_registers = min_blocks, max_registers
        check(lib.ptxgraft_builder_set_directives(self._handle, options.struct))

    def site(
        self,
        name: str,
        *operands: Operand,
        body: Optional[Callable[[Builder], None]] = None,
        allowed: Sequence[str] = (),
        pure: bool = False,
    ) -> None:
        """Declares a site. `body` emits its default stub, with the registers that stubs name: "_acc", "_frag2".

        >>> import ptxgraft
        >>> from ptxgraft.dsl import Emitter, Operand
        >>> emitter = Emitter("sm_80")
        >>> k = emitter.entry("f")
        >>> x = k.argument("f32", "x")
        >>> k.site("twice", Operand("mod", "f32", "x", x), body=lambda b: b.emit("add.f32", "_x", "_x", "_x"))
        >>> k.emit("ret")
        >>> ptxgraft.Skeleton.from_ptx(emitter.ptx).site("twice").signature
        'mod f32 x'
        """
        options = Options("emitted_site")
        options.text("name", name)
        listed = options.keep(ffi.new("ptxgraft_site_argument[]", max(len(operands), 1)))
        for argument, operand in zip(listed, operands):
            registers = [options.keep(ffi.new("char[]", name_bytes(register))) for register in operand.registers]
            argument.name = options.keep(ffi.new("char[]", name_bytes(operand.name)))
            argument.type = options.keep(ffi.new("char[]", name_bytes(operand.type)))
            argument.registers, argument.register_count = options.keep(ffi.new("char*[]", registers)), len(registers)
            argument.direction = enum_value("DIRECTION", operand.direction)
        struct = options.struct
        struct.arguments, struct.argument_count = listed, len(operands)
        struct.allowed, struct.pure = _effect_bits(allowed), pure
        work = _Body(self, body)
        if body is not None:
            struct.body, struct.payload = lib.ptxgraft_python_emit_body, options.keep(ffi.new_handle(work))
        status = lib.ptxgraft_builder_add_site(self._handle, struct)
        if work.raised is not None:
            raise work.raised
        check(status)


class _Body:
    """The body of a site, which the library calls back, and what it raised."""

    def __init__(self, builder: Builder, emit: Optional[Callable[[Builder], None]]):
        self.builder, self.emit = builder, emit
        self.raised: Optional[BaseException] = None


def _emit_body(handle: Any, payload: Any) -> int:
    body: _Body = ffi.from_handle(payload)
    try:
        assert body.emit is not None
        body.emit(Builder(body.builder.emitter, handle))
    except BaseException as error:
        body.raised = error
        return int(lib.PTXGRAFT_STATUS_argument_invalid)
    return 0


def _keep_raised(kind: object, error: BaseException, traceback: Any) -> None:
    """What a handler of a signal raised as the call began."""
    ffi.from_handle(traceback.tb_frame.f_locals["payload"]).raised = error


ffi.def_extern(name="ptxgraft_python_emit_body", error=1, onerror=_keep_raised)(_emit_body)
