"""Assemblers, which make machine code of PTX, in process or in worker processes; and stops, which end what takes too long."""

from __future__ import annotations

from typing import Optional

from ptxgraft._library import Handle, Options, check, decode, lib, name_bytes


class Assembler(Handle):
    """PTX to machine code: "default", "nvptxcompiler", "nvjitlink", "workers:4", or the path of a ptxas.

    >>> import ptxgraft
    >>> ptxgraft.Assembler("nvjitlink").name
    'nvjitlink'
    """

    __slots__ = ()
    _noun = "assembler"

    def __init__(self, name: str = "default"):
        self._handle = self._create(lib.ptxgraft_assembler_open, name_bytes(name))

    @classmethod
    def worker_pool(
        cls,
        workers: int = 0,
        *,
        timeout_ms: int = 300_000,
        memory_size: int = 4 << 30,
        assembler: Optional[str] = None,
        program: Optional[str] = None,
    ) -> Assembler:
        """Processes that assemble: what hangs, explodes or crashes there is an error of its own call. `workers` 0: one for each
        hardware thread; `program`: the path of ptxgraft-worker, where it is not beside the library."""
        options = Options("worker_pool_options")
        options.struct.workers, options.struct.timeout_ms, options.struct.memory_size = workers, timeout_ms, memory_size
        options.text("assembler", assembler)
        options.text("program", program)
        pool = cls.__new__(cls)
        pool._handle = cls._create(lib.ptxgraft_assembler_create_worker_pool, options.struct)
        return pool

    @property
    def name(self) -> str:
        return decode(lib.ptxgraft_assembler_get_name(self._handle))

    @property
    def version(self) -> str:
        return decode(lib.ptxgraft_assembler_get_version(self._handle))


class Stop(Handle):
    """A wish that work ends, for as many calls as are given it; from any thread.

    >>> import ptxgraft
    >>> stop = ptxgraft.Stop()
    >>> stop.request()
    >>> stop.requested
    True
    """

    __slots__ = ()
    _noun = "stop"

    def __init__(self) -> None:
        self._handle = self._create(lib.ptxgraft_stop_create)

    def request(self) -> None:
        """Asks for the stop. It lasts: calls that begin later end at once."""
        check(lib.ptxgraft_stop_request(self._handle))

    @property
    def requested(self) -> bool:
        return bool(lib.ptxgraft_stop_get_requested(self._handle))
