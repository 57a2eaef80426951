// The stubs of stubs/ against double precision, on the emulator and by evaluate: the error bounds that their
// comments promise. The rows stand in stub_library_rows.hpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <set>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/stack.hpp"
#include "stub/stub_library_rows.hpp"
#include "support/files.hpp"
#include "support/kernel_text.hpp"
#include "support/paths.hpp"
#include "support/stub_text.hpp"

namespace ptxgraft {
namespace {

using test::read_file;

using test::Case;
using test::Point;
using test::Wanted;

const std::filesystem::path folder = test::source_path("stubs");
constexpr std::uint32_t block = 128;

// --- a kernel around a stub: operand k of thread i is the eight bytes number k * points + i

std::string kernel(const Signature& signature, const std::string& stub, std::string_view target,
                   std::uint32_t points) {
    std::string text =
        "\tmov.u32 %t0, %ctaid.x; mov.u32 %t1, %tid.x;\n\tmad.lo.u32 %t2, %t0, 128, %t1;\n"
        "\tmul.wide.u32 %a0, %t2, 8; ld.param.u64 %a1, [in]; add.u64 %a1, %a1, %a0;\n"
        "\tld.param.u64 %a2, [out]; add.u64 %a2, %a2, %a0;\n" +
        test::declarations(signature);
    std::string stores;
    for (std::size_t k = 0; k < signature.operands.size(); ++k) {
        const SiteOperand& operand = signature.operands[k];
        const std::string type(name(operand.type)), place = "+" + std::to_string(8 * points * k) + "]";
        if (operand.direction != Direction::out)
            text += "\tld.global." + type + " " + operand.register_name + ", [%a1" + place + ";\n";
        if (operand.direction != Direction::in)
            stores += "\tst.global." + type + " [%a2" + place + ", " + operand.register_name + ";\n";
    }
    return test::kernel_text({.version = "9.0",
                              .target = std::string(target),
                              .parameters = {"u64 in", "u64 out"},
                              .registers = {"u32 %t<4>", "u64 %a<4>"},
                              .body = text + stub + stores});
}

template <class T> std::span<const std::byte> bytes_of(const T& values) {
    return std::as_bytes(std::span(values));
}

// The table that relative_bias reads stands behind the operands: its address is what the operand `table`
// receives.
std::vector<std::uint64_t> run(const std::string& ptx, std::vector<std::uint64_t> columns,
                               const Signature& signature, std::uint32_t points,
                               std::span<const float> table) {
    Emulator emulator;
    const auto module = emulator.load(ptx);
    EXPECT_TRUE(module) << describe(module.error(), ptx);
    if (!module) return {};
    const std::uint64_t table_address = *emulator.allocate(std::max<std::size_t>(4, table.size_bytes()));
    EXPECT_TRUE(emulator.write(table_address, std::as_bytes(table)));
    for (std::size_t k = 0; k < signature.operands.size(); ++k)
        if (signature.operands[k].name == "table")
            std::fill_n(columns.begin() + static_cast<std::ptrdiff_t>(k * points), points, table_address);
    const std::array in = {*emulator.allocate(8 * columns.size())},
                     out = {*emulator.allocate(8 * columns.size())};
    EXPECT_TRUE(emulator.write(in[0], bytes_of(columns)));
    const std::array arguments = {bytes_of(in), bytes_of(out)};
    const auto launched =
        emulator.launch(**module, "k", {.grid = {points / block}, .block = {block}}, arguments);
    EXPECT_TRUE(launched) << describe(launched.error(), ptx);
    std::vector<std::uint64_t> result(columns.size());
    EXPECT_TRUE(emulator.read(out[0], std::as_writable_bytes(std::span(result))));
    return result;
}

// --- inputs

using Random = std::mt19937_64;

float any_float(Random& random) {
    static const float edges[] = {0.0f,
                                  -0.0f,
                                  0x1p-149f,
                                  -0x1p-149f,
                                  0x1.fffffep-127f,
                                  0x1p-126f,
                                  -0x1p-126f,
                                  0.5f,
                                  1.0f,
                                  -1.0f,
                                  0.6f,
                                  -0.6f,
                                  0x1.fffffep-1f,
                                  3.0f,
                                  -3.0f,
                                  0x1.fffffep127f,
                                  -0x1.fffffep127f,
                                  88.72283f,
                                  88.8f,
                                  -87.33654f,
                                  -103.97f,
                                  -104.1f,
                                  -120.0f,
                                  15.0f,
                                  -15.0f,
                                  -20.0f,
                                  127.5f,
                                  -128.5f,
                                  448.0f,
                                  57344.0f,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()};
    std::uniform_real_distribution<float> usual(-8.0f, 8.0f), wide(-130.0f, 130.0f), power(-45.0f, 38.0f);
    switch (random() % 8) {
        case 0: return edges[random() % std::size(edges)];
        case 1: return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        case 2: return std::pow(10.0f, power(random)) * (random() % 2 == 0 ? 1.0f : -1.0f);
        case 3: return wide(random);
        default: return usual(random);
    }
}

// Often near the value before: rows are near columns, ends near beginnings.
std::uint64_t any_integer(Random& random, std::uint64_t before) {
    static const std::uint64_t edges[] = {0,          1,          2,          31,          32,
                                          33,         63,         64,         65,          0x7FFFFFFF,
                                          0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x100000000, ~std::uint64_t{0}};
    switch (random() % 6) {
        case 0: return edges[random() % std::size(edges)];
        case 1: return random();
        case 2: return random() % 100;
        case 3: return (random() >> (random() % 64));
        default: return before + random() % 80 - 40;
    }
}

std::vector<std::uint64_t> inputs(const Signature& signature, std::uint32_t points) {
    Random random(7);
    std::vector<std::uint64_t> columns(signature.operands.size() * points);
    for (std::uint32_t i = 0; i < points; ++i) {
        std::uint64_t before = random() % 5000;
        for (std::size_t k = 0; k < signature.operands.size(); ++k) {
            std::uint64_t& place = columns[k * points + i];
            if (signature.operands[k].type == Type::f32) {
                place = std::bit_cast<std::uint32_t>(any_float(random));
                continue;
            }
            const std::uint32_t width = bits(signature.operands[k].type);
            place = before = any_integer(random, before) & (~std::uint64_t{0} >> (64 - width));
        }
    }
    return columns;
}

// --- what is promised

double value_of(Type type, std::uint64_t bits) {
    switch (type) {
        case Type::f32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        case Type::s32: return static_cast<std::int32_t>(bits);
        default: return static_cast<double>(bits);
    }
}

bool fits(Type type, std::uint64_t bits, const Wanted& wanted) {
    const double got = value_of(type, bits);
    if (std::isnan(wanted.value)) return std::isnan(got);
    if (got == wanted.value)
        return got != 0 || type != Type::f32 || wanted.error != 0 ||
               std::signbit(got) == std::signbit(wanted.value);
    // an overflow is right where a number within the bound rounds to one
    if (std::isinf(got))
        return std::signbit(got) == std::signbit(wanted.value) &&
               std::abs(wanted.value) + wanted.error >= 0x1.ffffffp127;
    return std::abs(got - wanted.value) <= wanted.error;
}

class Library : public testing::TestWithParam<Case> {};

struct Compiled {
    Signature signature;
    Policy policy;
    stack::Machine machine;
    stack::Program program;
    Stub stub;
};

std::optional<Compiled> compile(const std::string& text, std::string_view file) {
    const auto parsed = stack::parse_file(text);
    EXPECT_TRUE(parsed) << describe(parsed.error(), text, file);
    if (!parsed) return {};
    auto stub = stack::compile(text, parsed->signature, {}, parsed->policy);
    EXPECT_TRUE(stub) << describe(stub.error(), text, file);
    auto machine =
        stack::Machine::make(stack::find_set("standard"), parsed->signature, {.policy = parsed->policy});
    EXPECT_TRUE(machine);
    if (!stub || !machine) return {};
    const std::string_view body = std::string_view(text).substr(parsed->program_offset);
    auto program = stack::parse(body, *machine);
    EXPECT_TRUE(program) << describe(program.error(), body, file);
    if (!program) return {};
    return Compiled{parsed->signature, parsed->policy, std::move(*machine), std::move(*program),
                    std::move(*stub)};
}

// Runs a kernel around a stub and holds its outputs against what the row wants.
void expect_bound(const Case& row, const Signature& signature, const std::string& stub,
                  std::uint32_t points) {
    std::vector<std::uint64_t> columns = inputs(signature, points);
    const auto table = test::table_of(signature, columns, points);
    const std::string ptx = kernel(signature, stub, row.target, points);
    const std::vector<std::uint64_t> results = run(ptx, columns, signature, points, table);
    ASSERT_EQ(results.size(), columns.size());
    for (std::uint32_t i = 0; i < points; ++i) {
        const Point point{signature, columns, points, i, table};
        const std::vector<Wanted> wanted = row.wanted(point);
        std::vector<double> outputs;
        std::size_t output = 0;
        for (std::size_t k = 0; k < signature.operands.size(); ++k) {
            const SiteOperand& operand = signature.operands[k];
            if (operand.direction == Direction::in) continue;
            ASSERT_LT(output, wanted.size());
            const Wanted& want = wanted[output++];
            const std::uint64_t got = results[k * points + i];
            outputs.push_back(value_of(operand.type, got));
            ASSERT_TRUE(want.anything || fits(operand.type, got, want))
                << row.file << ": " << operand.name << " is " << value_of(operand.type, got) << ", not "
                << want.value << " +- " << want.error << " for " << point.text();
        }
        ASSERT_EQ(output, wanted.size());
        ASSERT_TRUE(!row.relation || row.relation(point, outputs)) << row.file << " for " << point.text();
    }
}

TEST_P(Library, KeepsItsErrorBound) {
    const Case& row = GetParam();
    const auto compiled = compile(read_file(folder / row.file), row.file);
    ASSERT_TRUE(compiled);
    expect_bound(row, compiled->signature, compiled->stub.ptx(), 32768);
}

// The stub with the results of some approximate instructions moved by so many units in the last place, but
// for zeros, infinities and NaN.
struct Nudge {
    std::string_view instruction;
    int ulps;
};
std::string nudged(const std::string& stub, std::span<const Nudge> nudges) {
    std::string text = "\t{\n\t.reg .b32 %nudge<2>; .reg .pred %nudges;\n";
    for (std::size_t at = 0; at < stub.size();) {
        const std::size_t end = stub.find('\n', at) + 1;
        const std::string line = stub.substr(at, end - at);
        text += line;
        at = end;
        for (const Nudge& nudge : nudges) {
            if (line.find(nudge.instruction) == std::string::npos) continue;
            const std::size_t name = line.find(' ') + 1;
            const std::string result = line.substr(name, line.find(',') - name);
            text += "\tmov.b32 %nudge0, " + result +
                    "; shl.b32 %nudge1, %nudge0, 1; sub.u32 %nudge1, %nudge1, 8;\n" +
                    "\tsetp.lt.u32 %nudges, %nudge1, 0xFEFFFFF0; @%nudges add.s32 %nudge0, %nudge0, " +
                    std::to_string(nudge.ulps) + "; mov.b32 " + result + ", %nudge0;\n";
        }
    }
    return text + "\t}\n";
}

// Bounds hold for all that PTX lets ex2 (2 ulp from the rounded result), rcp (1) and div.full (2 from the
// exact one, so 1 from the rounded) give.
TEST_P(Library, KeepsItsErrorBoundWhateverApproximationsGive) {
    const Case& row = GetParam();
    const auto compiled = compile(read_file(folder / row.file), row.file);
    ASSERT_TRUE(compiled);
    const std::string& stub = compiled->stub.ptx();
    for (const int signs : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const Nudge all[] = {{"ex2.approx", signs & 1 ? 2 : -2},
                             {"rcp.approx", signs & 2 ? 1 : -1},
                             {"div.full", signs & 4 ? 1 : -1}};
        std::vector<Nudge> there;
        for (std::size_t k = 0; k < std::size(all); ++k)
            if (stub.find(all[k].instruction) != std::string::npos)
                there.push_back(all[k]);
            else if ((signs >> k & 1) != 0)
                there.push_back({"", 0});  // the same as with the other sign
        if (there.empty() ||
            std::any_of(there.begin(), there.end(), [](const Nudge& n) { return n.ulps == 0; }))
            continue;
        expect_bound(row, compiled->signature, nudged(stub, there), 16384);
    }
}

// The same points by evaluate, in the layout of run.
std::vector<std::uint64_t> evaluate(const stack::Evaluator& evaluator, const Signature& signature,
                                    const std::vector<std::uint64_t>& columns, std::size_t points) {
    const std::size_t count = signature.operands.size();
    std::vector<std::vector<std::byte>> in(count), out(count);
    std::vector<const void*> in_places;
    std::vector<void*> out_places;
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t width = bits(signature.operands[k].type) / 8;
        in[k].resize(width * points), out[k].resize(width * points);
        for (std::size_t i = 0; i < points; ++i)
            std::memcpy(in[k].data() + width * i, &columns[k * points + i], width);
        in_places.push_back(in[k].data()), out_places.push_back(out[k].data());
    }
    evaluator.run({in_places, out_places, points});
    std::vector<std::uint64_t> results(columns.size());
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t width = bits(signature.operands[k].type) / 8;
        for (std::size_t i = 0; i < points; ++i)
            std::memcpy(&results[k * points + i], out[k].data() + width * i, width);
    }
    return results;
}

