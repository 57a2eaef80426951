// How an instruction's tokens become the key of its shape, and how shapes are found by it.
#include <algorithm>
#include <cstring>

#include "emulator/decode/decode.hpp"
#include "ptxgraft/isa/table.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Lexeme;
using syntax::TokenView;

bool has_range(std::span<const isa::OperandRule> rules) {
    return std::ranges::any_of(rules, [](const isa::OperandRule& rule) {
        return rule.range != nullptr || has_range(rule.children);
    });
}

// Whether some constant is right for it and another is not. The opcodes of one first word follow each other.
bool has_range(std::string_view opcode) {
    const auto is_one = [&](const isa::Opcode& one) {
        const std::string_view name = one.name;
        return name.starts_with(opcode) && (name.size() == opcode.size() || name[opcode.size()] == '.');
    };
    auto one = isa::first_row_from(isa::table_opcodes, opcode, &isa::Opcode::name);
    for (; one != isa::table_opcodes.end() && is_one(*one); ++one)
        if (std::ranges::any_of(one->rows, [](const isa::Row& row) { return has_range(row.operands); }))
            return true;
    return false;
}

Shaping shaping_of(std::string_view opcode) {
    if (const auto shaping = shaping_of_decoder(opcode)) return *shaping;
    return has_range(opcode) ? Shaping::plain : Shaping::immediates;
}

template <class T>
std::optional<std::size_t> find_view(std::span<const T> views, std::string_view text, auto view) {
    for (std::size_t i = 0; i < views.size(); ++i)
        if (view(views[i]).data() == text.data() && view(views[i]).size() == text.size()) return i;
    return std::nullopt;
}

// What a piece of a key begins with that is no punctuation; a text's length follows.
enum class Piece : std::uint8_t {
    text = 0x80,
    variable,
    addressed,
    offset,
    integer,
    floating,
    single,  ///< `0f3F800000`, which is .f32 where others are .f64
    address,
    register_ = 0x90  ///< and twice its type, and 1 where a comma follows
};
static_assert(syntax::lexeme_count < 0x80 && 0x90 + 2 * static_cast<int>(isa::RegisterType::none) < 0xFF);

// A register that an instruction names.
struct NamedRegister {
    Ref ref = no_ref;
    isa::RegisterType type = isa::RegisterType::none;
    bool is_no_address = false;
};

