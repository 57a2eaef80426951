// The 64 bits of an mbarrier object: its phase, and the arrivals and bytes that are pending.
#include "emulator/machine/mbarrier_object.hpp"

#include <fmt/format.h>

namespace ptxgraft::emulator {
namespace {

// From the lowest bit: pending arrivals (20), expected arrivals (20), transactions (21, signed), the phase
// (1), and two bits that say that this is an object.
constexpr unsigned expected_shift = 20, transactions_shift = 40, phase_shift = 61, tag_shift = 62;
constexpr std::uint64_t tag = 2, transactions_mask = (std::uint64_t{1} << 21) - 1;

tl::unexpected<Error> wrong(std::string why) { return fail(Errc::barrier_invalid, std::move(why)); }

}  // namespace

Mbarrier Mbarrier::of(std::uint64_t word) {
    Mbarrier object;
    object.pending = static_cast<std::uint32_t>(word & most);
    object.expected = static_cast<std::uint32_t>(word >> expected_shift & most);
    const auto transactions = static_cast<std::int64_t>(word >> transactions_shift & transactions_mask);
    object.transactions = static_cast<std::int32_t>(
        transactions > most ? transactions - (std::int64_t{1} << 21) : transactions);
    object.phase = static_cast<std::uint32_t>(word >> phase_shift & 1);
    object.valid = word >> tag_shift == tag;
    return object;
}

std::uint64_t Mbarrier::word() const {
    if (!valid) return 0;
    const auto bits = static_cast<std::uint64_t>(transactions) & transactions_mask;
    return pending | std::uint64_t{expected} << expected_shift | bits << transactions_shift |
           std::uint64_t{phase} << phase_shift | tag << tag_shift;
}

Expected<void> Mbarrier::init(std::uint32_t count) {
    if (count == 0 || count > most)
        return wrong(fmt::format("mbarrier.init with a count of {}; it is 1 to {}", count, most));
    *this = {.pending = count, .expected = count, .valid = true};
    return {};
}

Expected<void> Mbarrier::arrive(std::uint32_t count, bool drop) {
    if (count == 0 || count > pending)
        return wrong(fmt::format("{} arrivals at an mbarrier that waits for {}", count, pending));
    pending -= count;
    if (drop) expected -= count;
    finish_phase();
    return {};
}

Expected<void> Mbarrier::expect(std::uint32_t count) {
    if (count > most || transactions + static_cast<std::int32_t>(count) > static_cast<std::int32_t>(most))
        return wrong(fmt::format("{} more transactions than the {} that an mbarrier expects; at most {}",
                                 count, transactions, most));
    transactions += static_cast<std::int32_t>(count);
    finish_phase();
    return {};
}

Expected<void> Mbarrier::complete(std::uint32_t count) {
    if (count > most || transactions - static_cast<std::int32_t>(count) < -static_cast<std::int32_t>(most))
        return wrong(
            fmt::format("{} transactions complete of the {} that an mbarrier expects; at most {} too many",
                        count, transactions, most));
    transactions -= static_cast<std::int32_t>(count);
    finish_phase();
    return {};
}

void Mbarrier::finish_phase() {
    if (pending != 0 || transactions != 0) return;
    pending = expected;
    phase ^= 1;
}

}  // namespace ptxgraft::emulator
