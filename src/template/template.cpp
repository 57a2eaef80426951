// Template: what a manifest says, choices of its tunables, and its sources as skeletons.

#include "ptxgraft/template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/try.hpp"
#include "ptx/target.hpp"
#include "template/manifest.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;
using templates::Formula;
using templates::Names;

std::string macro_of(std::string_view name) {
    std::string macro(name);
    for (char& c : macro) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return macro;
}

std::vector<std::string> texts_of(const std::vector<Choice>& values) {
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (const Choice& value : values) texts.push_back(value.text);
    return texts;
}

// What the manifest rules out; empty where all is right as far as it can be known.
Expected<std::string> objection(const Template::Data& data, const Names& names, std::string_view target) {
    for (std::size_t i = 0; i < data.requirements.size(); ++i) {
        const auto holds = TRY(names.value_if_known(data.conditions[i], data.manifest));
        if (!holds || *holds != 0) continue;
        const TemplateRequirement& requirement = data.requirements[i];
        const bool is_of_target = requirement.that.find(templates::shared_memory_name) != std::string::npos;
        if (target.empty() || !is_of_target) return fmt::format("{} ({})", requirement.why, requirement.that);
        return fmt::format("{} ({}, which is {} for {})", requirement.why, requirement.that,
                           *names.find(templates::shared_memory_name), target);
    }
    return std::string();
}

// Whether the manifest rules out all combinations that begin with these choices: what asks for a tunable that
// is not chosen yet says nothing.
bool is_ruled_out(const Template::Data& data, const Choices& choices, std::string_view target) {
    const char* const unknown = choices.size() == data.tunables.size() ? "?" : "";
    Names names = templates::names_of(data, choices, target);
    if (!templates::add_derived(data, names)) return *unknown != '\0';
    return !objection(data, names, target).value_or(unknown).empty();
}

// Calls `visit` for each combination of tunables from this one on that is not ruled out.
template <class Visit>
void each_combination(const Template::Data& data, std::string_view target, std::size_t from, Choices& choices,
                      const Visit& visit) {
    if (is_ruled_out(data, choices, target)) return;
    if (from == data.tunables.size()) return visit(choices);
    const TemplateTunable& tunable = data.tunables[from];
    for (const Choice& value : tunable.values) {
        choices.insert_or_assign(tunable.name, value);
        each_combination(data, target, from + 1, choices, visit);
    }
    choices.erase(tunable.name);
}

bool is_for(const Template::Data& data, Architecture asked) {
    const Architecture least = *find_architecture(data.target);
    return least.variant == 0 ? asked.sm >= least.sm : asked == least;
}

Expected<void> check_target(const Template::Data& data, std::string_view target) {
    if (is_for(data, TRY(parse_architecture(target)))) return {};
    const bool is_least = find_architecture(data.target)->variant == 0;
    return fail(Errc::target_differs, fmt::format("{} is for {}{}, not for {}", data.name, data.target,
                                                  is_least ? " and later" : " alone", target));
}

std::int64_t shared_bytes_per_block(const Template::Data& data, std::string_view target) {
    if (const auto architecture = find_architecture(target))
        return architecture_limits(architecture->sm).shared_bytes_per_block;
    std::int64_t most = 0;
    for (const architectures::ArchitectureRow& row : architectures::all)
        if (is_for(data, {row.sm, find_architecture(data.target)->variant}))
            most = std::max<std::int64_t>(most, architecture_limits(row.sm).shared_bytes_per_block);
    return most;
}

Expected<Skeleton> compile(const Template::Data& data, const std::string& path, const Choices& complete,
                           std::string_view target, CudaOptions cuda) {
    cuda.target = target.empty() ? data.target : std::string(target);
    for (const auto& [name, value] : complete) cuda.defines.push_back(macro_of(name) + "=" + value.text);
    Names names = templates::names_of(data, complete, cuda.target);
    TRY(templates::add_derived(data, names));
    for (const auto& [name, formula] : data.macros) {
        const std::int64_t value = TRY(names.value(formula, data.manifest));
        cuda.defines.push_back(fmt::format("{}={}", macro_of(name), value));
    }
    return Skeleton::from_file(path, cuda);
}

}  // namespace

