#pragma once
/// @file search.hpp
/// Searches, as C holds them.

#include <string>
#include <vector>

#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "ptxgraft/search_task.hpp"

struct ptxgraft_search {
    ptxgraft_search(std::string path, ptxgraft::search::Task read, ptxgraft::search::Search opened);
    std::string archive;
    ptxgraft::search::Task task;
    ptxgraft::search::Search search;
    std::vector<std::uint64_t> hashes = {};  ///< of the sites' machines
};

struct ptxgraft_candidates {
    struct Programs {
        std::vector<std::byte> bytes;
        std::vector<std::size_t> offsets;
    };
    std::vector<ptxgraft::search::Candidate> all;
    std::vector<Programs> sites;  ///< of each site those of all candidates
};

struct ptxgraft_elites {
    ptxgraft::search::Space space;
    std::vector<ptxgraft::search::Elite> all;
};
