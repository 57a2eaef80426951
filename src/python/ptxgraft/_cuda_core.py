"""Objects of NVIDIA's cuda.core: what they are here, and what is here as one of them. It is imported by what makes one alone."""

from __future__ import annotations

from typing import Any, Optional

from ptxgraft._library import Error, invalid


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


def no_kernel(value: Any) -> Error:
    """The error of what is given in the place of a kernel. A cuda.core.Kernel is a handle of the driver, which says neither what code it is
    nor what a launch of it needs to know: its entry's shapes and shared memory, and what each parameter is."""
    message = f"a {type(value).__name__} is no ptxgraft.Kernel"
    if hasattr(value, "arguments_info") and hasattr(value, "handle"):
        message = "a cuda.core.Kernel does not tell its code: give its ObjectCode of PTX to Skeleton.from_ptx, and graft a kernel of that"
    return invalid(message)


def device_name(device: Any) -> Optional[str]:
    """The name here of a cuda.core.Device, whose context is its GPU's primary one, as here; None of what is no device."""
    number = getattr(device, "device_id", None)
    return f"cuda:{number}" if isinstance(number, int) else None
