// Makes a signature of a site's operands and checks it: names, registers, fragments.

#include <algorithm>
#include <charconv>

#include "base/try.hpp"
#include "site/operand.hpp"
#include "site/words.hpp"

namespace ptxgraft {
namespace site {
namespace {

struct RegisterName {
    std::string text;
    std::uint32_t operand;
};

std::vector<RegisterName> register_names(std::span<const OperandText> operands) {
    std::vector<RegisterName> names;
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
        const OperandText& operand = operands[i];
        if (operand.count == 0) names.push_back({std::string(operand.name), i});
        for (std::uint32_t k = 0; k < operand.count; ++k)
            names.push_back({std::string(operand.name) + std::to_string(k), i});
    }
    return names;
}

// ptxas takes `_acc10` for number 10 of `_acc`, never for number 0 of `_acc1`.
Expected<void> check_fragment_names(std::span<const OperandText> operands) {
    for (const OperandText& operand : operands)
        if (operand.count > 0 && operand.name.back() >= '0' && operand.name.back() <= '9')
            return fail(Errc::fragment_name_unusable, operand.span,
                        "_" + std::string(operand.name) + "<" + std::to_string(operand.count) + ">");
    return {};
}

Expected<void> check_registers(std::span<const OperandText> operands) {
    std::vector<RegisterName> names = register_names(operands);
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return a.text < b.text; });
    const auto clash = std::adjacent_find(names.begin(), names.end(),
                                          [](const auto& a, const auto& b) { return a.text == b.text; });
    if (clash == names.end()) return check_fragment_names(operands);
    const OperandText& second = operands[(clash + 1)->operand];
    return fail(Errc::operands_clash, second.span, std::string("_").append(clash->text));
}

// Of few scalars, the common case, without allocating.
Expected<void> check_scalars(std::span<const OperandText> operands) {
    for (std::size_t i = 0; i < operands.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (operands[i].name == operands[k].name)
                return fail(Errc::operands_clash, operands[i].span,
                            std::string("_").append(operands[i].name));
    return {};
}

}  // namespace

bool same(const SiteOperand& operand, const OperandText& text) {
    const std::string_view stem = operand.register_name;
    const bool same_register =
        text.foreign_register.empty()
            ? stem.size() == text.name.size() + 1 && stem[0] == '_' && stem.substr(1) == text.name
            : stem.substr(1) == text.foreign_register && stem[0] == '%';
    return operand.name == text.name && operand.type == text.type && operand.direction == text.direction &&
           operand.count == text.count && operand.user_type == text.user_type && same_register;
}

Signature make_signature(std::span<const OperandText> operands) {
    Signature signature;
    signature.operands.reserve(operands.size());
    for (const OperandText& text : operands) {
        const bool foreign = !text.foreign_register.empty();
        std::string register_name(1, foreign ? '%' : '_');
        register_name += foreign ? text.foreign_register : text.name;
        signature.operands.push_back({std::string(text.name), text.type, text.direction, text.count,
                                      std::string(text.user_type), std::move(register_name)});
    }
    return signature;
}

Expected<void> read_type(std::string_view word, Span span, OperandText& operand) {
    const std::size_t colon = word.find(':');
    if (colon != std::string_view::npos) {
        operand.user_type = word.substr(0, colon);
        if (!is_name(operand.user_type)) return fail(Errc::type_unknown, span, unknown_type(word));
        word.remove_prefix(colon + 1);
    }
    const auto type = type_from_name(word);
    if (!type) return fail(Errc::type_unknown, span, unknown_type(word));
    operand.type = *type;
    return {};
}

Expected<std::uint32_t> read_count(std::string_view digits, Span span) {
    std::uint32_t count = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, count);
    if (error != std::errc{} || stop != end || count == 0)
        return fail(Errc::fragment_count_wrong, span, std::string(digits));
    if (count > max_registers) return fail(Errc::registers_too_many, span);
    return count;
}

Expected<void> check_operands(std::span<const OperandText> operands) {
    if (operands.size() > max_operands) return fail(Errc::operands_too_many, operands[max_operands].span);
    std::uint32_t registers = 0;
    bool fragments = false;
    for (const OperandText& operand : operands) {
        registers += std::max(operand.count, 1u);
        fragments = fragments || operand.count > 0;
        if (registers > max_registers) return fail(Errc::registers_too_many, operand.span);
    }
    return fragments ? check_registers(operands) : check_scalars(operands);
}

namespace {

// `in f32 frag[8]`
Expected<OperandText> read_operand(std::string_view text, Span item) {
    Words words(text, item.begin, item.end);
    OperandText operand;
    operand.span = item;
    const std::string_view direction = words.next();
    if (direction != "in" && direction != "mod" && direction != "out")
        return fail(Errc::signature_malformed, words.span());
    operand.direction = direction == "in"    ? Direction::in
                        : direction == "mod" ? Direction::mod
                                             : Direction::out;
    const std::string_view type = words.next();
    TRY(read_type(type, words.span(), operand));
    operand.name = words.next();
    const Span name_span = words.span();
    if (const std::size_t bracket = operand.name.find('['); bracket != std::string_view::npos) {
        const std::string_view count = operand.name.substr(bracket + 1);
        if (!count.ends_with(']')) return fail(Errc::signature_malformed, name_span);
        const auto number = TRY(read_count(count.substr(0, count.size() - 1), name_span));
        operand.count = number;
        operand.name = operand.name.substr(0, bracket);
    }
    if (!is_name(operand.name)) return fail(Errc::signature_malformed, name_span);
    if (!words.next().empty()) return fail(Errc::signature_malformed, words.span());
    return operand;
}

}  // namespace
}  // namespace site

Expected<Signature> Signature::parse(std::string_view text) {
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    // Line ends are blanks here.
    std::string line(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (line.find_first_not_of(" \t\r\f\v") == std::string::npos) return Signature{};
    std::vector<site::OperandText> operands;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        const Span item{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
        const auto operand = TRY(site::read_operand(line, item));
        operands.push_back(operand);
        begin = end + 1;
    }
    TRY(site::check_operands(operands));
    return site::make_signature(operands);
}

std::string Signature::text() const {
    std::string text;
    for (const SiteOperand& operand : operands) {
        if (!text.empty()) text += ", ";
        text.append(ptxgraft::name(operand.direction)).append(" ");
        if (!operand.user_type.empty()) text.append(operand.user_type).append(":");
        text.append(ptxgraft::name(operand.type)).append(" ").append(operand.name);
        if (operand.count > 0) text.append("[").append(std::to_string(operand.count)).append("]");
    }
    return text;
}

const SiteOperand* Signature::find(std::string_view name) const {
    const auto found = std::find_if(operands.begin(), operands.end(),
                                    [&](const SiteOperand& operand) { return operand.name == name; });
    return found == operands.end() ? nullptr : &*found;
}

}  // namespace ptxgraft
