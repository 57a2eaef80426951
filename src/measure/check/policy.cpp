// Looks through PTX for what makes a variant look fast. What is a special register, and which of them change,
// says the instruction table.

#include "ptxgraft/measure/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::measure {
namespace {

using syntax::Instruction;
using syntax::Operand;
using syntax::Statement;

// Beside those that the table has as volatile: the same for a launch, and another one for the next.
constexpr std::array more_clocks = {"%gridid", "%nsmid", "%nwarpid"};
// Opcodes by how they begin, PTX ISA 9.7.9.
constexpr std::array cache_opcodes = {"createpolicy", "applypriority", "discard", "prefetch", "prefetchu"};

/// What is forbidden unless it is allowed somewhere.
struct Doubt {
    Span span;
    std::string what;  ///< two of the same are alike: an instruction's name, a register, a variable
    std::string_view why;
};

bool is_clock(std::string_view name) {
    if (!name.starts_with('%')) return false;
    const auto special = isa::special_register(name);
    return (special && special->is_volatile) || std::ranges::find(more_clocks, name) != more_clocks.end();
}

bool is_about_caches(const Instruction& i) {
    if (std::ranges::find(cache_opcodes, i.opcode) != cache_opcodes.end()) return true;
    return std::ranges::any_of(i.modifiers, [](std::string_view modifier) {
        return modifier == ".L2::cache_hint" || modifier == ".prefetch" ||
               modifier.find("evict_last") != modifier.npos;
    });
}

// Where a thread may wait for what other blocks, or the launch before, have left.
bool is_waiting(const Instruction& i) {
    if (i.opcode == "nanosleep" || i.has(".volatile") || i.has(".mmio")) return true;
    const bool is_load = i.opcode == "ld" || i.opcode == "multimem";
    return is_load && (i.has(".acquire") || i.has(".relaxed")) && (i.has(".gpu") || i.has(".sys"));
}

class Look {
  public:
    explicit Look(const Policy& policy) : policy_(policy) {}

    std::vector<Doubt> doubts(const syntax::Module& module) {
        for (const Statement& statement : module.walk()) look_at(statement);
        return std::move(doubts_);
    }

  private:
    void look_at(const Statement& statement) {
        if (const auto instruction = statement.instruction()) return look_at(*instruction);
        const auto variable = policy_.variables ? std::nullopt : statement.variable();
        if (!variable || variable->space != ".global") return;
        for (const Statement::Declarator& one : variable->declarators)
            doubts_.push_back({statement.span(), std::string(one.name),
                               "lasts from launch to launch; a variant keeps nothing"});
    }
    void look_at(const Instruction& i) {
        if (!policy_.caches && is_about_caches(i))
            doubts_.push_back({i.span, std::string(i.name), "tells the caches what to keep"});
        if (!policy_.waiting && is_waiting(i))
            doubts_.push_back({i.span, std::string(i.name), "waits for other blocks, or looks at them"});
        if (policy_.clocks) return;
        for (const Operand& operand : i.operands) look_at(operand);
    }
    void look_at(const Operand& operand) {
        for (const std::string_view name : {operand.text(), operand.base()})
            if (is_clock(name)) {
                doubts_.push_back({operand.span(), std::string(name),
                                   "tells when or where a thread runs, or which launch it is"});
                return;
            }
        for (const Operand& child : operand.children()) look_at(child);
    }

    const Policy& policy_;
    std::vector<Doubt> doubts_;
};

tl::unexpected<Error> forbidden(const Doubt& doubt) {
    return fail(Errc::stub_effect_forbidden, doubt.span,
                fmt::format("{} is not allowed: it {}", doubt.what, doubt.why));
}

}  // namespace

Expected<void> check_policy(const Stub& stub, const Policy& policy) {
    // A stub's text is a part of a body: parsed in one, which is not looked up anywhere.
    const std::string begin = ".version 9.0\n.func f()\n{\n";
    const auto module = TRY(syntax::parse(begin + stub.ptx() + "\n}\n"));
    const std::vector<Doubt> doubts = Look(policy).doubts(module);
    if (doubts.empty()) return {};
    Doubt first = doubts.front();
    first.span.begin -= static_cast<std::uint32_t>(begin.size());
    first.span.end -= static_cast<std::uint32_t>(begin.size());
    auto failed = forbidden(first);
    failed.value().source = std::make_shared<const SourceText>(SourceText{"stub", stub.ptx()});
    return failed;
}

Expected<void> check_policy(const syntax::Module& module, const syntax::Module& skeleton,
                            const Policy& policy) {
    const std::vector<Doubt> doubts = Look(policy).doubts(module);
    if (doubts.empty()) return {};
    std::set<std::string> allowed;
    for (Doubt& doubt : Look(policy).doubts(skeleton)) allowed.insert(std::move(doubt.what));
    for (const Doubt& doubt : doubts)
        if (!allowed.contains(doubt.what)) return forbidden(doubt);
    return {};
}

}  // namespace ptxgraft::measure
