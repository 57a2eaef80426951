"""Arrays as arguments: read and written by launches, and clear errors for what is no such array."""

import array
import copy
import ctypes
import pickle
import unittest

import numpy as np
import ptxgraft
from support import Case, emulator, kernel, skeleton


def aligned(count: int, offset: int, dtype=np.float32) -> np.ndarray:
    """An array that begins `offset` bytes behind a multiple of 64."""
    size = count * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    begin = -raw.ctypes.data % 64 + offset
    return raw[begin : begin + size].view(dtype)


class CudaArray:
    def __init__(self, address: int, count: int, **more):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3, **more}


class Launches(Case):
    def test_a_kernel_reads_and_writes_arrays_of_the_host(self):
        for offset in 0, 4, 8:
            x, y = aligned(100, offset), aligned(100, offset)
            x[:] = np.arange(100)
            kernel().launch(1, 128, x, y, 0.5, 100)
            np.testing.assert_array_equal(y, x * 0.5)
        self.assertFails("argument_invalid", "upload copies", emulator().borrow_buffer, x)

    def test_one_array_given_twice_has_one_address(self):
        x = aligned(4, 0)
        x[:] = 3
        kernel().launch(1, 4, x, x, 2.0, 4)
        np.testing.assert_array_equal(x, [6, 6, 6, 6])

    def test_arrays_that_overlap_do_so_on_the_device(self):
        """Whichever argument is first: an input's copy is not written over what the kernel wrote there."""
        copied = ptxgraft.Skeleton.from_cuda(
            'extern "C" __global__ void copy(float* to, const float* from)\n'
            "{ float x = from[threadIdx.x]; __syncthreads(); to[threadIdx.x] = x; }"
        ).graft({}, emulator())
        for to, source in (0, 4), (4, 0), (0, 8), (2, 2), (3, 2):
            x = np.arange(16, dtype=np.float32)
            expected = x.copy()
            expected[to : to + 8] = x[source : source + 8]
            copied.launch(1, 8, x[to : to + 8], x[source : source + 8])
            np.testing.assert_array_equal(x, expected)
        x = np.arange(16, dtype=np.float32)
        whole = x[:]
        whole.flags.writeable = False
        copied.launch(1, 8, x[:8], whole[8:])  # beside each other
        copied.launch(1, 4, x[4:8], whole[2:12])  # what is written may be written
        np.testing.assert_array_equal(x[:8], [8, 9, 10, 11, 10, 11, 12, 13])
        error = self.assertFails("memory_read_only", "argument 0", copied.launch, 1, 8, whole[2:10], x[6:16])
        self.assertEqual(error.index, 0)
        np.testing.assert_array_equal(x[:6], [8, 9, 10, 11, 10, 11])

    def test_shapes_are_numbers_of_any_kind_and_read_at_each_launch(self):
        x, y = aligned(64, 0), aligned(64, 0)
        x[:] = 1
        grid = [1, 1]
        kernel().launch(grid, 32, x, y, 1, 64)
        self.assertEqual(y.sum(), 32)
        grid[0] = 2
        kernel().launch(grid, np.int64(32), x, y, 1, 64)
        self.assertEqual(y.sum(), 64)
        kernel().launch(np.array([2, 1]), np.array([32]), x, y, 2, 64)
        self.assertEqual(y.sum(), 128)
        for wrong in 1.5, "1", None, (1, 1.5), -1, 1 << 32, (1, -1):
            self.assertFails("argument_invalid", "", kernel().launch, 1, wrong, x, y, 1, 64)
        kernel().launch(1, 32, x, y, 4, 64)
        self.assertFails("argument_invalid", "", kernel().launch, 2, -1, x, y, 8, 64)
        kernel().launch(1, 32, x, y, 8, 64)  # nothing is left of the launch that was not
        self.assertEqual(y.sum(), 32 * 8 + 32 * 2)

    def test_structs_and_dates(self):
        x = np.zeros(4, "M8[ns]")
        kernel().launch(1, 8, x.view("M8[us]"), aligned(8, 0), 1, 8)
        kernel().launch(1, 4, np.zeros(4, [("a", "<f4")]), np.zeros(1, [("a", "<f4", (2, 2))]), 1, 4)
        np.testing.assert_array_equal(emulator().upload(x).download(), x)

    def test_bounds_are_those_of_the_array(self):
        x, y = aligned(100, 0), aligned(50, 0)
        error = self.assertFails("address_out_of_bounds", "", kernel().launch, 1, 128, x, y, 1.0, 100)
        self.assertGreater(error.line, 0)
        self.assertIn(".entry apply", error.source)

    def test_buffers_of_python(self):
        x, y = array.array("f", [1, 2, 3, 4]), bytearray(16)
        kernel().launch(1, 4, x, y, 1.0, 4)
        self.assertEqual(np.frombuffer(y, np.float32).tolist(), [1, 2, 3, 4])

    def test_dlpack(self):
        class OnlyDlpack:
            def __init__(self, of):
                self.of = of
                self.__dlpack__, self.__dlpack_device__ = of.__dlpack__, of.__dlpack_device__

        x, y = OnlyDlpack(np.arange(4, dtype=np.float32)), OnlyDlpack(np.zeros(4, np.float32))
        kernel().launch(1, 4, x, y, 3.0, 4)
        np.testing.assert_array_equal(y.of, [0, 3, 6, 9])
        self.assertFails("argument_invalid", "gaps", emulator().upload, OnlyDlpack(np.zeros((4, 4), np.float32)[:, ::2]))

    def test_empty_arrays(self):
        kernel().launch(1, 4, np.empty(0, np.float32), np.empty((0, 3), np.float32), 1.0, 0)


