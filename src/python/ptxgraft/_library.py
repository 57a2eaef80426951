"""The C library through cffi, and what all objects over it share: errors, texts, handles, structs of options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Optional, Union

if "t" in getattr(sys, "abiflags", ""):
    raise ImportError("ptxgraft needs the GIL: its extension is built for the stable ABI, which free-threaded Python does not load")


def _import_extension() -> Any:
    """The extension; where the loader finds no NVRTC or nvJitLink by itself, those of NVIDIA's packages on the path of Python."""
    try:
        from ptxgraft import _ptxgraft
    except ImportError:
        from ptxgraft import _preload

        _preload.load_cuda()
        from ptxgraft import _ptxgraft
    return _ptxgraft


_extension = _import_extension()
ffi: Any = _extension.ffi
lib: Any = _extension.lib
NULL = ffi.NULL


class Error(Exception):
    """What went wrong, as the library says it: the text of the exception has the place and a caret.

    >>> import ptxgraft
    >>> try:
    ...     ptxgraft.Skeleton.from_ptx("no PTX")
    ... except ptxgraft.Error as error:
    ...     print(error.code, error.line, error.column)
    statement_misplaced 1 1
    """

    code: str  #: the name of the error, as errc.def has it: "site_unknown"
    line: int  #: from 1, in `source`; 0 where the error has no place
    column: int
    source: str  #: the text that line and column are in
    source_name: str  #: "program", "affine.ptx"
    index: int  #: which of several inputs it is about, from 0

    def __init__(self, code: str, message: str, line: int = 0, column: int = 0, source: str = "", source_name: str = "", index: int = 0):
        super().__init__(message)
        self.code, self.line, self.column = code, line, column
        self.source, self.source_name, self.index = source, source_name, index

    def __reduce__(self) -> tuple[Any, ...]:
        return Error, (self.code, str(self), self.line, self.column, self.source, self.source_name, self.index)


def decode(text: Any) -> str:
    """A string of C; "" for null."""
    return "" if text == NULL else ffi.string(text).decode("utf-8", "replace")


def last_error(status: int) -> Error:
    """The error of this thread's last call."""
    return Error(
        decode(lib.ptxgraft_status_get_name(status)),
        decode(lib.ptxgraft_error_get_message()).rstrip("\n"),
        lib.ptxgraft_error_get_line(),
        lib.ptxgraft_error_get_column(),
        decode(lib.ptxgraft_error_get_source()),
        decode(lib.ptxgraft_error_get_source_name()),
        lib.ptxgraft_error_get_index(),
    )


def check(status: int) -> None:
    if status:
        raise last_error(status)


def invalid(message: str, index: int = 0) -> Error:
    return Error("argument_invalid", f"invalid argument: {message}", index=index)


class WrongType(Error, TypeError):
    """An argument of a type that is not taken: to be caught as either."""


def wrong_type(value: Any, wanted: str) -> Error:
    hint = ": decode() it" if wanted == "a str" and isinstance(value, (bytes, bytearray)) else ""
    return WrongType("argument_invalid", f"invalid argument: {value!r:.40} is a {type(value).__name__}, and {wanted} is taken{hint}")


def text_bytes(text: str) -> bytes:
    """A text for C, which gets its size."""
    if not isinstance(text, str):
        raise wrong_type(text, "a str")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise invalid(f"the text is no Unicode: {error}") from None


def path_text(path: Union[str, os.PathLike[str]]) -> str:
    """A path that a str or a pathlib.Path says."""
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_type(path, "a str or a pathlib.Path")
    return os.fspath(path)


def name_bytes(text: str) -> bytes:
    """A zero-terminated name for C."""
    data = text_bytes(text)
    if b"\0" in data:
        raise invalid(f"a zero byte in {text!r}")
    return data


def pairs(values: Mapping[str, Any]) -> str:
    """Names and values for C, which has them in one text: `m=129,n=65`."""
    if not isinstance(values, Mapping):
        raise wrong_type(values, "a mapping of names to values")
    for pair in values.items():
        for part in map(str, pair):
            if "," in part or "=" in part:
                raise invalid(f"names and values have no commas and equals signs, as {part!r} has")
    return ",".join(f"{name}={value}" for name, value in values.items())


def _filled(function: Callable[..., int], arguments: tuple[Any, ...], kind: str) -> tuple[Any, int]:
    """What a function with (buffer, &size, …) writes: its size is asked for first, and again where it has grown meanwhile."""
    size = ffi.new("size_t*")
    buffer = NULL
    while True:
        status = function(buffer, size, *arguments)
        if status and not (buffer != NULL and status == lib.PTXGRAFT_STATUS_buffer_too_small):
            raise last_error(status)
        if not status and buffer != NULL:
            return buffer, size[0]
        if size[0] == 0:
            return ffi.new(kind, 1), 0
        buffer = ffi.new(kind, size[0])


def text_of(function: Callable[..., int], *arguments: Any) -> str:
    buffer, size = _filled(function, arguments, "char[]")
    return bytes(ffi.buffer(buffer, size)[:-1]).decode("utf-8", "replace") if size else ""


def bytes_of(function: Callable[..., int], *arguments: Any) -> bytes:
    buffer, size = _filled(function, arguments, "char[]")
    return bytes(ffi.buffer(buffer, size))


