"""A kernel of the emulator in functions of JAX, under jit and vmap."""

import sys

try:
    import jax
except ImportError:
    print("skipped: no JAX")
    sys.exit(77)
import numpy as np
import ptxgraft
import ptxgraft.jax

device = ptxgraft.Device("emulator")
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, device)


@jax.jit
@jax.vmap
def square(x: jax.Array) -> jax.Array:
    squared: jax.Array = ptxgraft.jax.call(kernel, lambda x, y: (1, 128, (x, y, x.size)), x)
    return squared


x = np.arange(12, dtype=np.float32).reshape(3, 4)
np.testing.assert_array_equal(square(x), x * x)
print("squares of a batch equal NumPy's")
