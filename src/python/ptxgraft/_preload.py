"""NVRTC and nvJitLink from NVIDIA's packages, wherever on the path of Python they are: for when they are not beside ptxgraft."""

import ctypes
import os
import sys


def load_cuda() -> None:
    """Loads what is found; what is not, the loader will name."""
    for name in "libnvJitLink.so.13", "libnvrtc.so.13":
        for folder in sys.path:
            file = os.path.join(folder, "nvidia", "cu13", "lib", name)
            if os.path.exists(file):
                ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
                break
