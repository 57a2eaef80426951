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
    std::optional<double> least;        ///< what it is not below
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
    std::vector<std::pair<std::string, std::string>> names;
    std::vector<templates::Formula> meanings;  ///< of `names`
    std::vector<TemplateRequirement> requirements;
    std::vector<templates::Formula> conditions;  ///< of `requirements`
    /// What the source has as macros beside its tunables.
    std::vector<std::pair<std::string, templates::Formula>> macros;
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

/// What expressions call the shared memory that a block may have.
inline constexpr std::string_view shared_memory_name = "shared_bytes_per_block";

/// The names of the tunables that are chosen, all words, and the target's `shared_bytes_per_block`: where
/// `target` is empty, the most that one of the template's targets has.
[[nodiscard]] Names names_of(const Template::Data& data, const Choices& choices, std::string_view target);
/// With everything of `data.names` that can be computed.
[[nodiscard]] Expected<void> add_derived(const Template::Data& data, Names& names);
/// Template::complete, where an empty target stands for any of the template's.
[[nodiscard]] Expected<Choices> complete(const Template::Data& data, const Choices& choices,
                                         std::string_view target);

}  // namespace templates
}  // namespace ptxgraft
