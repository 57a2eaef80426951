"""Objects of cuda.core that need no GPU: machine code as an ObjectCode, and skeletons of one."""

import unittest

from support import Case, emulator, skeleton, skip_file

try:
    import cuda.core
except ImportError:
    skip_file("no cuda.core")
import ptxgraft
from ptxgraft import _cuda_core

PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n"


class CudaCore(Case):
    def test_machine_code_is_an_object_code(self):
        code = skeleton().assemble({"activation": "value scale mul.f32 -> value"})
        made = code.to_cuda_core()
        self.assertIsInstance(made, _cuda_core.module().ObjectCode)
        self.assertEqual((made.code, made.code_type, made.name), (code.image, "cubin", "apply"))

    def test_a_skeleton_of_an_object_code(self):
        for text in PTX, PTX + "\0":
            code = _cuda_core.module().ObjectCode.from_ptx(text.encode())
            self.assertEqual(ptxgraft.Skeleton.from_ptx(code).entries, ("f",))
        self.assertFails("argument_invalid", "is cubin", ptxgraft.Skeleton.from_ptx, skeleton().assemble({}).to_cuda_core())
        self.assertFails("argument_invalid", "a str or an ObjectCode of PTX is taken", ptxgraft.Skeleton.from_ptx, [])

    def test_what_the_emulator_has_is_no_gpus(self):
        kernel = skeleton().graft({}, emulator())
        self.assertRaises(ptxgraft.Error, kernel.to_cuda_core)
        self.assertFails("argument_invalid", "emulator's memory", emulator().allocate(4).to_cuda_core)
        self.assertFails("argument_invalid", "no GPU's", emulator().create_stream().__cuda_stream__)
        self.assertFails("argument_invalid", "a list is no device", ptxgraft.Device, [])

    def test_constants_that_are_data_would_be_missing(self):
        stub = ptxgraft.stack.compile("value 2.5 mul.f32 -> value", skeleton().site("activation"), constants="data")
        kernel = skeleton().graft({"activation": stub}, emulator())
        self.assertFails("argument_invalid", "constants of activation are data", kernel.to_cuda_core)

    def test_their_kernel_has_a_handle_that_is_borrowed(self):
        """Which handle it is goes by the class that cuda.bindings gives it."""
        from cuda.bindings import driver

        self.assertTrue({"from_handle", "handle", "arguments_info"} <= set(dir(_cuda_core.module().Kernel)))
        for theirs, kind in (driver.CUkernel(48), "kernel"), (driver.CUfunction(32), "function"):
            self.assertEqual(_cuda_core.function_handle(theirs), (kind, int(theirs)))
            self.assertFails("device_differs", "no emulator's", emulator().borrow_kernel, theirs)


if __name__ == "__main__":
    unittest.main()
