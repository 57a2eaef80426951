/// @file demo.cpp
/// The whole way, shown: a CUDA GEMM is compiled to PTX once; then stub after stub is grafted into it, and
/// every variant runs and is checked against a double-precision reference, without compiling CUDA again.

#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/ptxgraft.hpp"

namespace {

using namespace ptxgraft;

// --- a watch, a file, lines of text

class Watch {
  public:
    void start() { begin_ = Clock::now(); }
    void stop() { total_ += std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(); }
    [[nodiscard]] double total() const { return total_; }  ///< milliseconds

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin_;
    double total_ = 0;
};

Expected<std::string> read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(Errc::file_not_found, path);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

// Colours where a person looks on.
std::string styled(fmt::text_style style, std::string_view text) {
    static const bool colours = isatty(STDOUT_FILENO) != 0;
    return colours ? fmt::format(style, "{}", text) : std::string(text);
}
std::string dim(std::string_view text) { return styled(fmt::fg(fmt::terminal_color::bright_black), text); }
std::string bold(std::string_view text) { return styled(fmt::emphasis::bold, text); }
std::string verdict(bool passed) {
    return passed ? styled(fmt::fg(fmt::terminal_color::green), "ok")
                  : styled(fmt::fg(fmt::terminal_color::red), "WRONG");
}

std::string duration(double milliseconds) {
    return milliseconds < 0.1   ? fmt::format("{:.1f} us", milliseconds * 1000)
           : milliseconds < 10  ? fmt::format("{:.2f} ms", milliseconds)
           : milliseconds < 1e4 ? fmt::format("{:.0f} ms", milliseconds)
                                : fmt::format("{:.1f} s", milliseconds / 1000);
}

void step(int number, std::string_view title, std::optional<double> milliseconds = {}) {
    const std::string text = fmt::format("{}  {}", number, title);
    fmt::print("\n{}", bold(text));
    if (milliseconds) fmt::print("{:>{}}", duration(*milliseconds), text.size() < 85 ? 95 - text.size() : 10);
    fmt::print("\n");
}
void detail(std::string_view text) { fmt::print("   {}\n", text); }

// --- the problem: c = epilogue(initial, then multiply_accumulate for each k of a[m, k] and b[k, n])

constexpr std::uint32_t m = 128, n = 128, k = 64;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Matrices {
    std::vector<float> a = std::vector<float>(std::size_t{m} * k);
    std::vector<float> b = std::vector<float>(std::size_t{k} * n);
    std::vector<float> bias = std::vector<float>(n);
};

Matrices random_matrices() {
    Matrices result;
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (auto* matrix : {&result.a, &result.b, &result.bias})
        for (float& x : *matrix) x = uniform(generator);
    return result;
}

// --- the variants: stack programs or files of stubs/, and the same in double precision

struct Fill {
    std::string_view site, program;
};

struct Variant {
    std::string_view name;
    std::vector<Fill> fills;  // sites that are not named keep what the skeleton has there
    double initial = 0;
    std::function<double(double acc, double a, double b)> accumulate;
    std::function<double(double acc, unsigned row, unsigned column, double bias)> finish;
};

double dot(double acc, double a, double b) { return acc + a * b; }
double max_plus(double acc, double a, double b) { return std::fmax(acc, a + b); }
double l1_distance(double acc, double a, double b) { return acc + std::fabs(a - b); }
double l2_distance(double acc, double a, double b) { return acc + (a - b) * (a - b); }
double unchanged(double acc, unsigned, unsigned, double) { return acc; }
double bias_relu(double acc, unsigned, unsigned, double bias) { return std::fmax(acc + bias, 0.0); }
double gelu(double x, unsigned, unsigned, double) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
double silu(double x, unsigned, unsigned, double) { return x / (1 + std::exp(-x)); }
double square_root(double x, unsigned, unsigned, double) { return std::sqrt(x); }
double lower_triangle(double x, unsigned row, unsigned column, double) { return column <= row ? x : 0; }

const Variant first{
    "bias and relu", {{"epilogue", "acc bias add.f32 0.0 max.f32 -> acc"}}, 0, dot, bias_relu};
const Variant others[] = {
    {"plain product", {}, 0, dot, unchanged},
    {"gelu", {{"epilogue", "activation/gelu_tanh.stub"}}, 0, dot, gelu},
    {"silu", {{"epilogue", "activation/silu.stub"}}, 0, dot, silu},
    {"lower triangle", {{"epilogue", "acc 0.0 col row setp.le.u32 selp.f32 -> acc"}}, 0, dot, lower_triangle},
    {"max-plus",
     {{"initial", "0fFF800000 -> acc"}, {"multiply_accumulate", "semiring/max_plus.stub"}},
     -infinity,
     max_plus,
     unchanged},
    {"L1 distance", {{"multiply_accumulate", "semiring/l1.stub"}}, 0, l1_distance, unchanged},
    {"L2 distance",
     {{"multiply_accumulate", "a b sub.f32 dup.f32 acc fma.rn.f32 -> acc"},
      {"epilogue", "acc sqrt.rn.f32 -> acc"}},
     0,
     l2_distance,
     square_root},
};

// --- one variant, with the time of every step

struct Times {
    double stub = 0, render = 0, assemble = 0, load = 0, run = 0;

