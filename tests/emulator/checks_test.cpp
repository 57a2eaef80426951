// Kernels with one mistake each, which a checked launch must name at its line; and the same kernels put
// right, which must be clean.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 threads = 64;

struct Planted {
    std::string name;
    Errc code;
    std::string body;   // with the mistake between < and >, which stands on the line to be named
    std::string right;  // instead of what is between them
    std::string declarations = "";
    std::optional<EmulatorCheck> check = {};  // where the code does not say which
    bool ends = false;                        // the launch comes to no good end in any case
};

void PrintTo(const Planted& row, std::ostream* out) { *out << row.name; }

// Leaves its result in %r2; %r1 is %tid.x, %rd1 the address of 64 words that hold 5.
std::string kernel(const std::string& body, const std::string& declarations) {
    return ".version 8.5\n.target sm_90\n.address_size 64\n" + declarations +
           "\n.visible .entry k(.param .u64 out)\n{\n"
           ".reg .pred %p<8>;\n.reg .b16 %rs<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n"
           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n" +
           body +
           "\nDONE:\nbar.sync 0;\nmul.wide.u32 %rd14, %r1, 4;\nadd.s64 %rd14, %rd1, %rd14;\nst.global.u32 "
           "[%rd14], %r2;\nret;\n}\n";
}

const char* const one_word = ".shared .align 4 .u32 box;";
const char* const words = ".shared .align 16 .b32 box[128];";
const char* const gate = ".shared .align 8 .b64 gate;\n.shared .align 4 .u32 box;";
// the thread's word
const std::string own = "shl.b32 %r20, %r1, 2;\nmov.u32 %r21, box;\nadd.u32 %r20, %r20, %r21;\n";
const std::string next =
    "add.u32 %r22, %r1, 1;\nand.b32 %r22, %r22, 63;\nshl.b32 %r22, %r22, 2;\nadd.u32 %r22, %r22, %r21;\n";

const std::string bit = own +
                        "ld.shared.u8 %rs1, [%r20];\nand.b16 %rs1, %rs1, 251;\nor.b16 %rs1, %rs1, "
                        "4;\nst.shared.u8 [%r20], %rs1;\n";
const std::string low_bit = "and.b16 %rs3, %rs2, 1;\ncvt.u32.u16 %r2, %rs3;\nadd.u32 %r2, %r2, 1;";
const char* const heap =
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);";
const std::string allocated =
    "{\n.param .b64 n;\n.param .b64 r;\nst.param.b64 [n], 20;\ncall.uni (r), malloc, (n);\nld.param.b64 "
    "%rd5, [r];\n}\n";
const std::string freed = "{\n.param .b64 a;\nst.param.b64 [a], %rd5;\ncall.uni free, (a);\n}\n";

const std::string called = "mov.u64 %rd3, twice;\n";
const char* const twice =
    ".func (.param .b32 r) twice(.param .b32 a)\n{ .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, %x; "
    "st.param.b32 [r], %x; ret; }";

