#include "emulator/race_cells.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptxgraft::emulator {
namespace {

// Pages that one CTA has at a time, up to 64 MB of cells: what came before the last of them is forgotten, and no race with it found.
constexpr unsigned lane_count = 32;
constexpr std::size_t most_pages = 256;

// The lanes of `mask` from the first on that access what it does. Where all lanes access, warps are tiled: half of the offsets, or
// three quarters, may be those of the lanes before.
std::uint32_t lanes_together(const std::uint32_t* offsets, std::uint32_t mask, unsigned period) {
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    unsigned end = first + 1;
    while (end < period && (mask >> end & 1) != 0 && offsets[end] == offsets[first]) ++end;
    std::uint32_t lanes = static_cast<std::uint32_t>(((std::uint64_t{1} << end) - 1) & ~((std::uint64_t{1} << first) - 1));
    if (period == 8) lanes |= lanes << 8;
    if (period <= 16) lanes |= lanes << 16;
    return lanes;
}

unsigned period_of(const std::uint32_t* offsets, std::uint32_t mask) {
    if (mask != ~0u || std::memcmp(offsets, offsets + 16, 16 * sizeof *offsets) != 0) return 32;
    return std::memcmp(offsets, offsets + 8, 8 * sizeof *offsets) == 0 ? 8 : 16;
}

}  // namespace

void RaceCells::begin() {
    readers_.assign(order_->size(), {});  // index 0 means none
    if (++generation_ == 0) {
        pages_.clear();
        generation_ = 1;
    }
    recent_.fill({});
}

inline RaceCells::Page& RaceCells::page(std::uint64_t number) {
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number) recent = {number, &find_page(number)};
    return *recent.page;
}

RaceCells::Page& RaceCells::find_page(std::uint64_t number) {
    if (pages_.size() >= most_pages && !pages_.contains(number)) {
        pages_.clear();
        recent_.fill({});
        readers_.assign(order_->size(), {});
    }
    Page& found = pages_[number];
    if (found.cells.empty()) found.cells.resize(page_bytes >> found.shift);
    if (found.generation != generation_) found.shifts.fill(block_shift);
    found.generation = generation_;
    return found;
}

// Each has readers of its own from then on.
void RaceCells::copy(Cell& to, const Cell& from) {
    if (from.generation != generation_) {  // of an earlier CTA
        to.generation = from.generation;
        return;
    }
    to = from;
    if (to.readers == 0) return;
    to.readers = static_cast<std::uint32_t>(readers_.size());
    readers_.resize(readers_.size() + order_->size());
    std::copy_n(readers_.begin() + from.readers, order_->size(), readers_.begin() + to.readers);
}

void RaceCells::refine(Page& page, unsigned shift) {
    std::vector<Cell> cells(page_bytes >> shift);
    const unsigned apart = page.shift - shift;
    for (std::size_t i = 0; i < page.cells.size(); ++i) cells[i << apart] = page.cells[i];
    page.cells = std::move(cells);
    page.shift = static_cast<std::uint8_t>(shift);
}

void RaceCells::split(Page& page, std::uint64_t address, std::uint32_t bytes) {
    const auto shift = static_cast<unsigned>(std::countr_zero(bytes));
    if (shift < page.shift) refine(page, shift);
    std::uint8_t& unit = page.unit(address);
    const std::uint64_t block = address >> block_shift << block_shift;
    for (std::uint64_t whole = block; whole < block + 16; whole += std::uint64_t{1} << unit)
        for (std::uint64_t part = bytes; part < std::uint64_t{1} << unit; part += bytes) copy(page.at(whole + part), page.at(whole));
    unit = static_cast<std::uint8_t>(shift);
}

// The reader that the cell has becomes the first of several; the table of them, by warp.
inline RaceCells::Reader* RaceCells::begin_many(Cell& cell) {
    const std::size_t warps = order_->size();
    if (cell.readers == 0) {
        cell.readers = static_cast<std::uint32_t>(readers_.size());
        readers_.resize(readers_.size() + warps);
    } else {
        std::fill_n(readers_.begin() + cell.readers, warps, Reader{});
    }
    Reader* const readers = &readers_[cell.readers];
    readers[cell.read_warp] = {cell.read_time, cell.read_lanes, cell.read_pc};
    cell.has_many = true;
    return readers;
}

inline bool RaceCells::knows_readers(const Clock& known, const Cell& cell) const {
    const Reader* const readers = &readers_[cell.readers];
    for (std::size_t warp = 0; warp < order_->size(); ++warp)
        if (readers[warp].time > known[warp].all) return false;
    return true;
}

