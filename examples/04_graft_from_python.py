"""From Python, with nothing but ctypes and NumPy: compile a CUDA kernel once, graft stubs into it, compare with NumPy.

Usage: 04_graft_from_python.py LIBRARY, the path of libptxgraft.so. Runs on a GPU, or without one on the emulator.
With --endless it launches a kernel without an end on the emulator, which Ctrl-C ends.
Exits with 77 (skipped) where there is no NumPy.
"""

import ctypes as c
import signal
import sys
import threading

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

SOURCE = b"""
#include <ptxgraft/site.cuh>
extern "C" __global__ void apply(const float* x, float* y, float scale, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = x[i];
    PTXGRAFT_SITE("activation", "", mod(f32, value), in(f32, scale));
    y[i] = value;
}
"""


# The structs of ptxgraft.h that are used here. `struct_size` comes first.
class GraftOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("grafts", c.c_void_p), ("graft_count", c.c_size_t), ("entry", c.c_char_p),
                ("optimisation", c.c_uint32), ("max_registers", c.c_uint32), ("allow_performance_loss", c.c_uint32), ("line_info", c.c_uint32)]


class Graft(c.Structure):
    _fields_ = [("site", c.c_char_p), ("stub", c.c_void_p)]


class StubOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("text", c.c_char_p), ("text_size", c.c_size_t), ("language", c.c_int), ("constants", c.c_int),
                ("leftovers_are_errors", c.c_uint32), ("contract", c.c_uint32), ("approximate", c.c_uint32), ("flush_subnormals", c.c_uint32)]


EXPRESSION, CONSTANTS_ARE_DATA = 1, 1  # PTXGRAFT_LANGUAGE_expression, PTXGRAFT_CONSTANTS_data

ShouldStop = c.CFUNCTYPE(c.c_int, c.c_void_p)


class LaunchOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("grid", c.c_uint32 * 3), ("block", c.c_uint32 * 3), ("shared_size", c.c_uint32),
                ("stream", c.c_void_p), ("cluster", c.c_uint32 * 3), ("cooperative", c.c_uint32), ("instruction_budget", c.c_uint64),
                ("time_limit_ms", c.c_uint32), ("should_stop", ShouldStop), ("payload", c.c_void_p)]


class Argument(c.Structure):
    _fields_ = [("buffer", c.c_void_p), ("data", c.c_void_p), ("size", c.c_size_t)]


library = c.CDLL(sys.argv[1])
for getter in "error_get_message", "device_get_name", "skeleton_get_entry_name":
    getattr(library, "ptxgraft_" + getter).restype = c.c_char_p


def call(name, *arguments):
    """Calls a function that returns a status; raises its message."""
    if getattr(library, "ptxgraft_" + name)(*arguments) != 0:
        raise RuntimeError(library.ptxgraft_error_get_message().decode())


class Handle:
    """An object of the library, destroyed with this one."""

    def __init__(self, noun, create, *arguments):
        self._as_parameter_ = c.c_void_p()
        self.noun = noun
        call(f"{noun}_{create}", c.byref(self._as_parameter_), *arguments)

    def __del__(self):
        getattr(library, f"ptxgraft_{self.noun}_destroy")(self._as_parameter_)


def upload(device, array):
    buffer = Handle("buffer", "create", device, c.c_size_t(array.nbytes))
    call("buffer_write", buffer, c.c_size_t(0), c.c_void_p(array.ctypes.data), c.c_size_t(array.nbytes))
    return buffer


def download(buffer, like):
    array = np.empty_like(like)
    call("buffer_read", c.c_void_p(array.ctypes.data), buffer, c.c_size_t(0), c.c_size_t(array.nbytes))
    return array


def graft(skeleton, device, site, program):
    """A kernel whose site is filled with a stack program."""
    return graft_stub(skeleton, device, site, Handle("stub", "create_from_program", skeleton, site, program, c.c_size_t(len(program))))


def graft_stub(skeleton, device, site, stub):
    filled = Graft(site, stub._as_parameter_)
    options = GraftOptions(c.sizeof(GraftOptions), c.addressof(filled), 1, None, 3, 0, 0, 0)
    return Handle("kernel", "create", skeleton, device, c.byref(options))


