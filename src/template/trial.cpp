// One try of a template: inputs, the kernel and its reference with the same stubs, and the comparison.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "array/float_format.hpp"
#include "array/scalar.hpp"
#include "array/source.hpp"
#include "base/try.hpp"
#include "ptxgraft/template.hpp"
#include "template/expression.hpp"

namespace ptxgraft {
namespace {

constexpr std::byte poison{0xFF};  // a NaN in every floating type
// The emulator has none to count: so many are enough for blocks that share tiles.
constexpr std::uint32_t emulated_multiprocessors = 2;

// The value of one element; integers are exact up to 2^53.
double element_value(const array::ElementType& type, const std::byte* at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, type.bytes);
    if (const array::FloatFormat* format = array::find_format(type.name)) return array::decode(bits, *format);
    if (type.family != 's') return static_cast<double>(bits);
    const unsigned above = 64 - 8 * type.bytes;
    return static_cast<double>(static_cast<std::int64_t>(bits << above) >> above);
}

class Trier {
  public:
    Trier(const Template& from, const Device& device, const TrialOptions& options)
        : from_(from), device_(device), options_(options) {}

    Expected<Trial> run() {
        TRY(prepare());
        const std::vector<Buffer> got = TRY(run_kernel());
        const std::vector<Buffer> wanted = TRY(run_reference());
        const TemplateTolerance tolerance = TRY(from_.tolerance(options_.dimensions, options_.choices));
        trial_.is_right = true;
        for (const std::string& output : from_.outputs())
            if (is_given(output)) TRY(compare(output, got, wanted, tolerance));
        TRY(check_inputs(got));
        return std::move(trial_);
    }

  private:
    Expected<void> prepare() {
        const DeviceProperties properties = TRY(device_.properties());
        const std::uint32_t multiprocessors = std::max(properties.multiprocessors, emulated_multiprocessors);
        launch_ = TRY(from_.launch(options_.dimensions, options_.choices, multiprocessors));
        reference_ = TRY(from_.reference_launch(options_.dimensions, options_.choices));
        for (const auto& [name, value] : options_.numbers) {
            TRY(launch_.set(name, value));
            TRY(reference_.set(name, value));
        }
        for (const std::string& name : options_.null) {
            const TemplateTensor* const tensor = find(launch_, name);
            if (tensor == nullptr || !tensor->nullable)
                return fail(Errc::argument_invalid, fmt::format("no tensor {} may be a null pointer", name));
        }
        return {};
    }
    static const TemplateTensor* find(const TemplateLaunch& launch, std::string_view name) {
        const auto found = std::find_if(launch.tensors.begin(), launch.tensors.end(),
                                        [&](const TemplateTensor& t) { return t.name == name; });
        return found == launch.tensors.end() ? nullptr : &*found;
    }
    [[nodiscard]] bool is_given(std::string_view name) const {
        return std::find(options_.null.begin(), options_.null.end(), name) == options_.null.end();
    }

    // Equal names begin with equal bytes, in the kernel's launch and in the reference's.
    Expected<Buffer> filled(const TemplateTensor& tensor) const {
        Buffer buffer = TRY(device_.allocate(tensor.bytes));
        if (tensor.zeroed) {
            TRY(buffer.fill(std::byte{0}));
        } else if (tensor.access == TensorAccess::in || tensor.access == TensorAccess::modified) {
            TRY(buffer.write(random_bytes(tensor, options_.seed)));
        } else {
            TRY(buffer.poison(poison));
        }
        return buffer;
    }
    Expected<std::vector<Buffer>> memory(const TemplateLaunch& launch) const {
        std::vector<Buffer> buffers;
        for (const TemplateTensor& tensor : launch.tensors) buffers.push_back(TRY(filled(tensor)));
        return buffers;
    }
    Expected<std::vector<Argument>> arguments(const TemplateLaunch& launch,
                                              const std::vector<Buffer>& buffers) const {
        std::vector<const Buffer*> pointers;
        for (std::size_t i = 0; i < buffers.size(); ++i)
            pointers.push_back(is_given(launch.tensors[i].name) && !launch.tensors[i].is_places ? &buffers[i]
                                                                                                : nullptr);
        return launch.arguments(pointers);
    }
    [[nodiscard]] std::string target() const {
        if (!options_.target.empty() || device_.kind() != DeviceKind::cuda) return options_.target;
        return from_.target().ends_with('a') ? std::string() : device_.target();
    }
    GraftOptions graft_options(const TemplateLaunch& launch) const {
        GraftOptions options = options_.graft;
        options.entry = launch.entry;
        return options;
    }

