"""Pools of workers on the nodes of a Ray cluster: variants are checked there in batches, and none is lost with a worker or an actor."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

import ray as _ray_module

from ptxgraft import _pool
from ptxgraft._library import Error, invalid
from ptxgraft._pool import Check, PoolReport, Variant, Worker

_ray: Any = _ray_module  # whose decorators have types of their own
#: What becomes of a variant: an Error is no variant's fault.
Result = Union[Check, Error]
_AHEAD = 2  # batches that an actor has at once: it checks one, and the next one is there already


class _Answer(NamedTuple):
    """Of an actor, to a batch."""

    results: list[Result]
    report: PoolReport  #: what the pool did for this batch alone


class _Node:
    """What an actor is: a pool on its node, which is opened by the first call, so that its error is that call's."""

    def __init__(self, devices: Sequence[str], command: Sequence[str], limits: Mapping[str, Union[int, float]]):
        self._how = (devices, command, limits)
        self._opened: Optional[_pool.Pool] = None

    def _pool(self) -> _pool.Pool:
        if self._opened is None:
            devices, command, limits = self._how
            self._opened = _pool.Pool(devices, command=command, **limits)
        return self._opened

    def check(self, workload: str, variants: Sequence[Variant]) -> _Answer:
        pool = self._pool()
        before = pool.report()
        results = pool.check(workload, variants)
        return _Answer(results, _difference(pool.report(), before))

    def check_health(self, workload: str) -> list[Result]:
        return self._pool().check_health(workload)

    def workers(self) -> tuple[Worker, ...]:
        return self._pool().workers

    def process(self) -> int:
        return os.getpid()


def _difference(after: PoolReport, before: PoolReport) -> PoolReport:
    sums: list[Any] = [a - b for a, b in zip(after, before)]
    return PoolReport(*sums)._replace(slowest_recovery=after.slowest_recovery)


def _sum(first: PoolReport, second: PoolReport) -> PoolReport:
    sums: list[Any] = [a + b for a, b in zip(first, second)]
    return PoolReport(*sums)._replace(slowest_recovery=max(first.slowest_recovery, second.slowest_recovery))


class _Place:
    """Where an actor is, and after its death another one."""

    def __init__(self, kind: Any, arguments: tuple[Any, ...]):
        self._kind, self._arguments, self._lock = kind, arguments, threading.Lock()
        self.actor = kind.remote(*arguments)
        self.renewals = 0

    def renew(self, dead: Any) -> None:
        """Another actor in the place of this one, if nobody has started it meanwhile."""
        with self._lock:
            if self.actor is dead:
                _ray.kill(dead)  # one that is only out of reach must not go on
                self.actor = self._kind.remote(*self._arguments)
                self.renewals += 1