const Planted planted[] = {
    // --- bits, as compilers write members of a few of them
    {"AnotherBitOfARegister", Errc::register_not_written,
     "<and.b32 %r9, %r10, 254;>\nor.b32 %r9, %r9, 1;\nshr.u32 %r11, %r9, 1;\nand.b32 %r11, %r11, 1;\nadd.u32 "
     "%r2, %r11, 1;",
     "and.b32 %r9, %r1, 254;"},
    {"AnotherBitOfAByte", Errc::memory_not_written,
     bit + "<ld.shared.u8 %rs2, [%r20];>\nshr.u16 %rs2, %rs2, 3;\n" + low_bit, "mov.u16 %rs2, 4;", words},
    // --- the device's heap
    {"AHeapBlockThatWasFreed", Errc::address_out_of_bounds, allocated + freed + "<ld.u32 %r2, [%rd5];>",
     "mov.u32 %r2, 1;", heap},
    {"BehindAHeapBlock", Errc::address_out_of_bounds,
     allocated + "<st.u32 [%rd5+20], %r1;>\nld.u32 %r2, [%rd5+12];\n" + freed, "st.u32 [%rd5+12], %r1;",
     heap},
    {"AnAtomicInAFreedBlock", Errc::address_out_of_bounds,
     allocated + "st.u32 [%rd5+8], %r1;\n" + freed + "<atom.add.u32 %r2, [%rd5+8], 1;>", "mov.u32 %r2, 1;",
     heap},
    {"FreedTwice", Errc::address_not_allocated,
     allocated + freed +
         "{\n.param .b64 b;\nst.param.b64 [b], %rd5;\n<call.uni free, (b);>\n}\nmov.u32 %r2, 1;",
     "mov.u32 %r2, 2;", heap},
    {"FreedWhileOthersRead", Errc::data_race,
     "setp.eq.u32 %p1, %r1, 0;\n@!%p1 bra READ;\n" + allocated +
         "st.u32 [%rd5], %r1;\nst.shared.u64 [kept], %rd5;\nREAD:\nbar.sync 0;\nld.shared.u64 %rd6, "
         "[kept];\nld.u32 %r2, [%rd6];\n@!%p1 bra DONE;\n"
         "{\n.param .b64 a;\nst.param.b64 [a], %rd6;\n<call.uni free, (a);>\n}\n",
     "mov.u64 %rd7, 0;", std::string(heap) + "\n.shared .align 8 .b64 kept;"},
    {"ASizeThatNothingWrote", Errc::memory_not_written,
     "{\n.param .b64 n;\n.param .b64 r;\nst.param.b64 [n], %rd9;\n<call.uni (r), malloc, (n);>\nld.param.b64 "
     "%rd5, [r];\n}\n",
     "mov.u64 %rd9, 16;\nst.param.b64 [n], %rd9;\ncall.uni (r), malloc, (n);", heap},
    {"PrintedAndNotWritten", Errc::memory_not_written,
     "{\n.local .align 8 .b8 values[8];\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 r;\nst.local.u32 "
     "[values], %r9;\nmov.u64 %rd2, format;\n"
     "cvta.global.u64 %rd2, %rd2;\nmov.u64 %rd3, values;\ncvta.local.u64 %rd3, %rd3;\nst.param.b64 [p0], "
     "%rd2;\nst.param.b64 [p1], %rd3;\n"
     "<call.uni (r), vprintf, (p0, p1);>\n}\n",
     "st.local.u32 [values], %r1;\ncall.uni (r), vprintf, (p0, p1);",
     ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n.global .align 1 .b8 format[3] "
     "= {37, 100, 0};"},
    // --- registers that nothing wrote
    {"AnAddend", Errc::register_not_written, "<add.u32 %r2, %r1, %r9;>", "add.u32 %r2, %r1, 9;"},
    {"AnAccumulator", Errc::register_not_written,
     "mov.f32 %f1, 0f3F800000;\n<fma.rn.f32 %f2, %f1, %f1, %f3;>\ncvt.rzi.u32.f32 %r2, %f2;",
     "fma.rn.f32 %f2, %f1, %f1, %f1;"},
    {"AMove", Errc::register_not_written, "<mov.u32 %r2, %r9;>", "mov.u32 %r2, %r1;"},
    {"APredicate", Errc::register_not_written, "<@%p3 add.u32 %r2, %r2, 1;>", "add.u32 %r2, %r2, 1;"},
    {"ABranch", Errc::register_not_written, "<@!%p3 bra DONE;>\nmov.u32 %r2, 1;", "bra DONE;"},
    {"AnAddress",
     Errc::register_not_written,
     "<ld.global.u32 %r2, [%rd9];>",
     "ld.global.u32 %r2, [%rd1];",
     "",
     {},
     true},
    {"WrittenOnOnePathOnly", Errc::register_not_written,
     "setp.lt.u32 %p1, %r1, 10;\n@%p1 mov.u32 %r9, 1;\n<add.u32 %r2, %r9, 1;>", "@%p1 add.u32 %r2, %r9, 1;"},
    {"WrittenInSomeLanesOnly", Errc::register_not_written,
     "setp.ne.u32 %p1, %r1, 40;\n@%p1 mov.u32 %r9, 1;\n<mad.lo.u32 %r2, %r9, 2, 3;>",
     "selp.u32 %r2, %r9, 7, %p1;"},
    {"ALoopThatIsNotEntered", Errc::register_not_written,
     "setp.eq.u32 %p1, %r1, %r1;\n@%p1 bra OVER;\nmov.u32 %r9, 4;\nOVER:\n<xor.b32 %r2, %r9, 1;>",
     "xor.b32 %r2, %r1, 1;"},
    {"AnAtomicsAddend", Errc::register_not_written, "<atom.global.add.u32 %r2, [%rd1], %r9;>",
     "atom.global.add.u32 %r2, [%rd1], 1;"},
    {"AVotesPredicate", Errc::register_not_written, "<vote.sync.ballot.b32 %r2, %p4, 0xffffffff;>",
     "vote.sync.ballot.b32 %r2, 1, 0xffffffff;"},
    {"AMemberMask",
     Errc::register_not_written,
     "<bar.warp.sync %r9;>",
     "bar.warp.sync 0xffffffff;",
     "",
     {},
     true},
    {"AShuffleFromALaneWithoutAValue", Errc::register_not_written,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r9, 1;\n<shfl.sync.idx.b32 %r2, %r9, 5, 31, 0xffffffff;>",
     "mov.u32 %r2, 1;"},
    {"AShuffleFromALaneThatTakesNoPart", Errc::register_not_written,
     "setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra DONE;\n<shfl.sync.down.b32 %r2, %r1, 8, 31, 0x0000ffff;>",
     "shfl.sync.down.b32 %r2, %r1, 8, 15, 0x0000ffff;"},
    {"AShuffleInPlace", Errc::register_not_written,
     "<shfl.sync.bfly.b32 %r9, %r9, 1, 31, 0xffffffff;>\nadd.u32 %r2, %r9, 1;",
     "shfl.sync.bfly.b32 %r9, %r1, 1, 31, 0xffffffff;"},
    {"TheHighHalf", Errc::register_not_written,
     "cvt.u16.u32 %rs1, %r1;\n<mov.b32 %r9, {%rs1, %rs2};>\nadd.u32 %r2, %r9, 1;",
     "mov.b32 %r9, {%rs1, %rs1};"},
    {"AnArgument",
     Errc::memory_not_written,
     "{ .param .b32 a; .param .b32 r;\nst.param.b32 [a], %r9;\ncall (r), twice, (a);\nld.param.b32 %r2, [r]; "
     "}",
     "mov.u32 %x, 1;",
     ".func (.param .b32 r) twice(.param .b32 a)\n{ .reg .b32 %x; .reg .pred %p;\n<ld.param.b32 %x, "
     "[a];>\nadd.u32 %x, %x, %x;\nsetp.eq.u32 %p, %x, 0;\n@%p trap;\nst.param.b32 [r], %x; ret; }",
     {},
     true},
    {"AReturnValue", Errc::memory_not_written,
     "{ .param .b32 r;\ncall (r), silent;\n<ld.param.b32 %r2, [r];> }", "mov.u32 %r2, 1;",
     ".func (.param .b32 r) silent()\n{ ret; }"},

    // --- memory that nothing wrote
    {"SharedMemory", Errc::memory_not_written, "<ld.shared.u32 %r2, [box];>", "mov.u32 %r2, 1;", one_word},
    {"OneByteOfAWord", Errc::memory_not_written,
     own + "st.shared.u16 [%r20], %r1;\nst.shared.u8 [%r20+2], %r1;\n<ld.shared.u32 %r9, [%r20];>\nadd.u32 "
           "%r2, %r9, 1;",
     "ld.shared.u16 %r9, [%r20];", words},
    {"AnElementBehindTheFilledOnes", Errc::memory_not_written,
     own + "st.shared.u32 [%r20], %r1;\nbar.sync 0;\n<ld.shared.u32 %r2, [box+256];>",
     "ld.shared.u32 %r2, [box+252];", words},
    {"ACounterThatStartsAnyhow", Errc::memory_not_written, "<atom.shared.add.u32 %r2, [box], 1;>",
     "mov.u32 %r2, 1;", one_word},
    {"LocalMemory", Errc::memory_not_written,
     "{ .local .align 4 .b32 a[4];\nst.local.u32 [a], %r1;\n<ld.local.u32 %r2, [a+4];> }",
     "ld.local.u32 %r2, [a];"},
    {"ThroughAGenericAddress", Errc::memory_not_written,
     "{ .local .align 4 .b32 a[4];\nmov.u64 %rd2, a;\ncvta.local.u64 %rd3, %rd2;\nst.u32 [%rd3], "
     "%r1;\n<ld.u32 %r2, [%rd3+8];> }",
     "ld.u32 %r2, [%rd3];"},
    {"CopiedAboutAndThenUsed", Errc::memory_not_written,
     own + "ld.shared.u32 %r9, [%r20];\nst.shared.u32 [%r20+256], %r9;\n<ld.shared.u32 %r10, "
           "[%r20+256];>\nmov.u32 %r11, %r10;\nadd.u32 %r2, %r11, 1;",
     "mov.u32 %r10, 1;", words},
    {"AVectorsLastElement", Errc::memory_not_written,
     "mov.u32 %r3, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.v2.u32 [box], {%r3, %r3};\n@%p1 "
     "st.shared.u32 [box+8], %r3;\nbar.sync 0;\n"
     "<ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [box];>\nadd.u32 %r2, %r4, %r7;",
     "ld.shared.v2.u32 {%r4, %r7}, [box];", words},

    // --- accesses that nothing orders
    {"NoBarrierBetweenWriteAndRead", Errc::data_race,
     own + next + "st.shared.u32 [%r20], %r1;\n<ld.shared.u32 %r2, [%r22];>",
     "bar.sync 0;\nld.shared.u32 %r2, [%r22];", words},
    {"NoBarrierBetweenReadAndWrite", Errc::data_race,
     own + next +
         "st.shared.u32 [%r20], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r22];\n<st.shared.u32 [%r20], 7;>",
     "bar.sync 0;\nst.shared.u32 [%r20], 7;", words},
    {"ABarrierOfTheWarpOnly", Errc::data_race,
     own + "xor.b32 %r23, %r1, 32;\nshl.b32 %r23, %r23, 2;\nadd.u32 %r23, %r23, %r21;\nst.shared.u32 [%r20], "
           "%r1;\nbar.warp.sync 0xffffffff;\n<ld.shared.u32 %r2, [%r23];>",
     "bar.sync 0;\nld.shared.u32 %r2, [%r23];", words},
    {"NoBarrierOfTheWarp", Errc::data_race,
     own + "xor.b32 %r23, %r1, 1;\nshl.b32 %r23, %r23, 2;\nadd.u32 %r23, %r23, %r21;\nst.shared.u32 [%r20], "
           "%r1;\n<ld.shared.u32 %r2, [%r23];>",
     "bar.warp.sync 0xffffffff;\nld.shared.u32 %r2, [%r23];", words},
    {"TwoWritersOfOnePlace", Errc::data_race, "<st.shared.u32 [box], %r1;>", "st.shared.u32 [box], 1;",
     one_word},
    {"TwoWritersInGlobalMemory", Errc::data_race, "<st.global.u32 [%rd1+4], %r1;>\nbra END;\nEND: ret;",
     "st.global.u32 [%rd1+4], 1;"},
    {"AReadOfGlobalMemoryThatAnotherWrites", Errc::data_race,
     "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r1;\nxor.b32 %r3, %r1, "
     "1;\nmul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd3, %rd1, %rd3;\n"
     "<ld.global.u32 %r2, [%rd3];>\nbar.sync 0;",
     "bar.sync 0;\nld.global.u32 %r2, [%rd3];"},
    {"APlainReadOfAFlag", Errc::data_race,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [box], 0;\nbar.sync 0;\nsetp.ne.u32 %p2, %r1, 40;\n@%p2 "
     "bra OVER;\nst.volatile.shared.u32 [box], 1;\nOVER:\n"
     "bar.warp.sync 0xffffffff;\nsetp.eq.u32 %p3, %r1, 1;\n<@%p3 ld.shared.u32 %r2, [box];>\nbar.sync 0;",
     "@%p3 ld.shared.u32 %r3, [box+4];", ".shared .align 4 .b32 box[2] ;"},
    {"AnAtomicBesideAPlainWrite", Errc::data_race,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [box], 0;\nbar.sync 0;\nsetp.lt.u32 %p2, %r1, 32;\n@%p2 "
     "atom.shared.add.u32 %r3, [box], 1;\n<@!%p2 st.shared.u32 [box], 9;>",
     "bar.sync 0;\n@!%p2 st.shared.u32 [box], 9;", one_word},
    {"TheWrongNamedBarrier", Errc::data_race,
     own + "xor.b32 %r23, %r1, 32;\nshl.b32 %r23, %r23, 2;\nadd.u32 %r23, %r23, %r21;\nst.shared.u32 [%r20], "
           "%r1;\nshr.u32 %r24, %r1, 5;\nadd.u32 %r24, %r24, 1;\nbar.sync %r24, 32;\n"
           "<ld.shared.u32 %r2, [%r23];>",
     "bar.sync 4, 64;\nld.shared.u32 %r2, [%r23];", words},
    {"NoWaitAtTheMbarrier", Errc::data_race,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 1;\nbar.sync 0;\n@%p1 st.shared.u32 "
     "[box], 3;\n@%p1 mbarrier.arrive.shared.b64 _, [gate];\n"
     "<ld.shared.u32 %r2, [box];>",
     "L: mbarrier.try_wait.parity.shared.b64 %p2, [gate], 0;\n@!%p2 bra L;\nld.shared.u32 %r2, [box];", gate},
    {"AnMbarrierThatOthersUseBeforeItIsMade", Errc::data_race,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 64;\n<mbarrier.arrive.shared.b64 _, "
     "[gate];>",
     "bar.sync 0;\nmbarrier.arrive.shared.b64 _, [gate];", gate},
    {"TheNextLapOfALoop", Errc::data_race,
     own + next +
         "mov.u32 %r3, 0;\nL: st.shared.u32 [%r20], %r3;\nbar.sync 0;\nld.shared.u32 %r4, [%r22];\nadd.u32 "
         "%r2, %r2, %r4;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 4;\n"
         "<@%p1 bra L;>",
     "bar.sync 0;\n@%p1 bra L;", words},
    {"BytesOfOneWord", Errc::data_race,
     "mov.u32 %r21, box;\nadd.u32 %r20, %r21, %r1;\nst.shared.u8 [%r20], %r1;\nand.b32 %r22, %r1, "
     "0xfffffffc;\nadd.u32 %r22, %r22, %r21;\n<ld.shared.u32 %r2, [%r22];>",
     "bar.sync 0;\nld.shared.u32 %r2, [%r22];", words},

    // --- where memory ends
    {"OneBehindTheEnd", Errc::address_out_of_bounds,
     "setp.eq.u32 %p1, %r1, 3;\n<@%p1 st.global.u32 [%rd1+256], 1;>",
     "@%p1 st.global.u32 [%rd1+252], 1;\nbar.sync 0;"},
    {"OneBeforeTheBegin", Errc::address_out_of_bounds, "<ld.global.u32 %r2, [%rd1+-4];>",
     "ld.global.u32 %r2, [%rd1];"},
    {"SharedMemoryBehindTheEnd", Errc::address_out_of_bounds, "<ld.shared.u32 %r2, [box+512];>",
     "mov.u32 %r2, 1;", words},
    {"ASharedAddressAsAGlobalOne", Errc::address_out_of_bounds,
     "mov.u64 %rd2, box;\n<ld.global.u32 %r2, [%rd2];>", "mov.u32 %r2, 1;", one_word},
    {"AGenericSharedAddressAsAGlobalOne", Errc::address_out_of_bounds,
     "mov.u64 %rd2, box;\ncvta.shared.u64 %rd3, %rd2;\n<st.global.u32 [%rd3], 1;>", "st.u32 [%rd3], 1;",
     one_word},
    {"Misaligned", Errc::address_misaligned, "<ld.global.u64 %rd2, [%rd1+4];>\ncvt.u32.u64 %r2, %rd2;",
     "ld.global.u64 %rd2, [%rd1+8];"},
    {"AMisalignedVector", Errc::address_misaligned, "<ld.global.v4.u32 {%r3, %r4, %r5, %r2}, [%rd1+8];>",
     "ld.global.v4.u32 {%r3, %r4, %r5, %r2}, [%rd1+16];"},
    {"AWriteToAConstant", Errc::memory_read_only,
     "mov.u64 %rd2, c;\ncvta.const.u64 %rd3, %rd2;\n<st.u32 [%rd3], 1;>", "ld.u32 %r2, [%rd3];",
     ".const .u32 c = 4;"},
    {"NoPointer", Errc::address_out_of_bounds, "mov.u64 %rd2, 0;\n<ld.global.u32 %r2, [%rd2];>",
     "ld.global.u32 %r2, [%rd1];"},

    // --- barriers and masks
    {"ABarrierThatAWarpNeverReaches", Errc::barrier_deadlock,
     "setp.lt.u32 %p1, %r1, 32;\n@!%p1 bra SPIN;\n<bar.sync 1, 64;>\nbra DONE;\nSPIN:\nbar.sync 2, 64;",
     "bar.sync 2, 64;"},
    {"DifferentBarriersInOneWarp", Errc::barrier_divergent,
     "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra A;\nbar.sync 0;\nbra DONE;\nA:\n<bar.sync 0;>",
     "barrier.sync 0;"},
    {"HalvesOfTwoWarpsAtOneBarrier",
     Errc::barrier_divergent,
     "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra A;\nbarrier.sync 1, 64;\nbra "
     "DONE;\nA:\n<bar.sync 2, 32;>",
     "barrier.sync 1, 64;",
     "",
     {},
     true},
    {"LanesThatNameDifferentBarriers",
     Errc::barrier_divergent,
     "and.b32 %r3, %r1, 1;\n<bar.sync %r3;>",
     "barrier.sync 1;",
     "",
     {},
     true},
    {"AShuffleFromALaneThatHasExited", Errc::register_not_written,
     "and.b32 %r3, %r1, 31;\nsetp.eq.u32 %p1, %r3, 7;\n@%p1 exit;\n<shfl.sync.bfly.b32 %r2, %r1, 1, 31, "
     "0xffffffff;>",
     "shfl.sync.idx.b32 %r2, %r1, 1, 31, 0xffffffff;"},
    {"AMaskWithoutTheLaneItself", Errc::warp_mask_mismatch, "<vote.sync.any.pred %p1, 1, 0x0000ffff;>",
     "vote.sync.any.pred %p1, 1, 0xffffffff;"},
    {"LanesThatNeverCome", Errc::barrier_deadlock,
     "and.b32 %r3, %r1, 31;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra A;\nbarrier.sync 0;\nbra "
     "DONE;\nA:\n<bar.warp.sync 0xffffffff;>\nbarrier.sync 0;",
     "bar.warp.sync 1;"},
    {"ABarrierWithAnOddNumberOfThreads", Errc::barrier_invalid, "mov.u32 %r3, 33;\n<bar.sync 0, %r3;>",
     "bar.sync 0, 64;"},
    {"MoreArrivalsThanExpected", Errc::barrier_invalid,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 2;\nbar.sync 0;\n<@%p1 "
     "mbarrier.arrive.shared.b64 _, [gate], 3;>",
     "@%p1 mbarrier.arrive.shared.b64 _, [gate], 2;", gate},
    {"AnMbarrierThatIsMadeAgain", Errc::barrier_invalid,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 2;\n<@%p1 mbarrier.init.shared.b64 "
     "[gate], 3;>",
     "@%p1 mbarrier.inval.shared.b64 [gate];\n@%p1 mbarrier.init.shared.b64 [gate], 3;", gate,
     EmulatorCheck::barriers},
    {"AnMbarrierThatWasNeverMade", Errc::barrier_invalid, "<mbarrier.arrive.shared.b64 _, [gate];>",
     "mov.u32 %r2, 1;", gate},
    {"ABranchBeyondItsTable", Errc::branch_index_out_of_range,
     "T: .branchtargets A, B;\n<brx.idx %r1, T;>\nA: mov.u32 %r2, 1;\nbra DONE;\nB: mov.u32 %r2, 2;",
     "and.b32 %r3, %r1, 1;\nbrx.idx %r3, T;"},
    {"Trap", Errc::trap_executed, "setp.gt.u32 %p1, %r1, 62;\n<@%p1 trap;>", "@%p1 mov.u32 %r2, 1;"},
    {"ACallOfNoFunction", Errc::call_target_invalid,
     "mov.u64 %rd2, 64;\nP: .callprototype _ ();\n<call %rd2, P;>", "mov.u64 %rd3, f;\ncall %rd3, P;",
     ".func f()\n{ ret; }"},
    // --- calls: what a prototype says, and the function does not
    {"AResultOfAnotherSize", Errc::call_mismatch,
     called + "{\n.param .b32 a;\n.param .b64 r;\n.param .b32 s;\nst.param.b32 [a], %r1;\nP: .callprototype "
              "(.param .b64 _) _ (.param .b32 _);\n"
              "Q: .callprototype (.param .b32 _) _ (.param .b32 _);\n<call (r), %rd3, (a), P;\nld.param.b32 "
              "%r2, [r];>\n}",
     "call (s), %rd3, (a), Q;\nld.param.b32 %r2, [s];", twice},
    {"AnArgumentTooMany", Errc::call_mismatch,
     called + "{\n.param .b32 a;\n.param .b32 b;\n.param .b32 r;\nst.param.b32 [a], %r1;\nst.param.b32 [b], "
              "%r1;\nP: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
              "Q: .callprototype (.param .b32 _) _ (.param .b32 _);\n<call (r), %rd3, (a, b), "
              "P;>\nld.param.b32 %r2, [r];\n}",
     "call (r), %rd3, (a), Q;", twice},
    {"NoResultOfAFunctionThatHasOne", Errc::call_mismatch,
     called + "{\n.param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %r1;\nP: .callprototype _ (.param .b32 "
              "_);\nQ: .callprototype (.param .b32 _) _ (.param .b32 _);\n<call %rd3, (a), P;>\n}",
     "call (r), %rd3, (a), Q;", twice},
    {"AnArrayForAScalar", Errc::call_mismatch,
     called +
         "{\n.param .align 4 .b8 a[4];\n.param .b32 c;\n.param .b32 r;\nst.param.b32 [a], %r1;\nst.param.b32 "
         "[c], %r1;\nP: .callprototype (.param .b32 _) _ (.param .align 4 .b8 _[4]);\n"
         "Q: .callprototype (.param .b32 _) _ (.param .b32 _);\n<call (r), %rd3, (a), P;>\nld.param.b32 %r2, "
         "[r];\n}",
     "call (r), %rd3, (c), Q;", twice},
    {"AnArrayOfAnotherAlignment", Errc::call_mismatch,
     "mov.u64 %rd3, first;\n{\n.param .align 4 .b8 a[8];\n.param .align 8 .b8 c[8];\n.param .b32 "
     "r;\nst.param.b32 [a], %r1;\nst.param.b32 [a+4], %r1;\nst.param.b32 [c], %r1;\n"
     "st.param.b32 [c+4], %r1;\nP: .callprototype (.param .b32 _) _ (.param .align 4 .b8 _[8]);\nQ: "
     ".callprototype (.param .b32 _) _ (.param .align 8 .b8 _[8]);\n"
     "<call (r), %rd3, (a), P;>\nld.param.b32 %r2, [r];\n}",
     "call (r), %rd3, (c), Q;",
     ".func (.param .b32 r) first(.param .align 8 .b8 a[8])\n{ .reg .b32 %x; ld.param.b32 %x, [a]; "
     "st.param.b32 [r], %x; ret; }"},
    // --- barriers that warps come to otherwise than others
    {"ABarrierOfTwoNumbers", Errc::barrier_invalid,
     "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbarrier.sync 1, 64;\nbra DONE;\nA:\n<barrier.sync 1, 96;>",
     "barrier.sync 1;", "", EmulatorCheck::barriers},
    {"AReductionWithASync", Errc::barrier_invalid,
     "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbarrier.red.popc.u32 %r2, 1, %p1;\nbra "
     "DONE;\nA:\n<barrier.sync 1;>",
     "barrier.red.popc.u32 %r2, 1, %p1;", "", EmulatorCheck::barriers},
    {"AParityThatIsNone", Errc::barrier_invalid,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 64;\nbar.sync "
     "0;\nmbarrier.arrive.shared.b64 _, [gate];\nmov.u32 %r3, 2;\n"
     "L:\n<mbarrier.try_wait.parity.shared.b64 %p2, [gate], %r3;>\n@!%p2 bra L;",
     "mbarrier.try_wait.parity.shared.b64 %p2, [gate], 0;", gate, EmulatorCheck::barriers},
    // --- what no GPU goes on from
    {"ABarrierOfMoreThreadsThanThereAre", Errc::barrier_deadlock, "mov.u32 %r3, 128;\n<barrier.sync 1, %r3;>",
     "barrier.sync 1, 64;"},
    {"AnMbarrierInGlobalMemory", Errc::address_out_of_bounds,
     "setp.eq.u32 %p1, %r1, 0;\n<@%p1 mbarrier.init.b64 [%rd1], 1;>",
     "mov.u64 %rd2, gate;\ncvta.shared.u64 %rd2, %rd2;\n@%p1 mbarrier.init.b64 [%rd2], 1;", gate},
    {"AnArrivalInGlobalMemory", Errc::address_out_of_bounds, "<mbarrier.arrive.b64 %rd3, [%rd1];>",
     "mov.u32 %r2, 1;"},
    {"AWaitInGlobalMemory", Errc::address_out_of_bounds, "<mbarrier.try_wait.parity.b64 %p1, [%rd1], 0;>",
     "mov.u32 %r2, 1;"},
    {"AnEndInGlobalMemory", Errc::address_out_of_bounds, "<mbarrier.inval.b64 [%rd1];>", "mov.u32 %r2, 1;"},
    {"TransactionsInGlobalMemory", Errc::address_out_of_bounds, "<mbarrier.expect_tx.b64 [%rd1], 16;>",
     "mov.u32 %r2, 1;"},
    {"CopiesThatTellGlobalMemory", Errc::address_out_of_bounds, "<cp.async.mbarrier.arrive.b64 [%rd1];>",
     "cp.async.wait_all;"},
    {"AnMbarrierForNobody", Errc::barrier_invalid,
     "mov.u32 %r3, 0;\nsetp.eq.u32 %p1, %r1, 0;\n<@%p1 mbarrier.init.shared.b64 [gate], %r3;>",
     "@%p1 mbarrier.init.shared.b64 [gate], 1;", gate},
    {"AnMbarrierForTooMany", Errc::barrier_invalid,
     "mov.u32 %r3, 1048576;\nsetp.eq.u32 %p1, %r1, 0;\n<@%p1 mbarrier.init.shared.b64 [gate], %r3;>",
     "@%p1 mbarrier.init.shared.b64 [gate], 1048575;", gate},
    {"TooManyTransactions", Errc::barrier_invalid,
     "mov.u32 %r3, 1048575;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 1;\n@%p1 "
     "mbarrier.expect_tx.shared.b64 [gate], %r3;\n<@%p1 mbarrier.expect_tx.shared.b64 [gate], 1;>",
     "mov.u32 %r2, 1;", gate},
    {"ACopyOfLessThanItsSource", Errc::copy_size_invalid,
     own + "mov.u32 %r3, 5;\n<cp.async.ca.shared.global [%r20], [%rd1], 4, %r3;>\ncp.async.wait_all;",
     "cp.async.ca.shared.global [%r20], [%rd1], 4, 4;", words},
    {"APrefetchOfNoMultipleOf16", Errc::copy_size_invalid,
     "mov.u32 %r3, 24;\n<cp.async.bulk.prefetch.L2.global [%rd1], %r3;>",
     "cp.async.bulk.prefetch.L2.global [%rd1], 32;"},
    {"AMisalignedPrefetch", Errc::address_misaligned, "<cp.async.bulk.prefetch.L2.global [%rd1+8], 32;>",
     "cp.async.bulk.prefetch.L2.global [%rd1+16], 32;"},
    {"AnAsynchronousStoreToGlobalMemory", Errc::address_out_of_bounds,
     "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [gate], 1;\nmov.u64 %rd2, "
     "gate;\ncvta.shared.u64 %rd2, %rd2;\n<@%p1 st.async.weak.mbarrier::complete_tx::bytes.b32 [%rd1], %r1, "
     "[%rd2];>",
     "mov.u32 %r2, 1;", gate},
    {"MisalignedRows", Errc::address_misaligned,
     own + "st.shared.u32 [%r20], %r1;\nst.shared.u32 [%r20+256], %r1;\nbar.sync 0;\nand.b32 %r22, %r1, "
           "7;\nmad.lo.u32 %r22, %r22, 24, %r21;\n<ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r22];>",
     "mad.lo.u32 %r22, %r22, 0, %r21;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r22];", words},
    {"NoEnd", Errc::instruction_budget_spent, "L:\n<add.u32 %r2, %r2, 1;>\nbra L;", "bra DONE;"},
    {"RecursionWithoutEnd", Errc::stack_overflow, "call f;", "ret;", ".func f()\n{\n<call f;>\nret;\n}"},
};

