"""A CUDA kernel compiled once; stubs grafted into it; each compared with NumPy. On a GPU, or without one on the emulator."""

import numpy as np
import ptxgraft

SOURCE = """
#include <ptxgraft/site.cuh>
extern "C" __global__ void apply(const float* x, float* y, float scale, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = x[i];
    PTXGRAFT_SITE("activation", "", mod(f32, value), in(f32, scale));
    y[i] = value;
}
"""

device = ptxgraft.Device()
skeleton = ptxgraft.Skeleton.from_cuda(SOURCE, target=device.target)
site = skeleton.site("activation")
print(f"on {device.name} - {skeleton.entries[0]}: {site.signature}")

x = np.random.default_rng(1).standard_normal(1000, dtype=np.float32)
scale = np.float32(0.75)
x_buffer, y_buffer = device.upload(x), device.allocate(x.nbytes)
for program, expected in (
    ("value scale mul.f32 -> value", x * scale),
    ("value 0.0 max.f32 scale mul.f32 -> value", np.maximum(x, 0) * scale),
    ("value scale neg.f32 max.f32 scale min.f32 -> value", np.clip(x, -scale, scale)),
):
    kernel = skeleton.graft({"activation": program}, device)
    kernel.launch(8, 128, x_buffer, y_buffer, scale, x.size)
    np.testing.assert_array_equal(y_buffer.download(np.float32), expected)
    print(f"{program:54} equals NumPy")

# Constants as data: one kernel, whose constants are changed between launches, without a compile.
kernel = skeleton.graft({"activation": site.stub("value = value * 0.5 + 0.25", language="expression", constants="data")}, device)
for factor, offset in np.array([[0.5, 0.25], [2.0, -1.0], [-8.0, 3.0]], np.float32):
    kernel.set_constants("activation", np.array([factor, offset]).view(np.uint32).tolist())
    kernel.launch(8, 128, x_buffer, y_buffer, scale, x.size)
    np.testing.assert_array_equal(y_buffer.download(np.float32), x * factor + offset)
    print(f"{f'value = value * {factor} + {offset}':54} equals NumPy, by the same kernel")

try:
    site.stub("value nothing add.f32 -> value")
except ptxgraft.Error as error:
    print(error)
