#pragma once
/// @file manifest.hpp
/// What a manifest says of a template. templates/README.md has its keys.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/template.hpp"
#include "template/expression.hpp"

namespace ptxgraft::templates {

/// The im2col mode of a map, in expressions.
struct Im2colRule {
    std::vector<Formula> lower_corner, upper_corner;
    Formula channels_per_pixel, pixels_per_column;
};

/// A map of a tensor, in expressions; lists begin with the innermost dimension.
struct MapRule {
    std::size_t tensor = 0;  ///< which of Rules::arguments it is of: itself, or the one of "of"
    std::optional<std::vector<Formula>> dims, strides;  ///< none: of the tensor without gaps
    std::vector<Formula> box, element_strides;
    std::optional<Im2colRule> im2col;  ///< in place of the box
    TensorMapOptions options;          ///< its words
};

/// What TemplateArgument leaves to the launch.
struct ArgumentRule {
    Span span;
    std::vector<Formula> shape;
    std::optional<MapRule> map;
    bool is_view = false;               ///< another map of a tensor before it
    std::optional<Formula> value;       ///< of an integer; none: the name's own
    std::optional<std::string> number;  ///< of a floating-point number, as written
    std::optional<double> above;        ///< what it is larger than
    bool zeroed = false;
    std::optional<std::pair<double, double>> range;
};

struct LaunchRule {
    std::vector<Formula> grid, block, cluster;
    std::optional<Formula> shared_bytes;
};

struct ReferenceRule {
    std::string source, entry;
    LaunchRule launch;
};

/// A combination that has to be so.
struct Requirement {
    Formula that;
    std::string why;
};

}  // namespace ptxgraft::templates

namespace ptxgraft {

struct Template::Data {
    std::shared_ptr<const SourceText> manifest;
    std::string folder;  ///< of the manifest
    std::string name, meaning, target, entry, source_path, numpy, launch_rule;
    std::vector<std::string> outputs;
    std::vector<TemplateDimension> dimensions;
    std::vector<templates::Formula> multiples;  ///< of `dimensions`; empty texts: of 1
    std::vector<TemplateTunable> tunables;
    std::vector<std::pair<std::string, templates::Formula>> names;
    std::vector<templates::Requirement> requirements;
    std::vector<TemplateArgument> arguments;
    std::vector<templates::ArgumentRule> rules;  ///< of `arguments`
    std::vector<TemplateSite> sites;
    std::vector<templates::Formula> copies;  ///< of `sites`
    templates::LaunchRule launch;
    std::optional<templates::ReferenceRule> reference;
    TemplateTolerance tolerance;
    std::optional<templates::Formula> per;  ///< `absolute` counts so often
};

namespace templates {

/// All members of a manifest's family.
[[nodiscard]] Expected<std::vector<std::shared_ptr<const Template::Data>>> read_manifest(
    const std::string& path);

/// The folders of families, as it was given or as the library has it. Errors: Errc::file_not_found names the
/// folders that were searched.
[[nodiscard]] Expected<std::string> template_folder(const std::string& given);

/// The names of the tunables that are chosen, and all words.
[[nodiscard]] Names names_of(const Template::Data& data, const Choices& choices);
/// With everything of `data.names` that can be computed.
[[nodiscard]] Expected<void> add_derived(const Template::Data& data, Names& names);

}  // namespace templates
}  // namespace ptxgraft
