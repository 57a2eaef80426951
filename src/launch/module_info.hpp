#pragma once
/// @file module_info.hpp
/// What loading and launching want to know of a module, read once from its tree. A stub changes none of it,
/// so what a skeleton read holds for every text that is rendered from it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/launch.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::launch {

/// An entry that has a body, and what its head says of launches (PTX ISA 11.4, 11.7, 11.8).
struct EntryInfo {
    std::string name;
    std::vector<ParameterInfo> parameters = {};
    /// the size of a parameter is unknown: the entry cannot be launched
    std::optional<Error> parameter_error = {};
    std::optional<Dim3> required_block = {};               ///< `.reqntid`
    std::optional<std::uint64_t> max_threads = {};         ///< `.maxntid`: the product of its extents
    std::optional<std::uint64_t> max_registers = {};       ///< `.maxnreg`
    std::optional<std::uint64_t> min_blocks = {};          ///< `.minnctapersm`: on a multiprocessor
    std::optional<Dim3> required_cluster = {};             ///< `.reqnctapercluster`
    std::optional<std::uint64_t> max_cluster_blocks = {};  ///< `.maxclusterrank`
    bool is_explicit_cluster = false;                      ///< `.explicitcluster`: a launch says the cluster
    bool blocks_are_clusters = false;  ///< `.blocksareclusters`: a launch's grid counts clusters
};

struct ModuleInfo {
    std::string target;                       ///< "sm_90a": the first of `.target`; empty when there is none
    std::vector<EntryInfo> entries = {};      ///< in the order of the text
    std::size_t head_end = 0;                 ///< behind `.version`, `.target` and `.address_size`
    std::vector<std::string> variables = {};  ///< names of the module's `.global` and `.const` variables
};
[[nodiscard]] ModuleInfo module_info(const syntax::Module& module);
/// What the head of an entry says.
[[nodiscard]] EntryInfo entry_info(const syntax::Statement& entry);

/// The entry of that name, or the only one when the name is empty. Errors: Errc::entry_unknown and
/// Errc::entry_not_named list the entries; Errc::type_unknown with its span in the module's text.
[[nodiscard]] Expected<const EntryInfo*> find_entry(const ModuleInfo& module, std::string_view name);

/// How often a name stands in a text, be it in a comment.
[[nodiscard]] std::size_t count_name(std::string_view text, std::string_view name);

/// Bytes of an element of an entry's parameter of that type (`.u64`); 0 for a type that none has.
[[nodiscard]] std::uint64_t element_bytes(std::string_view type);

}  // namespace ptxgraft::launch
