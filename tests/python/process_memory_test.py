"""Device("emulator", process_memory=True): kernels work on arrays of the host where they lie."""

import ctypes
import gc
import threading
import time
import unittest
import weakref

import numpy as np
import ptxgraft
from support import Case, emulator, skeleton
from threads_test import in_threads

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
WHERE = (
    HEAD
    + """.visible .entry where(.param .u64 x, .param .u64 out)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    st.global.u64 [%rd2], %rd1;
    ret;
}
"""
)
# Waits until somebody else changes the first word of x, and says in y[1] that it is there.
WAIT = (
    HEAD
    + """.visible .entry wait(.param .u64 x, .param .u64 y)
{
    .reg .pred %p1;
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, 1;
    st.volatile.global.u32 [%rd2+4], %r2;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra again;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""
)
POINTERS = """struct Pair { const float* x; float* y; };
extern "C" __global__ void f(Pair pair) { pair.y[threadIdx.x] = 2 * pair.x[threadIdx.x]; }"""

device = ptxgraft.Device("emulator", process_memory=True)
kernel = skeleton().graft({"activation": "value scale mul.f32 -> value"}, device)
where = ptxgraft.Skeleton.from_ptx(WHERE).graft({}, device)
wait = ptxgraft.Skeleton.from_ptx(WAIT).graft({}, device)


def floats(count: int = 8) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


def misaligned(dtype: str) -> np.ndarray:
    raw = np.zeros(64, np.uint8)
    begin = -raw.ctypes.data % 16 + 1
    return raw[begin : begin + 32].view(dtype)


def address_of(array) -> int:
    """Where a kernel finds it."""
    out = np.zeros(1, np.uint64)
    where.launch(1, 1, array, out)
    return int(out[0])


class Waiting:
    """A launch of `wait` on another thread, which runs until the word of x is not 0."""

    def __init__(self, given: list, y: np.ndarray):
        """The launch takes x out of `given`, and is the only one that has it then."""
        self.failed = []
        self.thread = threading.Thread(target=self.run, args=(given, y))
        self.thread.start()
        end = time.monotonic() + 60
        while y[1] == 0 and time.monotonic() < end:
            time.sleep(0.001)
        assert y[1] == 1, self.failed

    def run(self, given, y):
        try:
            wait.launch(1, 1, given.pop(), y, time_limit_ms=60000)
        except ptxgraft.Error as error:
            self.failed.append(error)

    def join(self):
        self.thread.join()
        assert not self.failed, self.failed


class InPlace(Case):
    def test_a_kernel_reads_and_writes_where_the_arrays_lie(self):
        x, y = floats(100), np.zeros(100, np.float32)
        kernel.launch(1, 128, x, y, 0.5, 100)
        np.testing.assert_array_equal(y, x * 0.5)
        self.assertEqual(address_of(x), x.ctypes.data)
        self.assertEqual(address_of(x[3:]), x.ctypes.data + 12)
        self.assertNotEqual(int(x.ctypes.data), emulator().upload(x).address)

    def test_a_running_kernel_sees_what_another_view_is_changed_to(self):
        x, y = np.zeros(4, np.uint32), np.zeros(2, np.uint32)
        running = Waiting([x], y)
        self.assertEqual(y[0], 0)
        x[:2][0] = 5
        running.join()
        self.assertEqual(y[0], 5)

    def test_without_it_a_kernel_sees_what_the_array_was(self):
        copied = ptxgraft.Skeleton.from_ptx(WAIT).graft({}, emulator())
        x, y = np.zeros(4, np.uint32), np.zeros(2, np.uint32)
        changes = threading.Timer(0.3, lambda: x.fill(5))
        changes.start()
        self.assertFails("time_limit_spent", "", copied.launch, 1, 1, x, y, time_limit_ms=1000)
        changes.join()
        self.assertEqual(y[1], 0)

    def test_a_launch_on_large_arrays_takes_no_time_for_them(self):
        x, y = np.ones(1 << 25, np.float32), np.zeros(1 << 25, np.float32)

        def seconds(made):
            made.launch(1, 1, x[:1], y[:1], 2.0, 1)
            begin = time.perf_counter()
            made.launch(1, 1, x, y, 2.0, 1)
            return time.perf_counter() - begin

        copied = skeleton().graft({"activation": "value scale mul.f32 -> value"}, emulator())
        in_place = min(seconds(kernel) for _ in range(3))
        self.assertLess(in_place * 5, seconds(copied))
        self.assertEqual(y[0], 2)

    def test_views_of_one_array_overlap_as_they_lie(self):
        x = floats(8)
        kernel.launch(1, 4, x[:4], x[4:], 10.0, 4)
        np.testing.assert_array_equal(x, [0, 1, 2, 3, 0, 10, 20, 30])
        kernel.launch(1, 8, x, x, 2.0, 8)
        np.testing.assert_array_equal(x, [0, 2, 4, 6, 0, 20, 40, 60])

    def test_dlpack_buffers_of_python_and_empty_arrays(self):
        class OnlyDlpack:
            def __init__(self, of):
                self.of = of
                self.__dlpack__, self.__dlpack_device__ = of.__dlpack__, of.__dlpack_device__

        x, y = OnlyDlpack(floats()), bytearray(32)
        kernel.launch(1, 8, x, y, 3.0, 8)
        np.testing.assert_array_equal(np.frombuffer(y, np.float32), x.of * 3)
        self.assertEqual(address_of(x), x.of.ctypes.data)
        kernel.launch(1, 4, np.empty(0, np.float32), np.empty((0, 3), np.float32), 1.0, 0)

    def test_addresses_are_numbers_and_lie_within_structs(self):
        x, y = floats(), np.zeros(8, np.float32)
        kernel.launch(1, 8, x.ctypes.data, y.ctypes.data, 2.0, 8)
        np.testing.assert_array_equal(y, x * 2)
        made = ptxgraft.Skeleton.from_cuda(POINTERS).graft({}, device)

        class Pair(ctypes.Structure):
            _fields_ = [("x", ctypes.c_void_p), ("y", ctypes.c_void_p)]

        y.fill(0)
        made.launch(1, 8, bytes(Pair(x.ctypes.data, y.ctypes.data)))
        np.testing.assert_array_equal(y, x * 2)

    def test_many_threads_launch_on_arrays_of_their_own(self):
        def work(number):
            for i in range(20):
                x, y = np.full(8, i, np.float32), np.empty(8, np.float32)
                kernel.launch(1, 8, x, y, float(number), 8)
                np.testing.assert_array_equal(y, np.float32(i) * number)

        in_threads(8, work)


class Lifetime(Case):
    def test_an_array_lives_as_long_as_the_launch(self):
        x, y = np.zeros(1 << 20, np.uint32), np.zeros(2, np.uint32)
        address, alive = x.ctypes.data, weakref.ref(x)
        given = [x]
        del x
        running = Waiting(given, y)
        gc.collect()
        self.assertIsNotNone(alive())
        ctypes.c_uint32.from_address(address).value = 3
        running.join()
        self.assertEqual(y[0], 3)
        gc.collect()
        self.assertIsNone(alive(), "and no longer")

    def test_what_could_move_does_not_while_a_launch_runs(self):
        data, y = bytearray(16), np.zeros(2, np.uint32)
        running = Waiting([data], y)
        with self.assertRaises(BufferError):
            data.extend(bytes(1 << 20))
        data[0] = 1
        running.join()
        data.extend(bytes(1 << 20))

    def test_a_borrowed_buffer_keeps_its_array(self):
        x = floats()
        alive, buffer = weakref.ref(x), device.borrow_buffer(x)
        del x
        gc.collect()
        self.assertIsNotNone(alive())
        np.testing.assert_array_equal(buffer.download(), floats())
        buffer.close()
        gc.collect()
        self.assertIsNone(alive())


class Wrong(Case):
    def launch(self, x, y):
        kernel.launch(1, 4, x, y, 1.0, 4)

    def test_arrays_that_no_kernel_reads_in_place(self):
        x, wide = floats(4), np.zeros((4, 4), np.float32)
        error = self.assertFails("argument_invalid", "make it contiguous", self.launch, x, wide[:, ::2])
        self.assertEqual(error.index, 1)
        error = self.assertFails("argument_invalid", "no multiple of its elements' 4 bytes", self.launch, x, misaligned("f4"))
        self.assertEqual(error.index, 1)
        self.assertFails("argument_invalid", "elements' 8 bytes", self.launch, misaligned("c16"), x)
        self.assertFails("argument_invalid", "elements' 4 bytes", device.borrow_buffer, misaligned("f4"))
        self.assertFails("argument_invalid", "byte order", self.launch, x.astype(">f4"), x)
        self.launch(x, np.require(misaligned("f4"), requirements="AC"))
        self.assertEqual(address_of(misaligned("u1")) % 16, 1)

    def test_a_read_only_array_is_copied_and_written_by_nobody(self):
        x, y = floats(4), np.zeros(4, np.float32)
        view = x[:]
        view.flags.writeable = False
        self.launch(view, y)
        np.testing.assert_array_equal(y, x)
        self.assertNotEqual(address_of(view), x.ctypes.data)
        error = self.assertFails("memory_read_only", "argument 1", kernel.launch, 1, 4, y, view, 2.0, 4)
        self.assertEqual(error.index, 1)
        np.testing.assert_array_equal(x, floats(4))
        self.assertFails("argument_invalid", "read-only", device.borrow_buffer, view)
        kernel.launch(1, 4, view, x, 2.0, 4)  # x changes, and its read-only view with it
        np.testing.assert_array_equal(x, floats(4) * 2)

    def test_what_is_not_mapped_is_an_error_with_a_line(self):
        error = self.assertFails("address_out_of_bounds", "", kernel.launch, 1, 4, 0x1000, floats(4), 1.0, 4)
        self.assertGreater(error.line, 0)
        self.assertIn(".entry apply", error.source)

    def test_races_are_found_as_ever(self):
        made = ptxgraft.Skeleton.from_cuda('extern "C" __global__ void f(int* x) { x[0] = threadIdx.x; __syncwarp(); x[1] = x[0]; }').graft(
            {}, device
        )
        self.assertFails("data_race", "", made.launch, 1, 64, np.zeros(2, np.int32))

    def test_it_is_asked_for_and_of_an_emulator(self):
        self.assertTrue(device.process_memory)
        self.assertFalse(emulator().process_memory)
        self.assertFails("argument_invalid", "upload copies", emulator().borrow_buffer, floats())
        self.assertFails("device_differs", "argument 0", self.launch, emulator().upload(floats(4)), floats(4))


class Buffers(Case):
    def test_buffers_are_as_on_any_device_and_at_addresses_of_the_host(self):
        x = device.upload(floats(8).reshape(2, 4))
        y = device.allocate(32)
        kernel.launch(1, 8, x, y, 2.0, 8)
        np.testing.assert_array_equal(y.download(np.float32), floats(8) * 2)
        self.assertEqual(x.download().shape, (2, 4))
        self.assertEqual(list((ctypes.c_float * 8).from_address(y.address)), list(floats(8) * 2))
        y.write(b"ptxgraft", 8)
        self.assertEqual(y.read(4, 12), b"raft")
        self.assertFails("buffer_exceeded", "", y.write, b"ab", 31)
        self.assertEqual(address_of(y), y.address)

    def test_a_borrowed_array_is_its_buffers_memory(self):
        x, y = floats(8).reshape(2, 4), np.zeros(8, np.float32)
        lent, out = device.borrow_buffer(x), device.borrow_buffer(y)
        self.assertEqual(lent.address, x.ctypes.data)
        x[1, 3] = 50
        kernel.launch(1, 8, lent, out, 2.0, 8)
        np.testing.assert_array_equal(y, x.ravel() * 2)
        self.assertEqual(lent.download().shape, (2, 4))
        lent.write(x.ravel()[1:].copy())
        lent.write(y[:7], 4)
        lent.write(x.ravel()[:7], 4)  # over itself
        np.testing.assert_array_equal(x.ravel(), [1, 1, 0, 2, 4, 6, 8, 10])
        out.fill(0)
        self.assertFalse(y.any())
        out.close()
        y[0] = 1


if __name__ == "__main__":
    unittest.main()
