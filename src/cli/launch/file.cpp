// Reads a launch file: its launches, and what they share.

#include "cli/launch/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/launch/reader.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {

// ------------------------------------------------------------------------------------------------- the file

Expected<LaunchPlan> LaunchReader::read(const JsonValue& root) {
    if (root.kind != JsonKind::object)
        return mistake(root.span, fmt::format("a launch file is an object, not {}", noun(root.kind)));
    if (auto done = check_keys(root, "a launch file",
                               {"entry", "grid", "block", "cluster", "smem", "cooperative", "buffers", "args",
                                "repeat", "launches"});
        !done)
        return passed(done);
    for (const auto step : {&LaunchReader::read_buffers, &LaunchReader::read_launches})
        if (auto done = (this->*step)(root); !done) return passed(done);
    if (auto done = finish_places(); !done) return passed(done);
    return std::move(plan_);
}

std::string LaunchReader::resolved(const std::string& path) const {
    const std::filesystem::path given(path);
    if (given.is_absolute()) return path;
    return folder_.empty() ? (path == "-" ? "./-" : path) : (folder_ / given).string();
}

Expected<std::size_t> LaunchReader::buffer_named(const JsonValue& name) const {
    if (auto done = check_kind(name, JsonKind::string, "buffer"); !done) return passed(done);
    const auto found = std::find(names_.begin(), names_.end(), name.text);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    return mistake(name.span, names_.empty()
                                  ? fmt::format("there is no buffer \"{}\"; \"buffers\" has none", name.text)
                                  : fmt::format("there is no buffer \"{}\"; there are {}", name.text,
                                                fmt::join(names_, ", ")));
}

// ------------------------------------------------------------------------------------------------- launches

Expected<void> LaunchReader::read_launches(const JsonValue& root) {
    const JsonValue* const launches = root.find("launches");
    if (launches == nullptr) {
        auto only = launch(root);
        if (!only) return passed(only);
        plan_.launches.push_back(std::move(*only));
    } else {
        if (auto done = check_kind(*launches, JsonKind::array, "launches"); !done) return done;
        for (const JsonValue& member : root.items)
            if (member.key != "launches" && member.key != "buffers")
                return mistake(member.key_span,
                               fmt::format("\"{}\" stands in each of the \"launches\", where there are some",
                                           member.key));
        if (launches->items.empty()) return mistake(launches->span, "\"launches\" has at least one launch");
        for (const JsonValue& value : launches->items) {
            if (auto done = check_keys(
                    value, "a launch",
                    {"entry", "grid", "block", "cluster", "smem", "cooperative", "args", "repeat", "after"});
                !done)
                return done;
            auto one = launch(value);
            if (!one) return passed(one);
            plan_.launches.push_back(std::move(*one));
        }
    }
    // What buffers themselves say of their ends holds after the last launch.
    const JsonValue* const buffers = root.find("buffers");
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
        auto one = output(buffers->items[i], i);
        if (!one) return passed(one);
        if (!one->file.empty() || one->expected) plan_.launches.back().outputs.push_back(std::move(*one));
    }
    return {};
}

Expected<PlannedLaunch> LaunchReader::launch(const JsonValue& value) {
    PlannedLaunch result;
    for (const auto step :
         {&LaunchReader::read_shape, &LaunchReader::read_arguments, &LaunchReader::read_outputs_after})
        if (auto done = (this->*step)(value, result); !done) return passed(done);
    return result;
}

Expected<void> LaunchReader::read_shape(const JsonValue& value, PlannedLaunch& launch) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (const JsonValue* entry = value.find("entry")) {
        if (auto done = check_kind(*entry, JsonKind::string, "entry"); !done) return done;
        launch.entry = entry->text;
    }
    LaunchConfig& config = launch.config;
    for (const auto& [name, target] :
         {std::pair{"grid", &config.grid}, {"block", &config.block}, {"cluster", &config.cluster}}) {
        const JsonValue* given = value.find(name);
        if (given == nullptr) continue;
        const auto extents = extents_of(*given, name);
        if (!extents) return passed(extents);
        *target = *extents;
    }
    if (const JsonValue* smem = value.find("smem")) {
        const auto bytes = whole_number(*smem, "smem", 0, most);
        if (!bytes) return passed(bytes);
        config.shared_bytes = static_cast<std::uint32_t>(*bytes);
    }
    if (const JsonValue* repeat = value.find("repeat")) {
        const auto count = whole_number(*repeat, "repeat", 1, most);
        if (!count) return passed(count);
        launch.repeat = *count;
    }
    if (const JsonValue* cooperative = value.find("cooperative")) {
        if (auto done = check_kind(*cooperative, JsonKind::boolean, "cooperative"); !done) return done;
        config.cooperative = cooperative->text == "true";
    }
    return {};
}

