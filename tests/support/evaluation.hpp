#pragma once
/// Programs on columns of values: random columns for every type, results compared bit for bit, and the exact
/// forms of the table as a set.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/isa.hpp"
#include "support/open_forms.hpp"

namespace ptxgraft::test {

using std::uint32_t;
using std::uint64_t;

// ---- columns ----------------------------------------------------------------------------------------------

struct Register {
    std::string name;
    Type type;
    Direction direction;
    [[nodiscard]] std::size_t bytes() const { return type == Type::pred ? 1 : bits(type) / 8; }
};

inline std::vector<Register> registers(const Signature& signature) {
    std::vector<Register> all;
    for (const SiteOperand& operand : signature.operands)
        for (uint32_t i = 0; i < (operand.count == 0 ? 1 : operand.count); ++i)
            all.push_back({operand.register_name + (operand.count == 0 ? "" : std::to_string(i)),
                           operand.type, operand.direction});
    return all;
}

using Column = std::vector<std::byte>;

// Edges of every type, among random bits and numbers of ordinary size.
enum class Values { any, special };

inline uint64_t random_value(std::mt19937_64& random, Type type, Values values) {
    // of a float NaN, infinities, subnormals, zeros of both signs and the edges of its range
    static constexpr uint64_t singles[] = {
        0x7FFFFFFF, 0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFBFFFFF, 0x7F800000, 0xFF800000, 0,
        0x80000000, 1,          0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00400000, 0x00800000, 0x80800000,
        0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000, 0x5F000000, 0xDF000000, 0x4F800000};
    static constexpr uint64_t doubles[] = {0x7FFFFFFFFFFFFFFF,
                                           0x7FF8000000000000,
                                           0xFFF8000000000001,
                                           0x7FF0000000000001,
                                           0x7FF0000000000000,
                                           0xFFF0000000000000,
                                           0,
                                           0x8000000000000000,
                                           1,
                                           0x8000000000000001,
                                           0x000FFFFFFFFFFFFF,
                                           0x800FFFFFFFFFFFFF,
                                           0x0010000000000000,
                                           0x7FEFFFFFFFFFFFFF,
                                           0x3FF0000000000000,
                                           0xBFF0000000000000,
                                           0x47EFFFFFE0000000,
                                           0x47EFFFFFF0000000,
                                           0x3690000000000000,
                                           0x36A0000000000000,
                                           0xB690000000000000};
    static constexpr uint64_t halves[] = {0x7FFF, 0x7E00, 0xFE01, 0x7C01, 0x7C00, 0xFC00, 0,
                                          0x8000, 1,      0x8001, 0x03FF, 0x83FF, 0x0400, 0x7BFF,
                                          0xFBFF, 0x3C00, 0xBC00, 0x7F80, 0xFF80, 0x7F81, 0x7F7F,
                                          0x007F, 0x0080, 0x3F80, 0xBF80};
    const auto of = [&](const auto& list) { return list[random() % std::size(list)]; };
    if (values == Values::special) {
        if (type == Type::f32) return of(singles);
        if (type == Type::f64) return of(doubles);
        if (type == Type::f16 || type == Type::bf16) return of(halves);
        if (type == Type::f16x2 || type == Type::bf16x2) return of(halves) | of(halves) << 16;
    }
    static constexpr uint32_t words[] = {
        0,          1,          2,          7,          31,         32,         33,         0x7FFFFFFF,
        0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001,
        0x007FFFFF, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x4B800000, 0x4F000000,
        0x00010001, 0x7C00FC00, 0x7E000001, 0x80007FFF, 0x3C00BC00, 0x7F80FF80, 0x3F80BF80};
    static constexpr uint64_t longs[] = {0,
                                         1,
                                         63,
                                         64,
                                         uint64_t{1} << 63,
                                         ~uint64_t{0},
                                         0x7FFFFFFFFFFFFFFF,
                                         0x7FF0000000000000,
                                         0xFFF0000000000000,
                                         0x7FF8000000000000,
                                         0xFFF8000012345678,
                                         0x7FF0000000000001,
                                         0x000FFFFFFFFFFFFF,
                                         0x8000000000000001,
                                         0x0010000000000000,
                                         0x3FF0000000000000,
                                         0x41E0000000000000,
                                         0x43E0000000000000,
                                         0x7FEFFFFFFFFFFFFF,
                                         0x7F8000003F800000};
    const uint64_t kind = random() % 3;
    if (kind == 0)
        return type == Type::f64 || bits(type) == 64
                   ? longs[random() % std::size(longs)]
                   : words[random() % std::size(words)] >> (bits(type) == 16 ? random() % 2 * 16 : 0);
    if (kind == 1) return random();
    if (type == Type::f32)
        return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 16.0f);
    if (type == Type::f64)
        return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 16.0);
    return random() >> (random() % 64);
}

struct Table {
    std::vector<Register> registers;
    std::vector<Column> columns;
    std::size_t count;

