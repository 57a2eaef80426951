"""DLPack: the memory of an array that speaks it (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxgraft._arrays import Place, _size, alignment_of
from ptxgraft._library import invalid

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
COMPLEX = 5


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def place_of(array: Any) -> Place:
    """The capsule is not consumed: it keeps the memory until it goes, and then gives it back itself."""
    try:
        device, _ = array.__dlpack_device__()
        capsule = array.__dlpack__(stream=-1) if device in (CUDA, CUDA_MANAGED) else array.__dlpack__()
    except Exception as error:  # arrays that require a gradient, are read-only, or lie on a device that DLPack lacks
        raise invalid(f"DLPack: {error}") from None
    tensor = DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
    if tensor.device_type not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise invalid(f"the array is on a device of DLPack's type {tensor.device_type}, neither the host nor a GPU of CUDA")
    bits = tensor.bits * tensor.lanes
    if bits % 8:
        raise invalid(f"the array's elements have {bits} bits")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * (bits // 8) for i in range(tensor.ndim)) if tensor.strides else None
    size = _size(shape, strides, bits // 8)
    alignment = alignment_of(tensor.bits // 8, tensor.code == COMPLEX) if tensor.bits >= 8 else 1
    return Place((tensor.data or 0) + tensor.byte_offset, size, tensor.device_type in (CPU, CUDA_HOST), False, capsule, alignment)
