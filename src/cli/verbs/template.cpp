// ptxgraft templates, ptxgraft template: which skeletons there are, what their manifests say, and a launch of
// one as files for `run`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>

#include "array/npy.hpp"
#include "array/scalar.hpp"
#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/template_flags.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/template_json.hpp"
#include "tensor/words.hpp"

namespace ptxgraft::cli {

using namespace array;

namespace {

struct TemplateFlags {
    ChosenTemplate chosen;
    CudaFlags cuda;
    std::string launch_folder, output;
    std::vector<std::string> null;
    std::uint32_t multiprocessors = 1;
    std::optional<std::uint64_t> inputs;  // the seed
    std::vector<std::string> measured;    // sites
    std::uint32_t most = 64;              // values that are tried
    bool source = false, describe = false, json = false, measure = false;
};

// ---- what a manifest says

std::string values_text(const TemplateTunable& tunable) {
    std::vector<std::string> texts;
    for (const Choice& value : tunable.values)
        texts.push_back(value == tunable.usual ? value.text + " (default)" : value.text);
    return fmt::format("{}", fmt::join(texts, ", "));
}

void print_requirements(const Template& from) {
    if (!from.requirements().empty()) fmt::print("\nrequires\n");
    for (const TemplateRequirement& one : from.requirements()) fmt::print("  {}: {}\n", one.why, one.that);
    if (!from.names().empty()) fmt::print("\nnames\n");
    for (const auto& [name, meaning] : from.names()) fmt::print("  {} = {}\n", name, meaning);
}

void print_arguments(const Template& from) {
    fmt::print("\narguments\n");
    for (const TemplateArgument& one : from.arguments()) {
        if (!one.is_tensor) {
            fmt::print("  {:<16}{}\n", one.name, one.by_map ? "a tensor map" : one.type);
            continue;
        }
        fmt::print("  {:<16}{} {}[{}]{}{}\n", one.name, name(one.access), one.type,
                   fmt::join(one.shape, ", "), one.by_map ? ", by a tensor map" : "",
                   one.nullable ? "; may be null" : "");
    }
}

// As the manifest has them, and with which tunables that was.
void print_spare_registers(const Template& from, const TemplateSite& site) {
    if (site.spare_registers.empty()) return;
    std::string tunables = "the usual tunables";
    const Choices with = take(from.choices_with(site.name));
    for (const auto& [name, value] : with)
        tunables += fmt::format("{} {}={}", name == with.begin()->first ? " but" : ",", name, value.text);
    for (const auto& [target, registers] : site.spare_registers)
        fmt::print("  {} registers to spare on {}, with {}\n", registers, target, tunables);
}

void print_sites(const Template& from) {
    for (const TemplateSite& one : from.sites()) {
        fmt::print("\nsite {} ({})\n  {}\n  {}\n  default: {}\n", one.name, one.where, one.signature,
                   one.meaning, one.usual);
        if (!one.law.empty()) fmt::print("  law: {}\n", one.law);
        for (const auto& [operand, meaning] : one.operands) fmt::print("    {:<14}{}\n", operand, meaning);
        print_spare_registers(from, one);
    }
}

void describe(const Template& from) {
    fmt::print("{}  ({}{})\n{}\n\ndimensions\n", from.name(), from.target(),
               from.target().ends_with('a') ? "" : " and later", from.meaning());
    for (const TemplateDimension& one : from.dimensions()) {
        std::string notes;
        if (!one.multiple_of.empty()) notes += fmt::format("; a multiple of {}", one.multiple_of);
        if (one.usual) notes += fmt::format("; default {}", *one.usual);
        fmt::print("  {:<16}{}{}\n", one.name, one.meaning, notes);
    }
    if (!from.tunables().empty()) fmt::print("\ntunables\n");
    for (const TemplateTunable& one : from.tunables())
        fmt::print("  {:<16}{}: {}\n", one.name, one.meaning, values_text(one));
    print_requirements(from);
    print_arguments(from);
    print_sites(from);
    if (!from.launch_rule().empty()) fmt::print("\nlaunch: {}\n", from.launch_rule());
    if (!from.numpy().empty()) fmt::print("in NumPy: {}\n", from.numpy());
}

// ---- a launch as files

std::string number_text(const TemplateParameter& parameter) {
    const ElementType& type = *find_type(parameter.type);
    std::uint64_t bits = 0;
    std::memcpy(&bits, parameter.value.data(), parameter.value.size());
    if (type.name == "f32") return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type.name == "f64") return fmt::format("{}", std::bit_cast<double>(bits));
    return fmt::format("{:#x}", bits);
}
Json number_json(const TemplateParameter& parameter) {
    const ElementType& type = *find_type(parameter.type);
    if (type.family == 'u') {
        std::uint64_t bits = 0;
        std::memcpy(&bits, parameter.value.data(), parameter.value.size());
        return {{parameter.type, bits}};
    }
    if (type.name == "f32" || type.name == "f64") return {{parameter.type, number_text(parameter)}};
    std::string hex;
    for (const std::byte byte : parameter.value)
        hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return {{"bytes", hex}};
}

using Names = std::vector<std::string>;
bool has_name(const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

Json argument_json(const TemplateLaunch& launch, const TemplateParameter& parameter, const Names& null) {
    if (parameter.tensor == TemplateParameter::no_tensor) return number_json(parameter);
    const std::string& buffer = launch.tensors[parameter.tensor].name;
    if (has_name(null, buffer)) return {{"u64", 0}};
    if (!parameter.map) return {{"buffer", buffer}};
    const TensorMapOptions& map = *parameter.map;
    const auto word = [](const auto& words, auto value) { return words[static_cast<unsigned>(value)]; };
    Json json{{"buffer", buffer},
              {"type", word(tensor::type_words, map.type)},
              {"dims", map.dims},
              {"strides", map.strides},
              {"swizzle", word(tensor::swizzle_words, map.swizzle)},
              {"interleave", word(tensor::interleave_words, map.interleave)},
              {"l2", word(tensor::promotion_words, map.l2)},
              {"fill", word(tensor::fill_words, map.fill)}};
    if (!map.element_strides.empty()) json["element_strides"] = map.element_strides;
    if (map.im2col)
        json["im2col"] = {{"lower_corner", map.im2col->lower_corner},
                          {"upper_corner", map.im2col->upper_corner},
                          {"channels_per_pixel", map.im2col->channels_per_pixel},
                          {"pixels_per_column", map.im2col->pixels_per_column}};
    else
        json["box"] = map.box;
    return {{"tensormap", std::move(json)}};
}

Json buffer_json(const TemplateTensor& tensor) {
    const std::string file = tensor.name + ".npy";
    Json json = Json::object();
    const bool is_read = tensor.access == TensorAccess::in || tensor.access == TensorAccess::modified;
    if (is_read) json["in"] = file;
    if (tensor.access == TensorAccess::out || tensor.access == TensorAccess::modified) json["out"] = file;
    json["type"] = tensor.type;
    json["shape"] = tensor.shape;
    if (tensor.zeroed && !is_read) json["fill"] = 0;
    return json;
}

Json launch_json(const TemplateLaunch& launch, const Names& null) {
    const auto extents = [](const Dim3& dims) { return Json{dims.x, dims.y, dims.z}; };
    Json buffers = Json::object(), arguments = Json::array();
    for (const TemplateTensor& tensor : launch.tensors)
        if (!has_name(null, tensor.name)) buffers[tensor.name] = buffer_json(tensor);
    for (const TemplateParameter& parameter : launch.parameters)
        arguments.push_back(argument_json(launch, parameter, null));
    return {{"entry", launch.entry},
            {"grid", extents(launch.config.grid)},
            {"block", extents(launch.config.block)},
            {"cluster", extents(launch.config.cluster)},
            {"smem", launch.config.shared_bytes},
            {"buffers", std::move(buffers)},
            {"args", std::move(arguments)}};
}

// The tensors of --null, and with random inputs those whose random elements would mean nothing.
Names null_tensors(const TemplateFlags& flags, const TemplateLaunch& launch) {
    Names null = flags.null;
    for (const std::string& name : null) {
        const auto tensor = std::ranges::find(launch.tensors, name, &TemplateTensor::name);
        if (tensor == launch.tensors.end() || !tensor->nullable)
            fail_usage(fmt::format("--null: no tensor {} may be a null pointer", name));
    }
    for (const TemplateTensor& tensor : launch.tensors)
        if (flags.inputs && tensor.is_places) null.push_back(tensor.name);
    return null;
}

void write_inputs(const TemplateLaunch& launch, const std::filesystem::path& folder, std::uint64_t seed,
                  const Names& null) {
    for (const TemplateTensor& tensor : launch.tensors) {
        if (tensor.access != TensorAccess::in && tensor.access != TensorAccess::modified) continue;
        if (has_name(null, tensor.name)) continue;
        const Array array{std::string(find_type(tensor.type)->dtype), tensor.shape,
                          random_bytes(tensor, seed)};
        take(write_file((folder / (tensor.name + ".npy")).string(), write_npy(array)));
    }
}

void write_launch(const TemplateFlags& flags, const Template& from) {
    namespace fs = std::filesystem;
    const Choices choices = choices_of(flags.chosen);
    TemplateLaunch launch = take(from.launch(dimensions_of(flags.chosen), choices, flags.multiprocessors));
    set_numbers(flags.chosen, launch);
    const Names null = null_tensors(flags, launch);
    const Skeleton skeleton = compile_template(from, choices, flags.cuda);
    const fs::path folder(flags.launch_folder);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        fail_work({Errc::file_not_writable,
                   {},
                   0,
                   std::make_shared<const std::string>(
                       fmt::format("{}: the folder cannot be made: {}", folder.string(), error.message()))});
    take(write_file((folder / "kernel.ptx").string(), skeleton.ptx()));
    take(write_file((folder / "launch.json").string(), json_text(launch_json(launch, null))));
    if (flags.inputs) write_inputs(launch, folder, *flags.inputs, null);
}

// ---- what stubs may keep alive

Json measured_json(const Template& from, const Choices& complete, std::string_view target,
                   const std::vector<SpareRegisters>& all) {
    Json tunables = Json::object(), sites = Json::object();
    for (const auto& [name, value] : complete) {
        const auto number = magnitude(value.text);
        tunables[name] = number ? Json(*number) : Json(value.text);
    }
    for (const SpareRegisters& one : all) {
        sites[one.site] = {{"spare_registers", one.registers}};
        if (!one.loss.empty()) sites[one.site]["loss"] = one.loss;
    }
    return {{"template", from.name()},
            {"target", target},
            {"tunables", std::move(tunables)},
            {"sites", std::move(sites)}};
}

void measure_registers(const TemplateFlags& flags, const Template& from) {
    const Choices choices = choices_of(flags.chosen);
    const std::string target = flags.cuda.target.empty() ? from.target() : flags.cuda.target;
    const std::optional<Cache> cache = open_cache(flags.cuda.cache);
    SpareRegistersOptions options{.sites = flags.measured, .most = flags.most};
    options.graft.cache = cache ? &*cache : nullptr;
    if (!flags.chosen.dimensions.empty()) {
        const LaunchConfig launch = take(from.launch(dimensions_of(flags.chosen), choices)).config;
        options.threads_per_block = launch.block.x * launch.block.y * launch.block.z;
        options.dynamic_shared_bytes = launch.shared_bytes;
    }
    const auto all = take(from.measure_spare_registers(choices, target, options));
    if (flags.json) return print_json(measured_json(from, take(from.complete(choices, target)), target, all));
    for (const SpareRegisters& one : all)
        fmt::print("{:<16}{}{}\n", one.site, one.registers,
                   one.loss.empty() ? " or more" : fmt::format("; one more: {}", one.loss));
}

void show_template(const TemplateFlags& flags) {
    const Template from = find_template(flags.chosen);
    if (!flags.launch_folder.empty()) return write_launch(flags, from);
    if (!flags.null.empty()) fail_usage("--null is for --launch DIR");
    if (!flags.chosen.numbers.empty()) fail_usage("--value is for --launch DIR");
    if (flags.inputs) fail_usage("--inputs is for --launch DIR");
    if (flags.measure) return measure_registers(flags, from);
    if (!flags.chosen.dimensions.empty()) fail_usage("--dims is for --launch DIR and --spare-registers");
    if (!flags.measured.empty()) fail_usage("--site is for --spare-registers");
    take(from.complete(choices_of(flags.chosen), flags.cuda.target));
    if (!flags.output.empty())
        return take(
            write_file(flags.output, compile_template(from, choices_of(flags.chosen), flags.cuda).ptx()));
    if (flags.source) {
        fmt::print("{}", take(read_file(from.source_path())));
        return;
    }
    flags.json ? print_json(Json::parse(ptxgraft::json_text(from))) : describe(from);
}

void list_templates(const std::string& folder, bool json) {
    Json list = Json::array();
    for (const Template& one : take(Template::all(folder))) {
        if (json)
            list.push_back(Json::parse(ptxgraft::json_text(one)));
        else
            fmt::print("{:<24}{:<9}{}\n", one.name(), one.target(), one.meaning());
    }
    if (json) print_json(list);
}

}  // namespace

void add_templates(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("templates", "List the skeletons that come with the library");
    const auto folder = std::make_shared<std::string>();
    const auto json = std::make_shared<bool>(false);
    add_template_folder_flag(*verb, *folder);
    verb->add_flag("--json", *json, "Print JSON: all that the manifests say");
    verb->callback([folder, json] { list_templates(*folder, *json); });
}

void add_template(CLI::App& app) {
    CLI::App* verb =
        app.add_subcommand("template", "Show a skeleton of the library, or write a launch of it as files");
    const auto flags = std::make_shared<TemplateFlags>();
    add_chosen_template(*verb, flags->chosen);
    verb->add_flag("--describe", flags->describe, "Print what the manifest says (default)");
    verb->add_flag("--source", flags->source, "Print the CUDA source");
    verb->add_flag("--json", flags->json, "Print what the manifest says as JSON")->excludes("--source");
    verb->add_option(
        "--launch", flags->launch_folder,
        "DIR: write kernel.ptx and launch.json there, for `run DIR/kernel.ptx --launch DIR/launch.json`; "
        "tensors are read from and written to DIR/NAME.npy");
    verb->add_option("-o,--output", flags->output,
                     "FILE: write the PTX for the tunables of --set there, - for standard output");
    verb->add_option("--inputs", flags->inputs,
                     "SEED: write random inputs there too; places and lengths that may be null pointers are")
        ->check(wrong_from_zero);
    verb->add_option("--null", flags->null, "Tensors that are null pointers in the launch: bias,scale")
        ->delimiter(',');
    verb->add_flag("--spare-registers", flags->measure,
                   "Measure how many values a stub may keep alive in each site, with the tunables of --set")
        ->excludes("--launch")
        ->excludes("--describe")
        ->excludes("--source")
        ->excludes("--output");
    verb->add_option("--site", flags->measured, "Of --spare-registers: which sites (default: all)")
        ->delimiter(',');
    verb->add_option("--most", flags->most, "Of --spare-registers: values that are tried (default: 64)")
        ->needs("--spare-registers")
        ->check(CLI::Range(1, 256));
    verb->add_option("--multiprocessors", flags->multiprocessors,
                     "Of the device, for kernels whose blocks stay")
        ->check(CLI::Range(1, 1 << 16));
    add_target_flag(*verb, flags->cuda.target, "Architecture, such as sm_90a (default: the template's own)");
    add_cache_flags(*verb, flags->cuda.cache);
    verb->callback([flags] { show_template(*flags); });
}

}  // namespace ptxgraft::cli