#: Called with a handle before it is closed: by those who have given its address to somebody else.
closing: list[Callable[[Handle], None]] = []


class Handle:
    """An object of the library. It lives as long as this, or until `close`; what it depends on lives on with it."""

    __slots__ = ("_handle", "__weakref__")
    _noun = ""  # of ptxgraft_<noun>_destroy
    _handle: Any  # until it is closed

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "_handle":
                raise invalid(f"the {self._noun.replace('_', ' ')} is closed")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} is an object of this process: it is neither pickled nor copied")

    @classmethod
    def _create(cls, function: Callable[..., int], *arguments: Any) -> Any:
        """What `function(&out, …)` makes, which is destroyed when the last reference to it goes."""
        out = ffi.new(f"ptxgraft_{cls._noun}**")
        status = function(out, *arguments)
        if status:
            raise last_error(status)
        return ffi.gc(out[0], getattr(lib, f"ptxgraft_{cls._noun}_destroy"))

    def close(self) -> None:
        """Destroys it now; calls with it are errors from then on."""
        if not self.is_closed:
            for call in closing:
                call(self)
            handle = self._handle
            del self._handle
            ffi.release(handle)

    @property
    def is_closed(self) -> bool:
        try:
            object.__getattribute__(self, "_handle")
        except AttributeError:
            return True
        return False

    def __repr__(self) -> str:
        what = "closed" if self.is_closed else self._description()
        return f"<{type(self).__module__.partition('._')[0]}.{type(self).__name__}{what and ' '}{what}>"

    def _description(self) -> str:
        return ""


def info(name: str, getter: Callable[..., int], *arguments: Any) -> Any:
    """A struct that the library fills."""
    struct = ffi.new(f"ptxgraft_{name}*", getattr(lib, f"ptxgraft_{name}_init"))
    check(getter(struct, *arguments))
    return struct


class Options:
    """A struct of options for C: from its `_INIT`, with what is set of it, and with all that it points to."""

    __slots__ = ("struct", "_kept")

    def __init__(self, name: str):
        self.struct = ffi.new(f"ptxgraft_{name}*", getattr(lib, f"ptxgraft_{name}_init"))
        self._kept: list[Any] = []

    def keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value

    def text(self, field: str, value: Optional[str]) -> None:
        if value is not None:
            setattr(self.struct, field, self.keep(ffi.new("char[]", name_bytes(value))))

    def texts(self, field: str, count_field: str, values: Iterable[str]) -> None:
        if isinstance(values, str):
            raise invalid(f"{field} is a list of strings, not one string")
        strings = [self.keep(ffi.new("char[]", name_bytes(value))) for value in values]
        if strings:
            setattr(self.struct, field, self.keep(ffi.new("char*[]", strings)))
            setattr(self.struct, count_field, len(strings))

    def handle(self, field: str, value: Optional[Handle]) -> None:
        if value is None:
            return
        if not isinstance(value, Handle):
            raise wrong_type(value, f"an object of ptxgraft for {field}")
        setattr(self.struct, field, self.keep(value)._handle)


_ENUMS: dict[str, tuple[str, ...]] = {}


def enum_value(enum: str, name: str) -> int:
    """The number of an enumerator by its name: ("ROUTE", "inline")."""
    try:
        return int(getattr(lib, f"PTXGRAFT_{enum}_{name}"))
    except AttributeError:
        names = sorted(key[len(f"PTXGRAFT_{enum}_") :] for key in dir(lib) if key.startswith(f"PTXGRAFT_{enum}_"))
        raise invalid(f"there is no {enum.lower()} {name!r}; there are {', '.join(names)}") from None


def enum_name(kind: str, value: int) -> str:
    """The name of an enumerator: ("type", 14) is "f32". `kind` is that of the C type."""
    names = _ENUMS.get(kind)
    if names is None:
        elements = ffi.typeof(f"ptxgraft_{kind}").elements
        prefix = len(next(iter(elements.values()))) - len(_last_word(elements.values()))
        names = _ENUMS[kind] = tuple(elements[number][prefix:] for number in sorted(elements))
    return names[value]


def _last_word(names: Iterable[str]) -> str:
    """What of the first name is not the prefix of all of them, which ends with an underscore."""
    all_names = list(names)
    first = all_names[0]
    end = first.rindex("_") + 1
    while not all(name.startswith(first[:end]) for name in all_names):
        end = first.rindex("_", 0, end - 1) + 1
    return first[end:]


Dimensions = Union[int, Sequence[int]]


def dimensions(value: Dimensions) -> tuple[int, int, int]:
    """x, y, z of a grid or block; what is not said is 1."""
    try:
        return index(value), 1, 1  # type: ignore[arg-type]
    except TypeError:  # no number
        pass
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        raise invalid(f"{value!r} is neither a number nor up to three numbers of x, y, z")
    extents = tuple(index(extent) for extent in value)  # type: ignore[union-attr]
    if len(extents) > 3:
        raise invalid(f"{extents} has more than three dimensions")
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z


def library_version() -> str:
    return decode(lib.ptxgraft_library_get_version())


def assembler_version() -> str:
    """What makes machine code for a GPU: "nvptxcompiler 13.5.37". The first call takes some milliseconds."""
    return decode(lib.ptxgraft_library_get_assembler())