bool is_nan(Type type, std::uint64_t bits) { return type == Type::f32 && std::isnan(value_of(type, bits)); }

// evaluate and the emulator agree bit for bit: what is approximate is rounded once in both.
TEST_P(Library, EvaluatesToTheSameBits) {
    constexpr std::uint32_t points = 4096;
    const Case& row = GetParam();
    const std::string text = read_file(folder / row.file);
    const auto compiled = compile(text, row.file);
    ASSERT_TRUE(compiled);
    const Signature& signature = compiled->signature;
    const std::vector<std::uint64_t> columns = inputs(signature, points);
    std::vector<std::uint64_t> wanted;
    for (const stack::CompileOptions& options :
         {stack::CompileOptions{}, stack::CompileOptions{.reuse = true, .fold = true}}) {
        const auto evaluator = stack::Evaluator::make(compiled->program, compiled->machine, options);
        if (!evaluator) {
            ASSERT_EQ(evaluator.error().code, Errc::instruction_not_evaluable)
                << describe(evaluator.error(), text, row.file);
            ASSERT_NE(compiled->policy, Policy{}) << "only effects cannot be evaluated";
            return;
        }
        if (wanted.empty())
            wanted = run(kernel(signature, compiled->stub.ptx(), row.target, points), columns, signature,
                         points, {});
        const std::vector<std::uint64_t> results = evaluate(*evaluator, signature, columns, points);
        for (std::size_t place = 0; place < results.size(); ++place) {
            const SiteOperand& operand = signature.operands[place / points];
            if (operand.direction == Direction::in ||
                (is_nan(operand.type, results[place]) && is_nan(operand.type, wanted[place])))
                continue;
            ASSERT_EQ(results[place], wanted[place])
                << row.file << ": " << operand.name << " for "
                << (Point{signature, columns, points, place % points, {}}.text());
        }
    }
}