// Writes the pieces of a key, eight bytes to a word, zeros behind the last one. No piece is zero, and each
// says by its first byte where it ends: no other pieces make the same words.
class KeyWriter {
  public:
    explicit KeyWriter(Reading& reading) : reading_(reading) {}
    // Enough for tokens of `bytes` characters together.
    [[nodiscard]] static bool has_place(std::size_t tokens, std::size_t bytes) {
        constexpr std::size_t most_beside = 16;  // what a piece has but the characters of its token
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
    void register_of(isa::RegisterType type, bool has_comma) {
        byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(Piece::register_) +
                                       2 * static_cast<std::uint8_t>(type) + (has_comma ? 1 : 0)));
    }
    template <class T> void number(T value) {
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
        byte(static_cast<std::uint8_t>(
            (symbol.frame_relative ? 1 : 0) | (symbol.dynamic ? 2 : 0) | (symbol.declared.is_input ? 4 : 0) |
            (symbol.declared.is_return ? 8 : 0) | (symbol.declared.is_array ? 16 : 0) |
            (symbol.declared.is_no_address ? 32 : 0)));
        byte(static_cast<std::uint8_t>(symbol.declared.type));
        byte(symbol.declared.vector);
        byte(static_cast<std::uint8_t>(symbol.declared.space));
    }
    // What a key begins with.
    void opcode(std::uint32_t number, std::uint32_t setting, bool is_entry) {
        word_ = number | setting << 24 | std::uint64_t{is_entry} << 31;
        filled_ = 32;
    }
    void finish() {
        if (filled_ != 0) next();
        reading_.key_words = words_;
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

// Makes a Reading of an instruction.
class ShapeReader {
  public:
    ShapeReader(FunctionDecoder& decoder, Shapes& shapes, Reading& reading, const TokenView& tokens)
        : decoder_(decoder),
          shapes_(shapes),
          reading_(reading),
          tokens_(tokens),
          source_(tokens.source()),
          key_(reading) {
        reading.registers = reading.immediate_count = 0;
        reading.has_address = false;
    }

    // False for one that has no shape; then it is decoded by itself. `at` is the first operand's token.
    bool read(std::size_t& at) {
        const bool has_guard = tokens_.kind(0) == Lexeme::at;
        const bool is_negated = has_guard && tokens_.kind(1) == Lexeme::exclaim;
        const std::size_t opcode = has_guard ? (is_negated ? 3 : 2) : 0;
        if (tokens_.kind(opcode) != Lexeme::identifier) return false;
        at_ = opcode + 1;
        while (tokens_.kind(at_) == Lexeme::directive) ++at_;
        const bool has_bank = tokens_.kind(at_) == Lexeme::open_bracket && tokens_.text(at_ - 1) == ".const";
        if (has_bank) return false;  // of PTX ISA before 2.2
        const Shapes::Name name = shapes_.name(tokens_.text(opcode, at_ - 1));
        reading_.shaping = name.shaping;
        at = at_;
        if (name.shaping == Shaping::call) return !has_guard;
        if (name.shaping == Shaping::none) return false;
        if (!KeyWriter::has_place(tokens_.size(), tokens_.end(tokens_.size() - 1) - tokens_.begin(0)))
            return false;
        key_.opcode(name.number, shapes_.setting(), decoder_.function().is_entry);
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
        if (first_type_ != isa::RegisterType::pred) return false;
        guard_ = reading_.values[0];
        return true;
    }

    bool operands() {
        for (;;) {
            const Lexeme kind = tokens_.kind(at_);
            if (kind == Lexeme::identifier) [[likely]] {
                if (const auto known = known_register(at_); known.ref != no_ref ? !named(known) : !name())
                    return false;
            } else if (kind == Lexeme::semicolon) {
                key_.finish();
                return at_ + 1 == tokens_.size();
            } else if (!other(kind)) {
                return false;
            }
        }
    }

    // A register that was named lately; no_ref says nothing.
    [[nodiscard]] NamedRegister known_register(std::size_t token) {
        constexpr std::size_t longest = 8;
        const syntax::RawToken place = tokens_[token];
        const std::size_t size = place.size;
        if (size > longest || place.begin < longest || source_ == nullptr) return {};
        const char* const begin = source_ + place.begin;
        const auto [range, number] = decoder_.scopes().find_element(syntax::load_back(begin + size, size));
        if (range == nullptr) return {};
        return {decoder_.register_of(*range, number, std::string_view(begin, size)), range->declared().type,
                range->declared().is_no_address};
    }
    [[nodiscard]] NamedRegister register_of(const Scopes::Meaning& meaning, std::string_view name) {
        const Ref ref = decoder_.register_of(meaning, name);
        if (ref == no_ref) return {};
        const isa::Symbol& declared =
            meaning.range != nullptr ? meaning.range->declared() : meaning.symbol->declared;
        return {ref, declared.type, declared.is_no_address};
    }

    // The token is a register, and most have a comma behind them.
    bool named(NamedRegister reg) {
        const std::size_t token = at_++;
        const bool has_comma = tokens_.kind(at_) == Lexeme::comma;
        at_ += has_comma ? 1 : 0;
        return add_register(reg, token, has_comma);
    }

    // A guard that is written as well must be asked before: not all instructions of a shape would be alike.
    [[nodiscard]] bool add_register(NamedRegister reg, std::size_t token, bool has_comma = false) {
        const std::size_t number = reading_.registers;
        if (number == Reading::most_registers || reg.ref == guard_) return false;
        if (number == 0) first_type_ = reg.type;
        reading_.tokens[number] = static_cast<std::uint32_t>(token);
        reading_.values[number] = reg.ref;
        reading_.registers = number + 1;
        key_.register_of(reg.type, has_comma);
        return true;
    }

    bool other(Lexeme kind) {
        switch (kind) {
            case Lexeme::open_bracket:
                if (reading_.shaping == Shaping::address && !reading_.has_address && address()) return true;
                break;
            case Lexeme::integer:
            case Lexeme::floating: return immediate(kind == Lexeme::floating) || text();
            case Lexeme::directive:  // `%tid.x` is one name
                return tokens_.begin(at_) == tokens_.end(at_ - 1) && text();
            case Lexeme::two_char_operator: return text();
            case Lexeme::string:
            case Lexeme::invalid:
            case Lexeme::end: return false;
            default: break;
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
        if (const auto reg = register_of(meaning, name); reg.ref != no_ref) return named(reg);
        if (meaning.symbol != nullptr) return variable(*meaning.symbol);
        const bool may_be_special = name[0] == '%' || name == "_" || name == "WARP_SZ";
        return may_be_special && text();
    }

    bool variable(const Symbol& symbol) {
        if (symbol.kind != Symbol::Kind::variable || tokens_.kind(at_ + 1) == Lexeme::open_bracket ||
            symbol.since > tokens_.begin(0))
            return false;
        if (symbol.space == Space::global || symbol.space == Space::const_) {
            if (!stands_alone() || !add_immediate({tokens_.text(at_), symbol.address, false})) return false;
            key_.variable(Piece::address, symbol);
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
        const auto value = is_floating ? 0 : syntax::parse_integer(text);
        if (!value || !add_immediate({text, *value, is_floating})) return false;
        const bool is_single = is_floating && text[0] == '0' && (text[1] == 'f' || text[1] == 'F');
        key_.piece(is_single ? Piece::single : is_floating ? Piece::floating : Piece::integer);
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
            const auto value =
                tokens_.kind(at) == Lexeme::integer ? syntax::parse_integer(tokens_.text(at)) : std::nullopt;
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
        if (const auto known = known_register(token); known.ref != no_ref)
            return !known.is_no_address && add_register(known, token);
        const std::string_view name = tokens_.text(token);
        const Scopes::Meaning meaning = decoder_.scopes().find_register(name);
        if (const auto reg = register_of(meaning, name); reg.ref != no_ref)
            return !reg.is_no_address && add_register(reg, token);
        if (meaning.symbol == nullptr || meaning.symbol->kind != Symbol::Kind::variable ||
            meaning.symbol->since > tokens_.begin(0))
            return false;
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
    isa::RegisterType first_type_ = isa::RegisterType::none;
};

}  // namespace

std::optional<std::size_t> Reading::register_at(std::string_view name, const TokenView& instruction) const {
    return find_view(std::span<const std::uint32_t>(tokens).first(registers), name,
                     [&](std::uint32_t token) { return instruction.text(token); });
}

std::optional<std::size_t> Reading::immediate_at(std::string_view text) const {
    return find_view(std::span<const Immediate>(immediates).first(immediate_count), text,
                     [](const Immediate& i) { return i.text; });
}

Shapes::Name Shapes::name(std::string_view text) {
    if (const Name* known = names_.find(text)) return *known;
    kept_.emplace_back(text);
    const std::string_view kept = kept_.back();
    Name& name = *names_.put(kept).first;
    name.number = ++numbers_;
    name.shaping = shaping_of(kept.substr(0, kept.find_first_of(". \t\r\n/")));
    return name;
}

void Shapes::use_for(const isa::InstructionVerifier::Setting& setting) {
    setting_ = static_cast<std::uint32_t>(std::ranges::find(settings_, setting) - settings_.begin());
    if (setting_ < settings_.size()) return;
    if (settings_.size() == most_settings) {
        forget();
        settings_.clear();
        setting_ = 0;
    }
    settings_.push_back(setting);
}

void Shapes::forget() {
    entries_ = {};
    names_ = {};
    numbers_ = 0;
    kept_.clear();
}

bool read_shape(FunctionDecoder& decoder, const TokenView& tokens, Reading& reading, std::size_t& at) {
    return ShapeReader(decoder, decoder.module().shapes, reading, tokens).read(at);
}

}  // namespace ptxgraft::emulator
