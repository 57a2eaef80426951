"""Searches for programs: a task, candidates that are asked for, results that are told; or a run with the task's own gates.

search.hpp says how it searches, search_task.hpp what a task is.

>>> import numpy, ptxgraft
>>> search = ptxgraft.search.Search({
...     "signature": "in f32 x, out f32 y", "reference": "y = 3 * x", "bound": 1e-6, "options": {"block": 64, "islands": 1},
...     "set": ["add.f32", "mul.f32", "max.f32"], "inputs": {"x": {"from": 0, "to": 1, "count": 16}}, "budget": {"candidates": 1000}})
>>> x = numpy.linspace(0, 1, 16, dtype=numpy.float32)
>>> for _ in range(3):
...     candidates = search.ask(64)
...     errors = numpy.array([abs(ptxgraft.evaluate(p, x=x)["y"] - 3 * x) for p in candidates.programs()])
...     costs = numpy.nan_to_num(errors.sum(axis=1).astype(float), nan=1e30, posinf=1e30)
...     search.tell(candidates, costs=costs, descriptors=numpy.zeros((len(candidates), len(search.axes))))
>>> search.ledger["judged"]
192
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ptxgraft._assembler import Stop
from ptxgraft._library import (
    NULL,
    Handle,
    Options,
    check,
    decode,
    enum_name,
    enum_value,
    ffi,
    info,
    invalid,
    lib,
    name_bytes,
    path_text,
    text_bytes,
    text_of,
    wrong_type,
)
from ptxgraft._pool import _on_threads
from ptxgraft._progress import bar as _progress_bar
from ptxgraft.stack import Machine, Program

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    NumPyArray = numpy.typing.NDArray[Any]


class Candidate(NamedTuple):
    """A candidate that waits for its result."""

    number: int  #: in the order of the search
    structure: int  #: of the dataflow of all sites, with the tunables
    constants: int  #: the values of its constants
    tunables: tuple[int, ...]  #: the place of each tunable's value
    refine: str  #: what is to be done beside judging: "none", "constants", "shorten"


class Candidates(Handle):
    """Candidates that wait for their results. They never change."""

    __slots__ = ("search",)
    _noun = "candidates"

    def __init__(self, search: Search, handle: Any):
        self.search, self._handle = search, handle

    def __len__(self) -> int:
        return int(lib.ptxgraft_candidates_get_count(self._handle))

    def __getitem__(self, place: int) -> Candidate:
        if not 0 <= place < len(self):
            raise IndexError(place)
        c = info("candidate_info", lib.ptxgraft_candidates_get, self._handle, place)
        tunables = tuple(c.tunables[0 : c.tunable_count]) if c.tunable_count else ()
        return Candidate(c.index, c.structure, c.constants, tunables, enum_name("refine", c.refine))

    def programs(self, site: int = 0) -> list[Program]:
        """The program of each for a site."""
        machine = self.search.machines[site]
        create = lib.ptxgraft_program_create_from_candidate
        return [Program._new(machine, Program._create(create, self._handle, i, site)) for i in range(len(self))]


class Elite(NamedTuple):
    """The best of a cell."""

    number: int  #: of the candidate
    cost: float
    descriptor: tuple[float, ...]
    cell: tuple[int, ...]
    programs: tuple[Program, ...]  #: one for each site


class Summary(NamedTuple):
    """What a run came to."""

    judged: int
    best_cost: float
    ending: str  #: "budget", "target", "exhausted", "asked", "stagnation"


class Search(Handle):
    """A search of a task (JSON, or what becomes it), or one that goes on with what an archive holds.

    `archive` None keeps everything in memory. `strategy`: "task" (as it says), "evolve", "random", "climb". A new one that evolves
    begins with a short enumeration, half a second a site, unless the task says `"enumerate": False`; `stop` ends it, and there is no
    search; Ctrl-C asks for that stop. One thread at a time uses it; a run has threads of its own."""

    __slots__ = ("sites", "machines", "axes")
    _noun = "search"

    def __init__(
        self,
        task: Union[str, Mapping[str, Any]],
        archive: Union[str, PathLike[str], None] = None,
        *,
        seed: Optional[int] = None,
        strategy: str = "task",
        stop: Optional[Stop] = None,
    ):
        options = Options("search_options")
        options.struct.strategy = enum_value("STRATEGY", strategy)
        options.struct.seed, options.struct.has_seed = seed or 0, seed is not None
        if not isinstance(task, (str, Mapping)):
            raise wrong_type(task, "a str or a mapping")
        data = text_bytes(task if isinstance(task, str) else json.dumps(dict(task)))
        where = NULL if archive is None else name_bytes(path_text(archive))
        stop = stop or Stop()
        options.handle("stop", stop)
        opening = partial(self._create, lib.ptxgraft_search_open, where, data, len(data), options.struct)
        (self._handle,) = _on_threads([opening], 1, stop)
        sites = range(lib.ptxgraft_search_get_site_count(self._handle))
        self.sites = tuple(decode(lib.ptxgraft_search_get_site_name(self._handle, i)) for i in sites)
        self.machines = tuple(Machine._new(Machine._create(lib.ptxgraft_machine_create_from_search, self._handle, i)) for i in sites)
        axes = range(lib.ptxgraft_search_get_axis_count(self._handle))
        self.axes = tuple(decode(lib.ptxgraft_search_get_axis_name(self._handle, i)) for i in axes)

    def ask(self, most: int) -> Candidates:
        """At most so many candidates: fewer where others have to be told before, and none where there are no more."""
        return Candidates(self, Candidates._create(lib.ptxgraft_search_ask, self._handle, most))

    def tell(
        self,
        candidates: Candidates,
        *,
        costs: Any,
        verdicts: Optional[Sequence[str]] = None,
        descriptors: Any = None,
        errors: Any = None,
        lows: Any = None,
        highs: Any = None,
        refined: Optional[Sequence[Sequence[Program]]] = None,
        which: Optional[Sequence[int]] = None,
    ) -> None:
        """Results of candidates of one ask: arrays with an element for each, or of `which`.

        `costs` are minimised; `lows` and `highs` are their intervals. `verdicts`: "ok", "infeasible", "wrong", "rejected", "failed",
        "late", "crashed", "impossible", "noisy"; None: ok. `descriptors`: a row with a value for each axis. `errors`: a row with an
        error for each case, 0 is right. `refined`: for each candidate a program for each site, as refinement made it."""
        count = len(candidates) if which is None else len(which)
        results = Options("results")
        struct = results.struct
        struct.candidates = candidates._handle
        if which is not None:
            struct.which, struct.count = results.keep(ffi.new("size_t[]", list(which))), count
        for field, values in (("costs", costs), ("lows", lows), ("highs", highs)):
            if values is not None:
                setattr(struct, field, self._rows(results, field, values, "double", (count,)))
        for field, values, dtype in (("descriptors", descriptors, "double"), ("errors", errors, "float")):
            if values is not None:
                setattr(struct, field, self._rows(results, field, values, dtype, (count, -1)))
                setattr(struct, f"{field[:-1]}_count", results._kept[-1].shape[1])
        if verdicts is not None:
            numbers = [enum_value("VERDICT", verdict) for verdict in verdicts]
            self._check_count("verdicts", len(numbers), count)
            struct.verdicts = results.keep(ffi.new("ptxgraft_verdict[]", numbers))
        if refined is not None:
            self._check_count("refined", len(refined), count)
            handles = [program._handle for row in refined for program in row]
            self._check_count("refined", len(handles), count * len(self.sites))
            struct.refined = results.keep(ffi.new("ptxgraft_program*[]", handles))
        check(lib.ptxgraft_search_tell(self._handle, struct))

    @staticmethod
    def _check_count(name: str, given: int, wanted: int) -> None:
        if given != wanted:
            raise invalid(f"{name} has {given} elements for {wanted} results")

    def _rows(self, results: Options, name: str, values: Any, c_type: str, shape: tuple[int, ...]) -> Any:
        import numpy

        array = numpy.ascontiguousarray(values, numpy.float64 if c_type == "double" else numpy.float32)
        if array.ndim != len(shape) or array.shape[0] != shape[0]:
            wanted = f"({', '.join('…' if extent < 0 else str(extent) for extent in shape)})"
            raise invalid(f"{name} has the shape {array.shape}, not {wanted}")
        results.keep(array)
        return ffi.cast(f"{c_type}*", array.ctypes.data)

    def run(
        self,
        *,
        candidates: int = 0,
        seconds: float = 0,
        threads: int = 0,
        stop: Optional[Stop] = None,
        progress: Union[bool, Callable[[dict[str, Any]], None], None] = None,
    ) -> Summary:
        """Asks, judges with the task's gates, and tells, until something ends it. `progress` is called with a ledger after each block,
        and what it raises ends the run and comes out of here; True shows a bar where tqdm is installed."""
        if progress is not True:
            return self._run(candidates, seconds, threads, stop or Stop(), progress or None)
        bar = _Bar(self, candidates)
        try:
            return self._run(candidates, seconds, threads, stop or Stop(), bar.show)
        finally:
            bar.close()

    def _run(
        self, candidates: int, seconds: float, threads: int, stop: Stop, progress: Optional[Callable[[dict[str, Any]], None]]
    ) -> Summary:
        options = Options("run_options")
        struct = options.struct
        struct.candidates, struct.seconds, struct.threads = candidates, seconds, threads
        watch = _Watch(stop, progress)
        options.handle("stop", watch.stop)
        struct.progress, struct.payload = lib.ptxgraft_python_progress, options.keep(ffi.new_handle(watch))
        summary = ffi.new("ptxgraft_summary_info*", lib.ptxgraft_summary_info_init)
        status = lib.ptxgraft_search_run(summary, self._handle, struct)
        if watch.raised is not None:
            raise watch.raised
        check(status)
        return Summary(summary.judged, summary.best_cost, enum_name("ending", summary.ending))

    @property
    def ledger(self) -> dict[str, Any]:
        """What the search has done: judged, drawn, duplicates, cells, status, gates, operators."""
        ledger: dict[str, Any] = json.loads(text_of(lib.ptxgraft_search_get_ledger, self._handle))
        return ledger

    def elites(self, *, front: bool = False) -> list[Elite]:
        """The best of each cell; with `front` those of them that no other beats."""
        out = ffi.new("ptxgraft_elites**")
        check(lib.ptxgraft_elites_create(out, self._handle))
        handle = ffi.gc(out[0], lib.ptxgraft_elites_destroy)
        if front:
            check(lib.ptxgraft_elites_create_front(out, handle))
            handle = ffi.gc(out[0], lib.ptxgraft_elites_destroy)
        return [self._elite(handle, i) for i in range(lib.ptxgraft_elites_get_count(handle))]

    def _elite(self, elites: Any, place: int) -> Elite:
        elite = info("elite_info", lib.ptxgraft_elites_get, elites, place)
        create = lib.ptxgraft_program_create_from_elite
        programs = tuple(Program._new(machine, Program._create(create, elites, place, i)) for i, machine in enumerate(self.machines))
        descriptor = tuple(elite.descriptor[0 : elite.descriptor_count]) if elite.descriptor_count else ()
        cell = tuple(elite.cell[0 : elite.axis_count]) if elite.axis_count else ()
        return Elite(elite.index, elite.cost, descriptor, cell, programs)

    def best(self) -> Optional[Elite]:
        """The elite of the lowest cost."""
        return min(self.elites(), key=lambda elite: elite.cost, default=None)

    def _repr_html_(self) -> str:
        from html import escape

        elites = sorted(self.elites(), key=lambda elite: elite.cost)
        rows = "".join(
            f"<tr><td>{e.number}</td><td>{e.cost:g}</td><td>{escape(', '.join(f'{v:g}' for v in e.descriptor))}</td>"
            f"<td><code>{escape('; '.join(map(str, e.programs)))}</code></td></tr>"
            for e in elites[:20]
        )
        head = f"<tr><th>candidate</th><th>cost</th><th>{escape(', '.join(self.axes))}</th><th>programs</th></tr>"
        return f"<table><caption>{len(elites)} elites of {self.ledger.get('judged')} judged</caption>{head}{rows}</table>"


class _Bar:
    """A bar of what a run judges."""

    def __init__(self, search: Search, candidates: int):
        self.bar = _progress_bar(candidates or None, "candidates")
        self.judged = int(search.ledger["judged"])  # before this run

    def show(self, ledger: dict[str, Any]) -> None:
        if self.bar is not None:
            self.bar.update(int(ledger["judged"]) - self.judged)
            self.judged = int(ledger["judged"])

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class _Watch:
    """What a run calls after each block."""

    def __init__(self, stop: Stop, progress: Optional[Callable[[dict[str, Any]], None]]):
        self.stop, self.progress = stop, progress
        self.raised: Optional[BaseException] = None

    def end(self, error: BaseException) -> None:
        self.raised = self.raised or error
        self.stop.request()


def _progress(ledger: Any, payload: Any) -> None:
    watch: _Watch = ffi.from_handle(payload)
    try:
        if watch.progress is not None and watch.raised is None:
            watch.progress(json.loads(decode(ledger)))
    except BaseException as error:
        watch.end(error)


def _keep_raised(kind: object, error: BaseException, traceback: Any) -> None:
    """What a handler of a signal raised as a call began: it ends the run as well."""
    ffi.from_handle(traceback.tb_frame.f_locals["payload"]).end(error)


ffi.def_extern(name="ptxgraft_python_progress", onerror=_keep_raised)(_progress)


class Page(str):
    """A page of HTML, which a notebook shows in a frame of its own."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self)}" style="width: 100%; height: 40em; border: 0"></iframe>'


def page(archive: Union[str, PathLike[str]], title: str = "") -> Page:
    """A report of an archive as a page of HTML, which a notebook shows."""
    return Page(text_of(lib.ptxgraft_archive_get_page, name_bytes(path_text(archive)), name_bytes(title)))
