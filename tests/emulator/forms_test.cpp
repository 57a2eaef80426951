// Forms of instructions, row by row: integers, registers, memory, atomics. Each has a reference of its own
// (the manual's pseudocode, wide integers, exact arithmetic).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/emulator_forms.hpp"
#include "twins/narrow.hpp"

namespace ptxgraft::forms {
namespace {

// ---- integers --------------------------------------------------------------------------------------------

TEST(EmulatorForms, BitFields) {
    for (const u32 bits : {32u, 64u}) {
        const std::string n = std::to_string(bits), r = bits == 32 ? "r" : "l", end = bits == 32 ? d32 : "";
        const auto field = [bits](const In& x, bool is_signed) {
            const u32 at = static_cast<u32>(x.b & 255), length = static_cast<u32>(x.c & 255);
            const u64 a = low(x.a, bits);
            // The manual: a sign bit from where the field ends, or from the top of a.
            const u32 top = std::min(at + length - 1, bits - 1);
            const u64 sign = !is_signed || length == 0 ? 0 : a >> top & 1;
            u64 d = 0;
            for (u32 i = 0; i < bits; ++i) d |= (i < length && at + i < bits ? a >> (at + i) & 1 : sign) << i;
            return Out{d};
        };
        check("bfe.u" + n + " %" + r + "d, %" + r + "a, %rb, %rc;" + end,
              [=](const In& x) { return field(x, false); });
        check("bfe.s" + n + " %" + r + "d, %" + r + "a, %rb, %rc;" + end,
              [=](const In& x) { return field(x, true); });
        check("mov.u32 %y1, 5;\nand.b32 %y2, %rc, 63;\nbfi.b" + n + " %" + r + "d, %" + r + "a, %" + r +
                  "b, %y2, %y1;" + end,
              [bits](const In& x) {
                  const u32 at = static_cast<u32>(x.c & 63);
                  u64 d = low(x.b, bits);
                  for (u32 i = 0; i < 5 && at + i < bits; ++i)
                      d = (d & ~(u64{1} << (at + i))) | (x.a >> i & 1) << (at + i);
                  return Out{d};
              });
        for (const bool is_signed : {false, true}) {
            const auto found = [=](const In& x) {
                u64 a = low(x.a, bits);
                if (is_signed && (a >> (bits - 1) & 1) != 0) a = low(~a, bits);
                return a == 0 ? ~0u : static_cast<u32>(std::bit_width(a)) - 1;
            };
            const std::string type = (is_signed ? ".s" : ".u") + n;
            check("bfind" + type + " %rd, %" + r + "a;" + d32, [=](const In& x) { return Out{found(x)}; });
            check("bfind.shiftamt" + type + " %rd, %" + r + "a;" + d32,
                  [=](const In& x) { return Out{found(x) == ~0u ? ~0u : bits - 1 - found(x)}; });
        }
    }
}

TEST(EmulatorForms, MasksAndExtensions) {
    for (const bool wrap : {false, true}) {
        const std::string mode = wrap ? ".wrap" : ".clamp";
        check("bmsk" + mode + ".b32 %rd, %ra, %rb;" + d32, [=](const In& x) {
            const u64 at = wrap ? x.a & 31 : static_cast<u32>(x.a),
                      width = wrap ? x.b & 31 : std::min<u64>(static_cast<u32>(x.b), 32);
            u64 d = 0;
            for (u64 i = at; i < at + width && i < 32; ++i) d |= u64{1} << i;
            return Out{d};
        });
        for (const bool is_signed : {false, true})
            check("szext" + mode + (is_signed ? ".s32" : ".u32") + " %rd, %ra, %rb;" + d32, [=](const In& x) {
                const u64 n = wrap ? x.b & 31 : std::min<u64>(static_cast<u32>(x.b), 32);
                const u64 a = static_cast<u32>(x.a);
                if (n == 0) return Out{0};
                return Out{static_cast<u32>(is_signed ? static_cast<u64>(extended(a, static_cast<u32>(n)))
                                                      : low(a, static_cast<u32>(n)))};
            });
        check("shf.l" + mode + ".b32 %rd, %ra, %rb, %rc;\nshf.r" + mode + ".b32 %re, %ra, %rb, %rc;" + d32,
              [=](const In& x) {
                  const u32 n = wrap ? static_cast<u32>(x.c) & 31 : std::min(static_cast<u32>(x.c), 32u);
                  const u64 both = (x.b << 32) | static_cast<u32>(x.a);
                  return Out{n == 32 ? static_cast<u32>(x.a) : static_cast<u32>(both << n >> 32),
                             static_cast<u32>(both >> n)};
              });
    }
    check("shl.b32 %rd, %ra, %rb;\nshr.s32 %re, %ra, %rb;" + d32, [](const In& x) {
        const u32 n = static_cast<u32>(x.b);
        return Out{n > 31 ? 0 : static_cast<u32>(x.a) << n,
                   static_cast<u32>(static_cast<s32>(x.a) >> std::min(n, 31u))};
    });
    check("shl.b64 %ld, %la, %rb;\nshr.s64 %le, %la, %rb;", [](const In& x) {
        const u32 n = static_cast<u32>(x.b);
        return Out{n > 63 ? 0 : x.a << n, static_cast<u64>(static_cast<s64>(x.a) >> std::min(n, 63u))};
    });
    check("shr.u16 %hd, %ha, %rb;\nshl.b16 %z1, %ha, %rb;\ncvt.u64.u16 %ld, %hd;\ncvt.u64.u16 %le, %z1;",
          [](const In& x) {
              const u32 n = static_cast<u32>(x.b), a = static_cast<u16>(x.a);
              return Out{n > 15 ? 0 : a >> n, n > 15 ? u64{0} : low(u64{a} << n, 16)};
          });
}

TEST(EmulatorForms, PermutedBytes) {
    using Select = std::function<u32(u32 i, u32 control)>;  // the byte's number
    const std::pair<const char*, Select> modes[] = {
        {".f4e", [](u32 i, u32 c) { return c + i; }},
        {".b4e", [](u32 i, u32 c) { return (c - i) & 7; }},
        {".rc8", [](u32, u32 c) { return c; }},
        {".ecl", [](u32 i, u32 c) { return std::max(i, c); }},
        {".ecr", [](u32 i, u32 c) { return std::min(i, c); }},
        {".rc16", [](u32 i, u32 c) { return (c & 1) * 2 + i % 2; }}};
    for (const auto& [mode, select] : modes)
        check(std::string("prmt.b32") + mode + " %rd, %ra, %rb, %rc;" + d32, [&select](const In& x) {
            const u64 both = (x.b << 32) | static_cast<u32>(x.a);
            u64 d = 0;
            for (u32 i = 0; i < 4; ++i)
                d |= (both >> 8 * (select(i, static_cast<u32>(x.c & 3)) & 7) & 255) << 8 * i;
            return Out{d};
        });
    check("prmt.b32 %rd, %ra, %rb, %rc;" + d32, [](const In& x) {
        const u64 both = (x.b << 32) | static_cast<u32>(x.a);
        u64 d = 0;
        for (u32 i = 0; i < 4; ++i) {
            const u64 control = x.c >> 4 * i, byte = both >> 8 * (control & 7) & 255;
            d |= ((control & 8) != 0 ? (byte >> 7) * 255 : byte) << 8 * i;
        }
        return Out{d};
    });
}

TEST(EmulatorForms, ProductsOfTwentyFourBits) {
    for (const bool is_signed : {false, true}) {
        const std::string type = is_signed ? ".s32" : ".u32";
        const auto product = [=](const In& x) {
            return is_signed ? static_cast<u64>(extended(x.a, 24) * extended(x.b, 24))
                             : low(x.a, 24) * low(x.b, 24);
        };
        check("mul24.lo" + type + " %rd, %ra, %rb;\nmul24.hi" + type + " %re, %ra, %rb;" + d32,
              [=](const In& x) {
                  return Out{static_cast<u32>(product(x)), static_cast<u32>(product(x) >> 16)};
              });
        check("mad24.lo" + type + " %rd, %ra, %rb, %rc;\nmad24.hi" + type + " %re, %ra, %rb, %rc;" + d32,
              [=](const In& x) {
                  return Out{static_cast<u32>(product(x) + x.c), static_cast<u32>((product(x) >> 16) + x.c)};
              });
    }
}

TEST(EmulatorForms, DotProducts) {
    for (const bool a_signed : {false, true})
        for (const bool b_signed : {false, true}) {
            const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
            const auto part = [](u64 x, u32 at, u32 bits, bool is_signed) {
                return is_signed ? extended(x >> at, bits) : static_cast<s64>(low(x >> at, bits));
            };
            check("dp4a" + types + " %rd, %ra, %rb, %rc;" + d32, [=](const In& x) {
                u64 d = x.c;
                for (u32 i = 0; i < 32; i += 8)
                    d += static_cast<u64>(part(x.a, i, 8, a_signed) * part(x.b, i, 8, b_signed));
                return Out{static_cast<u32>(d)};
            });
            check("dp2a.lo" + types + " %rd, %ra, %rb, %rc;\ndp2a.hi" + types + " %re, %ra, %rb, %rc;" + d32,
                  [=](const In& x) {
                      u64 d[2] = {x.c, x.c};
                      for (u32 half = 0; half < 2; ++half)
                          for (u32 i = 0; i < 2; ++i)
                              d[half] += static_cast<u64>(part(x.a, 16 * i, 16, a_signed) *
                                                          part(x.b, 16 * half + 8 * i, 8, b_signed));
                      return Out{static_cast<u32>(d[0]), static_cast<u32>(d[1])};
                  });
        }
}

TEST(EmulatorForms, TheNthSetBit) {
    auto in = values(3);
    for (In& x : in) x.b %= 32, x.c = static_cast<u64>(static_cast<s64>(x.c % 21) - 10);
    check(
        "fns.b32 %rd, %ra, %rb, %rc;" + d32,
        [](const In& x) {
            const auto offset = static_cast<s32>(x.c);
            const u32 mask = static_cast<u32>(x.a), base = static_cast<u32>(x.b);
            if (offset == 0) return Out{(mask >> base & 1) != 0 ? base : ~0u};
            s32 left = std::abs(offset);
            for (s32 at = static_cast<s32>(base); at >= 0 && at<32; at += offset> 0 ? 1 : -1)
                if ((mask >> at & 1) != 0 && --left == 0) return Out{static_cast<u32>(at)};
            return Out{~0u};
        },
        in);
}

TEST(EmulatorForms, CarriesRunThroughChains) {
    const auto halves = [](u128 x) { return Out{static_cast<u64>(x), static_cast<u64>(x >> 64)}; };
    const auto wide = [](u64 lo, u64 hi) { return (static_cast<u128>(hi) << 64) | lo; };
    check("add.cc.u64 %ld, %la, %lb;\naddc.u64 %le, %lc, %la;",
          [=](const In& x) { return halves(wide(x.a, x.c) + wide(x.b, x.a)); });
    check("sub.cc.u64 %ld, %la, %lb;\nsubc.u64 %le, %lc, %la;",
          [=](const In& x) { return halves(wide(x.a, x.c) - wide(x.b, x.a)); });
    // Words of 32 bits, with other instructions in between that leave the condition code alone.
    check(
        "mov.b64 {%y1, %y2}, %la;\nmov.b64 {%y3, %y4}, %lb;\nadd.cc.u32 %y5, %y1, %y3;\nadd.u32 %y9, %y1, "
        "7;\naddc.cc.u32 %y6, %y2, %y4;\naddc.u32 %y7, %rc, 0;\n"
        "mov.b64 %ld, {%y5, %y6};\ncvt.u64.u32 %le, %y7;",
        [=](const In& x) {
            return Out{x.a + x.b, static_cast<u32>(x.c + (x.a + x.b < x.a ? 1 : 0))};
        });
    check(
        "mov.b64 {%y1, %y2}, %la;\nmov.b64 {%y3, %y4}, %lb;\nsub.cc.s32 %y5, %y1, %y3;\nsubc.cc.s32 %y6, "
        "%y2, %y4;\nsubc.s32 %y7, %rc, 0;\n"
        "mov.b64 %ld, {%y5, %y6};\ncvt.u64.u32 %le, %y7;",
        [=](const In& x) {
            return Out{x.a - x.b, static_cast<u32>(x.c - (x.a < x.b ? 1 : 0))};
        });
    // nvcc's division of 128 bits: what a subtraction leaves is a carry of 1 where it did not borrow.
    check("sub.cc.u32 %y1, %ra, %rb;\naddc.u32 %rd, 0, 0;\nadd.cc.u32 %y1, %ra, %rb;\nsubc.u32 %re, 0, 0;" +
              d32,
          [](const In& x) {
              const u64 a = static_cast<u32>(x.a), b = static_cast<u32>(x.b);
              return Out{a >= b ? 1u : 0u, (a + b) >> 32 != 0 ? 0 : ~0u};
          });
    check(
        "mad.lo.cc.u32 %y1, %ra, %rb, %rc;\nmadc.hi.u32 %y2, %ra, %rb, %rc;\nmov.b64 %ld, {%y1, "
        "%y2};\nmad.hi.cc.u32 %y3, %ra, %rc, %rb;\nmadc.lo.cc.u32 %y4, %ra, %rb, 1;\n"
        "addc.u32 %y5, 0, 0;\nmov.b64 %le, {%y4, %y5};",
        [](const In& x) {
            const u64 a = static_cast<u32>(x.a), b = static_cast<u32>(x.b), c = static_cast<u32>(x.c);
            const u64 carry = ((a * c >> 32) + b) >> 32;
            return Out{a * b + c + (c << 32), static_cast<u32>(a * b) + (1 + carry)};
        });
    check("mad.lo.cc.u64 %ld, %la, %lb, %lc;\nmadc.hi.u64 %le, %la, %lb, 0;",
          [=](const In& x) { return halves(static_cast<u128>(x.a) * x.b + x.c); });
    check("mad.lo.cc.s64 %ld, %la, %lb, 0;\nmadc.hi.s64 %le, %la, %lb, %lc;", [=](const In& x) {
        return halves(static_cast<u128>(static_cast<s128>(static_cast<s64>(x.a)) * static_cast<s64>(x.b)) +
                      (static_cast<u128>(x.c) << 64));
    });
}

TEST(EmulatorForms, IntegersOfEveryWidthIntoEachOther) {
    for (const bool to_signed : {false, true})
        for (const u32 to : {8u, 16u, 32u, 64u})
            for (const bool from_signed : {false, true})
                for (const u32 from : {8u, 16u, 32u, 64u})
                    for (const bool saturates : {false, true}) {
                        // Without a meaning where every value fits: ptxas refuses it.
                        if (saturates && (to_signed == from_signed ? to >= from : to_signed && to > from))
                            continue;
                        // A destination is a register of its width or of a wider one; a narrow source is the
                        // register's low bits.
                        const auto wide = [](u32 bits) { return bits <= 16 ? "h" : bits == 32 ? "r" : "l"; };
                        const std::string d = std::string("%") + wide(to) + "d",
                                          a = std::string("%") + wide(from) + "a";
                        const std::string name = std::string("cvt") + (saturates ? ".sat" : "") +
                                                 (to_signed ? ".s" : ".u") + std::to_string(to) +
                                                 (from_signed ? ".s" : ".u") + std::to_string(from);
                        const std::string end = to <= 16   ? "\ncvt.u64.u16 %ld, %hd;"
                                                : to == 32 ? "\ncvt.u64.u32 %ld, %rd;"
                                                           : "";
                        check(name + " " + d + ", " + a + ";" + end, [=](const In& x) {
                            s128 value = from_signed ? static_cast<s128>(extended(x.a, from))
                                                     : static_cast<s128>(low(x.a, from));
                            const s128 least = to_signed ? -(static_cast<s128>(1) << (to - 1)) : 0,
                                       most = (static_cast<s128>(1) << (to_signed ? to - 1 : to)) - 1;
                            if (saturates) value = std::clamp(value, least, most);
                            const u64 bits = low(static_cast<u64>(value), to);
                            return Out{low(to_signed ? static_cast<u64>(extended(bits, to)) : bits,
                                           std::max(to, 16u))};
                        });
                    }
}

// ---- registers and memory --------------------------------------------------------------------------------

TEST(EmulatorForms, PackedMoves) {
    check("mov.b32 %rd, {%ha, %hb};\nmov.b32 {%z1, %z2}, %rc;\ncvt.u32.u16 %re, %z2;" + d32, [](const In& x) {
        return Out{static_cast<u32>(static_cast<u16>(x.a) | static_cast<u32>(static_cast<u16>(x.b)) << 16),
                   static_cast<u32>(x.c) >> 16};
    });
    check(
        "mov.b64 %ld, {%ha, %hb, %hc, %ha};\nmov.b64 {_, %z1, _, %z3}, %lb;\ncvt.u64.u16 %x1, "
        "%z1;\ncvt.u64.u16 %x2, %z3;\nmad.lo.u64 %le, %x2, 65536, %x1;",
        [](const In& x) {
            const u64 a = static_cast<u16>(x.a), b = static_cast<u16>(x.b), c = static_cast<u16>(x.c);
            return Out{a | b << 16 | c << 32 | a << 48, (x.b >> 16 & 0xffff) + (x.b >> 48 << 16)};
        });
    check("mov.b64 %ld, {%rb, %ra};\nmov.b64 {%y1, _}, %lc;\ncvt.u64.u32 %le, %y1;", [](const In& x) {
        return Out{static_cast<u32>(x.b) | x.a << 32, static_cast<u32>(x.c)};
    });
    check("mov.b128 %q0, {%la, %lb};\nmov.b128 %q1, %q0;\nmov.b128 {%le, %ld}, %q1;", [](const In& x) {
        return Out{x.b, x.a};
    });
}

struct Space {
    const char *name, *address, *set_up;
};
constexpr Space spaces[] = {
    {".global", "%at", ""},
    {".shared", "%own", ""},
    {"", "%generic", "cvt.u64.u32 %generic, %own;\ncvta.shared.u64 %generic, %generic;\n"},
    {"", "%at", ""},
    {".local", "%y8", "mov.u32 %y8, local_bytes;\nst.local.v2.u64 [%y8], {%la, %lc};\n"},
    {"", "%generic",
     "mov.u64 %generic, local_bytes;\ncvta.local.u64 %generic, %generic;\nst.v2.u64 [%generic], {%la, "
     "%lc};\n"},
};

TEST(EmulatorForms, LoadsExtendAndStoresCut) {
    for (const Space& space : spaces)
        for (const char* type :
             {"u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64"}) {
            const u32 bits = static_cast<u32>(std::stoi(type + 1));
            for (const u32 width : {16u, 32u, 64u}) {
                if (width < bits) continue;
                const std::string r = width == 16 ? "%h" : width == 32 ? "%r" : "%l", address = space.address;
                const std::string widened = width == 16   ? "cvt.u64.u16 %ld, %hd;\n"
                                            : width == 32 ? "cvt.u64.u32 %ld, %rd;\n"
                                                          : "";
                const std::string load = std::string("ld") + space.name + "." + type + " " + r + "d, [" +
                                         address + "+8];\n" + widened;
                const std::string store = std::string("st") + space.name + "." + type + " [" + address +
                                          "], " + r + "b;\nld" + space.name + ".u64 %le, [" + address + "];";
                check(space.set_up + load + store, [=](const In& x) {
                    const u64 d =
                        type[0] == 's' ? low(static_cast<u64>(extended(x.c, bits)), width) : low(x.c, bits);
                    return Out{d, (x.a & ~low(~u64{0}, bits)) | low(x.b, bits)};
                });
            }
        }
}

TEST(EmulatorForms, LoadsThroughTheReadOnlyProxy) {
    check(
        "ld.global.u64.proxy::readonly %ld, [%in];\nld.global.nc.v2.b32.proxy::readonly {%y1, %y2}, "
        "[%in+8];\nmov.b64 %le, {%y2, %y1};",
        [](const In& x) {
            return Out{x.a, x.b >> 32 | x.b << 32};
        },
        values(1), "sm_90a", "9.4");
    check(
        "ld.s16.proxy::readonly %hd, [%in+2];\ncvt.s64.s16 %ld, %hd;\nld.u8.proxy::readonly %re, "
        "[%in+16];\ncvt.u64.u32 %le, %re;",
        [](const In& x) {
            return Out{static_cast<u64>(extended(x.a >> 16, 16)), x.c & 255};
        },
        values(1), "sm_90", "9.4");
}

TEST(EmulatorForms, VectorsInMemory) {
    for (const Space& space : spaces) {
        const std::string address = space.address, name = space.name;
        check(space.set_up + ("ld" + name + ".v2.u64 {%ld, %le}, [" + address + "];"), [](const In& x) {
            return Out{x.a, x.c};
        });
        check(space.set_up + ("ld" + name + ".v4.u32 {%y1, _, %y3, %y4}, [" + address +
                              "];\nmov.b64 %ld, {%y1, %y4};\ncvt.u64.u32 %le, %y3;"),
              [](const In& x) {
                  return Out{static_cast<u32>(x.a) | x.c >> 32 << 32, static_cast<u32>(x.c)};
              });
        check(space.set_up + ("ld" + name + ".v4.s8 {%y1, %y2, %y3, %y4}, [" + address +
                              "+4];\nmov.b64 %ld, {%y1, %y2};\nmov.b64 %le, {%y3, %y4};"),
              [](const In& x) {
                  const auto byte = [&](u32 i) {
                      return static_cast<u64>(static_cast<u32>(extended(x.a >> (32 + 8 * i), 8)));
                  };
                  return Out{byte(0) | byte(1) << 32, byte(2) | byte(3) << 32};
              });
        check(space.set_up + ("st" + name + ".v4.u16 [" + address + "+8], {%ha, %hb, %hc, %ha};\nst" + name +
                              ".v2.u8 [" + address + "+2], {%rb, %rc};\nld" + name + ".u64 %le, [" + address +
                              "+8];\nld" + name + ".u64 %ld, [" + address + "];"),
              [](const In& x) {
                  const u64 a = static_cast<u16>(x.a), b = static_cast<u16>(x.b), c = static_cast<u16>(x.c);
                  return Out{(x.a & ~u64{0xffff0000}) | (x.b & 255) << 16 | (x.c & 255) << 24,
                             a | b << 16 | c << 32 | a << 48};
              });
        check(space.set_up + ("mov.b64 %g1, %lb;\nst" + name + ".v2.f64 [" + address + "], {%g1, %g1};\nld" +
                              name + ".v4.f32 {%f0, %f1, %f2, %f3}, [" + address +
                              "];\nmov.b32 %y1, %f1;\nmov.b32 %y2, %f2;\nmov.b64 %ld, {%y1, %y2};"),
              [](const In& x) { return Out{x.b >> 32 | x.b << 32}; });
    }
    // 32 bytes at once, of sm_100.
    check(
        "st.global.v4.b64 [%at], {%la, %lb, %lc, %la};\nld.global.v8.b32 {%y1, %y2, %y3, %y4, %y5, %y6, %y7, "
        "%y8}, [%at];\nmov.b64 %ld, {%y3, %y6};\nmov.b64 %le, {%y8, %y1};",
        [](const In& x) {
            return Out{static_cast<u32>(x.b) | x.c >> 32 << 32, x.a >> 32 | x.a << 32};
        },
        values(5), "sm_100a");
}

// ---- atomics ---------------------------------------------------------------------------------------------

struct Atomic {
    const char* form;  ///< ".add.u32"
    u32 bits;
    std::function<u64(u64 old, u64 b, u64 c)> operation;
};

u64 f32_sum(u64 a, u64 b, bool flush) {
    const auto value = [flush](u64 bits) {
        const float x = std::bit_cast<float>(static_cast<u32>(bits));
        return flush && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
    };
    const float sum = value(a) + value(b);
    return std::isnan(sum)                                ? 0x7fffffff
           : value(std::bit_cast<u32>(sum)) == 0 && flush ? std::bit_cast<u32>(value(std::bit_cast<u32>(sum)))
                                                          : std::bit_cast<u32>(sum);
}
u64 half_sum(u64 a, u64 b, bool bfloat) {
    using namespace twin;
    const auto value = [bfloat](u64 x) {
        return bfloat ? value_of_bf16(static_cast<u16>(x)) : value_of_f16(static_cast<u16>(x));
    };
    double sum = value(a) + value(b);
    if (std::isfinite(sum) && sum != 0)
        sum = rounded(static_cast<Exact>(value(a)) + value(b), bfloat ? bf16 : f16);
    return bfloat ? bits_of_bf16(sum) : bits_of_f16(sum);
}
u64 pair_sum(u64 a, u64 b, bool bfloat) {
    return half_sum(a, b, bfloat) | half_sum(a >> 16, b >> 16, bfloat) << 16;
}

const std::vector<Atomic>& atomics() {
    using std::max, std::min;
    static const auto s = [](u64 x) { return static_cast<s64>(x); };
    static const auto s4 = [](u64 x) { return static_cast<s32>(x); };
    static const std::vector<Atomic> rows = {
        {".and.b32", 32, [](u64 a, u64 b, u64) { return a & b; }},
        {".or.b32", 32, [](u64 a, u64 b, u64) { return a | b; }},
        {".xor.b32", 32, [](u64 a, u64 b, u64) { return a ^ b; }},
        {".and.b64", 64, [](u64 a, u64 b, u64) { return a & b; }},
        {".or.b64", 64, [](u64 a, u64 b, u64) { return a | b; }},
        {".xor.b64", 64, [](u64 a, u64 b, u64) { return a ^ b; }},
        {".add.u32", 32, [](u64 a, u64 b, u64) { return a + b; }},
        {".add.s32", 32, [](u64 a, u64 b, u64) { return a + b; }},
        {".add.u64", 64, [](u64 a, u64 b, u64) { return a + b; }},
        {".inc.u32", 32, [](u64 a, u64 b, u64) { return a >= b ? 0 : a + 1; }},
        {".dec.u32", 32, [](u64 a, u64 b, u64) { return a == 0 || a > b ? b : a - 1; }},
        {".min.u32", 32, [](u64 a, u64 b, u64) { return min(a, b); }},
        {".max.u32", 32, [](u64 a, u64 b, u64) { return max(a, b); }},
        {".min.s32", 32, [](u64 a, u64 b, u64) { return static_cast<u64>(min(s4(a), s4(b))); }},
        {".max.s32", 32, [](u64 a, u64 b, u64) { return static_cast<u64>(max(s4(a), s4(b))); }},
        {".min.u64", 64, [](u64 a, u64 b, u64) { return min(a, b); }},
        {".max.u64", 64, [](u64 a, u64 b, u64) { return max(a, b); }},
        {".min.s64", 64, [](u64 a, u64 b, u64) { return static_cast<u64>(min(s(a), s(b))); }},
        {".max.s64", 64, [](u64 a, u64 b, u64) { return static_cast<u64>(max(s(a), s(b))); }},
        {".add.noftz.f16", 16, [](u64 a, u64 b, u64) { return half_sum(a, b, false); }},
        {".add.noftz.bf16", 16, [](u64 a, u64 b, u64) { return half_sum(a, b, true); }},
        {".add.noftz.f16x2", 32, [](u64 a, u64 b, u64) { return pair_sum(a, b, false); }},
        {".add.noftz.bf16x2", 32, [](u64 a, u64 b, u64) { return pair_sum(a, b, true); }},
        {".exch.b32", 32, [](u64, u64 b, u64) { return b; }},
        {".exch.b64", 64, [](u64, u64 b, u64) { return b; }},
        {".cas.b16", 16, [](u64 a, u64 b, u64 c) { return a == b ? c : a; }},
        {".cas.b32", 32, [](u64 a, u64 b, u64 c) { return a == b ? c : a; }},
        {".cas.b64", 64, [](u64 a, u64 b, u64 c) { return a == b ? c : a; }},
    };
    return rows;
}

// NaNs of halves have no bits of their own: any is as good.
u64 without_payload(u64 x, const std::string& form) {
    if (form.find("f16") == std::string::npos) return x;
    const u16 infinity = form.find("bf16") != std::string::npos ? 0x7f80 : 0x7c00;
    u64 result = 0;
    for (u32 at = 0; at < 64; at += 16) {
        const u64 half = x >> at & 0xffff;
        result |= ((half & 0x7fff) > infinity ? 0x7fff : half) << at;
    }
    return result;
}

TEST(EmulatorForms, AtomicsGiveWhatWasThereAndLeaveWhatIsRight) {
    auto in = values(7);
    for (u32 i = 0; i < in.size(); i += 3) in[i].b = in[i].a;  // where a compare-and-swap swaps
    for (const Atomic& row : atomics())
        for (const Space& space : {spaces[0], spaces[1], spaces[2], spaces[3]})
            for (const char* order : {"", ".relaxed.gpu", ".acq_rel.cta"}) {
                if (*order != '\0' && *space.name == '\0') continue;
                const std::string form = row.form,
                                  r = row.bits == 16   ? "%h"
                                      : row.bits == 32 ? "%r"
                                                       : "%l",
                                  at = std::string("[") + space.address + "]";
                const std::string widened = row.bits == 16   ? "cvt.u64.u16 %ld, %hd;\n"
                                            : row.bits == 32 ? "cvt.u64.u32 %ld, %rd;\n"
                                                             : "";
                const std::string last = form.find(".cas") == 0 ? ", " + r + "c" : "";
                const std::string body = std::string(space.set_up) + "atom" + order + space.name + form +
                                         " " + r + "d, " + at + ", " + r + "b" + last + ";\n" + widened +
                                         "ld" + space.name + ".u64 %le, " + at + ";\n";
                const auto out = run(body, in);
                for (u32 i = 0; i < in.size(); ++i) {
                    const u64 old = low(in[i].a, row.bits),
                              made = low(row.operation(old, low(in[i].b, row.bits), low(in[i].c, row.bits)),
                                         row.bits);
                    const u64 left = (in[i].a & ~low(~u64{0}, row.bits)) | without_payload(made, form);
                    const u64 got =
                        (out[i].e & ~low(~u64{0}, row.bits)) | without_payload(low(out[i].e, row.bits), form);
                    ASSERT_EQ(out[i].d, old) << body << std::hex << in[i].b;
                    ASSERT_EQ(got, left) << body << std::hex << "a 0x" << in[i].a << " b 0x" << in[i].b;
                }
            }
}

TEST(EmulatorForms, ReductionsLeaveWhatAtomicsDo) {
    const auto in = values(8);
    for (const Atomic& row : atomics()) {
        const std::string form = row.form;
        if (form.find(".cas") == 0 || form.find(".exch") == 0) continue;
        for (const Space& space : {spaces[0], spaces[1], spaces[2], spaces[3]}) {
            const std::string r = row.bits == 16   ? "%h"
                                  : row.bits == 32 ? "%r"
                                                   : "%l",
                              at = std::string("[") + space.address + "]";
            const auto out = run(std::string(space.set_up) + "red" + space.name + form + " " + at + ", " + r +
                                     "b;\nld" + space.name + ".u64 %le, " + at + ";\n",
                                 in);
            for (u32 i = 0; i < in.size(); ++i) {
                const u64 made =
                    low(row.operation(low(in[i].a, row.bits), low(in[i].b, row.bits), 0), row.bits);
                ASSERT_EQ(without_payload(low(out[i].e, row.bits), form), without_payload(made, form))
                    << form << std::hex << " a 0x" << in[i].a << " b 0x" << in[i].b;
            }
        }
    }
}

TEST(EmulatorForms, SumsOfFloatsFlushOnlyInGlobalMemory) {
    std::mt19937_64 random(9);
    std::vector<In> in(4 * block);
    constexpr u32 special[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                               0x80800001, 0x7f800000, 0xff800000, 0x7fc00001, 0x3f800000, 0x7f7fffff};
    for (In& x : in) {
        const auto any = [&] {
            return random() % 2 == 0 ? u64{special[random() % std::size(special)]} : random() & 0xffffffff;
        };
        x = {any(), any(), 0};
    }
    for (const bool global : {true, false}) {
        const std::string space = global ? ".global" : ".shared", at = global ? "[%at]" : "[%own]";
        check(
            "mov.b32 %f1, %rb;\natom" + space + ".add.f32 %f0, " + at + ", %f1;\nmov.b32 %rd, %f0;\nld" +
                space + ".u32 %re, " + at + ";" + d32,
            [global](const In& x) {
                return Out{x.a, f32_sum(x.a, x.b, global)};
            },
            in);
    }
    check(
        "mov.b64 %g1, %lb;\natom.global.add.f64 %g0, [%at], %g1;\nmov.b64 %ld, %g0;\nld.global.u64 %le, "
        "[%at];",
        [](const In& x) {
            const double sum = std::bit_cast<double>(x.a) + std::bit_cast<double>(x.b);
            return Out{x.a, std::bit_cast<u64>(sum)};
        },
        in);
}

TEST(EmulatorForms, ManyThreadsAtOnePlace) {
    const auto in = values(10);
    const u32 count = static_cast<u32>(in.size());
    // All threads at the first thread's memory, which the launch has set to zero where no thread writes (from
    // its 16th byte on).
    const std::string first = "mul.wide.u32 %x1, %thread, 32;\nsub.u64 %at, %at, %x1;\n";
    const auto out =
        run(first + "atom.global.add.u32 %rd, [%at+16], 1;\natom.global.inc.u32 %re, [%at+20], 9;" + d32, in);
    std::vector<u64> tickets, turns;
    for (const Out& o : out) tickets.push_back(o.d), turns.push_back(o.e);
    std::sort(tickets.begin(), tickets.end());
    for (u32 i = 0; i < count; ++i) EXPECT_EQ(tickets[i], i);
    for (u32 turn = 0; turn < 10; ++turn)
        EXPECT_EQ(std::count(turns.begin(), turns.end(), turn), (count - turn + 9) / 10) << turn;
}

}  // namespace
}  // namespace ptxgraft::forms
