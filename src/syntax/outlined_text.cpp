// Parameters and calls of outlined functions.
#include "syntax/outlined_text.hpp"

#include <algorithm>
#include <utility>

#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::syntax {
namespace {

// Instructions whose effect is on the function that they stand in, and why they stay there.
struct Bound {
    std::string_view opcode, why;
};
constexpr Bound bound_opcodes[] = {
    {"ret", "ret would return from the new function"},
    {"setmaxnreg", "setmaxnreg belongs to the entry"},
    {"alloca", "what alloca allocates lives as long as its function"},
    {"stacksave", "the stack is the function's own"},
    {"stackrestore", "the stack is the function's own"},
    {"wgmma", "registers of asynchronous wgmma cannot cross a call"},
};

// The ABI has no scalar parameters below 32 bits and above 64: those are arrays of bytes.
std::string declaration_of(std::uint32_t size, std::uint32_t align, const std::string& name) {
    if (size == 4 || size == 8) return ".param .b" + std::to_string(size * 8) + " " + name;
    return ".param .align " + std::to_string(align) + " .b8 " + name + "[" + std::to_string(size) + "]";
}

bool is_predicate(const Passed& r) { return r.passage.access.empty(); }

}  // namespace

std::optional<Passage> passage_of(std::string_view type) {
    const TypeRow* const found = find_type(type);
    if (found == nullptr || found->group != TypeGroup::fundamental) return std::nullopt;
    if (found->type == Type::pred) return Passage{found->word, "", row(Type::b32).bytes()};
    return Passage{found->word, row(register_type(found->type)).word, found->bytes()};
}

OutlinedText::OutlinedText(std::string name, std::string prefix, std::vector<Passed> in,
                           std::vector<Passed> out)
    : name_(std::move(name)), prefix_(std::move(prefix)), in_(std::move(in)), out_(std::move(out)) {
    // Wide ones first: each is aligned without gaps.
    std::ranges::stable_sort(out_, std::ranges::greater(), [](const Passed& r) { return r.passage.size; });
    std::uint32_t offset = 0;
    for (const Passed& r : out_) {
        results_.push_back(prefix_ + "_out" + (offset == 0 ? std::string() : "+" + std::to_string(offset)));
        offset += r.passage.size;
    }
}

std::string OutlinedText::head() const {
    std::string text = ".func ";
    if (!out_.empty()) text += "(" + result_declaration() + ") ";
    text.append(name_).append("(");
    for (std::size_t i = 0; i < in_.size(); ++i)
        text.append(i == 0 ? "" : ", ").append(parameter_declaration(i));
    return text + ")";
}

std::string OutlinedText::definition(std::span<const Passed> declared, std::string_view body) const {
    std::string text = head() + "\n{\n";
    for (const Passed& r : declared)
        text.append("\t.reg ").append(r.passage.type).append(" ").append(r.name).append(";\n");
    text += flag_declaration();
    for (std::size_t i = 0; i < in_.size(); ++i) text += load(in_[i], argument(i));
    text.append("\t{").append(body).append("\n\t}\n");
    for (std::size_t i = 0; i < out_.size(); ++i) text += store(out_[i], results_[i]);
    return text.append("\tret;\n}\n");
}

std::string OutlinedText::call(const std::string& line) const {
    std::string body;
    for (std::size_t i = 0; i < in_.size(); ++i) body += "\t" + parameter_declaration(i) + ";\n";
    if (!out_.empty()) body += "\t" + result_declaration() + ";\n";
    body += flag_declaration();
    for (std::size_t i = 0; i < in_.size(); ++i) body += store(in_[i], argument(i));
    body += "\tcall ";
    if (!out_.empty()) body.append("(").append(prefix_).append("_out), ");
    body.append(name_);
    if (!in_.empty()) body += ", (";
    for (std::size_t i = 0; i < in_.size(); ++i) body.append(i == 0 ? "" : ", ").append(argument(i));
    body.append(in_.empty() ? ";\n" : ");\n");
    for (std::size_t i = 0; i < out_.size(); ++i) body += load(out_[i], results_[i]);
    std::string text = line + "{";
    for (std::size_t at = 0; at < body.size(); at = body.find('\n', at) + 1)
        text.append(line).append(body, at, body.find('\n', at) - at);
    return text.append(line).append("}");
}

bool OutlinedText::has_predicates() const {
    return std::ranges::any_of(in_, is_predicate) || std::ranges::any_of(out_, is_predicate);
}

std::string OutlinedText::argument(std::size_t i) const { return prefix_ + "_in" + std::to_string(i); }

std::string OutlinedText::parameter_declaration(std::size_t i) const {
    return declaration_of(in_[i].passage.size, in_[i].passage.size, argument(i));
}

std::string OutlinedText::result_declaration() const {
    std::uint32_t size = 0;
    for (const Passed& r : out_) size += r.passage.size;
    const std::uint32_t align = out_.front().passage.size;
    if (out_.size() == 1) return declaration_of(size, align, prefix_ + "_out");
    return ".param .align " + std::to_string(align) + " .b8 " + prefix_ + "_out[" + std::to_string(size) +
           "]";
}

// What predicates go through.
std::string OutlinedText::flag_declaration() const {
    return has_predicates() ? "\t.reg .b32 " + prefix_ + "_bool;\n" : std::string();
}

std::string OutlinedText::load(const Passed& to, const std::string& from) const {
    if (!is_predicate(to))
        return "\tld.param" + std::string(to.passage.access) + " " + to.name + ", [" + from + "];\n";
    const std::string word = prefix_ + "_bool";
    return "\tld.param.b32 " + word + ", [" + from + "];\n\tsetp.ne.b32 " + to.name + ", " + word + ", 0;\n";
}

std::string OutlinedText::store(const Passed& from, const std::string& to) const {
    if (!is_predicate(from))
        return "\tst.param" + std::string(from.passage.access) + " [" + to + "], " + from.name + ";\n";
    const std::string word = prefix_ + "_bool";
    return "\tselp.b32 " + word + ", 1, 0, " + from.name + ";\n\tst.param.b32 [" + to + "], " + word + ";\n";
}

std::string_view bound_to_function(std::string_view opcode) {
    const auto found = std::ranges::find(bound_opcodes, opcode, &Bound::opcode);
    return found == std::end(bound_opcodes) ? std::string_view() : found->why;
}

bool reads_carry(std::string_view opcode) { return opcode == "addc" || opcode == "subc" || opcode == "madc"; }

}  // namespace ptxgraft::syntax
