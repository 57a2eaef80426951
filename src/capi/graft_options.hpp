#pragma once
/// @file graft_options.hpp
/// What becomes of a skeleton, as a C caller says it.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::capi {

/// The grafts of a list, `grafts`, of so many as the field `count_field` says.
[[nodiscard]] Expected<std::vector<Graft>> read_grafts(const ptxgraft_graft* grafts, std::size_t count,
                                                       const char* count_field);

/// What a ptxgraft_graft_options asks for. It shares the objects that are named there: what the caller's own
/// callbacks destroy during the call lasts as long as the call.
class GraftRequest {
  public:
    [[nodiscard]] static Expected<GraftRequest> read(const ptxgraft_graft_options* given);

    std::vector<Graft> grafts;
    /// With the assembler and the cache of this request, which has to stay where it is while they are used.
    [[nodiscard]] GraftOptions options() const;

  private:
    GraftOptions options_;
    std::shared_ptr<const Assembler> assembler_;
    std::optional<Cache> cache_;
};

/// Errc::argument_invalid when these options make what no device loads.
[[nodiscard]] Expected<void> check_loadable(const GraftOptions& options);

[[nodiscard]] Route route_of(ptxgraft_route route);
[[nodiscard]] ptxgraft_route route_of(Route route);

}  // namespace ptxgraft::capi
