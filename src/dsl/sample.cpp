// Operands of a row as the emitter's, and the line that it prints of them.

#include "dsl/sample.hpp"

#include "base/try.hpp"
#include "isa/match.hpp"
#include "isa/sample.hpp"
#include "ptxgraft/dsl/builder.hpp"

namespace ptxgraft::dsl {
namespace {

using isa::Match;
using isa::OperandRule;
using isa::RuleKind;

class Samples {
  public:
    Samples(const Match& match, const SampleOptions& options) : match_(match), options_(options) {}
    std::vector<AnyOperand> all() { return list(match_.row->operands); }

  private:
    std::vector<AnyOperand> list(std::span<const OperandRule> rules) {
        std::vector<AnyOperand> out;
        for (const OperandRule& rule : rules)
            if (is_needed(rule, match_) ||
                (is_free(rule) &&
                 (rule.kind == RuleKind::samplerref ? options_.with_sampler : options_.with_optional)))
                out.push_back(one(rule));
        return out;
    }
    AnyOperand one(const OperandRule& rule) {
        switch (rule.kind) {
            case RuleKind::vector: {
                std::vector<AnyOperand> parts;
                for (std::uint32_t i = 0; i < match_.count(rule.count); ++i) parts.push_back(value(rule));
                return AnyOperand::vector(parts);
            }
            case RuleKind::pair: {
                const AnyOperand first = one(rule.children[0]);
                if (!options_.with_optional && rule.children[1].is_optional) return first;
                return AnyOperand::pair(first, one(rule.children[1]));
            }
            case RuleKind::address: return AnyOperand::address(list(rule.children));
            case RuleKind::base: return reg(rule.is_exact || rule.register_only ? Type::b32 : Type::b64);
            case RuleKind::label: return AnyOperand::named("L", ShapeKind::label);
            case RuleKind::labels: return AnyOperand::named("T", ShapeKind::targets);
            case RuleKind::callee:
                return isa::calls_by_address(*match_.row) ? reg(Type::b64)
                                                          : AnyOperand::named("fn1", ShapeKind::function);
            case RuleKind::list: {
                const AnyOperand argument = AnyOperand::reg("b32_1", Type::b32);
                return AnyOperand::list({&argument, 1});
            }
            case RuleKind::prototype: return AnyOperand::named("P", ShapeKind::prototype);
            case RuleKind::texref: return AnyOperand::named("tex_", ShapeKind::texture);
            case RuleKind::samplerref:
                return options_.with_sampler ? AnyOperand::named("sampler_", ShapeKind::sampler)
                                             : reg(Type::b64);
            case RuleKind::surfref: return AnyOperand::named("surf_", ShapeKind::surface);
            case RuleKind::selector: return part(".h1");
            case RuleKind::selector2: return part(".h03");
            case RuleKind::selector4: return part(".b0426");
            case RuleKind::mask2: return part(".h1");
            case RuleKind::mask4: return part(".b20");
            default: return value(rule);
        }
    }
    AnyOperand part(std::string_view text) {
        const AnyOperand whole = reg(Type::u32);
        return options_.with_optional ? AnyOperand::part(whole, text) : whole;
    }
    AnyOperand reg(Type type) {
        return AnyOperand::reg(std::string(syntax::row(type).name()) + "_" + std::to_string(next_++), type);
    }
    AnyOperand value(const OperandRule& rule) {
        if (rule.constant_only && rule.takes_sink) return sink;
        if (rule.constant_only)
            return rule.range == nullptr        ? 1
                   : rule.range->values.empty() ? rule.range->low
                                                : rule.range->values.front();
        const isa::TypeInfo& type = isa::info(match_.type(rule.type));
        if (type.is_declared) return reg(type.type);
        return reg(syntax::find_type(".b" + std::to_string(type.bits))->type);
    }

    const Match& match_;
    SampleOptions options_;
    std::uint32_t next_ = 0;
};

// A builder for no target, whose text can be read.
class Open : public Builder<> {
  public:
    Open() = default;
    std::string take() { return std::exchange(body_, {}); }
};

}  // namespace

std::vector<AnyOperand> sample_operands(const isa::Match& match, const SampleOptions& options) {
    return Samples(match, options).all();
}

Expected<std::string> sample_line(const isa::Match& match, const SampleOptions& options) {
    Open builder;
    TRY(builder.emit_list(canonical_name(match), sample_operands(match, options)));
    const std::string line = builder.take();
    return line.substr(1, line.size() - 2);
}

}  // namespace ptxgraft::dsl
