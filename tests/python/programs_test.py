"""Stack machines and programs, evaluation, many compiled at once, modules, templates, emission, searches."""

import unittest

import numpy as np
import ptxgraft
from ptxgraft import dsl, isa, search, stack, syntax, templates
from support import Case, skeleton

MACHINE = stack.Machine("in f32 x, mod f32 acc[2], out f32 y")


class Programs(Case):
    def test_registers_have_names(self):
        self.assertEqual([r.name for r in MACHINE.registers], ["x", "acc[0]", "acc[1]", "y"])
        self.assertEqual(MACHINE.signature, "in f32 x, mod f32 acc[2], out f32 y")

    def test_texts_and_bytes_are_one_program(self):
        program = MACHINE.parse("x acc[1] mul.f32 -> y")
        self.assertEqual(MACHINE.parse(str(program)), program)
        self.assertEqual(MACHINE.from_bytes(bytes(program)), program)
        self.assertEqual(MACHINE.from_code(program.code), program)
        self.assertFails("program_bytes_malformed", "", MACHINE.from_bytes, bytes(program)[:-1])
        self.assertFails("argument_invalid", "8 bytes", MACHINE.from_code, b"123")
        self.assertFails("stack_word_unknown", "nobody", MACHINE.parse, "nobody -> y")

    def test_dataflow(self):
        wasteful = MACHINE.parse("x 2.0 mul.f32 x 3.0 mul.f32 drop.f32 -> y")
        self.assertLess(wasteful.simplified().instruction_count, wasteful.instruction_count)
        self.assertEqual(wasteful.simplified().dataflow_hash(), wasteful.dataflow_hash())
        self.assertEqual(wasteful.stub().instruction_count, 1)

    def test_programs_of_a_site_become_stubs_of_it(self):
        machine = stack.Machine(skeleton().site("activation"))
        stub = machine.parse("value scale max.f32 -> value").stub()
        self.assertIn("max.f32", skeleton().render({"activation": stub}))


class Evaluation(Case):
    def test_columns_by_name(self):
        program = MACHINE.parse("x acc[0] mul.f32 acc[1] add.f32 -> y")
        x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
        out = ptxgraft.evaluate(program, {"x": x, "acc[0]": x + 1, "acc[1]": x * 0 + 2})
        np.testing.assert_array_equal(out["y"], x * (x + 1) + 2)
        self.assertEqual(sorted(out), ["acc[0]", "acc[1]", "y"])

    def test_wrong_columns(self):
        machine = stack.Machine("in f32 x, out f32 y")
        evaluator = ptxgraft.Evaluator(machine.parse("x -> y"))
        self.assertFails("argument_invalid", "not float64", evaluator, x=np.zeros(3))
        self.assertFails("argument_invalid", "x is missing", evaluator)
        self.assertFails("argument_invalid", "z is no input", evaluator, x=np.zeros(3, np.float32), z=1)

    def test_programs_differ_at_an_input(self):
        machine = stack.Machine("in u16 x, out u16 y")
        found = ptxgraft.find_difference(machine.parse("x x add.u16 -> y"), machine.parse("x x mul.lo.u16 -> y"))
        self.assertNotEqual(found.expected, found.result)


class Many(Case):
    machine = stack.Machine("in f32 x, out f32 y")

    def test_rows_of_any_bytes_are_programs(self):
        genes = np.random.default_rng(3).integers(0, 256, (500, 80), np.uint8)
        compiled = stack.compile_many(self.machine, genes, options=stack.MUTATED._replace(hash=True))
        for i in 0, 77, 499:
            alone = self.machine.from_code(genes[i].tobytes())
            self.assertEqual(compiled.ptx(i).strip(), alone.stub(stack.MUTATED).ptx.strip())
            self.assertEqual(int(compiled.hashes[i]), alone.dataflow_hash())
        self.assertEqual(len(compiled.text), int(compiled.text_offsets[-1]))

    def test_a_wrong_program_has_its_own_error(self):
        programs = [bytes(self.machine.parse("x -> y").code), self.machine.parse("x -> y").code[:0], b"\x02" * 8]
        offsets = np.cumsum([0] + [len(p) for p in programs])
        compiled = stack.compile_many(self.machine, b"".join(programs), offsets, options=stack.CompileOptions())
        self.assertEqual([bool(s) for s in compiled.statuses], [False, True, True])
        self.assertRaises(ptxgraft.Error, compiled.ptx, 1)
        self.assertFails("argument_invalid", "offsets", stack.compile_many, self.machine, b"12345678", [0, 16])


class Modules(Case):
    def test_edits_and_findings(self):
        module = syntax.Module(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry f() { .reg .f32 %f<3>; add.f32 %f1, %f2, %f2; ret; }")
        add = next(s for s in module.walk() if s.name == "add.f32")
        self.assertEqual((add.operands, add.line, add.parent.name), (("%f1", "%f2", "%f2"), 4, "f"))
        add.set_operand(2, "%f9")
        self.assertEqual([d.code for d in module.verify()], ["name_undeclared"])
        add.remove()
        self.assertEqual(module.verify(), ())
        self.assertEqual([d.line for d in isa.verify(".version 9.0\n???")][:1], [2])


class Emission(Case):
    def test_what_does_not_exist_is_an_error(self):
        k = dsl.Emitter("sm_80").entry("f")
        self.assertFails("modifier_not_allowed", "", k.emit, "add.sat.f64", k.register("f64"), 1.0, 2.0)

    def test_what_a_body_raises_comes_out(self):
        k = dsl.Emitter("sm_80").entry("f")
        x = k.register("f32")

        def body(builder):
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, k.site, "s", dsl.Operand("mod", "f32", "x", x), body=body)


