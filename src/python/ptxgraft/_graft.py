"""What becomes of a skeleton: which stubs, by which routes, assembled how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Optional, Union

from ptxgraft._assembler import Assembler, Stop
from ptxgraft._cache import Cache
from ptxgraft._library import NULL, Options, enum_value, ffi, invalid, name_bytes
from ptxgraft._stub import Stub

if TYPE_CHECKING:
    from ptxgraft._skeleton import Skeleton

#: Stubs by the names of their sites; a `str` is a stack program.
Stubs = Mapping[str, Union[Stub, str]]


class GraftOptions(NamedTuple):
    """How a skeleton with stubs becomes a kernel. What assembles matters where machine code is made: not on the emulator."""

    entry: Optional[str] = None  #: which kernel; None: the only one
    optimisation: int = 3  #: of the assembler, 0 to 3
    max_registers: int = 0  #: of a thread; 0: no limit
    allow_performance_loss: bool = False  #: keep machine code that the assembler says lost performance
    line_info: bool = False
    route: str = "inline"  #: "inline", "call", "link", "auto"
    routes: Mapping[str, str] = {}  #: of single sites
    relocatable: bool = False  #: machine code for linking
    target: Optional[str] = None  #: "sm_90a"; None: the device's, or without one the skeleton's
    limits: Mapping[str, int] = {}  #: what machine code may take: "registers", "spill_size", "stack_size", "code_size"
    assembler_options: tuple[str, ...] = ()  #: further ones, as ptxas has them
    assembler: Optional[Assembler] = None  #: None: the default
    cache: Optional[Cache] = None
    stop: Optional[Stop] = None


_DEFAULTS = GraftOptions()


def graft_list(stubs: Stubs, skeleton: Skeleton, options: Options) -> tuple[object, int]:
    """A C list of grafts, kept by the options."""
    if not isinstance(stubs, Mapping):
        raise invalid(f"a {type(stubs).__name__} is no mapping from sites to stubs")
    if not stubs:
        return NULL, 0
    grafts = options.keep(ffi.new("ptxgraft_graft[]", len(stubs)))
    for graft, (site, stub) in zip(grafts, stubs.items()):
        if isinstance(stub, str):
            stub = skeleton.site(site).stub(stub)
        elif not isinstance(stub, Stub):
            raise invalid(f"the stub of site {site!r} is a {type(stub).__name__}, neither a Stub nor a program")
        elif stub.is_closed:
            raise invalid(f"the stub of site {site!r} is closed")
        graft.site = options.keep(ffi.new("char[]", name_bytes(site)))
        graft.stub = options.keep(stub)._handle
    return grafts, len(stubs)


def graft_options(stubs: Stubs, given: GraftOptions, skeleton: Skeleton) -> Options:
    options = Options("graft_options")
    struct = options.struct
    struct.grafts, struct.graft_count = graft_list(stubs, skeleton, options)
    if given is not _DEFAULTS:
        _set_assembly(options, given)
        _set_routes(options, given)
    return options


def _set_assembly(options: Options, given: GraftOptions) -> None:
    struct = options.struct
    options.text("entry", given.entry)
    options.text("target", given.target)
    struct.optimisation, struct.max_registers = given.optimisation, given.max_registers
    struct.allow_performance_loss, struct.line_info, struct.relocatable = given.allow_performance_loss, given.line_info, given.relocatable
    options.texts("assembler_options", "assembler_option_count", given.assembler_options)
    for field in "assembler", "cache", "stop":
        options.handle(field, getattr(given, field))
    if given.limits:
        limits = options.keep(ffi.new("ptxgraft_limit[]", len(given.limits)))
        for limit, (kind, most) in zip(limits, given.limits.items()):
            limit.kind, limit.most = enum_value("LIMIT", kind), most
        struct.limits, struct.limit_count = limits, len(limits)


def _set_routes(options: Options, given: GraftOptions) -> None:
    struct = options.struct
    struct.route = enum_value("ROUTE", given.route)
    if given.routes:
        routes = options.keep(ffi.new("ptxgraft_site_route[]", len(given.routes)))
        for route, (site, name) in zip(routes, given.routes.items()):
            route.site, route.route = options.keep(ffi.new("char[]", name_bytes(site))), enum_value("ROUTE", name)
        struct.routes, struct.route_count = routes, len(routes)
