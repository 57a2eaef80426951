"""Graphs: launches that are put together once and queued with one call, again and again."""

from __future__ import annotations

from typing import Any, Optional

from ptxgraft._device import Device, Stream
from ptxgraft._kernel import Kernel, PlannedLaunch
from ptxgraft._library import NULL, Dimensions, Handle, check, ffi, lib


class Graph(Handle):
    """Launches on a device, each behind the one before it, numbered from 0. One thread at a time uses a graph.

    It keeps the kernels, buffers and arrays of launches that were added. Of captured ones it keeps the kernels alone: their buffers and
    arrays have to live as long as the graph.

    >>> import numpy, ptxgraft
    >>> device = ptxgraft.Device("emulator")
    >>> simple = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
    >>> square, double = (simple.graft({"function": f}, device) for f in ("x x mul.f32 -> y", "x 2.0 mul.f32 -> y"))
    >>> x, y = device.upload(numpy.arange(4, dtype=numpy.float32)), device.upload(numpy.zeros(4, numpy.float32))
    >>> graph = ptxgraft.Graph(device)
    >>> graph.add(square, 1, 32, x, y, 4), graph.add(double, 1, 32, y, y, 4)
    (0, 1)
    >>> graph.launch()
    >>> y.download()
    array([ 0.,  2.,  8., 18.], dtype=float32)
    >>> graph.change(0, double, 1, 32, x, y, 4)
    >>> graph.launch()
    >>> y.download()
    array([ 0.,  4.,  8., 12.], dtype=float32)
    """

    __slots__ = ("_kept",)
    _noun = "graph"
    _kept: dict[int, PlannedLaunch]

    def __init__(self, device: Device):
        self._handle = self._create(lib.ptxgraft_graph_create, device._handle)
        self._kept = {}

    @classmethod
    def begin_capture(cls, stream: Stream) -> None:
        """From now on launches on the stream do not run, but become a graph, and so does what other libraries launch there."""
        check(lib.ptxgraft_stream_begin_capture(stream._handle))

    @classmethod
    def end_capture(cls, stream: Stream) -> Graph:
        """The graph of what was launched on the stream since. From then on launches run again, also after an error."""
        graph = cls.__new__(cls)
        graph._handle = cls._create(lib.ptxgraft_graph_create_from_capture, stream._handle)
        graph._kept = {}
        return graph

    def add(
        self,
        kernel: Kernel,
        grid: Dimensions,
        block: Dimensions,
        *arguments: Any,
        shared_size: int = 0,
        cluster: Optional[Dimensions] = None,
        cooperative: bool = False,
    ) -> int:
        """Adds a launch at the end: its number. Arguments are those of Kernel.launch, but for arrays that a launch would copy."""
        planned = PlannedLaunch(kernel, (grid, block, shared_size, cluster, cooperative, 0, 0), arguments)
        number = ffi.new("size_t*")
        check(lib.ptxgraft_graph_add(number, self._handle, planned.struct))
        self._kept[number[0]] = planned
        return int(number[0])

    def change(
        self,
        number: int,
        kernel: Kernel,
        grid: Dimensions,
        block: Dimensions,
        *arguments: Any,
        shared_size: int = 0,
        cluster: Optional[Dimensions] = None,
        cooperative: bool = False,
    ) -> None:
        """Another kernel, shape or arguments for one launch, also once the graph was launched."""
        planned = PlannedLaunch(kernel, (grid, block, shared_size, cluster, cooperative, 0, 0), arguments)
        check(lib.ptxgraft_graph_change(self._handle, number, planned.struct))
        self._kept[number] = planned

    def instantiate(self) -> None:
        """Makes it ready to be launched; the first launch does it otherwise."""
        check(lib.ptxgraft_graph_instantiate(self._handle))

    def launch(self, stream: Optional[Stream] = None) -> None:
        """Queues all of its launches behind what is on the stream. On the emulator Ctrl-C ends them."""
        PlannedLaunch.check(lib.ptxgraft_graph_launch(self._handle, NULL if stream is None else stream._handle))

    def __len__(self) -> int:
        return int(lib.ptxgraft_graph_get_size(self._handle))

    def _description(self) -> str:
        return f"of {len(self)} launches"
