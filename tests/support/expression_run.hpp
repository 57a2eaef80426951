#pragma once
// Runs expressions over arrays: by evaluate and on the emulator.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/expression.hpp"
#include "support/kernel_text.hpp"
#include "support/stub_text.hpp"

namespace ptxgraft::test {

/// One column per register of the signature, of 64-bit words that hold the register's bits.
using Values = std::vector<std::vector<std::uint64_t>>;

inline std::vector<Type> registers_of(const Signature& signature) {
    std::vector<Type> types;
    for (const SiteOperand& operand : signature.operands)
        types.insert(types.end(), std::max(operand.count, 1u), operand.type);
    return types;
}
inline std::vector<std::string> names_of(const Signature& signature) {
    std::vector<std::string> names;
    for (const SiteOperand& o : signature.operands)
        for (std::uint32_t i = 0; i < std::max(o.count, 1u); ++i)
            names.push_back(o.count == 0 ? o.register_name : o.register_name + std::to_string(i));
    return names;
}

/// The program of an expression by evaluate: what the registers hold afterwards. Registers of `in` operands
/// stay.
inline Expected<Values> by_evaluate(const stack::Program& program, const stack::Machine& machine,
                                    const Values& values, const stack::CompileOptions& options = {}) {
    const std::vector<Type> types = registers_of(machine.signature());
    const std::size_t count = values.at(0).size();
    std::vector<std::vector<std::byte>> columns;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (std::size_t r = 0; r < types.size(); ++r) {
        const std::size_t bytes = std::max(bits(types[r]) / 8, 1u);
        auto& column = columns.emplace_back(bytes * count + 64);
        for (std::size_t i = 0; i < count; ++i) std::memcpy(&column[i * bytes], &values[r][i], bytes);
        inputs.push_back(column.data());
        outputs.push_back(column.data());
    }
    if (auto done = stack::evaluate(program, machine, {inputs, outputs, count}, options); !done)
        return tl::unexpected(done.error());
    Values results = values;
    for (std::size_t r = 0; r < types.size(); ++r) {
        const std::size_t bytes = std::max(bits(types[r]) / 8, 1u);
        for (std::size_t i = 0; i < count; ++i) {
            results[r][i] = 0;
            std::memcpy(&results[r][i], &columns[r][i * bytes], bytes);
        }
    }
    return results;
}

/// A kernel that reads every register from a table, runs stubs one after the other, each on the values read,
/// and writes the registers back.
inline std::string table_kernel(const Signature& signature, const std::vector<std::string>& stubs,
                                std::size_t count, std::string_view target = "sm_90") {
    const std::vector<Type> types = registers_of(signature);
    const std::vector<std::string> names = names_of(signature);
    const std::string table = std::to_string(types.size() * count * 8);
    std::string text =
        "\tmov.u32 %t0, %ctaid.x; mov.u32 %t1, %tid.x; mov.u32 %t3, %ntid.x; mad.lo.u32 %t2, %t0, %t3, %t1;\n"
        "\tmul.wide.u32 %a0, %t2, 8; ld.param.u64 %a1, [in]; add.u64 %a1, %a1, %a0;\n"
        "\tld.param.u64 %a2, [out]; add.u64 %a2, %a2, %a0;\n" +
        declarations(signature);
    for (const std::string& stub : stubs) {
        for (std::size_t r = 0; r < types.size(); ++r) {
            const std::string place = "[%a1+" + std::to_string(r * count * 8) + "];\n";
            if (types[r] == Type::pred)
                text += "\tld.global.u32 %t1, " + place + "\tsetp.ne.u32 " + names[r] + ", %t1, 0;\n";
            else
                text += "\tld.global.b" + std::to_string(bits(types[r])) + " " + names[r] + ", " + place;
        }
        text += stub;
        for (std::size_t r = 0; r < types.size(); ++r) {
            const std::string place = "[%a2+" + std::to_string(r * count * 8) + "], ";
            if (types[r] == Type::pred)
                text += "\tselp.u32 %t1, 1, 0, " + names[r] + ";\n\tst.global.u32 " + place + "%t1;\n";
            else
                text += "\tst.global.b" + std::to_string(bits(types[r])) + " " + place + names[r] + ";\n";
        }
        text += "\tadd.u64 %a2, %a2, " + table + ";\n";
    }
    return kernel_text({.version = "9.0",
                        .target = std::string(target),
                        .parameters = {"u64 in", "u64 out"},
                        .registers = {"u32 %t<4>", "u64 %a<4>", "pred %q"},
                        .body = text});
}

/// Stubs on the emulator: for each what the registers hold afterwards.
inline Expected<std::vector<Values>> by_emulator(const Signature& signature,
                                                 const std::vector<std::string>& stubs,
                                                 const Values& values) {
    const std::size_t count = values.at(0).size(), words = values.size() * count;
    std::vector<std::uint64_t> table;
    for (const auto& column : values) table.insert(table.end(), column.begin(), column.end());
    Emulator emulator({.threads = 1});
    const std::string text = table_kernel(signature, stubs, count);
    const auto module = emulator.load(text);
    if (!module) return tl::unexpected(module.error());
    const auto in = emulator.allocate(words * 8), out = emulator.allocate(words * 8 * stubs.size());
    if (!in || !out) return tl::unexpected(in ? out.error() : in.error());
    if (auto done = emulator.write(*in, std::as_bytes(std::span(table))); !done)
        return tl::unexpected(done.error());
    if (auto done = emulator.fill(*out, std::byte{0}, words * 8 * stubs.size()); !done)
        return tl::unexpected(done.error());
    const auto block = static_cast<std::uint32_t>(std::min<std::size_t>(count, 32));
    const std::vector<std::span<const std::byte>> arguments = {std::as_bytes(std::span(&*in, 1)),
                                                               std::as_bytes(std::span(&*out, 1))};
    const auto run = emulator.launch(
        **module, "k", {.grid = {static_cast<std::uint32_t>(count / block), 1, 1}, .block = {block, 1, 1}},
        arguments);
    if (!run) {
        Error error = run.error();
        error.source = std::make_shared<const SourceText>(SourceText{"kernel", text});
        return tl::unexpected(error);
    }
    std::vector<std::uint64_t> results(words * stubs.size());
    if (auto done = emulator.read(*out, std::as_writable_bytes(std::span(results))); !done)
        return tl::unexpected(done.error());
    std::vector<Values> all;
    for (std::size_t s = 0; s < stubs.size(); ++s) {
        Values& one = all.emplace_back();
        for (std::size_t r = 0; r < values.size(); ++r) {
            const auto begin = results.begin() + static_cast<std::ptrdiff_t>((s * values.size() + r) * count);
            one.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
        }
    }
    return all;
}

}  // namespace ptxgraft::test
