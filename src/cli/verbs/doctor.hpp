#pragma once
/// @file doctor.hpp
/// The trial of `ptxgraft doctor`: the main job, done once.

#include <string>

#include "ptxgraft/error.hpp"

namespace ptxgraft::cli {

/// What the trial did, and how long it took.
struct Trial {
    std::string what;
    double ms = 0;
};

/// CUDA with a header of CUDA's is compiled, a stub grafted, the variant assembled, and run on the emulator:
/// its numbers are right, or it is an error that says which step was not.
[[nodiscard]] Expected<Trial> try_main_job();

}  // namespace ptxgraft::cli
