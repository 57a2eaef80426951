"""Many candidates of one skeleton at once: on several threads, with a call for each result, and an error for each candidate."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from ptxgraft import _graft
from ptxgraft._assembler import Stop
from ptxgraft._device import Device
from ptxgraft._graft import GraftOptions, Stubs
from ptxgraft._kernel import Kernel
from ptxgraft._library import Error, Options, ffi, last_error, lib, wrong_type
from ptxgraft._machine_code import MachineCode
from ptxgraft._progress import Counter, Progress

if TYPE_CHECKING:
    from ptxgraft._skeleton import Skeleton


class ManyOptions(NamedTuple):
    """How graft_many and assemble_many work."""

    threads: int = 0  #: that work; 0: as many as the machine has
    stubs_per_module: int = 32  #: of the `link` route: so many are assembled at once
    variants_per_module: int = 1  #: so many candidates are assembled and loaded as one module
    stop: Optional[Stop] = None  #: candidates that nobody has begun when it is asked for are "work_stopped"


class _Work:
    """What a batch calls: hands every result on, counts it, and keeps what ended it."""

    def __init__(self, stop: Stop, hand_on: Callable[[int, int, Any, Any], None], counter: Counter):
        self.stop, self.hand_on, self.counter = stop, hand_on, counter
        self.raised: Optional[BaseException] = None

    def end(self, error: BaseException) -> None:
        self.raised = self.raised or error
        self.stop.request()


def _on_result(candidate: int, status: int, code: Any, kernel: Any, payload: Any) -> None:
    work: _Work = ffi.from_handle(payload)
    try:
        if work.raised is None:
            work.hand_on(candidate, status, code, kernel)
            work.counter.add()
    except BaseException as error:
        work.end(error)


def _keep_raised(kind: object, error: BaseException, traceback: Any) -> None:
    """What a handler of a signal raised as a call began: it ends the batch as well."""
    ffi.from_handle(traceback.tb_frame.f_locals["payload"]).end(error)


ffi.def_extern(name="ptxgraft_python_on_result", onerror=_keep_raised)(_on_result)


class _Interruptible:
    """While a batch works, Ctrl-C asks its stop: the handler runs as soon as a result is handed on, or another thread looks."""

    def __init__(self, work: _Work):
        self.work = work
        self.before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self.come)

    def come(self, number: int, frame: object) -> None:
        self.work.end(KeyboardInterrupt())

    def __exit__(self, *error: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)


def _run(
    skeleton: Skeleton,
    device: Optional[Device],
    candidates: Sequence[Stubs],
    options: GraftOptions,
    many: ManyOptions,
    hand_on: Callable[[int, int, Any, Any], None],
    progress: Progress,
) -> Any:
    """The batch of the library."""
    with Counter(progress, len(candidates), "kernels" if device else "candidates") as counter:
        return _counted(skeleton, device, candidates, options, many, hand_on, counter)


def _counted(
    skeleton: Skeleton,
    device: Optional[Device],
    candidates: Sequence[Stubs],
    options: GraftOptions,
    many: ManyOptions,
    hand_on: Callable[[int, int, Any, Any], None],
    counter: Counter,
) -> Any:
    given, batch_options = _graft.graft_options({}, options, skeleton), Options("batch_options")
    work = _Work(many.stop or Stop(), hand_on, counter)
    struct = batch_options.struct
    list_of = ffi.new("ptxgraft_candidate[]", len(candidates))
    for candidate, stubs in zip(list_of, candidates):
        candidate.grafts, candidate.graft_count = _graft.graft_list(stubs, skeleton, batch_options)
    struct.candidates, struct.candidate_count = list_of, len(candidates)
    struct.threads, struct.stubs_per_module, struct.variants_per_module = many.threads, many.stubs_per_module, many.variants_per_module
    batch_options.handle("stop", work.stop)
    struct.on_result, struct.payload = lib.ptxgraft_python_on_result, batch_options.keep(ffi.new_handle(work))
    out = ffi.new("ptxgraft_batch**")
    with _Interruptible(work):
        if device is None:
            status = lib.ptxgraft_batch_create(out, skeleton._handle, given.struct, struct)
        else:
            status = lib.ptxgraft_batch_create_on_device(out, skeleton._handle, device._handle, given.struct, struct)
        failed = last_error(status) if status else None
    if work.raised is not None:
        raise work.raised
    if failed is not None:
        raise failed
    return ffi.gc(out[0], lib.ptxgraft_batch_destroy)


def _list_of(candidates: Iterable[Stubs]) -> list[Stubs]:
    if isinstance(candidates, (str, Mapping)) or not isinstance(candidates, Iterable):
        raise wrong_type(candidates, "a list of mappings from sites to stubs")
    return list(candidates)


def graft_many(
    skeleton: Skeleton,
    candidates: Iterable[Stubs],
    device: Device,
    options: GraftOptions,
    many: ManyOptions,
    on_result: Optional[Callable[[int, Union[Kernel, Error]], None]],
    progress: Progress,
) -> list[Union[Kernel, Error]]:
    def hand_on(candidate: int, status: int, code: Any, handle: Any) -> None:
        if on_result is None:
            return
        kernel = None if status else Kernel._new(device, handle)
        on_result(candidate, last_error(status) if kernel is None else kernel)
        if kernel is not None:
            del kernel._handle  # what the call brings lasts as long as it

    given = _list_of(candidates)
    batch = _run(skeleton, device, given, options, many, hand_on, progress)
    results: list[Union[Kernel, Error]] = []
    for i in range(len(given)):
        try:
            results.append(Kernel._new(device, Kernel._create(lib.ptxgraft_kernel_create_from_batch, batch, i)))
        except Error as error:
            results.append(error)
    return results


def assemble_many(
    skeleton: Skeleton,
    candidates: Iterable[Stubs],
    options: GraftOptions,
    many: ManyOptions,
    on_result: Optional[Callable[[int, Union[MachineCode, Error]], None]],
    progress: Progress,
) -> list[Union[MachineCode, Error]]:
    def hand_on(candidate: int, status: int, handle: Any, kernel: Any) -> None:
        if on_result is None:
            return
        code = None if status else MachineCode._new(handle)
        on_result(candidate, last_error(status) if code is None else code)
        if code is not None:
            del code._handle

    given = _list_of(candidates)
    batch = _run(skeleton, None, given, options, many, hand_on, progress)
    results: list[Union[MachineCode, Error]] = []
    for i in range(len(given)):
        try:
            results.append(MachineCode._new(MachineCode._create(lib.ptxgraft_machine_code_create_from_batch, batch, i)))
        except Error as error:
            results.append(error)
    return results