std::string with(std::string text, const std::string& between) {
    const std::size_t begin = text.find('<');
    if (begin == std::string::npos) return text;
    const std::size_t end = text.find('>', begin);
    const std::string inside = between.empty() ? text.substr(begin + 1, end - begin - 1) : between;
    return text.replace(begin, end - begin + 1, inside);
}

std::string culprit(const Planted& row) {
    for (const std::string& text : {row.body, row.declarations}) {
        const std::size_t begin = text.find('<');
        if (begin != std::string::npos) return text.substr(begin + 1, text.find('>', begin) - begin - 1);
    }
    return {};
}

Expected<EmulatorStats> run(Machine& machine, const std::string& text) {
    const auto loaded = machine.load(text);
    EXPECT_TRUE(loaded) << describe(loaded.error(), text);
    if (!loaded) return tl::unexpected(loaded.error());
    const u64 out = machine.upload(std::vector<u32>(threads, 5));
    return machine.launch("k", {.block = {threads, 1, 1}}, out);
}

class PlantedMistake : public testing::TestWithParam<Planted> {};

TEST_P(PlantedMistake, IsNamedAtItsLine) {
    const Planted& row = GetParam();
    const std::string text = kernel(with(row.body, ""), with(row.declarations, ""));
    Machine machine({.instruction_budget = 1u << 16});
    const auto done = run(machine, text);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, row.code) << machine.text_of(done.error());
    const Span span = done.error().span;
    ASSERT_TRUE(span.known()) << machine.text_of(done.error());
    const auto line_of = [&](std::size_t at) {
        return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    };
    if (row.name == "TheNextLapOfALoop" || row.name == "NoEnd") return;  // it shows somewhere in the loop
    const auto line = line_of(text.find(culprit(row)));
    // Of two accesses that race, or two barriers, the one that comes second here is the error's, and the
    // other is named by its line.
    const bool is_of_two =
        row.code == Errc::data_race || row.code == Errc::barrier_divergent || row.check.has_value();
    if (is_of_two && line_of(span.begin) != line) {
        EXPECT_THAT(machine.text_of(done.error()),
                    testing::ContainsRegex("on line " + std::to_string(line + 1) + "[ ,]"))
            << text;
    } else {
        EXPECT_EQ(line_of(span.begin), line) << machine.text_of(done.error()) << text;
    }
}