Expected<void> LaunchReader::read_arguments(const JsonValue& value, PlannedLaunch& launch) {
    const JsonValue* arguments = value.find("args");
    if (arguments == nullptr) return {};
    if (auto done = check_kind(*arguments, JsonKind::array, "args"); !done) return done;
    for (const JsonValue& given : arguments->items) {
        auto one = argument(given);
        if (!one) return passed(one);
        launch.arguments.push_back(std::move(*one));
    }
    return {};
}

Expected<void> LaunchReader::read_outputs_after(const JsonValue& value, PlannedLaunch& launch) {
    const JsonValue* after = value.find("after");
    if (after == nullptr) return {};
    if (auto done = check_kind(*after, JsonKind::object, "after"); !done) return done;
    for (const JsonValue& member : after->items) {
        JsonValue name;
        name.kind = JsonKind::string;
        name.span = member.key_span;
        name.text = member.key;
        const auto buffer = buffer_named(name);
        if (!buffer) return passed(buffer);
        if (auto done = check_keys(member, member.key, {"out", "expect", "tolerance"}); !done) return done;
        auto one = output(member, *buffer);
        if (!one) return passed(one);
        if (one->file.empty() && !one->expected)
            return mistake(
                member.span,
                fmt::format(
                    "\"{}\" says \"out\", \"expect\" or both of what the buffer holds after this launch",
                    member.key));
        launch.outputs.push_back(std::move(*one));
    }
    return {};
}

// ------------------------------------------------------------------------------------------------- places

// By now every buffer is known.
Expected<void> LaunchReader::finish_places() {
    const auto finish = [&](const std::vector<PlannedPlace>& places) -> Expected<void> {
        for (const PlannedPlace& place : places) {
            if (place.map != PlannedPlace::no_map) {
                auto map = tensor_map(*maps_[place.map], place);
                if (!map) return passed(map);
                plan_.maps[place.map] = std::move(*map);
            }
            const PlannedBuffer& buffer = plan_.buffers[place.buffer];
            if (!buffer.has_shape) continue;
            if (auto done = check_place(place, plan_, buffer.bytes); !done) return done;
        }
        return {};
    };
    plan_.maps.resize(maps_.size());
    for (const PlannedBuffer& buffer : plan_.buffers)
        if (auto done = finish(buffer.places); !done) return done;
    for (const PlannedLaunch& launch : plan_.launches)
        for (const PlannedArgument& argument : launch.arguments)
            if (auto done = finish(argument.value.places); !done) return done;
    return {};
}

Expected<LaunchPlan> parse_launch_file(std::string text, const std::string& path, const FileReader& files) {
    const auto source = std::make_shared<const SourceText>(SourceText{display_name(path), std::move(text)});
    const auto root = parse_json(source->text);
    auto plan = root ? LaunchReader(path, files).read(*root) : Expected<LaunchPlan>(passed(root));
    if (!plan) {
        Error error = plan.error();
        error.source = source;
        return tl::unexpected(std::move(error));
    }
    plan->source = source;
    return plan;
}

Expected<LaunchPlan> read_launch_file(const std::string& path) {
    auto text = read_file(path);
    if (!text) return passed(text);
    return parse_launch_file(std::move(*text), path, read_array_file);
}

// ------------------------------------------------------------------------------------------------- flags

namespace {

// The buffer of an argument.
PlannedBuffer buffer_of(KernelArgument& argument) {
    PlannedBuffer buffer{.text = argument.text, .array = std::move(argument.array), .bytes = argument.bytes};
    if (!argument.input_file.empty()) {
        const std::string bytes = take(read_array_file(argument.input_file));
        buffer.array = take(read_npy(bytes), {}, display_name(argument.input_file));
        buffer.bytes = buffer.array.data.size();
        buffer.contents = Contents::data;
    }
    return buffer;
}

}  // namespace

void plan_arguments(LaunchPlan& plan, std::vector<KernelArgument> arguments) {
    PlannedLaunch& launch = plan.launches.back();
    for (KernelArgument& argument : arguments) {
        PlannedArgument& planned = launch.arguments.emplace_back();
        planned.text = argument.text;
        planned.nature = argument.nature;
        planned.value.bytes = std::move(argument.value);
        if (argument.kind == ArgumentKind::scalar || argument.kind == ArgumentKind::bytes) continue;
        planned.nature = Nature::address;
        planned.value.bytes.resize(sizeof(std::uint64_t));
        planned.value.places = {{.buffer = plan.buffers.size()}};
        if (!argument.output_file.empty())
            launch.outputs.push_back({plan.buffers.size(), argument.output_file});
        plan.buffers.push_back(buffer_of(argument));
    }
}

}  // namespace ptxgraft::cli
