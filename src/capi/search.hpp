#pragma once
/// @file search.hpp
/// Searches, as C holds them.

#include <memory>
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
    /// Its address is that of no other search, which its candidates keep so.
    std::shared_ptr<const char> identity = std::make_shared<const char>();
};

struct ptxgraft_candidates {
    struct Programs {
        std::vector<std::byte> bytes;
        std::vector<std::size_t> offsets;
    };
    std::shared_ptr<const char> search;  ///< the identity of theirs
    std::vector<ptxgraft::search::Candidate> all;
    std::vector<Programs> sites;  ///< of each site those of all candidates
};

struct ptxgraft_elites {
    ptxgraft::search::Space space;
    std::vector<ptxgraft::search::Elite> all;
};
