// `.stub` files: a signature line and a program.

#include <fmt/format.h>

#include "base/try.hpp"
#include "site/operand.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::string_view keyword = "signature:", blanks = " \t\r\v\f";

// Where the effects begin that stand behind the operands: at the word `allow`, unless an operand has that
// name.
std::size_t find_allow(std::string_view line) {
    const std::size_t comma = line.rfind(',');
    std::size_t at = comma == std::string_view::npos ? 0 : comma + 1;
    const bool is_alone = comma == std::string_view::npos;
    for (int word = 0; at < line.size(); ++word) {
        at = std::min(line.find_first_not_of(blanks, at), line.size());
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        // in TYPE NAME allow …; a signature without operands has it at once
        if ((word == 3 || (word == 0 && is_alone)) && line.substr(at, end - at) == "allow") return at;
        at = end;
    }
    return std::string_view::npos;
}

// The effects of `allow load store`; `offset` is where the line stands in the text.
Expected<Effect> effects_of(std::string_view line, std::size_t offset) {
    Effect all = Effect::none;
    std::size_t count = 0;
    for (std::size_t at = 5; (at = line.find_first_not_of(blanks, at)) != std::string_view::npos; ++count) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        const std::string_view word = line.substr(at, end - at);
        const auto found = effect_from_name(word);
        const Span place{static_cast<std::uint32_t>(offset + at), static_cast<std::uint32_t>(offset + end)};
        if (!found) return fail(Errc::effect_unknown, place, std::string(word));
        all = all | *found;
        at = end;
    }
    const auto begin = static_cast<std::uint32_t>(offset);
    if (count == 0) return fail(Errc::effect_unknown, Span{begin, begin + 5}, "");
    return all;
}

}  // namespace

Error shifted(Error error, std::uint32_t by) {
    if (error.span.known() && !error.source) error.span = {error.span.begin + by, error.span.end + by};
    return error;
}

// The first line that is neither blank nor a comment.
Span signature_line(std::string_view text) {
    for (std::size_t begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
         begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::size_t word = text.find_first_not_of(blanks, begin);
        const bool is_comment = word < end && (text[word] == '#' || text.substr(word, 2) == "//");
        if (word < end && !is_comment)
            return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(end)};
        begin = end + 1;
    }
    const auto end = static_cast<std::uint32_t>(text.size());
    return {end, end};
}

Expected<StubFile> parse_file(std::string_view text) {
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    const Span line = signature_line(text);
    StubFile file;
    if (!text.substr(line.begin).starts_with(keyword)) return file;
    const std::uint32_t begin = line.begin + static_cast<std::uint32_t>(keyword.size());
    std::string_view written = text.substr(begin, line.end - begin);
    written = written.substr(0, std::min(written.find('#'), written.find("//")));
    if (const std::size_t allow = find_allow(written); allow != std::string_view::npos) {
        const auto effects = TRY(effects_of(written.substr(allow), begin + allow));
        file.policy.allowed = effects;
        written = written.substr(0, allow);
    }
    auto signature = Signature::parse(written);
    if (!signature) return tl::unexpected(shifted(signature.error(), begin));
    file.signature = std::move(*signature);
    file.program_offset = line.end;
    return file;
}

// A file's operands are operands of the site; what the file does not name must not need a value.
Expected<void> check_fit(const StubFile& file, const Signature& site, const Policy& policy, Span place) {
    for (const SiteOperand& operand : file.signature.operands) {
        const SiteOperand* other = site.find(operand.name);
        if (!other)
            return fail(Errc::stub_signature_mismatch, place,
                        fmt::format("it has no operand {}; its signature is: {}", operand.name, site.text()));
        if (other->type != operand.type || other->direction != operand.direction ||
            other->count != operand.count || other->user_type != operand.user_type)
            return fail(Errc::stub_signature_mismatch, place,
                        fmt::format("operand {} differs; its signature is: {}", operand.name, site.text()));
    }
    for (const SiteOperand& operand : site.operands)
        if (operand.direction == Direction::out && !file.signature.find(operand.name))
            return fail(
                Errc::stub_signature_mismatch, place,
                fmt::format("the site's `out` operand {} is not in the stub's signature", operand.name));
    if (!contains(policy.allowed, file.policy.allowed))
        return fail(Errc::stub_effect_forbidden, place,
                    "the site does not allow all the effects of the stub's signature line");
    return {};
}

}  // namespace ptxgraft::stack
