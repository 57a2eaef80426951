#pragma once
/// @file race_storage.hpp
/// What the race check of a cluster keeps in memory.

#include "emulator/races/race_cursors.hpp"
#include "emulator/races/race_patterns.hpp"
#include "emulator/races/shadow.hpp"

namespace ptxgraft::emulator {

struct RaceStorage {
    ShadowMemory shared, global;
    CursorTable shared_cursors, global_cursors;
    ShapeTable shapes;
    PatternTable patterns;

    /// To be kept for others; not what has become large.
    [[nodiscard]] bool is_small() const {
        return shared.bytes() + global.bytes() <= most_bytes && !shapes.is_half_full();
    }

  private:
    static constexpr std::size_t most_bytes = std::size_t{32} << 20;
};

}  // namespace ptxgraft::emulator
