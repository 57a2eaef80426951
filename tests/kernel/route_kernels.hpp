#pragma once
// A kernel with copies of one site, whose operands are of every class, a stub for it, and an assembler that
// counts.

#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ptxgraft/kernel.hpp"

namespace ptxgraft::test {

inline const std::string head =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.global .f32 table[4] = {1.0, 2.0, 3.0, 4.0};\n";

// A copy over one element: operands of all classes of registers, each direction, a fragment of four, a
// predicate.
inline std::string copy(const std::string& policy = "") {
    return "\t{ // PTXGRAFT_SITE s " + policy + R"(
	.reg .f32 _acc; // mod f32 acc
	mov.b32 _acc, %f1;
	.reg .f32 _frag<4>; // mod f32 frag 4
	mov.b32 _frag0, %f2; mov.b32 _frag1, %f3; mov.b32 _frag2, %f4; mov.b32 _frag3, %f5;
	.reg .b16 _half; // in f16 half
	mov.b16 _half, %rs1;
	.reg .pred _odd; // in pred odd
	mov.pred _odd, %p1;
	.reg .f64 _wide; // out f64 wide
	.reg .u64 _count; // mod u64 count
	mov.b64 _count, %rd3;
	.reg .pred _flag; // out pred flag
	// PTXGRAFT_STUB
	mov.f64 _wide, 0d0000000000000000;
	setp.ne.u32 _flag, 0, 0;
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	mov.b32 %f2, _frag0; mov.b32 %f3, _frag1; mov.b32 %f4, _frag2; mov.b32 %f5, _frag3;
	mov.f64 %fd1, _wide;
	mov.b64 %rd3, _count;
	mov.pred %p2, _flag;
	}
)";
}

// A copy of a site with one operand, over %f1.
inline std::string small_copy(const std::string& site, const std::string& policy = "") {
    return "\t{ // PTXGRAFT_SITE " + site + " " + policy +
           "\n\t.reg .f32 _acc; // mod f32 acc\n\tmov.b32 _acc, %f1;\n\t// PTXGRAFT_STUB\n"
           "\t// PTXGRAFT_END\n\tmov.b32 %f1, _acc;\n\t}\n";
}

// Loads so many floats behind `before`, which live until `body` is done.
inline std::string small_kernel(const std::string& body, int live = 0, const std::string& before = "") {
    std::string load, use;
    for (int i = 2; i < live + 2; ++i) {
        const std::string value = "%f" + std::to_string(i);
        load += "\tld.global.f32 " + value + ", [%rd1+" + std::to_string(4 * i) + "];\n";
        use += "\tfma.rn.f32 %f1, %f1, " + value + ", " + value + ";\n";
    }
    return head + ".visible .entry k(.param .u64 out)\n{\n\t.reg .b64 %rd1; .reg .f32 %f<" +
           std::to_string(live + 2) + ">;\n\tld.param.u64 %rd1, [out];\n\tld.global.f32 %f1, [%rd1];\n" +
           before + load + body + use + "\tst.global.f32 [%rd1], %f1;\n\tret;\n}\n";
}

// Each thread stores the five floats, the double, the count and the flag that `body` leaves: 48 bytes.
inline std::string kernel(const std::string& body) {
    return head + R"(
.visible .entry k(.param .u64 out)
{
	.reg .pred %p<3>; .reg .b16 %rs<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<6>; .reg .f64 %fd<2>;
	.shared .f32 box[4];
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 1;
	setp.ne.u32 %p1, %r2, 0;
	cvt.rn.f32.u32 %f1, %r1;
	add.f32 %f2, %f1, 0f3F800000; add.f32 %f3, %f2, 0f3F800000; add.f32 %f4, %f3, 0f3F800000; add.f32 %f5, %f4, 0f3F800000;
	cvt.rn.f16.f32 %rs1, %f3;
	cvt.u64.u32 %rd3, %r1;
	mov.u32 %r4, 0;
)" + body + R"(
	mul.wide.u32 %rd2, %r1, 48;
	add.s64 %rd1, %rd1, %rd2;
	st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
	st.global.f32 [%rd1+16], %f5;
	selp.u32 %r3, 1, 0, %p2;
	st.global.u32 [%rd1+20], %r3;
	st.global.f64 [%rd1+24], %fd1;
	st.global.u64 [%rd1+32], %rd3;
	ret;
}
)";
}

inline const std::string two_copies = kernel(copy() + copy());
// Odd threads add the half to the accumulator; the fragment is reversed.
inline constexpr std::string_view stub_text = R"(.reg .f32 h, t;
cvt.f32.f16 h, half;
@odd add.f32 acc, acc, h;
mov.f32 t, frag0; mov.f32 frag0, frag3; mov.f32 frag3, t;
mov.f32 t, frag1; mov.f32 frag1, frag2; mov.f32 frag2, t;
cvt.f64.f32 wide, acc;
mad.lo.u64 count, count, 3, 7;
setp.gt.f32 flag, acc, 0f41200000;
)";

inline Skeleton skeleton_of(std::string ptx) {
    auto skeleton = Skeleton::from_ptx(std::move(ptx));
    if (!skeleton) throw std::runtime_error(describe(skeleton.error()));
    return *skeleton;
}

inline Stub stub_of(const Skeleton& skeleton, std::string_view text = stub_text) {
    auto stub = Stub::from_ptx(text, *skeleton.site("s"));
    if (!stub) throw std::runtime_error(describe(stub.error(), text));
    return *stub;
}

// The default assembler, counting.
class Counting final : public Assembler {
  public:
    std::string_view name() const override { return default_assembler().name(); }
    std::string version() const override { return default_assembler().version(); }
    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        ++count;
        return default_assembler().assemble(ptx, options);
    }
    mutable std::atomic<int> count = 0;
};

}  // namespace ptxgraft::test
