"""The examples in the docstrings of the package are what it does."""

import doctest
import importlib.util
import pathlib
import unittest

import ptxgraft

WITHOUT = {"_ptxgraft", "__init__"}
OPTIONAL = {"torch", "jax", "ray"}  # modules that need others of their names


def names():
    files = {file.stem for file in pathlib.Path(ptxgraft.__file__).parent.glob("*.py")} - WITHOUT
    absent = {name for name in OPTIONAL if importlib.util.find_spec(name) is None}
    return ["ptxgraft"] + [f"ptxgraft.{stem}" for stem in sorted(files - absent)]


class Docstrings(unittest.TestCase):
    def test_examples(self):
        tried, failed = 0, []
        for name in names():
            result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            failed += [name] * result.failed
            tried += result.attempted
        self.assertEqual(failed, [])
        self.assertGreater(tried, 100)


if __name__ == "__main__":
    unittest.main()