// The check that finds it; none, when it ends every launch.
std::optional<EmulatorCheck> check_of(const Planted& row) {
    switch (row.code) {
        case Errc::register_not_written:
        case Errc::memory_not_written: return EmulatorCheck::unwritten;
        case Errc::data_race: return EmulatorCheck::races;
        case Errc::barrier_divergent: return EmulatorCheck::barriers;
        case Errc::call_mismatch: return EmulatorCheck::calls;
        case Errc::barrier_invalid: return row.check;
        case Errc::address_out_of_bounds:
            return row.declarations.find("malloc") != std::string::npos ? std::optional(EmulatorCheck::heap)
                                                                        : std::nullopt;
        default: return std::nullopt;
    }
}

TEST_P(PlantedMistake, IsFoundByItsCheckAlone) {
    const Planted& row = GetParam();
    const std::string text = kernel(with(row.body, ""), with(row.declarations, ""));
    const auto check = check_of(row);
    Machine only(
        {.instruction_budget = 1u << 16, .checks = check ? EmulatorChecks{*check} : EmulatorChecks::none()});
    const auto done = run(only, text);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, row.code) << only.text_of(done.error());
    if (!check) return;
    Machine others({.instruction_budget = 1u << 16, .checks = EmulatorChecks::all().without(*check)});
    const auto found = run(others, text);
    EXPECT_TRUE(found || found.error().code != row.code) << others.text_of(found.error());
    Machine none({.instruction_budget = 1u << 16, .checks = EmulatorChecks::none()});
    EXPECT_EQ(run(none, text).has_value(), !row.ends);
}

