// Reads manifests. Every mistake is an error at its place.

#include "template/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "array/scalar.hpp"
#include "base/try.hpp"
#include "json/values.hpp"
#include "ptx/target.hpp"
#include "tensor/words.hpp"

namespace ptxgraft::templates {
namespace {

using json::check_keys;
using json::check_kind;
using json::JsonKind;
using json::JsonValue;
using json::mistake;
using json::needed;
using json::real_number;
using json::text_of;

constexpr std::uint64_t most_number = 0xFFFFFFFFu;

// A member that may be missing, which then is empty.
Expected<std::string> text_in(const JsonValue& object, std::string_view key) {
    const JsonValue* const value = object.find(key);
    if (value == nullptr) return std::string();
    return text_of(*value, key);
}
Expected<std::string> needed_text(const JsonValue& object, std::string_view key) {
    const JsonValue* const value = TRY(needed(object, key));
    return text_of(*value, key);
}

// An expression is a string or a number.
Expected<Formula> formula_of(const JsonValue& value, std::string_view key) {
    if (value.kind != JsonKind::string && value.kind != JsonKind::number)
        return mistake(value.span, fmt::format("\"{}\" is an expression: a string or a number, not {}", key,
                                               json::noun(value.kind)));
    return Formula{value.text, value.span};
}
Expected<std::vector<Formula>> formulas_of(const JsonValue& list, std::string_view key, std::size_t most) {
    TRY(check_kind(list, JsonKind::array, key));
    if (list.items.empty() || list.items.size() > most)
        return mistake(list.span, fmt::format("\"{}\" has 1 to {} expressions", key, most));
    std::vector<Formula> formulas;
    for (const JsonValue& item : list.items) formulas.push_back(TRY(formula_of(item, key)));
    return formulas;
}
Expected<std::vector<Formula>> formulas_in(const JsonValue& object, std::string_view key, std::size_t most) {
    const JsonValue* const list = object.find(key);
    if (list == nullptr) return std::vector<Formula>();
    return formulas_of(*list, key, most);
}

bool is_name(std::string_view text) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_part);
}

class ManifestReader {
  public:
    ManifestReader(std::shared_ptr<const SourceText> manifest, std::string folder)
        : manifest_(std::move(manifest)), folder_(std::move(folder)) {}

    Expected<Template::Data> read(const JsonValue& member) {
        TRY(check_keys(member, "a skeleton",
                       {"name", "like", "source", "entry", "meaning", "target", "dimensions", "tunables",
                        "names", "requires", "macros", "arguments", "sites", "launch", "reference", "numpy",
                        "output", "tolerance"}));
        data_ = {};
        data_.manifest = manifest_;
        data_.folder = folder_;
        TRY(read_head(member));
        TRY(read_dimensions(member));
        TRY(read_tunables(member));
        TRY(read_names(member));
        TRY(read_requirements(member));
        TRY(read_macros(member));
        TRY(read_arguments(member));
        TRY(read_sites(member));
        TRY(read_launches(member));
        TRY(read_checks(member));
        return std::move(data_);
    }

  private:
    Expected<void> read_head(const JsonValue& member) {
        data_.name = TRY(needed_text(member, "name"));
        data_.meaning = TRY(needed_text(member, "meaning"));
        data_.entry = TRY(needed_text(member, "entry"));
        const std::string source = TRY(needed_text(member, "source"));
        data_.source_path = (std::filesystem::path(folder_) / source).string();
        data_.numpy = TRY(text_in(member, "numpy"));
        data_.target = TRY(text_in(member, "target"));
        if (data_.target.empty()) data_.target = "sm_75";
        if (!find_architecture(data_.target))
            return mistake(member.find("target")->span,
                           fmt::format("\"{}\" is no target, such as sm_80 or sm_90a", data_.target));
        return {};
    }

