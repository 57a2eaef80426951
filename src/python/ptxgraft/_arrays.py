"""Arrays of others: where their elements lie, by NumPy's interface, `__cuda_array_interface__`, DLPack or Python's buffers."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional

from ptxgraft._library import Error, ffi, invalid


class Place(NamedTuple):
    """The memory of an array."""

    address: int
    size: int
    is_host: bool
    read_only: bool
    owner: Any  #: keeps the memory
    alignment: int = 1  #: of an element, where it is known

    def check_in_place(self) -> None:
        """An error where a kernel cannot work on it in place: it may write there, at addresses that are multiples of an element's size."""
        if self.read_only:
            raise invalid("the array is read-only: upload copies")
        if self.size and self.address % self.alignment:
            raise invalid(
                f"the array begins at {self.address:#x}, no multiple of its elements' {self.alignment} bytes;"
                " numpy.require(array, requirements='AC') copies it"
            )


def place_of(array: Any, index: int = 0) -> Place:
    """Where an array lies. An error names what is wrong with it: its strides, its byte order, its type; `index` is the error's."""
    for reader in _READERS:
        try:
            place = reader(array)
        except Error as error:
            error.index = index
            raise
        if place is not None:
            return place
    raise invalid(f"a {type(array).__name__} is no buffer and no array (NumPy's interface, CUDA's, DLPack)", index)


def _interface(array: Any, name: str) -> Optional[dict[str, Any]]:
    try:
        interface = getattr(array, name, None)
    except Exception as error:  # of PyTorch: a tensor that requires its gradient
        raise invalid(str(error)) from None
    return interface if isinstance(interface, dict) else None


def _check_type(typestr: str) -> int:
    """Bytes of an element: "<f4", "<M8[ns]"."""
    if typestr[1] == "O":
        raise invalid("the array holds Python objects; a kernel reads numbers")
    if typestr[0] == (">" if sys.byteorder == "little" else "<"):
        raise invalid(f"the array is of another byte order ({typestr}); array.astype(array.dtype.newbyteorder('=')) copies it")
    size = int(typestr[2:].partition("[")[0])
    return 4 * size if typestr[1] == "U" else size


def _check_fields(fields: Any) -> None:
    """Of a struct, as NumPy's `descr` has them: (name, type or fields, shape)."""
    for field in fields:
        if isinstance(field[1], str):
            _check_type(field[1])
        else:
            _check_fields(field[1])


def _size(shape: tuple[int, ...], strides: Optional[tuple[int, ...]], item: int) -> int:
    """Bytes of an array whose elements lie one behind the other, the last dimension first."""
    expected = item
    for extent, stride in zip(reversed(shape), reversed(strides) if strides else [None] * len(shape)):
        if stride is not None and stride != expected and extent > 1 and 0 not in shape:
            raise invalid(f"the array has gaps or another order of dimensions (shape {shape}, strides {strides}); make it contiguous first")
        expected *= extent
    return expected


def alignment_of(item: int, is_complex: bool) -> int:
    """Of an element of so many bytes: a complex number is two numbers."""
    size = item // 2 if is_complex else item
    return size if size & (size - 1) == 0 else 1


def _is_masked(array: Any) -> bool:
    """Whether elements of a numpy.ma.MaskedArray are masked: its interface does not say it."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(array, masked.MaskedArray) and bool(masked.is_masked(array))


def _of_interface(interface: dict[str, Any], is_host: bool, owner: Any) -> Place:
    item = _check_type(interface["typestr"])
    if interface["typestr"][1] == "V":
        _check_fields(interface.get("descr") or ())
    if interface.get("mask") is not None or _is_masked(owner):
        raise invalid("the array has a mask; its filled() is an array without")
    size = _size(tuple(interface["shape"]), interface.get("strides"), item)
    address, read_only = interface["data"]
    kind = interface["typestr"][1]
    alignment = alignment_of(item, kind == "c") if kind in "biufcmM" else 1  # of a struct or a text nothing is known
    return Place(address, size, is_host, bool(read_only), owner, alignment)


def _by_cuda(array: Any) -> Optional[Place]:
    interface = _interface(array, "__cuda_array_interface__")
    return None if interface is None else _of_interface(interface, False, array)


def _by_numpy(array: Any) -> Optional[Place]:
    interface = _interface(array, "__array_interface__")
    if interface is None or interface.get("data") is None:
        return None
    return _of_interface(interface, True, array)


def _by_buffer(array: Any) -> Optional[Place]:
    try:
        view = memoryview(array)
    except TypeError:
        return None
    if not view.c_contiguous:
        raise invalid(f"the buffer has gaps (strides {view.strides}); make it contiguous first")
    data = ffi.from_buffer(view)
    alignment = alignment_of(view.itemsize, False) if view.format in tuple("bBhHiIlLqQnNfd") else 1
    return Place(int(ffi.cast("uintptr_t", data)), view.nbytes, True, view.readonly, data, alignment)


def _by_dlpack(array: Any) -> Optional[Place]:
    if not hasattr(array, "__dlpack__"):
        return None
    from ptxgraft import _dlpack

    return _dlpack.place_of(array)


def _by_cuda_core(array: Any) -> Optional[Place]:
    """A cuda.core.Buffer, which is bytes: its own words need no capsule, and say what is in both memories."""
    if not hasattr(array, "is_device_accessible") or not hasattr(array, "handle"):
        return None
    return Place(int(array.handle), int(array.size), not array.is_device_accessible, False, array)


_READERS = (_by_cuda, _by_numpy, _by_cuda_core, _by_dlpack, _by_buffer)
