"""Arrays and streams of a GPU, over a driver of host memory: fake objects of PyTorch's and CuPy's kind, in place.

Usage: gpu_test.py LIBFAKE_CUDA. Runs itself in a process whose loader finds that driver.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import types

if len(sys.argv) == 2:
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(sys.argv[1]), os.path.join(folder, "libcuda.so.1"))
        environment = {**os.environ, "LD_LIBRARY_PATH": folder}
        sys.exit(subprocess.run([sys.executable, __file__], env=environment).returncode)

import unittest
from unittest import mock

import cffi
import numpy as np
import ptxgraft
from ptxgraft import _library
from ptxgraft._arrays import place_of
from ptxgraft._kernel import PlannedLaunch, _Lent
from support import Case

FILL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry touch(.param .u64 a, .param .u32 n, .param .b8 s[12]) { ret; }
"""


FILLING = FILL.replace("touch", "fill")  # of which the driver knows what it does: s[0] in each of the n bytes at a
SOURCES = pathlib.Path(__file__).parents[2] / "src/python"


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
        self.assertEqual(_Lent(self.kernel)._address(array, place_of(array), 0), memory.address)  # what the kernel got
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

    def test_objects_of_cuda_core(self):
        memory = self.device.upload(np.zeros(4, np.float32))
        lent = types.SimpleNamespace(handle=memory.address, size=16, is_device_accessible=True)
        self.kernel.launch(1, 1, lent, 16, bytes(12))
        self.assertEqual(_Lent(self.kernel)._address(lent, place_of(lent), 0), memory.address)
        self.assertEqual((self.device.borrow_buffer(lent).address, self.device.borrow_buffer(lent).size), (memory.address, 16))
        lent.is_device_accessible = False
        self.assertFails("argument_invalid", "host's memory", self.kernel.launch, 1, 1, lent, 16, bytes(12))
        self.assertEqual(ptxgraft.Device(types.SimpleNamespace(device_id=0)).name, self.device.name)
        self.assertNotEqual(ptxgraft.Device(types.SimpleNamespace(device_id=1)).name, self.device.name)

    def test_a_kernel_of_cuda_core_does_not_tell_its_code(self):
        theirs = types.SimpleNamespace(handle=1, arguments_info=[(0, 8)], num_arguments=1)
        plan = ptxgraft.templates.Template("elementwise/simple").plan({"n": 4})
        for use in lambda: ptxgraft.Graph(self.device).add(theirs, 1, 1), lambda: plan.launch(theirs, []):
            self.assertFails("argument_invalid", "Device.borrow_kernel makes one of a cuda.core.Kernel", use)
        self.assertFails("argument_invalid", "give its ObjectCode of PTX", ptxgraft.Skeleton.from_ptx, theirs)
        self.assertFails("argument_invalid", "a NoneType is no ptxgraft.Kernel", ptxgraft.Graph(self.device).add, None, 1, 1)

    def test_what_becomes_an_object_of_cuda_core(self):
        memory, stream = self.device.upload(np.zeros(4, np.float32)), self.device.create_stream()
        version, number = stream.__cuda_stream__()
        self.assertEqual(version, 0)
        self.assertNotEqual(number, 0)
        self.kernel.launch(1, 1, memory, 4, bytes(12), stream=Stream(number))
        core = mock.MagicMock()
        with mock.patch.dict(sys.modules, {"cuda": mock.MagicMock(core=core), "cuda.core": core}):
            memory.to_cuda_core()
            self.kernel.to_cuda_core()
        core.Buffer.from_handle.assert_called_once_with(memory.address, 16, owner=memory)
        core.ObjectCode.from_cubin.assert_called_once_with(self.kernel.cubin, name="touch")
        core.ObjectCode.from_cubin().get_kernel.assert_called_once_with("touch")


class CUfunction(int):
    """As cuda.bindings has it."""


class CUkernel(int):
    """As cuda.bindings has it."""