// A launch that goes on finds it once, whatever else it finds, and comes to its end.
TEST_P(PlantedMistake, IsOneFindingOfMany) {
    const Planted& row = GetParam();
    const auto check = check_of(row);
    if (!check) return;
    const std::string text = kernel(with(row.body, ""), with(row.declarations, ""));
    Machine machine({.instruction_budget = 1u << 16, .checks = {*check}, .keep_going = 100});
    const auto done_all = run(machine, text);
    EXPECT_EQ(done_all.has_value(), !row.ends) << machine.text_of(done_all.error());
    const EmulatorReport report = machine.emulator.take_report();
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings.size(), report.all_findings + (row.ends ? 1 : 0));
    const EmulatorFinding& first = report.findings[0];
    EXPECT_EQ(first.check, check);
    EXPECT_EQ(first.error.code, row.code);
    EXPECT_GE(first.threads, 1u);
    EXPECT_EQ(first.blocks, 1u);
    Machine stops({.instruction_budget = 1u << 16, .checks = {*check}});
    const auto done = run(stops, text);
    ASSERT_FALSE(done);
    EXPECT_EQ(machine.text_of(first.error), stops.text_of(done.error()));
}

TEST_P(PlantedMistake, IsNoneWhereItIsExcused) {
    const Planted& row = GetParam();
    const auto check = check_of(row);
    if (!check) return;
    const std::string text = kernel(with(row.body, ""), with(row.declarations, ""));
    Machine stops({.instruction_budget = 1u << 16, .checks = {*check}});
    const auto done = run(stops, text);
    ASSERT_FALSE(done);
    const auto line = position(text, done.error().span.begin).line;
    Machine excused(
        {.instruction_budget = 1u << 16, .checks = {*check}, .excuses = {{.check = *check, .line = line}}});
    const auto again = run(excused, text);
    EXPECT_TRUE(again || again.error().code != row.code ||
                position(text, again.error().span.begin).line != line)
        << excused.text_of(again.error());
    EXPECT_GE(excused.emulator.take_report().excused.at(0), 1u);
}

