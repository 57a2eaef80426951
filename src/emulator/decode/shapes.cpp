// Operations made from those of instructions that looked alike.
#include "emulator/decode/shapes.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/decode/decode.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Lexeme;
using syntax::TokenView;

// The tables that instructions add to.
template <class Visit> void for_each_table(Program& p, Visit visit) {
    std::size_t i = 0;
    visit(i++, p.code);
    visit(i++, p.spans);
    visit(i++, p.refs);
    visit(i++, p.accesses);
    visit(i++, p.collectives);
    visit(i++, p.barriers);
    visit(i++, p.matrices);
    visit(i++, p.calls);
    visit(i++, p.bulk_copies);
    visit(i++, p.tensormap_replaces);
    visit(i++, p.async_stores);
    visit(i++, p.failures);
}
constexpr std::size_t table_count = 12, code_table = 0, refs_table = 2, first_shared_table = 3,
                      shared_tables = 4;
using TableSizes = std::array<std::size_t, table_count>;

TableSizes sizes(Program& program) {
    TableSizes all{};
    for_each_table(program, [&](std::size_t i, const auto& table) { all[i] = table.size(); });
    return all;
}

std::size_t index_of(Table table) { return first_shared_table + static_cast<std::size_t>(table) - 1; }

// Something that a shape can stand for: no register but by its place.
bool fits(Ref ref) { return ref == no_ref || is_place(ref); }
bool is_the_same_everywhere(Ref ref) { return ref == no_ref || (is_place(ref) && !is_register(ref)); }
bool is_the_same_everywhere(const Access&) { return true; }
bool is_the_same_everywhere(const MatrixInstruction&) { return true; }
// or each has its own
bool is_the_same_everywhere(const CollectiveCall& call) { return fits(call.member_mask); }
bool is_the_same_everywhere(const Barrier& barrier) {
    const std::array refs = {barrier.id, barrier.count, barrier.predicate, barrier.destination};
    return std::ranges::all_of(refs, [](Ref ref) { return is_the_same_everywhere(ref); });
}

// Moves what was added to a table; false when it is more than the shape.
template <class Entry>
bool take_added(const std::vector<Entry>& table, std::size_t before, std::vector<Entry>& to) {
    to.assign(table.begin() + static_cast<std::ptrdiff_t>(before), table.end());
    return std::ranges::all_of(to, [](const Entry& entry) { return is_the_same_everywhere(entry); });
}

// What Learning has seen and the program got since `before`, as a shape; false when it is more than that.
bool keep(Program& program, const TableSizes& before, const Learning& learning) {
    InstructionShape& shape = learning.shape;
    TableSizes added = sizes(program);
    for (std::size_t i = 0; i < table_count; ++i) added[i] -= before[i];
    for (const Learning::Entry& e : learning.entries)
        if (added[index_of(e.entry.table)]-- == 0) return false;
    if (std::any_of(added.begin() + first_shared_table, added.end(), [](std::size_t n) { return n != 0; }))
        return false;
    shape.operations.assign(program.code.begin() + static_cast<std::ptrdiff_t>(before[code_table]),
                            program.code.end());
    shape.refs.assign(program.refs.begin() + static_cast<std::ptrdiff_t>(before[refs_table]),
                      program.refs.end());
    for (Operation& operation : shape.operations)
        operation.operands -= static_cast<std::uint32_t>(before[refs_table]);
    shape.tables.assign(shape.operations.size(), Table::none);
    for (const auto& [operation, entry] : learning.entries) {
        shape.tables[operation - before[code_table]] = entry.table;
        shape.operations[operation - before[code_table]].extra -=
            static_cast<std::uint32_t>(before[index_of(entry.table)]);
    }
    const bool are_shared =
        take_added(program.accesses, before[index_of(Table::accesses)], shape.accesses) &&
        take_added(program.collectives, before[index_of(Table::collectives)], shape.collectives) &&
        take_added(program.barriers, before[index_of(Table::barriers)], shape.barriers) &&
        take_added(program.matrices, before[index_of(Table::matrices)], shape.matrices);
    shape.has_own_collectives = !std::ranges::all_of(shape.collectives, [](const CollectiveCall& call) {
        return is_the_same_everywhere(call.member_mask);
    });
    const bool has_its_offset =
        !learning.reading.has_address ||
        (shape.accesses.size() == 1 && shape.accesses[0].offset == learning.reading.offset);
    return are_shared && has_its_offset && std::ranges::all_of(shape.refs, fits) &&
           std::ranges::all_of(shape.operations, [](const Operation& o) { return fits(o.guard); });
}

