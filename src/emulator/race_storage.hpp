#pragma once
/// @file race_storage.hpp
/// What the race check of a cluster keeps in memory. Clusters that come after it, of other launches too, use it again: small launches
/// would spend most of their time with its allocation.

#include <memory>
#include <mutex>
#include <vector>

#include "emulator/race_cursors.hpp"
#include "emulator/race_patterns.hpp"
#include "emulator/shadow.hpp"

namespace ptxgraft::emulator {

struct RaceStorage {
    ShadowMemory shared, global;
    CursorTable shared_cursors, global_cursors;
    ShapeTable shapes;
    PatternTable patterns;
};

class RaceStorages {
  public:
    [[nodiscard]] std::unique_ptr<RaceStorage> take();
    /// Keeps it, unless it has become large.
    void give(std::unique_ptr<RaceStorage> storage);

  private:
    static constexpr std::size_t most = 64, most_bytes = std::size_t{32} << 20;
    std::mutex mutex_;
    std::vector<std::unique_ptr<RaceStorage>> free_;
};

}  // namespace ptxgraft::emulator
