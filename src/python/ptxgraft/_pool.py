"""Worker processes that check variants of a kernel: one that takes its process down is a finding about it, and no other one is lost."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from ptxgraft._assembler import Stop
from ptxgraft._library import (
    NULL,
    Error,
    Handle,
    Options,
    check,
    decode,
    enum_name,
    ffi,
    info,
    invalid,
    lib,
    name_bytes,
    text_bytes,
    wrong_type,
)
from ptxgraft._machine_code import MachineCode

_REGIMES = ("usual", "large", "constant", "special")
_NUMBERS = {
    "memory_size", "seed", "baseline_launches", "instructions", "hello_ms", "open_ms", "load_ms", "launch_ms", "compare_ms", "spares",
    "baseline_deaths", "seeds", "launches",
}  # fmt: skip


class Variant(NamedTuple):
    """A kernel that is to be checked."""

    ptx: str  #: of the workload's skeleton with stubs in: Skeleton.render
    entry: Optional[str] = None  #: where the module has several
    code: Optional[MachineCode] = None  #: of that PTX, for a GPU; else the worker assembles


class Check(NamedTuple):
    """What became of a variant."""

    outcome: str  #: "right", "wrong", "race", "hang", "rejected", …: ptxgraft_outcome of c/pool.h has all
    code: str  #: of the error that `message` tells of, as errc.def has it; "ok" without one
    message: str  #: of a launch that failed, or of a variant that was not run; else ""
    tensor: str  #: that the element is in, or that was changed; else ""
    element: int  #: in the order of the tensor's memory
    worst: float  #: the largest part of what is allowed; 1 and less is right
    got: float  #: there
    wanted: float
    allowed: float
    shape: int  #: of the workload's shapes
    regime: str  #: of the inputs: "usual", "large", "constant", "special"
    seed: int  #: of the inputs there
    cases: int  #: that were run
    instructions: int  #: on the emulator: of all warps


class Worker(NamedTuple):
    """A worker, as it said when it started."""

    device: str  #: "NVIDIA H200", "emulator"
    target: str
    library: str  #: the version of its ptxgraft
    assembler: str
    driver: str
    uuid: str
    multiprocessors: int
    l2_size: int
    has_network: bool  #: the system did not let it leave the network


class PoolReport(NamedTuple):
    """What became of a pool's workers."""

    checks: int  #: that were answered
    deaths: int  #: of workers that had a variant
    late: int  #: of those, killed for their time
    recovered: int  #: workers that took over and found the baseline right
    slowest_recovery: float  #: seconds
    sick_devices: int


class Pool(Handle):
    """A worker process for each device. They end with it. Any number of threads check with one at once. What a handler of a signal
    raises, Ctrl-C above all, comes out of a check at once: variants that no worker has begun are not checked any more, and those under
    way are to their ends, which nobody sees; the pool goes on.

    `command`: what starts `ptxgraft`, such as ["ssh", "host", "ptxgraft"]. `limits` are the numbers of ptxgraft_pool_options
    (c/pool.h says what each is): memory_size, seed, seeds, launches, launch_ms, …

    >>> import ptxgraft
    >>> square = {"function": {"expr": "y = x * x"}}
    >>> workload = {"template": "elementwise/simple", "shapes": [{"n": 33}], "wanted": square, "baseline": square}
    >>> simple = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
    >>> programs = "x x mul.f32 -> y", "x -> y"
    >>> pool = ptxgraft.Pool(["emulator"])
    >>> [check.outcome for check in pool.check(workload, [simple.render({"function": program}) for program in programs])]
    ['right', 'wrong']
    """

    __slots__ = ("_users",)
    _noun = "pool"

    def __init__(self, devices: Sequence[str] = ("auto",), *, command: Sequence[str] = (), **limits: Union[int, float]):
        options = Options("pool_options")
        options.texts("devices", "device_count", devices)
        options.texts("command", "command_count", command)
        check_limits(limits)
        for name, value in limits.items():
            setattr(options.struct, name, value)
        self._handle = self._create(lib.ptxgraft_pool_open, options.struct)
        self._users = _Users(self._handle)

    def close(self) -> None:
        """Ends the workers: now, or once the checks that an interrupt has left under way are at their ends."""
        if not self.is_closed and self._users.defer():
            del self._handle
        super().close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def workers(self) -> tuple[Worker, ...]:
        count = lib.ptxgraft_pool_get_worker_count(self._handle)
        return tuple(_worker(info("worker_info", lib.ptxgraft_pool_get_worker, self._handle, i)) for i in range(count))

    def check(self, workload: Union[str, Mapping[str, Any]], variants: Sequence[Union[str, Variant]]) -> list[Union[Check, Error]]:
        """Checks variants, or their PTX, on all devices. `workload`: what they have to compute, as measure/workload.hpp says, as JSON or
        what JSON is made from. An Error in a variant's place is no variant's fault: a sick device, a reference that does not compile."""
        if isinstance(variants, (str, Variant)):
            raise invalid("variants is a list of them, not one")
        text = workload_text(workload).encode()
        calls = [functools.partial(self._check, _request(text, v if isinstance(v, Variant) else Variant(v))) for v in variants]
        return _on_threads(calls, lib.ptxgraft_pool_get_worker_count(self._handle))

    def check_health(self, workload: Union[str, Mapping[str, Any]]) -> list[Union[Check, Error]]:
        """Of the workload's baseline on every device that is not sick."""
        text = workload_text(workload).encode()
        return list(_on_threads([functools.partial(self._check_health, text)], 1)[0])

    def _check(self, request: Options) -> Union[Check, Error]:
        with self._users as users:
            return _results(lib.ptxgraft_checks_create, users.handle, request.struct)[0]

    def _check_health(self, workload: bytes) -> list[Union[Check, Error]]:
        with self._users as users:
            return _results(lib.ptxgraft_checks_create_of_health, users.handle, workload, len(workload))

    def report(self) -> PoolReport:
        struct = info("pool_report", lib.ptxgraft_pool_get_report, self._handle)
        return PoolReport(*(getattr(struct, field) for field in PoolReport._fields))


