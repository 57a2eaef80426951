"""Skeletons, their sites, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Callable, NamedTuple, Optional, Union

from ptxgraft import _batch, _cuda_core, _graft, _kernel, _machine_code
from ptxgraft._cache import Cache
from ptxgraft._device import Device
from ptxgraft._graft import GraftOptions, Stubs
from ptxgraft._library import (
    Error,
    Handle,
    Options,
    decode,
    enum_name,
    info,
    invalid,
    lib,
    name_bytes,
    pairs,
    path_text,
    text_bytes,
    text_of,
)
from ptxgraft._progress import Progress
from ptxgraft._stub import EFFECTS, Stub


class Operand(NamedTuple):
    """An operand of a site."""

    name: str
    type: str  #: "f32"
    direction: str  #: "in", "mod", "out"
    elements: int  #: of a fragment; 0: a scalar
    user_type: str  #: the name of a user-defined type over `type`; else ""
    register: str  #: what hand-written PTX calls it: "_acc"

    def __str__(self) -> str:
        kind = f"{self.user_type}:{self.type}" if self.user_type else self.type
        return f"{self.direction} {kind} {self.name}" + (f"[{self.elements}]" if self.elements else "")


class Copy(NamedTuple):
    """One occurrence of a site in the PTX."""

    function: str
    is_entry: bool
    line: int


class Site:
    """A marked place of a skeleton.

    >>> import ptxgraft
    >>> skeleton = ptxgraft.Skeleton.from_cuda('''#include <ptxgraft/site.cuh>
    ... extern "C" __global__ void apply(float* data) {
    ...     float x = data[threadIdx.x];
    ...     PTXGRAFT_SITE("f", "", mod(f32, x));
    ...     data[threadIdx.x] = x;
    ... }''')
    >>> site = skeleton.site("f")
    >>> site.signature
    'mod f32 x'
    >>> site.stub("x x mul.f32 -> x").instruction_count
    1
    """

    __slots__ = ("_skeleton", "_index", "name", "operands", "copy_count", "allowed", "pure")

    def __init__(self, skeleton: Skeleton, index: int):
        self._skeleton, self._index = skeleton, index
        site = info("site_info", lib.ptxgraft_site_get_info, skeleton._handle, index)
        self.name: str = decode(site.name)
        self.copy_count: int = site.copy_count  #: how often it stands in the PTX
        #: what a stub may do there beyond computing in registers: "load", "store", …
        self.allowed: tuple[str, ...] = tuple(name for bit, name in enumerate(EFFECTS) if site.allowed >> bit & 1)
        self.pure = bool(site.pure)  #: the compiler was free to move or drop it
        self.operands: tuple[Operand, ...] = tuple(self._operand(i) for i in range(site.operand_count))

    def _operand(self, index: int) -> Operand:
        operand = info("operand_info", lib.ptxgraft_site_get_operand, self._skeleton._handle, self._index, index)
        return Operand(
            decode(operand.name),
            enum_name("type", operand.type),
            enum_name("direction", operand.direction),
            operand.count,
            decode(operand.user_type),
            decode(operand.register_name),
        )

    @property
    def signature(self) -> str:
        """Its operands as a `.stub` file has them: "mod f32 acc, in f32 bias"."""
        return ", ".join(map(str, self.operands))

    @property
    def copies(self) -> tuple[Copy, ...]:
        copies = (info("copy_info", lib.ptxgraft_site_get_copy, self._skeleton._handle, self._index, i) for i in range(self.copy_count))
        return tuple(Copy(decode(copy.function), bool(copy.is_entry), copy.line) for copy in copies)

    def stub(
        self,
        text: str,
        *,
        language: str = "program",
        constants: str = "literals",
        leftovers_are_errors: bool = False,
        contract: bool = False,
        approximate: bool = False,
        flush_subnormals: bool = False,
    ) -> Stub:
        """A stub for this site, and for every one with the same operands.

        `language`: "program" (the stack language), "expression" (the notation of C) or "ptx" (by hand). `constants`: "literals", or
        "data": then `Kernel.set_constants` changes them. `leftovers_are_errors` is of programs; `contract`, `approximate` and
        `flush_subnormals` are of expressions."""
        return Stub._make(
            self._skeleton._handle,
            self.name,
            text,
            language,
            constants,
            (leftovers_are_errors, contract, approximate, flush_subnormals),
        )

    def __repr__(self) -> str:
        return f"<ptxgraft.Site {self.name!r}: {self.signature}; {self.copy_count} copies>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{o.direction}</td><td>{escape(o.user_type or o.type)}</td><td>{escape(o.name)}</td><td>{o.elements or ''}</td></tr>"
            for o in self.operands
        )
        allowed = ", ".join(self.allowed) or "nothing beside registers"
        return (
            f"<table><caption>site <b>{escape(self.name)}</b>, {self.copy_count} copies, allows {allowed}</caption>"
            f"<tr><th>direction</th><th>type</th><th>operand</th><th>elements</th></tr>{rows}</table>"
        )


def _cuda_options(
    target: Optional[str],
    file_name: Optional[str],
    cache: Optional[Cache],
    include_dirs: Iterable[str],
    defines: Iterable[str],
    options: Iterable[str],
) -> Options:
    given = Options("cuda_options")
    given.text("target", target)
    given.text("file_name", file_name)
    given.handle("cache", cache)
    given.texts("include_dirs", "include_dir_count", include_dirs)
    given.texts("defines", "define_count", defines)
    given.texts("options", "option_count", options)
    return given


class Skeleton(Handle):
    """Annotated PTX with its sites. Any number of threads read, render and graft one at once."""

    __slots__ = ("_sites",)
    _noun = "skeleton"

    def __init__(self) -> None:
        raise TypeError("a skeleton comes from from_cuda, from_ptx, from_file or from_template")

    @classmethod
    def _new(cls, handle: object) -> Skeleton:
        skeleton = cls.__new__(cls)
        skeleton._handle = handle
        skeleton._sites = None
        return skeleton

    @classmethod
    def from_cuda(
        cls,
        source: str,
        *,
        target: Optional[str] = None,
        file_name: Optional[str] = None,
        cache: Optional[Cache] = None,
        include_dirs: Iterable[str] = (),
        defines: Iterable[str] = (),
        options: Iterable[str] = (),
    ) -> Skeleton:
        """Compiles CUDA source with marked sites, for "sm_90a" or another `target`; `options` are further ones of NVRTC."""
        given = _cuda_options(target, file_name, cache, include_dirs, defines, options)
        data = text_bytes(source)
        return cls._new(cls._create(lib.ptxgraft_skeleton_create_from_cuda, data, len(data), given.struct))

    @classmethod
    def from_ptx(cls, ptx: Any) -> Skeleton:
        """Takes PTX with markers, or without any: a `str`, or a cuda.core.ObjectCode of PTX."""
        text = ptx if isinstance(ptx, str) else _cuda_core.ptx_of(ptx)
        if text is None:
            raise _cuda_core.no_skeleton(ptx)
        data = text_bytes(text)
        return cls._new(cls._create(lib.ptxgraft_skeleton_create_from_ptx, data, len(data)))

    @classmethod
    def from_file(
        cls,
        path: Union[str, PathLike[str]],
        *,
        target: Optional[str] = None,
        cache: Optional[Cache] = None,
        include_dirs: Iterable[str] = (),
        defines: Iterable[str] = (),
        options: Iterable[str] = (),
    ) -> Skeleton:
        """Reads a `.cu` or `.ptx` file."""
        given = _cuda_options(target, None, cache, include_dirs, defines, options)
        return cls._new(cls._create(lib.ptxgraft_skeleton_create_from_file, name_bytes(path_text(path)), given.struct))

    @classmethod
    def from_template(
        cls,
        name: str,
        tunables: Optional[Mapping[str, Union[str, int]]] = None,
        *,
        target: Optional[str] = None,
        cache: Optional[Cache] = None,
    ) -> Skeleton:
        """Compiles a template of the library, such as "gemm/mma", with `tunables` that are not as usual.

        >>> import ptxgraft
        >>> ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_80").site("function").signature
        'in f32 x, out f32 y, in u32 index'
        """
        given = _cuda_options(target, None, cache, (), (), ())
        choices = name_bytes(pairs({} if tunables is None else tunables))
        return cls._new(cls._create(lib.ptxgraft_skeleton_create_from_template, name_bytes(name), choices, given.struct))

    @property
    def sites(self) -> tuple[Site, ...]:
        if self._sites is None:
            self._sites: Optional[tuple[Site, ...]] = tuple(Site(self, i) for i in range(lib.ptxgraft_site_get_count(self._handle)))
        return self._sites

    def site(self, name: str) -> Site:
        """A site by name; the error of one that there is not lists the names."""
        for site in self.sites:
            if site.name == name:
                return site
        names = ", ".join(site.name for site in self.sites) or "none"
        raise Error("site_unknown", f"there is no site {name!r}; the skeleton has: {names}")

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of its kernels, in the order of the text."""
        count = lib.ptxgraft_skeleton_get_entry_count(self._handle)
        return tuple(decode(lib.ptxgraft_skeleton_get_entry_name(self._handle, i)) for i in range(count))

    @property
    def target(self) -> str:
        """The architecture, "sm_90a"."""
        return decode(lib.ptxgraft_skeleton_get_target(self._handle))

    @property
    def ptx(self) -> str:
        """With its markers."""
        return text_of(lib.ptxgraft_skeleton_get_ptx, self._handle)

    def render(self, stubs: Stubs, *, options: GraftOptions = GraftOptions()) -> str:
        """The PTX with the stubs in; sites that are not named keep their default stub."""
        given = _graft.graft_options(stubs, options, self)
        return text_of(lib.ptxgraft_skeleton_render_with_options, self._handle, given.struct)

    def graft(self, stubs: Stubs, device: Device, *, options: GraftOptions = GraftOptions()) -> _kernel.Kernel:
        """Renders, assembles (for a GPU) and loads: a kernel. A stub that is a `str` is a stack program.

        >>> import ptxgraft
        >>> device = ptxgraft.Device("emulator")
        >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
        >>> skeleton.graft({"function": "x 0.0 max.f32 -> y"}, device).entry
        'elementwise'
        """
        return _kernel.Kernel._make(self, device, _graft.graft_options(stubs, options, self))

    def assemble(self, stubs: Stubs, *, options: GraftOptions = GraftOptions()) -> _machine_code.MachineCode:
        """Machine code with the stubs in, for `options.target` or the skeleton's own; no device is needed."""
        return _machine_code.MachineCode._make(self, _graft.graft_options(stubs, options, self))

    def graft_many(
        self,
        candidates: Iterable[Stubs],
        device: Device,
        *,
        options: GraftOptions = GraftOptions(),
        many: _batch.ManyOptions = _batch.ManyOptions(),
        on_result: Optional[Callable[[int, Union[_kernel.Kernel, Error]], None]] = None,
        progress: Progress = False,
    ) -> list[Union[_kernel.Kernel, Error]]:
        """Kernels of many candidates, in their order; in the place of one that fails stands its error.

        `on_result` is called with every result as it comes, on any of the threads, on one at a time; what it is given lasts as long
        as that call. An exception of it stops the work and comes out of here, and so does Ctrl-C.

        `progress`: True shows a bar where tqdm is installed; a function is called after each result with how many there are, and
        of how many.

        >>> import ptxgraft
        >>> device = ptxgraft.Device("emulator")
        >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
        >>> candidates = [{"function": f"x {n}.0 mul.f32 -> y"} for n in range(3)]
        >>> kernels = skeleton.graft_many(candidates, device, progress=lambda done, of: print(f"{done} of {of}"))
        1 of 3
        2 of 3
        3 of 3
        """
        return _batch.graft_many(self, candidates, device, options, many, on_result, progress)

    def assemble_many(
        self,
        candidates: Iterable[Stubs],
        *,
        options: GraftOptions = GraftOptions(),
        many: _batch.ManyOptions = _batch.ManyOptions(),
        on_result: Optional[Callable[[int, Union[_machine_code.MachineCode, Error]], None]] = None,
        progress: Progress = False,
    ) -> list[Union[_machine_code.MachineCode, Error]]:
        """The same without a device: machine code.

        >>> import ptxgraft
        >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_80")
        >>> codes = skeleton.assemble_many([{"function": "x -> y"}, {"function": "x x mul.f32 -> y"}])
        >>> [code.functions[0].name for code in codes if isinstance(code, ptxgraft.MachineCode)]
        ['elementwise', 'elementwise']
        """
        return _batch.assemble_many(self, candidates, options, many, on_result, progress)

    def prepare(self, *, options: GraftOptions = GraftOptions()) -> _machine_code.Preparation:
        """Makes what the `link` route needs and measures whether it pays: from now on the route `auto` may link."""
        return _machine_code.prepare(self, _graft.graft_options({}, options, self))

    def _description(self) -> str:
        return f"of {', '.join(self.entries)} for {self.target}, sites: {', '.join(s.name for s in self.sites)}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self)[1:-1])}</p>" + "".join(site._repr_html_() for site in self.sites)
