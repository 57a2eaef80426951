"""A kernel as an operator of PyTorch, with its gradient, compiled and not."""

import sys

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
import ptxgraft
import ptxgraft.torch

device = ptxgraft.Device("emulator")
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
kernel = skeleton.graft({"function": "x 0.0 max.f32 -> y"}, device)
relu = ptxgraft.torch.op(
    kernel,
    "example::relu",
    lambda x, y: ((x.numel() + 127) // 128, 128, (x, y, x.numel())),
    backward=lambda grad, x: grad * (x > 0),
)

x = torch.linspace(-2, 2, 1000, requires_grad=True)
torch.compile(lambda x: relu(x) * 2, backend="aot_eager")(x).sum().backward()
torch.testing.assert_close(relu(x), x.clamp(min=0))
torch.testing.assert_close(x.grad, 2 * (x > 0).float())
print("relu and its gradient equal PyTorch's")
