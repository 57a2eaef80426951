// A worker whose GPU is the fake driver, with a scripted clock:
//
//     fake_worker SCRIPT worker --device cuda:0 …
//
// Its kernels are those of elementwise/simple with y = x * x + 1 wanted. What was loaded as a text (a cubin
// whose image is PTX, see as_text() in support.hpp) runs on the emulator; the baseline, which is machine
// code, computes x * x + 1 and takes 0.1 ms. A text takes 0.07 ms and 0.01 ms for each of its arithmetic
// instructions of f32; or what its comments say:
//
//     (time F)   F times the baseline's
//     (hang N)   its Nth launch does not come back       (die N)  its process dies of it
//     (lose N)   its Nth launch takes the context along  (wrong N)  from its Nth launch on it is wrong
//
// SCRIPT is a list of NAME=N: `noise=K`: of scripted_noise.hpp, by its number, `seed=N`; `warm=N`: behind N
// launches of kernels all of them take a tenth more; `lucky=N`: the first N times that a text with a
// subtraction is loaded, it takes three tenths less.

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "fake_cuda/scripted_noise.hpp"
#include "measure/fake_kernels.hpp"
#include "ptxgraft/measure/pool.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {
namespace {

constexpr double baseline_milliseconds = 0.1;
const std::string driver = test::build_path("libfake_cuda.so");

// The library's own; a device opens the same one.
FakeCuda& fake_driver() {
    static void* const library = dlopen(driver.c_str(), RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return *reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda"))();
}

std::map<std::string, int> numbers_of(std::string_view script) {
    std::map<std::string, int> numbers;
    while (!script.empty()) {
        const std::string_view one = script.substr(0, script.find(','));
        script.remove_prefix(std::min(one.size() + 1, script.size()));
        if (const std::size_t equals = one.find('='); equals != one.npos)
            numbers[std::string(one.substr(0, equals))] = std::atoi(one.data() + equals + 1);
    }
    return numbers;
}

// The number behind `(name ` in a text; nothing where it is not there.
std::optional<double> said(const std::string& text, const char* name) {
    const std::size_t at = text.find(name);
    if (at == text.npos) return std::nullopt;
    return std::atof(text.c_str() + at + std::strlen(name));
}

int arithmetic_in(const std::string& text) {
    int count = 0;
    for (const char* const opcode : {"add.", "sub.", "mul.", "fma.rn.", "max.", "min.", "neg.", "abs."}) {
        const std::string form = std::string(opcode) + "f32 ";
        for (std::size_t at = 0; (at = text.find(form, at)) != text.npos; ++at) ++count;
    }
    return count;
}

// A text that was loaded: what it computes is known from the emulator, once for each input.
class TextKernel {
  public:
    TextKernel(const std::string& text, const Device& emulator)
        : text_(text), emulator_(emulator), factor_(0.7 + 0.1 * arithmetic_in(text)) {
        if (const auto factor = said(text, "(time ")) factor_ = *factor;
    }
    void run(const FakeLaunch& launch, FakeCuda& fake) {
        ++calls_;
        if (calls_ == said(text_, "(hang "))
            for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
        if (calls_ == said(text_, "(die ")) ::raise(SIGKILL);
        if (calls_ == said(text_, "(lose ")) fake.lost_with = 700;
        const std::size_t count = fake_argument(launch, 2);
        const float* const x = fake_pointer<float>(launch, 0);
        const std::string input(reinterpret_cast<const char*>(x), 4 * count);
        auto known = outputs_.find(input);
        if (known == outputs_.end()) known = outputs_.emplace(input, computed(launch, input)).first;
        float* const y = fake_pointer<float>(launch, 1);
        std::memcpy(y, known->second.data(), 4 * count);
        if (const auto from = said(text_, "(wrong "); from && calls_ >= *from) y[count / 2] += 1;
    }
    [[nodiscard]] double factor() const { return factor_; }
    void be_lucky() { factor_ *= 0.7; }

  private:
    [[nodiscard]] std::string computed(const FakeLaunch& launch, const std::string& input) {
        if (!kernel_)
            kernel_ = Skeleton::from_ptx(text_)->graft({}, emulator_, {.entry = "elementwise"}).value();
        const auto bytes = std::as_bytes(std::span(input));
        Buffer x = emulator_.upload(bytes).value(), y = emulator_.allocate(input.size()).value();
        const LaunchConfig config{.grid = {launch.grid[0]}, .block = {launch.block[0]}};
        const auto n = static_cast<std::uint32_t>(input.size() / 4);
        std::string output(input.size(), '\xff');
        const bool has_run = kernel_->launch_with(config, std::array<Argument, 3>{x, y, n}).has_value();
        if (has_run && !y.read(std::as_writable_bytes(std::span(output)))) output.assign(input.size(), 0);
        return output;
    }

    const std::string& text_;
    const Device& emulator_;
    double factor_;
    int calls_ = 0;
    std::optional<Kernel> kernel_;
    std::map<std::string, std::string> outputs_;
};

class Gpu {
  public:
    explicit Gpu(std::map<std::string, int> script)
        : script_(std::move(script)),
          noise_(static_cast<Noise>(script_["noise"]), static_cast<std::uint64_t>(script_["seed"])) {
        FakeCuda& fake = fake_driver();
        fake.attributes[38] = 64 << 10;
        fake.keeps_launches = false;
        add_timing_kernels(fake);
        fake.argument_sizes_of["elementwise"] = fake.argument_sizes_of["elementwise_reference"] = {8, 8, 4};
        fake.on_launch = [this](const FakeLaunch& launch) { run(launch); };
        fake.milliseconds_of = [this](const FakeLaunch&) { return milliseconds_; };
    }

  private:
    void run(const FakeLaunch& launch) {
        milliseconds_ = 0.002;
        if (run_timing_kernel(launch, 20'000, fake_driver().megahertz)) return;
        if (launch.function == "elementwise_reference") return compute<double>(launch);
        double factor = 1;
        if (launch.text == nullptr) {
            compute<float>(launch);
        } else {
            auto& kernel = kernels_[launch.text];
            if (!kernel) {
                kernel = std::make_unique<TextKernel>(*launch.text, emulator_);
                const bool has_luck = launch.text->find("sub.f32 ") != std::string::npos;
                if (has_luck && loads_[*launch.text]++ < script_["lucky"]) kernel->be_lucky();
            }
            kernel->run(launch, fake_driver());
            factor = kernel->factor();
        }
        if (script_["warm"] != 0 && ++launches_ > script_["warm"]) factor *= 1.1;
        milliseconds_ = baseline_milliseconds * factor * noise_.next();
    }
    template <class T> static void compute(const FakeLaunch& launch) {
        const auto* const x = fake_pointer<float>(launch, 0);
        for (std::size_t i = 0; i < fake_argument(launch, 2); ++i)
            fake_pointer<T>(launch, 1)[i] = std::fma(T{x[i]}, T{x[i]}, T{1});
    }

    std::map<std::string, int> script_;
    NoiseScript noise_;
    const Device emulator_ = Device::emulator({.threads = 1, .fast = true}).value();
    std::map<std::shared_ptr<const std::string>, std::unique_ptr<TextKernel>> kernels_;
    std::map<std::string, int> loads_;
    double milliseconds_ = 0;
    int launches_ = 0;
};

}  // namespace

int run_worker(int argc, char** argv) {
    if (argc < 3) return 2;
    const Gpu gpu(numbers_of(argv[1]));
    ServeOptions options{.how = {.driver = driver}};
    for (int k = 3; k + 1 < argc; k += 2) {
        const std::string_view name = argv[k];
        const auto number = static_cast<std::uint32_t>(std::atoi(argv[k + 1]));
        if (name == "--device") options.device = argv[k + 1];
        if (name == "--seed") options.check.seed = number;
        if (name == "--seeds") options.check.seeds = number;
        if (name == "--launches") options.check.launches = number;
    }
    return serve_worker(options) ? 0 : 1;
}

}  // namespace ptxgraft::measure

int main(int argc, char** argv) { return ptxgraft::measure::run_worker(argc, argv); }
