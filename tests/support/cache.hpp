#pragma once
// What tests need compiled or assembled, and do not test the compiling of.

#include "ptxgraft/cache.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {

/// PTX of CUDA sources and machine code, kept in the build tree for other tests and later runs.
inline const Cache& cache() {
    static const Cache cache = Cache::open({.dir = build_path("tests/cache")}).value();
    return cache;
}

}  // namespace ptxgraft::test
