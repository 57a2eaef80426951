"""Kernels as operators of PyTorch on the CPU: values, gradients, fake tensors, torch.compile."""

import unittest

from support import Case, emulator, skip_file

try:
    import torch
except ImportError:
    skip_file("no PyTorch")
import ptxgraft
import ptxgraft.torch


def made(program):
    return ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a").graft({"function": program}, emulator())


def launch(x, y):
    return (x.numel() + 127) // 128, 128, (x, y, x.numel())


square = ptxgraft.torch.op(made("x x mul.f32 -> y"), "ptxgraft_test::square", launch, backward=lambda grad, x: 2 * x * grad)


class Operators(Case):
    def test_values_and_gradients(self):
        x = torch.linspace(-2, 2, 300, requires_grad=True)
        y = square(x)
        torch.testing.assert_close(y, x * x)
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())
        torch.testing.assert_close(square(torch.ones(4, 6).t()), torch.ones(6, 4))

    def test_pytorchs_own_checks(self):
        torch.library.opcheck(square, (torch.linspace(-1, 1, 16, requires_grad=True),))

    def test_compiled(self):
        compiled = torch.compile(lambda x: square(x) + 1, backend="aot_eager", fullgraph=True)
        x = torch.arange(10.0, requires_grad=True)
        y = compiled(x)
        torch.testing.assert_close(y, x * x + 1)
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())

    def test_fake_tensors_launch_nothing(self):
        self.assertEqual(square(torch.empty(5, 7, device="meta")).shape, (5, 7))

    def test_a_tensor_that_requires_its_gradient_is_no_plain_argument(self):
        x = torch.ones(4, requires_grad=True)
        self.assertFails("argument_invalid", "grad", made("x -> y").launch, 1, 32, x, torch.empty(4), 4)
        y = torch.empty(4)
        made("x 1.0 add.f32 -> y").launch(1, 32, x.detach(), y, 4)
        self.assertEqual(y.tolist(), [2.0] * 4)


if __name__ == "__main__":
    unittest.main()