    Expected<void> read_dimensions(const JsonValue& member) {
        const JsonValue* const list = TRY(needed(member, "dimensions"));
        TRY(check_kind(*list, JsonKind::object, "dimensions"));
        for (const JsonValue& item : list->items) {
            TRY(check_keys(item, item.key,
                           {"meaning", "minimum", "maximum", "multiple_of", "default", "why"}));
            TRY(take_name(item));
            TemplateDimension dimension;
            dimension.name = item.key;
            dimension.meaning = TRY(needed_text(item, "meaning"));
            dimension.why = TRY(text_in(item, "why"));
            for (const auto& [key, target] :
                 {std::pair{"minimum", &dimension.least}, {"maximum", &dimension.most}})
                if (const JsonValue* bound = item.find(key))
                    *target = TRY(json::whole_number(*bound, key, 0, std::uint64_t{1} << 62));
            if (const JsonValue* usual = item.find("default"))
                dimension.usual = TRY(json::whole_number(*usual, "default", dimension.least, dimension.most));
            Formula multiple;
            if (const JsonValue* value = item.find("multiple_of"))
                multiple = TRY(formula_of(*value, "multiple_of"));
            dimension.multiple_of = multiple.text;
            data_.dimensions.push_back(std::move(dimension));
            data_.multiples.push_back(std::move(multiple));
        }
        return {};
    }

    static Expected<Choice> choice_of(const JsonValue& value) {
        if (value.kind == JsonKind::string) {
            if (is_name(value.text)) return Choice(value.text);
            return mistake(value.span, fmt::format("\"{}\" is no word: letters, digits and _", value.text));
        }
        return Choice(TRY(json::whole_number(value, "a value", 0, most_number)));
    }

    Expected<void> read_tunables(const JsonValue& member) {
        const JsonValue* const list = member.find("tunables");
        if (list == nullptr) return {};
        TRY(check_kind(*list, JsonKind::object, "tunables"));
        for (const JsonValue& item : list->items) {
            TRY(check_keys(item, item.key, {"meaning", "values", "default"}));
            TRY(take_name(item));
            TemplateTunable tunable{item.key, {}, {}, Choice("")};
            tunable.meaning = TRY(needed_text(item, "meaning"));
            const JsonValue* const values = TRY(needed(item, "values"));
            TRY(check_kind(*values, JsonKind::array, "values"));
            for (const JsonValue& value : values->items) tunable.values.push_back(TRY(choice_of(value)));
            const JsonValue* const usual = TRY(needed(item, "default"));
            tunable.usual = TRY(choice_of(*usual));
            if (std::find(tunable.values.begin(), tunable.values.end(), tunable.usual) ==
                tunable.values.end())
                return mistake(usual->span, fmt::format("\"default\" of {} is none of its values", item.key));
            data_.tunables.push_back(std::move(tunable));
        }
        return {};
    }

    Expected<void> read_names(const JsonValue& member) {
        for (auto& [name, formula] : TRY(read_formulas(member, "names"))) {
            data_.names.emplace_back(name, formula.text);
            data_.meanings.push_back(std::move(formula));
        }
        return {};
    }

    // `{"name": "expression", …}` of new names.
    Expected<std::vector<std::pair<std::string, Formula>>> read_formulas(const JsonValue& member,
                                                                         std::string_view key) {
        std::vector<std::pair<std::string, Formula>> all;
        const JsonValue* const list = member.find(key);
        if (list == nullptr) return all;
        TRY(check_kind(*list, JsonKind::object, key));
        for (const JsonValue& item : list->items) {
            TRY(take_name(item));
            all.emplace_back(item.key, TRY(formula_of(item, item.key)));
        }
        return all;
    }

    Expected<void> read_requirements(const JsonValue& member) {
        const JsonValue* const list = member.find("requires");
        if (list == nullptr) return {};
        TRY(check_kind(*list, JsonKind::array, "requires"));
        for (const JsonValue& item : list->items) {
            TRY(check_keys(item, "requires", {"that", "why"}));
            const JsonValue* const that = TRY(needed(item, "that"));
            Formula formula = TRY(formula_of(*that, "that"));
            auto why = TRY(needed_text(item, "why"));
            data_.requirements.push_back({formula.text, std::move(why)});
            data_.conditions.push_back(std::move(formula));
        }
        return {};
    }

