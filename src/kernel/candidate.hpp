#pragma once
/// @file candidate.hpp
/// A candidate: a skeleton's sites with stubs in, each by its route.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/route.hpp"
#include "kernel/skeleton_data.hpp"
#include "link/cache.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::kernel {

/// Its grafts outlive it.
struct Candidate {
    std::vector<RoutePlan::Filled> filled;  ///< in the order of the skeleton's sites, as banks are
    std::vector<RouteChoice> choices;       ///< in that of the grafts
    const RoutePlan* plan = nullptr;        ///< null when everything is inlined
    std::vector<ConstantBank> banks = {};

    [[nodiscard]] bool has(Route route) const;
    /// Equal for candidates of one skeleton that compute the same by the same routes: their stubs have one
    /// text, or one dataflow hash; of constants that are data the number counts alone.
    [[nodiscard]] link::Key key() const;
};
/// Errors are those of Skeleton::render_by. `costs`: of a prepared skeleton whose stubs may be linked.
[[nodiscard]] Expected<Candidate> plan_candidate(const Skeleton::Data& skeleton,
                                                 std::span<const Graft> grafts, const RouteOptions& routes,
                                                 const RouteCosts* costs = nullptr);

/// What to do with stubs that are linked.
enum class LinkedAs : std::uint8_t {
    called,   ///< they are in the text, as called ones
    missing,  ///< the text only declares them: it is assembled for linking
};
/// What the candidate's stubs make of the skeleton's text, in its order.
[[nodiscard]] std::vector<Piece> pieces_of(const Candidate& candidate, LinkedAs linked);

/// What the variables of constants that are data hold.
enum class BankValues : std::uint8_t {
    written,   ///< the constants
    left_out,  ///< nothing: one text for all candidates of a structure
};
[[nodiscard]] std::string render(const Skeleton::Data& skeleton, const Candidate& candidate, LinkedAs linked,
                                 BankValues values = BankValues::left_out);

/// The text of an error's place: with all stubs in. Of candidates that differ in constants alone it is one.
[[nodiscard]] std::shared_ptr<const SourceText> text_of(const Skeleton::Data& skeleton,
                                                        const Candidate& candidate);

/// The route that is wanted for a site.
[[nodiscard]] Route route_at(const RouteOptions& options, std::string_view site);

[[nodiscard]] tl::unexpected<Error> unknown_site(std::string_view name, const Sites& sites);
[[nodiscard]] tl::unexpected<Error> with_source(Error error, const std::shared_ptr<const SourceText>& source);

}  // namespace ptxgraft::kernel
