#pragma once
/// @file mbarrier_object.hpp
/// The 64 bits of an mbarrier object (PTX ISA 9.7.13.15), which are opaque to programs: these are ours.

#include <cstddef>
#include <cstdint>

#include "base/try.hpp"

namespace ptxgraft::emulator {

struct Mbarrier {
    static constexpr std::uint32_t most = (std::uint32_t{1} << 20) - 1;  ///< of each count

    std::uint32_t pending = 0, expected = 0;  ///< arrivals
    std::int32_t transactions = 0;            ///< expected and not yet complete: tx-count
    std::uint32_t phase = 0;                  ///< its lowest bit
    bool valid = false;                       ///< between mbarrier.init and mbarrier.inval

    [[nodiscard]] static Mbarrier of(std::uint64_t word);
    [[nodiscard]] std::uint64_t word() const;

    // What the instructions do. Errors: Errc::barrier_invalid, for counts that leave their range.
    Expected<void> init(std::uint32_t count);
    Expected<void> arrive(std::uint32_t count, bool drop);
    Expected<void> expect(std::uint32_t count);
    Expected<void> complete(std::uint32_t count);

  private:
    void finish_phase();
};

/// What the bytes of an object hold now.
inline std::uint64_t mbarrier_word(const std::byte* at) {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_ACQUIRE);
}

/// Changes the object at `at` in one step; its word before, or the error of `change`, which leaves it as it
/// is. `change` is given a valid object.
template <class Change> Expected<std::uint64_t> change_mbarrier(std::byte* at, Change&& change) {
    auto* const word = reinterpret_cast<std::uint64_t*>(at);
    std::uint64_t before = __atomic_load_n(word, __ATOMIC_ACQUIRE), after = 0;
    do {
        Mbarrier object = Mbarrier::of(before);
        if (!object.valid)
            return fail(Errc::barrier_invalid, "no mbarrier.init made an mbarrier object there");
        TRY(change(object));
        after = object.word();
    } while (!__atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
    return before;
}

}  // namespace ptxgraft::emulator
