"""What a kernel of the emulator costs in a jitted function of JAX, by XLA's FFI and by a callback.

Usage: PYTHONPATH=build/python python3 bench/jax_bench.py, with JAX. Each figure is the fastest of 30 runs in turn, so that other work on
the machine counts little.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
import ptxgraft
import ptxgraft.jax

ROWS, SIZE = 64, 32
device = ptxgraft.Device("emulator:fast")
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, device)
x, rows = jnp.ones(SIZE, jnp.float32), jnp.ones((ROWS, SIZE), jnp.float32)
x_buffer, y_buffer = device.upload(np.ones(SIZE, np.float32)), device.allocate(4 * SIZE)


def square(v):
    return ptxgraft.jax.call(kernel, lambda x, y: (1, 32, (x, y, x.size)), v)


def compiled(function, argument, by_ffi):
    ptxgraft.jax._set_lowering(by_ffi)
    made = jax.jit(lambda v: function(v))
    made(argument)
    return lambda: made(argument).block_until_ready()


def seconds(work, repeats):
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


works = {
    "the launch alone, over buffers": (lambda: kernel.launch(1, 32, x_buffer, y_buffer, SIZE), 1),
    "x * x of JAX itself": (compiled(lambda v: v * v, x, True), 1),
    "by XLA's FFI": (compiled(square, x, True), 1),
    "by a callback": (compiled(square, x, False), 1),
    f"a batch of {ROWS} by XLA's FFI": (compiled(jax.vmap(square), rows, True), ROWS),
    f"a batch of {ROWS} by a callback": (compiled(jax.vmap(square), rows, False), ROWS),
}
fastest = dict.fromkeys(works, float("inf"))
for _ in range(30):
    for name, (work, launches) in works.items():
        fastest[name] = min(fastest[name], seconds(work, max(200 // launches, 5)) / launches)
for name, best in fastest.items():
    print(f"{name:36} {best * 1e6:8.2f} µs for each launch of {SIZE} threads")