std::optional<std::uint64_t> bits_of(const Reading::Immediate& immediate, std::uint32_t bytes,
                                     ImmediateType type) {
    if (!immediate.is_floating)
        return immediate_bits({syntax::Constant::Type::u64, immediate.value}, bytes, type);
    const auto constant = syntax::literal_constant(syntax::TokenKind::floating, immediate.text);
    return constant ? immediate_bits(*constant, bytes, type) : std::nullopt;
}

constexpr std::uint8_t not_a_place = 255;
static_assert(Reading::most_values < not_a_place);

}  // namespace

// An instruction that looks like others; false when it must be decoded by itself.
bool FunctionDecoder::instruction_by_shape(const syntax::Statement& statement, const TokenView& tokens) {
    std::size_t at = 0;
    module_.shapes.trim();
    if (!read_shape(*this, tokens, reading_, at)) return false;
    if (reading_.shaping == Shaping::branch) return branch(tokens, at);
    if (reading_.shaping == Shaping::call) return call(tokens, at);
    Shapes::Entry& entry = module_.shapes.find(reading_.shape());
    const std::uint32_t often = module_.shapes.often;
    if (entry.seen < often && ++entry.seen == often) entry.shape = learn(statement);
    return entry.shape != nullptr && make(*entry.shape);
}

// bra{.uni} label;
bool FunctionDecoder::branch(const TokenView& tokens, std::size_t at) {
    const bool has_guard = tokens.kind(0) == Lexeme::at;
    const std::size_t opcode = has_guard ? (tokens.kind(1) == Lexeme::exclaim ? 3 : 2) : 0;
    const bool is_plain = at == opcode + 1 || (at == opcode + 2 && tokens.text(opcode + 1) == ".uni");
    if (!is_plain || at + 2 != tokens.size() || tokens.kind(at) != Lexeme::identifier) return false;
    const Symbol* const label = find(tokens.text(at));
    if (label == nullptr || label->kind != Symbol::Kind::label ||
        (has_guard && width(reading_.values[0]) != 1))
        return false;
    Draft draft(execute_branch, static_cast<std::uint32_t>(label->address));
    if (has_guard) {
        draft.operation.guard = reading_.values[0];
        draft.operation.guard_negated = opcode == 3;
    }
    emit(draft);
    return true;
}

// Decodes the instruction with places for its registers, keeps what came of it and takes it back.
std::unique_ptr<InstructionShape> FunctionDecoder::learn(const syntax::Statement& statement) {
    const TableSizes before = sizes(program());
    auto shape = std::make_unique<InstructionShape>();
    const TokenView tokens(statement);
    Learning learning{.reading = reading_, .tokens = tokens, .shape = *shape};
    learning_ = &learning;
    const bool is_right = instruction_by_itself(statement).has_value();
    learning_ = nullptr;
    if (!is_right || learning.is_refused || !keep(program(), before, learning)) shape = nullptr;
    for_each_table(program(), [&](std::size_t i, auto& table) { table.resize(before[i]); });
    return shape;
}

Ref FunctionDecoder::bound(const InstructionShape& shape, Ref ref) {
    if (ref == no_ref || is_register(ref)) return ref;
    if (ref >> bank_shift == special_bank >> bank_shift)
        return module_.special(shape.specials[number_of(ref)].special, width(ref));
    const ShapeConstant& constant = shape.constants[number_of(ref)];
    if (constant.immediate < 0) return module_.constant(constant.bits, constant.bytes);
    return place(Reading::first_immediate + static_cast<std::size_t>(constant.bits), constant.bytes);
}

