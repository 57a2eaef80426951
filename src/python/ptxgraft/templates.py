"""The skeletons that come with the library: what there are, launches of them from dimensions, and trials beside a reference.

>>> import ptxgraft
>>> gemm = ptxgraft.templates.Template("gemm/simt")
>>> trial = gemm.try_on(ptxgraft.Device("emulator"), {"m": 33, "n": 17, "k": 8}, stubs={"epilogue": "acc 0.0 max.f32 -> acc"})
>>> trial.is_right
True
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, Optional, Union

from ptxgraft import _graft
from ptxgraft._cache import Cache
from ptxgraft._device import Buffer, Device, Stream
from ptxgraft._graft import Stubs
from ptxgraft._kernel import Kernel, check_kernel
from ptxgraft._library import (
    NULL,
    Handle,
    Options,
    bytes_of,
    check,
    decode,
    enum_name,
    ffi,
    info,
    invalid,
    lib,
    name_bytes,
    pairs,
    path_text,
    text_of,
    wrong_type,
)
from ptxgraft._skeleton import Skeleton, _cuda_options

Choices = Mapping[str, Union[str, int]]  #: of tunables
Dimensions = Mapping[str, int]


def names(folder: Union[str, PathLike[str], None] = None) -> tuple[str, ...]:
    """Of all templates, the library's own or those of a folder."""
    where = NULL if folder is None else name_bytes(path_text(folder))
    return tuple(text_of(lib.ptxgraft_library_get_template_names, where).splitlines())


class Tensor(NamedTuple):
    """A tensor of a launch."""

    name: str
    type: str  #: "bf16"
    shape: tuple[int, ...]
    size: int  #: in bytes
    access: str  #: "in", "out", "modified", "scratch"
    nullable: bool
    zeroed: bool  #: it has to be zeros whenever a launch begins: `buffer.fill(0)` before each


class Trial(NamedTuple):
    """What a trial came to."""

    is_right: bool  #: not where all of an output is NaN in the reference, either: nothing was compared
    worst: float  #: the largest part of what is allowed; 1 and less is right
    worst_tensor: str
    got: float  #: there
    wanted: float
    largest_error: float
    wrong: int
    elements: int
    registers: int
    spill_size: int
    milliseconds: float  #: the median of a GPU's timed launches; else 0


class SpareRegisters(NamedTuple):
    """What a stub of a site may keep alive, as it was measured."""

    site: str
    registers: int  #: 32-bit values that cost nothing; 0: one is too many
    loss: str  #: of one value more: "8 bytes of spills"; empty where the most that were tried have none


class _Measured(Handle):
    __slots__ = ()
    _noun = "spare_registers"

    def __init__(self, create: Any, arguments: Sequence[Any]):
        self._handle = self._create(create, *arguments)

    def sites(self) -> list[SpareRegisters]:
        count = ffi.new("size_t*")
        check(lib.ptxgraft_spare_registers_get_count(count, self._handle))
        found = [info("spare_registers_info", lib.ptxgraft_spare_registers_get_site, self._handle, i) for i in range(count[0])]
        return [SpareRegisters(decode(one.site), one.registers, decode(one.loss)) for one in found]


def measure_spare_registers(
    skeleton: Skeleton,
    *,
    sites: Iterable[str] = (),
    entry: Optional[str] = None,
    target: Optional[str] = None,
    threads_per_block: int = 0,
    dynamic_shared_size: int = 0,
    most: int = 64,
    first: int = 4,
    cache: Optional[Cache] = None,
) -> list[SpareRegisters]:
    """Assembles a kernel some ten times, with stubs that keep more and more values alive, up to `most`: how many a stub of each site
    may keep before the kernel spills, loses performance or, with `threads_per_block`, a multiprocessor holds a block less.
    `sites`: which; none: all.

    >>> import ptxgraft
    >>> from ptxgraft import templates
    >>> simple = templates.Template("elementwise/simple").skeleton(target="sm_90a")
    >>> templates.measure_spare_registers(simple, most=8)
    [SpareRegisters(site='function', registers=8, loss='')]
    """
    options = _spare_options(sites, target, most, first, cache)
    options.text("entry", entry)
    options.struct.threads_per_block, options.struct.dynamic_shared_size = threads_per_block, dynamic_shared_size
    return _Measured(lib.ptxgraft_spare_registers_create_of_skeleton, (skeleton._handle, options.struct)).sites()


