"""What Python costs over the C library: the same call by the package, and by the C function with its structs made before.

Usage: PYTHONPATH=build/python python3 bench/python_bench.py. Each figure is the median of 15 runs; of the library's time beside it too.
"""

import statistics
import subprocess
import sys
import time

import numpy as np
import ptxgraft
from ptxgraft import _graft, stack
from ptxgraft._library import ffi, lib


def seconds(work, repeats):
    def once():
        begin = time.perf_counter()
        for _ in range(repeats):
            work()
        return (time.perf_counter() - begin) / repeats

    once()
    return statistics.median(once() for _ in range(15))


def show(name, python, c):
    print(f"{name:44} {python * 1e6:10.2f} µs {c * 1e6:10.2f} µs of the C function: {(python - c) * 1e6:+8.2f} µs, {python / c:.2f} times")


def import_time():
    command = [sys.executable, "-c", "import time; t = time.perf_counter(); import ptxgraft; print(time.perf_counter() - t)"]
    return statistics.median(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(9))


print(f"import ptxgraft: {import_time() * 1e3:.1f} ms")
device = ptxgraft.Device("emulator:fast")
skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
stub = skeleton.site("function").stub("x x mul.f32 -> y")
kernel = skeleton.graft({"function": stub}, device)
x, y = device.allocate(4), device.allocate(4)
x.fill(0)

frame = kernel._frames[0] if kernel._frames else None
kernel.launch(1, 1, x, y, 1)
frame = kernel._frames[0]
c_launch = seconds(lambda: lib.ptxgraft_kernel_launch(kernel._handle, frame.options, frame.slots, 3), 500)
show("launch of one thread, three arguments", seconds(lambda: kernel.launch(1, 1, x, y, 1), 500), c_launch)

count = 1 << 22
large = np.ones(count, np.float32), np.zeros(count, np.float32)
for arrays in large, tuple(array[:16] for array in large):
    for process_memory in False, True:
        made = skeleton.graft({"function": stub}, ptxgraft.Device("emulator:fast", process_memory=process_memory))
        launch = seconds(lambda: made.launch(1, 1, *arrays, 1), 5)
        where = "in place" if process_memory else "copied there and back"
        print(f"launch of one thread, two arrays of {arrays[0].nbytes:,} bytes, {where}: {launch * 1e6:.1f} µs")

cache = ptxgraft.Cache()
with_cache = ptxgraft.GraftOptions(cache=cache, target="sm_90a")
options = _graft.graft_options({"function": stub}, with_cache, skeleton)


def c_assemble():
    out = ffi.new("ptxgraft_machine_code**")
    assert not lib.ptxgraft_machine_code_create(out, skeleton._handle, options.struct)
    lib.ptxgraft_machine_code_destroy(out[0])


show("assemble of a variant that is cached", seconds(lambda: skeleton.assemble({"function": stub}, options=with_cache), 500), seconds(c_assemble, 500))

machine = stack.Machine("in f32 x, out f32 y")
genes = np.random.default_rng(1).integers(0, 1 << 63, (100_000, 12), np.uint64)
offsets = np.arange(0, 100_001 * 96, 96, dtype=np.uint64)
programs = ffi.new("ptxgraft_programs*")
programs.bytes, programs.offsets = ffi.cast("void*", genes.ctypes.data), ffi.cast("size_t*", offsets.ctypes.data)
programs.count = len(genes)
mutated = stack._compile_options(stack.MUTATED)


def c_compile():
    out = ffi.new("ptxgraft_compilation**")
    assert not lib.ptxgraft_compilation_create(out, machine._handle, programs, mutated.struct, 1)
    lib.ptxgraft_compilation_destroy(out[0])


python, c = seconds(lambda: stack.compile_many(machine, genes, threads=1), 1), seconds(c_compile, 1)
show("100,000 programs of 12 instructions compiled", python, c)