inline bool RaceCells::reads_in_order(Cell& cell, const Observer& by, std::uint32_t lanes) {
    const Clock& known = *by.known;
    const auto begin = [&] {
        cell.read_warp = static_cast<std::uint16_t>(by.warp);
        cell.read_time = by.now, cell.read_lanes = lanes, cell.read_pc = by.pc;
        return true;
    };
    if (cell.generation != generation_) {
        cell = Cell(generation_);
        return begin();
    }
    if (cell.strong.time != 0 || cell.weak.time > known[cell.weak.warp].all) return false;
    if (cell.has_many) {
        Reader& reader = readers_[cell.readers + by.warp];
        if (reader.time == by.now) reader.lanes |= lanes;
        else if (reader.time <= known[by.warp].all || reader.lanes == lanes) reader = {by.now, lanes, by.pc};
        else return false;
        return true;
    }
    if (cell.read_time <= known[cell.read_warp].all) return begin();
    if (cell.read_warp != by.warp) {
        begin_many(cell)[by.warp] = {by.now, lanes, by.pc};
        return true;
    }
    if (cell.read_lanes == lanes) return begin();
    if (cell.read_time != by.now) return false;
    cell.read_lanes |= lanes;
    return true;
}

inline bool RaceCells::writes_in_order(Cell& cell, const Observer& by, unsigned lane) {
    const Clock& known = *by.known;
    if (cell.generation != generation_) {
        cell = Cell(generation_);
    } else {
        const bool is_own = cell.weak.warp == by.warp && cell.weak.lane == lane;
        const bool is_own_read = cell.read_warp == by.warp && cell.read_lanes == 1u << lane;
        if (cell.strong.time != 0 || (cell.weak.time > known[cell.weak.warp].all && !is_own)) return false;
        if (cell.has_many ? !knows_readers(known, cell) : cell.read_time > known[cell.read_warp].all && !is_own_read) return false;
    }
    cell.weak = {by.now, by.pc, static_cast<std::uint16_t>(by.warp), static_cast<std::uint8_t>(lane)};
    cell.is_atomic = cell.has_many = false;
    cell.read_time = 0;
    return true;
}

// Accesses are aligned: they lie in one page.
inline std::optional<Race> RaceCells::note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Observer& by,
                                            std::uint32_t lanes) {
    Page& in = page(address / page_bytes);
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    std::uint64_t at = address;
    for (const std::uint64_t end = address + bytes; at < end; at += std::uint64_t{1} << in.unit(at)) {
        if (bytes < 1u << in.unit(at)) split(in, at, bytes);
        Cell& cell = in.at(at);
        if (kind == AccessKind::read ? reads_in_order(cell, by, lanes) : kind == AccessKind::write && writes_in_order(cell, by, lane)) continue;
        if (const auto race = note_slowly(cell, kind, by, lanes)) return race;
    }
    if (bytes == 16 && kind == AccessKind::write) in.unit(address) = block_shift;  // nothing smaller was accessed since
    return std::nullopt;
}

std::optional<Race> RaceCells::note(const LaneAccesses& accesses, std::uint32_t& mask) {
    return note(accesses, mask, order_->now(accesses.warp));
}

void RaceCells::keep(const LaneAccesses& accesses, std::uint32_t mask, WarpTime time) {
    while (note(accesses, mask, time)) {
    }
}

std::optional<Race> RaceCells::note(const LaneAccesses& accesses, std::uint32_t& mask, WarpTime time) {
    const Observer by{&order_->common(accesses.warp), time, accesses.warp, accesses.pc};
    const bool is_read = accesses.kind == AccessKind::read;
    const unsigned period = is_read ? period_of(accesses.offsets, mask) : lane_count;
    while (mask != 0) {
        const std::uint32_t lanes = is_read ? lanes_together(accesses.offsets, mask, period) : mask & (0 - mask);
        mask &= ~lanes;
        const std::uint64_t address = accesses.begin + accesses.offsets[std::countr_zero(lanes)];
        if (auto race = note(address, accesses.bytes, accesses.kind, by, lanes)) return race;
    }
    return std::nullopt;
}

std::optional<Race> RaceCells::unknown_write(std::uint64_t address, std::uint64_t bytes, const Clock& known, unsigned except) {
    for (std::uint64_t at = address; at < address + bytes;) {
        Page& in = page(at / page_bytes);
        const unsigned unit = in.unit(at);
        const Cell& cell = in.at(at >> unit << unit);
        for (const Write& write : {cell.weak, cell.strong}) {
            if (cell.generation != generation_ || write.time == 0 || write.warp == except) continue;
            if (!known[write.warp].has(write.lane, write.time)) return Race{{write.warp, write.lane, write.time}, write.pc, true};
        }
        at = ((at >> unit) + 1) << unit;
    }
    return std::nullopt;
}

std::optional<Race> RaceCells::note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Accessor& by, std::uint32_t pc) {
    const Observer observer{&order_->common(by.warp), by.stamp.time, by.warp, pc, &by.stamp};
    Page& in = page(address / page_bytes);
    const std::uint64_t end = address + bytes;
    for (std::uint64_t at = address; at < end; at += std::uint64_t{1} << in.unit(at)) {
        if (bytes < 1u << in.unit(at)) split(in, at, bytes);
        Cell& cell = in.at(at);
        if (kind == AccessKind::read && by.stamp.warp == by.warp && reads_in_order(cell, observer, 1u << by.stamp.lane)) continue;
        if (auto race = note_lane(cell, kind, observer, by.lane)) return race;
    }
    if (bytes == 16 && kind == AccessKind::write) in.unit(address) = block_shift;
    return std::nullopt;
}