TEST_P(Library, AssemblesFromItsFirstTargetOn) {
    const Case& row = GetParam();
    const std::string text = read_file(folder / row.file);
    const auto compiled = compile(text, row.file);
    ASSERT_TRUE(compiled);
    for (const std::string_view target :
         {std::string_view(row.target), std::string_view("sm_90a"), std::string_view("sm_100a")}) {
        const std::string ptx = kernel(compiled->signature, compiled->stub.ptx(), target, block);
        const auto cubin = test::assemble(ptx);
        EXPECT_TRUE(cubin) << row.file << " for " << target << ": " << describe(cubin.error(), ptx);
    }
}

// What must be a signed zero, an infinity or NaN, and exactly that.
TEST(Stub, TheLibrarySaysWhatBecomesOfSpecialValues) {
    for (const test::Special& row : test::specials()) {
        const std::string text = read_file(folder / row.file);
        const auto compiled = compile(text, row.file);
        ASSERT_TRUE(compiled);
        std::vector<std::uint64_t> columns(block * compiled->signature.operands.size());
        for (std::size_t i = 0; i < row.pairs.size(); ++i)
            columns[i] = std::bit_cast<std::uint32_t>(row.pairs[i].in);
        const auto results = run(kernel(compiled->signature, compiled->stub.ptx(), "sm_75", block), columns,
                                 compiled->signature, block, {});
        for (std::size_t i = 0; i < row.pairs.size(); ++i) {
            const float wanted = row.pairs[i].out,
                        got = std::bit_cast<float>(static_cast<std::uint32_t>(results[i]));
            if (std::isnan(wanted))
                EXPECT_TRUE(std::isnan(got)) << row.file << " of " << row.pairs[i].in << " is " << got;
            else
                EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(wanted))
                    << row.file << " of " << row.pairs[i].in << " is " << got;
        }
    }
}

