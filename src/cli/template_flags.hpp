#pragma once
/// @file template_flags.hpp
/// A template, its dimensions and its tunables on the command line.

#include <string>
#include <vector>

#include "ptxgraft/template.hpp"
#include "skeleton_input.hpp"

namespace CLI {
class App;
}

namespace ptxgraft::cli {

/// NAME --dims m=129,n=65 --set stages=3 --value eps=1e-5 --templates DIR.
struct ChosenTemplate {
    std::string name, folder;
    std::vector<std::string> dimensions, tunables, numbers;
};
void add_template_folder_flag(CLI::App& verb, std::string& folder);
void add_chosen_template(CLI::App& verb, ChosenTemplate& chosen);

// Each ends the verb where the command line makes no sense.
[[nodiscard]] Template find_template(const ChosenTemplate& chosen);
[[nodiscard]] Dimensions dimensions_of(const ChosenTemplate& chosen);
[[nodiscard]] Choices choices_of(const ChosenTemplate& chosen);
[[nodiscard]] std::map<std::string, double, std::less<>> numbers_of(const ChosenTemplate& chosen);
void set_numbers(const ChosenTemplate& chosen, TemplateLaunch& launch);

[[nodiscard]] Skeleton compile_template(const Template& from, const Choices& choices, const CudaFlags& flags);

}  // namespace ptxgraft::cli