namespace {

// Moves a shape's entries of a table behind the module's; where they begin.
template <class Entry>
std::uint32_t append(std::vector<Entry>& to, const std::vector<Entry>& entries, auto bound) {
    const auto begin = static_cast<std::uint32_t>(to.size());
    for (const Entry& entry : entries) to.push_back(bound(entry));
    return begin;
}

}  // namespace

// Gives what all instructions of a shape share its place in the module.
void FunctionDecoder::bind(InstructionShape& shape) {
    const auto ref = [&](Ref r) { return bound(shape, r); };
    const auto same = [](const auto& entry) { return entry; };
    Program& p = program();
    std::array<std::uint32_t, 1 + shared_tables> begins{};
    const auto begin_of = [&](Table table) -> std::uint32_t& {
        return begins[static_cast<std::size_t>(table)];
    };
    if (!reading_.has_address) begin_of(Table::accesses) = append(p.accesses, shape.accesses, same);
    begin_of(Table::matrices) = append(p.matrices, shape.matrices, same);
    shape.bound_collectives.clear();
    append(shape.bound_collectives, shape.collectives, [&](CollectiveCall call) {
        call.member_mask = ref(call.member_mask);
        return call;
    });
    if (!shape.has_own_collectives)
        begin_of(Table::collectives) = append(p.collectives, shape.bound_collectives, same);
    begin_of(Table::barriers) = append(p.barriers, shape.barriers, [&](Barrier barrier) {
        for (Ref* const r : {&barrier.id, &barrier.count, &barrier.predicate, &barrier.destination})
            *r = ref(*r);
        return barrier;
    });
    shape.bound_operations = shape.operations;
    for (std::size_t i = 0; i < shape.operations.size(); ++i) {
        shape.bound_operations[i].extra += begin_of(shape.tables[i]);
        shape.bound_operations[i].guard = ref(shape.operations[i].guard);
    }
    shape.bound_refs.clear();
    std::ranges::transform(shape.refs, std::back_inserter(shape.bound_refs), ref);
    shape.places.clear();
    for (const Ref r : shape.bound_refs)
        shape.places.push_back(is_place(r) ? static_cast<std::uint8_t>(number_of(r)) : not_a_place);
    shape.is_simple = shape.operations.size() == 1 && shape.immediates.empty() && shape.temporaries.empty() &&
                      !shape.uses_carry;
    shape.has_last_access = false;
    shape.module = module_.number;
}

// Equal accesses that follow each other are one.
std::uint32_t FunctionDecoder::access_of(InstructionShape& shape) {
    if (shape.has_last_access && shape.last_offset == reading_.offset) return shape.last_access;
    shape.has_last_access = true;
    shape.last_offset = reading_.offset;
    Access access = shape.accesses[0];
    access.offset = reading_.offset;
    return shape.last_access = add(access).index;
}

// False when an immediate is none of its type.
bool FunctionDecoder::make(InstructionShape& shape) {
    if (shape.module != module_.number) bind(shape);
    auto& values = reading_.values;
    if (!shape.is_simple && !make_values(shape)) return false;
    const std::uint32_t access = reading_.has_address ? access_of(shape) : 0;
    Program& p = program();
    const auto value = [&](Ref ref) { return is_place(ref) ? values[number_of(ref)] : ref; };
    const auto first_ref = static_cast<std::uint32_t>(p.refs.size());
    std::uint32_t first_collective = 0;
    if (shape.has_own_collectives)
        first_collective = append(p.collectives, shape.bound_collectives, [&](CollectiveCall call) {
            call.member_mask = value(call.member_mask);
            return call;
        });
    for (std::size_t i = 0; i < shape.bound_operations.size(); ++i) {
        Operation& operation = p.code.emplace_back(shape.bound_operations[i]);
        operation.operands += first_ref;
        operation.guard = value(operation.guard);
        if (reading_.has_address && shape.tables[i] == Table::accesses) operation.extra = access;
        if (shape.has_own_collectives && shape.tables[i] == Table::collectives)
            operation.extra += first_collective;
        p.spans.push_back(span_);
    }
    const std::size_t count = shape.bound_refs.size();
    p.refs.resize(first_ref + count);
    Ref* const refs = p.refs.data() + first_ref;
    for (std::size_t i = 0; i < count; ++i)
        refs[i] = shape.places[i] == not_a_place ? shape.bound_refs[i] : values[shape.places[i]];
    return true;
}

