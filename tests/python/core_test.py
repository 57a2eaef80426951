"""Skeletons, sites, stubs, grafts, kernels, batches and their errors."""

import pickle
import tempfile
import unittest

import numpy as np
import ptxgraft
from ptxgraft import GraftOptions, ManyOptions
from support import Case, emulator, kernel, skeleton


class Sites(Case):
    def test_a_site_says_what_it_is(self):
        site = skeleton().site("activation")
        self.assertEqual(site.signature, "mod f32 value, in f32 scale")
        self.assertEqual([o.register for o in site.operands], ["_value", "_scale"])
        self.assertEqual((site.copy_count, site.copies[0].function, site.copies[0].is_entry), (1, "apply", True))
        self.assertEqual(skeleton().entries, ("apply",))
        self.assertEqual(skeleton().target, "sm_90a")
        self.assertIn("value</td>", site._repr_html_())
        self.assertIn("activation", skeleton()._repr_html_())

    def test_an_unknown_site_is_an_error_that_names_the_others(self):
        self.assertFails("site_unknown", "activation", skeleton().site, "epilogue")
        self.assertFails("site_unknown", "activation", skeleton().graft, {"epilogue": "x"}, emulator())
        self.assertFails("argument_invalid", "a str is no mapping from sites", skeleton().graft, "value -> value", emulator())
        self.assertFails("argument_invalid", "a str is no ptxgraft.Device", skeleton().graft, {}, "emulator")

    def test_sites_allow_what_their_policy_says(self):
        site = ptxgraft.Skeleton.from_cuda(
            '#include <ptxgraft/site.cuh>\nextern "C" __global__ void f(float* p) { float x = p[0];\n'
            'PTXGRAFT_SITE_ALLOWING("s", "load store", "", mod(f32, x)); p[0] = x; }'
        ).site("s")
        self.assertEqual(site.allowed, ("load", "store"))


class Stubs(Case):
    def test_every_language(self):
        site = skeleton().site("activation")
        for text, language in (
            ("value scale mul.f32 -> value", "program"),
            ("value = value * scale", "expression"),
            ("mul.f32 value, value, scale;", "ptx"),
        ):
            self.assertEqual(site.stub(text, language=language).ptx.strip(), "mul.f32 _value, _value, _scale;" if language != "expression"
                             else "mul.rn.f32 _value, _value, _scale;")
        self.assertFails("argument_invalid", "expression, program, ptx", site.stub, "x", language="lisp")

    def test_an_error_has_its_place(self):
        error = self.assertFails("stack_word_unknown", "nothing", skeleton().site("activation").stub, "value\n  nothing add.f32 -> value")
        self.assertEqual((error.line, error.column, error.source_name), (2, 3, "program"))
        self.assertEqual(error.source, "value\n  nothing add.f32 -> value")
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((copy.code, copy.line, str(copy)), (error.code, error.line, str(error)))

    def test_constants_are_data(self):
        stub = skeleton().site("activation").stub("value = value * 0.5 + 0.25", language="expression", constants="data")
        self.assertEqual(stub.constants, (0x3F000000, 0x3E800000))
        self.assertEqual(stub.with_constants([1, 2]).constants, (1, 2))
        self.assertFails("constants_differ", "", stub.with_constants, [1])
        doubled = skeleton().graft({"activation": stub}, emulator())
        x, y = np.arange(4, dtype=np.float32), np.empty(4, np.float32)
        doubled.launch(1, 4, x, y, 0.0, 4)
        np.testing.assert_array_equal(y, x * 0.5 + 0.25)
        doubled.set_constants("activation", np.array([2, -1], np.float32).view(np.uint32).tolist())
        doubled.launch(1, 4, x, y, 0.0, 4)
        np.testing.assert_array_equal(y, x * 2 - 1)


