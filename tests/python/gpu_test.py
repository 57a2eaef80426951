"""Arrays and streams of a GPU, over a driver of host memory: fake objects of PyTorch's and CuPy's kind, in place.

Usage: gpu_test.py LIBFAKE_CUDA. Runs itself in a process whose loader finds that driver.
"""

import os
import subprocess
import sys
import tempfile

if len(sys.argv) == 2:
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(sys.argv[1]), os.path.join(folder, "libcuda.so.1"))
        environment = {**os.environ, "LD_LIBRARY_PATH": folder}
        sys.exit(subprocess.run([sys.executable, __file__], env=environment).returncode)

import unittest

import numpy as np
import ptxgraft
from ptxgraft._kernel import _Lent
from support import Case

FILL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry touch(.param .u64 a, .param .u32 n, .param .b8 s[12]) { ret; }
"""


class CudaArray:
    """As CuPy, Numba and PyTorch have it."""

    def __init__(self, address, count, strides=None):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3, "strides": strides}


class Stream:
    """As cuda.core has it."""

    def __init__(self, number):
        self.number = number

    def __cuda_stream__(self):
        return 0, self.number


class Gpu(Case):
    @classmethod
    def setUpClass(cls):
        cls.device = ptxgraft.Device("cuda")
        cls.kernel = ptxgraft.Skeleton.from_ptx(FILL).graft({}, cls.device)

    def test_graphs_and_occupancy(self):
        memory = self.device.upload(np.zeros(4, np.float32))
        graph = ptxgraft.Graph(self.device)
        self.assertEqual(graph.add(self.kernel, 1, 1, CudaArray(memory.address, 4), 16, bytes(12)), 0)
        graph.launch(self.device.create_stream())
        graph.change(0, self.kernel, 2, 32, memory, 16, bytes(12))
        graph.launch()
        self.device.synchronize()
        self.assertFails("argument_invalid", "in the host's memory", graph.add, self.kernel, 1, 1, np.zeros(4), 1, bytes(12))
        self.assertGreater(self.kernel.occupancy(32), 0)

    def test_process_memory_is_no_gpus(self):
        gpu = ptxgraft.Device("cuda", process_memory=True)
        self.assertFalse(gpu.process_memory)
        self.assertFails("argument_invalid", "in the host's memory", gpu.borrow_buffer, np.zeros(4))

    def test_an_array_of_the_gpu_is_taken_in_place(self):
        memory = self.device.upload(np.zeros(4, np.float32))
        array = CudaArray(memory.address, 4)
        self.kernel.launch(1, 1, array, 16, bytes([7] * 12))
        self.assertEqual(_Lent(self.kernel)._address(array, 0), memory.address)  # what the kernel got
        borrowed = self.device.borrow_buffer(array)
        self.assertEqual((borrowed.address, borrowed.size), (memory.address, 16))
        borrowed.close()
        self.assertEqual(memory.read(), bytes(16))  # it was not freed

    def test_buffers_are_arrays_of_others(self):
        memory = self.device.upload(np.zeros((2, 2), np.float32))
        interface = memory.__cuda_array_interface__
        self.assertEqual((interface["shape"], interface["typestr"], interface["data"]), ((2, 2), "<f4", (memory.address, False)))
        self.assertEqual(self.device.borrow_buffer(memory).address, memory.address)

    def test_a_launch_goes_to_the_callers_stream(self):
        memory = self.device.allocate(4)
        made = self.device.create_stream()
        self.kernel.launch(1, 1, memory, 4, bytes([1] * 12), stream=made)
        self.kernel.launch(1, 1, memory, 4, bytes([2] * 12), stream=0)
        self.kernel.launch(1, 1, memory, 4, bytes([3] * 12), stream=Stream(0))
        self.assertRaises(ptxgraft.Error, self.kernel.launch, 1, 1, memory, 4, bytes(12), stream=Stream(12345))
        self.assertFails("argument_invalid", "is no stream", self.kernel.launch, 1, 1, memory, 4, bytes(12), stream="main")

    def test_wrong_arrays(self):
        self.assertFails("argument_invalid", "host's memory", self.kernel.launch, 1, 1, np.zeros(4), 32, bytes(12))
        self.assertFails("argument_invalid", "make it contiguous", self.kernel.launch, 1, 1, CudaArray(64, 4, (8,)), 16, bytes(12))

    def test_properties(self):
        self.assertFalse(self.device.is_emulator)
        self.assertGreaterEqual(ptxgraft.Device.cuda_count(), 1)


if __name__ == "__main__":
    unittest.main()
