// The skeleton that a verb is given, PTX or CUDA, and the stubs that are written beside it.

#include "skeleton_input.hpp"

#include "ptxgraft/expression.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "ptxgraft/target.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

bool is_cuda_file(std::string_view path) { return path.ends_with(".cu") || path.ends_with(".cuh"); }

// Standard input has no extension to go by; every PTX module starts with `.version` (PTX ISA 4.3.1), CUDA
// never has it.
bool is_cuda(std::string_view path, std::string_view text) {
    return is_cuda_file(path) || (path == "-" && text.find(".version") == std::string_view::npos);
}

std::string folder_of(const std::string& path) {
    const std::string folder = path == "-" ? "" : std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

CudaOptions options_of(const CudaFlags& flags, const std::string& path, const std::string& default_target) {
    CudaOptions options;
    options.target = flags.target.empty() ? default_target : flags.target;
    options.include_dirs = flags.include_dirs;
    options.include_dirs.push_back(folder_of(path));  // where nvcc looks for `#include "…"`
    options.defines = flags.defines;
    options.options = flags.options;
    options.file_name = path == "-" ? "stdin.cu" : path;
    return options;
}

Stub compile_stub_file(const NamedValue& given, const Site& site, stack::Constants constants) {
    const std::string text = take(read_file(given.value), {}, {});
    const std::string file = display_name(given.value);
    if (is_ptx_file(given.value)) return take(Stub::from_ptx(text, site), text, file);
    return take(stub_of(StubKind::file, text, site, constants, stack::Leftover::allow), text, file);
}

}  // namespace

Expected<Stub> stub_of(StubKind kind, std::string_view text, const Site& site, stack::Constants constants,
                       stack::Leftover leftover) {
    if (kind == StubKind::expression)
        return compile_expression(text, site, {.constants = constants, .hash = true});
    return stack::compile(text, site,
                          {.compile = {.leftover = leftover, .hash = true, .constants = constants}});
}

bool is_ptx_file(std::string_view path) { return path.ends_with(".ptx"); }

void add_target_flag(CLI::App& verb, std::string& target, const std::string& help) {
    const auto problem = [](const std::string& text) {
        const auto known = parse_architecture(text);
        return known ? std::string() : message(known.error());
    };
    verb.add_option("--target", target, help)->check(CLI::Validator(problem, "ARCHITECTURE"));
}

void add_cuda_flags(CLI::App& verb, CudaFlags& flags) {
    add_target_flag(verb, flags.target, "Architecture, such as sm_90a");
    const auto one_at_a_time = [&](const char* name, std::vector<std::string>& values, const char* help) {
        verb.add_option(name, values, help)->allow_extra_args(false)->take_all();
    };
    one_at_a_time("-I,--include", flags.include_dirs, "Folder with headers (CUDA files; repeatable)");
    one_at_a_time("-D,--define", flags.defines, "Macro NAME or NAME=VALUE (CUDA files; repeatable)");
    one_at_a_time("--option", flags.options,
                  "Further NVRTC option, such as --option=--use_fast_math (repeatable)");
    add_cache_flags(verb, flags.cache);
}

std::string compile_cuda_text(const std::string& path, std::string_view source, const CudaFlags& flags,
                              const std::string& default_target) {
    const std::optional<Cache> cache = open_cache(flags.cache);
    CudaOptions options = options_of(flags, path, default_target);
    options.cache = cache ? &*cache : nullptr;
    Ptx ptx = take(compile_cuda(source, options), source, display_name(path));
    if (!ptx.log.empty()) fmt::print(stderr, "{}{}", ptx.log, ptx.log.back() == '\n' ? "" : "\n");
    return std::move(ptx.text);
}

std::string Input::ptx_name(std::size_t stub_count) const {
    const char* suffix = from_cuda ? (stub_count ? " (as PTX, with stubs)" : " (as PTX)")
                                   : (stub_count ? " (with stubs)" : "");
    return file + suffix;
}

Input load_input(const std::string& path, const CudaFlags& flags, const std::string& default_target) {
    std::string text = take(read_file(path));
    const bool from_cuda = is_cuda(path, text);
    if (from_cuda) text = compile_cuda_text(path, text, flags, default_target);
    auto skeleton = Skeleton::from_ptx(text);
    const std::string file = display_name(path);
    if (!skeleton) fail_work(skeleton.error(), text, from_cuda ? file + " (as PTX)" : file);
    return {std::move(*skeleton), file, from_cuda};
}