class BorrowedKernels(Case):
    """Kernels of the fake driver, whose CUkernel is its CUfunction and one more."""

    @classmethod
    def setUpClass(cls):
        cls.device = ptxgraft.Device("cuda")
        cls.driver = ctypes.CDLL("libcuda.so.1")
        cls.driver.fake_cuda_set_argument_sizes((ctypes.c_size_t * 3)(8, 4, 12), ctypes.c_size_t(3))
        cls.owner = ptxgraft.Skeleton.from_ptx(FILLING).graft({}, cls.device)
        cls.driver.fake_cuda_last_function.restype = ctypes.c_uint64
        cls.number = cls.driver.fake_cuda_last_function()

    @classmethod
    def tearDownClass(cls):
        cls.driver.fake_cuda_set_argument_sizes(None, ctypes.c_size_t(0))

    def test_a_kernel_of_cuda_core_is_launched(self):
        theirs = types.SimpleNamespace(handle=CUkernel(self.number + 1), arguments_info=[])
        for kernel in map(self.device.borrow_kernel, (theirs, theirs.handle, CUfunction(self.number))):
            memory = self.device.upload(np.zeros(4, np.float32))
            self.assertEqual(kernel.entry, "fill")
            self.assertEqual(kernel.parameters, (("0", "b64", 8), ("1", "b32", 4), ("2", "b8", 12)))
            kernel.launch(1, 1, memory, np.int32(12), bytes([7] * 12))
            self.assertEqual(memory.read(), bytes([7] * 12 + [0] * 4))
            graph = ptxgraft.Graph(self.device)
            graph.add(kernel, 1, 1, memory, 16, bytes([9] * 12))
            graph.launch()
            self.device.synchronize()
            self.assertEqual(memory.read(), bytes([9] * 16))

    def test_what_it_is_not(self):
        kernel = self.device.borrow_kernel(CUfunction(self.number))
        memory = self.device.allocate(16)
        self.assertFails("argument_count_wrong", "b64 0, b32 1, b8 2", kernel.launch, 1, 1, memory)
        self.assertFails("argument_invalid", "a .b32", kernel.launch, 1, 1, memory, 1.5, bytes(12))
        self.assertFails("argument_size_wrong", "has 8 bytes", kernel.launch, 1, 1, memory, np.float64(1), bytes(12))
        self.assertEqual((kernel.ptx, kernel.assembler), ("", ""))
        self.assertFails("machine_code_missing", "", lambda: kernel.cubin)
        self.assertFails("machine_code_missing", "", lambda: kernel.machine_code.image)
        self.assertEqual(kernel.variable("table").size, 64)
        self.assertFails("symbol_unknown", "tables", kernel.variable, "tables")

    def test_it_keeps_what_it_was_borrowed_from(self):
        theirs = types.SimpleNamespace(handle=CUkernel(self.number + 1), arguments_info=[])
        kernel, before = self.device.borrow_kernel(theirs), sys.getrefcount(theirs)
        self.assertIs(kernel.to_cuda_core(), theirs)
        kernel.close()
        self.assertLess(sys.getrefcount(theirs), before)
        core = mock.MagicMock()
        with mock.patch.dict(sys.modules, {"cuda": mock.MagicMock(core=core), "cuda.core": core}):
            self.device.borrow_kernel(theirs.handle).to_cuda_core()
            core.Kernel.from_handle.assert_called_once_with(self.number + 1)
        self.assertFails("argument_invalid", "wants a CUkernel", self.device.borrow_kernel(CUfunction(self.number)).to_cuda_core)

    def test_wrong_handles(self):
        for wrong in None, 16, "fill", self.owner, [], types.SimpleNamespace(handle=16):
            self.assertFails("argument_invalid", "is neither a cuda.core.Kernel nor", self.device.borrow_kernel, wrong)
        self.assertFails("argument_invalid", "handle is 0", self.device.borrow_kernel, CUkernel(0))
        self.assertFails("driver_failed", "cuKernelGetFunction", self.device.borrow_kernel, CUkernel(13))
        self.assertFails("device_differs", "no emulator's", ptxgraft.Device("emulator").borrow_kernel, CUkernel(self.number + 1))