class Pool:
    """A `ptxgraft.Pool` on each of some nodes: actors of Ray whose workers check variants, batch by batch.

    What a variant does to a worker process is that variant's outcome, as in any pool. When an actor is lost, with its process, its
    node or by `ray.kill`, another one is started in its place, and the batches that it had are given again: each variant has one
    result, and counts once. After `tries` actors that were lost with a batch in hand, its variants have errors.

    `actors`: 0 is one for each node that is alive. `devices`, `command` and `limits`: of each actor's ptxgraft.Pool. `actor_options`:
    Ray's, such as {"num_gpus": 1}; without others an actor takes one CPU, and Ray spreads them over its nodes. Ray waits until the
    cluster has room for an actor. Threads: any number check with one at once.

    >>> import ptxgraft, ptxgraft.ray
    >>> square = {"function": {"expr": "y = x * x"}}
    >>> workload = {"template": "elementwise/simple", "shapes": [{"n": 33}], "wanted": square, "baseline": square}
    >>> simple = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
    >>> programs = "x x mul.f32 -> y", "x -> y"
    >>> with ptxgraft.ray.Pool(1, ["emulator"]) as pool:
    ...     [check.outcome for check in pool.check(workload, [simple.render({"function": program}) for program in programs])]
    ['right', 'wrong']
    """

    def __init__(
        self,
        actors: int = 0,
        devices: Sequence[str] = ("auto",),
        *,
        command: Sequence[str] = (),
        actor_options: Mapping[str, Any] = {},
        tries: int = 4,
        **limits: Union[int, float],
    ):
        _pool.check_limits(limits)
        if isinstance(devices, str) or isinstance(command, str):
            raise invalid("devices and command are lists of strings, not one string")
        if not _ray.is_initialized():
            _ray.init()
        options = {"scheduling_strategy": "SPREAD", "num_cpus": 1, **actor_options, "max_restarts": 0}
        kind = _ray.remote(_Node).options(**options)
        count = actors or sum(node["Alive"] for node in _ray.nodes())
        self._tries = tries
        self._places = [_Place(kind, (tuple(devices), tuple(command), limits)) for _ in range(count)]
        self._lock = threading.Lock()
        self._report = PoolReport(0, 0, 0, 0, 0.0, 0)
        self._workers = self._of_all("workers")

    def check(self, workload: Union[str, Mapping[str, Any]], variants: Sequence[Union[str, Variant]], *, batch: int = 0) -> list[Result]:
        """As ptxgraft.Pool.check: results in the order of the variants, which are given to the actors in batches; 0 makes four for
        each actor."""
        size = batch or max(1, -(-len(variants) // max(4 * len(self._places), 1)))
        batches = (variants[i : i + size] for i in range(0, len(variants), size))
        return [result for results in self.check_batches(workload, batches) for result in results]

    def check_batches(
        self, workload: Union[str, Mapping[str, Any]], batches: Iterable[Sequence[Union[str, Variant]]]
    ) -> Iterator[list[Result]]:
        """The results of each batch, in the order of the batches, which are taken from the iterable as actors have room for them: a
        generator may ask a search for the next batch while others are checked. At most three for each actor are taken before the
        results of the first of them are handed out."""
        return iter(_Run(self, _pool.workload_text(workload), batches))

    def check_health(self, workload: Union[str, Mapping[str, Any]]) -> list[Result]:
        """Of the workload's baseline on every device of every actor that is not sick."""
        return self._of_all("check_health", _pool.workload_text(workload))

    @property
    def workers(self) -> tuple[Worker, ...]:
        """Those of all actors, as they were when the pool was opened."""
        return tuple(self._workers)

    @property
    def actors(self) -> tuple[Any, ...]:
        """Ray's handles of those that work now."""
        return tuple(place.actor for place in self._places)

    @property
    def restarts(self) -> int:
        """Actors that were started in the place of one that was lost."""
        return sum(place.renewals for place in self._places)

    def report(self) -> PoolReport:
        """What became of all actors' workers, by the batches that have results: what an actor did for a batch that it was lost with
        is not counted."""
        with self._lock:
            return self._report

    def close(self) -> None:
        """Ends the actors, and with them their workers."""
        for place in self._places:
            _ray.kill(place.actor)
        self._places = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _count(self, report: PoolReport) -> None:
        with self._lock:
            self._report = _sum(self._report, report)

    def _of_all(self, method: str, *arguments: Any) -> list[Any]:
        """What a method of every actor gives, one list of all."""
        asked = [(place, place.actor, getattr(place.actor, method).remote(*arguments)) for place in self._places]
        return [item for place, actor, answer in asked for item in self._of_one(place, actor, answer, method, arguments)]

    def _of_one(self, place: _Place, actor: Any, answer: Any, method: str, arguments: tuple[Any, ...]) -> Any:
        for rest in reversed(range(self._tries)):
            try:
                return _result(answer)
            except _Lost as lost:
                if not rest:
                    raise lost.error(self._tries) from None
                place.renew(actor)
                actor = place.actor
                answer = getattr(actor, method).remote(*arguments)
        raise invalid("tries is a number from 1 on")


class _Lost(Exception):
    """An actor is no more."""

    def error(self, tries: int) -> Error:
        return Error("measure_worker_failed", f"{tries} actors of Ray were lost with this, the last one so: {self}")


def _result(answer: Any) -> Any:
    """What an actor answered. An error of the call is raised as it was there; _Lost where the actor is."""
    try:
        return _ray.get(answer)
    except _ray.exceptions.RayTaskError as error:
        raise getattr(error, "cause", error) from None
    except _ray.exceptions.RayError as error:
        raise _Lost(str(error).strip()) from None


class _Batch:
    """Variants that are checked together, and what became of that so far."""

    __slots__ = ("number", "variants", "losses")

    def __init__(self, number: int, variants: Sequence[Union[str, Variant]]):
        self.number, self.losses = number, 0
        self.variants = [_sendable(variant) for variant in variants]


def _sendable(variant: Union[str, Variant]) -> Variant:
    given = variant if isinstance(variant, Variant) else Variant(variant)
    if given.code is not None:
        raise invalid("machine code stays in its process: variants for actors of Ray are PTX, which their workers assemble")
    return given


class _Given(NamedTuple):
    """A batch that an actor has."""

    batch: _Batch
    actor: Any
    answer: Any  #: Ray's reference to it


class _Run:
    """One call: batches that wait to be given again, those that actors have, and results that came before their turn."""

    def __init__(self, pool: Pool, workload: str, batches: Iterable[Sequence[Union[str, Variant]]]):
        self._pool, self._workload, self._source = pool, workload, enumerate(batches)
        self._places = list(pool._places)
        if not self._places:
            raise invalid("the pool is closed")
        self._at: list[deque[_Given]] = [deque() for _ in self._places]  # of each place, in their order there
        self._again: deque[_Batch] = deque()
        self._done: dict[int, list[Result]] = {}
        self._turn = 0  # the number of the batch whose results are next

    def __iter__(self) -> Iterator[list[Result]]:
        while True:
            self._give()
            if self._turn in self._done:
                results = self._done.pop(self._turn)
                self._turn += 1
                yield results
            elif any(self._at):
                self._wait()
            else:
                return

    def _give(self) -> None:
        """Batches to actors that have room, the idlest first."""
        while True:
            place = min(range(len(self._places)), key=lambda i: len(self._at[i]))
            if len(self._at[place]) >= _AHEAD:
                return
            batch = self._next()
            if batch is None:
                return
            if batch.variants:
                self._send(batch, place)
            else:
                self._done[batch.number] = []

    def _next(self) -> Optional[_Batch]:
        if self._again:
            return self._again.popleft()
        waiting = sum(map(len, self._at)) + len(self._done)
        if waiting >= (_AHEAD + 1) * len(self._places):
            return None
        for number, variants in self._source:
            return _Batch(number, variants)
        return None

    def _send(self, batch: _Batch, place: int) -> None:
        actor = self._places[place].actor
        self._at[place].append(_Given(batch, actor, actor.check.remote(self._workload, batch.variants)))

    def _wait(self) -> None:
        """Until an actor has answered, or is lost."""
        answers = {given.answer: place for place, queue in enumerate(self._at) for given in queue}
        ready, _ = _ray.wait(list(answers), num_returns=1)
        place = answers[ready[0]]
        given = next(given for given in self._at[place] if given.answer == ready[0])
        try:
            answer: _Answer = _result(given.answer)
        except _Lost as reason:
            self._lose(place, reason)
        except Error as reason:
            if reason.code == "measure_worker_failed":  # the actor's pool cannot be opened
                self._lose(place, reason)
            else:
                self._finish(place, given, [reason] * len(given.batch.variants))
        else:
            self._finish(place, given, answer.results)
            self._pool._count(answer.report)

    def _finish(self, place: int, given: _Given, results: list[Result]) -> None:
        self._at[place].remove(given)
        self._done[given.batch.number] = results

    def _lose(self, place: int, reason: Exception) -> None:
        """The actor's batches are given again; the first one was in its hand."""
        queue = self._at[place]
        self._places[place].renew(queue[0].actor)
        queue[0].batch.losses += 1
        if queue[0].batch.losses >= self._pool._tries:
            batch = queue.popleft().batch
            error = reason if isinstance(reason, Error) else _Lost(str(reason)).error(batch.losses)
            self._done[batch.number] = [error] * len(batch.variants)
        self._again.extend(given.batch for given in queue)
        queue.clear()