    Expected<void> read_macros(const JsonValue& member) {
        data_.macros = TRY(read_formulas(member, "macros"));
        return {};
    }

    // A name stands for one thing.
    Expected<void> take_name(const JsonValue& item) {
        if (!is_name(item.key))
            return mistake(item.key_span, fmt::format("\"{}\" is no name: letters, digits and _", item.key));
        if (item.key == "sizeof" || item.key == "multiprocessors" || item.key == shared_memory_name ||
            std::find(taken_.begin(), taken_.end(), item.key) != taken_.end())
            return mistake(item.key_span, fmt::format("\"{}\" stands for something else already", item.key));
        taken_.push_back(item.key);
        return {};
    }

    // ---- arguments

    Expected<void> read_arguments(const JsonValue& member) {
        const JsonValue* const list = TRY(needed(member, "arguments"));
        TRY(check_kind(*list, JsonKind::array, "arguments"));
        for (const JsonValue& item : list->items) {
            TRY(check_keys(item, "an argument",
                           {"name", "type", "shape", "access", "nullable", "map", "value", "above", "minimum",
                            "fill", "range"}));
            TemplateArgument argument;
            ArgumentRule rule;
            rule.span = item.span;
            argument.name = TRY(needed_text(item, "name"));
            for (const TemplateArgument& other : data_.arguments)
                if (other.name == argument.name)
                    return mistake(item.span, fmt::format("two arguments are named {}", argument.name));
            argument.type = TRY(text_in(item, "type"));
            argument.is_tensor = item.find("shape") != nullptr;
            if (argument.is_tensor) TRY(read_tensor(item, argument, rule));
            if (const JsonValue* map = item.find("map")) TRY(read_map(*map, argument, rule));
            if (!argument.is_tensor && !rule.is_view) TRY(read_number(item, argument, rule));
            data_.arguments.push_back(std::move(argument));
            data_.rules.push_back(std::move(rule));
        }
        return {};
    }

    // A type, or a tunable whose values are all types.
    Expected<void> check_type(const JsonValue& item, const std::string& type) const {
        const auto tunable = std::find_if(data_.tunables.begin(), data_.tunables.end(),
                                          [&](const TemplateTunable& t) { return t.name == type; });
        std::vector<std::string> types{type};
        if (tunable != data_.tunables.end()) {
            types.clear();
            for (const Choice& value : tunable->values) types.push_back(value.text);
        }
        for (const std::string& one : types)
            if (bytes_of_type(one) == 0)
                return mistake(item.span, fmt::format("\"type\" is one of {}, or a tunable of such, not {}",
                                                      array::type_names(), one));
        return {};
    }

    Expected<void> read_tensor(const JsonValue& item, TemplateArgument& argument, ArgumentRule& rule) {
        constexpr std::string_view accesses[] = {"in", "out", "mod", "scratch"};
        TRY(check_type(item, argument.type));
        rule.shape = TRY(formulas_of(*item.find("shape"), "shape", 8));
        for (const Formula& extent : rule.shape) argument.shape.push_back(extent.text);
        const JsonValue* const access = TRY(needed(item, "access"));
        argument.access = TRY(json::choice<TensorAccess>(*access, "access", accesses));
        if (const JsonValue* nullable = item.find("nullable")) {
            TRY(check_kind(*nullable, JsonKind::boolean, "nullable"));
            argument.nullable = nullable->text == "true";
        }
        if (const JsonValue* fill = item.find("fill")) {
            TRY(json::whole_number(*fill, "fill", 0, 0));
            if (argument.access != TensorAccess::scratch)
                return mistake(fill->span, "\"fill\" is of scratch: other tensors are the caller's");
            rule.zeroed = true;
        }
        if (const JsonValue* range = item.find("range")) {
            TRY(check_kind(*range, JsonKind::array, "range"));
            if (range->items.size() != 2) return mistake(range->span, "\"range\" has two numbers");
            const double low = TRY(real_number(range->items[0], "range"));
            rule.range = std::pair{low, TRY(real_number(range->items[1], "range"))};
            if (rule.range->first > rule.range->second)
                return mistake(range->span, "\"range\" is from a lower number to a higher one");
        }
        return {};
    }