    // Adds a share of others.
    void add(const Times& others, double share) {
        stub += others.stub * share;
        render += others.render * share;
        assemble += others.assemble * share;
        load += others.load * share;
        run += others.run * share;
    }
};

struct Outcome {
    Times times;
    double error = 0;
    std::vector<Stub> stubs;
    std::string ptx;
    Cubin cubin;
    [[nodiscard]] bool passed() const { return error <= tolerance; }
    static constexpr double tolerance = 1e-4;  // of the largest element of C
};

class Demo {
  public:
    Demo(Device device, Skeleton skeleton, std::string stubs)
        : device_(std::move(device)), skeleton_(std::move(skeleton)), stubs_(std::move(stubs)) {}

    Expected<Outcome> graft_and_run(const Variant& variant) const {
        Outcome outcome;
        Watch watch;
        std::vector<Graft> grafts;
        for (const auto& [site, program] : variant.fills) {
            auto stub = compile(program, site, watch);
            if (!stub) return tl::unexpected(stub.error());
            outcome.stubs.push_back(std::move(*stub));
            grafts.push_back({site, outcome.stubs.back()});
        }
        outcome.times.stub = watch.total();
        auto kernel = skeleton_.graft(grafts, device_);
        if (!kernel) return tl::unexpected(kernel.error());
        outcome.times.render = kernel->times().render;
        outcome.times.load = kernel->times().load;
        if (auto done = assemble(*kernel, outcome); !done) return tl::unexpected(done.error());
        if (auto done = run(*kernel, variant, outcome); !done) return tl::unexpected(done.error());
        outcome.ptx = kernel->ptx();
        return outcome;
    }

  private:
    // A `.stub` file is read before the watch starts: what is measured is the compiler.
    Expected<Stub> compile(std::string_view program, std::string_view site_name, Watch& watch) const {
        const auto site = skeleton_.find_site(site_name);
        if (!site) return tl::unexpected(site.error());
        SourceText source{std::string(program), std::string(program)};
        if (program.ends_with(".stub")) {
            source.name = fmt::format("{}/{}", stubs_, program);
            auto text = read_text(source.name);
            if (!text) return tl::unexpected(text.error());
            source.text = std::move(*text);
        }
        watch.start();
        auto stub = stack::compile(source.text, **site);
        watch.stop();
        if (stub) return stub;
        Error error = stub.error();
        error.source = std::make_shared<const SourceText>(std::move(source));
        return tl::unexpected(std::move(error));
    }

    // A GPU's kernel is assembled already. The emulator runs the PTX; it is assembled here to show that it
    // can be.
    Expected<void> assemble(const Kernel& kernel, Outcome& outcome) const {
        if (kernel.cubin() != nullptr) {
            outcome.cubin = *kernel.cubin();
            outcome.times.assemble = kernel.times().assemble;
            return {};
        }
        Watch watch;
        watch.start();
        auto cubin = default_assembler().assemble(kernel.ptx());
        watch.stop();
        if (!cubin) return tl::unexpected(cubin.error());
        outcome.times.assemble = watch.total();
        outcome.cubin = std::move(*cubin);
        return {};
    }