    Expected<std::vector<Buffer>> run_kernel() {
        const Skeleton skeleton = TRY(from_.skeleton(options_.choices, target(), options_.cuda));
        const GraftOptions options = graft_options(launch_);
        const Kernel kernel = TRY(skeleton.graft(options_.grafts, device_, options));
        trial_.machine_code = kernel.machine_code();
        if (!trial_.machine_code.cubin && options_.assemble)
            trial_.machine_code = TRY(skeleton.assemble(options_.grafts, options));
        std::vector<Buffer> buffers = TRY(memory(launch_));
        const std::vector<Argument> list = TRY(arguments(launch_, buffers));
        TRY(kernel.launch_with(launch_.config, list));
        if (options_.repeats != 0 && device_.kind() == DeviceKind::cuda) TRY(time(kernel));
        return buffers;
    }
    // On buffers of their own: those of the comparison have been written once.
    Expected<void> time(const Kernel& kernel) {
        const std::vector<Buffer> buffers = TRY(memory(launch_));
        const std::vector<Argument> list = TRY(arguments(launch_, buffers));
        const Stream stream = TRY(device_.create_stream());
        Event begin = TRY(device_.create_event()), end = TRY(device_.create_event());
        std::vector<double> times;
        const TimingGuard guard = device_.timing();
        for (std::uint32_t i = 0; i <= options_.repeats; ++i) {
            TRY(begin.record(&stream));
            TRY(kernel.launch_with(launch_.config, list, &stream));
            TRY(end.record(&stream));
            TRY(stream.synchronize());
            if (i != 0) times.push_back(TRY(end.elapsed_since(begin)));
        }
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                         times.end());
        trial_.milliseconds = times[times.size() / 2];
        return {};
    }

    // Stubs of sites that the reference lacks do not change what is computed.
    Expected<std::vector<Buffer>> run_reference() {
        const Skeleton skeleton = TRY(from_.reference(options_.choices, target(), options_.cuda));
        std::vector<Graft> grafts;
        for (const Graft& graft : options_.grafts)
            if (skeleton.site(graft.site) != nullptr) grafts.push_back(graft);
        GraftOptions options = graft_options(reference_);
        options.routes = {};
        const Kernel kernel = TRY(skeleton.graft(grafts, device_, options));
        std::vector<Buffer> buffers = TRY(memory(reference_));
        const std::vector<Argument> list = TRY(arguments(reference_, buffers));
        TRY(kernel.launch_with(reference_.config, list));
        return buffers;
    }