namespace templates {

Names names_of(const Template::Data& data, const Choices& choices, std::string_view target) {
    const auto is_number = [](const Choice& value) {
        return std::isdigit(static_cast<unsigned char>(value.text[0])) != 0;
    };
    Names names;
    for (const TemplateTunable& tunable : data.tunables) {
        const auto chosen = choices.find(tunable.name);
        if (chosen != choices.end() && is_number(chosen->second))
            names.set(tunable.name, std::stoll(chosen->second.text));
        else if (chosen != choices.end())
            names.set_word(tunable.name, chosen->second.text);
        for (const Choice& value : tunable.values)
            if (!is_number(value)) names.add_word(value.text);
    }
    names.set(shared_memory_name, shared_bytes_per_block(data, target));
    return names;
}

Expected<void> add_derived(const Template::Data& data, Names& names) {
    for (std::size_t i = 0; i < data.names.size(); ++i)
        if (const auto value = TRY(names.value_if_known(data.meanings[i], data.manifest)))
            names.set(data.names[i].first, *value);
    return {};
}

Expected<Choices> complete(const Template::Data& data, const Choices& choices, std::string_view target) {
    Choices complete;
    for (const TemplateTunable& tunable : data.tunables) complete.emplace(tunable.name, tunable.usual);
    for (const auto& [name, value] : choices) {
        const auto tunable = std::find_if(data.tunables.begin(), data.tunables.end(),
                                          [&name = name](const auto& one) { return one.name == name; });
        if (tunable == data.tunables.end()) {
            std::vector<std::string> names;
            for (const TemplateTunable& one : data.tunables) names.push_back(one.name);
            return fail(Errc::choice_invalid,
                        fmt::format("{} has no tunable {}; it has {}", data.name, name,
                                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
        }
        if (std::find(tunable->values.begin(), tunable->values.end(), value) == tunable->values.end())
            return fail(Errc::choice_invalid,
                        fmt::format("{} is one of {}, not {}", name,
                                    fmt::join(texts_of(tunable->values), ", "), value.text));
        complete.insert_or_assign(name, value);
    }
    Names names = names_of(data, complete, target);
    TRY(add_derived(data, names));
    const std::string why = TRY(objection(data, names, target));
    if (!why.empty()) return fail(Errc::choice_invalid, why);
    return complete;
}

}  // namespace templates

std::string_view name(TensorAccess access) {
    constexpr std::string_view names[] = {"in", "out", "mod", "scratch"};
    return names[static_cast<unsigned>(access)];
}

// ---- where they are

Expected<std::vector<Template>> Template::from_manifest(const std::string& path) {
    std::vector<Template> all;
    for (auto& data : TRY(templates::read_manifest(path))) all.push_back(Template(std::move(data)));
    return all;
}

namespace {

// Those of a folder of families that have a manifest.
Expected<std::vector<std::string>> manifests_in(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& family : fs::directory_iterator(TRY(templates::template_folder(folder)), error)) {
        const fs::path manifest = family.path() / "manifest.json";
        if (fs::is_regular_file(manifest, error)) paths.push_back(manifest.string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace

Expected<std::vector<Template>> Template::all(const std::string& folder) {
    std::vector<Template> all;
    for (const std::string& path : TRY(manifests_in(folder))) {
        auto members = TRY(from_manifest(path));
        std::move(members.begin(), members.end(), std::back_inserter(all));
    }
    std::sort(all.begin(), all.end(),
              [](const Template& a, const Template& b) { return a.name() < b.name(); });
    return all;
}

// A family that cannot be read is in the way of its own members alone.
Expected<Template> Template::find(std::string_view name, const std::string& folder) {
    std::vector<std::string> names;
    std::optional<Error> unread;
    for (const std::string& path : TRY(manifests_in(folder))) {
        auto members = from_manifest(path);
        if (!members) {
            if (!unread) unread = std::move(members.error());
            continue;
        }
        for (Template& one : *members) {
            if (one.name() == name) return std::move(one);
            names.push_back(one.name());
        }
    }
    if (unread) return tl::unexpected(std::move(*unread));
    if (names.empty())
        return fail(Errc::template_unknown,
                    fmt::format("{}; there are none in {}", name, TRY(templates::template_folder(folder))));
    return fail(Errc::template_unknown, fmt::format("{}; there are {}", name, fmt::join(names, ", ")));
}

// ---- what it says

const std::string& Template::name() const { return data_->name; }
const std::string& Template::meaning() const { return data_->meaning; }
const std::string& Template::target() const { return data_->target; }
const std::string& Template::entry() const { return data_->entry; }
const std::string& Template::source_path() const { return data_->source_path; }
const std::vector<std::string>& Template::outputs() const { return data_->outputs; }
const std::string& Template::numpy() const { return data_->numpy; }
const std::string& Template::launch_rule() const { return data_->launch_rule; }
const std::vector<TemplateDimension>& Template::dimensions() const { return data_->dimensions; }
const std::vector<TemplateTunable>& Template::tunables() const { return data_->tunables; }
const std::vector<std::pair<std::string, std::string>>& Template::names() const { return data_->names; }
const std::vector<TemplateRequirement>& Template::requirements() const { return data_->requirements; }
const std::vector<TemplateArgument>& Template::arguments() const { return data_->arguments; }
const std::vector<TemplateSite>& Template::sites() const { return data_->sites; }

// ---- tunables

Expected<Choices> Template::complete(const Choices& choices, std::string_view target) const {
    if (target.empty()) target = data_->target;
    TRY(check_target(*data_, target));
    return templates::complete(*data_, choices, target);
}

std::vector<Choices> Template::combinations(std::string_view target) const {
    std::vector<Choices> all;
    if (target.empty()) target = data_->target;
    if (!check_target(*data_, target)) return all;
    Choices choices;
    each_combination(*data_, target, 0, choices, [&](const Choices& one) { all.push_back(one); });
    return all;
}

Expected<std::uint64_t> Template::copies(std::string_view site, const Choices& choices) const {
    const auto found = std::find_if(data_->sites.begin(), data_->sites.end(),
                                    [&](const TemplateSite& s) { return s.name == site; });
    if (found == data_->sites.end())
        return fail(Errc::site_unknown, fmt::format("{}, of {}", site, data_->name));
    const Formula& formula = data_->copies[static_cast<std::size_t>(found - data_->sites.begin())];
    if (formula.text.empty()) return std::uint64_t{0};
    Names names = templates::names_of(*data_, TRY(templates::complete(*data_, choices, {})), {});
    TRY(templates::add_derived(*data_, names));
    return static_cast<std::uint64_t>(TRY(names.value(formula, data_->manifest)));
}

// ---- skeletons

Expected<Skeleton> Template::skeleton(const Choices& choices, std::string_view target,
                                      CudaOptions cuda) const {
    const Choices complete = TRY(this->complete(choices, target));
    return compile(*data_, data_->source_path, complete, target, std::move(cuda));
}

Expected<Skeleton> Template::reference(const Choices& choices, std::string_view target,
                                       CudaOptions cuda) const {
    const Choices complete = TRY(this->complete(choices, target));
    if (!data_->reference)
        return fail(Errc::manifest_invalid, fmt::format("{} has no \"reference\"", data_->name));
    const fs::path path = fs::path(data_->folder) / data_->reference->source;
    return compile(*data_, path.string(), complete, target, std::move(cuda));
}

Expected<Skeleton> Skeleton::from_template(std::string_view name, const Choices& choices,
                                           std::string_view target) {
    const Template found = TRY(Template::find(name));
    return found.skeleton(choices, target);
}

}  // namespace ptxgraft
