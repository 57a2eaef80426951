// The definedness bits of a fragment are moved and multiplied by the functions that move and multiply its
// elements.
#include "emulator/checks/matrix_definedness.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_registers = 8;  // of a fragment
constexpr std::uint32_t row_bytes = 16, rows_of_matrix = 8;

struct alignas(64) Column {
    States states;
};

bool is_written_row(const std::uint8_t* states) {
    std::uint64_t words[2];
    std::memcpy(words, states, sizeof words);
    return (words[0] & words[1]) == ~std::uint64_t{0};
}

// A part of a register in all lanes, as its definedness bits in memory.
void move_states_of(const WmmaAccess& access, unsigned lane, std::uint8_t* memory, std::uint8_t* column,
                    std::size_t width, Use use) {
    std::uint8_t* const part = column + lane * width + access.shift / 8;
    if (use == Use::read)
        std::memcpy(part, memory, access.bits / 8u);
    else
        std::memcpy(memory, part, access.bits / 8u);
}

}  // namespace

Definedness& MatrixDefinedness::registers() const { return warp_.checks().definedness(); }
MemoryDefinedness& MatrixDefinedness::memory() const { return warp_.checks().memory(); }

bool MatrixDefinedness::track_mma(const Operation& operation, const Mma& mma) {
    const Ref* const results = warp_.operands(operation);
    const Ref* const sources = results + operation.outputs;
    const FragmentSizes sizes = fragment_sizes(mma);
    const Ref* const metadata = sources + sizes.a + sizes.b + sizes.c;
    if (std::all_of(sources, sources + operation.inputs,
                    [this](Ref ref) { return registers().is_written(ref); })) {
        for (unsigned i = 0; i < operation.outputs; ++i) registers().mark_written(results[i], ~0u);
        return true;
    }
    if (mma.sparsity != Sparsity::dense && !registers().require(*metadata, ~0u)) return false;
    std::array<Column, 3 * most_registers> columns;
    std::array<const void*, 3 * most_registers> states;
    for (unsigned i = 0; i < sizes.a + sizes.b + sizes.c; ++i) {
        registers().read_states(sources[i], columns[i].states.data());
        states[i] = &columns[i];
    }
    std::array<Column, most_registers> made;
    std::array<void*, most_registers> d;
    for (unsigned i = 0; i < sizes.d; ++i) d[i] = &made[i];
    const std::uint32_t* const e =
        mma.sparsity == Sparsity::dense ? nullptr : warp_.column_of<std::uint32_t>(*metadata);
    multiply_states(mma,
                    {d.data(), states.data(), states.data() + sizes.a, states.data() + sizes.a + sizes.b, e});
    const Ref* const first =
        std::find_if(sources, metadata, [this](Ref ref) { return !registers().is_written(ref); });
    const Origin common = registers().origin_of(*first);
    const bool adds_in_place = sizes.c == sizes.d;
    for (unsigned i = 0; i < sizes.d; ++i) {
        const Ref c = sources[sizes.a + sizes.b + (adds_in_place ? i : 0)];
        const bool is_its_own =
            adds_in_place && !registers().is_written(c);  // an accumulator stays what it was
        registers().taint(results[i], ~0u, is_its_own ? registers().origin_of(c) : common,
                          made[i].states.data());
    }
    return true;
}

void MatrixDefinedness::track_movmatrix(const Operation& operation) {
    const Ref* const refs = warp_.operands(operation);
    if (registers().is_written(refs[1])) return registers().mark_written(refs[0], ~0u);
    Column from, to;
    registers().read_states(refs[1], from.states.data());
    transpose_matrix(&to, &from);
    registers().taint(refs[0], ~0u, registers().origin_of(refs[1]), to.states.data());
}

