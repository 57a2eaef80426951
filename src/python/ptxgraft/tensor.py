"""Tensor maps, which kernels take by value for `cp.async.bulk.tensor`; and the bounds of tensor-core sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from ptxgraft._device import Buffer
from ptxgraft._library import Options, check, enum_value, ffi, invalid, lib


class Im2col(NamedTuple):
    """What a copy takes of a tensor of 3 to 5 dimensions C, W, H, D, N (PTX ISA 5.5.4): `channels_per_pixel` elements of each of
    `pixels_per_column` pixels, which are counted within a bounding box, row after row and image after image. `lower_corner` leads from
    the first pixel of W, H and D to the box's first, `upper_corner` from the last pixel to the box's last."""

    lower_corner: Sequence[int]
    upper_corner: Sequence[int]
    channels_per_pixel: int  #: 1 to 256
    pixels_per_column: int  #: 1 to 1024


def _set_list(options: Options, field: str, c_type: str, values: Sequence[int], rank: int, count: int) -> None:
    if len(values) != count:
        raise invalid(f"{field} has {len(values)} numbers, and a tensor of {rank} dimensions {count}")
    setattr(options.struct, field, options.keep(ffi.new(c_type, list(values))))


class TensorMap:
    """A tensor in a buffer and what is copied of it: boxes, or with `im2col` columns of pixels. Lists begin with the innermost
    dimension; `strides` are in bytes, from the second dimension on. It keeps the buffer.

    >>> import ptxgraft
    >>> buffer = ptxgraft.Device("emulator").allocate(64 * 64 * 4)
    >>> len(bytes(ptxgraft.tensor.TensorMap(buffer, "f32", dims=[64, 64], strides=[256], box=[16, 16])))
    128
    >>> corners = ptxgraft.tensor.Im2col([-1, -1], [-1, -1], channels_per_pixel=16, pixels_per_column=64)  # 3 x 3, padded by 1
    >>> images = ptxgraft.tensor.TensorMap(buffer, "f32", dims=[16, 8, 8, 4], strides=[64, 512, 4096], im2col=corners)
    """

    __slots__ = ("_bytes", "_buffer")

    def __init__(
        self,
        buffer: Buffer,
        type: str,
        *,
        dims: Sequence[int],
        strides: Sequence[int] = (),
        box: Optional[Sequence[int]] = None,
        im2col: Optional[Im2col] = None,
        element_strides: Optional[Sequence[int]] = None,
        offset: int = 0,
        interleave: str = "none",
        swizzle: str = "none",
        l2_promotion: str = "none",
        fill: str = "zero",
    ):
        options = Options("tensor_map_options")
        struct, rank = options.struct, len(dims)
        struct.offset, struct.rank, struct.type = offset, rank, enum_value("TENSOR", type)
        if (box is None) == (im2col is None):
            raise invalid("a tensor map has box or im2col" + (", not both" if box is not None else ""))
        for field, c_type, values, count in (
            ("dims", "uint64_t[]", dims, rank),
            ("strides", "uint64_t[]", strides, rank - 1),
            ("box", "uint32_t[]", box, rank),
            ("element_strides", "uint32_t[]", element_strides, rank),
        ):
            if values is not None:
                _set_list(options, field, c_type, values, rank, count)
        if im2col is not None:
            if not 3 <= rank <= 5:
                raise invalid(f"a tensor has {rank} dimensions, with im2col 3 to 5")
            _set_list(options, "lower_corner", "int32_t[]", im2col.lower_corner, rank, rank - 2)
            _set_list(options, "upper_corner", "int32_t[]", im2col.upper_corner, rank, rank - 2)
            struct.channels_per_pixel, struct.pixels_per_column = im2col.channels_per_pixel, im2col.pixels_per_column
        struct.interleave, struct.swizzle = enum_value("INTERLEAVE", interleave), enum_value("SWIZZLE", swizzle)
        struct.l2_promotion, struct.fill = enum_value("L2_PROMOTION", l2_promotion), enum_value("FILL", fill)
        encoded: Any = ffi.new("ptxgraft_tensor_map*")
        check(lib.ptxgraft_tensor_map_encode(encoded, buffer._handle, struct))
        self._bytes, self._buffer = bytes(ffi.buffer(encoded)), buffer

    def __bytes__(self) -> bytes:
        return self._bytes

    __ptxgraft_value__ = __bytes__


def sum_bounds(
    exact: float, magnitudes: float, products: int, *, type: str = "f16", accumulator: str = "f32"
) -> tuple[float, float]:
    """Between which values an element of A * B + C lies, in whatever order and precision the hardware adds: `exact` is the element
    and `magnitudes` the sum of the absolute values of its products, both computed in double.

    >>> import ptxgraft
    >>> low, high = ptxgraft.tensor.sum_bounds(1.0, 4.0, 16)
    >>> low < 1.0 < high
    True
    """
    options = Options("sum_options")
    struct = options.struct
    struct.exact, struct.magnitudes, struct.products = exact, magnitudes, products
    struct.type, struct.accumulator = enum_value("PRODUCT", type), enum_value("ACCUMULATOR", accumulator)
    lowest, highest = ffi.new("double*"), ffi.new("double*")
    check(lib.ptxgraft_sum_get_bounds(lowest, highest, struct))
    return lowest[0], highest[0]
