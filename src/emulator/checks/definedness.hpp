#pragma once
/// @file definedness.hpp
/// Definedness of registers: propagates definedness bits through the operations of a warp, keeps the origins
/// of undefined values (origin tracking), and reports an undefined value where a decision depends on it.

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "emulator/checks/hammock.hpp"
#include "emulator/machine/frame.hpp"

namespace ptxgraft::emulator {

class Warp;

class Definedness {
  public:
    explicit Definedness(Warp& warp) : warp_(warp) {}
    void begin();
    /// Definedness bits are kept.
    [[nodiscard]] bool is_on() const { return is_on_; }
    /// The registers of a new frame are undefined.
    void begin_frame(Frame& frame) const;

    // --- for the operations

    /// Before an operation of the frame runs: its results become as defined as its sources are.
    [[nodiscard]] bool track(const Operation& operation, const Ref* refs, Frame& frame, std::uint32_t mask) {
        const Ref* const sources = refs + operation.outputs;
        std::uint32_t* const written = frame.states.written.data();
        std::uint32_t all = ~0u;
        for (unsigned i = 0; i < operation.strict; ++i) {
            const bool is_one = is_register(sources[i]);
            all &= written[is_one ? index_of(sources[i]) : 0] | (is_one ? 0 : ~0u);
        }
        if ((mask & ~all) != 0) return track_undefined(operation, mask);
        for (unsigned i = operation.self_marked_outputs; i < operation.outputs; ++i)
            written[index_of(refs[i])] |= mask;
        return true;
    }
    /// Reports lanes of the guard that are undefined, unless it decides no more than what is computed in
    /// registers: in these lanes it does not hold then, and those that a branch may have sent elsewhere have
    /// left.
    [[nodiscard]] bool check_guard(const Operation& operation, std::uint32_t& holds);
    /// Reports undefined lanes of a register; when the launch goes on, they are defined.
    [[nodiscard]] bool require(Ref ref, std::uint32_t mask);
    [[nodiscard]] bool require_all(std::span<const Ref> refs);  ///< in all lanes
    /// A register's lanes are written by an operation that does not name it among its outputs.
    void mark_written(Ref ref, std::uint32_t mask);
    void mark_slot(const Slot& slot, std::uint32_t mask);
    /// A collective moves the definedness bits of its first source as it does the values.
    void shuffle(const Operation& operation, const CollectiveCall& call, const void* const* inputs,
                 std::uint32_t mask);
    /// An argument or a result of a call keeps its definedness bits. `bytes`: those that one lane passes.
    void pass(const Slot& from, Frame& source, const Slot& to, Frame& target, unsigned lane,
              std::uint32_t bytes);

    // --- for the other checks

    [[nodiscard]] bool is_written(Ref ref) const;
    [[nodiscard]] Origin origin_of(Ref ref) const;
    void read_states(Ref ref, std::uint8_t* states) const;
    /// The lanes of `mask` get these definedness bits.
    void taint(Ref ref, std::uint32_t mask, const Origin& origin, const std::uint8_t* states);
    /// Reports the origin of an undefined value, which is where it was first read, whatever it has gone
    /// through since.
    [[nodiscard]] bool report_unwritten(Ref ref, std::uint32_t lanes);
    [[nodiscard]] bool report_unwritten(const Origin& origin, std::uint32_t lanes, Ref ref = no_ref);

  private:
    [[nodiscard]] std::uint32_t written_lanes(Ref ref) const;
    [[nodiscard]] Origin origin_in(const Frame& frame, Ref ref) const;
    void read_states(const Frame& frame, Ref ref, std::uint8_t* states) const;
    static void taint(Frame& frame, Ref ref, std::uint32_t mask, const Origin& origin,
                      const std::uint8_t* states);
    [[nodiscard]] const Hammock& hammock_of(std::uint32_t branch);
    [[nodiscard]] bool track_undefined(const Operation& operation, std::uint32_t mask);
    [[nodiscard]] bool refuse_undefined(const Operation& operation, std::uint32_t mask);
    void try_bits(const Operation& operation, std::uint8_t* states);
    void carry_states(const Operation& operation, std::uint8_t* states);
    void insert_states(const Operation& operation, std::uint8_t* states);
    void spread_states(const Operation& operation, unsigned output, std::uint8_t* states);
    void move_states(const Operation& operation, std::uint32_t mask, const Origin& origin);
    void read_data(Ref ref, std::uint8_t* data);
    [[nodiscard]] bool is_filled(const Operation& operation, unsigned lane);
    void remember_passed(const Slot& from, const Frame& source, std::uint32_t address, unsigned lane,
                         std::uint32_t bytes, const Origin& origin);

    Warp& warp_;
    bool is_on_ = false;
    std::unordered_map<std::uint32_t, Hammock> hammocks_;  // of branches that were asked for
};

}  // namespace ptxgraft::emulator
