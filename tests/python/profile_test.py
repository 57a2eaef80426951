"""Profiles of launches on the emulator, from Python."""

import unittest

import numpy as np
import ptxgraft
from support import Case, skeleton

STRIDED = """extern "C" __global__ void f(const float* x, float* y) {
    __shared__ float s[32 * 32];
    s[threadIdx.x * 32] = x[threadIdx.x * 8];
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x * 32];
}"""


class Profiles(Case):
    def setUp(self):
        self.device = ptxgraft.Device("emulator", profile=True)

    def launch(self, blocks=1):
        kernel = skeleton().graft({"activation": "value scale mul.f32 -> value"}, self.device)
        kernel.launch(blocks, 64, np.ones(64 * blocks, np.float32), np.zeros(64 * blocks, np.float32), 2.0, 64 * blocks)

    def test_counts_of_each_line(self):
        self.launch()
        profile = self.device.profile()
        (store,) = [line for line in profile.lines if line.instruction.startswith("st.global")]
        self.assertEqual((store.warps, store.lanes, store.global_size), (2, 64, 256))
        self.assertEqual((store.sectors, store.ideal_sectors), (8, 8))
        self.assertEqual([line.line for line in profile.lines], sorted(line.line for line in profile.lines))
        self.assertEqual(sum(line.warps for line in profile.lines), sum(one.warps for one in profile.classes))
        self.assertEqual({one.name: one.global_size for one in profile.classes}["global store"], 256)
        self.launch()
        self.assertEqual(sum(line.warps for line in profile.lines), sum(one.warps for one in profile.classes), "it never changes")

    def test_bank_conflicts_and_sectors(self):
        ptxgraft.Skeleton.from_cuda(STRIDED).graft({}, self.device).launch(1, 32, np.ones(256, np.float32), np.zeros(32, np.float32))
        profile = self.device.profile()
        (load,) = [line for line in profile.lines if line.instruction.startswith("ld.global")]
        self.assertEqual((load.sectors, load.ideal_sectors), (32, 4))
        self.assertTrue(all(line.wavefronts == 32 and line.ideal_wavefronts == 1 for line in profile.lines if line.shared_size))
        self.assertTrue(any(line.shared_size for line in profile.lines))
        text = profile._repr_html_()
        self.assertIn("32 (4)", text)
        self.assertIn("32 (1)", text)

    def test_html_and_an_empty_profile(self):
        self.launch()
        profile = self.device.profile()
        text = profile._repr_html_()
        self.assertEqual(text.count("<tr>"), len(profile.lines) + len(profile.classes) + 2)
        self.assertIn(f"{sum(line.warps for line in profile.lines)} warp instructions", text)
        self.device.clear_profile()
        empty = self.device.profile()
        self.assertEqual((empty.lines, empty.classes), ((), ()))
        self.assertIn("<caption>0 warp instructions", empty._repr_html_())

    def test_a_device_without(self):
        self.assertFails("argument_invalid", "keeps no profile", ptxgraft.Device("emulator").profile)

    def test_occupancy(self):
        kernel = skeleton().graft({}, ptxgraft.Device("emulator:sm_90"))
        self.assertEqual([kernel.occupancy(threads) for threads in (64, 1024)], [32, 2])
        self.assertEqual(kernel.occupancy(64, 100 << 10), 2)


if __name__ == "__main__":
    unittest.main()
