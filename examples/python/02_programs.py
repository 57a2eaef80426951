"""Random programs: compiled many at once from their bytes, evaluated on the CPU, and the same on the emulator."""

import numpy as np
import ptxgraft
from ptxgraft import stack

device = ptxgraft.Device("emulator")
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target=device.target)
machine = stack.Machine(skeleton.site("function"), stack.Set.from_text("add.f32\nmul.f32\nsub.f32\nmax.f32\nneg.f32"))

# 10,000 programs of 12 instructions of 8 bytes: an operand, a constant or a form of the set. Whatever they are, they compile.
random = np.random.default_rng(1)
genes = np.zeros((10_000, 12), [("opcode", "u1"), ("type", "u1"), ("index", "u2"), ("payload", "u4")])
genes["opcode"], genes["type"] = random.choice([0, 1, 2, 2], genes.shape), 14  # an f32
genes["index"] = np.where(genes["opcode"] == 2, random.integers(0, 5, genes.shape), 0)
genes["payload"] = np.where(genes["opcode"] == 1, random.standard_normal(genes.shape).astype(np.float32).view(np.uint32), 0)
compiled = stack.compile_many(machine, genes, options=stack.MUTATED._replace(hash=True))
print(f"{len(compiled)} programs are {len(np.unique(compiled.hashes))} functions")

sampler = stack.Sampler(machine)
x = np.linspace(-2, 2, 64, dtype=np.float32)
for number in range(3):
    program = sampler.draw(4, seed=7, stream=number)
    evaluated = ptxgraft.evaluate(program, x=x, index=np.arange(x.size, dtype=np.uint32))["y"]
    launched = np.empty_like(x)
    skeleton.graft({"function": program.stub(stack.MUTATED)}, device).launch(1, 64, x, launched, x.size)
    np.testing.assert_array_equal(evaluated, launched)
    print(f"{program}: the same on the emulator")
