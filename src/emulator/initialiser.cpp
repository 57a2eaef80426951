#include "emulator/initialiser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptxgraft::emulator {
namespace {

using syntax::Token;
using syntax::TokenKind;

class InitialiserReader {
  public:
    InitialiserReader(const ModuleDecoder& module, std::span<const Token> tokens, std::string_view type,
                      Span span)
        : module_(module),
          tokens_(tokens),
          type_(type),
          element_(std::max<std::uint64_t>(type_bits(type) / 8, 1)),
          span_(span) {}

    // Strides: bytes of what one list of each level holds; the lists of the innermost level hold single
    // elements.
    Expected<void> read(std::byte* bytes, std::uint64_t size, const std::vector<std::uint64_t>& strides) {
        bytes_ = bytes;
        size_ = size;
        if (auto done = value(0, 0, strides); !done) return done;
        return at_ == tokens_.size() ? Expected<void>{} : wrong();
    }

  private:
    [[nodiscard]] bool take(std::string_view text) {
        if (at_ >= tokens_.size() || tokens_[at_].text != text) return false;
        ++at_;
        return true;
    }

    [[nodiscard]] tl::unexpected<Error> wrong() const {
        const std::string what = at_ < tokens_.size() ? std::string(tokens_[at_].text) : "its end";
        return fail(Errc::invalid_declaration, span_, fmt::format("initialiser at {}", what));
    }

    // Nesting deeper than the array's extents is an error, so this recurses no deeper than those.
    Expected<void> value(std::uint64_t offset, std::size_t level, const std::vector<std::uint64_t>& strides) {
        if (!take("{")) return leaf(offset);
        if (level >= strides.size()) return wrong();
        const std::uint64_t stride = strides[level];
        for (std::uint64_t i = 0; !take("}"); ++i) {
            if (i != 0 && !take(",")) return wrong();
            if (i != 0 && take("}")) return {};
            // A flat list fills a nested array element by element.
            const bool is_list = at_ < tokens_.size() && tokens_[at_].text == "{";
            const std::uint64_t step = is_list ? stride : strides.back();
            if (auto done = value(offset + i * step, level + 1, strides); !done) return done;
        }
        return {};
    }

    Expected<void> leaf(std::uint64_t offset) {
        if (at_ >= tokens_.size()) return wrong();
        if (tokens_[at_].kind == TokenKind::string) return string(offset);
        auto bits = number();
        if (!bits) return tl::unexpected<Error>(bits.error());
        if (offset > size_ || size_ - offset < element_) {
            return fail(Errc::invalid_declaration, span_, "more initial values than elements");
        }
        std::memcpy(bytes_ + offset, &*bits, static_cast<std::size_t>(std::min<std::uint64_t>(element_, 8)));
        return {};
    }

    Expected<void> string(std::uint64_t offset) {
        std::string_view text = tokens_[at_++].text;
        text = text.substr(1, text.size() - 2);
        if (offset > size_ || size_ - offset < text.size()) {
            return fail(Errc::invalid_declaration, span_, "a longer string than the variable");
        }
        std::memcpy(bytes_ + offset, text.data(), text.size());
        return {};
    }

    Expected<std::uint64_t> number() {
        bool negative = false;
        while (take("-")) negative = !negative;
        if (at_ >= tokens_.size()) return wrong();
        const Token token = tokens_[at_];
        if (token.kind == TokenKind::identifier) return address();
        const std::string text = fmt::format("{}{}", negative ? "-" : "", token.text);
        if (const auto mask = syntax::parse_integer(text);
            mask && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "(") {
            at_ += 2;
            auto whole = address();
            if (!whole || !take(")")) return wrong();
            return *mask == 0 ? 0
                              : (*whole & *mask) >> std::countr_zero(*mask);  // PTX ISA 5.4.4: `0xFF00(x)`
        }
        const auto value = syntax::parse_integer(text);
        const auto bits =
            immediate_bits(text, static_cast<std::int64_t>(value.value_or(0)), immediate_type(type_));
        if (!bits) return wrong();
        ++at_;
        return *bits;
    }

    // `x`, `x+8`, `generic(x)`, `generic(x)+8`
    Expected<std::uint64_t> address() {
        const bool generic = take("generic");
        if (generic && !take("(")) return wrong();
        if (at_ >= tokens_.size()) return wrong();
        const std::string_view name = tokens_[at_++].text;  // or an integer, inside of a mask
        auto base = base_address(name, generic);
        if (!base) return base;
        auto inner = offset();
        if (!inner || (generic && !take(")"))) return wrong();
        auto outer = offset();
        if (!outer) return wrong();
        return *base + *inner + *outer;
    }

    [[nodiscard]] Expected<std::uint64_t> base_address(std::string_view name, bool generic) const {
        if (const auto number = syntax::parse_integer(name)) return *number;
        if (const auto function = module_.find_function(name))
            return function_window + *function * function_stride;
        const Symbol* symbol = module_.find(name);
        if (symbol == nullptr) return fail(Errc::unknown_identifier, span_, std::string(name));
        if (symbol->kind == Symbol::Kind::external)
            return fail(Errc::unresolved_external, span_, std::string(name));
        return symbol->address + (generic ? window(symbol->space) : 0);
    }

    Expected<std::uint64_t> offset() {
        std::uint64_t sum = 0;
        while (at_ < tokens_.size() && (tokens_[at_].text == "+" || tokens_[at_].text == "-")) {
            const bool minus = tokens_[at_++].text == "-";
            const bool negated = take("-");
            const auto value = at_ < tokens_.size() ? syntax::parse_integer(tokens_[at_].text) : std::nullopt;
            if (!value) return wrong();
            ++at_;
            sum += minus != negated ? 0 - *value : *value;
        }
        return sum;
    }

    const ModuleDecoder& module_;
    std::span<const Token> tokens_;
    std::size_t at_ = 0;
    std::string_view type_;
    std::uint64_t element_;
    Span span_;
    std::byte* bytes_ = nullptr;
    std::uint64_t size_ = 0;
};

}  // namespace

std::uint64_t count_elements(std::span<const Token> initialiser) {
    if (initialiser.size() == 1 && initialiser[0].kind == TokenKind::string)
        return initialiser[0].text.size() - 2;
    std::uint64_t count = 0;
    bool in_value = false;
    for (const Token& token : initialiser) {
        const bool separates = token.text == "{" || token.text == "}" || token.text == ",";
        count += !separates && !in_value ? 1 : 0;
        in_value = !separates;
    }
    return count;
}

Expected<void> initialise_variable(const ModuleDecoder& module, std::byte* bytes, std::uint64_t size,
                                   const syntax::Statement::Variable& variable,
                                   const syntax::Statement::Declarator& declarator, Span span) {
    if (declarator.initialiser.empty()) return {};
    const std::uint64_t element = std::max<std::uint64_t>(type_bits(variable.type) / 8, 1);
    std::vector<std::uint64_t> strides = {element};
    if (variable.vector > 1) strides.insert(strides.begin(), element * variable.vector);
    for (std::size_t i = declarator.extents.size(); i > 1; --i) {
        strides.insert(strides.begin(), strides.front() * declarator.extents[i - 1]);
    }
    return InitialiserReader(module, declarator.initialiser, variable.type, span).read(bytes, size, strides);
}

}  // namespace ptxgraft::emulator
