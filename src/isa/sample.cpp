// Writes an example of operands for a row: what the tests give to ptxas.

#include "isa/sample.hpp"

#include <algorithm>

#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::isa {
bool calls_by_address(const Row& row) {
    return std::any_of(row.operands.begin(), row.operands.end(),
                       [](const OperandRule& rule) { return rule.kind == RuleKind::prototype; });
}

namespace {

class Operands {
  public:
    // `sampler`: what stands for one where a row has it; empty: nothing
    Operands(const Match& match, bool with_optional, std::string sampler)
        : match_(match), with_optional_(with_optional), sampler_(std::move(sampler)) {}
    std::vector<std::string> list() { return list(match_.row->operands); }

  private:
    std::vector<std::string> list(std::span<const OperandRule> rules) {
        std::vector<std::string> out;
        for (const OperandRule& rule : rules)
            if (is_present(rule)) out.push_back(text(rule));
        return out;
    }
    [[nodiscard]] bool is_present(const OperandRule& rule) const {
        return is_needed(rule, match_) ||
               (is_free(rule) && (rule.kind == RuleKind::samplerref ? !sampler_.empty() : with_optional_));
    }
    static std::string joined(const std::vector<std::string>& parts) {
        std::string out;
        for (const std::string& part : parts) out.append(out.empty() ? "" : ", ").append(part);
        return out;
    }
    std::string text(const OperandRule& rule) {
        switch (rule.kind) {
            case RuleKind::vector: {
                std::vector<std::string> parts;
                for (std::uint32_t i = 0; i < match_.count(rule.count); ++i) parts.push_back(value(rule));
                return "{" + joined(parts) + "}";
            }
            case RuleKind::pair: {
                const std::string first = text(rule.children[0]);
                return with_optional_ || !rule.children[1].is_optional ? first + "|" + text(rule.children[1])
                                                                       : first;
            }
            case RuleKind::address: return "[" + joined(list(rule.children)) + "]";
            case RuleKind::base:
                return (rule.is_exact || rule.register_only ? "b32_" : "b64_") + std::to_string(next_++);
            case RuleKind::label: return "L";
            case RuleKind::labels: return "T";
            case RuleKind::callee:
                return calls_by_address(*match_.row) ? "b64_" + std::to_string(next_++) : "fn1";
            case RuleKind::list: return "(b32_1)";
            case RuleKind::prototype: return "P";
            case RuleKind::texref: return "tex_";
            case RuleKind::samplerref: return sampler_;
            case RuleKind::surfref: return "surf_";
            case RuleKind::selector: return part(".h1");
            case RuleKind::selector2: return part(".h03");
            case RuleKind::selector4: return part(".b0426");
            case RuleKind::mask2: return part(".h1");
            case RuleKind::mask4: return part(".b20");
            default: return value(rule);
        }
    }
    std::string part(const char* of_register) {
        return "u32_" + std::to_string(next_++) + (with_optional_ ? of_register : "");
    }
    std::string value(const OperandRule& rule) {
        if (rule.constant_only && rule.takes_sink) return "_";  // nothing else has a meaning there
        if (rule.constant_only)
            return rule.range == nullptr
                       ? "1"
                       : std::to_string(rule.range->values.empty() ? rule.range->low
                                                                   : rule.range->values.front());
        const TypeInfo& type = info(match_.type(rule.type));
        std::string name(type.name);
        if (!type.is_declared) name = "b" + std::to_string(type.bits);
        return name + "_" + std::to_string(next_++);
    }
    const Match& match_;
    bool with_optional_;
    std::string sampler_;
    std::uint32_t next_ = 0;
};

}  // namespace

std::vector<std::string> sample_operands(const Match& match, bool with_optional, std::string sampler) {
    return Operands(match, with_optional, std::move(sampler)).list();
}

std::string sample_line(const std::string& name, const std::vector<std::string>& operands) {
    std::string line = name;
    for (std::size_t i = 0; i < operands.size(); ++i) line.append(i == 0 ? " " : ", ").append(operands[i]);
    return with_labels(line + ";");
}

std::string with_labels(std::string line) {
    if (line.find(" L") != std::string::npos || line.find(" T;") != std::string::npos)
        line += " L: T: .branchtargets L;";
    return line;
}

std::string sample_head(std::string_view version, std::string_view target, std::string_view line) {
    const auto is_named = [&](std::string_view name) {
        return line.empty() || line.find(name) != std::string_view::npos;
    };
    std::string text = std::string(".version ").append(version).append("\n.target ").append(target);
    text += "\n.address_size 64\n";
    if (line.empty()) text += ".global .align 128 .b8 gv[1024];\n.shared .align 128 .b8 sv[1024];\n";
    if (is_named("tex_")) text += ".global .texref tex_;\n";
    if (is_named("surf_")) text += ".global .surfref surf_;\n";
    // A function of what the call hands over and takes.
    const bool gives = is_named("call (") || is_named("call.uni ("), takes = is_named(", (");
    if (is_named("fn1"))
        text.append(".func ")
            .append(gives ? "(.reg .b32 r0) " : "")
            .append("fn1")
            .append(takes ? " (.reg .b32 a0) { " : " { ")
            .append(gives ? "mov.b32 r0, 1; ret; }\n" : "ret; }\n");
    text += ".entry k() {\n";
    if (is_named(" P"))
        text.append("P: .callprototype ")
            .append(gives ? "(.reg .b32 _) _" : "_")
            .append(takes ? " (.reg .b32 _);\n" : ";\n");
    for (const syntax::TypeRow& type : syntax::types) {
        const std::string stem = std::string(type.name()) + "_";
        if (type.group == syntax::TypeGroup::fundamental && is_named(stem))
            text.append(".reg ").append(type.word).append(" ").append(stem).append("<300>;\n");
    }
    return text;
}

}  // namespace ptxgraft::isa
