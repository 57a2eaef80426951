"""A search by ask and tell: which program is abs(x)? The judge is NumPy."""

import numpy as np
import ptxgraft
from ptxgraft import search

TASK = {
    "signature": "in f32 x, out f32 y",
    "set": ["add.f32", "sub.f32", "mul.f32", "max.f32", "min.f32", "neg.f32"],
    "reference": "y = abs(x)",
    "bound": 1e-6,
    "inputs": {"x": {"from": -2, "to": 2, "count": 65}},
    "axes": {"instructions": [1, 2, 3, 4, 6, 8]},
    "options": {"block": 128, "islands": 1},
    "budget": {"candidates": 100_000},
}
x = np.linspace(-2, 2, 65, dtype=np.float32)
wanted = np.abs(x)

running = search.Search(TASK, seed=3)
best = None
while best is None or best.cost > 0:
    candidates = running.ask(128)
    programs = candidates.programs()
    errors = np.array([np.abs(np.nan_to_num(ptxgraft.evaluate(p, x=x)["y"], nan=1e9) - wanted) for p in programs], np.float32)
    errors = np.minimum(errors, 1e9)
    lengths = np.array([len(program.live()) for program in programs])
    descriptors = np.column_stack([lengths if axis == "instructions" else errors.max(axis=1) for axis in running.axes])
    running.tell(candidates, costs=errors.sum(axis=1), errors=errors, descriptors=descriptors)
    best = running.best()
print(f"{running.ledger['judged']} candidates; the best: {best.programs[0].simplified()}")
assert best.cost == 0