class Xla(Case):
    """The handler of custom calls, with a frame as XLA makes it for a GPU."""

    @classmethod
    def setUpClass(cls):
        text = (SOURCES / "xla.h").read_text()
        cls.ffi = cffi.FFI()
        cls.ffi.cdef("\n".join(line for line in text[text.index("enum {") :].splitlines() if not line.startswith("#")))
        cls.device = ptxgraft.Device("cuda")
        cls.kernel = ptxgraft.Skeleton.from_ptx(FILLING).graft({}, cls.device)
        ctypes.CDLL("libcuda.so.1").fake_cuda_set_argument_sizes((ctypes.c_size_t * 3)(8, 4, 12), ctypes.c_size_t(3))

    def setUp(self):
        self.kept, self.messages, self.streams_asked = [], [], 0
        self.stream = self.device.create_stream()
        self.stream_number = self.stream.__cuda_stream__()[1]

    def new(self, kind, value=None):
        self.kept.append(self.ffi.new(kind, value))
        return self.kept[-1]

    def plan(self, launches):
        """Each launch fills a row of 16 bytes with 7; the kernel's other parameters are constants."""
        c = _library.ffi
        parts = PlannedLaunch(self.kernel, (1, 1, 0, None, False, 0, 0), (0, 16, bytes([7] * 12)))
        operand_of, operands = c.new("int32_t[]", [0, -1, -1]), c.new("ptxgraft_python_operand[]", [(16, True, True)])
        plan = c.new("ptxgraft_python_plan*", (
            self.kernel._handle, self.device._handle, parts.frame.options, parts.frame.slots, operand_of, 3, operands, 1, launches, 0, 1))  # fmt: skip
        self.kept += [parts, operand_of, operands, plan]
        return int(c.cast("uintptr_t", plan))

    def api(self):
        @self.ffi.callback("void*(xla_error_arguments*)")
        def error_create(arguments):
            self.messages.append(self.ffi.string(arguments.message).decode())
            return self.ffi.cast("void*", 0xE0)

        @self.ffi.callback("void*(xla_stream_arguments*)")
        def stream_get(arguments):
            self.streams_asked += 1
            arguments.stream = self.ffi.cast("void*", self.stream_number)
            return self.ffi.NULL

        self.kept += [error_create, stream_get]
        api = self.new("xla_api*")
        api.struct_size, api.error_create, api.stream_get = self.ffi.sizeof("xla_api"), error_create, stream_get
        api.api_version.minor_version = 3
        return api

    def frame(self, plan, process, address, stage=3):
        attributes = {"plan": plan, "process": process}
        names = [self.new("xla_span*", (self.new("char[]", name.encode()), len(name))) for name in attributes]
        values = [self.new("xla_scalar*", (5, self.new("int64_t*", value))) for value in attributes.values()]
        frame = self.new("xla_frame*")
        frame.struct_size, frame.api, frame.stage = self.ffi.sizeof("xla_frame"), self.api(), stage
        frame.attrs.size, frame.attrs.types = 2, self.new("int[]", [3, 3])
        frame.attrs.names, frame.attrs.attrs = self.new("xla_span*[]", names), self.new("void*[]", values)
        buffer = self.new("xla_buffer*")
        buffer.data = self.ffi.cast("void*", address)
        frame.rets.size, frame.rets.items = 1, self.new("void*[]", [buffer])
        return frame

    def call(self, frame):
        """Whether it went well."""
        address = int(self.ffi.cast("uintptr_t", frame))
        return _library.lib.ptxgraft_python_xla_call(_library.ffi.cast("void*", address)) == _library.ffi.NULL

    def test_a_batch_goes_to_xlas_stream(self):
        memory = self.device.allocate(64)
        memory.fill(0)
        process = _library.lib.ptxgraft_python_xla_process
        self.assertTrue(self.call(self.frame(self.plan(3), process, memory.address)))
        self.stream.synchronize()
        self.assertEqual(memory.read(), bytes([7] * 48 + [0] * 16))
        self.assertEqual((self.streams_asked, self.messages), (1, []))

    def test_only_the_stage_of_execution_launches(self):
        memory = self.device.allocate(16)
        memory.fill(0)
        self.assertTrue(self.call(self.frame(self.plan(1), _library.lib.ptxgraft_python_xla_process, memory.address, stage=2)))
        self.assertEqual(memory.read(), bytes(16))

    def test_a_stream_of_nobody_and_a_call_of_another_process(self):
        memory = self.device.allocate(16)
        memory.fill(0)
        process = _library.lib.ptxgraft_python_xla_process
        self.assertFalse(self.call(self.frame(self.plan(1), process + 1, memory.address)))
        self.stream_number = 12345
        self.assertFalse(self.call(self.frame(self.plan(1), process, memory.address)))
        self.assertIn("another process", self.messages[0])
        self.assertIn("ptxgraft: ", self.messages[1])
        self.assertEqual(memory.read(), bytes(16))

    def test_another_major_version_is_refused(self):
        frame = self.frame(self.plan(1), _library.lib.ptxgraft_python_xla_process, self.device.allocate(16).address)
        api = self.api()
        api.api_version.major_version = 1
        frame.api = api
        self.assertFalse(self.call(frame))
        self.assertIn("another FFI", self.messages[0])

    def test_the_version_that_is_asked_for(self):
        frame, metadata = self.new("xla_frame*"), self.new("xla_metadata*")
        metadata.api_version.minor_version, metadata.traits = 99, 99
        extension = self.new("xla_metadata_extension*")
        extension.extension_base.type, extension.metadata = 1, metadata
        frame.extension_start = self.ffi.addressof(extension.extension_base)
        self.assertTrue(self.call(frame))
        self.assertEqual((metadata.api_version.major_version, metadata.api_version.minor_version, metadata.traits), (0, 1, 0))


if __name__ == "__main__":
    unittest.main()
