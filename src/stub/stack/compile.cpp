// Text to stub, and `.stub` files.

#include <fmt/format.h>

#include "ptxgraft/stack.hpp"
#include "stub/builder.hpp"
#include "stub/stack/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::string_view keyword = "signature:";

// One per thread: compiles after the first do not allocate more than the stub that they return.
struct Workspace {
    Compiler compiler;
    Program program;
    std::vector<Span> places;
};

Workspace& workspace() {
    thread_local Workspace work;
    return work;
}

Error shifted(Error error, std::uint32_t by) {
    if (error.span.known()) error.span = {error.span.begin + by, error.span.end + by};
    return error;
}

Expected<Stub> make_stub(Compiler& compiler, std::span<const Instruction> program, const Signature& signature,
                         const CompileOptions& options) {
    const auto ptx = compiler.compile(program, signature, options);
    if (!ptx) return tl::unexpected(ptx.error());
    return StubBuilder::make(std::string(*ptx), signature, Effect::none, compiler.instruction_count());
}

// A file's operands are operands of the site; what the file does not name must not need a value.
Expected<void> check_fit(const Signature& file, const Signature& site, Span place) {
    for (const SiteOperand& operand : file.operands) {
        const SiteOperand* other = site.find(operand.name);
        if (!other)
            return fail(Errc::stub_signature_mismatch, place,
                        fmt::format("it has no operand {}; its signature is: {}", operand.name, site.text()));
        if (other->type != operand.type || other->direction != operand.direction ||
            other->count != operand.count)
            return fail(Errc::stub_signature_mismatch, place,
                        fmt::format("operand {} differs; its signature is: {}", operand.name, site.text()));
    }
    for (const SiteOperand& operand : site.operands)
        if (operand.direction == Direction::out && !file.find(operand.name))
            return fail(
                Errc::stub_signature_mismatch, place,
                fmt::format("the site's `out` operand {} is not in the stub's signature", operand.name));
    return {};
}

// The end of the program is where an `out` is missed: point at the last token.
Span place_of(const Error& error, const std::vector<Span>& places, std::size_t text_size) {
    if (error.index < places.size()) return places[error.index];
    const auto end = static_cast<std::uint32_t>(text_size);
    return places.empty() ? Span{0, end} : places.back();
}

struct Line {
    std::size_t begin, end;
};

// The first line that is neither blank nor a comment.
Line first_line(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::size_t word = text.find_first_not_of(" \t\r\v\f", begin);
        const bool is_comment = word < end && (text[word] == '#' || text.substr(word, 2) == "//");
        if (word < end && !is_comment) return {word, end};
        begin = end + 1;
    }
    return {text.size(), text.size()};
}

}  // namespace

Expected<StubFile> parse_file(std::string_view text) {
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    const Line line = first_line(text);
    StubFile file;
    if (!text.substr(line.begin).starts_with(keyword)) return file;
    const std::size_t begin = line.begin + keyword.size();
    std::string_view written = text.substr(begin, line.end - begin);
    written = written.substr(0, std::min(written.find('#'), written.find("//")));
    auto signature = Signature::parse(written);
    if (!signature) return tl::unexpected(shifted(signature.error(), static_cast<std::uint32_t>(begin)));
    file.signature = std::move(*signature);
    file.program_offset = static_cast<std::uint32_t>(line.end);
    return file;
}

Expected<Stub> compile(std::string_view text, const Signature& signature) {
    const auto file = parse_file(text);
    if (!file) return tl::unexpected(file.error());
    if (file->program_offset != 0) {
        const Line line = first_line(text);
        const Span place{static_cast<std::uint32_t>(line.begin), static_cast<std::uint32_t>(line.end)};
        if (auto fits = check_fit(file->signature, signature, place); !fits)
            return tl::unexpected(fits.error());
    }
    Workspace& work = workspace();
    if (auto parsed = parse_into(text.substr(file->program_offset), signature, work.program, work.places);
        !parsed)
        return tl::unexpected(shifted(parsed.error(), file->program_offset));
    auto stub = make_stub(work.compiler, work.program, signature,
                          {.missing = Missing::error, .leftover = Leftover::error});
    if (stub) return stub;
    Error error = stub.error();
    error.span = place_of(error, work.places, text.size() - file->program_offset);
    return tl::unexpected(shifted(std::move(error), file->program_offset));
}

Expected<Stub> compile(std::string_view text, const Site& site) { return compile(text, site.signature); }

Expected<Stub> compile(std::span<const Instruction> program, const Signature& signature,
                       const CompileOptions& options) {
    return make_stub(workspace().compiler, program, signature, options);
}

}  // namespace ptxgraft::stack
