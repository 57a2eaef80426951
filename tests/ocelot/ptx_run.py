"""libgpuocelot.so from Python as tinygrad calls it: found by its name in a folder, argument types of ctypes, buffers of bytearrays.

Usage: ptx_run.py LIBRARY.
"""

import ctypes
import struct
import sys

library = ctypes.CDLL(sys.argv[1])
library.ptx_run.restype = None
library.ptx_run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)] + [ctypes.c_int] * 7

source = b"""
.version 7.5
.target sm_86
.address_size 64
.visible .entry E_4n1 (
	.param .u64 data0,
	.param .u64 data1,
	.param .s32 data2
)
.maxntid 1
{
	.reg .u32 %gidx0;
	.reg .u64 %dat_u64_<2>;
	.reg .s32 %dat_s32_<1>;
	.reg .u64 %bidx_u64_<2>;
	.reg .s32 %val_s32_<1>;
	.reg .s32 %alu_s32_<1>;
	mov.u32 %gidx0, %ctaid.x;
	ld.param.u64 %dat_u64_0, [data0+0];
	ld.param.u64 %dat_u64_1, [data1+0];
	ld.param.s32 %dat_s32_0, [data2+0];
	cvt.s64.s32 %bidx_u64_0, %gidx0;
	mad.lo.s64 %bidx_u64_0, %bidx_u64_0, 4, %dat_u64_1;
	ld.global.s32 %val_s32_0, [%bidx_u64_0+0];
	add.s32 %alu_s32_0, %val_s32_0, %dat_s32_0;
	cvt.s64.s32 %bidx_u64_1, %gidx0;
	mad.lo.s64 %bidx_u64_1, %bidx_u64_1, 4, %dat_u64_0;
	st.global.s32 [%bidx_u64_1+0], %alu_s32_0;
	ret;
}
"""


def address(buffer):
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


code = memoryview(bytearray(source))  # a module, as the mock driver keeps it
out, values = bytearray(4 * 4), bytearray(struct.pack("4i", 1, 2, 3, 4))
words = [ctypes.cast(w, ctypes.c_void_p) for w in (address(out), address(values), -10)]
library.ptx_run(ctypes.cast(address(code), ctypes.c_char_p), len(words), (ctypes.c_void_p * len(words))(*words), 1, 1, 1, 4, 1, 1, 0)
assert struct.unpack("4i", out) == (-9, -8, -7, -6), struct.unpack("4i", out)
print("right")
