#include "emulator/decode_shapes.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Lexeme;
using syntax::TokenView;

struct OpcodeRow {
    std::string_view opcode;
    Shaping shaping;
};
// Those that are not pure. Their decoders add operations and entries of its tables to the program, and change
// nothing else of it. What is not here is decoded by itself.
constexpr OpcodeRow opcode_rows[] = {
    {"bra", Shaping::branch},       {"ld", Shaping::address},       {"ldu", Shaping::address},
    {"st", Shaping::address},       {"atom", Shaping::address},     {"red", Shaping::address},
    {"mov", Shaping::immediates},   {"cvta", Shaping::plain},       {"isspacep", Shaping::plain},
    {"prefetch", Shaping::plain},   {"prefetchu", Shaping::plain},  {"shfl", Shaping::plain},
    {"vote", Shaping::plain},       {"match", Shaping::plain},      {"redux", Shaping::plain},
    {"elect", Shaping::plain},      {"activemask", Shaping::plain}, {"ret", Shaping::plain},
    {"exit", Shaping::plain},       {"trap", Shaping::plain},       {"bar", Shaping::plain},
    {"barrier", Shaping::plain},    {"mma", Shaping::plain},        {"ldmatrix", Shaping::plain},
    {"stmatrix", Shaping::plain},   {"movmatrix", Shaping::plain},  {"mapa", Shaping::plain},
    {"getctarank", Shaping::plain}, {"nanosleep", Shaping::plain},
};

Shaping shaping_of(std::string_view opcode) {
    for (const OpcodeRow& row : opcode_rows)
        if (row.opcode == opcode) return row.shaping;
    return find_decoder(opcode) == nullptr ? Shaping::immediates : Shaping::none;
}

// The tables that instructions add to.
template <class Visit>
void for_each_table(Program& p, Visit visit) {
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
bool is_the_same_everywhere(const CollectiveCall& call) { return fits(call.member_mask); }  // or each has its own
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
    shape.has_own_collectives = !std::ranges::all_of(
        shape.collectives, [](const CollectiveCall& call) { return is_the_same_everywhere(call.member_mask); });
    const bool has_its_offset =
        !learning.reading.has_address ||
        (shape.accesses.size() == 1 && shape.accesses[0].offset == learning.reading.offset);
    return are_shared && has_its_offset && std::ranges::all_of(shape.refs, fits) &&
           std::ranges::all_of(shape.operations, [](const Operation& o) { return fits(o.guard); });
}

template <class T>
std::optional<std::size_t> find_view(std::span<const T> views, std::string_view text, auto view) {
    for (std::size_t i = 0; i < views.size(); ++i)
        if (view(views[i]).data() == text.data() && view(views[i]).size() == text.size()) return i;
    return std::nullopt;
}

// A decimal number, as most are; else as the manual has it.
std::optional<std::uint64_t> integer(std::string_view text) {
    constexpr std::size_t most_digits = 18;
    if (text.size() > most_digits || (text.size() > 1 && text[0] == '0')) return syntax::parse_integer(text);
    std::uint64_t value = 0;
    for (const char c : text) {
        const auto digit = static_cast<unsigned char>(c - '0');
        if (digit > 9) return syntax::parse_integer(text);
        value = 10 * value + digit;
    }
    return value;
}

std::optional<std::uint64_t> bits_of(const Reading::Immediate& immediate, ImmediateType type) {
    const bool is_real = type == ImmediateType::f32 || type == ImmediateType::f64;
    if (!immediate.is_floating && (!is_real || immediate.value == 0)) return immediate.value;
    return immediate_bits(immediate.text, static_cast<std::int64_t>(immediate.value), type);
}

// What a piece of a key begins with that is no punctuation; a text's length follows.
enum class Piece : std::uint8_t {
    text = 0x80,
    variable,
    addressed,
    offset,
    integer,
    floating,
    address,
    register_ = 0xC0
};
static_assert(syntax::lexeme_count < 0x80);

