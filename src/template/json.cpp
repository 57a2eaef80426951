// What a manifest says, as JSON.

#include <nlohmann/json.hpp>

#include "array/scalar.hpp"
#include "ptxgraft/template_json.hpp"

namespace ptxgraft {
namespace {

using Json = nlohmann::ordered_json;

// A number where it is one, else a word.
Json choice_json(const Choice& choice) {
    const auto number = array::magnitude(choice.text);
    return number ? Json(*number) : Json(choice.text);
}

Json values_json(const std::vector<Choice>& values) {
    Json list = Json::array();
    for (const Choice& value : values) list.push_back(choice_json(value));
    return list;
}

Json json_of(const TemplateDimension& dimension) {
    Json json{{"meaning", dimension.meaning}, {"minimum", dimension.least}, {"maximum", dimension.most}};
    if (!dimension.multiple_of.empty()) json["multiple_of"] = dimension.multiple_of;
    if (!dimension.why.empty()) json["why"] = dimension.why;
    if (dimension.usual) json["default"] = *dimension.usual;
    return json;
}

Json json_of(const TemplateArgument& argument) {
    Json json{{"name", argument.name}, {"type", argument.type}};
    if (argument.is_tensor)
        json.update(
            {{"shape", argument.shape}, {"access", name(argument.access)}, {"nullable", argument.nullable}});
    if (argument.by_map) json["map"] = true;
    return json;
}

Json json_of(const Template& from, const TemplateSite& site) {
    Json operands = Json::object(), with = Json::object();
    for (const auto& [name, meaning] : site.operands) operands[name] = meaning;
    for (const auto& [name, value] : from.choices_with(site.name).value_or(Choices{}))
        with[name] = choice_json(value);
    return {{"signature", site.signature},
            {"operands", std::move(operands)},
            {"default", site.usual},
            {"meaning", site.meaning},
            {"law", site.law},
            {"where", site.where},
            {"copies", site.copies},
            {"spare_registers", site.spare_registers},
            {"spare_registers_with", std::move(with)}};
}

Json json_of(const Template& from) {
    Json dimensions = Json::object(), tunables = Json::object(), names = Json::object();
    Json requirements = Json::array(), arguments = Json::array(), sites = Json::object();
    for (const TemplateDimension& one : from.dimensions()) dimensions[one.name] = json_of(one);
    for (const TemplateTunable& one : from.tunables())
        tunables[one.name] = {{"meaning", one.meaning},
                              {"values", values_json(one.values)},
                              {"default", choice_json(one.usual)}};
    for (const auto& [name, meaning] : from.names()) names[name] = meaning;
    for (const TemplateRequirement& one : from.requirements())
        requirements.push_back({{"that", one.that}, {"why", one.why}});
    for (const TemplateArgument& one : from.arguments()) arguments.push_back(json_of(one));
    for (const TemplateSite& one : from.sites()) sites[one.name] = json_of(from, one);
    return {{"name", from.name()},
            {"meaning", from.meaning()},
            {"target", from.target()},
            {"source", from.source_path()},
            {"entry", from.entry()},
            {"dimensions", std::move(dimensions)},
            {"tunables", std::move(tunables)},
            {"names", std::move(names)},
            {"requires", std::move(requirements)},
            {"arguments", std::move(arguments)},
            {"sites", std::move(sites)},
            {"launch", from.launch_rule()},
            {"outputs", from.outputs()},
            {"numpy", from.numpy()}};
}

}  // namespace

std::string json_text(const Template& from) {
    return json_of(from).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ptxgraft