class Wrong(Case):
    def launch(self, x, y, scale=1.0, count=4):
        kernel().launch(1, 4, x, y, scale, count)

    def setUp(self):
        self.x, self.y = aligned(4, 0), aligned(4, 0)

    def test_a_read_only_array_is_written_by_nobody(self):
        self.y.flags.writeable = False
        self.x[:] = 1
        error = self.assertFails("memory_read_only", "argument 1", self.launch, self.x, self.y)
        self.assertEqual(error.index, 1)
        self.launch(self.y, self.x)
        self.assertFails("argument_invalid", "read-only", emulator().allocate(16).read_into, self.y)

    def test_strides_shapes_and_types(self):
        wide = np.zeros((4, 4), np.float32)
        error = self.assertFails("argument_invalid", "make it contiguous", self.launch, self.x, wide[:, ::2])
        self.assertEqual(error.index, 1)
        self.assertFails("argument_invalid", "make it contiguous", self.launch, wide.T[:, :2], self.y)
        self.assertFails("argument_invalid", "byte order", self.launch, self.x.astype(">f4"), self.y)
        self.assertFails("argument_invalid", "Python objects", self.launch, np.array([None]), self.y)
        self.assertFails("argument_invalid", "is a .f32, no address", self.launch, self.x, self.y, self.x)
        self.assertFails("argument_invalid", "a list is no buffer", self.launch, [1, 2], self.y)
        self.assertFails("argument_invalid", "gaps", self.launch, memoryview(bytearray(16))[::2], self.y)

    def test_arrays_that_no_kernel_may_have(self):
        self.assertFails("argument_invalid", "Python objects", self.launch, self.x, np.zeros(4, [("a", "<i4"), ("b", [("c", "O")])]))
        self.assertFails("argument_invalid", "byte order", self.launch, self.x, np.zeros(4, [("a", ">f4")]))
        masked = np.ma.array(self.x, mask=[0, 1, 0, 0])
        self.assertFails("argument_invalid", "mask", self.launch, masked, self.y)
        self.launch(masked.filled(), np.ma.array(self.y))
        self.assertFails("argument_invalid", "make it contiguous", self.launch, self.x[::-1], self.y)
        self.assertFails("argument_invalid", "make it contiguous", self.launch, np.broadcast_to(np.float32(1), (4,)), self.y)
        self.assertFails("argument_invalid", "argument 2 is a complex", self.launch, self.x, self.y, 1j)
        self.assertFails("argument_invalid", "argument 2 is a ndarray", self.launch, self.x, self.y, np.array(1, np.float32))

    def test_numbers(self):
        self.assertFails("argument_invalid", "argument 3 is 1.5, and parameter apply_param_3 is a .u32", self.launch, self.x, self.y, 1, 1.5)
        self.assertFails("argument_invalid", "argument 3 is 4294967296", self.launch, self.x, self.y, 1, 1 << 32)
        self.assertFails("argument_size_wrong", "8 bytes", self.launch, self.x, self.y, np.float64(1))
        self.assertFails("argument_invalid", "uint32, and parameter apply_param_2 is a .f32", self.launch, self.x, self.y, np.uint32(1))
        self.assertFails("argument_count_wrong", "4 arguments (u64 apply_param_0", kernel().launch, 1, 4, self.x)
        self.launch(self.x, self.y, np.float32(1), -1)  # an `int` of CUDA is a .u32 of PTX
        self.launch(self.x, self.y, 1, True)
        self.assertFails("argument_invalid", "-3000000000", self.launch, self.x, self.y, 1, -3000000000)
        self.assertFails("argument_invalid", "more than three", kernel().launch, (1, 1, 1, 1), 4, self.x, self.y, 1, 4)

    def test_a_launch_goes_on_after_an_error(self):
        self.assertFails("argument_invalid", "", self.launch, self.x, self.y, "one")
        self.x[:] = 1
        self.launch(self.x, self.y, 5)
        self.assertEqual(self.y[3], 5)

    def test_dead_objects(self):
        buffer = emulator().upload(self.x)
        buffer.close()
        buffer.close()
        error = self.assertFails("argument_invalid", "closed", self.launch, self.x, buffer)
        self.assertEqual(error.index, 1)
        self.assertFails("argument_invalid", "closed", lambda: buffer.address)
        self.assertFails("argument_invalid", "the buffer is closed", buffer.read)
        made, stream = skeleton().graft({}, emulator()), emulator().create_stream()
        stream.close()
        self.assertFails("argument_invalid", "the stream is closed", kernel().launch, 1, 4, self.x, self.y, 1.0, 4, stream=stream)
        self.assertFails("argument_invalid", "the stream is closed", emulator().create_event().record, stream)
        made.close()
        self.assertTrue(made.is_closed)
        self.assertEqual(repr(made), "<ptxgraft.Kernel closed>")
        for use in (lambda: made.launch(1, 4, self.x, self.y, 1.0, 4)), (lambda: made.parameters), (lambda: made.entry), (lambda: made.ptx):
            self.assertFails("argument_invalid", "the kernel is closed", use)
        device = ptxgraft.Device("emulator")
        left, memory = skeleton().graft({"activation": "value scale mul.f32 -> value"}, device), device.upload(self.x)
        device.close()
        left.launch(1, 4, memory, memory, 2.0, 4)  # a kernel and a buffer keep what they need of it
        self.assertFails("argument_invalid", "the device is closed", device.allocate, 4)
        self.assertFails("argument_invalid", "the device is closed", lambda: device.name)
        self.assertFails("argument_invalid", "the device is closed", left.launch, 1, 4, self.x, self.y, 2.0, 4)
        cache = ptxgraft.Cache()
        cache.close()
        self.assertFails("argument_invalid", "closed", ptxgraft.Skeleton.from_cuda, "", cache=cache)

    def test_other_devices(self):
        other = ptxgraft.Device("emulator").upload(self.x)
        self.assertFails("device_differs", "argument 0", self.launch, other, self.y)
        self.assertFails("argument_invalid", "in a GPU's memory", self.launch, CudaArray(0x1000, 4), self.y)
        self.assertFails("argument_invalid", "in a GPU's memory", emulator().upload, CudaArray(0x1000, 4))


