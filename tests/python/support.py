"""What the tests of the package share: a skeleton with one site, and how a test file ends."""

import functools
import sys
import unittest

import ptxgraft

SOURCE = """
#include <ptxgraft/site.cuh>
extern "C" __global__ void apply(const float* x, float* y, float scale, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = x[i];
    PTXGRAFT_SITE("activation", "", mod(f32, value), in(f32, scale));
    y[i] = value;
}
"""
ENDLESS = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry endless() { L: bra L; }\n"


@functools.lru_cache(None)
def emulator() -> ptxgraft.Device:
    return ptxgraft.Device("emulator")


@functools.lru_cache(None)
def skeleton() -> ptxgraft.Skeleton:
    return ptxgraft.Skeleton.from_cuda(SOURCE, target="sm_90a")


@functools.lru_cache(None)
def kernel() -> ptxgraft.Kernel:
    """y = x * scale"""
    return skeleton().graft({"activation": "value scale mul.f32 -> value"}, emulator())


def skip_file(reason: str) -> None:
    """What the file tests is not here: ctest says that it was skipped."""
    print("skipped:", reason)
    sys.exit(77)


class Case(unittest.TestCase):
    def assertFails(self, code: str, contains: str, function, *arguments, **options) -> ptxgraft.Error:
        with self.assertRaises(ptxgraft.Error) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(contains, str(caught.exception))
        return caught.exception
