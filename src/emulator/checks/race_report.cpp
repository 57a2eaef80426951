// The report of a race: both accesses, their threads and values, and the bytes where they overlap.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "emulator/checks/provenance.hpp"
#include "emulator/machine/cluster.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t longest_instruction = 100;  // in a message

std::string_view word_for(AccessKind kind) {
    constexpr std::string_view names[] = {
        "a read", "a write", "a strong read", "a strong write", "an atomic operation", "a reduction"};
    return names[static_cast<std::size_t>(kind)];
}

bool is_store(AccessKind kind) { return kind == AccessKind::write || kind == AccessKind::strong_write; }

// As a number, of up to eight bytes; of more the words, the first one first.
std::string value_of(const std::byte* bytes, std::uint32_t count) {
    std::string text;
    const std::uint32_t shown = std::min<std::uint32_t>(count, 16);
    for (std::uint32_t done = 0; done < shown;) {
        const std::uint32_t part = count <= 8 ? count : std::min<std::uint32_t>(4, count - done);
        std::uint64_t value = 0;
        for (std::uint32_t i = 0; i < part; ++i)
            value |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[done + i])} << 8 * i;
        text += fmt::format("{}{:#0{}x}", done == 0 ? "" : " ", value, 2 + 2 * part);
        done += part;
    }
    return shown < count ? text + " …" : text;
}

}  // namespace

std::string RaceChecks::describe_instruction(std::uint32_t pc) const {
    const Span span = warp_.program().spans[pc];
    std::string text(warp_.launch().text.substr(
        span.begin, std::min<std::size_t>(span.end - span.begin, longest_instruction)));
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return fmt::format("`{}{}` on line {}{}", text, span.end - span.begin > longest_instruction ? " …" : "",
                       warp_.checks().line_of(pc),
                       warp_.launch().provenance.source_of(span.begin, ", from "));
}

std::string RaceChecks::thread_of(unsigned warp, unsigned lane) const {
    const std::uint32_t warps = warp_.cta().warps();
    const Warp& of = warp_.cta().cluster().cta(warp / warps).warp(warp % warps);
    return fmt::format("warp {}, {}", of.index(), of.place(lane));
}

// `tile + 64`, or the allocation that the address is in.
std::string RaceChecks::describe_place(const Located& at, std::uint64_t address) const {
    if (!at.is_shared) {
        const Region* const region = warp_.launch().memory->find(address);
        if (region == nullptr) return {};
        for (const auto& [variable, extent] : warp_.program().variables)
            if (address - extent.address < extent.bytes)
                return fmt::format(" ({} + {})", variable, address - extent.address);
        return fmt::format(" (byte {} of the {} bytes at {:#x})", address - region->begin, region->bytes,
                           region->begin);
    }
    const std::uint64_t offset = offset_in_cta(address);
    const auto rank = static_cast<std::uint32_t>((address >> cluster_rank_shift) - 1);
    const std::string whose =
        rank == warp_.cta().rank() ? "" : fmt::format(", of the block of rank {} in the cluster", rank);
    const auto entry = static_cast<std::uint32_t>(warp_.launch().entry - warp_.program().functions.data());
    for (const SharedVariable& variable : warp_.program().shared_variables)
        if ((variable.entry == SharedVariable::all || variable.entry == entry) &&
            offset - variable.address < variable.bytes)
            return fmt::format(
                " ({}{} + {}{})",
                warp_.launch().text.substr(variable.name.begin, variable.name.end - variable.name.begin),
                variable.element == SharedVariable::no_element ? "" : std::to_string(variable.element),
                offset - variable.address, whose);
    if (offset >= warp_.launch().dynamic_shared && offset < warp_.launch().reserved_shared)
        return fmt::format(" (dynamic shared memory + {}{})", offset - warp_.launch().dynamic_shared, whose);
    return whose.empty() ? whose : fmt::format(" ({})", whose.substr(2));
}

// The earlier access, which the thread on `lane` is not ordered with.
std::string RaceChecks::describe_other(const Race& race, unsigned lane) const {
    const Checker& checker = *warp_.cta().checker();
    const Agents& agents = checker.agents;
    const Epoch& who = race.other;
    const std::string what = fmt::format("{}, {}", describe_instruction(race.pc), word_for(race.other_kind));
    if (who.agent < agents.warps()) return fmt::format("{} by {}", what, thread_of(who.agent, who.lane));
    if (agents.is_initialiser(who.agent)) {
        const Epoch by = checker.initialiser(who);
        return fmt::format("{} by {}", what, thread_of(by.agent, by.lane));
    }
    if (agents.is_warpgroup(who.agent))
        return what + " by a wgmma.mma_async, which is not known to be complete here";
    if (!agents.is_copier(who.agent))
        return what + " by the asynchronous copy, for which this thread has not waited";
    const unsigned warp = who.agent - agents.copiers();
    if (warp == warp_.number() && who.lane == lane)
        return what + " by a cp.async of this thread, which has not waited for it";
    return fmt::format("{} by a cp.async of {}, which is not known to be complete here", what,
                       thread_of(warp, who.lane));
}

bool RaceChecks::report_unfenced(const Race& write, FencedSpace space, unsigned lane, std::string_view what) {
    WarpChecks& checks = warp_.checks();
    const std::string_view memory = space == FencedSpace::shared ? "shared" : "global";
    return checks.report({EmulatorCheck::async, Errc::data_race, warp_.pc(), write.pc}, 1u << lane, [&] {
        return fmt::format(
            "{} memory was written on line {}, and no fence.proxy.async for {} memory comes between that and "
            "this {}",
            memory, checks.line_of(write.pc), memory, what);
    });
}