TEST_P(PlantedMistake, PutRightIsClean) {
    const Planted& row = GetParam();
    const std::string text = kernel(with(row.body, row.right), with(row.declarations, row.right));
    if (const Assembler* assembler = nvptxcompiler()) {
        const auto cubin = assembler->assemble(text);
        EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
    }
    Machine machine({.instruction_budget = 1u << 16});
    EXPECT_RUNS(machine, run(machine, text));
}

INSTANTIATE_TEST_SUITE_P(Emulator, PlantedMistake, testing::ValuesIn(planted),
                         [](const testing::TestParamInfo<Planted>& info) { return info.param.name; });

// What is kept of words that several warps read in one block is gone in the next, which accesses their bytes.
TEST(EmulatorChecks, BytesWhereAnEarlierBlockReadWords) {
    const std::string body =
        own +
        "st.shared.u32 [%r20], %r1;\nst.shared.u32 [%r20+256], %r1;\nbar.sync 0;\nmov.u32 %r9, "
        "%ctaid.x;\nsetp.ne.u32 %p1, %r9, 0;\n"
        "@!%p1 ld.shared.u32 %r2, [box+16];\nadd.u32 %r21, %r21, %r1;\n@%p1 st.shared.u8 [%r21+64], %r1;";
    for (const u32 blocks : {1u, 2u, 5u}) {
        Machine machine({.threads = 1});
        ASSERT_TRUE(machine.load(kernel(body, words)));
        const u64 out = machine.upload(std::vector<u32>(threads, 5));
        EXPECT_RUNS(machine, machine.launch("k", {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}}, out));
    }
}

