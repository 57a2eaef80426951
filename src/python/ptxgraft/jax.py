"""Kernels of the emulator as functions of JAX arrays on the CPU, under `jit` and `vmap`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

import jax
import numpy

from ptxgraft._kernel import Kernel
from ptxgraft._library import Dimensions, invalid

Launch = Callable[..., tuple[Dimensions, Dimensions, Sequence[Any]]]


def call(kernel: Kernel, launch: Launch, *inputs: Any, output: Optional[Any] = None) -> Any:
    """What a kernel writes, of arrays: a pure_callback, so that it stands in jitted functions.

    `launch(*inputs, out)` gives grid, block and the arguments of a launch, of NumPy arrays. `output` is a jax.ShapeDtypeStruct; None:
    shape and type of the first input. Under `vmap` the kernel is launched for each element of the batch.

    >>> import jax, ptxgraft, ptxgraft.jax
    >>> skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
    >>> kernel = skeleton.graft({"function": "x x mul.f32 -> y"}, ptxgraft.Device("emulator"))
    >>> square = jax.jit(lambda x: ptxgraft.jax.call(kernel, lambda x, y: (1, 128, (x, y, x.size)), x))
    >>> square(jax.numpy.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 4.0, 9.0]
    """
    if not kernel.device.is_emulator:
        raise invalid("the kernel is on a GPU; jax.call is of the emulator")
    result = output if output is not None else jax.ShapeDtypeStruct(inputs[0].shape, inputs[0].dtype)

    def run(*arrays: Any) -> Any:
        out = numpy.empty(result.shape, result.dtype)
        grid, block, arguments = launch(*(numpy.ascontiguousarray(array) for array in arrays), out)
        kernel.launch(grid, block, *arguments)
        return out

    return jax.pure_callback(run, result, *inputs, vmap_method="sequential")