    Expected<void> read_map(const JsonValue& item, TemplateArgument& argument, ArgumentRule& rule) {
        TRY(check_keys(item, "map",
                       {"of", "box", "im2col", "dims", "strides", "element_strides", "swizzle", "interleave",
                        "l2", "fill"}));
        MapRule map;
        map.tensor = data_.arguments.size();
        if (const JsonValue* of = item.find("of")) {
            rule.is_view = true;
            const std::string name = TRY(text_of(*of, "of"));
            const auto found = std::find_if(data_.arguments.begin(), data_.arguments.end(),
                                            [&](const TemplateArgument& a) { return a.name == name; });
            if (found == data_.arguments.end() || !found->is_tensor)
                return mistake(of->span, fmt::format("no tensor before it is named {}", name));
            map.tensor = static_cast<std::size_t>(found - data_.arguments.begin());
        } else if (!argument.is_tensor) {
            return mistake(item.span,
                           "a map is of a tensor: the argument needs \"shape\", or the map \"of\"");
        }
        TRY(read_box(item, map));
        map.element_strides = TRY(formulas_in(item, "element_strides", 5));
        if (const JsonValue* dims = item.find("dims")) map.dims = TRY(formulas_of(*dims, "dims", 5));
        if (const JsonValue* strides = item.find("strides"))
            map.strides =
                strides->items.empty() ? std::vector<Formula>() : TRY(formulas_of(*strides, "strides", 4));
        TRY(read_words(item, map.options));
        argument.by_map = true;
        rule.map = std::move(map);
        return {};
    }

    // Boxes, or the im2col mode in their place.
    static Expected<void> read_box(const JsonValue& item, MapRule& map) {
        const JsonValue* const mode = item.find("im2col");
        if (mode == nullptr) {
            map.box = TRY(formulas_of(*TRY(needed(item, "box")), "box", 5));
            return {};
        }
        if (const JsonValue* const box = item.find("box"))
            return mistake(box->span, "a map has \"box\" or \"im2col\", not both");
        TRY(check_kind(*mode, JsonKind::object, "im2col"));
        TRY(check_keys(*mode, "im2col",
                       {"lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column"}));
        Im2colRule rule;
        rule.lower_corner = TRY(formulas_of(*TRY(needed(*mode, "lower_corner")), "lower_corner", 3));
        rule.upper_corner = TRY(formulas_of(*TRY(needed(*mode, "upper_corner")), "upper_corner", 3));
        rule.channels_per_pixel =
            TRY(formula_of(*TRY(needed(*mode, "channels_per_pixel")), "channels_per_pixel"));
        rule.pixels_per_column =
            TRY(formula_of(*TRY(needed(*mode, "pixels_per_column")), "pixels_per_column"));
        map.im2col = std::move(rule);
        return {};
    }

    static Expected<void> read_words(const JsonValue& map, TensorMapOptions& options) {
        if (const JsonValue* word = map.find("swizzle"))
            options.swizzle = TRY(json::choice<TensorSwizzle>(*word, "swizzle", tensor::swizzle_words));
        if (const JsonValue* word = map.find("interleave"))
            options.interleave =
                TRY(json::choice<TensorInterleave>(*word, "interleave", tensor::interleave_words));
        if (const JsonValue* word = map.find("l2"))
            options.l2 = TRY(json::choice<TensorL2Promotion>(*word, "l2", tensor::promotion_words));
        if (const JsonValue* word = map.find("fill"))
            options.fill = TRY(json::choice<TensorFill>(*word, "fill", tensor::fill_words));
        return {};
    }