// Known answers of curand (CUDA 13): {operands…} -> {words…}.
TEST(Stub, RandomWordsAreThoseOfCurand) {
    for (const test::Known& row : test::known_answers()) {
        const std::string text = read_file(folder / row.file);
        const auto compiled = compile(text, row.file);
        ASSERT_TRUE(compiled);
        std::vector<std::uint64_t> columns(block * compiled->signature.operands.size());
        for (std::size_t k = 0; k < row.in.size(); ++k) columns[k * block] = row.in[k];
        const auto results = run(kernel(compiled->signature, compiled->stub.ptx(), "sm_75", block), columns,
                                 compiled->signature, block, {});
        for (std::size_t k = 0; k < row.out.size(); ++k)
            EXPECT_EQ(results[(row.in.size() + k) * block], row.out[k]) << row.file << " word " << k;
    }
}

INSTANTIATE_TEST_SUITE_P(Stub, Library, testing::ValuesIn(test::cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                             std::string name = info.param.file;
                             name.resize(name.size() - std::string_view(".stub").size());
                             std::replace(name.begin(), name.end(), '/', '_');
                             return name;
                         });

TEST(Stub, EveryFileOfTheLibraryIsTested) {
    std::set<std::string> tested, there;
    for (const Case& row : test::cases()) tested.insert(row.file);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".stub")
            there.insert(std::filesystem::relative(entry.path(), folder).generic_string());
    EXPECT_EQ(there, tested);
}

}  // namespace
}  // namespace ptxgraft
