"""Kernels of the emulator in functions of JAX on the CPU: `jit` and `vmap`."""

import unittest

from support import Case, emulator, skip_file

try:
    import jax
except ImportError:
    skip_file("no JAX")
import numpy as np
import ptxgraft
import ptxgraft.jax


class Calls(Case):
    def setUp(self):
        skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
        kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, emulator())
        self.square = lambda x: ptxgraft.jax.call(kernel, lambda x, y: (1, 128, (x, y, x.size)), x)

    def test_jit_and_vmap(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(self.square(x[0]), x[0] ** 2)
        np.testing.assert_array_equal(jax.jit(lambda v: self.square(v) + 1)(x[0]), x[0] ** 2 + 1)
        np.testing.assert_array_equal(jax.jit(jax.vmap(self.square))(x), x**2)


if __name__ == "__main__":
    unittest.main()
