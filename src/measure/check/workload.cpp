// Workloads: made of options or read from JSON, and checked before anything runs.

#include "ptxgraft/measure/workload.hpp"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/try.hpp"
#include "json/values.hpp"
#include "measure/check/workload_data.hpp"
#include "ptxgraft/expression.hpp"

namespace ptxgraft::measure {
namespace {

using json::check_keys;
using json::check_kind;
using json::JsonKind;
using json::JsonValue;
using json::mistake;
using json::needed;
using json::text_of;

constexpr std::array<std::string_view, 4> regime_names = {"usual", "large", "constant", "special"};

bool names(const std::vector<Graft>& grafts, std::string_view site) {
    return std::ranges::find(grafts, site, &Graft::site) != grafts.end();
}

Expected<void> check(const WorkloadOptions& options) {
    if (options.shapes.empty()) return fail(Errc::workload_invalid, "a workload has a shape at least");
    if (options.regimes.empty()) return fail(Errc::workload_invalid, "a workload has a regime at least");
    if (std::ranges::find(options.regimes, Regime::usual) == options.regimes.end())
        return fail(Errc::workload_invalid, "the regime \"usual\" is one of a workload's");
    for (const double number :
         {options.relative, options.absolute, options.necessary_bytes, options.necessary_operations})
        if (!std::isfinite(number) || number < 0)
            return fail(Errc::workload_invalid, "tolerances, bytes and operations are numbers from 0 on");
    return {};
}

// What right results are is the reference's matter: a stub that it has no site for says nothing.
Expected<void> check_wanted(const Skeleton& reference, const std::vector<Graft>& wanted) {
    for (const Graft& graft : wanted)
        if (reference.site(graft.site) == nullptr)
            return fail(Errc::workload_invalid,
                        fmt::format("the reference has no site {}: what a stub does there changes no right "
                                    "result, so it cannot be wanted",
                                    graft.site));
    TRY(reference.render(wanted));
    return {};
}

// All that decides what right is, as one number.
std::uint64_t hash_of(const Workload::Data& data) {
    std::string all;
    const auto add = [&](std::uint64_t value) {
        all.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    const auto add_text = [&](std::string_view text) {
        add(text.size());
        all.append(text);
    };
    const auto add_grafts = [&](const std::vector<Graft>& grafts) {
        add(grafts.size());
        for (const Graft& graft : grafts) {
            add_text(graft.site);
            add_text(graft.stub.ptx());
            for (const std::uint64_t constant : graft.stub.constants()) add(constant);
        }
    };
    add_text(data.skeleton.ptx());
    add_text(data.reference.ptx());
    add(data.options.shapes.size());
    for (const Dimensions& shape : data.options.shapes) {
        add(shape.size());
        for (const auto& [name, value] : shape) add_text(name), add(value);
    }
    add(data.options.regimes.size());
    for (const Regime regime : data.options.regimes) add(static_cast<std::uint64_t>(regime));
    add_grafts(data.options.wanted);
    add_grafts(data.options.baseline);
    for (const std::string& name : data.options.null) add_text(name);
    for (const auto& [name, value] : data.options.numbers)
        add_text(name), add(std::bit_cast<std::uint64_t>(value));
    for (const double number : {data.options.relative, data.options.absolute, data.options.necessary_bytes,
                                data.options.necessary_operations})
        add(std::bit_cast<std::uint64_t>(number));
    return XXH3_64bits(all.data(), all.size());
}

// What right variants compute is right for the baseline too, where nothing else is said of it.
Expected<std::shared_ptr<const Workload::Data>> data_of(const Template& from, WorkloadOptions options,
                                                        Skeleton skeleton, std::string text = {}) {
    TRY(check(options));
    Skeleton reference = TRY(from.reference(options.choices, options.target, options.cuda));
    TRY(check_wanted(reference, options.wanted));
    for (const Graft& graft : options.wanted)
        if (!names(options.baseline, graft.site) && skeleton.site(graft.site) != nullptr)
            options.baseline.push_back(graft);
    TRY(skeleton.render(options.baseline));
    Workload::Data data{from, std::move(options), std::move(skeleton), std::move(reference), 0, {}};
    data.hash = hash_of(data);
    data.text = std::move(text);
    return std::make_shared<const Workload::Data>(std::move(data));
}

// ---- JSON -------------------------------------------------------------------------------------------------

// What a file says of a workload, before anything is compiled.
struct Said {
    std::string name, folder;
    WorkloadOptions options;
    const JsonValue *wanted = nullptr, *baseline = nullptr;
};

Expected<Choices> choices_of(const JsonValue& value) {
    TRY(check_kind(value, JsonKind::object, "choices"));
    Choices choices;
    for (const JsonValue& item : value.items) {
        if (item.kind != JsonKind::string && item.kind != JsonKind::number)
            return mistake(item.span, fmt::format("\"{}\" is a string or a number", item.key));
        choices.emplace(item.key, Choice(item.text));
    }
    return choices;
}
Expected<std::vector<Dimensions>> shapes_of(const JsonValue& value) {
    TRY(check_kind(value, JsonKind::array, "shapes"));
    std::vector<Dimensions> shapes;
    for (const JsonValue& item : value.items) {
        TRY(check_kind(item, JsonKind::object, "a shape"));
        Dimensions& shape = shapes.emplace_back();
        for (const JsonValue& dimension : item.items)
            shape[dimension.key] = TRY(json::whole_number(dimension, dimension.key, 0, ~std::uint64_t{0}));
    }
    return shapes;
}
Expected<std::vector<Regime>> regimes_of(const JsonValue& value) {
    TRY(check_kind(value, JsonKind::array, "regimes"));
    std::vector<Regime> regimes;
    for (const JsonValue& item : value.items)
        regimes.push_back(TRY(json::choice<Regime>(item, "a regime", regime_names)));
    return regimes;
}
Expected<void> read_null(const JsonValue& value, std::vector<std::string>& null) {
    TRY(check_kind(value, JsonKind::array, "null"));
    for (const JsonValue& item : value.items) null.push_back(TRY(text_of(item, "a tensor")));
    return {};
}
Expected<void> read_numbers(const JsonValue& root, WorkloadOptions& options) {
    const std::pair<std::string_view, double*> all[] = {{"relative", &options.relative},
                                                        {"absolute", &options.absolute},
                                                        {"bytes", &options.necessary_bytes},
                                                        {"operations", &options.necessary_operations}};
    for (const auto& [key, to] : all)
        if (const JsonValue* value = root.find(key)) *to = TRY(json::distance_of(*value));
    const JsonValue* const numbers = root.find("numbers");
    if (numbers == nullptr) return {};
    TRY(check_kind(*numbers, JsonKind::object, "numbers"));
    for (const JsonValue& item : numbers->items)
        options.numbers[item.key] = TRY(json::real_number(item, item.key));
    return {};
}

Expected<Said> read(const JsonValue& root) {
    TRY(check_keys(root, "a workload",
                   {"template", "folder", "choices", "target", "shapes", "regimes", "wanted", "baseline",
                    "relative", "absolute", "bytes", "operations", "null", "numbers"}));
    Said said;
    const JsonValue* const name = TRY(needed(root, "template"));
    said.name = TRY(text_of(*name, "template"));
    if (const JsonValue* value = root.find("folder")) said.folder = TRY(text_of(*value, "folder"));
    if (const JsonValue* value = root.find("choices")) said.options.choices = TRY(choices_of(*value));
    if (const JsonValue* value = root.find("target")) said.options.target = TRY(text_of(*value, "target"));
    const JsonValue* const shapes = TRY(needed(root, "shapes"));
    said.options.shapes = TRY(shapes_of(*shapes));
    if (const JsonValue* value = root.find("regimes")) said.options.regimes = TRY(regimes_of(*value));
    if (const JsonValue* value = root.find("null")) TRY(read_null(*value, said.options.null));
    TRY(read_numbers(root, said.options));
    said.wanted = root.find("wanted");
    said.baseline = root.find("baseline");
    return said;
}

// A stack program, or {"program": …}, {"expr": …}.
Expected<Graft> graft_of(const JsonValue& value, const Skeleton& skeleton) {
    const JsonValue* text = &value;
    if (value.kind == JsonKind::object && value.items.size() == 1) text = value.items.data();
    const bool is_expression = text != &value && text->key == "expr";
    if (text->kind != JsonKind::string || (text != &value && !is_expression && text->key != "program"))
        return mistake(value.span, fmt::format("the stub of {} is a stack program, or an object with one of "
                                               "\"program\" and \"expr\"",
                                               value.key));
    const auto site = skeleton.find_site(value.key);
    if (!site) return json::passed(site);
    auto stub = is_expression ? compile_expression(text->text, **site) : stack::compile(text->text, **site);
    return Graft(value.key,
                 TRY(json::within(std::move(stub), fmt::format("the stub of {}", value.key), text->text)));
}
Expected<std::vector<Graft>> grafts_of(const JsonValue* value, std::string_view key,
                                       const Skeleton& skeleton) {
    std::vector<Graft> grafts;
    if (value == nullptr) return grafts;
    TRY(check_kind(*value, JsonKind::object, key));
    for (const JsonValue& item : value->items) grafts.push_back(TRY(graft_of(item, skeleton)));
    return grafts;
}

Expected<std::shared_ptr<const Workload::Data>> parse_data(std::string_view text, const CudaOptions& cuda) {
    const JsonValue root = TRY(json::parse_json(text));
    Said said = TRY(read(root));
    WorkloadOptions& options = said.options;
    options.cuda = cuda;
    const Template from = TRY(Template::find(said.name, said.folder));
    Skeleton skeleton = TRY(from.skeleton(options.choices, options.target, options.cuda));
    options.wanted = TRY(grafts_of(said.wanted, "wanted", skeleton));
    options.baseline = TRY(grafts_of(said.baseline, "baseline", skeleton));
    return data_of(from, std::move(options), std::move(skeleton), std::string(text));
}

}  // namespace

std::string_view name(Regime regime) { return regime_names[static_cast<std::size_t>(regime)]; }

Expected<Workload> Workload::make(const Template& from, WorkloadOptions options) {
    Skeleton skeleton = TRY(from.skeleton(options.choices, options.target, options.cuda));
    auto data = TRY(data_of(from, std::move(options), std::move(skeleton)));
    return Workload(std::move(data));
}

Expected<Workload> Workload::parse(std::string_view text, const CudaOptions& cuda) {
    auto data = parse_data(text, cuda);
    if (data) return Workload(std::move(*data));
    if (data.error().code == Errc::launch_file_invalid) data.error().code = Errc::workload_invalid;
    return tl::unexpected(std::move(data.error()));
}

const Template& Workload::from() const { return data_->from; }
const WorkloadOptions& Workload::options() const { return data_->options; }
const Skeleton& Workload::skeleton() const { return data_->skeleton; }
const Skeleton& Workload::reference() const { return data_->reference; }
const std::string& Workload::text() const { return data_->text; }
std::uint64_t Workload::hash() const { return data_->hash; }

}  // namespace ptxgraft::measure