    Expected<void> read_number(const JsonValue& item, const TemplateArgument& argument, ArgumentRule& rule) {
        TRY(check_type(item, argument.type));
        const JsonValue* const value = item.find("value");
        const array::ElementType* const type = array::find_type(argument.type);
        if (type != nullptr && type->family == 'f') {
            if (value == nullptr)
                return mistake(item.span, fmt::format("{} needs \"value\", a number", argument.name));
            const double number = TRY(real_number(*value, "value"));
            rule.number = value->text;
            if (const JsonValue* above = item.find("above")) {
                rule.above = TRY(real_number(*above, "above"));
                if (!(number > *rule.above)) return mistake(value->span, "\"value\" is above \"above\"");
            }
            if (const JsonValue* least = item.find("minimum")) {
                rule.least = TRY(real_number(*least, "minimum"));
                if (rule.above)
                    return mistake(least->span, "a number has \"above\" or \"minimum\", not both");
                if (number < *rule.least) return mistake(value->span, "\"value\" is \"minimum\" or more");
            }
            return {};
        }
        rule.value = value != nullptr ? TRY(formula_of(*value, "value")) : Formula{argument.name, item.span};
        return {};
    }

    // ---- sites

    Expected<void> read_sites(const JsonValue& member) {
        const JsonValue* const list = TRY(needed(member, "sites"));
        TRY(check_kind(*list, JsonKind::object, "sites"));
        for (const JsonValue& item : list->items) {
            TRY(check_keys(item, item.key,
                           {"signature", "operands", "default", "meaning", "law", "where", "copies",
                            "spare_registers"}));
            TemplateSite site;
            site.name = item.key;
            site.signature = TRY(needed_text(item, "signature"));
            site.usual = TRY(needed_text(item, "default"));
            site.meaning = TRY(needed_text(item, "meaning"));
            site.law = TRY(text_in(item, "law"));
            site.where = TRY(text_in(item, "where"));
            if (site.where.empty()) site.where = "cold";
            if (site.where != "hot" && site.where != "cold")
                return mistake(item.find("where")->span, "\"where\" is \"hot\" or \"cold\"");
            TRY(read_operands(item, site));
            Formula copies;
            if (const JsonValue* value = item.find("copies")) copies = TRY(formula_of(*value, "copies"));
            site.copies = copies.text;
            data_.sites.push_back(std::move(site));
            data_.copies.push_back(std::move(copies));
        }
        return {};
    }

    static Expected<void> read_operands(const JsonValue& item, TemplateSite& site) {
        if (const JsonValue* operands = item.find("operands")) {
            TRY(check_kind(*operands, JsonKind::object, "operands"));
            for (const JsonValue& operand : operands->items)
                site.operands.emplace_back(operand.key, TRY(text_of(operand, operand.key)));
        }
        const JsonValue* const spare = item.find("spare_registers");
        if (spare == nullptr) return {};
        TRY(check_kind(*spare, JsonKind::object, "spare_registers"));
        for (const JsonValue& target : spare->items)
            site.spare_registers[target.key] =
                static_cast<std::uint32_t>(TRY(json::whole_number(target, target.key, 0, 255)));
        return {};
    }

    // ---- launches and checks

    Expected<LaunchRule> launch_of(const JsonValue& item) {
        LaunchRule rule;
        const JsonValue* const grid = TRY(needed(item, "grid"));
        rule.grid = TRY(formulas_of(*grid, "grid", 3));
        const JsonValue* const block = TRY(needed(item, "block"));
        rule.block = TRY(formulas_of(*block, "block", 3));
        rule.cluster = TRY(formulas_in(item, "cluster", 3));
        if (const JsonValue* bytes = item.find("shared_bytes"))
            rule.shared_bytes = TRY(formula_of(*bytes, "shared_bytes"));
        return rule;
    }

    Expected<void> read_launches(const JsonValue& member) {
        const JsonValue* const launch = TRY(needed(member, "launch"));
        TRY(check_keys(*launch, "launch", {"grid", "block", "cluster", "shared_bytes", "rule"}));
        data_.launch = TRY(launch_of(*launch));
        data_.launch_rule = TRY(text_in(*launch, "rule"));
        const JsonValue* const reference = member.find("reference");
        if (reference == nullptr) return {};
        TRY(check_keys(*reference, "reference",
                       {"source", "entry", "grid", "block", "cluster", "shared_bytes"}));
        ReferenceRule rule;
        rule.source = TRY(needed_text(*reference, "source"));
        rule.entry = TRY(needed_text(*reference, "entry"));
        rule.launch = TRY(launch_of(*reference));
        data_.reference = std::move(rule);
        return {};
    }