// Writes the pieces of a key, eight bytes to a word, zeros behind the last one. No piece is zero, and each says
// by its first byte where it ends: no other pieces make the same words.
class KeyWriter {
  public:
    explicit KeyWriter(Reading& reading) : reading_(reading) {}
    // Enough for tokens of `bytes` characters together.
    [[nodiscard]] static bool has_place(std::size_t tokens, std::size_t bytes) {
        constexpr std::size_t most_beside = 12;  // what a piece has but the characters of its token
        return bytes + most_beside * (tokens + 1) <= sizeof(Reading::key);
    }
    void byte(std::uint8_t value) {
        word_ |= std::uint64_t{value} << filled_;
        filled_ += 8;
        if (filled_ == 64) next();
    }
    void piece(Piece piece) { byte(static_cast<std::uint8_t>(piece)); }
    void lexeme(Lexeme lexeme) { byte(static_cast<std::uint8_t>(lexeme)); }
    // Most registers have a comma behind them.
    void register_of(Ref ref, bool has_comma) {
        constexpr std::uint8_t comma = 8;
        static_assert(comma > width_mask);
        byte(static_cast<std::uint8_t>((static_cast<std::uint8_t>(Piece::register_) + (ref & width_mask)) |
                                       (has_comma ? comma : 0)));
    }
    template <class T>
    void number(T value) {
        for (std::size_t i = 0; i < sizeof value; ++i)
            byte(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> 8 * i));
    }
    void text(std::string_view text) {
        piece(Piece::text);
        number(static_cast<std::uint16_t>(text.size()));
        for (const char c : text) byte(static_cast<std::uint8_t>(c));
    }
    void variable(Piece what, const Symbol& symbol) {
        piece(what);
        byte(static_cast<std::uint8_t>(symbol.space));
        byte(static_cast<std::uint8_t>((symbol.frame_relative ? 1 : 0) | (symbol.dynamic ? 2 : 0)));
    }
    // What a key begins with.
    void opcode(std::uint32_t number, bool is_entry) {
        word_ = number | std::uint64_t{is_entry} << 31;
        filled_ = 32;
    }
    void finish() {
        if (filled_ != 0) next();
        reading_.key_size = words_;
    }

  private:
    void next() {
        reading_.key[words_++] = word_;
        word_ = 0;
        filled_ = 0;
    }
    Reading& reading_;
    std::size_t words_ = 0, filled_ = 0;  // bits of word_
    std::uint64_t word_ = 0;
};

}  // namespace

constexpr std::uint8_t not_a_place = 255;
static_assert(Reading::most_values < not_a_place);

std::optional<std::size_t> Reading::register_at(std::string_view name, const TokenView& instruction) const {
    return find_view(std::span<const std::uint32_t>(tokens).first(registers), name,
                     [&](std::uint32_t token) { return instruction.text(token); });
}

std::optional<std::size_t> Reading::immediate_at(std::string_view text) const {
    return find_view(std::span<const Immediate>(immediates).first(immediate_count), text,
                     [](const Immediate& i) { return i.text; });
}

Shapes::Name Shapes::look_up(std::string_view text) {
    if (const Name* known = names_.find(text)) return *known;
    kept_.emplace_back(text);
    const std::string_view kept = kept_.back();
    Name& name = *names_.put(kept).first;
    ++count_;
    name.number = ++numbers_;
    name.shaping = shaping_of(kept.substr(0, kept.find_first_of(". \t\r\n/")));
    return name;
}

Shapes::Entry& Shapes::add(std::span<const std::uint64_t> key, std::uint64_t hash) {
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    Entry& entry = entries_.emplace_back();
    entry.key.assign(key.begin(), key.end());
    ++count_;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].entry != nullptr) at = (at + 1) & mask;
    slots_[at] = {key[0], &entry};
    return entry;
}

void Shapes::grow() {
    slots_.assign(2 * slots_.size(), Slot());
    const std::size_t mask = slots_.size() - 1;
    for (Entry& entry : entries_) {
        std::size_t at = hash_of(entry.key) & mask;
        while (slots_[at].entry != nullptr) at = (at + 1) & mask;
        slots_[at] = {entry.key[0], &entry};
    }
}

void Shapes::forget() {
    slots_.assign(slots_.size(), Slot());
    entries_.clear();
    known_ = {};
    names_ = {};
    kept_.clear();
    count_ = 0;
}

namespace {

// Makes a Reading of an instruction.
class ShapeReader {
  public:
    ShapeReader(FunctionDecoder& decoder, Shapes& shapes, Reading& reading, const TokenView& tokens)
        : decoder_(decoder), shapes_(shapes), reading_(reading), tokens_(tokens), source_(tokens.source()), key_(reading) {
        reading.registers = reading.immediate_count = 0;
        reading.has_address = false;
    }

