#pragma once
/// @file route.hpp
/// What a skeleton's text says about routes of its sites: read once, when somebody asks for another than
/// `inlined`.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ptxgraft/route.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stub.hpp"
#include "syntax/outlined_text.hpp"

namespace ptxgraft::kernel {

/// The reason for a route that the caller named.
inline constexpr std::string_view asked_for = "it is asked for";

/// Of one site.
struct SiteRoute {
    syntax::OutlinedText text;             ///< of its function, and of the calls
    std::vector<syntax::Passed> declared;  ///< the operands, as registers of that function
    std::string call = {};                 ///< what stands in a copy
    std::size_t function_begin = 0;        ///< where the function around the first copy begins
    std::uint32_t loop_line = 0;           ///< of the first copy that is in a loop; 0: none is
    std::size_t copies = 0;
};

class RoutePlan {
  public:
    /// Errors are those of syntax::parse.
    [[nodiscard]] static Expected<RoutePlan> make(const std::string& ptx, const Sites& sites);

    /// The route of a stub at a site, which is one of the plan's. Errors: Errc::route_not_possible.
    [[nodiscard]] Expected<RouteChoice> choose(const Site& site, const Stub& stub, Route wanted) const;
    /// The text with stubs in, by the choices.
    struct Filled {
        const Site* site;
        const Stub* stub;
        Route route;
    };
    [[nodiscard]] std::string render(const std::string& ptx, const std::vector<Filled>& filled) const;

  private:
    [[nodiscard]] const SiteRoute& route_of(const Site& site) const;
    /// Why a stub cannot be called; empty when it can.
    [[nodiscard]] std::string obstacle(const Site& site, const Stub& stub) const;
    [[nodiscard]] std::string definition(const Site& site, const Stub& stub) const;

    const Sites* sites_ = nullptr;
    std::vector<SiteRoute> routes_;  // by site
    std::unordered_set<std::string>
        local_names_;  // of the functions that hold copies: variables, parameters, labels
};

}  // namespace ptxgraft::kernel
