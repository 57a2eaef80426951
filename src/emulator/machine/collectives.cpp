// What shfl, vote, match, redux and elect compute of the columns of the lanes that take part.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

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

// The values of a column; a destination may be one of the sources.
template <class T> std::array<T, lane_count> copy_of(const void* column) {
    std::array<T, lane_count> values;
    std::memcpy(values.data(), column, sizeof values);
    return values;
}
template <class T> void spread(void* column, T value, std::uint32_t mask) {
    each_bit(mask, [&](unsigned lane) {
        static_cast<T*>(column)[lane] = value;
        return true;
    });
}
void spread_truth(void* column, bool value, std::uint32_t mask) {
    spread<std::uint8_t>(column, value ? 1 : 0, mask);
}

template <Shuffle Mode>
void shuffle(void* const* outputs, const void* const* inputs, std::uint32_t mask, std::uint32_t) {
    const auto values = copy_of<std::uint32_t>(inputs[0]), b = copy_of<std::uint32_t>(inputs[1]),
               c = copy_of<std::uint32_t>(inputs[2]);
    each_bit(mask, [&](unsigned lane) {
        bool in_range = false;
        const unsigned from = source_lane<Mode>(lane, b[lane], c[lane], in_range);
        static_cast<std::uint32_t*>(outputs[0])[lane] = values[from];
        static_cast<std::uint8_t*>(outputs[1])[lane] = in_range ? 1 : 0;
        return true;
    });
}

enum class Vote : std::uint8_t { all, any, uni, ballot };

template <Vote Mode>
void vote(void* const* outputs, const void* const* inputs, std::uint32_t mask, std::uint32_t negated) {
    const std::uint32_t truths = predicate_mask(static_cast<const std::byte*>(inputs[0]));
    const std::uint32_t holds = (truths ^ (negated != 0 ? ~0u : 0u)) & mask;
    if constexpr (Mode == Vote::all) spread_truth(outputs[0], holds == mask, mask);
    if constexpr (Mode == Vote::any) spread_truth(outputs[0], holds != 0, mask);
    if constexpr (Mode == Vote::uni) spread_truth(outputs[0], holds == mask || holds == 0, mask);
    if constexpr (Mode == Vote::ballot) spread(outputs[0], holds, mask);
}

template <class T>
void match_any(void* const* outputs, const void* const* inputs, std::uint32_t mask, std::uint32_t) {
    const auto values = copy_of<T>(inputs[0]);
    each_bit(mask, [&](unsigned lane) {
        std::uint32_t same = 0;
        for (unsigned other = 0; other < lane_count; ++other)
            same |= (values[other] == values[lane] ? 1u : 0u) << other;
        static_cast<std::uint32_t*>(outputs[0])[lane] = same & mask;
        return true;
    });
}

template <class T>
void match_all(void* const* outputs, const void* const* inputs, std::uint32_t mask, std::uint32_t) {
    const auto values = copy_of<T>(inputs[0]);
    const T first = values[first_lane(mask)];
    const bool all = each_bit(mask, [&](unsigned lane) { return values[lane] == first; });
    spread(outputs[0], all ? mask : 0, mask);
    spread_truth(outputs[1], all, mask);
}

template <class T, T (*F)(T, T)>
void reduce(void* const* outputs, const void* const* inputs, std::uint32_t mask, std::uint32_t) {
    const auto* const values = static_cast<const T*>(inputs[0]);
    T result = values[first_lane(mask)];
    each_bit(mask & (mask - 1), [&](unsigned lane) { result = F(result, values[lane]); });
    spread(outputs[0], result, mask);
}

template <class T> T sum_of(T a, T b) { return a + b; }
template <class T> T least_of(T a, T b) { return std::min(a, b); }
template <class T> T greatest_of(T a, T b) { return std::max(a, b); }
template <class T> T and_(T a, T b) { return a & b; }
template <class T> T or_(T a, T b) { return a | b; }
template <class T> T xor_(T a, T b) { return a ^ b; }

void elect(void* const* outputs, const void* const*, std::uint32_t mask, std::uint32_t) {
    const auto leader = first_lane(mask);
    spread<std::uint32_t>(outputs[0], leader, mask);
    spread_truth(outputs[1], false, mask);
    static_cast<std::uint8_t*>(outputs[1])[leader] = 1;
}

void sync(void* const*, const void* const*, std::uint32_t, std::uint32_t) {}

struct CollectiveRow {
    std::string_view mode;
    Collective function;
};

template <std::size_t N> Collective find(const CollectiveRow (&rows)[N], std::string_view mode) {
    const auto found =
        std::find_if(rows, rows + N, [&](const CollectiveRow& row) { return row.mode == mode; });
    return found == rows + N ? nullptr : found->function;
}

using u32 = std::uint32_t;
using s32 = std::int32_t;
constexpr CollectiveRow shuffles[] = {{".up", shuffle<Shuffle::up>},
                                      {".down", shuffle<Shuffle::down>},
                                      {".bfly", shuffle<Shuffle::bfly>},
                                      {".idx", shuffle<Shuffle::idx>}};
constexpr CollectiveRow votes[] = {{".all", vote<Vote::all>},
                                   {".any", vote<Vote::any>},
                                   {".uni", vote<Vote::uni>},
                                   {".ballot", vote<Vote::ballot>}};
constexpr CollectiveRow matches[] = {{".any.b32", match_any<std::uint32_t>},
                                     {".any.b64", match_any<std::uint64_t>},
                                     {".all.b32", match_all<std::uint32_t>},
                                     {".all.b64", match_all<std::uint64_t>}};
constexpr CollectiveRow reductions[] = {
    {".add.u32", reduce<u32, sum_of<u32>>},      {".add.s32", reduce<u32, sum_of<u32>>},
    {".min.u32", reduce<u32, least_of<u32>>},    {".min.s32", reduce<s32, least_of<s32>>},
    {".max.u32", reduce<u32, greatest_of<u32>>}, {".max.s32", reduce<s32, greatest_of<s32>>},
    {".and.b32", reduce<u32, and_<u32>>},        {".or.b32", reduce<u32, or_<u32>>},
    {".xor.b32", reduce<u32, xor_<u32>>}};

}  // namespace

Collective shuffle_collective(std::string_view mode) { return find(shuffles, mode); }
Collective vote_collective(std::string_view mode) { return find(votes, mode); }
Collective match_collective(std::string_view mode, std::string_view type) {
    return find(matches, std::string(mode) + std::string(type));
}
Collective reduce_collective(std::string_view op, std::string_view type) {
    return find(reductions, std::string(op) + std::string(type));
}
Collective elect_collective() { return elect; }
Collective sync_collective() { return sync; }

}  // namespace ptxgraft::emulator
