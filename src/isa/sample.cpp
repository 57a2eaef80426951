// Writes an example of operands for a row: what the tests give to ptxas.

#include "isa/sample.hpp"

namespace ptxgraft::isa {
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
            case RuleKind::callee: return "fn1";
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
    line += ";";
    if (line.find(" L") != std::string::npos || line.find(" T;") != std::string::npos)
        line += " L: T: .branchtargets L;";
    return line;
}

}  // namespace ptxgraft::isa
