#include "emulator/race.hpp"

#include <algorithm>
#include <bit>

namespace ptxgraft::emulator {
namespace {

constexpr unsigned lane_count = 32;
// Of one CTA: what came before the last of them is forgotten, and no race with it found.
constexpr std::size_t most_pages = 1u << 12;
// Lines that are taken to be read because they lie between others.
constexpr std::uint64_t most_between = 16;

bool is_write(AccessKind kind) { return kind != AccessKind::read && kind != AccessKind::strong_read; }

// Whether no two lanes of a mask access one place; true only when it is soon seen.
bool are_apart(const LaneAccesses& accesses, std::uint32_t mask) {
    if (accesses.consecutive || std::has_single_bit(mask)) return true;
    if (!accesses.is_whole) return false;
    const std::uint32_t* const offsets = accesses.offsets;
    bool is_rising = true;
    for (unsigned i = 1; i < lane_count; ++i) is_rising &= offsets[i] > offsets[i - 1];
    if (is_rising) return true;
    const auto shift = static_cast<unsigned>(std::countr_zero(accesses.bytes));
    std::array<std::uint64_t, 64> places = {};
    if ((accesses.most - accesses.least) >> shift >= places.size() * 64) return false;
    bool apart = true;
    for (unsigned i = 0; i < lane_count; ++i) {
        const std::uint32_t place = (offsets[i] - accesses.least) >> shift;
        const std::uint64_t bit = std::uint64_t{1} << place % 64;
        apart &= (places[place / 64] & bit) == 0;
        places[place / 64] |= bit;
    }
    return apart;
}

}  // namespace

void RaceShadow::begin(bool keeps_writes) {
    cells_.begin();
    keeps_writes_ = keeps_writes;
    if (++generation_ == 0) {
        pages_.clear();
        generation_ = 1;
    }
    recent_.fill({});
    row_count_ = 0;
    ++log_;
}

inline RaceShadow::Page& RaceShadow::page(std::uint64_t number) {
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number) recent = {number, &find_page(number)};
    return *recent.page;
}

RaceShadow::Page& RaceShadow::find_page(std::uint64_t number) {
    Page& found = pages_[number];
    if (found.lines.empty()) {
        found.lines.resize(std::size_t{1} << (page_shift - line_shift_));
        found.latest.resize(found.lines.size() * order_->size());
    }
    return found;
}

// Before an access, which keeps hold of what it touches.
void RaceShadow::limit_pages() {
    if (pages_.size() < most_pages) return;
    settle();
    pages_.clear();
    recent_.fill({});
}

inline RaceShadow::Touched RaceShadow::line(std::uint64_t number) {
    const unsigned shift = page_shift - line_shift_;
    Page& in = page(number >> shift);
    const std::size_t index = number & ((std::uint64_t{1} << shift) - 1);
    const Touched found{&in.lines[index], &in.latest[index * order_->size()], ~std::uint64_t{0}};
    if (found.line->generation != generation_) {
        *found.line = {.generation = generation_, .writes = 1, .logged = 0, .writer = 0, .words = 0};
        std::fill_n(found.latest, order_->size(), Latest{});
    }
    return found;
}

inline RaceShadow::Lines RaceShadow::lines_of(const LaneAccesses& accesses, std::uint32_t mask) {
    Lines found;
    const std::uint64_t begin = accesses.begin;
    const std::uint64_t first = (begin + accesses.least) >> line_shift_, last = (begin + accesses.most + accesses.bytes - 1) >> line_shift_;
    if (accesses.is_whole && last - first < most_between && (accesses.consecutive || accesses.kind == AccessKind::read)) {
        for (std::uint64_t number = first; number <= last; ++number) found.lines[found.count++] = line(number);
        return found;
    }
    // Often two lines take turns.
    const std::uint64_t words = accesses.bytes >= 4 ? (std::uint64_t{1} << accesses.bytes / 4) - 1 : 1;
    std::uint64_t number = ~std::uint64_t{0}, other_number = number;
    unsigned at = 0, other_at = 0;
    for (; mask != 0; mask &= mask - 1) {
        const std::uint64_t address = begin + accesses.offsets[std::countr_zero(mask)];
        if (address >> line_shift_ != number) {
            std::swap(number, other_number);
            std::swap(at, other_at);
        }
        if (address >> line_shift_ != number) {
            number = address >> line_shift_;
            at = found.count++;
            found.lines[at] = line(number);
            found.lines[at].words = 0;
        }
        found.lines[at].words |= words << ((address & ((std::uint64_t{1} << line_shift_) - 1)) >> 2);
    }
    return found;
}

inline bool RaceShadow::is_in_order(const Touched& touched, AccessKind kind, unsigned warp) const {
    Latest* const latest = touched.latest;
    const Clock& known = order_->common(warp);
    const std::size_t count = order_->size();
    bool is_known = true;
    if (kind == AccessKind::read) {
        if (latest[warp].seen == touched.line->writes) return true;
        for (std::size_t other = 0; other < count; ++other) is_known &= latest[other].write <= known[other].all;
        if (is_known) latest[warp].seen = touched.line->writes;
        return is_known;
    }
    for (std::size_t other = 0; other < count; ++other) is_known &= std::max(latest[other].read, latest[other].write) <= known[other].all;
    return is_known;
}

bool RaceShadow::is_beside(const Touched& touched, unsigned warp) const {
    const Clock& known = order_->common(warp);
    if (touched.line->writer != warp || (touched.line->words & touched.words) != 0 || touched.latest[warp].read > known[warp].all) return false;
    for (std::size_t other = 0; other < order_->size(); ++other)
        if (other != warp && std::max(touched.latest[other].read, touched.latest[other].write) > known[other].all) return false;
    return true;
}

