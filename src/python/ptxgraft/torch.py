"""Kernels as operators of PyTorch: under torch.compile, with gradients; on the emulator for tensors of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

import torch

from ptxgraft._device import Device
from ptxgraft._kernel import Kernel, check_kernel
from ptxgraft._library import Dimensions, invalid

#: grid, block and arguments of a launch, from the inputs and the output
Launch = Callable[..., tuple[Dimensions, Dimensions, Sequence[Any]]]


def op(
    kernel: Union[Kernel, Callable[[str], Kernel]],
    name: str,
    launch: Launch,
    *,
    inputs: int = 1,
    output: Optional[Callable[..., torch.Tensor]] = None,
    backward: Optional[Callable[..., Any]] = None,
) -> Any:
    """Registers a kernel as the custom operator `name` ("mine::square"), of so many tensors to one; gives what is called.

    `launch(*inputs, out)` gives grid, block and the arguments of a launch, tensors among them. `output(*inputs)` makes the tensor of
    the result, `torch.empty_like(inputs[0])` where it is None; torch.compile calls it with tensors that have no memory.
    `backward(grad, *inputs)` gives the gradient of each input. `kernel` may be a function of the kind of device, "cpu" or "cuda", for
    operators on both: a kernel of the emulator takes tensors of the host, one of a GPU the GPU's, without copies, on PyTorch's
    current stream.

    >>> import ptxgraft, ptxgraft.torch, torch
    >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
    >>> kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, ptxgraft.Device("emulator"))
    >>> square = ptxgraft.torch.op(kernel, "docs::square", lambda x, y: (1, 128, (x, y, x.numel())), backward=lambda g, x: 2 * x * g)
    >>> square(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1., 4., 9.])
    """
    make = output or (lambda *tensors: torch.empty_like(tensors[0], memory_format=torch.contiguous_format))

    def run(*tensors: torch.Tensor) -> torch.Tensor:
        out = make(*tensors)
        chosen = kernel if isinstance(kernel, Kernel) else kernel(out.device.type)
        _launch(chosen, launch, [tensor.detach().contiguous() for tensor in tensors], out)
        return out

    names = [f"input{i}" for i in range(inputs)]
    schema = f"({', '.join(f'Tensor {n}' for n in names)}) -> Tensor"
    registered: Any = torch.library.custom_op(name, run, mutates_args=(), schema=schema)
    registered.register_fake(make)
    if backward is not None:
        _register_backward(registered, backward)
    return registered


def _launch(kernel: Kernel, launch: Launch, tensors: Sequence[torch.Tensor], out: torch.Tensor) -> None:
    check_kernel(kernel)
    device: Device = kernel.device
    if out.is_cuda == device.is_emulator:
        raise invalid(f"the tensors are on {out.device}, and the kernel on {device.name}")
    grid, block, arguments = launch(*tensors, out)
    stream = torch.cuda.current_stream(out.device) if out.is_cuda else None
    # PyTorch's tensors of the host lend NumPy their memory.
    given = [a.numpy() if isinstance(a, torch.Tensor) and not a.is_cuda else a for a in arguments]
    kernel.launch(grid, block, *given, stream=stream)


def _register_backward(registered: Any, backward: Callable[..., Any]) -> None:
    def keep(ctx: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    registered.register_autograd(lambda ctx, grad: backward(grad, *ctx.saved_tensors), setup_context=keep)
