#include "emulator/race.hpp"

#include <algorithm>

namespace ptxgraft::emulator {
namespace {

// Pages that one CTA has at a time, up to 64 MB of cells: what came before the last of them is forgotten, and no race with it found.
constexpr std::size_t most_pages = 256;

}  // namespace

void RaceShadow::begin() {
    readers_.assign(order_->size(), {});  // index 0 means none
    if (++generation_ == 0) {
        pages_.clear();
        generation_ = 1;
    }
    last_ = nullptr;
    last_number_ = ~std::uint64_t{0};
}

RaceShadow::Page& RaceShadow::page(std::uint64_t number) {
    if (number == last_number_) return *last_;
    if (pages_.size() >= most_pages && !pages_.contains(number)) {
        pages_.clear();
        readers_.assign(order_->size(), {});
    }
    Page& found = pages_[number];
    if (found.cells.empty()) found.cells.resize(page_bytes >> found.shift);
    last_number_ = number;
    last_ = &found;
    return found;
}

void RaceShadow::split(Page& page) {
    std::vector<Cell> cells(page_bytes);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& whole = page.cells[i >> page.shift];
        if (whole.generation != generation_) continue;  // of an earlier CTA: its readers are gone
        cells[i] = whole;
        if (cells[i].readers == 0 || i % 4 == 0) continue;
        const std::uint32_t from = cells[i].readers;  // each byte has readers of its own from now on
        cells[i].readers = static_cast<std::uint32_t>(readers_.size());
        readers_.resize(readers_.size() + order_->size());
        std::copy_n(readers_.begin() + from, order_->size(), readers_.begin() + cells[i].readers);
    }
    page.cells = std::move(cells);
    page.shift = 0;
}

std::optional<Race> RaceShadow::note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Accessor& by, std::uint32_t pc) {
    Page& in = page(address / page_bytes);  // accesses are aligned: they lie in one page
    if (in.shift != 0 && ((address | bytes) & 3) != 0) split(in);
    Cell* const first = &in.at(address);
    for (Cell* cell = first; cell != first + (bytes >> in.shift); ++cell)
        if (const auto race = note(*cell, kind, by, pc)) return race;
    return std::nullopt;
}

std::optional<Race> RaceShadow::unknown_write(std::uint64_t address, std::uint64_t bytes, const Clock& known, unsigned except) {
    for (std::uint64_t at = address; at < address + bytes;) {
        Page& in = page(at / page_bytes);
        const Cell& cell = in.at(at);
        for (const Write& write : {cell.weak, cell.strong}) {
            if (cell.generation != generation_ || write.time == 0 || write.warp == except) continue;
            if (!known[write.warp].has(write.lane, write.time)) return Race{{write.warp, write.lane, write.time}, write.pc, true};
        }
        at = ((at >> in.shift) + 1) << in.shift;
    }
    return std::nullopt;
}

std::optional<Race> RaceShadow::note(Cell& cell, AccessKind kind, const Accessor& by, std::uint32_t pc) {
    if (cell.generation != generation_) {
        cell = {};
        cell.generation = generation_;
    }
    const bool is_strong = kind >= AccessKind::strong_read, writes = kind != AccessKind::read && kind != AccessKind::strong_read;
    if (const auto race = unknown_write(cell.weak, by.warp, by.lane)) return race;
    const bool is_fine = is_strong || (cell.is_atomic && kind == AccessKind::read);
    if (!is_fine) {
        if (const auto race = unknown_write(cell.strong, by.warp, by.lane)) return race;
    }
    if (!writes) {
        if (!is_strong) note_read(cell, by, pc);
        return std::nullopt;
    }
    if (cell.read_time != 0 && kind != AccessKind::atomic) {
        if (const auto race = unknown_reader(cell, by.warp, by.lane)) return race;
    }
    const Write write{by.stamp.time, pc, by.stamp.warp, by.stamp.lane};
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

std::optional<Race> RaceShadow::unknown_write(const Write& write, unsigned warp, unsigned lane) const {
    const Stamp stamp{write.warp, write.lane, write.time};
    if (write.time == 0 || order_->knows(warp, lane, stamp)) return std::nullopt;
    return Race{stamp, write.pc, true};
}

// Reads of one warp stand in the cell; those of several in the table. Of two reads of one warp at different times the
// earlier time counts for both, unless the later one knows of the earlier.
void RaceShadow::note_read(Cell& cell, const Accessor& by, std::uint32_t pc) {
    const std::uint16_t warp = by.stamp.warp;
    const WarpTime now = by.stamp.time;
    const std::uint32_t bit = 1u << by.stamp.lane;
    const auto merge = [&](WarpTime& time, std::uint32_t& lanes, std::uint32_t& at) {
        const Stamp before{warp, static_cast<std::uint8_t>(std::countr_zero(lanes | 1u << 31)), time};
        const bool is_later = time != 0 && time < now && (lanes & ~bit) == 0;
        if (time == 0 || is_later || (time < now && order_->knows(by.warp, by.lane, before))) {
            time = now, lanes = bit, at = pc;
        } else {
            time = std::min(time, now);  // lanes that work asynchronously have times of their own
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
    if (knows_all(by.warp, by.lane, cell.read_warp, first, race)) {  // whoever knows this read knows the earlier ones
        cell.read_warp = warp;
        cell.read_time = now, cell.read_lanes = bit, cell.read_pc = pc;
        return;
    }
    if (cell.readers == 0) {
        cell.readers = static_cast<std::uint32_t>(readers_.size());
        readers_.resize(readers_.size() + order_->size());
    } else {
        std::fill_n(readers_.begin() + cell.readers, order_->size(), Reader{});
    }
    readers_[cell.readers + cell.read_warp] = first;
    readers_[cell.readers + warp] = {now, bit, pc};
    cell.has_many = true;
}

bool RaceShadow::knows_all(unsigned warp, unsigned lane, std::uint16_t other, const Reader& reader, Race& race) const {
    if (order_->knows_warp(warp, other, reader.time)) return true;
    for (std::uint32_t lanes = reader.lanes; lanes != 0; lanes &= lanes - 1) {
        const Stamp stamp{other, static_cast<std::uint8_t>(std::countr_zero(lanes)), reader.time};
        if (order_->knows(warp, lane, stamp)) continue;
        race = {stamp, reader.pc, false};
        return false;
    }
    return true;
}

std::optional<Race> RaceShadow::unknown_reader(const Cell& cell, unsigned warp, unsigned lane) const {
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
