#pragma once
/// @file race_patterns.hpp
/// How the lanes of an instruction lie to each other, and which shapes that makes on the lines they access:
/// found out once, since an instruction in a loop accesses in the same few ways.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/memory/lanes.hpp"
#include "emulator/races/shadow.hpp"

namespace ptxgraft::emulator {

struct AccessPattern {
    /// What is accessed of a line.
    struct Part {
        std::uint32_t line = 0;  ///< behind the first one
        std::uint32_t value = 0, words = 0, whole_words = 0;
        std::uint8_t tag = 0;    ///< of the record
        bool is_private = true;  ///< no two lanes access one byte
    };
    std::uint32_t mask = 0, bytes = 0;
    std::array<std::uint32_t, 32> offsets = {};  ///< of the lanes, from the begin of the first line on
    std::vector<Part> parts;

    /// Whether the lanes access so; `shift` is added to their offsets. Without branches, so that it becomes
    /// vector instructions.
    [[nodiscard]] bool is_of(const LaneAccesses& accesses, std::uint32_t lanes, std::uint32_t shift) const {
        if (mask != lanes || bytes != accesses.bytes) return false;
        std::uint32_t differ = 0;
        if (lanes == ~0u) {
            for (unsigned lane = 0; lane < 32; ++lane)
                differ |= (accesses.offsets[lane] + shift) ^ offsets[lane];
        } else {
            for (unsigned lane = 0; lane < 32; ++lane)
                differ |= ((accesses.offsets[lane] + shift) ^ offsets[lane]) & (0u - (lanes >> lane & 1));
        }
        return differ == 0;
    }
};

class PatternTable {
  public:
    /// That of some accesses, whose offsets and `shift` together are from the begin of the first line on.
    /// Null when the instruction has had too many different ones.
    [[nodiscard]] const AccessPattern* find(const LaneAccesses& accesses, std::uint32_t mask,
                                            std::uint32_t shift, ShapeTable& shapes) {
        Instruction& instruction = instruction_of(accesses);
        if (instruction.skipped != 0) {
            --instruction.skipped;
            return nullptr;
        }
        Set& set = set_of(accesses, mask, shift);
        for (std::uint32_t& known : set.patterns) {
            if (known == 0) break;
            const AccessPattern& pattern = patterns_[known - 1];
            if (!pattern.is_of(accesses, mask, shift)) continue;
            instruction = {};
            std::swap(known, set.patterns[0]);
            return &pattern;
        }
        return miss(accesses, mask, shift, shapes);
    }
    /// Instructions of this program come: what is known to be irregular of another's is forgotten.
    void begin(const void* program);

  private:
    /// Of the instructions of some places in the program, which may be irregular.
    struct Instruction {
        std::uint8_t misses = 0;
        std::uint16_t skipped = 0, last_skipped = 0;  // accesses that are not looked up: left, and at first
    };
    /// Those whose first lane accesses some word of a line.
    struct Set {
        std::array<std::uint32_t, 4> patterns = {};  // from 1
        std::uint8_t next = 0;
    };
    [[nodiscard]] Instruction& instruction_of(const LaneAccesses& accesses) {
        return instructions_[accesses.pc % instructions_.size()];
    }
    [[nodiscard]] Set& set_of(const LaneAccesses& accesses, std::uint32_t mask, std::uint32_t shift) {
        const std::uint32_t first = accesses.offsets[first_lane(mask)] + shift;
        return sets_[(accesses.pc * 0x9E3779B1u ^ first / word_bytes % line_words * 0x85EBCA77u) >> 23];
    }
    [[nodiscard]] const AccessPattern* miss(const LaneAccesses& accesses, std::uint32_t mask,
                                            std::uint32_t shift, ShapeTable& shapes);
    [[nodiscard]] const AccessPattern* add(Set& set, const LaneAccesses& accesses, std::uint32_t mask,
                                           std::uint32_t shift, ShapeTable& shapes);
    [[nodiscard]] static bool make_parts(AccessPattern& pattern, ShapeTable& shapes);
    [[nodiscard]] static bool make_part(const AccessPattern& pattern, std::uint32_t lanes,
                                        AccessPattern::Part& part, ShapeTable& shapes);

    const void* program_ = nullptr;
    std::vector<AccessPattern> patterns_;
    std::array<Instruction, 256> instructions_ = {};
    std::array<Set, 512> sets_ = {};
};

}  // namespace ptxgraft::emulator
