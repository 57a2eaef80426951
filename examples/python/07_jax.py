"""A kernel of the emulator in functions of JAX, under jit and vmap."""

import sys
from typing import Any

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


def square(x: Any) -> Any:
    return ptxgraft.jax.call(kernel, lambda x, y: (-(-x.size // 128), 128, (x, y, x.size)), x)


x = np.arange(12, dtype=np.float32).reshape(3, 4)
squares = jax.jit(jax.vmap(square))  # a launch for each row
np.testing.assert_array_equal(squares(x), x * x)
way = "a custom call of XLA" if ptxgraft.jax.has_ffi else "callbacks"
print(f"squares of a batch equal NumPy's, by {way}")
