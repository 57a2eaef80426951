#pragma once
/// @file variants.hpp
/// Several candidates in one module: the functions that hold copies of sites, and those that call them, stand
/// there once for each, under names of their own; everything else once.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/route.hpp"
#include "launch/module_info.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft {

/// A module of several candidates.
struct MachineCode::VariantModule {
    std::shared_ptr<const SourceText> source;
    std::shared_ptr<const launch::ModuleInfo> info;
};

namespace kernel {

using VariantModule = MachineCode::VariantModule;
struct Candidate;

/// What a skeleton's text says about variants, read once.
class VariantPlan {
  public:
    /// Errors: those of syntax::parse; Errc::argument_invalid for a module that names such a function outside
    /// of functions.
    [[nodiscard]] static Expected<VariantPlan> make(const std::string& ptx, const Sites& sites);

    /// Whether a candidate may stand beside others: its stubs name none of the functions.
    [[nodiscard]] bool takes(const Candidate& candidate) const;
    /// What tells the names of variant number i apart: "_3", or more where such names are taken.
    [[nodiscard]] std::string suffix(std::size_t number) const;
    /// Of a function in a variant.
    [[nodiscard]] std::string name_in(std::string_view function, std::string_view suffix) const;
    /// A region of the text that each variant has: a function, or a prototype of one.
    struct Region {
        Span span;
        std::vector<Span> names;  ///< those of the functions, in order
    };
    [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }

  private:
    std::vector<Region> regions_;
    std::vector<std::string> functions_;
    std::string separator_ = "_";
};

/// `suffixes` are all different. Constants that are data stand in it as the values of their variables.
[[nodiscard]] VariantModule render_variants(const Skeleton::Data& skeleton, const VariantPlan& plan,
                                            std::span<const Candidate* const> candidates,
                                            std::span<const std::string> suffixes);

}  // namespace kernel
}  // namespace ptxgraft
