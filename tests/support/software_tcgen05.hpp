#pragma once
// Kernels for sm_100a on the emulator, which has no tensor memory: their instructions of tcgen05 become calls
// of the functions of tcgen05.cu, which compute the same, and the rest of a kernel runs as it is. What only
// the hardware knows is not looked at: whether fences and waits of tcgen05 are where they must be, and what
// the manual says of layouts in figures alone is as tcgen05.cu has it.

#include <array>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include "ptxgraft/link.hpp"
#include "support/cache.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {

// The functions of tcgen05.cu, in PTX.
inline const std::string& software_tensor_cores() {
    static const std::string functions = [] {
        const auto ptx =
            compile_cuda(read_file(test::source_path("tests/support/tcgen05.cu")), {.cache = &cache()});
        if (!ptx) throw std::runtime_error(describe(ptx.error()));
        const std::string head = ".address_size 64\n";
        const auto begin = ptx->text.find(head) + head.size();
        return ptx->text.substr(begin, ptx->text.find(".visible .entry keep") - begin);
    }();
    return functions;
}

// A product: groups of the CTA group, the kind, the block, D, A, B, the descriptor, scale factors, predicate.
inline std::string software_product(const std::smatch& m) {
    static constexpr std::array<std::string_view, 5> kinds = {"f16", "f8f6f4", "mxf8f6f4", "mxf4",
                                                              "mxf4nvf4"};
    const auto kind = std::find(kinds.begin(), kinds.end(), m[2].str()) - kinds.begin();
    const auto or_zero = [&](std::size_t i) { return m[i].matched ? m[i].str() : std::string("0"); };
    return "{\n.reg .u32 %accumulate;\nselp.u32 %accumulate, 1, 0, " + m[10].str() +
           ";\ncall tcgen05_mma, (" + m[4].str() + ", " + m[5].str() + ", " + m[6].str() + ", " + m[7].str() +
           ", %accumulate, " + std::to_string(kind) + ", " + m[1].str() + ", " + or_zero(3) + ", " +
           or_zero(8) + ", " + or_zero(9) + ");\n}";
}
// A load into 32 registers: the list, and the address.
inline std::string software_load(const std::smatch& m) {
    std::istringstream registers(m[1].str());
    std::string text = "{\n.reg .u64 %cells;\ncall (%cells), tcgen05_cells, (" + m[2].str() + ");\n", one;
    for (int i = 0; std::getline(registers, one, ','); ++i)
        text += "ld.f32 " + one + ", [%cells+" + std::to_string(4 * i) + "];\n";
    return text + "}";
}
inline std::string software_arrivals(const std::string& barrier) {
    std::string text = "{\n.reg .u32 %of_block;\n";
    for (const char* rank : {"0", "1"})
        text += "mapa.shared::cluster.u32 %of_block, " + barrier + ", " + rank +
                ";\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%of_block];\n";
    return text + "}";
}

// What stands for a line.
inline std::string without_tensor_core(const std::string& line) {
    static const std::regex product(
        R"(\ttcgen05\.mma\.cta_group::(\d)\.kind::(\w+)(?:\.block_scale\.block(\d+))? \[(\S+)\], (\S+), (\S+), (\S+), (?:\[(\S+)\], \[(\S+)\], )?(\S+);)");
    static const std::regex load(R"(\ttcgen05\.ld\.sync\.aligned\.32x32b\.x32\.b32 \{(.*)\}, \[(\S+)\];)");
    static const std::regex copy(
        R"(\ttcgen05\.cp\.cta_group::1\.32x128b\.warpx4 \[(%\w+)(?:\+(\d+))?\], (\S+);)");
    static const std::regex commit(R"(\ttcgen05\.commit\.cta_group::(\d)\.\S+ \[(\S+)\](?:, 3)?;)");
    static const std::regex alloc(R"(\ttcgen05\.alloc\.\S+ \[(\S+)\], \d+;)");
    static const std::regex group(R"((\tcp\.async\S+)\.cta_group::\d)");
    std::smatch m;
    if (std::regex_match(line, m, product)) return software_product(m);
    if (std::regex_match(line, m, load)) return software_load(m);
    if (std::regex_match(line, m, copy))
        return "{\n.reg .u32 %to;\nadd.u32 %to, " + m[1].str() + ", " + (m[2].matched ? m[2].str() : "0") +
               ";\ncall tcgen05_cp, (%to, " + m[3].str() + ");\n}";
    if (std::regex_match(line, m, commit))
        return m[1] == "2" ? software_arrivals(m[2])
                           : "mbarrier.arrive.shared::cta.b64 _, [" + m[2].str() + "];";
    if (std::regex_match(line, m, alloc))
        return "{\n.reg .pred %is_one;\nelect.sync _|%is_one, -1;\n@%is_one st.shared.u32 [" + m[1].str() +
               "], 0;\n}";
    if (line.starts_with("\ttcgen05.fence") || line.starts_with("\ttcgen05.wait") ||
        line.starts_with("\ttcgen05.dealloc") || line.starts_with("\ttcgen05.relinquish"))
        return "";
    if (line.find("\ttcgen05") != line.npos) throw std::runtime_error("not in software: " + line);
    return std::regex_replace(line, group, "$1");
}

// The kernel for sm_90a.
inline std::string without_tensor_cores(const std::string& ptx) {
    std::istringstream lines(ptx);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        if (line == ".target sm_100a") line = ".target sm_90a";
        text += without_tensor_core(line) + "\n";
        if (line == ".address_size 64") text += software_tensor_cores();
    }
    return text;
}

}  // namespace ptxgraft::test
