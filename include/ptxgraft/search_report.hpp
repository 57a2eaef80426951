#pragma once
/// @file search_report.hpp
/// Searches as pages and as JSON: what was searched, how far it came beside other searches, what was found
/// and what made it, what it cost. All of it is read from archives; what an archive does not hold is left
/// out.

#include <span>
#include <string>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

struct ReportOptions {
    std::string title = {};  ///< above the page: any text; "Search" where it is empty
};

/// A page of HTML in UTF-8, well-formed XML too, whole in itself: no scripts, and nothing is fetched. Figures
/// are inline SVG with a table beside each. It holds
///
/// * the Pareto front with its programs;
/// * the best cost, and the best value on one more axis within it, against candidates; where several archives
///   have one strategy, as median and quartiles of them;
/// * the cells over up to two axes, with their lowest costs;
/// * where times were measured: each session's noise, and the finalists with
/// all of their samples;
/// * the ancestors of the program of the lowest cost, and what each step gained;
/// * candidates by gate and by status, prices of gates, and what operators brought;
/// * the task.
///
/// `beside` are searches of the same task (as merge has it) in other ways or of other seeds. Equal archives
/// give equal bytes, but for the gates' prices. Errors: Errc::archive_differs for other tasks and for
/// collections in `beside`, which have no course of their own; those of reading the archives.
[[nodiscard]] PTXGRAFT_API Expected<std::string> report_html(const Archive& archive,
                                                             std::span<const Archive> beside = {},
                                                             const ReportOptions& options = {});
/// The same facts, but for the figures: an object with `title`, `sites`, `options`, `stop`, `ledger`,
/// `searches` (the archive's own first, each with `steps`: [judged, bound of the cost, value on the axis
/// `within`]),
/// `quartiles`, `cells`, `front`, `ancestors` and `task`. Infinite numbers are "inf".
[[nodiscard]] PTXGRAFT_API Expected<std::string> report_json(const Archive& archive,
                                                             std::span<const Archive> beside = {},
                                                             const ReportOptions& options = {});

/// {"judged", "drawn", "duplicates", "guessed", "cells", "without_gain", "status", "gates", "operators"}
[[nodiscard]] PTXGRAFT_API std::string json_text(const Ledger& ledger);
/// {"index", "cost", "descriptor", "cell", "programs", "tunables"}, and where the cost is an interval "low"
/// and "high"
[[nodiscard]] PTXGRAFT_API std::string json_text(const Elite& elite, const Space& space);

}  // namespace ptxgraft::search
