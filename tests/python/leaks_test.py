"""The memory of the process does not grow with what was done in it: 100,000 grafts, machine code from a cache, errors, launches, batches."""

import gc
import unittest

import numpy as np
import ptxgraft
from support import Case, emulator, kernel, skeleton

PAGE = 4096
MOST = 6 << 20  # bytes that may come beyond what the warm-up took: fragments of the heap; 60 bytes for each graft are more


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


class Leaks(Case):
    def assertBounded(self, work, count):
        """A tenth of the work is the warm-up."""
        for i in range(count // 10):
            work(i)
        before = resident()
        for i in range(count):
            work(i)
        self.assertLess(resident() - before, MOST)

    def test_a_hundred_thousand_grafts(self):
        site = skeleton().site("activation")

        def graft(i):
            stub = site.stub(f"value {i}.0 add.f32 -> value")
            self.assertEqual(skeleton().graft({"activation": stub}, emulator()).entry, "apply")

        self.assertBounded(graft, 100_000)

    def test_machine_code_from_a_cache(self):
        options = ptxgraft.GraftOptions(cache=ptxgraft.Cache())
        stubs = [skeleton().site("activation").stub(f"value {i}.0 add.f32 -> value") for i in range(16)]
        self.assertBounded(lambda i: skeleton().assemble({"activation": stubs[i % 16]}, options=options).functions, 20_000)
        self.assertLess(options.cache.counters().misses, 100)

    def test_errors(self):
        def fail(i):
            with self.assertRaises(ptxgraft.Error):
                skeleton().site("activation").stub(f"value nothing{i} add.f32 -> value")
            with self.assertRaises(ptxgraft.Error):
                skeleton().render({f"site{i}": "value -> value"})

        self.assertBounded(fail, 10_000)

    def test_launches_over_arrays(self):
        x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)

        def launch(i):
            kernel().launch(1, 64, x, y, 1.0, 64)
            emulator().upload(x)

        self.assertBounded(launch, 1_000)

    def test_batches_and_programs(self):
        machine = ptxgraft.stack.Machine("mod f32 value, in f32 scale")
        sampler = ptxgraft.stack.Sampler(machine)

        def batch(i):
            programs = [sampler.draw(3, seed=1, stream=8 * i + k) for k in range(8)]
            skeleton().graft_many(
                [{"activation": program.stub(ptxgraft.stack.MUTATED)} for program in programs], emulator(), progress=len_of
            )

        self.assertBounded(batch, 200)


def len_of(done, total):
    return total


if __name__ == "__main__":
    unittest.main()