    Expected<void> run(const Kernel& kernel, const Variant& variant, Outcome& outcome) const {
        auto a = device_.upload(matrices_.a);
        if (!a) return tl::unexpected(a.error());
        auto b = device_.upload(matrices_.b);
        if (!b) return tl::unexpected(b.error());
        auto bias = device_.upload(matrices_.bias);
        if (!bias) return tl::unexpected(bias.error());
        auto c = device_.upload(std::vector<float>(std::size_t{m} * n, std::nanf("")));
        if (!c) return tl::unexpected(c.error());
        Watch watch;
        watch.start();
        constexpr std::uint32_t tile = 64;
        auto done = kernel.launch({{n / tile, m / tile, 1}, {16, 16, 1}}, *a, *b, *bias, *c, m, n, k);
        if (done) done = device_.synchronize();
        watch.stop();
        if (!done) return done;
        outcome.times.run = watch.total();
        const auto result = c->download<float>();
        if (!result) return tl::unexpected(result.error());
        outcome.error = largest_error(*result, variant);
        return {};
    }

    // Relative to the largest element; infinite where the result is not a number.
    [[nodiscard]] double largest_error(const std::vector<float>& c, const Variant& variant) const {
        double error = 0, largest = 0;
        for (unsigned row = 0; row < m; ++row) {
            for (unsigned column = 0; column < n; ++column) {
                double acc = variant.initial;
                for (unsigned i = 0; i < k; ++i)
                    acc = variant.accumulate(acc, matrices_.a[row * k + i], matrices_.b[i * n + column]);
                const double expected = variant.finish(acc, row, column, matrices_.bias[column]);
                const double difference = std::fabs(expected - c[row * n + column]);
                error = difference <= error ? error : std::isnan(difference) ? infinity : difference;
                largest = std::fmax(largest, std::fabs(expected));
            }
        }
        return error / largest;
    }

    Device device_;
    Skeleton skeleton_;
    std::string stubs_;
    Matrices matrices_ = random_matrices();
};

// --- what is shown

void show_sites(const Skeleton& skeleton) {
    Watch watch;
    watch.start();
    const auto sites = scan(skeleton.ptx());
    watch.stop();
    step(2, fmt::format("find its sites: {} in {} copies", sites->sites.size(), sites->copy_count()),
         watch.total());
    for (const Site& site : sites->sites)
        detail(fmt::format("{:<20} {:<52} {:>3} {}, {}", site.name, site.signature.text(), site.copies.size(),
                           site.copies.size() == 1 ? "copy" : "copies",
                           site.policy.pure ? "pure" : "volatile"));
}

void show_lines(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        if (line.find_first_not_of(" \t") != std::string_view::npos)
            detail(dim(fmt::format("    {}", line.substr(line.find_first_not_of('\t')))));
        begin = end + 1;
    }
}

std::string usage_text(const Cubin& cubin) {
    for (const FunctionUsage& function : cubin.functions)
        if (function.is_entry)
            return fmt::format("{} registers, {}, {:.0f} KB of shared memory", function.registers,
                               function.spill_store_bytes == 0
                                   ? "no spills"
                                   : fmt::format("{} B spilled", function.spill_store_bytes),
                               function.shared_bytes / 1024.0);
    return "no entry";
}

void show_first(const Outcome& outcome, const Device& device) {
    const Times& times = outcome.times;
    step(4, fmt::format("compile a stub for \"epilogue\": {}", first.fills.front().program), times.stub);
    show_lines(outcome.stubs.front().ptx());
    step(5, fmt::format("render it into the PTX: {:.1f} KB", static_cast<double>(outcome.ptx.size()) / 1024),
         times.render);
    step(6, fmt::format("assemble with {} {}", default_assembler().name(), default_assembler().version()),
         times.assemble);
    detail(fmt::format("{:.1f} KB of machine code for {}: {}",
                       static_cast<double>(outcome.cubin.image.size()) / 1024, device.target(),
                       usage_text(outcome.cubin)));
    step(7,
         fmt::format("run on {}: c[{}x{}] = relu(a[{}x{}] b[{}x{}] + bias)", device.name(), m, n, m, k, k, n),
         times.run);
    if (device.kind() == DeviceKind::emulator)
        detail(dim("this machine has no GPU; the emulator runs the same PTX on the CPU"));
    step(8, "check against double precision");
    detail(fmt::format("largest error {:.1e}, tolerance {:.0e}: {}", outcome.error, Outcome::tolerance,
                       verdict(outcome.passed())));
}