    // What the kernel only reads is as it was.
    Expected<void> check_inputs(const std::vector<Buffer>& buffers) {
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            const TemplateTensor& tensor = launch_.tensors[i];
            if (tensor.access != TensorAccess::in) continue;
            const std::vector<std::byte> before = random_bytes(tensor, options_.seed);
            std::vector<std::byte> after(tensor.bytes);
            TRY(buffers[i].read(after));
            const auto [was, is] = std::mismatch(before.begin(), before.end(), after.begin());
            if (was == before.end()) continue;
            const array::ElementType& type = *array::find_type(tensor.type);
            const auto at = static_cast<std::size_t>(was - before.begin()) / type.bytes;
            trial_.is_right = false;
            trial_.worst = std::numeric_limits<double>::infinity();
            trial_.worst_tensor = tensor.name, trial_.worst_index = at;
            trial_.got = element_value(type, after.data() + at * type.bytes);
            trial_.wanted = element_value(type, before.data() + at * type.bytes);
            trial_.allowed = 0;
            ++trial_.wrong, ++trial_.elements;
        }
        return {};
    }

    struct Values {
        const array::ElementType* type;
        std::vector<std::byte> bytes;
        [[nodiscard]] std::size_t size() const { return bytes.size() / type->bytes; }
        [[nodiscard]] double operator[](std::size_t i) const {
            return element_value(*type, bytes.data() + i * type->bytes);
        }
    };
    static Expected<Values> values(const TemplateLaunch& launch, std::string_view name,
                                   const std::vector<Buffer>& buffers) {
        const TemplateTensor* const tensor = find(launch, name);
        Values values{array::find_type(tensor->type), std::vector<std::byte>(tensor->bytes)};
        TRY(buffers[static_cast<std::size_t>(tensor - launch.tensors.data())].read(values.bytes));
        return values;
    }

    Expected<void> compare(const std::string& output, const std::vector<Buffer>& got_buffers,
                           const std::vector<Buffer>& wanted_buffers, const TemplateTolerance& tolerance) {
        const Values got = TRY(values(launch_, output, got_buffers));
        const Values wanted = TRY(values(reference_, output, wanted_buffers));
        trial_.elements += wanted.size();
        // What the reference stores in double precision has been rounded once, by the kernel.
        const double roundings = wanted.type->name == "f64" ? 1 : 2;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double value = in_range(wanted[i], *got.type);
            look_at(output, i, got[i], value,
                    tolerance.relative * std::abs(value) + tolerance.absolute +
                        roundings * rounding(value, *got.type));
        }
        return {};
    }
    // What the output's type has no numbers for is its infinity, or its largest number.
    static double in_range(double value, const array::ElementType& type) {
        const array::FloatFormat* const format = array::find_format(type.name);
        if (format == nullptr || std::isnan(value)) return value;
        const double nearest = array::rounded(value, *format);
        return std::isinf(nearest) || std::abs(nearest) == format->most ? nearest : value;
    }

    // Half a unit in the last place: what storing costs the nearest number.
    static double rounding(double value, const array::ElementType& type) {
        const array::FloatFormat* const format = array::find_format(type.name);
        if (format == nullptr || !std::isfinite(value)) return 0;
        const int exponent =
            value == 0 ? format->least_exponent : std::max(std::ilogb(value), format->least_exponent);
        return std::ldexp(0.5, exponent - format->fraction);
    }
    void look_at(const std::string& output, std::size_t i, double got, double wanted, double allowed) {
        if ((std::isnan(got) && std::isnan(wanted)) || got == wanted) return;
        double error = std::abs(got - wanted);
        if (std::isnan(error) || std::isinf(wanted)) error = std::numeric_limits<double>::infinity();
        trial_.largest_error = std::max(trial_.largest_error, error);
        const double part = error / allowed;
        if (!(part <= 1)) ++trial_.wrong, trial_.is_right = false;
        if (part <= trial_.worst) return;
        trial_.worst = part;
        trial_.worst_tensor = output;
        trial_.worst_index = i;
        trial_.got = got, trial_.wanted = wanted, trial_.allowed = allowed;
    }

    const Template& from_;
    const Device& device_;
    const TrialOptions& options_;
    TemplateLaunch launch_, reference_;
    Trial trial_ = {};
};

}  // namespace

std::vector<std::byte> random_bytes(const TemplateTensor& tensor, std::uint64_t seed) {
    for (const char c : tensor.name) seed = seed * 31 + static_cast<unsigned char>(c);
    array::Source source{.rule = array::Rule::uniform, .seed = seed, .low = tensor.low, .high = tensor.high};
    source.least = static_cast<std::uint64_t>(static_cast<std::int64_t>(tensor.low));
    source.most = static_cast<std::uint64_t>(static_cast<std::int64_t>(tensor.high));
    std::vector<std::byte> bytes(tensor.bytes);
    array::generate(source, *array::find_type(tensor.type), 0, bytes);
    return bytes;
}

Expected<Trial> try_template(const Template& from, const Device& device, const TrialOptions& options) {
    return Trier(from, device, options).run();
}

}  // namespace ptxgraft
