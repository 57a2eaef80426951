"""Tensor maps: what `cp.async.bulk.tensor` loads through them, beside NumPy; and what no tensor map is made of."""

import unittest

import numpy as np
import ptxgraft
from ptxgraft.tensor import Im2col, TensorMap
from support import Case

# Loads once through the map, as `copy` says, and writes what has arrived to `out`.
LOAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry load(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 size,
                     .param .s32 c, .param .s32 w, .param .s32 h, .param .s32 n)
{{
    .shared .align 128 .b8 tile[16384];
    .shared .align 8 .b64 bar;
    .reg .b64 %rd<8>;
    .reg .b32 %r<8>;
    .reg .b16 %h<4>;
    .reg .b8 %b;
    .reg .pred %p<3>;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [out];
    cvta.to.global.u64 %rd3, %rd3;
    ld.param.u32 %r1, [size];
    ld.param.s32 %r2, [c];
    ld.param.s32 %r3, [w];
    ld.param.s32 %r4, [h];
    ld.param.s32 %r5, [n];
    mov.b16 %h1, {right};
    mov.b16 %h2, {down};
    mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r1;
    cp.async.bulk.tensor.{copy}, [bar]{offsets};
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra wait;
    mov.b64 %rd4, tile;
    mov.b32 %r6, 0;
next:
    ld.shared.b8 %b, [%rd4];
    st.global.b8 [%rd3], %b;
    add.u64 %rd4, %rd4, 1;
    add.u64 %rd3, %rd3, 1;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, %r1;
    @%p2 bra next;
    ret;
}}
"""
BOX = "4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {%r2, %r3, %r4, %r5}]"
COLUMN = BOX.replace(".tile.", ".im2col.")
C, W, H, N = 16, 6, 5, 3  # innermost first
SHAPE = {"dims": [C, W, H, N], "strides": [4 * C, 4 * C * W, 4 * C * W * H]}
PADDED = Im2col([-1, -1], [-1, -1], channels_per_pixel=8, pixels_per_column=40)  # of a filter of 3 x 3


def hopper() -> ptxgraft.Device:
    return ptxgraft.Device("emulator:sm_90")


class Loads(Case):
    def setUp(self):
        self.device = hopper()
        self.images = np.arange(N * H * W * C, dtype=np.float32).reshape(N, H, W, C) + 1
        self.buffer = self.device.upload(self.images)

    def load(self, tensor_map, copy, count, at, offsets=(0, 0)):
        words = ", {%h1, %h2}" if copy == COLUMN else ""
        ptx = LOAD.format(copy=copy, right=offsets[0], down=offsets[1], offsets=words)
        out = np.zeros(count, np.float32)
        ptxgraft.Skeleton.from_ptx(ptx).graft({}, self.device).launch(1, 1, tensor_map, out, out.nbytes, *at)
        return out

    def test_boxes(self):
        boxes = TensorMap(self.buffer, "f32", box=[8, 4, 2, 1], **SHAPE)
        inside = self.load(boxes, BOX, 64, (8, 1, 3, 2))
        np.testing.assert_array_equal(inside.reshape(2, 4, 8), self.images[2, 3:5, 1:5, 8:])
        beyond = self.load(boxes, BOX, 64, (0, 4, -1, 0)).reshape(2, 4, 8)
        np.testing.assert_array_equal(beyond[1, :2], self.images[0, 0, 4:6, :8])
        self.assertEqual(np.count_nonzero(beyond), 16)

    def test_columns_are_those_of_a_convolution(self):
        """For each offset of the filter, the pixels under it as the filter goes over all images: beyond their edges there are zeros."""
        columns = TensorMap(self.buffer, "f32", im2col=PADDED, **SHAPE)
        padded = np.pad(self.images, ((0, 0), (1, 1), (1, 1), (0, 0)))
        for right in range(3):
            for down in range(3):
                under = padded[:, down : down + H, right : right + W, 8:].reshape(-1, 8)  # a row for each place of the filter
                for first in 0, 7, W * H - 5:  # the last goes from one image to the next
                    n, y, x = np.unravel_index(first, (N, H, W))
                    loaded = self.load(columns, COLUMN, 40 * 8, (8, int(x) - 1, int(y) - 1, int(n)), (right, down))
                    np.testing.assert_array_equal(loaded.reshape(40, 8), under[first : first + 40], f"{right} {down} {first}")

    def test_columns_of_every_other_pixel(self):
        columns = TensorMap(self.buffer, "f32", im2col=Im2col([0, 0], [0, 0], 16, 6), element_strides=[1, 2, 1, 1], **SHAPE)
        loaded = self.load(columns, COLUMN, 6 * C, (0, 0, 0, 0))
        np.testing.assert_array_equal(loaded.reshape(6, C), self.images[0, :2, ::2].reshape(6, C))

    def test_what_is_beyond_is_nan(self):
        columns = TensorMap(self.buffer, "f32", im2col=PADDED, fill="nan", **SHAPE)
        loaded = self.load(columns, COLUMN, 40 * 8, (0, -1, -1, 0)).reshape(40, 8)
        self.assertTrue(np.isnan(loaded[: W + 1]).all())  # the row above, and the left edge
        np.testing.assert_array_equal(loaded[W + 1 : 2 * W], self.images[0, 0, : W - 1, :8])

    def test_a_mode_is_for_its_copies(self):
        boxes = TensorMap(self.buffer, "f32", box=[8, 4, 2, 1], **SHAPE)
        columns = TensorMap(self.buffer, "f32", im2col=PADDED, **SHAPE)
        self.assertFails("tensor_copy_invalid", "is of the im2col mode", self.load, columns, BOX, 64, (0, 0, 0, 0))
        self.assertFails("tensor_copy_invalid", "the tensor map is", self.load, boxes, COLUMN, 64, (0, 0, 0, 0))


class Wrong(Case):
    def make(self, contains, code="tensor_map_invalid", device="emulator:sm_90", **changed):
        buffer = ptxgraft.Device(device).allocate(4 * C * W * H * N)
        options = {"type": "f32", **SHAPE, "im2col": PADDED, **changed}
        return self.assertFails(code, contains, TensorMap, buffer, **options)

    def test_corners(self):
        for lower, upper, message in (
            ([-129, 0], [0, 0], "lower_corner[0] is -129; it is -128 to 127"),
            ([0, 0], [0, 128], "upper_corner[1] is 128; it is -128 to 127"),
            ([0, 40000], [0, 0], "lower_corner[1] is 40000"),
            ([0, 3], [0, -3], "the corners leave nothing of dims[2] = 5"),
        ):
            self.make(message, im2col=Im2col(lower, upper, 8, 40))
        for lower, upper, field in ([0], [0, 0], "lower_corner"), ([0, 0], [0, 0, 0], "upper_corner"):
            self.make(f"{field} has {len(lower if field[0] == 'l' else upper)} numbers", "argument_invalid", im2col=Im2col(lower, upper, 8, 40))
        volume = {"dims": [C, W, H, N, 2], "strides": [64, 384, 1920, 5760]}
        self.make("lower_corner[2] is -17; it is -16 to 15", im2col=Im2col([0, 0, -17], [0, 0, 0], 8, 40), **volume)

    def test_pixels(self):
        self.make("channels_per_pixel is 0; it is 1 to 256", im2col=PADDED._replace(channels_per_pixel=0))
        self.make("channels_per_pixel is 257; it is 1 to 256", im2col=PADDED._replace(channels_per_pixel=257))
        self.make("pixels_per_column is 1025; it is 1 to 1024", im2col=PADDED._replace(pixels_per_column=1025))
        self.make("pixels_per_column is 0; it is 1 to 1024", im2col=PADDED._replace(pixels_per_column=0))
        self.make("channels_per_pixel is 3 elements of f32, 12 bytes", im2col=PADDED._replace(channels_per_pixel=3))
        self.make("channels_per_pixel is 16 elements of f32, 64 bytes; with the swizzle 32B", im2col=PADDED._replace(channels_per_pixel=16), swizzle="32B")

    def test_shapes(self):
        self.make("2 dimensions, with im2col 3 to 5", "argument_invalid", dims=[16, 6], strides=[64])
        self.make("strides[1] is 388 bytes; it is a multiple of 16", strides=[64, 388, 1920])
        self.make("strides has 2 numbers", "argument_invalid", strides=[64, 384])
        self.make("box or im2col, not both", "argument_invalid", box=[8, 1, 1, 1])
        self.make("box or im2col", "argument_invalid", im2col=None)
        self.make("need sm_90", device="emulator:sm_80")

    def test_numbers_that_are_none(self):
        for changed in {"dims": [-1, 1, 1, 1]}, {"dims": [1.5, 1, 1, 1]}, {"im2col": Im2col([0, 1 << 31], [0, 0], 8, 4)}, {"offset": -1}:
            buffer = hopper().allocate(64)
            with self.assertRaises((TypeError, OverflowError)):
                TensorMap(buffer, "f32", **{**SHAPE, "im2col": PADDED, **changed})
        self.make("there is no tensor 'f99'", "argument_invalid", type="f99")
        buffer.close()
        self.assertFails("argument_invalid", "the buffer is closed", TensorMap, buffer, "f32", dims=[16], box=[16])


if __name__ == "__main__":
    unittest.main()
