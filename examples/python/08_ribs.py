"""An archive of pyribs illuminates stack programs: for each number of instructions, how near to x * sigmoid(x) can one come?"""

import sys

try:
    from ribs.archives import GridArchive
    from ribs.emitters import GaussianEmitter
    from ribs.schedulers import Scheduler
except ImportError:
    print("skipped: no pyribs")
    sys.exit(77)
import numpy as np
import ptxgraft
from ptxgraft import stack

MOST = 12  # instructions
INSTRUCTION = np.dtype([("opcode", "u1"), ("type", "u1"), ("index", "u2"), ("payload", "u4")])

device = ptxgraft.Device("emulator", process_memory=True)
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
forms = stack.Set.from_text("add.f32\nmul.f32\nsub.f32\nmax.f32\nmin.f32")
machine = stack.Machine("in f32 x, out f32 y", forms)
x = np.linspace(-2, 2, 101, dtype=np.float32)
wanted = x / (1 + np.exp(-x))


def program(solution: np.ndarray) -> stack.Program:
    """Of each instruction a number in 0..3 says whether it is an input, a constant or a form, and the other which."""
    kind, value = solution.reshape(MOST, 2).T
    code = np.zeros(MOST, INSTRUCTION)
    code["opcode"] = np.clip(kind, 0, 2.99).astype(int)
    code["type"] = np.where(code["opcode"] == 1, 14, 0)  # an f32
    code["index"] = np.where(code["opcode"] == 2, np.abs(value * len(forms.entries)).astype(int) % len(forms.entries), 0)
    code["payload"] = np.where(code["opcode"] == 1, value.astype(np.float32).view(np.uint32), 0)
    return machine.from_code(code)


def judged(solution: np.ndarray) -> tuple[float, int]:
    """What it costs, the largest error, and its live instructions."""
    made = program(solution)
    error = np.abs(ptxgraft.evaluate(made, x=x)["y"] - wanted).max()
    return -float(min(np.nan_to_num(error, nan=1e3), 1e3)), len(made.live())


archive = GridArchive(solution_dim=2 * MOST, dims=[MOST + 1], ranges=[(-0.5, MOST + 0.5)], seed=1)
emitters = [GaussianEmitter(archive, sigma=sigma, x0=np.ones(2 * MOST), batch_size=64, seed=seed) for seed, sigma in enumerate((0.05, 0.5))]
scheduler = Scheduler(archive, emitters)
for _ in range(80):
    found = [judged(solution) for solution in scheduler.ask()]
    scheduler.tell(np.array([objective for objective, _ in found]), np.array([[length] for _, length in found]))

for elite in sorted(archive, key=lambda elite: float(elite["measures"][0])):
    print(f"{elite['measures'][0]:3.0f} instructions: error {-elite['objective']:.4f}, {program(elite['solution']).simplified()}")
best = archive.best_elite
y = np.zeros_like(x)  # where the kernel writes: the device's memory is that of NumPy
skeleton.graft({"function": program(best["solution"]).stub(stack.MUTATED)}, device).launch(1, 128, x, y, x.size)
assert abs(np.abs(y - wanted).max() + best["objective"]) < 1e-6
print(f"on the emulator the best one has the error {np.abs(y - wanted).max():.4f}, as evaluated")
