#pragma once
/// @file workload_data.hpp
/// What a workload is made of.

#include "ptxgraft/measure/workload.hpp"

namespace ptxgraft::measure {

struct Workload::Data {
    Template from;
    WorkloadOptions options;
    Skeleton skeleton, reference;
    std::uint64_t hash = 0;
    std::string text = {};  // of parse()
};

}  // namespace ptxgraft::measure
