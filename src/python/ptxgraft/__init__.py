"""ptxgraft: a CUDA kernel compiled once, its marked places filled with generated instructions in microseconds, and launched.

>>> import numpy, ptxgraft
>>> device = ptxgraft.Device()                        # a GPU, else the emulator
>>> skeleton = ptxgraft.Skeleton.from_cuda('''#include <ptxgraft/site.cuh>
... extern "C" __global__ void apply(float* data) {
...     float x = data[threadIdx.x];
...     PTXGRAFT_SITE("f", "", mod(f32, x));
...     data[threadIdx.x] = x;
... }''', target=device.target)                       # once
>>> for program in "x 1.5 sub.f32 -> x", "x x mul.f32 -> x", "x 0.0 max.f32 -> x":
...     data = device.upload(numpy.array([-2, -1, 0, 1, 2], numpy.float32))
...     skeleton.graft({"f": program}, device).launch(1, 5, data)
...     print(data.download())
[-3.5 -2.5 -1.5 -0.5  0.5]
[4. 1. 0. 1. 4.]
[0. 0. 0. 1. 2.]

The words are those of the C++ API: a skeleton has sites; a stub fills one; a graft makes a kernel, which is launched on a device.
What goes wrong is an `Error` with `code`, `line`, `column`, `source` and `index`. Every function may be called from many threads at
once, and lets other threads run while the library works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxgraft import expression, stack
from ptxgraft._assembler import Assembler, Stop
from ptxgraft._batch import ManyOptions
from ptxgraft._cache import Cache, CacheCounters, CacheSize
from ptxgraft._device import Buffer, Device, Event, Finding, Report, Stream
from ptxgraft._graft import GraftOptions
from ptxgraft._kernel import Attributes, Kernel, Parameter
from ptxgraft._library import Error, assembler_version, library_version
from ptxgraft._machine_code import Bank, Function, Loss, MachineCode, Preparation, Route
from ptxgraft._profile import Profile, ProfileClass, ProfileLine
from ptxgraft._skeleton import Copy, Operand, Site, Skeleton
from ptxgraft._stub import Stub

if TYPE_CHECKING:
    from ptxgraft import dsl, isa, search, syntax, templates, tensor
    from ptxgraft._evaluate import Difference, Evaluator, evaluate, find_difference
    from ptxgraft._graph import Graph
    from ptxgraft._pool import Check, Pool, PoolReport, Variant, Worker

__version__ = library_version()
__all__ = [
    "Assembler", "Attributes", "Bank", "Buffer", "Cache", "CacheCounters", "CacheSize", "Copy", "Device", "Error", "Event", "Finding",
    "Function", "GraftOptions", "Kernel", "Loss", "MachineCode", "ManyOptions", "Operand", "Parameter", "Preparation", "Profile",
    "ProfileClass", "ProfileLine", "Report", "Route", "Site", "Skeleton", "Stop", "Stream", "Stub", "assembler_version",
    "Check", "Difference", "Evaluator", "Graph", "Pool", "PoolReport", "Variant", "Worker", "dsl", "evaluate", "expression",
    "find_difference", "isa", "library_version", "search", "stack", "syntax", "templates", "tensor",
]  # fmt: skip

# What `import ptxgraft` does not load, by the module that has it.
_LAZY = {name: name for name in ("dsl", "isa", "search", "syntax", "templates", "tensor")}
_LAZY.update({name: "_evaluate" for name in ("Difference", "Evaluator", "evaluate", "find_difference")})
_LAZY["Graph"] = "_graph"
_LAZY.update({name: "_pool" for name in ("Check", "Pool", "PoolReport", "Variant", "Worker")})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        module = importlib.import_module(f"ptxgraft.{_LAZY[name]}")
        return module if _LAZY[name] == name else getattr(module, name)
    raise AttributeError(f"module 'ptxgraft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
