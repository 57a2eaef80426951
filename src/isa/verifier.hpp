#pragma once
// One run of verify: what its parts share.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "isa/instruction_verifier.hpp"
#include "isa/shapes.hpp"
#include "syntax/branch_targets.hpp"
#include "syntax/initialiser.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {

class Verifier : private InstructionVerifier {
  public:
    Verifier(const syntax::Module& module, const VerifyOptions& options)
        : InstructionVerifier(module, options, symbols_) {}
    std::vector<Error> run();

  private:
    // --- verify.cpp: the walk
    void characters();
    void statement(const syntax::Statement& statement, syntax::StatementKind kind);
    void function(const syntax::Statement& function);
    void body(const syntax::Statement& parent);
    void close_scope();
    void declare_labels(const syntax::Statement& parent);
    void declare_label(const syntax::Statement& label, const Symbol& symbol);

    void instruction(const syntax::Statement& statement);

    // --- call.cpp
    void results_of_calls(const syntax::TokenView& tokens);
    void recursion();

    // --- function.cpp
    void declare_function(const syntax::Statement& function);
    [[nodiscard]] const Symbol* declared_before(const syntax::Statement& function) const;
    static constexpr std::uint32_t most_param_alignment = 128;
    void type_version(std::string_view type, bool is_array);
    void vector_shape(std::string_view word, std::uint32_t count);
    void file(const syntax::TokenView& tokens);
    void location(const syntax::TokenView& tokens);
    void parameter_shapes(const syntax::Statement& function,
                          std::span<const syntax::Statement::Parameter> returns,
                          std::span<const syntax::Statement::Parameter> parameters);
    void parameter_shape(const syntax::Statement& function, const syntax::Statement::Parameter& p);
    void parameter_bytes(std::span<const syntax::Statement::Parameter> parameters);
    void declare_parameters(const syntax::Statement& function, const std::vector<syntax::Token>& tokens);
    void performance_directives(const syntax::Statement& function, const std::vector<syntax::Token>& tokens);
    void performance_directive(const syntax::Statement& function, const std::vector<syntax::Token>& tokens,
                               std::size_t at);
    void exclusive_directives(const syntax::Statement& function, const std::vector<syntax::Token>& tokens);
    void prototype(const syntax::Statement& prototype);
    void undefined_functions();
    void no_return(const syntax::Statement& function, const std::vector<syntax::Token>& tokens);

    // --- declaration.cpp
    void variable(const syntax::Statement& statement);
    void variable_space(const syntax::Statement& statement, const syntax::Statement::Variable& v);
    void variable_type(const syntax::Statement::Variable& v);
    void sampler(std::string_view type);
    bool plain_registers(const syntax::Statement& statement, const syntax::TokenView& tokens);
    void variable_words(const syntax::TokenView& tokens, const syntax::Statement::Variable& v);
    void variable_bank(const syntax::TokenView& tokens, std::size_t at, const syntax::Statement::Variable& v);
    void attribute(std::string_view word, std::string_view owner);
    void doubled_spaces(const syntax::TokenView& tokens);
    void alignments(const syntax::TokenView& tokens);
    void declarator(const syntax::Statement& statement, const syntax::Statement::Variable& v,
                    const syntax::Statement::Declarator& d);
    void constant_memory(std::string_view name, const Symbol& symbol);
    void declare_variable(std::string_view name, std::uint32_t count, const Symbol& symbol);
    void again(const syntax::Statement::Variable& v, const syntax::Statement::Declarator& d,
               const Symbol& before, const Symbol& symbol);
    void directive(const syntax::Statement& statement);
    void labels(const syntax::BranchTargets& targets);
    void directive_since(std::string_view word);
    void alias(const std::vector<syntax::Token>& tokens, const Symbol& name, const Symbol& aliasee);
    void redeclared(std::string_view name, const Symbol* before);
    bool may_be_declared(std::string_view name, bool is_inside);

    // --- pragma.cpp
    enum class PragmaPlace : std::uint8_t { module, head, body };
    void pragma(const syntax::TokenView& tokens, PragmaPlace place);
    void shared_spilling();

    // --- section.cpp
    void section(const syntax::TokenView& tokens);
    std::size_t section_data(const syntax::TokenView& tokens, std::size_t at);
    void section_differences();
    void section_version(std::string_view at, std::uint16_t first, std::string_view what);

    // --- initialiser.cpp
    void initialiser(const syntax::Statement::Variable& v, const syntax::Statement::Declarator& d);
    void opaque_initialiser(std::string_view type, const syntax::Statement::Declarator& d);
    void field_value(std::span<const syntax::Token> value);
    void initial_value(RegisterType type, const syntax::InitialValue& value);
    void initial_address(RegisterType type, const syntax::InitialValue& value);
    void initial_error(const Error& error, const syntax::InitialValue& value);

    Symbols symbols_;
    std::vector<std::pair<syntax::Statement, std::string_view>> spilling_;  // entries, and their pragmas
    const Lent<Shapes> shapes_;
    using SourcePlace = std::array<std::uint64_t, 3>;  // file, line and column
    struct SourcePlaceHash {
        std::size_t operator()(const SourcePlace& p) const {
            return (p[0] * 0x9E3779B97F4A7C15u ^ p[1]) * 0x9E3779B97F4A7C15u ^ p[2] * 0xC2B2AE3D27D4EB4Fu;
        }
    };
    std::unordered_set<SourcePlace, SourcePlaceHash> locations_;  // of the .loc so far
    std::uint64_t constant_bytes_ = 0;                            // of the .const so far
    std::unordered_set<std::uint64_t> files_;                     // the numbers of the .file so far
    std::unordered_set<std::string_view> aliases_;                // that .alias has made so far
    std::unordered_map<std::string_view, std::string_view> section_labels_;  // so far, each with its section
    struct Difference {
        std::string_view end, begin;
    };
    std::vector<Difference> differences_;                // of labels of sections, where they are looked at
    std::unordered_set<std::uint32_t> hiding_labels_;    // where labels stand that hide another name
    syntax::NameMap<Symbol> functions_of_bodies_;        // that are declared there, by name
    std::size_t known_of_bodies_ = 0;                    // of declared_in_bodies_, to what comes behind
    std::vector<syntax::Statement> declared_in_bodies_;  // the same
    std::vector<std::string_view> function_names_;       // the labels that .loc names a function by
};

}  // namespace ptxgraft::isa
