"""What takes text takes a str, and says so where something else is given; what takes a path takes a pathlib.Path too."""

import pathlib
import tempfile
import unittest

import ptxgraft
from ptxgraft import dsl, expression, isa, search, stack, syntax, templates
from support import SOURCE, Case, emulator, skeleton

MACHINE = stack.Machine("in u32 a, out u32 b")
SITE = skeleton().site("activation")

TASK = {"signature": "in f32 x, out f32 y", "reference": "y = 3 * x", "set": ["add.f32"], "inputs": {"x": [1, 2]}}

#: By their names: what is called with a text.
TEXTS = {
    "syntax.Module": syntax.Module,
    "Skeleton.from_ptx": ptxgraft.Skeleton.from_ptx,
    "Skeleton.from_cuda": ptxgraft.Skeleton.from_cuda,
    "Skeleton.from_template": ptxgraft.Skeleton.from_template,
    "Skeleton.graft": lambda text: skeleton().graft({text: "value -> value"}, emulator()),
    "Stub.for_signature": lambda text: ptxgraft.Stub.for_signature("mod f32 a", text),
    "Site.stub": SITE.stub,
    "stack.compile": lambda text: stack.compile(text, SITE),
    "stack.Machine": stack.Machine,
    "stack.Machine, set": lambda text: stack.Machine("in u32 a", text),
    "stack.Set": stack.Set,
    "Machine.parse": MACHINE.parse,
    "expression.compile": lambda text: expression.compile(text, SITE),
    "isa.verify": isa.verify,
    "isa.rows": isa.rows,
    "dsl.Emitter": dsl.Emitter,
    "Template": templates.Template,
    "Search": search.Search,
    "Assembler": ptxgraft.Assembler,
    "Device": ptxgraft.Device,
}
#: What is called with a path.
PATHS = {
    "Skeleton.from_file": ptxgraft.Skeleton.from_file,
    "Cache": ptxgraft.Cache,
    "Search, archive": lambda path: search.Search({}, path),
    "templates.names": templates.names,
    "search.page": search.page,
}


class Texts(Case):
    def test_what_is_no_text_is_an_error_that_says_what_to_give(self):
        for name, call in TEXTS.items():
            for wrong in b"x", bytearray(b"x"), pathlib.Path("x"), 7, ["x"]:
                with self.subTest(name, wrong=wrong), self.assertRaises((ptxgraft.Error, TypeError)) as caught:
                    call(wrong)
                self.assertNotIn("attribute", str(caught.exception), name)
                self.assertRegex(str(caught.exception), type(wrong).__name__ + "|unhashable|no site", name)

    def test_the_error_is_a_type_error_and_one_of_the_library(self):
        for kind in TypeError, ptxgraft.Error:
            with self.assertRaisesRegex(kind, r"b'x' is a bytes, and a str is taken: decode\(\) it"):
                syntax.Module(b"x")

    def test_text_that_no_utf_8_is_made_of(self):
        for call in syntax.Module, ptxgraft.Skeleton.from_cuda, MACHINE.parse, stack.Machine, ptxgraft.Device:
            self.assertFails("argument_invalid", "no Unicode", call, "\ud800")

    def test_what_is_no_program_and_no_candidates(self):
        program, other = MACHINE.parse("a -> b"), stack.Machine("in f32 a, out f32 b").parse("a -> b")
        for call in (
            lambda: ptxgraft.find_difference(program, None),
            lambda: ptxgraft.find_difference("a -> b", program),
            lambda: ptxgraft.evaluate("a -> b"),
            lambda: ptxgraft.find_difference(program, program, options=3),
            lambda: search.Search(TASK).run(candidates=10, stop=3),
            lambda: ptxgraft.Pool(["emulator"]).check({}, [ptxgraft.Variant("", code="x")]),
            lambda: skeleton().graft_many(None, emulator()),
            lambda: skeleton().assemble_many({"activation": "value -> value"}),
        ):
            self.assertFails("argument_invalid", "is taken", call)
        self.assertFails("argument_invalid", "of different machines", ptxgraft.find_difference, program, other)
        alike = stack.Machine("in u32 a, out u32 b").parse("a -> b")
        self.assertIsNotNone(ptxgraft.find_difference(alike, MACHINE.parse("a 1u32 xor.b32 -> b")))
        self.assertEqual(len(skeleton().graft_many(({} for _ in range(2)), emulator())), 2)  # a generator is a list of candidates too

    def test_what_is_no_path(self):
        for name, call in PATHS.items():
            for wrong in b"x", 7, ["x"]:
                with self.subTest(name, wrong=wrong):
                    self.assertFails("argument_invalid", "a str or a pathlib.Path is taken", call, wrong)

    def test_paths(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a.cu").write_text(SOURCE)
            self.assertEqual(ptxgraft.Skeleton.from_file(folder / "a.cu", target="sm_90a").entries, ("apply",))
            self.assertEqual(pathlib.Path(ptxgraft.Cache(folder / "cache").folder), folder / "cache")


if __name__ == "__main__":
    unittest.main()