// A member of a few bits is written without its neighbours ever having been, and read without them.
TEST(EmulatorChecks, BitsThatWereWritten) {
    Machine machine;
    EXPECT_RUNS(
        machine,
        run(machine,
            kernel(
                "and.b32 %r9, %r10, 254;\nor.b32 %r9, %r9, 1;\nand.b32 %r11, %r9, 1;\nadd.u32 %r2, %r11, 1;",
                "")));
    EXPECT_RUNS(
        machine,
        run(machine, kernel(bit + "ld.shared.u8 %rs2, [%r20];\nshr.u16 %rs2, %rs2, 2;\n" + low_bit, words)));
}

// Data that looks like an mbarrier object is none.
TEST(EmulatorChecks, AnMbarrierWhereDataWas) {
    Machine machine;
    EXPECT_RUNS(machine, run(machine, kernel("setp.eq.u32 %p1, %r1, 0;\nmov.u32 %r9, 0xbf800000;\n@%p1 "
                                             "st.shared.v2.u32 [gate], {%r9, %r9};\n"
                                             "@%p1 mbarrier.init.shared.b64 [gate], 64;\nbar.sync "
                                             "0;\nmbarrier.arrive.shared.b64 _, [gate];",
                                             gate)));
}

// Compilers compute with more than a member has, and drop the rest again: with what its neighbours in a
// structure are.
TEST(EmulatorChecks, ArithmeticBesideWhatNothingWrote) {
    const std::string beside =
        own + "st.shared.u8 [%r20], %r1;\nld.shared.u16 %rs1, [%r20];\nld.shared.u32 %r9, [%r20];\n";
    for (const char* const use :
         {"add.s16 %rs2, %rs1, 1;\nand.b16 %rs2, %rs2, 255;\ncvt.u32.u16 %r2, %rs2;",
          "sub.u32 %r3, 7, %r9;\nand.b32 %r2, %r3, 31;", "mul.lo.u32 %r3, %r9, %r1;\nbfe.u32 %r2, %r3, 0, 8;",
          "mad.lo.s32 %r3, %r9, 3, %r1;\nshl.b32 %r2, %r3, 24;",
          "mul.wide.u16 %r3, %rs1, 5;\nst.shared.u8 [%r20+1], %r3;\nld.shared.u16 %rs2, [%r20];\ncvt.u32.u16 "
          "%r2, %rs2;",
          "not.b32 %r3, %r9;\nneg.s32 %r3, %r3;\nand.b32 %r2, %r3, 15;",
          "xor.b32 %r3, %r9, -1;\nprmt.b32 %r2, %r3, 0, 0x4440;", "lop3.b32 %r2, %r9, 255, %r1, 0xEA;"}) {
        SCOPED_TRACE(use);
        Machine machine;
        EXPECT_RUNS(machine, run(machine, kernel(beside + use, words)));
    }
    for (const char* const use :
         {"add.s16 %rs2, %rs1, 1;\nand.b16 %rs2, %rs2, 256;\ncvt.u32.u16 %r2, %rs2;\nadd.u32 %r2, %r2, 1;",
          "add.u32 %r2, %r9, 1;", "add.sat.s32 %r3, %r9, 1;\nshl.b32 %r2, %r3, 31;\nadd.u32 %r2, %r2, 1;",
          "mul.hi.u32 %r3, %r9, %r1;\nand.b32 %r3, %r3, 1;\nadd.u32 %r2, %r3, 1;",
          "xor.b32 %r3, %r9, %r1;\nshr.u32 %r2, %r3, 31;\nadd.u32 %r2, %r2, 1;"}) {
        Machine machine;
        const auto done = run(machine, kernel(beside + use, words));
        ASSERT_FALSE(done) << use;
        EXPECT_EQ(done.error().code, Errc::memory_not_written) << use;
    }
}

