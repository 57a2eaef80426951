#pragma once
/// @file route.hpp
/// What a skeleton's text says about routes of its sites: read once, when somebody asks for another than
/// `inlined`.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptxgraft/route.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stub.hpp"
#include "ptxgraft/syntax.hpp"
#include "syntax/outlined_text.hpp"

namespace ptxgraft::kernel {

/// The reason for a route that the caller named.
inline constexpr std::string_view asked_for = "it is asked for";

/// How the functions are named that are linked: the site's, and 32 digits in the place of these, which say
/// which stub it is. The digits of a name in machine code can be changed without moving anything.
inline constexpr std::string_view no_stub = "_00000000000000000000000000000000";

/// Of one site.
struct SiteRoute {
    std::string function;                     ///< the name of its function
    syntax::OutlinedText text;                ///< of its function, and of the calls
    syntax::OutlinedText linked;              ///< the same for linking: named `function` and `no_stub`
    std::vector<syntax::Passed> declared;     ///< the operands, as registers of that function
    std::string call = {}, linked_call = {};  ///< what stands in a copy
    std::size_t function_begin = 0;           ///< where the function around the first copy begins
    std::uint32_t loop_line = 0;              ///< of the first copy that is in a loop; 0: none is
    std::size_t copies = 0;
};

/// What takes the place of a part of a skeleton's text.
struct Piece {
    Span replaced;
    std::string text;
};

/// Milliseconds that a candidate costs, measured when a skeleton was prepared.
struct RouteCosts {
    double whole = 0;   ///< assembled with the skeleton
    double linked = 0;  ///< assembled by itself, and linked
};

/// What no name of the text begins with.
[[nodiscard]] std::string free_prefix(std::string_view ptx);
/// A name that says which site it is for, of letters that PTX allows; the number keeps it apart from other
/// sites'.
[[nodiscard]] std::string site_name(const std::string& prefix, std::size_t number, std::string_view site);

/// Adds the labels and variables that are declared in a function, its registers too if they are wanted.
void add_declared_names(syntax::Statement function, bool with_registers,
                        std::unordered_set<std::string>& names);

class RoutePlan {
  public:
    /// Errors are those of syntax::parse.
    [[nodiscard]] static Expected<RoutePlan> make(const std::string& ptx, const Sites& sites);

    /// The route of a stub at a site, which is one of the plan's. `costs`: of a prepared skeleton, else null.
    /// Errors: Errc::route_not_possible.
    [[nodiscard]] Expected<RouteChoice> choose(const Site& site, const Stub& stub, Route wanted,
                                               const RouteCosts* costs = nullptr) const;
    /// What stubs make of the text, by the choices: what the linked ones' functions are is only declared.
    struct Filled {
        const Site* site;
        const Stub* stub;
        Route route;
        /// of a stub whose constants are data: its text at this site
        std::string bound_text = {};

        [[nodiscard]] const std::string& ptx() const { return bound_text.empty() ? stub->ptx() : bound_text; }
    };
    [[nodiscard]] std::vector<Piece> pieces(std::span<const Filled> filled) const;
    /// The name of a site's function.
    [[nodiscard]] const std::string& function_name(const Site& site) const { return route_of(site).function; }

    /// A linked stub: its function as a module's text, without the module's head, and the function's name.
    struct Linked {
        std::string name, text;
    };
    [[nodiscard]] Linked linked(const Site& site, const Stub& stub) const;
    /// The name of a site's function where the skeleton calls it: as long as Linked::name.
    [[nodiscard]] std::string linked_name(const Site& site) const;
    /// What a module of linked functions begins with.
    [[nodiscard]] const std::string& module_head() const { return head_; }
    /// Why nothing can be linked to this skeleton; empty when stubs can.
    [[nodiscard]] const std::string& link_obstacle() const { return link_obstacle_; }
    /// Whether `automatic` would outline stubs of a site whatever they are.
    [[nodiscard]] bool may_leave(const Site& site) const;

  private:
    [[nodiscard]] const SiteRoute& route_of(const Site& site) const;
    /// Why a stub cannot be called, or linked; empty when it can. What was found out is kept: a candidate is
    /// looked up in less time than its stub is read.
    [[nodiscard]] std::string obstacle(const Site& site, const Stub& stub, Route route) const;
    [[nodiscard]] std::string find_obstacle(const Site& site, const Stub& stub, Route route) const;
    [[nodiscard]] std::string unwanted(const Site& site) const;
    [[nodiscard]] std::string definition(const Site& site, std::string_view stub, Route route) const;

    const Sites* sites_ = nullptr;
    std::vector<SiteRoute> routes_;  // by site
    // Of the functions that hold copies: variables, parameters, labels; and of the module.
    std::unordered_set<std::string> local_names_, module_names_;
    std::string head_, link_obstacle_;

    struct Known {
        std::mutex mutex;
        std::unordered_map<std::string, std::string> obstacles;
    };
    std::unique_ptr<Known> known_ = std::make_unique<Known>();
};

}  // namespace ptxgraft::kernel
