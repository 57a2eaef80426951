"""Pools of workers that check variants, from Python."""

import json
import unittest

import ptxgraft
from support import Case

SQUARE = {"function": {"expr": "y = x * x + 1"}}
WORKLOAD = {
    "template": "elementwise/simple",
    "shapes": [{"n": 33}],
    "wanted": SQUARE,
    "baseline": SQUARE,
    "relative": 1e-6,
    "absolute": 1e-6,
}
simple = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")


def rendered(program: str) -> str:
    return simple.render({"function": program})


RIGHT = rendered("x x mul.f32 1.0 add.f32 -> y")


class Pools(Case):
    @classmethod
    def setUpClass(cls):
        cls.pool = ptxgraft.Pool(["emulator"], spares=1, load_ms=60000, launch_ms=60000)

    @classmethod
    def tearDownClass(cls):
        cls.pool.close()

    def test_each_variant_has_its_outcome(self):
        variants = [RIGHT, ptxgraft.Variant(rendered("x -> y"), "elementwise"), "garbage", ptxgraft.Variant(RIGHT, "nobody")]
        right, wrong, garbage, nobody = self.pool.check(WORKLOAD, variants)
        self.assertEqual((right.outcome, right.code, right.message), ("right", "ok", ""))
        self.assertGreater(right.cases, 0)
        self.assertGreater(right.instructions, 0)
        self.assertLessEqual(right.worst, 1)
        self.assertEqual((wrong.outcome, wrong.tensor, wrong.shape), ("wrong", "y", 0))
        self.assertGreater(wrong.worst, 1)
        self.assertGreater(abs(wrong.got - wrong.wanted), wrong.allowed)
        self.assertIn(wrong.regime, ("usual", "large", "constant", "special"))
        self.assertEqual(garbage.outcome, "rejected")
        self.assertNotEqual(garbage.code, "ok")
        self.assertNotEqual(garbage.message, "")
        self.assertEqual(nobody.outcome, "rejected")

    def test_a_variant_that_leaves_its_tensors_and_one_that_never_ends(self):
        store, step = "st.global.f32 \t[%rd16]", "add.s64 \t%rd17, %rd17, %rd4;"
        self.assertIn(store, RIGHT)
        self.assertIn(step, RIGHT)
        out, hang, right = self.pool.check(
            json.dumps(WORKLOAD), [RIGHT.replace(store, store[:-1] + "+4096]"), RIGHT.replace(step, ""), RIGHT]
        )
        self.assertEqual((out.outcome, out.code), ("out_of_bounds", "address_out_of_bounds"))
        self.assertIn("st.global.f32", out.message)
        self.assertEqual((hang.outcome, hang.code), ("hang", "instruction_budget_spent"))
        self.assertEqual(right.outcome, "right")

    def test_what_is_no_variants_fault_is_an_error_in_its_place(self):
        first, second = self.pool.check("{", [RIGHT, RIGHT])
        self.assertIsInstance(first, ptxgraft.Error)
        self.assertIsInstance(second, ptxgraft.Error)
        self.assertEqual(self.pool.check(WORKLOAD, []), [])

    def test_health_workers_and_report(self):
        (worker,) = self.pool.workers
        self.assertEqual((worker.device, worker.library), ("emulator", ptxgraft.library_version()))
        (health,) = self.pool.check_health(WORKLOAD)
        self.assertEqual(health.outcome, "right")
        before = self.pool.report()
        self.pool.check(WORKLOAD, [RIGHT, RIGHT])
        after = self.pool.report()
        self.assertEqual(after.checks - before.checks, 2)
        self.assertEqual((after.deaths, after.sick_devices), (0, 0))


class Wrong(Case):
    def test_what_does_not_start(self):
        self.assertFails("measure_worker_failed", "/nowhere/ptxgraft", ptxgraft.Pool, ["emulator"], command=["/nowhere/ptxgraft"])
        self.assertFails("measure_worker_failed", "", ptxgraft.Pool, ["abacus"])
        with self.assertRaisesRegex(TypeError, "no limit 'patience'; there are .*launch_ms"):
            ptxgraft.Pool(["emulator"], patience=3)
        self.assertFails("argument_invalid", "not one string", ptxgraft.Pool, "emulator")

    def test_a_closed_pool(self):
        with ptxgraft.Pool(["emulator"], spares=0) as pool:
            pass
        self.assertFails("argument_invalid", "the pool is closed", pool.check, WORKLOAD, [RIGHT])


if __name__ == "__main__":
    unittest.main()
