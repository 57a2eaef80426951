"""Pools on actors of a local Ray: what is killed, a worker or an actor, loses no variant and counts none twice."""

import logging
import os
import pathlib
import signal
import threading
import time
import unittest

from support import Case, skip_file

try:
    import ray
except ImportError:
    skip_file("no Ray")
import ptxgraft
import ptxgraft.ray

SQUARE = {"function": {"expr": "y = x * x + 1"}}
WORKLOAD = {
    "template": "elementwise/simple",
    "shapes": [{"n": 1025}],
    "wanted": SQUARE,
    "baseline": SQUARE,
    "relative": 1e-6,
    "absolute": 1e-6,
}
LIMITS = {"spares": 0, "load_ms": 60000, "launch_ms": 60000}
simple = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")


def rendered(i):
    """Every third one is right; of each other the error tells which it is."""
    return simple.render({"function": f"x x mul.f32 {1 if i % 3 == 0 else 2 + i}.0 add.f32 -> y"})


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(process):
    """The processes that are a process's own, by /proc."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def eventually(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def setUpModule():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)


def tearDownModule():
    ray.shutdown()


class Pools(Case):
    @classmethod
    def setUpClass(cls):
        cls.variants = [rendered(i) for i in range(36)]
        with ptxgraft.Pool(["emulator"], **LIMITS) as pool:
            cls.wanted = pool.check(WORKLOAD, cls.variants)
        cls.pool = ptxgraft.ray.Pool(2, ["emulator"], tries=8, **LIMITS)

    @classmethod
    def tearDownClass(cls):
        cls.pool.close()

    def processes(self):
        return [ray.get(actor.process.remote()) for actor in self.pool.actors]

    def check_while(self, disturb):
        """All variants are checked, and as soon as the first results are there, something is disturbed."""
        before, results = self.pool.report().checks, []
        for batch in self.pool.check_batches(WORKLOAD, (self.variants[i : i + 3] for i in range(0, len(self.variants), 3))):
            results += batch
            if len(results) == 3:
                disturb()
        self.assertEqual(results, self.wanted)
        self.assertEqual(self.pool.report().checks - before, len(self.variants))

    def test_results_are_those_of_a_pool_here(self):
        self.assertEqual({check.outcome for check in self.wanted}, {"right", "wrong"})
        self.assertEqual(len({check.got for check in self.wanted if check.outcome == "wrong"}), 24)
        self.assertEqual(self.pool.check(WORKLOAD, self.variants), self.wanted)
        self.assertEqual(self.pool.check(WORKLOAD, self.variants[:5], batch=2), self.wanted[:5])
        self.assertEqual(self.pool.check(WORKLOAD, []), [])
        self.assertEqual(list(self.pool.check_batches(WORKLOAD, [[], self.variants[:1], []])), [[], self.wanted[:1], []])

    def test_workers_and_health(self):
        self.assertEqual([worker.device for worker in self.pool.workers], ["emulator"] * 2)
        self.assertEqual([check.outcome for check in self.pool.check_health(WORKLOAD)], ["right"] * 2)

    def test_a_worker_is_killed(self):
        actor, before = self.processes()[0], self.pool.restarts
        killed = set()

        def kill():
            killed.update(children(actor))
            for worker in killed:
                os.kill(worker, signal.SIGKILL)

        self.check_while(kill)
        self.assertGreaterEqual(len(killed), 1)
        self.assertEqual(self.pool.restarts, before)  # it was the pool's business: others work in the same actor
        self.assertEqual(self.processes()[0], actor)
        self.assertTrue(eventually(lambda: set(children(actor)) - killed))

    def test_an_actor_is_killed_by_ray(self):
        before = self.pool.restarts
        self.check_while(lambda: ray.kill(self.pool.actors[0]))
        self.assertEqual(self.pool.restarts, before + 1)

    def test_the_process_of_an_actor_is_killed_and_its_workers_end(self):
        process = self.processes()[1]
        workers, before = children(process), self.pool.restarts
        self.assertGreaterEqual(len(workers), 1)
        self.check_while(lambda: os.kill(process, signal.SIGKILL))
        self.assertEqual(self.pool.restarts, before + 1)
        self.assertTrue(eventually(lambda: not any(map(is_running, workers))))

    def test_all_actors_are_killed_while_threads_check(self):
        before, found = self.pool.report().checks, {}

        def check(name):
            found[name] = self.pool.check(WORKLOAD, self.variants, batch=4)

        threads = [threading.Thread(target=check, args=(name,)) for name in range(2)]
        for thread in threads:
            thread.start()
        self.assertTrue(eventually(lambda: self.pool.report().checks > before))
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        for thread in threads:
            thread.join()
        self.assertEqual(found, {0: self.wanted, 1: self.wanted})
        self.assertEqual(self.pool.report().checks - before, 2 * len(self.variants))

    def test_a_search_asks_while_batches_are_checked(self):
        search = ptxgraft.search.Search(
            {
                "signature": "in f32 x, out f32 y, in u32 index",
                "set": ["add.f32", "mul.f32"],
                "reference": "y = x * x + 1",
                "bound": 1e-6,
                "inputs": {"x": {"from": -2, "to": 2, "count": 16}, "index": {"from": 0, "to": 15, "count": 16}},
                "axes": {"instructions": [1, 2, 4, 8]},
                "options": {"block": 64, "islands": 1},
                "budget": {"candidates": 1000},
            },
            seed=1,
        )
        asked = []

        def batches():
            while len(asked) < 8 and (candidates := search.ask(8)):
                asked.append(candidates)
                yield [simple.render({"function": program.stub(ptxgraft.stack.MUTATED)}) for program in candidates.programs()]

        told = 0
        for results in self.pool.check_batches(WORKLOAD, batches()):
            candidates = asked[told]
            self.assertEqual(len(results), len(candidates))
            search.tell(
                candidates, costs=[min(check.worst, 1e30) for check in results], descriptors=[[1.0] * len(search.axes)] * len(results)
            )
            told += 1
            if told == 2:
                ray.kill(self.pool.actors[0])
        self.assertEqual(told, 8)
        self.assertEqual(search.ledger["judged"], 64)


class Wrong(Case):
    def test_what_cannot_be_opened(self):
        self.assertFails("measure_worker_failed", "abacus", ptxgraft.ray.Pool, 1, ["abacus"])
        with self.assertRaisesRegex(TypeError, "no limit 'patience'"):
            ptxgraft.ray.Pool(1, ["emulator"], patience=3)
        self.assertFails("argument_invalid", "not one string", ptxgraft.ray.Pool, 1, "emulator")

    def test_an_actor_that_is_lost_each_time(self):
        with ptxgraft.ray.Pool(1, ["emulator"], tries=2, **LIMITS) as pool:
            done = threading.Event()

            def kill():
                killed = None
                while not done.wait(0.01):
                    actor = pool.actors[0]
                    if actor is not killed:
                        ray.kill(actor)
                        killed = actor

            thread = threading.Thread(target=kill)
            thread.start()
            first, second = pool.check(WORKLOAD, [rendered(0), rendered(1)], batch=2)
            done.set()
            thread.join()
            self.assertEqual((first.code, second.code), ("measure_worker_failed",) * 2)
            self.assertIn("2 actors of Ray were lost", str(first))
            self.assertEqual(pool.report().checks, 0)

    def test_machine_code_and_a_closed_pool(self):
        with ptxgraft.ray.Pool(1, ["emulator"], **LIMITS) as pool:
            code = simple.assemble({})
            self.assertFails("argument_invalid", "stays in its process", pool.check, WORKLOAD, [ptxgraft.Variant(rendered(0), None, code)])
            self.assertIsInstance(pool.check("{", [rendered(0)])[0], ptxgraft.Error)
        self.assertFails("argument_invalid", "closed", pool.check, WORKLOAD, [rendered(0)])


if __name__ == "__main__":
    unittest.main()