// The gaps of structures are copied along with their members, also to global memory; what was widened is no
// copy.
TEST(EmulatorChecks, CopiesOfGaps) {
    const std::string declared =
        own + "st.shared.u8 [%r20], %r1;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n";
    for (const char* const copy :
         {"ld.shared.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [%r20];\nst.global.v4.u8 [%rd2], {%rs1, %rs2, %rs3, "
          "%rs4};",
          "ld.shared.v2.u8 {%rs1, %rs2}, [%r20+2];\nst.global.v2.u8 [%rd2+2], {%rs1, %rs2};",
          "ld.shared.u32 %r9, [%r20];\nst.global.u32 [%rd2], %r9;",
          "ld.shared.v2.u8 {%rs1, %rs2}, [%r20];\ncvt.u32.u16 %r9, %rs2;\ncvt.u32.u16 %r10, %rs1;\nprmt.b32 "
          "%r11, %r9, %r10, 0x3304;\n"
          "st.global.u16 [%rd2], %r11;",
          "ld.shared.v2.u8 {%rs1, %rs2}, [%r20];\nshl.b16 %rs2, %rs2, 8;\nor.b16 %rs1, %rs1, "
          "%rs2;\nst.global.u16 [%rd2], %rs1;"}) {
        SCOPED_TRACE(copy);
        Machine machine;
        EXPECT_RUNS(machine, run(machine, kernel(declared + copy, words)));
    }
    for (const char* const use :
         {"ld.shared.u8 %rs1, [%r20+1];\ncvt.u32.u16 %r2, %rs1;", "ld.shared.u8 %r2, [%r20+3];",
          "ld.shared.u32 %r9, [%r20];\nshr.u32 %r2, %r9, 8;",
          "ld.shared.u8 %rs1, [%r20+1];\nst.global.u8 [%rd2], %rs1;",
          "ld.shared.u32 %r9, [%r20];\nbfe.u32 %r2, %r9, 12, 20;",
          "ld.shared.u32 %r9, [%r20+256];\nand.b32 %r2, %r9, 7;"}) {
        Machine machine;
        const auto done = run(machine, kernel(declared + use, words));
        ASSERT_FALSE(done) << use;
        EXPECT_EQ(done.error().code, Errc::memory_not_written) << use;
    }
}

// A pair of halves of which only one is of use.
TEST(EmulatorChecks, HalvesByThemselves) {
    const std::string declared =
        own +
        "cvt.rn.f16.u32 %rs1, %r1;\nst.shared.b16 [%r20], %rs1;\nld.shared.b32 %r9, [%r20];\n"
        "fma.rn.f16x2 %r10, %r9, %r9, %r9;\nmov.b32 {%rs2, %rs3}, %r10;\n";
    Machine machine;
    EXPECT_RUNS(machine, run(machine, kernel(declared + "cvt.rzi.u32.f16 %r2, %rs2;", words)));
    EXPECT_FALSE(run(machine, kernel(declared + "cvt.rzi.u32.f16 %r2, %rs3;", words)));
}

// An error in a function says who called it, in PTX and in the source.
TEST(EmulatorChecks, NameTheCalls) {
    const std::string functions =
        ".func inner(.param .b64 a)\n{\n.reg .b64 %a;\nld.param.b64 %a, [a];\nld.u32 _, [%a];\nret;\n}\n"
        ".func outer(.param .b64 a)\n{\n.reg .b64 %a;\nld.param.b64 %a, [a];\n{ .param .b64 b;\nst.param.b64 "
        "[b], %a;\ncall inner, (b); }\nret;\n}\n"
        ".func again()\n{\ncall again;\nret;\n}\n";
    std::string text = kernel(
        "add.s64 %rd2, %rd1, 256;\n{ .param .b64 c;\nst.param.b64 [c], %rd2;\n.loc 1 12 3\ncall outer, (c); "
        "}",
        functions);
    text += ".file 1 \"list.cu\"\n";
    text = text.replace(text.find("ld.u32 _"), 8, "ld.u32 %r");
    text = text.replace(text.find(".reg .b64 %a;"), 0, ".reg .b32 %r;\n");
    Machine machine;
    const auto done = run(machine, text);
    ASSERT_FALSE(done);
    EXPECT_THAT(machine.text_of(done.error()),
                testing::AllOf(testing::StartsWith("9:1: error: address out of bounds"),
                               HasSubstr("; called on line 18; called on line 41, from list.cu:12:3\n")));
    const auto deep = run(machine, kernel("call again;", functions));
    ASSERT_FALSE(deep);
    EXPECT_THAT(
        machine.text_of(deep.error()),
        testing::ContainsRegex("; called on line 2[0-9]; called on line 2[0-9];.*; and [0-9]+ calls before"));
}

// An error in code that a compiler inlined says where that was; one in a stub, where a device launches it, in
// which of its lines.
TEST(EmulatorChecks, NameTheSourceAndTheStub) {
    const std::string body =
        "mov.f32 %f1, 0f3F800000;\n.loc 1 20 4\n.loc 1 3 7, function_name names, inlined_at 1 20 4\n{ // "
        "PTXGRAFT_SITE epilogue\n.reg .f32 _acc; // mod f32 acc\nmov.b32 _acc, %f1;\n"
        "// PTXGRAFT_STUB\nadd.f32 _acc, _acc, _acc;\n\nadd.f32 _acc, _acc, %f2;\nmul.f32 _acc, _acc, "
        "_acc;\n// PTXGRAFT_END\nmov.b32 %f1, _acc;\n}\n"
        "mov.b32 %r2, %f1;";
    Machine machine;
    std::string text = kernel(body, "");
    text += ".file 1 \"gemm.cu\"\n.section .debug_str\n{\nnames:\n.b8 95,90,52,112,105,99,107,102,0\n}\n";
    const auto done = run(machine, text);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::register_not_written);
    const std::string source = "; from gemm.cu:3:7 in pick(float), inlined at gemm.cu:20:4";
    EXPECT_THAT(machine.text_of(done.error()), testing::HasSubstr(source + "\n"));
    auto device = Device::open("emulator");
    ASSERT_TRUE(device);
    auto function = device->load(text, "k");
    ASSERT_TRUE(function);
    auto out = device->upload(std::vector<u32>(threads, 5));
    const Argument arguments[] = {*out};
    const auto launched = function->launch({.block = {threads, 1, 1}}, arguments);
    ASSERT_FALSE(launched);
    EXPECT_THAT(describe(launched.error(), text),
                testing::HasSubstr(source + "; in the stub of site epilogue, line 3\n"));
}

}  // namespace
}  // namespace ptxgraft
