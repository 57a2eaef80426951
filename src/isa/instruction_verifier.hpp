#pragma once
// The check of single instructions (PTX ISA, chapter 9): of verify, which walks over a module, and of the
// emulator's decoder, which asks for each instruction that looks like none before it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lent.hpp"
#include "isa/match.hpp"
#include "isa/operands.hpp"
#include "isa/symbols.hpp"
#include "isa/target.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::isa {

class InstructionVerifier {
  public:
    InstructionVerifier(const syntax::Module& module, const VerifyOptions& options, const SymbolSource& names)
        : module_(module), options_(options), names_(names) {
        setting_.manual_order = options.manual_order;
    }
    /// Reads .version and .target, and reports what is wrong with them. Comes before all else.
    void header();
    /// The function whose instructions follow.
    void enter(const syntax::Statement& function) { function_ = function; }
    /// Checks an instruction and reports what is wrong with it. The row of the table that it follows; null
    /// when there is none. Holds until the next call.
    const Match* look_at(const syntax::Instruction& instruction);
    /// What has been reported since the last call.
    [[nodiscard]] std::vector<Error> take_findings() { return std::exchange(findings_, {}); }
    [[nodiscard]] bool has_findings() const { return !findings_.empty(); }
    /// All beside the instruction itself that the checks of most instructions look at.
    struct Setting {
        std::uint16_t version = newest_version;
        Architecture target = {};
        bool knows_target = false;
        bool has_samplers = false;  ///< .target …, texmode_independent
        /// A function with several results in registers is right in modules without an ABI alone: all calls
        /// of those are inlined, so predicates and narrow integers pass, but no function has an address.
        bool has_abi = true;
        std::uint32_t address_size = 64;
        bool manual_order = false;
        [[nodiscard]] friend bool operator==(const Setting&, const Setting&) = default;
    };
    [[nodiscard]] const Setting& setting() const { return setting_; }

  protected:
    void report(Errc code, Span span, std::string message);
    void report(Errc code, std::string_view place, std::string message) {
        report(code, span_of(place), std::move(message));
    }
    /// The span of a view into the module's text; unknown for edited text.
    [[nodiscard]] Span span_of(std::string_view text) const;

    void require(std::span<const Since> since, Span span, const std::string& what);
    /// Of what came with one version, for one architecture and all later ones.
    void require(std::uint16_t version, Architecture sm, Span span, std::string_view what);
    void bank(std::string_view number);
    void report_missing(const Availability& availability, Span span, std::string_view what);
    void needs_abi(Span place, std::string_view what);  // call.cpp

    const syntax::Module& module_;
    const VerifyOptions options_;
    const SymbolSource& names_;
    std::vector<Error> findings_;
    Setting setting_;
    syntax::Statement function_;  // the one that is looked at
    // Whether what was found of the instruction holds in this function alone.
    bool depends_on_function_ = false;
    std::string_view texture_mode_;  // of .target, where it says one
    bool is_debug_ = false;          // .target …, debug

  private:
    void target_directive(const syntax::Statement& statement, const std::vector<syntax::Statement>& all);
    void debug_target(std::string_view word, const std::vector<syntax::Statement>& all);
    void report(const syntax::Instruction& instruction, const OperandProblem& problem, const Match& match);
    void guard(const syntax::Instruction& instruction);
    void unmatched(const syntax::Instruction& instruction, const NameMatch& name);
    void form_removed(const syntax::Instruction& instruction, const Match& match);
    void requirements(const syntax::Instruction& instruction, const Match& match);
    void require(std::span<const Since> since, Span span, const Match& match);
    void constant_bank(const syntax::Instruction& instruction);
    void special_registers(const syntax::Instruction& instruction);
    void per_cta_memory(const syntax::Operand& operand);
    void undefined_label(const syntax::Operand& operand);
    void address_width(const syntax::Instruction& instruction, const Match& match);
    void moved_global(const syntax::Instruction& instruction);
    void guarded_sink(const syntax::Instruction& instruction);
    void moved_handle(const syntax::Instruction& instruction);
    void moved_address(const syntax::Instruction& instruction, const Match& match);
    void special_address(const syntax::Instruction& instruction, const Match& match);
    void named_space(const syntax::Instruction& instruction, const Match& match);
    void fragments(const syntax::Instruction& instruction, const Match& match);
    void policy_fraction(const syntax::Instruction& instruction);
    void source_bytes(const syntax::Instruction& instruction);
    void parameter_access(const syntax::Instruction& instruction);
    void parameter_address(const syntax::Instruction& instruction);
    void texture_mode(const syntax::Instruction& instruction);
    void gradient_registers(const syntax::Instruction& i, const Match& match);
    void unified_sampler(const syntax::Instruction& i, const Match& match);

    // --- call.cpp
    void call(const syntax::Instruction& instruction);
    void call_to(const syntax::Instruction& instruction, const syntax::Statement& callee,
                 std::string_view name, std::span<const syntax::Operand> returns,
                 std::span<const syntax::Operand> arguments);
    void check_arguments(std::span<const syntax::Operand> given,
                         const std::vector<syntax::Statement::Parameter>& formal, std::string_view what,
                         const syntax::Instruction& instruction, std::string_view name);
    void constant_argument(const syntax::Operand& operand, const syntax::Statement::Parameter& formal,
                           std::size_t number, std::string_view name);
    void never_passed(const syntax::Operand& operand, const syntax::Statement::Parameter& formal,
                      std::string_view what, std::size_t number, std::string_view name);
    /// Of a function whose address is taken, what no call by it could pass.
    void function_address(const syntax::Instruction& instruction);

    struct Callee {
        syntax::Statement declaration;
        std::vector<syntax::Statement::Parameter> returns, parameters;
    };
    Callee callee_;                             // of the last call: many have the same
    const Lent<NameMatches> matches_;           // that other modules may have asked for
    syntax::NameMap<std::string_view> labels_;  // of other functions, made on need: label, function
    bool has_labels_ = false;
};

}  // namespace ptxgraft::isa