inline void RaceShadow::touch(const Touched& touched, AccessKind kind, unsigned warp) {
    if (!is_write(kind)) {
        touched.latest[warp].read = order_->now(warp);
        return;
    }
    Line& line = *touched.line;
    const bool is_more = touched.latest[warp].write > order_->common(warp)[warp].all;  // than before, which not all lanes know
    line.words = !is_more ? touched.words : line.writer == warp ? line.words | touched.words : ~std::uint64_t{0};
    line.writer = warp;
    touched.latest[warp].write = order_->now(warp);
    ++line.writes;
}

inline void RaceShadow::log(const LaneAccesses& accesses, std::uint32_t mask) {
    if (rows_.empty()) rows_.resize(rows_per_warp * order_->size());
    if (row_count_ == rows_.size()) {
        drop_known();
        if (row_count_ > rows_.size() / 2) settle();
    }
    Row& row = rows_[row_count_++];
    row.accesses = accesses;
    row.mask = mask;
    row.time = order_->now(accesses.warp);
    std::copy_n(accesses.offsets, lane_count, row.offsets.begin());
}

void RaceShadow::keep(Row& row) {
    row.accesses.offsets = row.offsets.data();
    cells_.keep(row.accesses, row.mask, row.time);
}

// What everybody knows of leaves the log: a write that is asked for later goes to the cells, before what nobody has accessed out of
// order with it.
void RaceShadow::drop_known() {
    std::vector<WarpTime> known(order_->size());
    for (unsigned warp = 0; warp < known.size(); ++warp) known[warp] = order_->known_to_all(warp, observers_);
    std::size_t left = 0;
    for (std::size_t i = 0; i < row_count_; ++i) {
        Row& row = rows_[i];
        if (row.time > known[row.accesses.warp]) {
            if (left != i) rows_[left] = row;
            ++left;
        } else if (keeps_writes_ && row.accesses.kind == AccessKind::write) {
            keep(row);
        }
    }
    row_count_ = left;
}

// Everything on the log goes to the cells, in order.
void RaceShadow::settle() {
    if (row_count_ > order_->size()) drop_known();
    for (std::size_t i = 0; i < row_count_; ++i) keep(rows_[i]);
    row_count_ = 0;
    ++log_;
}

std::optional<Race> RaceShadow::note(const LaneAccesses& accesses, std::uint32_t& mask) {
    limit_pages();
    const Lines in = lines_of(accesses, mask);
    const auto every = [&](auto&& holds) { return std::all_of(in.lines.begin(), in.lines.begin() + in.count, holds); };
    const auto is_ordered = [&](const Touched& at) {
        return is_in_order(at, accesses.kind, accesses.warp) || (accesses.kind == AccessKind::write && is_beside(at, accesses.warp));
    };
    const bool is_weak = accesses.kind == AccessKind::read || accesses.kind == AccessKind::write;
    const bool is_logged = is_weak && every(is_ordered) && (accesses.kind == AccessKind::read || are_apart(accesses, mask));
    if (is_logged) log(accesses, mask);
    else if (!every([&](const Touched& at) { return at.line->logged != log_; })) settle();
    for (unsigned i = 0; i < in.count; ++i) {
        touch(in.lines[i], accesses.kind, accesses.warp);
        if (is_logged) in.lines[i].line->logged = log_;
    }
    if (!is_logged) return cells_.note(accesses, mask);
    mask = 0;
    return std::nullopt;
}

std::optional<Race> RaceShadow::note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, unsigned warp, unsigned lane,
                                     std::uint32_t pc) {
    std::array<std::uint32_t, lane_count> offsets = {};
    std::uint32_t mask = 1u << lane;
    return note({.begin = address, .offsets = offsets.data(), .bytes = bytes, .kind = kind, .warp = warp, .pc = pc}, mask);
}

std::optional<Race> RaceShadow::note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Accessor& by, std::uint32_t pc) {
    limit_pages();
    const Touched touched = line(address >> line_shift_);
    if (touched.line->logged == log_) settle();
    Latest& latest = touched.latest[by.stamp.warp];
    WarpTime& time = is_write(kind) ? latest.write : latest.read;
    time = std::max(time, by.stamp.time);
    if (is_write(kind)) ++touched.line->writes;
    return cells_.note(address, bytes, kind, by, pc);
}

std::optional<RaceShadow::RaceAt> RaceShadow::note_reads(std::uint64_t begin, std::uint64_t end, const Accessor& by, std::uint32_t pc) {
    constexpr std::uint32_t row = 16;
    const std::uint64_t line_bytes = std::uint64_t{1} << line_shift_;
    while (begin < end) {
        const std::uint64_t next = std::min(end, (begin / line_bytes + 1) * line_bytes);
        if (note(begin, static_cast<std::uint32_t>(next - begin), AccessKind::read, by, pc))
            for (; begin < next; begin += row)  // once more: which one
                if (const auto race = note(begin, row, AccessKind::read, by, pc)) return RaceAt{*race, begin};
        begin = next;
    }
    return std::nullopt;
}

std::optional<Race> RaceShadow::unknown_write(std::uint64_t address, std::uint64_t bytes, const Clock& known, unsigned except) {
    settle();
    return cells_.unknown_write(address, bytes, known, except);
}

}  // namespace ptxgraft::emulator