def _spare_options(sites: Iterable[str], target: Optional[str], most: int, first: int, cache: Optional[Cache]) -> Options:
    options = Options("spare_registers_options")
    options.texts("sites", "site_count", sites)
    options.text("target", target)
    options.handle("cache", cache)
    options.struct.most, options.struct.first = most, first
    return options


class Template(Handle):
    """A member of a family of kernels: "gemm/mma"."""

    __slots__ = ("name",)
    _noun = "template"

    def __init__(self, name: str, folder: Union[str, PathLike[str], None] = None):
        self.name = name
        self._handle = self._create(lib.ptxgraft_template_open, name_bytes(name), NULL if folder is None else name_bytes(path_text(folder)))

    @property
    def description(self) -> dict[str, Any]:
        """What its manifest says: name, meaning, target, entry, dimensions, tunables, names, requires, arguments, sites, launch, …"""
        description: dict[str, Any] = json.loads(text_of(lib.ptxgraft_template_get_description, self._handle))
        return description

    def tunables(self, choices: Choices = {}) -> dict[str, str]:
        """All of them: those that are given, the others as usual."""
        text = text_of(lib.ptxgraft_template_get_tunables, self._handle, name_bytes(pairs(choices)))
        return dict(pair.split("=", 1) for pair in text.split(",")) if text else {}

    def combinations(self) -> list[dict[str, str]]:
        """All that the manifest allows: of a large family some hundred thousands."""
        lines = text_of(lib.ptxgraft_template_get_combinations, self._handle).splitlines()
        return [dict(pair.split("=", 1) for pair in line.split(",")) for line in lines if line]

    def tolerance(self, dimensions: Dimensions, choices: Choices = {}) -> tuple[float, float]:
        """The relative and the absolute error that a result may have."""
        relative, absolute = ffi.new("double*"), ffi.new("double*")
        arguments = self._handle, name_bytes(pairs(dimensions)), name_bytes(pairs(choices))
        check(lib.ptxgraft_template_get_tolerance(relative, absolute, *arguments))
        return relative[0], absolute[0]

    def skeleton(
        self, choices: Choices = {}, *, target: Optional[str] = None, cache: Optional[Cache] = None, reference: bool = False
    ) -> Skeleton:
        """Compiles it; or its reference, which is naive, in double precision, and has the same sites."""
        create = lib.ptxgraft_skeleton_create_of_reference if reference else lib.ptxgraft_skeleton_create_of_template
        options = _cuda_options(target, None, cache, (), (), ())
        return Skeleton._new(Skeleton._create(create, self._handle, name_bytes(pairs(choices)), options.struct))

    def plan(
        self,
        dimensions: Dimensions,
        choices: Choices = {},
        *,
        numbers: Mapping[str, float] = {},
        multiprocessors: int = 1,
        reference: bool = False,
    ) -> Plan:
        """A launch from dimensions. `numbers`: floating-point parameters that are not as usual; `multiprocessors`: of the device."""
        return Plan(self, dimensions, choices, numbers, multiprocessors, reference)

    def measure_spare_registers(
        self,
        choices: Choices = {},
        *,
        target: Optional[str] = None,
        sites: Iterable[str] = (),
        most: int = 64,
        first: int = 4,
        cache: Optional[Cache] = None,
    ) -> list[SpareRegisters]:
        """As the function of this name, of the kernel with these tunables in blocks of its own size: what `description` says of
        `spare_registers` holds for the usual ones."""
        options = _spare_options(sites, target, most, first, cache)
        arguments = self._handle, name_bytes(pairs(choices)), options.struct
        return _Measured(lib.ptxgraft_spare_registers_create_of_template, arguments).sites()

    def try_on(
        self,
        device: Device,
        dimensions: Dimensions,
        choices: Choices = {},
        *,
        stubs: Stubs = {},
        seed: int = 1,
        repeats: int = 0,
        null_tensors: Iterable[str] = (),
        numbers: Mapping[str, float] = {},
        target: Optional[str] = None,
        cache: Optional[Cache] = None,
    ) -> Trial:
        """Makes inputs, runs the template and its reference with the same stubs, and compares."""
        if not isinstance(device, Device):
            raise wrong_type(device, "a ptxgraft.Device")
        options = Options("trial_options")
        struct = options.struct
        options.text("dimensions", pairs(dimensions))
        options.text("tunables", pairs(choices))
        options.text("numbers", pairs(numbers) if numbers else None)
        options.text("target", target)
        options.texts("null_tensors", "null_tensor_count", null_tensors)
        options.handle("cache", cache)
        struct.seed, struct.repeats = seed, repeats
        if stubs:
            struct.grafts, struct.graft_count = _graft.graft_list(stubs, self.skeleton(choices, target=target), options)
        trial = info("trial_info", lib.ptxgraft_template_try, self._handle, device._handle, struct)
        values = {field: getattr(trial, field) for field in Trial._fields}
        values.update(is_right=bool(trial.is_right), worst_tensor=decode(trial.worst_tensor))
        return Trial(**values)