    // False for one that has no shape; then it is decoded by itself. Of a branch, `at` is the label.
    bool read(std::size_t& at) {
        const bool has_guard = tokens_.kind(0) == Lexeme::at;
        const bool is_negated = has_guard && tokens_.kind(1) == Lexeme::exclaim;
        const std::size_t opcode = has_guard ? (is_negated ? 3 : 2) : 0;
        if (tokens_.kind(opcode) != Lexeme::identifier) return false;
        at_ = opcode + 1;
        while (tokens_.kind(at_) == Lexeme::directive) ++at_;
        const Shapes::Name name = shapes_.name(tokens_.text(opcode, at_ - 1), tokens_.begin(opcode));
        reading_.shaping = name.shaping;
        at = at_;
        if (name.shaping == Shaping::none) return false;
        if (!KeyWriter::has_place(tokens_.size(), tokens_.end(tokens_.size() - 1) - tokens_.begin(0))) return false;
        key_.opcode(name.number, decoder_.function().is_entry);
        if (has_guard && !guard(is_negated)) return false;
        if (name.shaping == Shaping::branch) return true;
        at_ = at;
        return operands();
    }

  private:
    bool guard(bool is_negated) {
        key_.lexeme(is_negated ? Lexeme::exclaim : Lexeme::at);
        at_ = is_negated ? 2 : 1;
        if (tokens_.kind(at_) != Lexeme::identifier || !name() || reading_.registers != 1) return false;
        guard_ = reading_.values[0];
        return true;
    }

    bool operands() {
        for (;;) {
            const Lexeme kind = tokens_.kind(at_);
            if (kind == Lexeme::identifier) [[likely]] {
                if (const Ref ref = known_register(at_); ref != no_ref ? !named(ref) : !name()) return false;
            } else if (kind == Lexeme::semicolon) {
                key_.finish();
                return at_ + 1 == tokens_.size();
            } else if (!other(kind)) {
                return false;
            }
        }
    }

    // A register that was named lately; no_ref says nothing.
    [[nodiscard]] Ref known_register(std::size_t token) {
        constexpr std::size_t longest = 8;
        const syntax::RawToken place = tokens_[token];
        const std::size_t size = place.size;
        if (size > longest || place.begin < longest || source_ == nullptr) return no_ref;
        const char* const begin = source_ + place.begin;
        const auto [range, number] = decoder_.scopes().find_element(syntax::load_back(begin + size, size));
        return range == nullptr ? no_ref : decoder_.register_of(*range, number, std::string_view(begin, size));
    }

    // The token is a register, and most have a comma behind them.
    bool named(Ref ref) {
        const std::size_t token = at_++;
        const bool has_comma = tokens_.kind(at_) == Lexeme::comma;
        at_ += has_comma ? 1 : 0;
        return add_register(ref, token, has_comma);
    }

    // A guard that is written as well must be asked before: not all instructions of a shape would be alike.
    [[nodiscard]] bool add_register(Ref ref, std::size_t token, bool has_comma = false) {
        const std::size_t number = reading_.registers;
        if (number == Reading::most_registers || ref == guard_) return false;
        reading_.tokens[number] = static_cast<std::uint32_t>(token);
        reading_.values[number] = ref;
        reading_.registers = number + 1;
        key_.register_of(ref, has_comma);
        return true;
    }

    bool other(Lexeme kind) {
        switch (kind) {
            case Lexeme::open_bracket:
                if (reading_.shaping == Shaping::address && !reading_.has_address && address()) return true;
                break;
            case Lexeme::integer:
            case Lexeme::floating:
                return immediate(kind == Lexeme::floating) || text();
            case Lexeme::directive:  // `%tid.x` is one name
                return tokens_.begin(at_) == tokens_.end(at_ - 1) && text();
            case Lexeme::two_char_operator:
                return text();
            case Lexeme::string:
            case Lexeme::invalid:
            case Lexeme::end:
                return false;
            default:
                break;
        }
        key_.lexeme(kind);
        ++at_;
        return true;
    }

    bool text() {
        key_.text(tokens_.text(at_++));
        return true;
    }

    bool name() {
        const std::string_view name = tokens_.text(at_);
        const Scopes::Meaning meaning = decoder_.scopes().find_register(name);
        if (const Ref ref = decoder_.register_of(meaning, name); ref != no_ref) return named(ref);
        if (meaning.symbol != nullptr) return variable(*meaning.symbol);
        const bool may_be_special = name[0] == '%' || name == "_" || name == "WARP_SZ";
        return may_be_special && text();
    }

    bool variable(const Symbol& symbol) {
        if (symbol.kind != Symbol::Kind::variable) return false;
        if (symbol.space == Space::global || symbol.space == Space::constant) {
            if (!stands_alone() || !add_immediate({tokens_.text(at_), symbol.address, false})) return false;
            key_.piece(Piece::address);
        } else {
            key_.variable(Piece::variable, symbol);
            key_.number(symbol.address);
        }
        ++at_;
        return true;
    }

