// mov with vectors (PTX ISA 9.7.9.9): parts of registers, as functions over columns.
#include <array>
#include <cstring>

#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

// A register of N parts of type T. Columns of different widths are different registers.
template <class T, unsigned N> void pack(void* const* outputs, const void* const* inputs, std::size_t count) {
    auto* const whole = static_cast<std::byte*>(outputs[0]);
    for (unsigned i = 0; i < N; ++i) {
        const auto* const part = static_cast<const T*>(inputs[i]);
        for (std::size_t lane = 0; lane < count; ++lane)
            std::memcpy(whole + (lane * N + i) * sizeof(T), &part[lane], sizeof(T));
    }
}

template <class T, unsigned N>
void unpack(void* const* outputs, const void* const* inputs, std::size_t count) {
    const auto* const whole = static_cast<const std::byte*>(inputs[0]);
    for (unsigned i = 0; i < N; ++i) {
        auto* const part = static_cast<T*>(outputs[i]);
        for (std::size_t lane = 0; lane < count; ++lane)
            std::memcpy(&part[lane], whole + (lane * N + i) * sizeof(T), sizeof(T));
    }
}

// The sources may be among the destinations, in another order.
template <class T, unsigned N> void copy(void* const* outputs, const void* const* inputs, std::size_t) {
    std::array<std::array<T, lane_count>, N> values;
    for (unsigned i = 0; i < N; ++i) std::memcpy(values[i].data(), inputs[i], sizeof values[i]);
    for (unsigned i = 0; i < N; ++i) std::memcpy(outputs[i], values[i].data(), sizeof values[i]);
}

struct Wide {
    std::uint64_t low, high;
};

template <template <class, unsigned> class F>
ColumnFunction choose(std::uint32_t part_bytes, std::uint32_t parts) {
    switch (part_bytes * 8 + parts) {
        case 8 + 2: return F<std::uint8_t, 2>::function;
        case 8 + 4: return F<std::uint8_t, 4>::function;
        case 16 + 2: return F<std::uint16_t, 2>::function;
        case 16 + 4: return F<std::uint16_t, 4>::function;
        case 32 + 2: return F<std::uint32_t, 2>::function;
        case 32 + 4: return F<std::uint32_t, 4>::function;
        case 64 + 2: return F<std::uint64_t, 2>::function;
        case 64 + 4: return F<std::uint64_t, 4>::function;
        case 128 + 1: return F<Wide, 1>::function;
        case 128 + 2: return F<Wide, 2>::function;
        case 128 + 4: return F<Wide, 4>::function;
        default: return nullptr;
    }
}
template <class T, unsigned N> struct Pack { static constexpr ColumnFunction function = pack<T, N>; };
template <class T, unsigned N> struct Unpack { static constexpr ColumnFunction function = unpack<T, N>; };
template <class T, unsigned N> struct Copy { static constexpr ColumnFunction function = copy<T, N>; };

}  // namespace

ColumnFunction pack_function(std::uint32_t part_bytes, std::uint32_t parts) {
    return choose<Pack>(part_bytes, parts);
}
ColumnFunction unpack_function(std::uint32_t part_bytes, std::uint32_t parts) {
    return choose<Unpack>(part_bytes, parts);
}
ColumnFunction copy_function(std::uint32_t part_bytes, std::uint32_t parts) {
    return choose<Copy>(part_bytes, parts);
}

}  // namespace ptxgraft::emulator