void add_stub_flags(CLI::App& verb, StubFlags& flags) {
    verb.add_option("--stub", flags.files,
                    "SITE=FILE: fill a site with a .stub file, or with hand-written PTX (.ptx)")
        ->allow_extra_args(false)
        ->take_all();
    verb.add_option("--program", flags.programs,
                    "SITE=TEXT: fill a site with a stack program, such as 'x y add.f32 -> z'")
        ->allow_extra_args(false)
        ->take_all();
    verb.add_option("--expr", flags.expressions,
                    "SITE=TEXT: fill a site with an expression, such as 'z = x * y'")
        ->allow_extra_args(false)
        ->take_all();
    verb.add_option(
            "--route", flags.routes,
            "auto, inline, call or link, of all sites, or SITE=ROUTE of one: how a stub gets into its copies "
            "(default: inline)")
        ->allow_extra_args(false)
        ->take_all();
    verb.add_option_function<std::string>(
            "--constants",
            [&flags](const std::string& where) {
                flags.constants = where == "data" ? stack::Constants::data : stack::Constants::literals;
            },
            "literals: constants of programs and expressions stand in the code (default); data: in a .const "
            "variable of the module, so that stubs that differ in them alone are one machine code")
        ->check(CLI::IsMember(std::vector<std::string>{"literals", "data"}));
}

namespace {

Route route_of(std::string_view text) {
    const auto route = route_from_name(text);
    if (!route) fail_usage(message(route.error()));
    return *route;
}

}  // namespace

RouteOptions route_options(const StubFlags& flags) {
    RouteOptions options;
    bool has_common = false;
    for (const std::string& text : flags.routes) {
        if (text.find('=') == std::string::npos) {
            if (std::exchange(has_common, true)) fail_usage("two routes are given for all sites");
            options.route = route_of(text);
            continue;
        }
        const NamedValue given = split_named("--route", text);
        if (!options.sites.emplace(given.name, route_of(given.value)).second)
            fail_usage(fmt::format("two routes are given for site '{}'", given.name));
    }
    return options;
}

void print_routes(const StubFlags& flags, const std::vector<RouteChoice>& routes) {
    if (flags.routes.empty()) return;
    for (const RouteChoice& choice : routes)
        fmt::print(stderr, "{}: {} ({})\n", choice.site, name(choice.route), choice.reason);
}

std::vector<NamedStub> compile_stubs(const Input& input, const StubFlags& flags) {
    std::vector<NamedStub> stubs;
    const auto site_of = [&](const NamedValue& given) -> const Site& {
        if (std::any_of(stubs.begin(), stubs.end(), [&](const NamedStub& s) { return s.site == given.name; }))
            fail_usage(fmt::format("site '{}' is filled twice", given.name));
        return *take(input.skeleton.find_site(given.name), {}, input.file);
    };
    for (const std::string& text : flags.files) {
        const NamedValue given = split_named("--stub", text);
        const Site& site = site_of(given);
        stubs.push_back({given.name, compile_stub_file(given, site, flags.constants)});
    }
    for (const std::string& text : flags.programs) {
        const NamedValue given = split_named("--program", text);
        const Site& site = site_of(given);
        stubs.push_back({given.name, take(stub_of(StubKind::program, given.value, site, flags.constants,
                                                  stack::Leftover::allow),
                                          given.value, "--program " + given.name)});
    }
    for (const std::string& text : flags.expressions) {
        const NamedValue given = split_named("--expr", text);
        const Site& site = site_of(given);
        stubs.push_back({given.name, take(stub_of(StubKind::expression, given.value, site, flags.constants,
                                                  stack::Leftover::allow),
                                          given.value, "--expr " + given.name)});
    }
    return stubs;
}

std::vector<Graft> as_grafts(const std::vector<NamedStub>& stubs) {
    std::vector<Graft> grafts;
    for (const NamedStub& named : stubs) grafts.push_back({named.site, named.stub});
    return grafts;
}

}  // namespace ptxgraft::cli