class Grafts(Case):
    def test_a_kernel_says_what_it_is(self):
        self.assertEqual(kernel().entry, "apply")
        self.assertEqual([p.type for p in kernel().parameters], ["u64", "u64", "f32", "u32"])
        self.assertIn("mul.f32", kernel().ptx)
        self.assertGreater(kernel().attributes().threads_per_block, 0)
        self.assertGreaterEqual(kernel().times()["render"], 0)
        self.assertFails("machine_code_missing", "", lambda: kernel().cubin)
        self.assertIn("<table>", kernel()._repr_html_())

    def test_options_reach_the_assembler(self):
        stubs = {"activation": "value scale mul.f32 -> value"}
        code = skeleton().assemble(stubs, options=GraftOptions(route="call", target="sm_90a", routes={"activation": "inline"}))
        self.assertEqual([r.route for r in code.routes], ["inline"])
        self.assertEqual(code.image[:4], b"\x7fELF")
        self.assertGreater(code.functions[0].registers, 0)
        self.assertGreater(code.times()["assemble"], 0)
        self.assertIn(" ", code.assembler)
        self.assertFails("assemble_limit_exceeded", "registers", skeleton().assemble, stubs, options=GraftOptions(limits={"registers": 1}))
        self.assertFails("argument_invalid", "registers", skeleton().assemble, stubs, options=GraftOptions(limits={"heat": 1}))
        self.assertIn("call (ptxgraft", skeleton().render(stubs, options=GraftOptions(route="call")))
        self.assertIn("mul.f32", skeleton().render(stubs))

    def test_a_cache_keeps_machine_code(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = ptxgraft.Cache(folder)
            options = GraftOptions(cache=cache)
            levels = [skeleton().assemble({"activation": "value -> value"}, options=options).cache_level for _ in range(2)]
            self.assertEqual(levels, ["none", "memory"])
            self.assertEqual((cache.counters().misses, cache.counters().memory_hits), (2, 1))
            self.assertEqual(cache.on_disk().entries, 1)
            self.assertEqual(cache.clear().entries, 1)
            self.assertEqual(cache.memory().entries, 0)

    def test_many(self):
        candidates = [{"activation": f"value {i}.0 add.f32 -> value"} for i in range(5)]
        candidates[3] = {"activation": skeleton().site("activation").stub("value -> value"), "other": kernel_stub()}
        seen = {}
        kernels = skeleton().graft_many(candidates, emulator(), many=ManyOptions(threads=2), on_result=lambda i, r: seen.setdefault(i, type(r)))
        self.assertIsInstance(kernels[3], ptxgraft.Error)
        self.assertEqual(kernels[3].code, "site_unknown")
        self.assertEqual(seen, {i: ptxgraft.Error if i == 3 else ptxgraft.Kernel for i in range(5)})
        x, y = np.zeros(1, np.float32), np.empty(1, np.float32)
        for i in (0, 1, 2, 4):
            kernels[i].launch(1, 1, x, y, 0.0, 1)
            self.assertEqual(y[0], i)
        codes = skeleton().assemble_many(candidates[:2], many=ManyOptions(variants_per_module=2))
        self.assertEqual([code.image[:4] for code in codes], [b"\x7fELF"] * 2)

    def test_what_on_result_raises_ends_the_batch(self):
        def fail(index, result):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            skeleton().graft_many([{}, {}], emulator(), on_result=fail)

    def test_what_on_result_is_given_lasts_as_long_as_the_call(self):
        kept = []
        skeleton().graft_many([{}], emulator(), on_result=lambda i, k: kept.append(k))
        self.assertFails("argument_invalid", "the kernel is closed", lambda: kept[0].ptx)

    def test_prepare_measures(self):
        prepared = skeleton().prepare(options=GraftOptions(target="sm_90a"))
        self.assertTrue(prepared.not_linkable or prepared.link > 0)


class Devices(Case):
    def test_properties(self):
        self.assertEqual(emulator().properties()["compute_major"], 9)
        self.assertEqual(emulator().properties()["kind"], "emulator")
        self.assertFails("device_unknown", "", ptxgraft.Device, "toaster")
        emulator().check_health()

    def test_findings_are_reported(self):
        device = ptxgraft.Device("emulator", keep_going=5)
        races = ptxgraft.Skeleton.from_cuda('extern "C" __global__ void f(unsigned* p) { __shared__ unsigned s; s = threadIdx.x; p[0] = s; }')
        races.graft({}, device).launch(1, 64, np.zeros(1, np.uint32))
        report = device.take_report()
        self.assertIn("data_race", [finding.code for finding in report.findings])
        self.assertGreater(report.warp_instructions, 0)
        self.assertIn("data_race", report._repr_html_())
        self.assertEqual(device.take_report().found_count, 0)

    def test_output(self):
        prints = ptxgraft.Skeleton.from_cuda('extern "C" __global__ void f() { printf("hello %d\\n", 7); }')
        prints.graft({}, emulator()).launch(1, 1)
        self.assertEqual(emulator().take_output(), "hello 7\n")
        self.assertEqual(emulator().take_output(), "")

    def test_variables_are_buffers(self):
        counts = ptxgraft.Skeleton.from_cuda("__device__ unsigned n = 40;\nextern \"C\" __global__ void f() { n += 2; }")
        made = counts.graft({}, emulator())
        made.launch(1, 1)
        self.assertEqual(made.variable("n").download(np.uint32)[0], 42)
        self.assertFails("symbol_unknown", "n", made.variable, "m")


class Names(Case):
    def test_zero_bytes_and_single_strings_are_refused(self):
        self.assertFails("argument_invalid", "zero byte", ptxgraft.Device, "auto\0")
        self.assertFails("argument_invalid", "list of strings", ptxgraft.Skeleton.from_cuda, "", options="--use_fast_math")

    def test_versions(self):
        self.assertRegex(ptxgraft.__version__, r"^\d+\.\d+\.\d+$")
        self.assertIn(" ", ptxgraft.assembler_version())

    def test_nothing_is_made_by_its_class_alone(self):
        for kind in ptxgraft.Skeleton, ptxgraft.Stub, ptxgraft.Kernel, ptxgraft.MachineCode, ptxgraft.Buffer:
            self.assertRaises(TypeError, kind)


def kernel_stub():
    return ptxgraft.Stub.for_signature("mod f32 value, in f32 scale", "value -> value")


if __name__ == "__main__":
    unittest.main()
