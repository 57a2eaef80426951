"""Machine code of a skeleton with stubs: what it takes, by which routes it came about, and how long that took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ptxgraft._library import NULL, Handle, Options, bytes_of, check, decode, enum_name, ffi, info, lib

if TYPE_CHECKING:
    from ptxgraft._skeleton import Skeleton


class Function(NamedTuple):
    """What the assembler says of an entry or a `.func`; registers, stack and spills are of a thread."""

    name: str
    is_entry: bool
    registers: int
    spill_store_size: int
    spill_load_size: int
    stack_size: int
    shared_size: int
    barriers: int
    code_size: int
    constant_size: int
    parameter_size: int


class Route(NamedTuple):
    """The route that a stub took, and why."""

    site: str
    route: str  #: "inline", "call", "link"
    reason: str


class Bank(NamedTuple):
    """Constants of a site that are data: whoever loads the machine code writes them to the variable, eight bytes for each."""

    site: str
    variable: str
    constants: tuple[int, ...]


class Loss(NamedTuple):
    """What the assembler says of lost performance, where the options allow it."""

    code: int
    message: str


class Preparation(NamedTuple):
    """What Skeleton.prepare measured, in milliseconds."""

    whole: float  #: the skeleton with its default stubs, assembled
    skeleton: float  #: assembled for linking: once for all stubs
    stub: float
    link: float
    not_linkable: str  #: why nothing is linked to this skeleton; "" when the route `auto` may


class MachineCode(Handle):
    """Machine code, which never changes.

    >>> import ptxgraft
    >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_80")
    >>> code = skeleton.assemble({"function": "x x mul.f32 -> y"})
    >>> code.image[:4], [function.name for function in code.functions], code.routes[0].route
    (b'\\x7fELF', ['elementwise'], 'inline')
    """

    __slots__ = ()
    _noun = "machine_code"

    def __init__(self) -> None:
        raise TypeError("machine code comes from Skeleton.assemble, assemble_many or Kernel.machine_code")

    @classmethod
    def _make(cls, skeleton: Skeleton, options: Options) -> MachineCode:
        return cls._new(cls._create(lib.ptxgraft_machine_code_create, skeleton._handle, options.struct))

    @classmethod
    def _new(cls, handle: Any) -> MachineCode:
        code = cls.__new__(cls)
        code._handle = handle
        return code

    @property
    def _info(self) -> Any:
        return info("machine_code_info", lib.ptxgraft_machine_code_get_info, self._handle)

    @property
    def image(self) -> bytes:
        """The machine code itself, an ELF. Of a kernel on the emulator there is none: an error."""
        return bytes_of(lib.ptxgraft_machine_code_get_image, self._handle)

    def to_cuda_core(self) -> Any:
        """A cuda.core.ObjectCode of the image, which is loaded when a kernel is asked of it; no GPU is needed before. Constants that are
        data have to be written to their variables there (`banks`)."""
        from ptxgraft import _cuda_core

        return _cuda_core.module().ObjectCode.from_cubin(self.image, name=next((f.name for f in self.functions if f.is_entry), ""))

    @property
    def assembler(self) -> str:
        """Such as "nvptxcompiler 13.5.37"; "" of a kernel on the emulator."""
        return decode(self._info.assembler)

    @property
    def log(self) -> str:
        return decode(self._info.log)

    @property
    def cache_level(self) -> str:
        """Where it was kept: "none", "memory", "disk"."""
        return enum_name("cache_level", getattr(self._info, "from"))

    @property
    def suffix(self) -> str:
        """Behind the names of its entries, where several candidates are in it."""
        return decode(self._info.suffix)

    @property
    def constant_size(self) -> int:
        return int(self._info.constant_size)

    def times(self) -> dict[str, float]:
        """Milliseconds of the call that gave it: "render", "assemble", "link", "load"; "assembly": of what made it, whenever that was."""
        struct = self._info
        return {step: getattr(struct, step) for step in ("render", "assemble", "link", "load", "assembly")}

    def _all(self, noun: str, name: str) -> list[Any]:
        count = getattr(lib, f"ptxgraft_machine_code_get_{noun}_count")(self._handle)
        getter = getattr(lib, f"ptxgraft_machine_code_get_{noun}")
        return [info(name, getter, self._handle, i) for i in range(count)]

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(
            Function(decode(f.name), bool(f.is_entry), *(getattr(f, field) for field in Function._fields[2:]))
            for f in self._all("function", "function_info")
        )

    @property
    def routes(self) -> tuple[Route, ...]:
        """One for each stub, in their order."""
        return tuple(Route(decode(r.site), enum_name("route", r.route), decode(r.reason)) for r in self._all("route", "route_info"))

    @property
    def banks(self) -> tuple[Bank, ...]:
        return tuple(
            Bank(decode(b.site), decode(b.variable), tuple(b.constants[0 : b.constant_count]) if b.constant_count else ())
            for b in self._all("bank", "bank_info")
        )

    @property
    def losses(self) -> tuple[Loss, ...]:
        return tuple(Loss(loss.code, decode(loss.message)) for loss in self._all("loss", "loss_info"))

    def _description(self) -> str:
        return f"by {self.assembler or 'nobody'}: {', '.join(f.name for f in self.functions)}"

    def _repr_html_(self) -> str:
        from html import escape

        heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in Function._fields if name != "is_entry")
        rows = "".join(
            f"<tr><td><code>{escape(f.name)}</code></td>{''.join(f'<td>{number}</td>' for number in f[2:])}</tr>" for f in self.functions
        )
        routes = ", ".join(f"{escape(r.site)} {r.route}" for r in self.routes)
        return (
            f"<table><caption>machine code by {escape(self.assembler or 'nobody')}{'; routes: ' if routes else ''}{routes}</caption>"
            f"<tr>{heads}</tr>{rows}</table>"
        )


def prepare(skeleton: Skeleton, options: Options) -> Preparation:
    out = ffi.new("ptxgraft_preparation**", NULL)
    check(lib.ptxgraft_skeleton_prepare(out, skeleton._handle, options.struct))
    preparation = ffi.gc(out[0], lib.ptxgraft_preparation_destroy)
    struct = info("preparation_info", lib.ptxgraft_preparation_get_info, preparation)
    return Preparation(struct.whole, struct.skeleton, struct.stub, struct.link, decode(struct.not_linkable))
