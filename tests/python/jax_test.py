"""Kernels of the emulator in functions of JAX on the CPU: by XLA's FFI and by callbacks, under `jit` and `vmap`."""

import gc
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
import weakref

from support import Case, emulator, skip_file

try:
    import jax
except ImportError:
    skip_file("no JAX")
import jax.numpy as jnp
import numpy as np
import ptxgraft
import ptxgraft.jax

SOURCES = pathlib.Path(__file__).parents[2] / "src/python"
# y = a * x + b and z = 2 * y; where `spoil` is not 0 it writes to x, which is an input.
SOURCE = """
#include <ptxgraft/site.cuh>
extern "C" __global__ void affine(const float* a, float* x, const float* b, float* y, float* z, unsigned count, int spoil) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = x[i], factor = a[0], offset = b[i];
    PTXGRAFT_SITE("f", "", mod(f32, value), in(f32, factor), in(f32, offset));
    y[i] = value;
    z[i] = 2 * value;
    if (spoil) x[i] = 7;
}
"""


def affine(device):
    return ptxgraft.Skeleton.from_cuda(SOURCE).graft({"f": "value factor mul.f32 offset add.f32 -> value"}, device)


def made(program, device):
    skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
    return skeleton.graft({"function": program}, device)


def elementwise(kernel, **options):
    return lambda x: ptxgraft.jax.call(kernel, lambda x, y: (-(-x.size // 128), 128, (x, y, x.size)), x, **options)


class Calls(Case):
    """By the FFI; a class below does the same by callbacks."""

    by_ffi = True

    def setUp(self):
        if self.by_ffi and not ptxgraft.jax.has_ffi:
            self.assertLess(ptxgraft.jax._jaxlib_version(), ptxgraft.jax._OLDEST_JAXLIB)
            self.skipTest("this JAX has no FFI, or an older one")
        self.addCleanup(ptxgraft.jax._set_lowering, ptxgraft.jax.has_ffi)
        ptxgraft.jax._set_lowering(self.by_ffi)
        jax.clear_caches()
        self.square = elementwise(made("x x mul.f32 -> y", emulator()))

    def test_jit_and_vmap(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(self.square(x[0]), x[0] ** 2)
        np.testing.assert_array_equal(jax.jit(lambda v: self.square(v) + 1)(x[0]), x[0] ** 2 + 1)
        np.testing.assert_array_equal(jax.vmap(self.square)(x), x**2)
        np.testing.assert_array_equal(jax.jit(jax.vmap(self.square, in_axes=1, out_axes=1))(x), x**2)

    def test_which_way_it_goes(self):
        text = jax.jit(self.square).lower(np.ones(4, np.float32)).as_text()
        self.assertEqual("@ptxgraft_launch" in text, self.by_ffi)
        self.assertEqual("callback" in text, not self.by_ffi)

    def call(self, kernel, spoil=0):
        def launch(a, x, b, y, z):
            return 1, 32, (a, x, b, y, z, x.size, spoil)

        def run(a, x, b):
            return ptxgraft.jax.call(kernel, launch, a, x, b, output=[jax.ShapeDtypeStruct(x.shape, np.float32)] * 2)

        return run

    def test_several_results_and_inputs_that_are_no_batch(self):
        run = self.call(affine(emulator()))
        a, x, b = np.float32([3]), np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([1, 2, 4])
        for y, z in (jax.jit(jax.vmap(run, (None, 0, None)))(a, x, b), jax.vmap(run, (None, 0, None))(a, x, b)):
            np.testing.assert_array_equal(y, 3 * x + b)
            np.testing.assert_array_equal(z, 2 * (3 * x + b))

    def test_a_batch_of_batches(self):
        run = self.call(affine(emulator()))
        a, x, b = np.float32([[3], [5]]), np.arange(24, dtype=np.float32).reshape(2, 4, 3), np.arange(12, dtype=np.float32).reshape(4, 3)
        inner = jax.vmap(run, (None, 0, 0))
        y, z = jax.jit(jax.vmap(inner, (0, 0, None)))(a, x, b)
        np.testing.assert_array_equal(y, a[:, None] * x + b)
        np.testing.assert_array_equal(z, 2 * y)
        y, _ = jax.jit(jax.vmap(jax.vmap(run, (0, None, None)), (None, None, 0)))(a, x[0, 0], b)
        np.testing.assert_array_equal(y, a[None] * x[0, 0] + b[:, None])

    def test_one_launch_for_a_whole_batch(self):
        sizes = []

        def launch(x, y):
            sizes.append(x.shape)
            return -(-x.size // 128), 128, (x, y, x.size)

        kernel = made("x x mul.f32 -> y", emulator())
        x = np.arange(200, dtype=np.float32).reshape(4, 50)
        squares = jax.jit(jax.vmap(lambda v: ptxgraft.jax.call(kernel, launch, v, vmap_method="broadcast_all")))(x)
        np.testing.assert_array_equal(squares, x**2)
        self.assertEqual(sizes, [(50,), (4, 50)])

    def test_a_device_in_the_memory_of_the_process(self):
        square = elementwise(made("x x mul.f32 -> y", ptxgraft.Device("emulator", process_memory=True)))
        x = np.arange(256, dtype=np.float32).reshape(2, 128)
        np.testing.assert_array_equal(jax.jit(jax.vmap(square))(x), x**2)

    def test_nothing_and_scalars(self):
        np.testing.assert_array_equal(jax.jit(self.square)(jnp.float32(3)), 9)
        self.assertEqual(jax.jit(jax.vmap(self.square))(np.zeros((0, 4), np.float32)).shape, (0, 4))

    def test_errors_of_a_launch_come_out(self):
        run = self.call(affine(emulator()), spoil=1)
        arguments = np.float32([3]), np.arange(3, dtype=np.float32), np.float32([1, 2, 4])
        with self.assertRaisesRegex(Exception, "wrote to input 1"):
            jax.block_until_ready(jax.jit(run)(*arguments))
        error = self.assertFails("memory_read_only", "wrote to input 1", run, *arguments)
        self.assertEqual(error.index, 1)
        kernel = made("x -> y", emulator())
        too_many = jax.jit(lambda x: ptxgraft.jax.call(kernel, lambda x, y: (1, 128, (x, y, x.size + 1)), x))
        with self.assertRaisesRegex(Exception, "address out of bounds: read of 4 bytes"):
            jax.block_until_ready(too_many(np.ones(127, np.float32)))
        np.testing.assert_array_equal(jax.jit(self.square)(np.float32([2])), [4])

    def test_wrong_calls(self):
        kernel = made("x -> y", emulator())
        x = np.ones(4, np.float32)
        self.assertFails("argument_count_wrong", "", ptxgraft.jax.call, kernel, lambda x, y: (1, 1, (x, y)), x)
        self.assertFails("argument_invalid", "no address", ptxgraft.jax.call, kernel, lambda x, y: (1, 1, (x, y, y)), x)
        self.assertFails("argument_invalid", "says what its output is", ptxgraft.jax.call, kernel, lambda y: (1, 1, (y, y, 1)))
        self.assertFails("argument_invalid", "sequential, broadcast_all", elementwise(kernel, vmap_method="fast"), x)
        self.assertFails("argument_invalid", "x64", elementwise(kernel, output=jax.ShapeDtypeStruct((4,), np.float64)), x)

    def test_what_is_closed(self):
        x = np.ones(4, np.float32)
        device = ptxgraft.Device("emulator")
        for closed in "kernel", "device":
            kernel = made("x x mul.f32 -> y", device)
            functions = [jax.jit(elementwise(kernel)) for _ in range(2)]  # of equal plans
            for function in functions:
                np.testing.assert_array_equal(function(x), x)
            {"kernel": kernel, "device": device}[closed].close()
            for function in functions:
                with self.assertRaisesRegex(Exception, "null"):
                    jax.block_until_ready(function(x))

    def test_many_threads(self):
        function = jax.jit(jax.vmap(self.square))
        results = {}

        def work(name):
            x = np.arange(300, dtype=np.float32).reshape(3, 100) + name
            results[name] = all((np.asarray(function(x)) == x**2).all() for _ in range(5))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, dict.fromkeys(range(4), True))

    def test_a_kernel_lives_as_long_as_what_is_compiled(self):
        kernel = made("x x mul.f32 -> y", emulator())
        gone = weakref.ref(kernel)
        function = jax.jit(elementwise(kernel))
        x = np.arange(4, dtype=np.float32)
        compiled = function.lower(x).compile()
        del kernel, function
        jax.clear_caches()
        gc.collect()
        np.testing.assert_array_equal(compiled(x), x**2)
        self.assertIsNotNone(gone())
        del compiled
        jax.clear_caches()
        gc.collect()
        self.assertIsNone(gone())


class Callbacks(Calls):
    by_ffi = False


@unittest.skipUnless(ptxgraft.jax.has_ffi, "this JAX has no FFI, or an older one")
class Handler(Case):
    def test_a_call_of_another_process_is_an_error(self):
        square = jax.jit(elementwise(made("x x mul.f32 -> y", emulator())))
        x = np.ones(4, np.float32)
        compiled = square.lower(x).compile()
        process = ptxgraft.jax.lib.ptxgraft_python_xla_process
        ptxgraft.jax.lib.ptxgraft_python_xla_process = process + 1
        try:
            with self.assertRaisesRegex(Exception, "compiled in another process"):
                jax.block_until_ready(compiled(x))
        finally:
            ptxgraft.jax.lib.ptxgraft_python_xla_process = process
        np.testing.assert_array_equal(compiled(x), x)

    def test_structs_are_those_of_this_jaxlib(self):
        """Each field that the handler uses stands where XLA's own header has it."""
        compiler = shutil.which("c++")  # older headers are no C
        if compiler is None:
            self.skipTest("no C++ compiler")
        places = {
            "xla_extension": ("XLA_FFI_Extension_Base", "struct_size type next"),
            "xla_version": ("XLA_FFI_Api_Version", "struct_size extension_start major_version minor_version"),
            "xla_metadata": ("XLA_FFI_Metadata", "struct_size api_version traits"),
            "xla_metadata_extension": ("XLA_FFI_Metadata_Extension", "extension_base metadata"),
            "xla_buffer": ("XLA_FFI_Buffer", "struct_size extension_start dtype data"),
            "xla_scalar": ("XLA_FFI_Scalar", "dtype value"),
            "xla_buffers": ("XLA_FFI_Args", "struct_size extension_start size types items=args"),
            "xla_span": ("XLA_FFI_ByteSpan", "ptr len"),
            "xla_attributes": ("XLA_FFI_Attrs", "struct_size extension_start size types names attrs"),
            "xla_error_arguments": ("XLA_FFI_Error_Create_Args", "struct_size extension_start message errc"),
            "xla_stream_arguments": ("XLA_FFI_Stream_Get_Args", "struct_size extension_start ctx stream"),
            "xla_api": (
                "XLA_FFI_Api",
                "struct_size api_version internal_api error_create=XLA_FFI_Error_Create stream_get=XLA_FFI_Stream_Get",
            ),
            "xla_frame": ("XLA_FFI_CallFrame", "struct_size extension_start api ctx stage args rets attrs"),
        }
        checks = ["XLA_FFI_API_MAJOR == xla_api_major", "XLA_FFI_Extension_Metadata == xla_extension_metadata"]
        checks += ["XLA_FFI_ExecutionStage_EXECUTE == xla_stage_execute", "XLA_FFI_AttrType_SCALAR == xla_attribute_scalar"]
        checks += ["XLA_FFI_Error_Code_INTERNAL == xla_code_internal", "sizeof(XLA_FFI_Args) == sizeof(XLA_FFI_Rets)"]
        checks += ["offsetof(XLA_FFI_Args, args) == offsetof(XLA_FFI_Rets, rets)"]
        for ours, (theirs, fields) in places.items():
            for field in fields.split():
                name, _, other = field.partition("=")
                checks.append(f"offsetof({ours}, {name}) == offsetof({theirs}, {other or name})")
                checks.append(f"sizeof((({ours}*)0)->{name}) <= sizeof((({theirs}*)0)->{other or name})")
        text = '#include <xla/ffi/api/c_api.h>\n#include "xla.h"\n'
        text += "".join(f'static_assert({check}, "{check}");\n' for check in checks)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "places.cpp")
            source.write_text(text)
            command = [compiler, "-std=c++17", "-fsyntax-only", "-I", ptxgraft.jax._ffi.include_dir(), "-I", str(SOURCES), str(source)]
            done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