class Copies(Case):
    def test_upload_and_download_keep_type_and_shape(self):
        for dtype in np.float16, np.int64, np.complex64:
            data = np.arange(6).reshape(2, 3).astype(dtype)
            buffer = emulator().upload(data)
            self.assertEqual(buffer.download().dtype, dtype)
            np.testing.assert_array_equal(buffer.download(), data)
        self.assertEqual(emulator().upload(data).download(np.uint8).shape, (48,))
        self.assertFails("argument_invalid", "no whole number", emulator().allocate(3).download, np.float32)

    def test_parts(self):
        buffer = emulator().upload(b"0123456789")
        buffer.write(b"ab", 4)
        self.assertEqual(buffer.read(4, 2), b"23ab")
        self.assertFails("buffer_exceeded", "", buffer.write, b"ab", 9)
        self.assertFails("buffer_exceeded", "", buffer.read, 11)
        self.assertFails("buffer_exceeded", "", buffer.read, None, 11)
        self.assertFails("argument_invalid", "-1 bytes", buffer.read, -1)
        self.assertEqual((buffer.read(0), buffer.read(0, 10)), (b"", b""))
        self.assertFails("argument_invalid", "no whole number", buffer.download, "V0")

    def test_objects_are_of_their_process(self):
        for made in emulator(), kernel(), skeleton(), emulator().allocate(4):
            for take in pickle.dumps, copy.copy, copy.deepcopy:
                with self.assertRaisesRegex(TypeError, "neither pickled nor copied"):
                    take(made)

    def test_the_emulators_memory_is_no_gpus(self):
        self.assertFalse(hasattr(emulator().allocate(4), "__cuda_array_interface__"))

    def test_structs_and_tensor_maps_are_passed_by_value(self):
        made = ptxgraft.Skeleton.from_cuda(
            'struct Pair { float a; int b; };\nextern "C" __global__ void f(Pair p, float* out) { *out = p.a + p.b; }'
        ).graft({}, emulator())

        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_int)]

        out = aligned(1, 0)
        made.launch(1, 1, bytes(Pair(0.5, 2)), out)
        self.assertEqual(out[0], 2.5)
        self.assertFails("argument_size_wrong", "8", made.launch, 1, 1, b"1234", out)


if __name__ == "__main__":
    unittest.main()