std::optional<Race> RaceCells::note_slowly(Cell& cell, AccessKind kind, const Observer& by, std::uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
        auto race = note_lane(cell, kind, by, lane);
        if (!race) continue;
        race->lane = lane;
        return race;
    }
    return std::nullopt;
}

std::optional<Race> RaceCells::note_lane(Cell& cell, AccessKind kind, const Observer& by, unsigned lane) {
    const unsigned warp = by.warp;
    if (cell.generation != generation_) {
        cell = Cell(generation_);
    }
    const bool is_strong = kind >= AccessKind::strong_read, writes = kind != AccessKind::read && kind != AccessKind::strong_read;
    if (const auto race = unknown_write(cell.weak, warp, lane)) return race;
    const bool is_fine = is_strong || (cell.is_atomic && kind == AccessKind::read);
    if (!is_fine) {
        if (const auto race = unknown_write(cell.strong, warp, lane)) return race;
    }
    if (!writes) {
        if (!is_strong) note_read(cell, by, lane);
        return std::nullopt;
    }
    if (cell.read_time != 0 && kind != AccessKind::atomic) {
        if (const auto race = unknown_reader(cell, warp, lane)) return race;
    }
    const Stamp own = by.stamp_of(lane);
    const Write write{own.time, by.pc, own.warp, own.lane};
    cell.is_atomic = kind == AccessKind::atomic;
    if (is_strong) {  // weak accesses before it are still to be known
        cell.strong = write;
        return std::nullopt;
    }
    cell.weak = write;
    cell.strong = {};
    cell.read_time = 0;
    cell.has_many = false;
    return std::nullopt;
}

std::optional<Race> RaceCells::unknown_write(const Write& write, unsigned warp, unsigned lane) const {
    const Stamp stamp{write.warp, write.lane, write.time};
    if (write.time == 0 || order_->knows(warp, lane, stamp)) return std::nullopt;
    return Race{stamp, write.pc, true};
}

// Reads of one warp stand in the cell; those of several in the table. Of two reads of one warp at different times the
// earlier time counts for both, unless the later one knows of the earlier.
void RaceCells::note_read(Cell& cell, const Observer& by, unsigned lane) {
    const Stamp own = by.stamp_of(lane);
    const std::uint16_t warp = own.warp;
    const WarpTime now = own.time;
    const std::uint32_t bit = 1u << own.lane, pc = by.pc;
    const auto merge = [&](WarpTime& time, std::uint32_t& lanes, std::uint32_t& at) {
        const Stamp before = stamp(warp, static_cast<unsigned>(std::countr_zero(lanes | 1u << 31)), time);
        const bool is_later = time != 0 && time < now && (lanes & ~bit) == 0;
        if (time == 0 || is_later || (time < now && order_->knows(by.warp, lane, before))) {
            time = now, lanes = bit, at = pc;
        } else {
            time = std::min(time, now);  // what works asynchronously has times of its own
            lanes |= bit;
        }
    };
    if (cell.has_many) {
        Reader& reader = readers_[cell.readers + warp];
        return merge(reader.time, reader.lanes, reader.pc);
    }
    if (cell.read_time == 0 || cell.read_warp == warp) {
        cell.read_warp = warp;
        return merge(cell.read_time, cell.read_lanes, cell.read_pc);
    }
    const Reader first{cell.read_time, cell.read_lanes, cell.read_pc};
    Race race;
    if (knows_all(by.warp, lane, cell.read_warp, first, race)) {  // whoever knows this read knows the earlier ones
        cell.read_warp = warp;
        cell.read_time = now, cell.read_lanes = bit, cell.read_pc = pc;
        return;
    }
    begin_many(cell)[warp] = {now, bit, pc};
}

bool RaceCells::knows_all(unsigned warp, unsigned lane, std::uint16_t other, const Reader& reader, Race& race) const {
    if (reader.time <= order_->common(warp)[other].all) return true;
    for (std::uint32_t lanes = reader.lanes; lanes != 0; lanes &= lanes - 1) {
        const Stamp stamp{other, static_cast<std::uint8_t>(std::countr_zero(lanes)), reader.time};
        if (order_->knows_read(warp, lane, stamp)) continue;
        race = {stamp, reader.pc, false};
        return false;
    }
    return true;
}

std::optional<Race> RaceCells::unknown_reader(const Cell& cell, unsigned warp, unsigned lane) const {
    Race race;
    if (!cell.has_many) {
        if (knows_all(warp, lane, cell.read_warp, {cell.read_time, cell.read_lanes, cell.read_pc}, race)) return std::nullopt;
        return race;
    }
    for (std::size_t other = 0; other < order_->size(); ++other) {
        const Reader& reader = readers_[cell.readers + other];
        if (reader.time != 0 && !knows_all(warp, lane, static_cast<std::uint16_t>(other), reader, race)) return race;
    }
    return std::nullopt;
}

}  // namespace ptxgraft::emulator
