// One try of a template: inputs, the kernel and its reference with the same stubs, and the comparison.

#include <algorithm>

#include "array/scalar.hpp"
#include "array/source.hpp"
#include "base/try.hpp"
#include "ptxgraft/template.hpp"
#include "template/comparison.hpp"
#include "template/launches.hpp"

namespace ptxgraft {
namespace {

using templates::arguments_over;
using templates::begin_tensor;
using templates::clear_zeroed;
using templates::Comparison;
using templates::Elements;
using templates::find_tensor;
using templates::has_input;
using templates::Launches;
using templates::launches_of;
using templates::read_elements;

class Trier {
  public:
    Trier(const Template& from, const Device& device, const TrialOptions& options)
        : from_(from), device_(device), options_(options) {}

    Expected<Trial> run() {
        TRY(prepare());
        const std::vector<Buffer> got = TRY(run_kernel());
        const std::vector<Buffer> wanted = TRY(run_reference());
        TemplateTolerance& tolerance = trial_.tolerance;
        tolerance = TRY(from_.tolerance(options_.dimensions, options_.choices));
        tolerance.relative = options_.relative.value_or(tolerance.relative);
        tolerance.absolute = options_.absolute.value_or(tolerance.absolute);
        for (const std::string& output : from_.outputs())
            if (is_given(output)) TRY(compare(output, got, wanted, tolerance));
        refuse_what_is_not_compared();
        TRY(check_inputs(got));
        tell();
        return std::move(trial_);
    }

  private:
    Expected<void> prepare() {
        Launches both = TRY(launches_of(
            from_, device_, {options_.dimensions, options_.choices, options_.numbers, options_.null}));
        launch_ = std::move(both.kernel);
        reference_ = std::move(both.reference);
        return {};
    }
    [[nodiscard]] bool is_given(std::string_view name) const {
        return std::find(options_.null.begin(), options_.null.end(), name) == options_.null.end();
    }

    // Equal names begin with equal bytes, in the kernel's launch and in the reference's.
    Expected<Buffer> filled(const TemplateTensor& tensor) const {
        Buffer buffer = TRY(device_.allocate(tensor.bytes));
        TRY(begin_tensor(buffer, tensor,
                         has_input(tensor) ? random_bytes(tensor, options_.seed) : std::vector<std::byte>()));
        return buffer;
    }
    Expected<std::vector<Buffer>> memory(const TemplateLaunch& launch) const {
        std::vector<Buffer> buffers;
        for (const TemplateTensor& tensor : launch.tensors) buffers.push_back(TRY(filled(tensor)));
        return buffers;
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
        const std::vector<Argument> list = TRY(arguments_over(launch_, buffers, options_.null));
        TRY(kernel.launch_with(launch_.config, list));
        if (options_.repeats != 0 && device_.kind() == DeviceKind::cuda) TRY(time(kernel));
        return buffers;
    }
    // On buffers of their own: those of the comparison have been written once.
    Expected<void> time(const Kernel& kernel) {
        const std::vector<Buffer> buffers = TRY(memory(launch_));
        const std::vector<Argument> list = TRY(arguments_over(launch_, buffers, options_.null));
        const Stream stream = TRY(device_.create_stream());
        Event begin = TRY(device_.create_event()), end = TRY(device_.create_event());
        std::vector<double> times;
        const TimingGuard guard = device_.timing();
        for (std::uint32_t i = 0; i <= options_.repeats; ++i) {
            TRY(clear_zeroed(launch_, buffers));  // in front of the stream's events, as copies are
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
        const std::vector<Argument> list = TRY(arguments_over(reference_, buffers, options_.null));
        TRY(kernel.launch_with(reference_.config, list));
        return buffers;
    }

    // What the kernel only reads is as it was.
    Expected<void> check_inputs(const std::vector<Buffer>& buffers) {
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            const TemplateTensor& tensor = launch_.tensors[i];
            if (tensor.access != TensorAccess::in) continue;
            const Elements after = TRY(read_elements(tensor, buffers[i]));
            comparison_.compare_unchanged(tensor.name, {after.type, random_bytes(tensor, options_.seed)},
                                          after);
        }
        return {};
    }
    static Expected<Elements> values(const TemplateLaunch& launch, std::string_view name,
                                     const std::vector<Buffer>& buffers) {
        const TemplateTensor* const tensor = find_tensor(launch, name);
        return read_elements(*tensor, buffers[static_cast<std::size_t>(tensor - launch.tensors.data())]);
    }
    Expected<void> compare(const std::string& output, const std::vector<Buffer>& got_buffers,
                           const std::vector<Buffer>& wanted_buffers, const TemplateTolerance& tolerance) {
        const Elements got = TRY(values(launch_, output, got_buffers));
        const Elements wanted = TRY(values(reference_, output, wanted_buffers));
        const Comparison before = comparison_;
        comparison_.compare(output, got, wanted, tolerance);
        const bool is_compared = comparison_.not_numbers - before.not_numbers != wanted.size();
        if (is_compared || wanted.size() == 0) return {};
        // begin_tensor() makes bytes of ones, as no NaN that is computed has them.
        const auto is_one = [](std::byte byte) { return byte == std::byte{0xFF}; };
        not_compared_.push_back({output, wanted.size() - (comparison_.wrong - before.wrong),
                                 !std::ranges::all_of(wanted.bytes, is_one)});
        return {};
    }
    // What the reference does not write is no output of these tunables, unless it writes nothing at all.
    void refuse_what_is_not_compared() {
        const bool is_all = comparison_.not_numbers == comparison_.elements;
        for (const NotCompared& one : not_compared_) {
            if (!one.is_written && !is_all) continue;
            trial_.not_compared.push_back(one.output);
            comparison_.have_nothing(one.output, one.right);
        }
    }
    void tell() {
        trial_.is_right = comparison_.wrong == 0;
        trial_.worst = comparison_.worst;
        trial_.worst_tensor = comparison_.tensor, trial_.worst_index = comparison_.index;
        trial_.got = comparison_.got, trial_.wanted = comparison_.wanted;
        trial_.allowed = comparison_.allowed;
        trial_.largest_error = comparison_.largest_error;
        trial_.wrong = comparison_.wrong, trial_.elements = comparison_.elements;
        trial_.not_numbers = comparison_.not_numbers;
    }

    const Template& from_;
    const Device& device_;
    const TrialOptions& options_;
    TemplateLaunch launch_, reference_;
    Trial trial_ = {};
    Comparison comparison_ = {};
    // An output that is NaN alone: its elements that count as right, and whether the reference writes it.
    struct NotCompared {
        std::string output;
        std::uint64_t right = 0;
        bool is_written = false;
    };
    std::vector<NotCompared> not_compared_ = {};
};

}  // namespace

std::vector<std::byte> random_bytes(const TemplateTensor& tensor, std::uint64_t seed) {
    for (const char c : tensor.name) seed = seed * 31 + static_cast<unsigned char>(c);
    array::Source source{.rule = array::Rule::codes, .seed = seed, .low = tensor.low, .high = tensor.high};
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
