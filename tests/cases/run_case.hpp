#pragma once
// What the product says of a case.

#include <filesystem>
#include <string>
#include <vector>

#include "case_file.hpp"
#include "support/paths.hpp"

namespace ptxgraft::cases {

/// What is done with a case, by the folder it lies in.
enum class Stage : std::uint8_t {
    verify,    ///< isa::verify, which gives every error
    refusals,  ///< Emulator::load, which gives the first
    checks     ///< a launch on the emulator
};

inline const std::filesystem::path folder = test::source_path("tests/cases");

/// The files of the cases below a folder, in the order of their paths.
[[nodiscard]] std::vector<std::filesystem::path> files_below(const std::filesystem::path& root);
/// The first part of a path below the folder of cases. Throws std::invalid_argument for another folder.
[[nodiscard]] Stage stage_of(const std::filesystem::path& relative);

/// The errors that the product gives for the case's module.
[[nodiscard]] std::vector<Given> errors_of(Stage stage, const Case& wanted);
/// Writes what the product says into each of these files that says otherwise; gives those.
std::vector<std::filesystem::path> rebase(const std::filesystem::path& root);

/// Tests one case: that it gives the errors on its lines and no others, that its twin has none, that ptxas
/// agrees; and of a launch, that each check finds by itself what is its own.
void expect_as_written(const std::filesystem::path& root, const std::filesystem::path& relative);

}  // namespace ptxgraft::cases
