"""NumPy reads what `ptxgraft run` writes, byte for byte as it would write it, and the other way round.

Usage: cli_numpy.py PROGRAM. Exits with 77 (skipped) where there is no NumPy.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

program = os.path.abspath(sys.argv[1])
nothing = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\nret;\n}\n"
dtypes = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
shapes = [(), (0,), (1,), (7,), (3, 5), (2, 0, 4), (2, 3, 4), (1,) * 10]


def copy(before):
    """The array after a kernel that does nothing, and the bytes of its file."""
    np.save("before.npy", before)
    subprocess.run([program, "run", "nothing.ptx", "--device", "emulator", "--arg", "inout=before.npy:after.npy"], check=True)
    with open("after.npy", "rb") as file:
        return np.load("after.npy"), file.read()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = folder
    with open("nothing.ptx", "w") as file:
        file.write(nothing)
    random = np.random.default_rng(1)
    count = 0
    for dtype in dtypes:
        for shape in shapes:
            for order in "CF":
                before = np.asarray(random.integers(0, 2, shape).astype(dtype), order=order)
                after, after_bytes = copy(before)
                assert after.dtype == before.dtype and after.shape == before.shape, (dtype, shape, order)
                assert np.array_equal(after, before), (dtype, shape, order)
                np.save("expected.npy", np.ascontiguousarray(before).reshape(shape))
                with open("expected.npy", "rb") as file:
                    assert after_bytes == file.read(), (dtype, shape, order)
                count += 1
    print(f"{count} arrays agree with NumPy {np.__version__}")