// But for mbarriers: what tells one that a copy is complete, the thread that waits there knows.
std::optional<Race> RaceChecks::access_behind_end() const {
    Cta& cta = warp_.cta();
    Checker& checker = *cta.checker();
    Clock known = checker.done;
    known.grow(checker.order.size());
    const unsigned first = warp_.number() - warp_.index();
    for (unsigned warp = first; warp < first + cta.warps(); ++warp)
        checker.order.release(warp, ~0u, true, known);
    std::uint64_t begin = shared_place(cta.rank());
    const std::uint64_t end = begin + cta.shared().size();
    std::vector<std::uint64_t> ends = checker.mbarriers_in(begin, end);
    ends.push_back(end);
    for (const std::uint64_t until : ends) {
        if (const auto race =
                checker.shared_races.unknown_access(begin, until, known, checker.agents.warps(), cta.rank()))
            return race;
        begin = until + sizeof(std::uint64_t);
    }
    return std::nullopt;
}

bool RaceChecks::check_end_of_cta() {
    Cta& cta = warp_.cta();
    WarpChecks& checks = warp_.checks();
    if (!is_on_ || !checks.has(EmulatorCheck::races) || cta.cluster().size() == 1 || !cta.has_ended())
        return true;
    const auto race = access_behind_end();
    if (!race) return true;
    const Mistake mistake{EmulatorCheck::races, Errc::data_race, race->pc};
    const std::uint32_t lanes = 1u << race->other.lane;
    if (checks.is_noted(mistake, lanes)) return true;
    const std::string_view what = word_for(race->other_kind);
    return checks.report_new(
        mistake, lanes,
        fmt::format("this {} of shared memory at {:#x} of the block of rank {} in the cluster is not ordered "
                    "before the end of that block, by {}",
                    what.substr(what.find(' ') + 1), offset_in_cta(race->address), cta.rank(),
                    thread_of(race->other.agent, race->other.lane)));
}

const std::byte* RaceChecks::stored_by_other(const Race& race, const RacingAccess& access) const {
    const unsigned lane = race.other.lane;
    const Located& at = access.at;
    const std::uint64_t offset = race.address - at.begin;
    // What works for the lanes asynchronously may have stored before: that is in memory.
    const bool is_by_agent = access.by ? race.other.agent == access.by->agent &&
                                             race.other.time == access.by->time && lane != race.lane
                                       : race.other.agent == warp_.number();
    const bool is_of_instruction =
        access.values != nullptr && is_by_agent && race.pc == warp_.pc() && (access.mask >> lane & 1) != 0;
    if (is_of_instruction && offset - at.offsets[lane] < access.bytes &&
        access.bytes - (offset - at.offsets[lane]) >= race.bytes)
        return access.values->of(lane) + (offset - at.offsets[lane]);
    return at.host == nullptr ? nullptr : at.host + offset;
}

// A loop around atom.cas begins with a weak read, and finds out when that was of something old.
bool RaceChecks::is_guess(const Race& race, AccessKind kind) const {
    const auto is_cas = [&](std::uint32_t pc) {
        return is_compare_and_swap(warp_.program().code[pc].execute);
    };
    if (kind == AccessKind::read && race.other_kind == AccessKind::atomic) return is_cas(race.pc);
    return kind == AccessKind::atomic && race.other_kind == AccessKind::read && is_cas(warp_.pc());
}

// A race with what runs asynchronously is that check's, whichever of the two accesses comes second.
bool RaceChecks::report_races(EmulatorCheck of, std::span<const Race> races, const RacingAccess& access) {
    WarpChecks& checks = warp_.checks();
    const Agents& agents = warp_.cta().checker()->agents;
    for (const Race& race : races) {
        const bool is_async = race.other.agent >= agents.warps() && !agents.is_initialiser(race.other.agent);
        const EmulatorCheck check = race.stores_are_equal ? EmulatorCheck::equal_stores
                                    : is_async            ? EmulatorCheck::async
                                                          : of;
        const Mistake mistake{check, Errc::data_race, warp_.pc(), race.pc};
        const unsigned by = access.lane.value_or(race.lane);
        if (!checks.has(check) || is_guess(race, access.kind) || checks.is_noted(mistake, 1u << by)) continue;
        if (!checks.report_new(mistake, 1u << by, describe_race(race, by, access))) return false;
    }
    return true;
}

std::string RaceChecks::describe_race(const Race& race, unsigned lane, const RacingAccess& access) const {
    const Located& at = access.at;
    const std::uint64_t offset = at.is_shared ? offset_in_cta(race.address) : race.address;
    std::string first, then, differ, values_of_other;
    if (const std::byte* const other = stored_by_other(race, access);
        other != nullptr && is_store(race.other_kind)) {
        values_of_other = value_of(other, race.bytes);
        first = fmt::format(", which stored {}", values_of_other);
    }
    if (is_store(access.kind) && access.values != nullptr) {
        const std::string own =
            value_of(access.values->of(lane) + (race.address - at.begin - at.offsets[lane]), race.bytes);
        then = fmt::format(", which stores {}", own);
        if (!first.empty())
            differ = own == values_of_other ? ", though what they store is the same"
                                            : ", and what they store differs";
    }
    const std::string other = describe_other(race, lane) + first;
    const std::string own =
        fmt::format("{}, {} of {} bytes by {}{}", describe_instruction(warp_.pc()), word_for(access.kind),
                    access.bytes, thread_of(warp_.number(), lane), then);
    return fmt::format("two accesses of {} memory at {:#x}{} are not ordered{}\n  first {}\n  then {}",
                       at.is_shared ? "shared" : "global", offset, describe_place(at, race.address), differ,
                       other, own);
}

}  // namespace ptxgraft::emulator
