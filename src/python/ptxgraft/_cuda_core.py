"""Objects of NVIDIA's cuda.core: what they are here, and what is here as one of them. It is imported by what makes one alone."""

from __future__ import annotations

from typing import Any, Optional

from ptxgraft._library import Error, invalid, wrong_type


def module() -> Any:
    """cuda.core; in its versions before 1.0 what it has now is in cuda.core.experimental."""
    try:
        import cuda.core as core
    except ImportError:
        raise invalid("there is no cuda.core: pip install cuda-core") from None
    if hasattr(core, "ObjectCode"):
        return core
    import cuda.core.experimental as experimental

    return experimental


def ptx_of(code: Any) -> Optional[str]:
    """The text of an ObjectCode of PTX; None of what is no ObjectCode."""
    kind = getattr(code, "code_type", None)
    if kind is None:
        return None
    if kind != "ptx":
        raise invalid(f"the ObjectCode is {kind}, and a skeleton is made of ptx")
    text = code.code
    return text if isinstance(text, str) else bytes(text).rstrip(b"\0").decode()


def function_handle(kernel: Any) -> tuple[str, int]:
    """Which handle of the driver a kernel of somebody else is, "kernel" (a CUkernel) or "function" (a CUfunction), and its number.
    cuda.core has the first, but with drivers before CUDA 12, where it has the second."""
    handle = getattr(kernel, "handle", kernel)
    kind = {"CUkernel": "kernel", "CUfunction": "function"}.get(type(handle).__name__)
    if kind is None:
        raise invalid(f"a {type(kernel).__name__} is neither a cuda.core.Kernel nor a CUkernel or CUfunction of cuda.bindings")
    return kind, int(handle)


def kernel_of(owner: Any) -> Any:
    """The cuda.core.Kernel that a kernel was borrowed from."""
    if hasattr(owner, "handle"):
        return owner
    kind, number = function_handle(owner)
    if kind == "function":
        raise invalid("a CUfunction makes no cuda.core.Kernel, which wants a CUkernel")
    return module().Kernel.from_handle(number)


def no_kernel(value: Any) -> Error:
    """The error of what is given in the place of a kernel."""
    message = f"a {type(value).__name__} is no ptxgraft.Kernel"
    if hasattr(value, "arguments_info") and hasattr(value, "handle"):
        message += ": Device.borrow_kernel makes one of a cuda.core.Kernel"
    return invalid(message)


def no_skeleton(value: Any) -> Error:
    """The error of what is no PTX. A loaded kernel does not tell its code."""
    if hasattr(value, "arguments_info") and hasattr(value, "handle"):
        return invalid("a cuda.core.Kernel does not tell its code: give its ObjectCode of PTX")
    return wrong_type(value, "a str" if isinstance(value, (bytes, bytearray)) else "a str or an ObjectCode of PTX")


def device_name(device: Any) -> Optional[str]:
    """The name here of a cuda.core.Device, whose context is its GPU's primary one, as here; None of what is no device."""
    number = getattr(device, "device_id", None)
    return f"cuda:{number}" if isinstance(number, int) else None