class Plan(Handle):
    """All that a launch needs but memory.

    >>> import numpy, ptxgraft
    >>> device = ptxgraft.Device("emulator")
    >>> scale = ptxgraft.templates.Template("elementwise/simple")
    >>> kernel = scale.skeleton(target="sm_90a").graft({"function": "x x mul.f32 -> y"}, device)
    >>> plan = scale.plan({"n": 100})
    >>> [tensor.name for tensor in plan.tensors]
    ['x', 'y']
    >>> buffers = [device.upload(plan.random(i, seed=1)) for i in range(2)]
    >>> plan.launch(kernel, buffers)
    >>> x, y = (buffer.download(numpy.float32) for buffer in buffers)
    >>> bool((y == x * x).all())
    True
    """

    __slots__ = ("tensors", "entry", "grid", "block", "cluster", "shared_size")
    _noun = "plan"

    def __init__(
        self,
        template: Template,
        dimensions: Dimensions,
        choices: Choices,
        numbers: Mapping[str, float],
        multiprocessors: int,
        reference: bool,
    ):
        options = Options("plan_options")
        options.text("dimensions", pairs(dimensions))
        options.text("tunables", pairs(choices))
        options.text("numbers", pairs(numbers) if numbers else None)
        options.struct.multiprocessors, options.struct.is_reference = multiprocessors, reference
        self._handle = self._create(lib.ptxgraft_plan_create, template._handle, options.struct)
        plan = info("plan_info", lib.ptxgraft_plan_get_info, self._handle)
        self.entry = decode(plan.entry)
        self.grid, self.block, self.cluster = tuple(plan.grid), tuple(plan.block), tuple(plan.cluster)
        self.shared_size: int = plan.shared_size
        self.tensors: tuple[Tensor, ...] = tuple(self._tensor(i) for i in range(plan.tensor_count))

    def _tensor(self, index: int) -> Tensor:
        t = info("tensor_info", lib.ptxgraft_plan_get_tensor, self._handle, index)
        shape = tuple(t.shape[0 : t.rank]) if t.rank else ()
        return Tensor(decode(t.name), decode(t.type), shape, t.size, enum_name("access", t.access), bool(t.nullable), bool(t.zeroed))

    def random(self, tensor: int, *, seed: int) -> bytes:
        """Random values of a tensor, the same for a seed everywhere."""
        return bytes_of(lib.ptxgraft_plan_get_random, self._handle, tensor, seed)

    def launch(self, kernel: Kernel, buffers: Sequence[Optional[Buffer]], stream: Optional[Stream] = None) -> None:
        """Launches a kernel with a buffer for each tensor, in their order, None where a tensor may be. Those that are `zeroed` have to
        be zeros before every launch."""
        check_kernel(kernel)
        for buffer in buffers:
            if buffer is not None and not isinstance(buffer, Buffer):
                raise wrong_type(buffer, "a ptxgraft.Buffer, such as Device.upload makes,")
        if stream is not None and not isinstance(stream, Stream):
            raise wrong_type(stream, "a ptxgraft.Stream, such as Device.borrow_stream makes,")
        closed = [i for i, buffer in enumerate(buffers) if buffer is not None and buffer.is_closed]
        if closed:
            raise invalid(f"buffer {closed[0]} is closed", closed[0])
        handles = ffi.new("ptxgraft_buffer*[]", [NULL if buffer is None else buffer._handle for buffer in buffers])
        number = NULL if stream is None else stream._handle
        check(lib.ptxgraft_plan_launch(self._handle, kernel._handle, handles, len(buffers), number))
