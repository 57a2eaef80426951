"""Many threads on one skeleton, device and kernel; and Ctrl-C."""

import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import ptxgraft
from support import ENDLESS, Case, emulator, kernel, skeleton


def in_threads(count, work):
    failed = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


class Threads(Case):
    def test_threads_graft_and_launch_at_once(self):
        def work(number):
            for i in range(10):
                made = skeleton().graft({"activation": f"value {number}.0 add.f32 {i}.0 mul.f32 -> value"}, emulator())
                x, y = np.ones(8, np.float32), np.empty(8, np.float32)
                made.launch(1, 8, x, y, 0.0, 8)
                np.testing.assert_array_equal(y, (1 + np.float32(number)) * i)

        in_threads(8, work)

    def test_one_kernel_in_many_threads(self):
        def work(number):
            for i in range(50):
                x, y = np.full(8, i, np.float32), np.empty(8, np.float32)
                kernel().launch(1, 8, x, y, float(number), 8)
                np.testing.assert_array_equal(y, np.float32(i) * number)

        in_threads(8, work)

    def test_errors_are_the_threads_own(self):
        def work(number):
            for _ in range(50):
                self.assertFails("stack_word_unknown", f"word_{number} ", skeleton().site("activation").stub, f"word_{number} -> value")

        in_threads(4, work)

    def test_other_threads_run_while_the_library_works(self):
        endless = ptxgraft.Skeleton.from_ptx(ENDLESS).graft({}, emulator())
        thread = threading.Thread(target=lambda: self.assertFails("time_limit_spent", "", endless.launch, 1, 1, time_limit_ms=500))
        thread.start()
        steps = 0
        while thread.is_alive():
            steps += 1
            time.sleep(0.001)
        self.assertGreater(steps, 20)


CHILD = f"""
import ptxgraft, signal, sys
if "--alarm" in sys.argv:
    def ring(number, frame):
        raise TimeoutError("rang")
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
kernel = ptxgraft.Skeleton.from_ptx({ENDLESS!r}).graft({{}}, ptxgraft.Device("emulator"))
print("ready", flush=True)
try:
    kernel.launch(1, 1)
except BaseException as error:
    print(type(error).__name__)
"""


class Interrupts(Case):
    def test_ctrl_c_ends_a_launch(self):
        child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(0.3)
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=60)[0], "KeyboardInterrupt\n")

    def test_what_another_handler_raises_comes_out_of_the_launch(self):
        child = subprocess.run([sys.executable, "-c", CHILD, "--alarm"], capture_output=True, text=True, timeout=60)
        self.assertEqual(child.stdout, "ready\nTimeoutError\n", child.stderr)

    def test_what_a_handler_raises_comes_out_of_a_batch_and_a_search(self):
        """Whether it runs within what is called for each result, or as that begins."""

        def ring(number, frame):
            raise TimeoutError("rang")

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, ring))
        programs = [{"activation": f"value scale mul.f32 {i}.5 add.f32 -> value"} for i in range(5000)]
        seen = []
        task = {"signature": "in u32 x, out u32 y", "set": ["add.u32", "xor.b32"], "reference": "y = x * x * 3u", "genes": 16}
        task["inputs"] = {"x": {"words": 1, "count": 64}}
        search = ptxgraft.search.Search(task, seed=1)
        long_task = dict(task, enumerate={"instructions": 16, "trials": 10**15})
        for long_call in (
            lambda: ptxgraft.search.Search(long_task),
            lambda: skeleton().assemble_many(programs),
            lambda: skeleton().assemble_many(programs, on_result=lambda i, code: seen.append(i)),
            lambda: search.run(candidates=1 << 40),
        ):
            begin = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with self.assertRaisesRegex(TimeoutError, "rang"):
                long_call()
            self.assertLess(time.monotonic() - begin, 60)
        self.assertLess(len(seen), len(programs))

    def interrupted(self, call) -> float:
        """Seconds from a signal, whose handler raises, to the end of the call."""
        rang = []

        def ring(number, frame):
            rang.append(time.monotonic())
            raise TimeoutError("rang")

        before = signal.signal(signal.SIGALRM, ring)
        try:
            begin = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaisesRegex(TimeoutError, "rang"):
                call()
            return time.monotonic() - begin - 0.3
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_what_a_handler_raises_comes_out_of_a_search_of_all_inputs(self):
        machine = ptxgraft.stack.Machine("in u32 x, out u32 y")
        program = machine.parse("x " + "x mul.lo.u32 " * 60 + "-> y")
        self.assertLess(self.interrupted(lambda: ptxgraft.find_difference(program, program)), 2)

    def test_what_a_handler_raises_comes_out_of_a_pools_check(self):
        wanted = {"function": {"expr": "y = x * x + 1"}}
        workload = {"template": "elementwise/simple", "shapes": [{"n": 33}], "wanted": wanted, "baseline": wanted}
        right = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a").render({"function": "x x mul.f32 1.0 add.f32 -> y"})
        with ptxgraft.Pool(["emulator"], spares=0) as pool:
            self.assertLess(self.interrupted(lambda: pool.check(workload, [right] * 100000)), 2)
            done = pool.report().checks
            self.assertLess(done, 100000)
            (check,) = pool.check(workload, [right])  # the pool goes on
            self.assertEqual(check.outcome, "right")
            self.assertEqual(pool.report().checks, done + 1)
            slow = {**workload, "shapes": [{"n": 1 << 22}]}
            self.assertLess(self.interrupted(lambda: pool.check(slow, [right])), 2)
        self.assertTrue(pool.is_closed)  # though a worker may still be at it
        self.assertFails("argument_invalid", "the pool is closed", pool.check, workload, [right])


if __name__ == "__main__":
    unittest.main()
