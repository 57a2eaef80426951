// Templates, dimensions and tunables on the command line.

#include "template_flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "array/scalar.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

// All that is given by one flag: `m=129,n=65`, or the flag several times.
std::vector<NamedValue> named_values(std::string_view option, const std::vector<std::string>& texts) {
    std::vector<NamedValue> all;
    for (const std::string& text : texts) {
        NamedValue given = split_named(option, text);
        for (const NamedValue& other : all)
            if (other.name == given.name)
                fail_usage(fmt::format("{}: {} is given twice", option, given.name));
        all.push_back(std::move(given));
    }
    return all;
}

}  // namespace

void add_template_folder_flag(CLI::App& verb, std::string& folder) {
    verb.add_option("--templates", folder, "Folder of families of templates (default: the library's own)");
}

void add_chosen_template(CLI::App& verb, ChosenTemplate& chosen) {
    verb.add_option("NAME", chosen.name, "Such as gemm/simt; `ptxgraft templates` lists them")->required();
    const auto list = [&](const char* name, std::vector<std::string>& values, const char* help) {
        verb.add_option(name, values, help)->delimiter(',')->allow_extra_args(false)->take_all();
    };
    list("--dims", chosen.dimensions, "Dimensions: m=129,n=65,k=48");
    list("--set", chosen.tunables, "Tunables that are not as usual: stages=3,type=f16");
    list("--value", chosen.numbers, "Floating-point arguments that are not as usual: eps=1e-5");
    add_template_folder_flag(verb, chosen.folder);
}

Template find_template(const ChosenTemplate& chosen) {
    return take(Template::find(chosen.name, chosen.folder));
}

Dimensions dimensions_of(const ChosenTemplate& chosen) {
    Dimensions dimensions;
    for (const NamedValue& given : named_values("--dims", chosen.dimensions)) {
        const auto value = array::magnitude(given.value);
        if (!value)
            fail_usage(fmt::format("--dims: {} is a whole number, not '{}'", given.name, given.value));
        dimensions.emplace(given.name, *value);
    }
    return dimensions;
}

Choices choices_of(const ChosenTemplate& chosen) {
    Choices choices;
    for (const NamedValue& given : named_values("--set", chosen.tunables))
        choices.emplace(given.name, Choice(given.value));
    return choices;
}

std::map<std::string, double, std::less<>> numbers_of(const ChosenTemplate& chosen) {
    std::map<std::string, double, std::less<>> numbers;
    for (const NamedValue& given : named_values("--value", chosen.numbers)) {
        double value = 0;
        const char* const end = given.value.data() + given.value.size();
        const auto [stop, error] = std::from_chars(given.value.data(), end, value);
        if (error != std::errc() || stop != end)
            fail_usage(fmt::format("--value: {} is a number, not '{}'", given.name, given.value));
        numbers.emplace(given.name, value);
    }
    return numbers;
}

void set_numbers(const ChosenTemplate& chosen, TemplateLaunch& launch) {
    for (const auto& [name, value] : numbers_of(chosen)) take(launch.set(name, value));
}

Skeleton compile_template(const Template& from, const Choices& choices, const CudaFlags& flags) {
    const std::optional<Cache> cache = open_cache(flags.cache);
    CudaOptions cuda;
    cuda.cache = cache ? &*cache : nullptr;
    return take(from.skeleton(choices, flags.target, cuda));
}

}  // namespace ptxgraft::cli
