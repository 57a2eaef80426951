// The text of `run --help` about launch files.

#include "cli/launch/file.hpp"

namespace ptxgraft::cli {

std::string launch_file_schema() {
    return R"(Buffers, launches and arguments from a JSON file; paths in it are relative to it. Every key but those that a
kernel takes may be left out:
{"entry": "gemm", "grid": [4,4,1], "block": [128], "cluster": [2], "smem": 65536, "cooperative": false, "repeat": 1,
 "buffers": {"a": {"in": "a.npy"}, "c": {"out": "c.npy", "type": "f32", "shape": [64,64]}},
 "args": [{"buffer": "a"}, {"buffer": "c", "offset": 256}, {"u32": 64}, {"f32": "nan"}, {"bytes": "00ff"}]}
Launches of one module, in order: {"buffers": …, "launches": [{"entry": "first", "grid": …, "args": …},
 {"entry": "second", "repeat": 3, "args": …, "after": {"c": {"out": "c3.npy", "expect": "want3.npy"}}}]}
A buffer begins as one of
 "in": "a.npy" · "values": [[1,2],[3,4]] · "fill": 0, "nan" or "iota" (0, 1, 2 …)
 "random": "normal" or "uniform", "seed": 1, "range": [-8,7] (of "uniform": floats without it 0 to 1, others any bits)
 "struct": [FIELD, …] or "array": [VALUE, …]
with "type" and "shape" where these do not say them; without any of them as 0xFF bytes. "symbol": "table" is the module's
variable of that name, which begins as the module says.
A VALUE, of an argument too: {TYPE: number or list} · {"buffer": NAME, "offset": bytes, "count": n, "stride": bytes}, n
 addresses · {"bytes": HEX} · {"array": [VALUE, …], "repeat": n} · {"struct": [FIELD, …], "size": bytes} ·
 {"tensormap": {"buffer": "a", "offset": 0, "type": "bf16", "dims": [64,128], "strides": [128], "box": [64,64],
   "element_strides": [1,1], "swizzle": "128B", "interleave": "none", "l2": "none", "fill": "zero"}}, or for "box"
   "im2col": {"lower_corner": [-1,-1], "upper_corner": [-1,-1], "channels_per_pixel": 64, "pixels_per_column": 128}
A FIELD is a VALUE where C puts it (tensor maps at multiples of 128), unless "offset": byte or "align": n stand beside it;
{"offset": byte}, {"align": n} and {"pad": bytes} alone move to where the next one stands. Beside "buffer", "offset" is in that.
A buffer that is not as it is expected ends the run with 1: "expect" is a file, a number for all elements, a list, or
{"fill": …} or {"random": …}. "tolerance": none, for equal bits; {"abs": 1e-6, "rel": 1e-3}; or, for sums of tensor cores in
any legal order, {"sum": {"type": "bf16", "accumulator": "f32", "k": 64, "magnitudes": "abs.npy"}}: A @ B is expected
and |A| @ |B| in abs.npy, both <f8)";
}

}  // namespace ptxgraft::cli