class Searches(Case):
    TASK = {
        "signature": "in f32 x, out f32 y", "set": "f32", "reference": "y = max(x, 0) * 2", "bound": 1e-6,
        "inputs": {"x": {"from": -2, "to": 2, "count": 65}}, "axes": {"instructions": [1, 2, 3, 4]},
        "options": {"block": 128, "islands": 1}, "budget": {"candidates": 3000},
    }  # fmt: skip

    @staticmethod
    def descriptor(of, program):
        return [len(program.live()) if axis == "instructions" else 0 for axis in of.axes]

    @staticmethod
    def values(program, x):
        try:
            return np.nan_to_num(ptxgraft.evaluate(program, x=x)["y"], nan=1e9, posinf=1e9, neginf=-1e9)
        except ptxgraft.Error:  # it reads a special register
            return np.full_like(x, 1e9)

    def test_ask_and_tell(self):
        tasks = search.Search({k: v for k, v in self.TASK.items() if k != "reference"} | {"reference": "y = x"}, seed=1)
        x = np.linspace(-2, 2, 65, dtype=np.float32)
        wanted = np.maximum(x, 0) * 2
        for _ in range(4):
            candidates = tasks.ask(64)
            programs = candidates.programs()
            outs = [self.values(program, x) for program in programs]
            errors = np.abs(np.array(outs) - wanted).astype(np.float32)
            tasks.tell(candidates, costs=errors.sum(axis=1), errors=errors, descriptors=[self.descriptor(tasks, p) for p in programs])
        self.assertGreater(len(tasks.elites()), 0)
        self.assertIn("<table>", tasks._repr_html_())
        self.assertFails("argument_invalid", "shape", tasks.tell, tasks.ask(4), costs=[1.0])

    def test_a_run_with_the_tasks_own_gates(self):
        seen = []
        summary = search.Search(self.TASK, seed=2).run(candidates=2000, threads=1, progress=seen.append)
        self.assertGreaterEqual(summary.judged, 1000)
        self.assertTrue(seen)

        def fail(ledger):
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, search.Search(self.TASK).run, candidates=2000, progress=fail)


class Templates(Case):
    def test_names_and_tunables(self):
        self.assertIn("gemm/simt", templates.names())
        gemm = templates.Template("gemm/simt")
        self.assertEqual(gemm.description["name"], "gemm/simt")
        self.assertEqual(gemm.tunables(), gemm.tunables({}))
        self.assertFails("template_unknown", "gemm/simt", templates.Template, "gemm/abacus")

    def test_a_value_is_one_value(self):
        gemm = templates.Template("gemm/mma")
        for given in {"type": "f16,stages=3"}, {"type=f16,stages": 3}:
            for use in gemm.tunables, lambda tunables: ptxgraft.Skeleton.from_template("gemm/mma", tunables):
                self.assertFails("argument_invalid", "no commas and equals signs", use, given)

    def test_what_is_of_another_type_is_a_type_error(self):
        simple = templates.Template("elementwise/simple")
        device = ptxgraft.Device("emulator")
        kernel, plan = simple.skeleton(target="sm_90a").graft({}, device), simple.plan({"n": 4})
        good = device.allocate(16)
        for call, wanted in (
            (lambda: plan.launch(kernel, [1, 2]), "1 is a int, and a ptxgraft.Buffer"),
            (lambda: plan.launch(kernel, [good, np.zeros(4, np.float32)]), "is a ndarray, and a ptxgraft.Buffer"),
            (lambda: plan.launch(kernel, [good, good], 7), "7 is a int, and a ptxgraft.Stream"),
            (lambda: simple.try_on(None, {"n": 4}), "None is a NoneType, and a ptxgraft.Device"),
            (lambda: simple.plan("n=4"), "'n=4' is a str, and a mapping"),
            (lambda: ptxgraft.Skeleton.from_template("gemm/mma", "x"), "'x' is a str, and a mapping"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(TypeError, wanted):
                call()

    def test_a_device_has_multiprocessors(self):
        self.assertFails("argument_invalid", "1 or more, not 0", templates.Template("elementwise/simple").plan, {"n": 4}, multiprocessors=0)

    def test_a_trial_of_nothing_but_nan_is_not_right(self):
        stubs = {"function": "x neg.f32 x mul.f32 -1.0 add.f32 sqrt.rn.f32 -> y"}
        trial = templates.Template("elementwise/simple").try_on(ptxgraft.Device("emulator"), {"n": 4}, stubs=stubs)
        self.assertEqual((trial.is_right, trial.wrong, trial.worst_tensor), (False, 4, "y"))


if __name__ == "__main__":
    unittest.main()