void show_row(const Variant& variant, const Outcome& outcome) {
    const Times& times = outcome.times;
    fmt::print("   {:<18}{:>12}{:>12}{:>12}{:>12}{:>12.1e}   {}\n", variant.name,
               variant.fills.empty() ? "" : duration(times.stub), duration(times.render),
               duration(times.assemble), duration(times.run), outcome.error, verdict(outcome.passed()));
    for (const Fill& fill : variant.fills) detail(dim(fmt::format("    {}: {}", fill.site, fill.program)));
}

// What a variant takes in all, on average. Only its PTX is made in another way: the assembler and the loader
// do the same work for both.
void show_sum(double cuda, const Times& mean) {
    const auto row = [](std::string_view step, double by_cuda, double by_stub) {
        detail(fmt::format("{:<18}{:>24}{:>24}", step, duration(by_cuda), duration(by_stub)));
    };
    const double made = mean.stub + mean.render, rest = mean.assemble + mean.load;
    fmt::print("\n{}\n", bold(fmt::format("   {:<18}{:>24}{:>24}", "a new variant", "by its CUDA source",
                                          "by a stub")));
    row("its PTX", cuda, made);
    row("assemble", mean.assemble, mean.assemble);
    row("load", mean.load, mean.load);
    row("in all", cuda + rest, made + rest);
    detail(fmt::format("{:<18}{:>48.1f}\n", "times faster", (cuda + rest) / (made + rest)));
}

int stop(const Error& error) {
    fmt::print(stderr, "{}", describe(error));
    return 1;
}

int demo(const std::string& templates, const std::string& stubs) {
    auto device = Device::open("auto");
    if (!device) return stop(device.error());
    fmt::print("{}\n", bold("ptxgraft: new GPU kernel variants in microseconds instead of a recompile"));

    Watch watch;
    watch.start();
    auto skeleton = Skeleton::from_file(templates + "/gemm/simt.cu", {.target = device->target()});
    watch.stop();
    if (!skeleton) return stop(skeleton.error());
    const double cuda = watch.total();
    step(1,
         fmt::format("compile templates/gemm/simt.cu to PTX, once: {:.1f} KB for {} by NVRTC {}",
                     static_cast<double>(skeleton->ptx().size()) / 1024, skeleton->target(), nvrtc_version()),
         cuda);
    show_sites(*skeleton);

    watch = Watch();
    watch.start();
    const auto set = stack::find_set("standard");
    const auto machine = stack::Machine::make(set, Signature());
    watch.stop();
    if (!machine) return stop(machine.error());
    step(3, fmt::format("make the instruction set of stubs, once: {} forms", set->entries().size()),
         watch.total());

    const Demo demo(*device, *skeleton, stubs);
    auto outcome = demo.graft_and_run(first);
    if (!outcome) return stop(outcome.error());
    show_first(*outcome, *device);
    bool passed = outcome->passed();
    constexpr double share = 1.0 / static_cast<double>(1 + std::size(others));
    Times mean;
    mean.add(outcome->times, share);

    step(9, "other stubs in the same skeleton, without compiling CUDA");
    detail(dim(fmt::format("{:<18}{:>12}{:>12}{:>12}{:>12}{:>12}", "", "stub", "render", "assemble", "run",
                           "error")));
    for (const Variant& variant : others) {
        outcome = demo.graft_and_run(variant);
        if (!outcome) return stop(outcome.error());
        show_row(variant, *outcome);
        passed = passed && outcome->passed();
        mean.add(outcome->times, share);
    }
    show_sum(cuda, mean);
    return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::string templates = PTXGRAFT_SOURCE_DIR "/templates", stubs = PTXGRAFT_SOURCE_DIR "/stubs";
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 < argc && option == "--templates") {
            templates = argv[i + 1];
        } else if (i + 1 < argc && option == "--stubs") {
            stubs = argv[i + 1];
        } else {
            fmt::print(stderr, "usage: {} [--templates DIR] [--stubs DIR]\n", argv[0]);
            return 2;
        }
    }
    return demo(templates, stubs);
}