    Table(const Signature& signature, std::size_t n, uint64_t seed, Values values = Values::any)
        : registers(test::registers(signature)), count(n) {
        std::mt19937_64 random(seed);
        for (const Register& r : registers) {
            Column& column = columns.emplace_back(n * r.bytes());
            for (std::size_t i = 0; i < n; ++i) {
                const uint64_t value =
                    r.type == Type::pred ? random() & 1 : random_value(random, r.type, values);
                std::memcpy(&column[i * r.bytes()], &value, r.bytes());
            }
        }
    }
    [[nodiscard]] std::vector<Column> evaluate(const stack::Evaluator& evaluator) const {
        std::vector<Column> results = columns;
        std::vector<const void*> in;
        std::vector<void*> out;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            in.push_back(registers[i].direction == Direction::out ? nullptr : columns[i].data());
            out.push_back(registers[i].direction == Direction::in ? nullptr : results[i].data());
        }
        evaluator.run({in, out, count});
        return results;
    }
    // The same where outputs stand in the place of inputs.
    [[nodiscard]] std::vector<Column> evaluate_in_place(const stack::Evaluator& evaluator) const {
        std::vector<Column> results = columns;
        std::vector<void*> out;
        for (Column& column : results) out.push_back(column.data());
        evaluator.run({std::vector<const void*>(out.begin(), out.end()), out, count});
        return results;
    }
};

inline std::string difference(const Table& table, const std::vector<Column>& a,
                              const std::vector<Column>& b) {
    for (std::size_t r = 0; r < a.size(); ++r) {
        const Register& reg = table.registers[r];
        if (reg.direction == Direction::in || a[r] == b[r]) continue;
        for (std::size_t i = 0; i < table.count; ++i) {
            if (std::memcmp(&a[r][i * reg.bytes()], &b[r][i * reg.bytes()], reg.bytes()) == 0) continue;
            uint64_t x = 0, y = 0;
            std::memcpy(&x, &a[r][i * reg.bytes()], reg.bytes());
            std::memcpy(&y, &b[r][i * reg.bytes()], reg.bytes());
            char text[80];
            std::snprintf(text, sizeof text, " at point %zu: %llx, not %llx", i,
                          static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
            return reg.name + text;
        }
    }
    return "";
}

// ---- random programs --------------------------------------------------------------------------------------

inline bool is_exact(const isa::Form& form) {
    const bool approximate = form.spelling.find(".approx") != std::string::npos ||
                             form.spelling.find(".full") != std::string::npos;
    return form.pure && !approximate && !is_left_open(form.spelling);
}

// The exact pure forms of the table, each opcode drawn equally often.
inline const std::shared_ptr<const stack::InstructionSet>& exact_set() {
    static const auto set = [] {
        std::string text;
        for (const std::string_view opcode : isa::pure_opcodes()) {
            std::vector<std::string> names;
            for (const isa::Form& form : isa::forms(opcode))
                if (is_exact(form)) names.push_back(form.name);
            for (const std::string& name : names)
                text += name + " weight " + std::to_string(1000.0 / static_cast<double>(names.size())) + "\n";
        }
        auto parsed = stack::InstructionSet::parse(text);
        EXPECT_TRUE(parsed) << describe(parsed.error(), text).substr(0, 600);
        return parsed ? *parsed : nullptr;
    }();
    return set;
}

inline const Signature& every_type() {
    static const Signature signature = *Signature::parse(
        "in f32 a, in f32 b, in f64 da, in f64 db, in u32 ua, in u32 ub, in s32 sa, in s32 sb, in u64 la, in "
        "u64 lb, in s64 ka, in s64 kb, in u16 ha, in u16 hb, in s16 ga, in s16 gb, "
        "in f16 fa, in f16 fb, in bf16 ba, in bf16 bb, in f16x2 va, in f16x2 vb, in bf16x2 wa, in bf16x2 wb, "
        "in pred pa, in pred pb, "
        "mod f32 mf, mod u32 mu, mod s32 ms, mod u64 ml, mod pred mp, mod f64 md, mod f16 mh, mod f16x2 mv, "
        "mod bf16 mb, mod bf16x2 mw, mod s64 mk, mod u16 mhh, mod s16 mg, "
        "out f32 frag[3], out u32 ou[2], out f64 od");
    return signature;
}

// ---- by hand ----------------------------------------------------------------------------------------------

inline stack::Machine machine_of(std::string_view signature, std::string_view set = "standard") {
    auto found = stack::find_set(set);
    if (found == nullptr) found = stack::find_set("full");
    return *stack::Machine::make(found, *Signature::parse(signature));
}
inline stack::Evaluator evaluator_of(std::string_view text, const stack::Machine& machine,
                                     const stack::CompileOptions& options = {}) {
    const auto program = stack::parse(text, machine);
    EXPECT_TRUE(program) << describe(program.error(), text);
    auto made = stack::Evaluator::make(*program, machine, options);
    EXPECT_TRUE(made) << describe(made.error(), text);
    return *std::move(made);
}

}  // namespace ptxgraft::test