    // An operand of one token.
    [[nodiscard]] bool stands_alone() const {
        const Lexeme next = tokens_.kind(at_ + 1);
        return tokens_.kind(at_ - 1) == Lexeme::comma && (next == Lexeme::comma || next == Lexeme::semicolon);
    }

    [[nodiscard]] bool add_immediate(const Reading::Immediate& immediate) {
        if (reading_.shaping == Shaping::plain || reading_.immediate_count == reading_.immediates.size())
            return false;
        reading_.immediates[reading_.immediate_count++] = immediate;
        return true;
    }

    bool immediate(bool is_floating) {
        if (!stands_alone()) return false;
        const std::string_view text = tokens_.text(at_);
        const auto value = is_floating ? 0 : integer(text);
        if (!value || !add_immediate({text, *value, is_floating})) return false;
        key_.piece(is_floating ? Piece::floating : Piece::integer);
        ++at_;
        return true;
    }

    // `[%rd1]`, `[%rd1+4]`, `[a+-4]`; others are read token by token.
    bool address() {
        std::size_t at = at_ + 1;
        if (tokens_.kind(at) != Lexeme::identifier) return false;
        const std::size_t base = at++;
        std::uint64_t offset = 0;
        if (tokens_.kind(at) == Lexeme::plus) {
            const bool is_negative = tokens_.kind(++at) == Lexeme::minus;
            at += is_negative ? 1 : 0;
            const auto value = tokens_.kind(at) == Lexeme::integer ? integer(tokens_.text(at)) : std::nullopt;
            if (!value) return false;
            offset = is_negative ? 0 - *value : *value;
            ++at;
        }
        if (tokens_.kind(at) != Lexeme::close_bracket) return false;
        if (!address_base(base, offset)) return false;
        key_.piece(Piece::offset);
        reading_.has_address = true;
        reading_.offset = offset;
        at_ = at + 1;
        return true;
    }

    bool address_base(std::size_t token, std::uint64_t& offset) {
        if (const Ref ref = known_register(token); ref != no_ref) return add_register(ref, token);
        const std::string_view name = tokens_.text(token);
        const Scopes::Meaning meaning = decoder_.scopes().find_register(name);
        if (const Ref ref = decoder_.register_of(meaning, name); ref != no_ref) return add_register(ref, token);
        if (meaning.symbol == nullptr || meaning.symbol->kind != Symbol::Kind::variable) return false;
        key_.variable(Piece::addressed, *meaning.symbol);
        offset += meaning.symbol->address;
        return true;
    }

    FunctionDecoder& decoder_;
    Shapes& shapes_;
    Reading& reading_;
    const TokenView tokens_;
    const char* const source_;  // null: parts of it were edited
    KeyWriter key_;
    std::size_t at_ = 0;
    Ref guard_ = no_ref - 1;  // no register
};

}  // namespace

// --- in a function

// An instruction that looks like others; false when it must be decoded by itself.
bool FunctionDecoder::instruction_by_shape(const syntax::Statement& statement, const TokenView& tokens) {
    std::size_t at = 0;
    module_.shapes.trim();
    if (!ShapeReader(*this, module_.shapes, reading_, tokens).read(at)) return false;
    if (reading_.shaping == Shaping::branch) return branch(tokens, at);
    Shapes::Entry& entry = module_.shapes.find(std::span(reading_.key).first(reading_.key_size));
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
    for (const Ref r : shape.bound_refs) shape.places.push_back(is_place(r) ? static_cast<std::uint8_t>(number_of(r)) : not_a_place);
    shape.is_simple = shape.operations.size() == 1 && shape.immediates.empty() && shape.temporaries.empty() && !shape.uses_carry;
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
        if (shape.has_own_collectives && shape.tables[i] == Table::collectives) operation.extra += first_collective;
        p.spans.push_back(span_);
    }
    const std::size_t count = shape.bound_refs.size();
    p.refs.resize(first_ref + count);
    Ref* const refs = p.refs.data() + first_ref;
    for (std::size_t i = 0; i < count; ++i) refs[i] = shape.places[i] == not_a_place ? shape.bound_refs[i] : values[shape.places[i]];
    return true;
}

bool FunctionDecoder::make_values(const InstructionShape& shape) {
    auto& values = reading_.values;
    for (std::size_t i = 0; i < shape.immediates.size(); ++i) {
        const ShapeConstant& constant = shape.immediates[i];
        const auto bits =
            bits_of(reading_.immediates[static_cast<std::size_t>(constant.immediate)], constant.type);
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
