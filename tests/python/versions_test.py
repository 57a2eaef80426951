"""The package's sources and its extension are for Python 3.9 and every later one."""

import ast
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import unittest

import ptxgraft

PACKAGE = pathlib.Path(ptxgraft.__file__).parent
OLDEST = (3, 9)


def abi3audit():
    """The program, where it is installed for this Python or on the path."""
    beside = pathlib.Path(sysconfig.get_path("scripts"), "abi3audit")
    return str(beside) if beside.exists() else shutil.which("abi3audit")


class Versions(unittest.TestCase):
    def test_the_syntax_is_that_of_the_oldest(self):
        files = sorted(PACKAGE.glob("*.py"))
        self.assertGreater(len(files), 20)
        for file in files:
            ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=OLDEST)
        with self.assertRaises(SyntaxError):  # the check finds what came later
            ast.parse("match 1:\n    case 1: pass\n", feature_version=OLDEST)

    def test_annotations_are_not_evaluated(self):
        """`int | None` and its like are texts alone on the oldest Python."""
        for file in sorted(PACKAGE.glob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            has_annotations = any(isinstance(node, (ast.AnnAssign, ast.FunctionDef, ast.ClassDef)) for node in ast.walk(tree))
            names = {
                alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__" for alias in node.names
            }
            self.assertTrue(not has_annotations or "annotations" in names or file.name in ("_preload.py", "_program.py"), file)

    def test_the_extension_has_the_stable_abi_of_the_oldest(self):
        program = abi3audit()
        if program is None:
            self.skipTest("no abi3audit")
        (extension,) = PACKAGE.glob("_ptxgraft*.so")
        self.assertTrue(extension.name.endswith(".abi3.so"))
        command = [program, "--strict", "--report", "--assume-minimum-abi3", ".".join(map(str, OLDEST)), str(extension)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_this_python_is_one_of_them(self):
        self.assertGreaterEqual(sys.version_info[:2], OLDEST)
        self.assertRegex(ptxgraft.library_version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
