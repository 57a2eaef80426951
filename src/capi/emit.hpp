#pragma once
/// @file emit.hpp
/// Modules that are put together, as C holds them.

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "capi/boundary.hpp"
#include "capi/stack_options.hpp"
#include "capi/texts.hpp"
#include "ptxgraft/dsl/any_operand.hpp"
#include "ptxgraft/dsl/module.hpp"

namespace ptxgraft::capi {

/// What names mean that stand in operands: registers, variables, labels, functions.
using Names = std::map<std::string, dsl::AnyOperand, std::less<>>;

/// Operands of an instruction as PTX has them. Errors: those of the parser, with spans in the operand;
/// Errc::name_undeclared.
[[nodiscard]] Expected<std::vector<dsl::AnyOperand>> read_operands(std::string_view name,
                                                                   std::span<const char* const> texts,
                                                                   const Names& own, const Names& module);

/// The type of "u32", of those that registers are declared of or emitted for. Errc::type_unknown.
[[nodiscard]] Expected<dsl::Type> emitted_type(const char* name);

/// Calls f.template operator()<T>() for the type.
template <class F, std::size_t... I> void with_type(dsl::Type type, F& f, std::index_sequence<I...>) {
    (void)((type == static_cast<dsl::Type>(I) &&
            (f.template operator()<static_cast<dsl::Type>(I)>(), true)) ||
           ...);
}
inline constexpr std::size_t emitted_types = static_cast<std::size_t>(dsl::Type::s16x2) + 1;
template <class F> void with_type(dsl::Type type, F f) {
    with_type(type, f, std::make_index_sequence<emitted_types>());
}

}  // namespace ptxgraft::capi

struct ptxgraft_builder {
    ptxgraft_builder(ptxgraft_emitter& of, ptxgraft::dsl::FunctionBuilder<>& made)
        : emitter(of), function(made) {}
    ptxgraft_emitter& emitter;
    ptxgraft::dsl::FunctionBuilder<>& function;
    ptxgraft::capi::Names names = {};
};

struct ptxgraft_emitter {
    explicit ptxgraft_emitter(const ptxgraft::dsl::ModuleOptions& options) : module(options) {}
    ptxgraft::dsl::Module module;
    ptxgraft::capi::Names names = {};
    ptxgraft::capi::Texts texts = {};
    std::deque<ptxgraft_builder> builders = {};
    std::optional<ptxgraft::Error> error = {};  ///< that a call of a builder came to first
};
