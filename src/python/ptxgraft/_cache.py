"""The cache: PTX of CUDA sources, machine code of grafts, and the errors of both, in memory and in a folder that processes share."""

from __future__ import annotations

from os import PathLike
from typing import NamedTuple, Optional, Union

from ptxgraft._library import NULL, Handle, Options, check, decode, ffi, info, lib, path_text


class CacheCounters(NamedTuple):
    """What a cache has done: every lookup counts as one of the first four."""

    memory_hits: int
    disk_hits: int
    joined: int  #: waited for equal work of another thread
    misses: int
    stored: int
    not_stored: int
    evicted: int
    dropped: int


class CacheSize(NamedTuple):
    entries: int
    bytes: int


class Cache(Handle):
    """Keeps what takes long. Any number of threads use one at once, and any number of processes its folder.

    >>> import ptxgraft
    >>> cache = ptxgraft.Cache()
    >>> source = '#include <ptxgraft/site.cuh>\\nextern "C" __global__ void f() {}'
    >>> for _ in range(2):
    ...     skeleton = ptxgraft.Skeleton.from_cuda(source, cache=cache)
    >>> cache.counters().misses, cache.counters().memory_hits
    (1, 1)
    """

    __slots__ = ()
    _noun = "cache"

    def __init__(self, folder: Union[str, PathLike[str], None] = None, *, memory_size: int = 256 << 20, disk_size: int = 4 << 30):
        """`folder`: None keeps results in memory alone."""
        options = Options("cache_options")
        options.text("dir", None if folder is None else path_text(folder))
        options.struct.memory_size, options.struct.disk_size = memory_size, disk_size
        self._handle = self._create(lib.ptxgraft_cache_open, options.struct)

    @property
    def folder(self) -> str:
        """As an absolute path; "" where there is none."""
        return decode(lib.ptxgraft_cache_get_dir(self._handle))

    def counters(self) -> CacheCounters:
        counters = info("cache_counters", lib.ptxgraft_cache_get_counters, self._handle)
        return CacheCounters(*(getattr(counters, field) for field in CacheCounters._fields))

    def memory(self) -> CacheSize:
        """What it holds in memory."""
        size = info("cache_size", lib.ptxgraft_cache_get_memory, self._handle)
        return CacheSize(size.entries, size.size)

    def on_disk(self) -> CacheSize:
        """What lies in the folder."""
        size = ffi.new("ptxgraft_cache_size*", lib.ptxgraft_cache_size_init)
        check(lib.ptxgraft_cache_get_folder(size, NULL, self._handle))
        return CacheSize(size.entries, size.size)

    def clear(self) -> CacheSize:
        """Forgets everything; what lay in the folder."""
        size = info("cache_size", lib.ptxgraft_cache_clear, self._handle)
        return CacheSize(size.entries, size.size)

    def verify(self) -> int:
        """Reads every entry of the folder and removes what is damaged; how many were."""
        return int(info("cache_check", lib.ptxgraft_cache_verify, self._handle).damaged)
