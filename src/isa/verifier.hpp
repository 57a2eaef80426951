#pragma once
// One run of verify: what its parts share.

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "isa/match.hpp"
#include "isa/shapes.hpp"
#include "isa/symbols.hpp"
#include "isa/target.hpp"
#include "ptxgraft/isa.hpp"
#include "syntax/initialiser.hpp"

namespace ptxgraft::isa {

class Verifier {
  public:
    Verifier(const syntax::Module& module, const VerifyOptions& options)
        : module_(module), options_(options) {}
    std::vector<Error> run();

  private:
    // --- findings
    void report(Errc code, Span span, std::string message);
    void report(Errc code, std::string_view place, std::string message) {
        report(code, span_of(place), std::move(message));
    }
    /// The span of a view into the module's text; unknown for edited text.
    [[nodiscard]] Span span_of(std::string_view text) const;

    // --- verify.cpp: the walk
    void characters();
    void header();
    void target_directive(const syntax::Statement& statement);
    void statement(const syntax::Statement& statement, syntax::StatementKind kind);
    void function(const syntax::Statement& function);
    void body(const syntax::Statement& parent);
    void declare_labels(const syntax::Statement& parent);
    void declare_label(const syntax::Statement& label, SymbolKind kind);
    [[nodiscard]] SymbolKind label_kind(const syntax::Statement& label);

    // --- instruction.cpp
    void instruction(const syntax::Statement& statement);
    void look_at(const syntax::Instruction& instruction);
    void guard(const syntax::Instruction& instruction);
    const NameMatch& name_match(const syntax::Instruction& instruction);
    void unmatched(const syntax::Instruction& instruction, const NameMatch& name);
    void requirements(const syntax::Instruction& instruction, const Match& match);
    void require(std::span<const Since> since, Span span, const std::string& what);
    void require(std::span<const Since> since, Span span, const Match& match);
    void special_registers(const syntax::Instruction& instruction);
    void per_cta_memory(const syntax::Operand& operand);
    void undefined_label(const syntax::Operand& operand);
    void address_width(const syntax::Instruction& instruction, const Match& match);
    void shared_variable(const syntax::Instruction& instruction, const Match& match);
    void parameter_access(const syntax::Instruction& instruction);
    void texture_mode(const syntax::Instruction& instruction);
    void unified_sampler(const syntax::Instruction& i, const Match& match);

    // --- call.cpp
    void call(const syntax::Instruction& instruction);
    void call_to(const syntax::Instruction& instruction, const syntax::Statement& callee,
                 std::string_view name, std::span<const syntax::Operand> returns,
                 std::span<const syntax::Operand> arguments);
    void check_arguments(std::span<const syntax::Operand> given,
                         const std::vector<syntax::Statement::Parameter>& formal, std::string_view what,
                         const syntax::Instruction& instruction, std::string_view name);

    // --- function.cpp
    void declare_function(const syntax::Statement& function);
    static constexpr std::uint32_t most_param_alignment = 128;
    void type_version(std::string_view type);
    void file(const syntax::TokenView& tokens);
    void location(const syntax::TokenView& tokens);
    void parameter_shapes(const syntax::Statement& function);
    void parameter_shape(const syntax::Statement& function, const syntax::Statement::Parameter& p);
    void declare_parameters(const syntax::Statement& function);
    void performance_directives(const syntax::Statement& function);
    void performance_directive(const syntax::Statement& function, const std::vector<syntax::Token>& tokens,
                               std::size_t at);
    void exclusive_directives(const syntax::Statement& function, const std::vector<syntax::Token>& tokens);

    // --- declaration.cpp
    void variable(const syntax::Statement& statement);
    void variable_space(const syntax::Statement& statement, const syntax::Statement::Variable& v);
    void variable_type(const syntax::Statement::Variable& v);
    void sampler(std::string_view type);
    bool plain_registers(const syntax::Statement& statement, const syntax::TokenView& tokens);
    void variable_words(const syntax::TokenView& tokens, const syntax::Statement::Variable& v);
    void doubled_spaces(const syntax::TokenView& tokens);
    void alignments(const syntax::TokenView& tokens);
    void declarator(const syntax::Statement& statement, const syntax::Statement::Variable& v,
                    const syntax::Statement::Declarator& d);
    void declare_variable(std::string_view name, std::uint32_t count, const Symbol& symbol);
    void declare_range(std::string_view name, std::uint32_t count, const Symbol& symbol);
    void again(const syntax::Statement::Variable& v, const syntax::Statement::Declarator& d,
               const Symbol& before, const Symbol& symbol);
    void directive(const syntax::Statement& statement);
    void alias(const std::vector<syntax::Token>& tokens, const Symbol& name, const Symbol& aliasee);
    void redeclared(std::string_view name, const Symbol* before);

    // --- section.cpp
    void section(const syntax::TokenView& tokens);
    std::size_t section_data(const syntax::TokenView& tokens, std::size_t at);

    // --- initialiser.cpp
    void initialiser(const syntax::Statement::Variable& v, const syntax::Statement::Declarator& d);
    void initial_value(RegisterType type, const syntax::InitialValue& value);
    void initial_address(RegisterType type, const syntax::InitialValue& value);
    void initial_error(const Error& error, const syntax::InitialValue& value);

    const syntax::Module& module_;
    const VerifyOptions& options_;
    std::vector<Error> findings_;
    Symbols symbols_;
    std::uint16_t version_ = newest_version;
    Architecture target_ = {};
    bool knows_target_ = false;
    bool has_samplers_ = false;  // .target …, texmode_independent
    std::uint32_t address_size_ = 64;
    syntax::Statement function_;  // the one that is looked at
    syntax::NameMap<NameMatch> names_;
    Shapes shapes_;
    // Whether what was found of the instruction holds in this function alone.
    bool depends_on_function_ = false;
    syntax::NameMap<std::string_view> labels_;  // of other functions, made on need: label, function
    bool has_labels_ = false;
    using SourcePlace = std::array<std::uint64_t, 3>;  // file, line and column
    struct SourcePlaceHash {
        std::size_t operator()(const SourcePlace& p) const {
            return (p[0] * 0x9E3779B97F4A7C15u ^ p[1]) * 0x9E3779B97F4A7C15u ^ p[2] * 0xC2B2AE3D27D4EB4Fu;
        }
    };
    std::unordered_set<SourcePlace, SourcePlaceHash> locations_;  // of the .loc so far
    std::unordered_set<std::string_view> aliases_;                // that .alias has made so far
};

}  // namespace ptxgraft::isa