class Interrupt:
    """Ctrl-C while the library works: Python's own handler waits until a call comes back, so the call is to ask for it."""

    def __enter__(self):
        self.came = False
        self.before = None
        if threading.current_thread() is threading.main_thread():  # no other thread gets signals
            self.before = signal.signal(signal.SIGINT, self.come)
        # Python calls its handlers between the steps of its own code: the library enters some every few milliseconds.
        self.should_stop = ShouldStop(lambda payload: int(self.came))
        return self

    def come(self, number, frame):
        self.came = True

    def __exit__(self, *error):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.came:
            raise KeyboardInterrupt


def launch(kernel, grid, block, *arguments):
    """Launches; an argument is a buffer or a NumPy scalar, which knows its size. Ctrl-C ends the launch as it ends Python's own loops."""
    values = [a if isinstance(a, Handle) else np.array(a) for a in arguments]
    array = (Argument * len(values))(*[
        Argument(a._as_parameter_, None, 0) if isinstance(a, Handle) else Argument(None, a.ctypes.data, a.nbytes) for a in values
    ])
    with Interrupt() as interrupt:
        options = LaunchOptions(c.sizeof(LaunchOptions), (grid, 1, 1), (block, 1, 1), 0, None, (1, 1, 1), 0, 0, 0, interrupt.should_stop, None)
        call("kernel_launch", kernel, c.byref(options), array, c.c_size_t(len(values)))


if "--endless" in sys.argv:
    PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry endless() { L: bra L; }\n"
    device = Handle("device", "open", b"emulator")
    kernel = Handle("kernel", "create", Handle("skeleton", "create_from_ptx", PTX, c.c_size_t(len(PTX))), device, None)
    print("Ctrl-C ends it", flush=True)
    try:
        launch(kernel, 1, 1)
    except KeyboardInterrupt as interrupt:
        print("ended:", library.ptxgraft_error_get_message().decode().splitlines()[0])
        sys.exit(130)

VARIANTS = {
    b"value scale mul.f32 -> value": lambda x, s: x * s,
    b"value 0.0 max.f32 scale mul.f32 -> value": lambda x, s: np.maximum(x, 0) * s,
    b"value scale neg.f32 max.f32 scale min.f32 -> value": lambda x, s: np.clip(x, -s, s),
}

device = Handle("device", "open", b"auto")
skeleton = Handle("skeleton", "create_from_cuda", SOURCE, c.c_size_t(len(SOURCE)), None)
print("on", library.ptxgraft_device_get_name(device).decode(), "-", library.ptxgraft_skeleton_get_entry_name(skeleton, c.c_size_t(0)).decode())

x = np.random.default_rng(1).standard_normal(1000, dtype=np.float32)
scale = np.float32(0.75)
x_buffer = upload(device, x)
for program, reference in VARIANTS.items():
    y_buffer = upload(device, np.full_like(x, np.nan))
    launch(graft(skeleton, device, b"activation", program), 8, 128, x_buffer, y_buffer, scale, np.uint32(x.size))
    np.testing.assert_array_equal(download(y_buffer, x), reference(x, scale))
    print(f"{program.decode():54} equals NumPy")

# Constants as data: one kernel, whose constants are changed between launches, without a compile.
EXPRESSION_TEXT = b"value = value * 0.5 + 0.25"
options = StubOptions(c.sizeof(StubOptions), EXPRESSION_TEXT, len(EXPRESSION_TEXT), EXPRESSION, CONSTANTS_ARE_DATA)
kernel = graft_stub(skeleton, device, b"activation", Handle("stub", "create", skeleton, b"activation", c.byref(options)))
for factor, offset in np.array([[0.5, 0.25], [2.0, -1.0], [-8.0, 3.0]], np.float32):
    bits = np.array([factor, offset]).view(np.uint32).astype(np.uint64)
    call("kernel_set_constants", kernel, b"activation", c.c_void_p(bits.ctypes.data), c.c_size_t(2), None)
    y_buffer = upload(device, np.full_like(x, np.nan))
    launch(kernel, 8, 128, x_buffer, y_buffer, scale, np.uint32(x.size))
    np.testing.assert_array_equal(download(y_buffer, x), x * factor + offset)
    print(f"{f'value = value * {factor} + {offset}':54} equals NumPy, by the same kernel")

try:
    graft(skeleton, device, b"activation", b"value nothing add.f32 -> value")
    sys.exit("a wrong program was accepted")
except RuntimeError as error:
    print(error, end="")
