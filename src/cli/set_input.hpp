#pragma once
/// @file set_input.hpp
/// An instruction set as the command line names it.

#include <memory>
#include <string>

#include "ptxgraft/set.hpp"

namespace ptxgraft::cli {

/// The shipped set of a name, or the set of a file. Ends the verb when it is neither, or wrong.
[[nodiscard]] std::shared_ptr<const stack::InstructionSet> read_set(const std::string& name_or_file);

}  // namespace ptxgraft::cli