def check_limits(limits: Mapping[str, Union[int, float]]) -> None:
    for name in limits:
        if name not in _NUMBERS:
            raise TypeError(f"Pool has no limit {name!r}; there are {', '.join(sorted(_NUMBERS))}")


def workload_text(workload: Union[str, Mapping[str, Any]]) -> str:
    if not isinstance(workload, (str, Mapping)):
        raise wrong_type(workload, "a str or a mapping")
    return workload if isinstance(workload, str) else json.dumps(dict(workload))


def _worker(struct: Any) -> Worker:
    device, target, library, assembler, driver, uuid = (decode(getattr(struct, field)) for field in Worker._fields[:6])
    return Worker(device, target, library, assembler, driver, uuid, struct.multiprocessors, struct.l2_size, bool(struct.has_network))


def _request(workload: bytes, variant: Variant) -> Options:
    request = Options("check_request")
    struct, ptx = request.struct, text_bytes(variant.ptx)
    struct.workload, struct.workload_size = request.keep(ffi.from_buffer("char[]", workload)), len(workload)
    slot = request.keep(ffi.new("ptxgraft_variant*"))
    slot.ptx, slot.ptx_size = request.keep(ffi.from_buffer("char[]", ptx)), len(ptx)
    slot.entry = NULL if variant.entry is None else request.keep(ffi.new("char[]", name_bytes(variant.entry)))
    if not isinstance(variant.code, (MachineCode, type(None))):
        raise wrong_type(variant.code, "a MachineCode")
    slot.code = NULL if variant.code is None else request.keep(variant.code)._handle
    struct.variants, struct.variant_count = slot, 1
    return request


class _Users:
    """The calls that are under way with a pool: the last of them destroys one that was closed meanwhile."""

    def __init__(self, handle: Any):
        self._handle, self._count, self._is_closed, self._mutex = handle, 0, False, threading.Lock()

    @property
    def handle(self) -> Any:
        return self._handle

    def __enter__(self) -> _Users:
        with self._mutex:
            if self._is_closed:
                raise invalid("the pool is closed")
            self._count += 1
        return self

    def __exit__(self, *error: object) -> None:
        with self._mutex:
            self._count -= 1
            is_last = self._is_closed and self._count == 0
        if is_last:
            ffi.release(self._handle)

    def defer(self) -> bool:
        """No call begins any more. True: some are under way, the last of which destroys the pool."""
        with self._mutex:
            self._is_closed = True
            return self._count > 0


class _Work:
    """Calls that several threads take from one list."""

    def __init__(self, calls: Sequence[Callable[[], Any]]):
        self.results: list[Any] = [None] * len(calls)
        self.raised: Optional[BaseException] = None
        self._calls: Iterator[tuple[int, Callable[[], Any]]] = iter(enumerate(calls))
        self._mutex = threading.Lock()

    def run(self) -> None:
        while (taken := self._next()) is not None:
            place, call = taken
            try:
                self.results[place] = call()
            except BaseException as error:
                self.raised = error
                self.stop()

    def _next(self) -> Optional[tuple[int, Callable[[], Any]]]:
        with self._mutex:
            return next(self._calls, None)

    def stop(self) -> None:
        """What nobody has begun is not done."""
        with self._mutex:
            self._calls = iter(())


def _on_threads(calls: Sequence[Callable[[], Any]], count: int, stop: Optional[Stop] = None) -> list[Any]:
    """What the calls return. This thread waits alone, so that handlers of signals run, and what they raise comes out: behind the
    ends of the calls where there is a stop, which is asked for."""
    work = _Work(calls)
    threads = [threading.Thread(target=work.run, daemon=True) for _ in range(min(count, len(calls)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        if stop is not None:
            stop.request()
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join()
        raise
    finally:
        work.stop()
    if work.raised is not None:
        raise work.raised
    return work.results


def _results(function: Any, *arguments: Any) -> list[Union[Check, Error]]:
    out = ffi.new("ptxgraft_checks**")
    check(function(out, *arguments))
    checks = ffi.gc(out[0], lib.ptxgraft_checks_destroy)
    return [_result(checks, i) for i in range(lib.ptxgraft_checks_get_count(checks))]


def _result(checks: Any, index: int) -> Union[Check, Error]:
    try:
        c = info("check_info", lib.ptxgraft_checks_get, checks, index)
    except Error as error:
        return error
    return Check(
        enum_name("outcome", c.outcome), decode(lib.ptxgraft_status_get_name(c.error)), decode(c.message), decode(c.tensor), c.element,
        c.worst, c.got, c.wanted, c.allowed, c.shape, _REGIMES[c.regime], c.seed, c.cases, c.instructions,
    )  # fmt: skip
