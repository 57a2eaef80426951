"""How far what takes long has come: a bar of tqdm, in a terminal or a notebook, or a function of the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, Union

#: True: a bar, where tqdm is installed, and nothing where it is not. A function is called with how many are done, and of how many.
Progress = Union[bool, Callable[[int, int], None]]


def bar(total: Optional[int], unit: str) -> Any:
    """A bar of tqdm; None where it is not installed. `total` None: nobody knows of how many."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=f" {unit}")


class Counter:
    """Counts what is done, and shows it.

    >>> from ptxgraft._progress import Counter
    >>> with Counter(lambda done, total: print(f"{done} of {total}"), 2, "kernels") as counter:
    ...     counter.add()
    ...     counter.add()
    1 of 2
    2 of 2
    """

    __slots__ = ("_bar", "_call", "_done", "_total")

    def __init__(self, progress: Progress, total: int, unit: str):
        self._call = progress if callable(progress) else None
        self._bar = bar(total, unit) if progress is True else None
        self._done, self._total = 0, total

    def add(self, count: int = 1) -> None:
        self._done += count
        if self._call is not None:
            self._call(self._done, self._total)
        if self._bar is not None:
            self._bar.update(count)

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