    Expected<void> read_checks(const JsonValue& member) {
        const JsonValue* const output = TRY(needed(member, "output"));
        std::vector<const JsonValue*> items{output};
        if (output->kind == JsonKind::array) {
            items.clear();
            for (const JsonValue& item : output->items) items.push_back(&item);
        }
        if (items.empty()) return mistake(output->span, "\"output\" names no tensor");
        for (const JsonValue* item : items) {
            const std::string name = TRY(text_of(*item, "output"));
            const auto found =
                std::find_if(data_.arguments.begin(), data_.arguments.end(), [&](const TemplateArgument& a) {
                    return a.name == name && a.is_tensor &&
                           (a.access == TensorAccess::out || a.access == TensorAccess::modified);
                });
            if (found == data_.arguments.end())
                return mistake(item->span, fmt::format("no tensor named {} is written", name));
            data_.outputs.push_back(name);
        }
        const JsonValue* const tolerance = TRY(needed(member, "tolerance"));
        TRY(check_keys(*tolerance, "tolerance", {"relative", "absolute", "per"}));
        if (const JsonValue* value = tolerance->find("relative"))
            data_.tolerance.relative = TRY(json::distance_of(*value));
        if (const JsonValue* value = tolerance->find("absolute"))
            data_.tolerance.absolute = TRY(json::distance_of(*value));
        if (const JsonValue* value = tolerance->find("per")) data_.per = TRY(formula_of(*value, "per"));
        return {};
    }

    std::shared_ptr<const SourceText> manifest_;
    std::string folder_;
    Template::Data data_;
    std::vector<std::string> taken_;
};

// With the keys of the member before it that "like" names, where it has none of its own.
Expected<JsonValue> completed(const JsonValue& member, const std::vector<JsonValue>& before) {
    const JsonValue* const like = member.find("like");
    if (like == nullptr) return member;
    const std::string name = TRY(text_of(*like, "like"));
    for (const JsonValue& other : before) {
        const JsonValue* const other_name = other.find("name");
        if (other_name == nullptr || other_name->text != name) continue;
        JsonValue both = member;
        for (const JsonValue& item : other.items)
            if (member.find(item.key) == nullptr) both.items.push_back(item);
        return both;
    }
    return mistake(like->span, fmt::format("no skeleton before it is named {}", name));
}

Expected<std::vector<std::shared_ptr<const Template::Data>>> read_members(
    const std::shared_ptr<const SourceText>& manifest, const std::string& folder) {
    const JsonValue root = TRY(json::parse_json(manifest->text));
    TRY(check_keys(root, "the manifest", {"family", "skeletons"}));
    TRY(needed_text(root, "family"));
    const JsonValue* const members = TRY(needed(root, "skeletons"));
    TRY(check_kind(*members, JsonKind::array, "skeletons"));
    std::vector<std::shared_ptr<const Template::Data>> all;
    std::vector<JsonValue> whole;  // with what they take from each other
    for (const JsonValue& member : members->items) {
        whole.push_back(TRY(completed(member, whole)));
        for (const auto& other : all)
            if (const JsonValue* name = member.find("name"); name != nullptr && name->text == other->name)
                return mistake(name->span, fmt::format("two skeletons are named {}", name->text));
        ManifestReader one(manifest, folder);
        all.push_back(std::make_shared<const Template::Data>(TRY(one.read(whole.back()))));
    }
    return all;
}

}  // namespace

Expected<std::vector<std::shared_ptr<const Template::Data>>> read_manifest(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(Errc::file_not_found, path);
    const auto manifest = std::make_shared<const SourceText>(
        SourceText{path, std::string(std::istreambuf_iterator<char>(file), {})});
    auto members = read_members(manifest, std::filesystem::path(path).parent_path().string());
    if (members) return members;
    Error error = std::move(members.error());
    if (error.code == Errc::launch_file_invalid) error.code = Errc::manifest_invalid;
    if (!error.source) error.source = manifest;
    return tl::unexpected(std::move(error));
}

}  // namespace ptxgraft::templates