void MatrixDefinedness::note_rows_loaded(const Ref* refs, Transposition transposition,
                                         const MatrixRows& rows) {
    const auto is_written_row = [&](unsigned row) { return are_defined(rows.written[row], row_bytes); };
    unsigned row = 0;
    while (row < rows.count && is_written_row(row)) ++row;
    if (row == rows.count) return;
    std::array<const std::byte*, lane_count> states_of_rows = {};
    for (row = 0; row < rows.count; ++row)
        states_of_rows[row] = reinterpret_cast<const std::byte*>(rows.written[row]);
    std::array<Column, 4> states;
    std::array<void*, 4> columns = {};
    const unsigned count = rows.count / rows_of_matrix;
    for (unsigned i = 0; i < count; ++i) columns[i] = &states[i];
    load_matrices(states_of_rows.data(), count, transposition, columns.data());
    for (unsigned i = 0; i < count; ++i) {
        row = rows_of_matrix * i;
        const unsigned end = row + rows_of_matrix;
        while (row + 1 < end && is_written_row(row)) ++row;
        registers().taint(refs[i], ~0u, origin_of_row(rows, row), states[i].states.data());
    }
}

// The first byte of 16 that nothing wrote.
Origin MatrixDefinedness::origin_of_row(const MatrixRows& rows, unsigned row) {
    const std::uint8_t* const written = rows.written[row];
    const auto at = find_undefined(written, row_bytes - 1) - written;
    return memory().origin_at(Space::shared, rows.places[row] + static_cast<std::uint64_t>(at), row);
}

void MatrixDefinedness::note_rows_stored(const Ref* refs, Transposition transposition,
                                         const MatrixRows& rows) {
    std::array<std::byte*, lane_count> states_of_rows = {};
    for (unsigned row = 0; row < rows.count; ++row)
        states_of_rows[row] = reinterpret_cast<std::byte*>(rows.written[row]);
    std::array<Column, 4> states;
    std::array<const void*, 4> columns = {};
    const unsigned count = rows.count / rows_of_matrix;
    for (unsigned i = 0; i < count; ++i) {
        registers().read_states(refs[i], states[i].states.data());
        columns[i] = &states[i];
    }
    store_matrices(columns.data(), count, transposition, states_of_rows.data());
    for (unsigned row = 0; row < rows.count; ++row) {
        if (are_defined(rows.written[row], row_bytes)) continue;
        memory().remember(Space::shared, rows.places[row], row, row_bytes,
                          registers().origin_of(refs[row / rows_of_matrix]));
    }
}

void MatrixDefinedness::note_wmma_loaded(const Operation& operation, const MatrixInstruction& instruction,
                                         const std::uint64_t* addresses) {
    const Space space = instruction.access.space;
    std::array<Column, most_registers> states;
    std::array<std::optional<Origin>, most_registers> origins;
    for (std::size_t i = 0; i < instruction.accesses.size(); ++i) {
        const WmmaAccess& access = instruction.accesses[i];
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const std::uint64_t address = addresses[i * lane_count + lane];
            std::uint8_t* const written = warp_.memory().written_bytes(space, address, lane);
            std::array<std::uint8_t, 8> none;
            none.fill(all_bits);
            move_states_of(access, lane, written != nullptr ? written : none.data(),
                           states[access.reg].states.data(), width(warp_.operands(operation)[access.reg]),
                           Use::read);
            if (origins[access.reg] || are_defined(written, access.bits / 8u)) continue;
            const Place where = warp_.memory().common_place(space, address);
            origins[access.reg] = memory().origin_at(where.space, where.address, lane);
        }
    }
    for (unsigned i = 0; i < operation.outputs; ++i)
        if (origins[i])
            registers().taint(warp_.operands(operation)[i], ~0u, *origins[i], states[i].states.data());
}

