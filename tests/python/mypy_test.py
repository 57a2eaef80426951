"""The hints of the package and of its examples please `mypy --strict`."""

import pathlib
import subprocess
import sys

from support import skip_file

try:
    import mypy  # noqa: F401
except ImportError:
    skip_file("no mypy")
root = pathlib.Path(__file__).parents[2]
examples = sorted((root / "examples/python").glob("*.py"))
sys.exit(subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", "src/python/ptxgraft", *examples], cwd=root).returncode)
