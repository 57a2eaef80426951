#include <algorithm>
#include <bit>

#include "emulator/operations.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {
namespace {

// PTX ISA 9.7.9.6 (shfl.sync): where a lane reads, by mode; sets whether that lane is in range.
enum class Shuffle : std::uint8_t { up, down, bfly, idx };

template <Shuffle Mode>
unsigned source_lane(unsigned lane, std::uint32_t b, std::uint32_t c, bool& in_range) {
    const int shift = static_cast<int>(b & 0x1F), clamp = static_cast<int>(c & 0x1F);
    const int segment = static_cast<int>((c >> 8) & 0x1F), self = static_cast<int>(lane);
    const int first = self & segment, last = first | (clamp & ~segment);
    int from = self;
    if constexpr (Mode == Shuffle::up) from = self - shift;
    if constexpr (Mode == Shuffle::down) from = self + shift;
    if constexpr (Mode == Shuffle::bfly) from = self ^ shift;
    if constexpr (Mode == Shuffle::idx) from = first | (shift & ~segment);
    in_range = Mode == Shuffle::up ? from >= last : from <= last;
    return static_cast<unsigned>(in_range ? from : self) & 31;
}

template <Shuffle Mode>
void shuffle(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask, std::uint32_t) {
    const Lanes values = *inputs[0], b = *inputs[1], c = *inputs[2];  // the destination may be one of them
    each_lane(mask, [&](unsigned lane) {
        bool in_range = false;
        const unsigned from = source_lane<Mode>(lane, static_cast<std::uint32_t>(b[lane]),
                                                static_cast<std::uint32_t>(c[lane]), in_range);
        (*outputs[0])[lane] = values[from];
        (*outputs[1])[lane] = in_range ? 1 : 0;
        return true;
    });
}

void spread(Lanes& output, std::uint64_t value, std::uint32_t mask) {
    each_lane(mask, [&](unsigned lane) {
        output[lane] = value;
        return true;
    });
}

enum class Vote : std::uint8_t { all, any, uni, ballot };

template <Vote Mode>
void vote(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask, std::uint32_t negated) {
    const std::uint32_t holds = (predicate_mask(*inputs[0]) ^ (negated != 0 ? ~0u : 0u)) & mask;
    if constexpr (Mode == Vote::all) spread(*outputs[0], holds == mask ? 1 : 0, mask);
    if constexpr (Mode == Vote::any) spread(*outputs[0], holds != 0 ? 1 : 0, mask);
    if constexpr (Mode == Vote::uni) spread(*outputs[0], holds == mask || holds == 0 ? 1 : 0, mask);
    if constexpr (Mode == Vote::ballot) spread(*outputs[0], holds, mask);
}

std::uint64_t low_bits(std::uint64_t value, std::uint32_t bits) {
    return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

void match_any(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask, std::uint32_t bits) {
    const Lanes values = *inputs[0];
    each_lane(mask, [&](unsigned lane) {
        std::uint64_t same = 0;
        each_lane(mask, [&](unsigned other) {
            if (low_bits(values[other], bits) == low_bits(values[lane], bits))
                same |= std::uint64_t{1} << other;
            return true;
        });
        (*outputs[0])[lane] = same;
        return true;
    });
}

void match_all(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask, std::uint32_t bits) {
    const Lanes& values = *inputs[0];
    const std::uint64_t first = low_bits(values[static_cast<unsigned>(std::countr_zero(mask))], bits);
    const bool all = each_lane(mask, [&](unsigned lane) { return low_bits(values[lane], bits) == first; });
    spread(*outputs[0], all ? mask : 0, mask);
    spread(*outputs[1], all ? 1 : 0, mask);
}

template <class T, T (*F)(T, T)>
void reduce(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask, std::uint32_t) {
    const Lanes& values = *inputs[0];
    T result = static_cast<T>(values[static_cast<unsigned>(std::countr_zero(mask))]);
    each_lane(mask & (mask - 1), [&](unsigned lane) {
        result = F(result, static_cast<T>(values[lane]));
        return true;
    });
    spread(*outputs[0], static_cast<std::uint32_t>(result), mask);
}

template <class T>
T add(T a, T b) {
    return a + b;
}
template <class T>
T min(T a, T b) {
    return std::min(a, b);
}
template <class T>
T max(T a, T b) {
    return std::max(a, b);
}
template <class T>
T and_(T a, T b) {
    return a & b;
}
template <class T>
T or_(T a, T b) {
    return a | b;
}
template <class T>
T xor_(T a, T b) {
    return a ^ b;
}

void elect(Lanes* const* outputs, const Lanes* const*, std::uint32_t mask, std::uint32_t) {
    const auto leader = static_cast<unsigned>(std::countr_zero(mask));
    spread(*outputs[0], leader, mask);
    spread(*outputs[1], 0, mask);
    (*outputs[1])[leader] = 1;
}

void sync(Lanes* const*, const Lanes* const*, std::uint32_t, std::uint32_t) {}

struct Row {
    std::string_view mode;
    Collective function;
};

template <std::size_t N>
Collective find(const Row (&rows)[N], std::string_view mode) {
    const auto found = std::find_if(rows, rows + N, [&](const Row& row) { return row.mode == mode; });
    return found == rows + N ? nullptr : found->function;
}

using u32 = std::uint32_t;
using s32 = std::int32_t;
constexpr Row shuffles[] = {{".up", shuffle<Shuffle::up>},
                            {".down", shuffle<Shuffle::down>},
                            {".bfly", shuffle<Shuffle::bfly>},
                            {".idx", shuffle<Shuffle::idx>}};
constexpr Row votes[] = {{".all", vote<Vote::all>},
                         {".any", vote<Vote::any>},
                         {".uni", vote<Vote::uni>},
                         {".ballot", vote<Vote::ballot>}};
constexpr Row matches[] = {{".any", match_any}, {".all", match_all}};
constexpr Row reductions[] = {{".add.u32", reduce<u32, add<u32>>},  {".add.s32", reduce<u32, add<u32>>},
                              {".min.u32", reduce<u32, min<u32>>},  {".min.s32", reduce<s32, min<s32>>},
                              {".max.u32", reduce<u32, max<u32>>},  {".max.s32", reduce<s32, max<s32>>},
                              {".and.b32", reduce<u32, and_<u32>>}, {".or.b32", reduce<u32, or_<u32>>},
                              {".xor.b32", reduce<u32, xor_<u32>>}};

}  // namespace

Collective shuffle_collective(std::string_view mode) { return find(shuffles, mode); }
Collective vote_collective(std::string_view mode) { return find(votes, mode); }
Collective match_collective(std::string_view mode) { return find(matches, mode); }
Collective reduce_collective(std::string_view op, std::string_view type) {
    return find(reductions, std::string(op) + std::string(type));
}
Collective elect_collective() { return elect; }
Collective sync_collective() { return sync; }

}  // namespace ptxgraft::emulator
