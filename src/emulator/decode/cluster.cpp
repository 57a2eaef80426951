// Instructions of clusters: mapa, getctarank.
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;

// mapa{.shared::cluster}.type d, a, b: d and a are addresses of .type; with the space of shared memory,
// without it generic.
Expected<Draft> decode_mapa(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::uint32_t is_generic = words.take(".shared::cluster") ? 0 : 1;
    const std::string_view type = words.take_of({".u32", ".u64"});
    if (!words.empty() || type.empty() || instruction.operands.size() != 3)
        return decoder.missing(instruction);
    const std::uint32_t bytes = type_bits(type) / 8;
    auto d = decoder.output(instruction.operands[0], bytes);
    auto a = decoder.input(instruction.operands[1], bytes);
    auto rank = decoder.input(instruction.operands[2], 4);
    if (!d) return tl::unexpected<Error>(d.error());
    if (!a) return tl::unexpected<Error>(a.error());
    if (!rank) return tl::unexpected<Error>(rank.error());
    return Draft(execute_mapa, is_generic).output(*d).input(*a).input(*rank);
}

Expected<Draft> decode_getctarank(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::uint32_t is_generic = words.take(".shared::cluster") ? 0 : 1;
    const std::string_view type = words.take_of({".u32", ".u64"});
    if (!words.empty() || type.empty() || instruction.operands.size() != 2)
        return decoder.missing(instruction);
    auto d = decoder.output(instruction.operands[0], 4);
    auto a = decoder.input(instruction.operands[1], type_bits(type) / 8);
    if (!d) return tl::unexpected<Error>(d.error());
    if (!a) return tl::unexpected<Error>(a.error());
    return Draft(execute_getctarank, is_generic).output(*d).input(*a);
}

constexpr InstructionRow rows[] = {{"mapa", decode_mapa}, {"getctarank", decode_getctarank}};

}  // namespace

std::span<const InstructionRow> cluster_rows() { return rows; }

}  // namespace ptxgraft::emulator