bool MatrixDefinedness::note_wmma_stored(const Ref* refs, const MatrixInstruction& instruction,
                                         const std::uint64_t* addresses) {
    std::array<Column, most_registers> states;
    std::uint32_t read = 0;
    for (std::size_t i = 0; i < instruction.accesses.size(); ++i) {
        const WmmaAccess& access = instruction.accesses[i];
        const Ref ref = refs[access.reg];
        if ((read >> access.reg & 1) == 0) registers().read_states(ref, states[access.reg].states.data());
        read |= 1u << access.reg;
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const std::uint64_t address = addresses[i * lane_count + lane];
            std::uint8_t* const written =
                warp_.memory().written_bytes(instruction.access.space, address, lane);
            if (written == nullptr) continue;
            move_states_of(access, lane, written, states[access.reg].states.data(), width(ref), Use::write);
            if (are_defined(written, access.bits / 8u)) continue;
            const Place where = warp_.memory().common_place(instruction.access.space, address);
            if (where.space != Space::shared && std::all_of(written, written + access.bits / 8u,
                                                            [](std::uint8_t bits) { return bits == 0; })) {
                std::fill_n(written, access.bits / 8u, all_bits);
                if (!registers().report_unwritten(ref, 1u << lane)) return false;
                continue;
            }
            memory().remember(where.space, where.address, lane, access.bits / 8u, registers().origin_of(ref));
        }
    }
    return true;
}

// The first byte that nothing wrote.
std::optional<Origin> MatrixDefinedness::first_undefined(const SharedRange& range,
                                                         const Located& shared) const {
    const std::uint8_t* const end = shared.written + range.end;
    const std::uint8_t* row = shared.written + range.begin;
    while (row != end && is_written_row(row)) row += row_bytes;
    row = find_undefined(row, static_cast<std::size_t>(end - row));
    if (row == end) return std::nullopt;
    return memory().origin_at(Space::shared, shared.begin + static_cast<std::uint64_t>(row - shared.written),
                              0);
}

// --- wgmma: the operands were undefined somewhere, or the accumulators may be.

void MatrixDefinedness::track_wgmma(const Operation& operation, const WgmmaOperands& operands,
                                    const UndefinedOperands& undefined) {
    const Wgmma& wgmma = warp_.program().matrix_of(operation).wgmma;
    const Ref* const results = warp_.operands(operation);
    if (!undefined.a && !undefined.b) {
        for (unsigned i = 0; i < operation.outputs; ++i) {
            if (!operands.scale_d)
                registers().mark_written(results[i], ~0u);
            else if (!registers().is_written(results[i]) &&
                     !warp_.frame().states.taints.contains(index_of(results[i])))
                begin_taint(results[i]);
        }
        return;
    }
    std::array<Column, 4> a_states;
    std::array<const void*, 4> a = {};
    WgmmaOperands states = operands;
    for (unsigned i = 0; operands.a != nullptr && i < a.size(); ++i) {
        registers().read_states(results[operation.outputs + i], a_states[i].states.data());
        a[i] = &a_states[i];
        states.a = a.data();
    }
    const auto& written = warp_.cta().shared_written();
    const UndefinedParts parts = undefined_parts(
        wgmma, states,
        {reinterpret_cast<const std::byte*>(written.data()), static_cast<std::uint32_t>(written.size())});
    const Origin& origin = undefined.a && parts.rows.any() ? *undefined.a
                           : undefined.b                   ? *undefined.b
                                                           : *undefined.a;
    for (unsigned i = 0; i < operation.outputs; ++i) {
        Column before, now;
        const bool keeps = operands.scale_d && !registers().is_written(results[i]);
        undefined_columns(wgmma, parts, i, reinterpret_cast<std::uint32_t*>(now.states.data()));
        if (keeps) registers().read_states(results[i], before.states.data());
        for (std::size_t b = 0; keeps && b < sizeof(std::uint32_t) * lane_count; ++b)
            now.states[b] &= before.states[b];
        registers().taint(results[i], ~0u, keeps ? registers().origin_of(results[i]) : origin,
                          now.states.data());
    }
}

// A register that nothing wrote is read here.
void MatrixDefinedness::begin_taint(Ref ref) {
    States states;
    registers().read_states(ref, states.data());
    registers().taint(ref, ~0u, {.pc = warp_.pc()}, states.data());
}

}  // namespace ptxgraft::emulator
