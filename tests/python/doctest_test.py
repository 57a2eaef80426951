"""The examples in the docstrings of the package are what it does."""

import doctest
import importlib
import pathlib
import unittest

import ptxgraft

WITHOUT = {"_ptxgraft", "torch", "jax", "ray"}  # the extension; what needs more than NumPy has tests of its own


def names():
    folder = pathlib.Path(ptxgraft.__file__).parent
    return ["ptxgraft"] + [f"ptxgraft.{file.stem}" for file in sorted(folder.glob("*.py")) if file.stem not in WITHOUT | {"__init__"}]


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