bool FunctionDecoder::make_values(const InstructionShape& shape) {
    auto& values = reading_.values;
    for (std::size_t i = 0; i < shape.immediates.size(); ++i) {
        const ShapeConstant& constant = shape.immediates[i];
        const auto bits = bits_of(reading_.immediates[static_cast<std::size_t>(constant.immediate)],
                                  constant.bytes, constant.type);
        if (!bits) return false;
        values[Reading::first_immediate + i] = module_.constant(*bits, constant.bytes);
    }
    for (std::size_t i = 0; i < shape.temporaries.size(); ++i)
        values[Reading::first_temporary + i] = temporary(shape.temporaries[i]);
    if (shape.uses_carry) values[Reading::carry] = carry();
    return true;
}

// --- while a shape is learned

Ref FunctionDecoder::constant(std::uint64_t bits, std::uint32_t bytes) {
    if (learning_ == nullptr) return module_.constant(bits, bytes);
    auto& constants = learning_->shape.constants;
    constants.push_back({.bits = bits, .bytes = static_cast<std::uint8_t>(bytes)});
    return constant_bank | place(constants.size() - 1, bytes);
}

// What an immediate, or a variable that is one, reads as; `bits` is its value here.
Ref FunctionDecoder::immediate(std::string_view text, std::uint64_t bits, std::uint32_t bytes,
                               ImmediateType type) {
    const auto index = learning_ == nullptr ? std::nullopt : reading_.immediate_at(text);
    if (!index) return constant(bits, bytes);
    auto& immediates = learning_->shape.immediates;
    const ShapeConstant constant{.bits = immediates.size(),
                                 .bytes = static_cast<std::uint8_t>(bytes),
                                 .type = type,
                                 .immediate = static_cast<std::int8_t>(*index)};
    learning_->is_refused |= Reading::first_immediate + immediates.size() >= Reading::most_values;
    immediates.push_back(constant);
    learning_->shape.constants.push_back(constant);
    return constant_bank | place(learning_->shape.constants.size() - 1, bytes);
}

Ref FunctionDecoder::special_register(Special special, std::uint32_t bytes) {
    if (learning_ == nullptr) return module_.special(special, bytes);
    learning_->shape.specials.push_back({special, no_ref});
    return special_bank | place(learning_->shape.specials.size() - 1, bytes);
}

void FunctionDecoder::refuse_shape() {
    if (learning_ != nullptr) learning_->is_refused = true;
}

Ref FunctionDecoder::temporary(std::uint32_t bytes) {
    if (learning_ == nullptr) return take_column(function().register_bytes, bytes);
    auto& temporaries = learning_->shape.temporaries;
    if (Reading::first_temporary + temporaries.size() == Reading::first_immediate) {
        learning_->is_refused = true;
        temporaries.pop_back();
    }
    temporaries.push_back(static_cast<std::uint8_t>(bytes));
    return place(Reading::first_temporary + temporaries.size() - 1, bytes);
}

Ref FunctionDecoder::carry() {
    if (learning_ != nullptr) {
        learning_->shape.uses_carry = true;
        return place(Reading::carry, 1);
    }
    if (carry_ == no_ref) carry_ = temporary(1);
    return carry_;
}

}  // namespace ptxgraft::emulator
