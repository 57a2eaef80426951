// What an access of memory is checked for, and how a mistake is reported: once for each pair of instructions,
// unless its line is excused.
#include "emulator/checks/warp_checks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

// The elements of st, which are in columns.
class StoredElements : public StoredValues {
  public:
    StoredElements(Warp& warp, const Ref* refs, std::size_t bytes, std::size_t count)
        : warp_(&warp), refs_(refs), bytes_(bytes), count_(count) {}
    [[nodiscard]] const std::byte* of(unsigned lane) const override {
        for (std::size_t i = 0; i < count_; ++i)
            std::memcpy(&values_[i * bytes_], warp_->column(refs_[i]) + lane * bytes_, bytes_);
        return values_.data();
    }

  private:
    Warp* warp_;
    const Ref* refs_;
    std::size_t bytes_, count_;
    mutable std::array<std::byte, 64> values_;
};

}  // namespace

WarpChecks::WarpChecks(Warp& warp)
    : warp_(warp),
      definedness_(warp),
      memory_(warp),
      matrices_(warp),
      races_(warp),
      async_(warp),
      warpgroup_(warp) {}

void WarpChecks::begin() {
    definedness_.begin();
    races_.begin();
    async_.begin();
    warpgroup_.begin();
}

bool WarpChecks::has(EmulatorCheck check) const { return warp_.launch().checks.has(check); }

void WarpChecks::begin_frame(Frame& frame) const {
    definedness_.begin_frame(frame);
    if (has(EmulatorCheck::async)) WarpgroupChecks::begin_frame(frame);
}

// --- accesses of memory

bool WarpChecks::check_store(const Access& access, const Ref* refs, std::uint32_t mask, const Located& at) {
    const AccessKind kind = access.is_strong() ? AccessKind::strong_write : AccessKind::write;
    const StoredElements values(warp_, refs, access.bytes, access.count);
    if (!races_.note_accesses(mask, at, std::uint32_t{access.bytes} * access.count,
                              {kind, access.reach, &values}) ||
        !memory_.note_stored(access, refs, mask, at))
        return false;
    if (access.is_strong()) races_.synchronise_writes(access, mask, at, RaceChecks::Updates::no);
    return true;
}

bool WarpChecks::check_atomic(const Access& access, std::uint32_t mask, const Located& at) {
    const std::uint32_t bytes = std::uint32_t{access.bytes} * access.count;
    if (!memory_.require_lanes(at, mask, bytes)) return false;
    if (!races_.note_accesses(mask, at, bytes, {AccessKind::atomic, access.reach})) return false;
    if (!access.is_reduction) races_.synchronise_reads(access, mask, at);
    races_.synchronise_writes(access, mask, at, RaceChecks::Updates::yes);
    return true;
}

bool WarpChecks::check_range(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                             Use use) {
    if (bytes == 0 || !looks_at_memory()) return true;
    Located at;
    warp_.memory().describe(space, address, lane, at);
    if (!memory_.note_written(at, address, lane, bytes, use)) return false;
    const std::uint32_t unit = address % 4 == 0 && bytes % 4 == 0 ? 4 : 1;
    for (std::uint64_t done = 0; done < bytes; done += unit, at.begin += unit)
        if (!races_.note_accesses(1u << lane, at, unit,
                                  {use == Use::read ? AccessKind::read : AccessKind::write}))
            return false;
    return true;
}

std::string WarpChecks::name_of(Ref ref) const {
    const Operation& operation = warp_.program().code[warp_.pc()];
    for (std::uint32_t i = operation.operands; i < operation.operands + operation.outputs + operation.inputs;
         ++i) {
        if (warp_.program().refs[i] != ref) continue;
        ref = warp_.program().declared_operand(*warp_.frame().function, i);
        break;
    }
    for (const RegisterName& register_ : warp_.frame().function->names)
        if (offset(register_.ref) == offset(ref)) return std::string(register_.name(warp_.launch().text));
    return "a part of a register";
}

std::size_t WarpChecks::line_of(std::uint32_t pc) const {
    const std::string_view before = warp_.launch().text.substr(0, warp_.program().spans[pc].begin);
    return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

// --- reports

bool WarpChecks::is_noted(const Mistake& mistake, std::uint32_t lanes) {
    ClusterFindings& findings = warp_.cta().checker()->findings;
    if (findings.again(mistake, warp_.number(), lanes)) return true;
    if (const auto excuse = warp_.launch().excuses.find(mistake)) {
        findings.add({.mistake = mistake, .excuse = excuse}, warp_.number(), lanes);
        return true;
    }
    if (!warp_.launch().keeps_going) return false;
    if (findings.is_full()) return true;
    if (!warp_.launch().findings.is_described(mistake, warp_.cta().cluster().index())) return false;
    findings.add({.mistake = mistake}, warp_.number(), lanes);
    return true;
}

bool WarpChecks::report_new(const Mistake& mistake, std::uint32_t lanes, std::string detail) {
    Error error{mistake.code, warp_.program().spans[mistake.pc], 0,
                std::make_shared<const std::string>(std::move(detail))};
    if (!warp_.launch().keeps_going) return warp_.fail(std::move(error));
    warp_.cta().checker()->findings.add(
        {.mistake = mistake, .error = std::move(error), .calls = warp_.calls()}, warp_.number(), lanes);
    return true;
}

bool WarpChecks::report_in(const Mistake& mistake, std::uint32_t lanes, std::string detail) {
    return report_new(mistake, lanes, detail + ", " + warp_.place(first_lane(lanes)));
}

}  // namespace ptxgraft::emulator
