#pragma once
/// @file route.hpp
/// Routes: the ways of a stub into machine code. A stub of 32 instructions at 128 copies is 4,096
/// instructions for the assembler when its text stands in each copy, and 32 when each copy calls one
/// function; a call costs the kernel some tens of cycles and the registers around it. So what stands in a
/// loop is inlined, and what stands behind it at many copies is called. Where the called function is linked,
/// the skeleton is assembled once for all stubs, and a new stub costs its own instructions and a link.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

enum class Route : std::uint8_t {
    automatic,  ///< one of the others, for the reason that RouteChoice gives
    inlined,    ///< the stub's text in every copy
    call,       ///< the stub once, as a `.func` of the same module, which every copy calls
    link,       ///< the stub once, as a function assembled by itself and linked to the skeleton
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Route route);  ///< "auto", "inline", "call", "link"
/// The route of a name; Errc::route_unknown lists them.
[[nodiscard]] PTXGRAFT_API Expected<Route> route_from_name(std::string_view name);

/// Which routes are wanted. `call` is Errc::route_not_possible for a stub that means something else in a
/// function of its own: it returns or exits, allocates on the stack, changes the number of registers, uses
/// wgmma or a carry flag that is set before it, or names a variable, parameter or label of the function
/// around the site. `link` is one for these, for a stub that names anything of the module, and for a
/// skeleton with wgmma or setmaxnreg: assemblers give those up around functions that they do not see; and for
/// a stub whose constants are data.
///
/// `automatic` inlines what stands in a loop (of the control-flow graph, or in a function that one calls) or
/// at a `hot` site, calls what is long at many copies and what stands at a `cold` site, and links when the
/// skeleton was prepared (Skeleton::prepare) and that is faster. What does not link, or is over a limit when
/// it is linked, is called or inlined, and what is over one when it is called is inlined.
struct RouteOptions {
    Route route = Route::inlined;  ///< of sites that have none of their own
    std::map<std::string, Route, std::less<>> sites = {};
};

/// The route that a stub took, and why.
struct RouteChoice {
    std::string site;
    Route route = Route::inlined;
    std::string reason;  ///< "there is one copy"
};

}  // namespace ptxgraft
