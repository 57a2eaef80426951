"""A search whose candidates are checked as whole kernels by the actors of a Ray cluster: batch after batch, while it asks for others."""

import logging
import sys
from collections.abc import Iterator

try:
    import ray
except ImportError:
    print("skipped: no Ray")
    sys.exit(77)
import numpy as np
import ptxgraft
import ptxgraft.ray
from ptxgraft import search, stack

SQUARE = {"function": {"expr": "y = x * x * x + x"}}
WORKLOAD = {
    "template": "elementwise/simple",
    "shapes": [{"n": 1000}],
    "wanted": SQUARE,
    "baseline": SQUARE,
    "relative": 1e-6,
    "absolute": 1e-6,
}
TASK = {
    "signature": "in f32 x, out f32 y, in u32 index",
    "set": ["add.f32", "mul.f32"],
    "reference": "y = x * x * x + x",
    "bound": 1e-6,
    "inputs": {"x": {"from": -2, "to": 2, "count": 16}, "index": {"from": 0, "to": 15, "count": 16}},
    "axes": {"instructions": [1, 2, 3, 4, 6, 8]},
    "options": {"block": 32, "islands": 1},
    "budget": {"candidates": 100_000},
}
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
running = search.Search(TASK, seed=1)
asked: list[search.Candidates] = []


def batches() -> Iterator[list[str]]:
    """The kernels of candidates that wait for their results, as PTX."""
    while len(asked) < 100:
        candidates = running.ask(32)
        asked.append(candidates)
        yield [skeleton.render({"function": program.stub(stack.MUTATED)}) for program in candidates.programs()]


def cost(result: ptxgraft.ray.Result) -> float:
    """How far the kernel is from what is right, in parts of what is allowed; right ones cost nothing."""
    if isinstance(result, ptxgraft.Error) or result.outcome not in ("right", "wrong"):
        return 1e30
    return 0.0 if result.outcome == "right" else float(np.nan_to_num(result.worst, nan=1e30, posinf=1e30))


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)  # or that of a cluster: address="auto"
with ptxgraft.ray.Pool(2, ["emulator"], launch_ms=60_000) as pool:
    for number, results in enumerate(pool.check_batches(WORKLOAD, batches())):
        candidates = asked[number]
        costs = [cost(result) for result in results]
        lengths = [len(program.live()) for program in candidates.programs()]
        descriptors = np.column_stack([lengths if axis == "instructions" else costs for axis in running.axes])
        running.tell(candidates, costs=costs, descriptors=descriptors)
        if number == 0:
            ray.kill(pool.actors[0])  # as if its node were gone: another actor checks what it had
        best = running.best()
        if best is not None and best.cost == 0:
            break
    report, restarts = pool.report(), pool.restarts
assert best is not None and best.cost == 0
print(
    f"{running.ledger['judged']} kernels told, {report.checks} checked, {restarts} actors lost; the best: {best.programs[0].simplified()}"
)
