// Runs variants on a device and says whether they are right.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "array/scalar.hpp"
#include "base/try.hpp"
#include "measure/check/checker_data.hpp"
#include "measure/check/regimes.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::measure {
namespace {

using templates::begin_tensor;
using templates::Elements;
using templates::find_tensor;
using templates::Launches;

constexpr std::size_t guard_bytes = 4096;  // beside each tensor on a GPU: maps and vectors stay aligned
constexpr std::byte canary{0xA5};
// What the baseline may be off where inputs are not usual ones.
constexpr double most_excess = 64;
// Launches that do little still have some to spare, in the emulator's way of counting.
constexpr std::uint64_t spare_instructions = 20'000;
// A launch on the emulator that waits instead of working.
constexpr std::uint32_t emulated_limit_ms = 20'000;

constexpr std::array<std::string_view, 11> finding_names = {
    "right", "wrong", "not_deterministic", "input_changed", "out_of_bounds", "race",
    "fault", "hang",  "device_lost",       "rejected",      "crashed"};

Finding finding_of(const Error& error) {
    switch (error.code) {
        case Errc::instruction_budget_spent:
        case Errc::time_limit_spent:
        case Errc::barrier_deadlock: return Finding::hang;
        case Errc::data_race: return Finding::race;
        case Errc::address_out_of_bounds:
        case Errc::memory_read_only:
        case Errc::shared_memory_gone: return Finding::out_of_bounds;
        default: return Finding::fault;
    }
}

// Errors that are no variant's doing.
bool is_own_trouble(const Error& error) {
    constexpr std::array codes = {Errc::device_differs,      Errc::argument_count_wrong,
                                  Errc::argument_size_wrong, Errc::launch_shape_invalid,
                                  Errc::device_in_use,       Errc::launch_stopped,
                                  Errc::out_of_memory,       Errc::limit_not_possible};
    return std::ranges::find(codes, error.code) != codes.end();
}

bool is_emulated(const Device& device) { return device.kind() != DeviceKind::cuda; }

std::uint64_t budget_of(const Checker::Data& data, const Case& of) {
    if (of.instructions == 0) return 0;  // of the baseline's own launch: the device's budget
    return spare_instructions +
           static_cast<std::uint64_t>(data.options.instructions * static_cast<double>(of.instructions));
}

// Launches and waits. The emulator counts, and tells what its checks have found when they keep going.
Expected<void> run(const Checker::Data& data, const Kernel& kernel, const Case& of, LaunchConfig config,
                   std::span<const Argument> arguments, Launched& launched) {
    if (is_emulated(data.device)) {
        config.limits.instruction_budget = budget_of(data, of);
        config.limits.time_limit_ms = emulated_limit_ms;
        static_cast<void>(data.device.take_report());
    }
    auto done = kernel.launch_with(config, arguments);
    if (done && !is_emulated(data.device)) done = data.device.synchronize();
    EmulatorReport report = data.device.take_report();
    launched.instructions = report.warp_instructions;
    if (done && !report.findings.empty()) done = tl::unexpected(report.findings.front().error);
    return done;
}

Expected<Elements> output_of(const TemplateLaunch& launch, const std::string& name,
                             const std::vector<Buffer>& buffers) {
    const TemplateTensor* const tensor = find_tensor(launch, name);
    return templates::read_elements(*tensor,
                                    buffers[static_cast<std::size_t>(tensor - launch.tensors.data())]);
}

bool is_null(const Workload& workload, std::string_view tensor) {
    const auto& null = workload.options().null;
    return std::ranges::find(null, tensor) != null.end();
}

// Compares outputs, then what was only read, then the canaries.
Expected<void> look(const Checker::Data& data, const Case& of, const TemplateLaunch& launch,
                    const Memory& memory, Launched& launched) {
    const std::vector<std::string>& outputs = data.workload.from().outputs();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        Elements& got = launched.outputs.emplace_back();
        if (of.wanted[k].type == nullptr) continue;
        got = TRY(output_of(launch, outputs[k], memory.tensors()));
        launched.comparison.compare(outputs[k], got, of.wanted[k], of.tolerance);
    }
    if (launched.comparison.wrong != 0) launched.finding = Finding::wrong;
    for (std::size_t i = 0; i < launch.tensors.size(); ++i) {
        const TemplateTensor& tensor = launch.tensors[i];
        if (tensor.access != TensorAccess::in) continue;
        const Elements after = TRY(templates::read_elements(tensor, memory.tensors()[i]));
        if (!launched.comparison.compare_unchanged(tensor.name, {after.type, of.inputs[i]}, after))
            launched.finding = Finding::input_changed;
    }
    if (!TRY(memory.has_canaries())) launched.finding = Finding::out_of_bounds;
    return {};
}

// ---- opening ----------------------------------------------------------------------------------------------

class Opener {
  public:
    Opener(const Workload& workload, const Device& device, const CheckOptions& options)
        : workload_(workload), device_(device), options_(options) {}

    Expected<std::unique_ptr<Checker::Data>> open() {
        TRY(compile());
        for (const Dimensions& shape : said().shapes) TRY(open_shape(shape));
        for (std::size_t shape = 0; shape < data_->launches.size(); ++shape)
            for (const Regime regime : said().regimes)
                for (std::uint32_t k = 0; k < options_.seeds; ++k)
                    TRY(open_case({shape, regime, options_.seed + k}));
        for (const Case& one : data_->cases) data_->places.push_back(one.where);
        return std::move(data_);
    }

  private:
    [[nodiscard]] const WorkloadOptions& said() const { return workload_.options(); }

    // For a GPU's own target, where nothing else is said and the template runs there.
    [[nodiscard]] std::string target() const {
        const bool follows =
            !is_emulated(device_) && said().target.empty() && !workload_.from().target().ends_with('a');
        return follows ? device_.target() : std::string();
    }
    Expected<void> compile() {
        const Template& from = workload_.from();
        Skeleton skeleton = workload_.skeleton();
        reference_skeleton_ = workload_.reference();
        if (const std::string own = target(); !own.empty() && own != skeleton.target()) {
            skeleton = TRY(from.skeleton(said().choices, own, said().cuda));
            reference_skeleton_ = TRY(from.reference(said().choices, own, said().cuda));
        }
        // The shapes' launches have the names of the entries.
        const Launches first = TRY(launches_of(said().shapes[0]));
        Kernel baseline = TRY(skeleton.graft(said().baseline, device_, {.entry = first.kernel.entry}));
        reference_ =
            TRY(reference_skeleton_->graft(said().wanted, device_, {.entry = first.reference.entry}));
        data_ = std::make_unique<Checker::Data>(Checker::Data{
            workload_, device_, options_, std::move(skeleton), std::move(baseline), {}, {}, {}, {}, {}});
        return {};
    }
    Expected<Launches> launches_of(const Dimensions& shape) const {
        return templates::launches_of(workload_.from(), device_,
                                      {shape, said().choices, said().numbers, said().null});
    }
    Expected<void> open_shape(const Dimensions& shape) {
        data_->launches.push_back(TRY(launches_of(shape)));
        const TemplateLaunch& launch = data_->launches.back().kernel;
        std::vector<Memory>& turns = data_->memory.emplace_back();
        for (std::size_t k = 0; k < (is_emulated(device_) ? 1 : 2); ++k)
            turns.push_back(TRY(Memory::make(launch, device_)));
        return {};
    }

    Expected<std::vector<Elements>> right_results(const Case& of) const {
        const TemplateLaunch& launch = data_->launches[of.where.shape].reference;
        std::vector<Buffer> buffers;
        for (const TemplateTensor& tensor : launch.tensors) {
            buffers.push_back(TRY(device_.allocate(tensor.bytes)));
            TRY(begin_tensor(buffers.back(), tensor, input_of(tensor, of.where)));
        }
        const std::vector<Argument> arguments = TRY(templates::arguments_over(launch, buffers, said().null));
        TRY(reference_->launch_with(launch.config, arguments));
        std::vector<Elements> wanted;
        for (const std::string& name : workload_.from().outputs()) {
            Elements& elements = wanted.emplace_back();
            if (!is_null(workload_, name)) elements = TRY(output_of(launch, name, buffers));
        }
        return wanted;
    }
    static std::vector<std::byte> input_of(const TemplateTensor& tensor, const CheckedCase& where) {
        if (!templates::has_input(tensor)) return {};
        return input_bytes(tensor, where.regime, where.seed);
    }
    Expected<void> open_case(const CheckedCase& where) {
        Case made{.where = where, .inputs = {}, .wanted = {}, .tolerance = {}};
        for (const TemplateTensor& tensor : data_->launches[where.shape].kernel.tensors)
            made.inputs.push_back(input_of(tensor, where));
        made.wanted = TRY(right_results(made));
        made.tolerance = TRY(workload_.from().tolerance(said().shapes[where.shape], said().choices));
        made.tolerance.relative += said().relative;
        made.tolerance.absolute += said().absolute;
        return try_baseline(std::move(made));
    }
    // Where inputs are not usual, the baseline shows what can be wanted.
    Expected<void> try_baseline(Case made) {
        const Launched launched = TRY(launch_case(*data_, data_->baseline, made, 0));
        const double worst = launched.comparison.worst;
        const bool is_right = launched.finding == Finding::right;
        if (!is_right && made.where.regime == Regime::usual) return not_right(made, launched);
        if (!is_right && (launched.finding != Finding::wrong || !(worst <= most_excess))) {
            if (std::ranges::find(data_->dropped, made.where.regime) == data_->dropped.end())
                data_->dropped.push_back(made.where.regime);
            return {};
        }
        const double scale = is_right ? 1 : 2 * worst;
        made.tolerance.relative *= scale, made.tolerance.absolute *= scale;
        made.instructions = launched.instructions;
        data_->cases.push_back(std::move(made));
        return {};
    }
    [[nodiscard]] tl::unexpected<Error> not_right(const Case& of, const Launched& launched) const {
        const templates::Comparison& c = launched.comparison;
        std::string why = fmt::format("shape {}, {} inputs: {}", of.where.shape, name(of.where.regime),
                                      name(launched.finding));
        if (launched.finding == Finding::wrong)
            why += fmt::format(", {}[{}] is {} where {} was wanted, {} is allowed", c.tensor, c.index, c.got,
                               c.wanted, c.allowed);
        else if (launched.error.code != Errc::ok)
            why += fmt::format(": {}", describe(launched.error));
        return fail(Errc::baseline_wrong, std::move(why));
    }

    const Workload& workload_;
    const Device& device_;
    const CheckOptions& options_;
    std::optional<Skeleton> reference_skeleton_;
    std::optional<Kernel> reference_;
    std::unique_ptr<Checker::Data> data_;
};

// ---- checking ---------------------------------------------------------------------------------------------

// On the emulator, where equal variants get equal checks, in the order of the cases; a GPU's variants shall
// not know which one comes.
std::vector<std::size_t> order_of(const Checker::Data& data) {
    std::vector<std::size_t> order(data.cases.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (is_emulated(data.device)) return order;
    stack::Random random(data.options.seed, data.checks);
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
    return order;
}

bool are_equal(const std::vector<Elements>& a, const std::vector<Elements>& b) {
    return std::ranges::equal(a, b, {}, &Elements::bytes, &Elements::bytes);
}

void take(Check& check, const Launched& launched, const Case& of) {
    const templates::Comparison& comparison = launched.comparison;
    check.finding = launched.finding;
    check.error = launched.error;
    check.instructions += launched.instructions;
    if (launched.finding != Finding::right) check.where = of.where;
    if (comparison.worst <= check.worst && launched.finding == Finding::right) return;
    check.worst = comparison.worst;
    check.got = comparison.got, check.wanted = comparison.wanted, check.allowed = comparison.allowed;
    check.tensor = comparison.tensor, check.element = comparison.index;
    check.where = of.where;
}

Expected<void> check_case(const Checker::Data& data, const Kernel& kernel, const Case& of, Check& check) {
    const std::uint32_t launches = data.options.launches != 0 ? data.options.launches
                                   : is_emulated(data.device) ? 1
                                                              : 2;
    std::vector<Elements> first;
    ++check.cases;
    for (std::uint32_t turn = 0; turn < launches && check.finding == Finding::right; ++turn) {
        Launched launched = TRY(launch_case(data, kernel, of, data.checks + turn));
        if (turn == 0)
            first = launched.outputs;
        else if (launched.finding == Finding::right && !are_equal(first, launched.outputs))
            launched.finding = Finding::not_deterministic;
        take(check, launched, of);
    }
    return {};
}

}  // namespace

std::string_view name(Finding finding) { return finding_names[static_cast<std::size_t>(finding)]; }

Expected<Memory> Memory::make(const TemplateLaunch& launch, const Device& device) {
    Memory made;
    const std::size_t guard = is_emulated(device) ? 0 : guard_bytes;
    for (const TemplateTensor& tensor : launch.tensors) {
        Buffer whole = TRY(device.allocate(tensor.bytes + 2 * guard));
        if (guard == 0) {
            made.tensors_.push_back(std::move(whole));
            continue;
        }
        TRY(whole.fill(canary));
        made.tensors_.push_back(TRY(device.borrow_buffer(whole.address() + guard, tensor.bytes)));
        made.whole_.push_back(std::move(whole));
    }
    return made;
}

Expected<bool> Memory::has_canaries() const {
    std::array<std::byte, guard_bytes> bytes;
    const auto is_canary = [](std::byte b) { return b == canary; };
    for (const Buffer& whole : whole_)
        for (const std::size_t offset : {std::size_t{0}, whole.bytes() - guard_bytes}) {
            TRY(whole.read(bytes, offset));
            if (!std::ranges::all_of(bytes, is_canary)) return false;
        }
    return true;
}

Expected<Launched> launch_case(const Checker::Data& data, const Kernel& kernel, const Case& of,
                               std::uint64_t turn) {
    const TemplateLaunch& launch = data.launches[of.where.shape].kernel;
    const std::vector<Memory>& turns = data.memory[of.where.shape];
    const Memory& memory = turns[turn % turns.size()];
    for (std::size_t i = 0; i < launch.tensors.size(); ++i)
        TRY(begin_tensor(memory.tensors()[i], launch.tensors[i], of.inputs[i]));
    const std::vector<Argument> arguments =
        TRY(templates::arguments_over(launch, memory.tensors(), data.workload.options().null));
    Launched launched;
    const auto& on_step = data.options.on_step;
    if (on_step) on_step(CheckStep::launch);
    auto done = run(data, kernel, of, launch.config, arguments, launched);
    if (on_step) on_step(CheckStep::compare);
    if (!done) {
        if (is_own_trouble(done.error())) return tl::unexpected(done.error());
        launched.finding = finding_of(done.error());
        launched.error = done.error();
        return launched;
    }
    TRY(look(data, of, launch, memory, launched));
    return launched;
}

Expected<Checker> Checker::open(const Workload& workload, const Device& device, const CheckOptions& options) {
    auto data = TRY(Opener(workload, device, options).open());
    return Checker(std::move(data));
}

Expected<Check> Checker::check(const Kernel& kernel) {
    Check check;
    if (const DeviceHealth health = data_->device.health(); !health.ok()) {
        check.finding = Finding::device_lost;
        check.error = *health.lost;
        return check;
    }
    for (const std::size_t k : order_of(*data_)) {
        TRY(check_case(*data_, kernel, data_->cases[k], check));
        if (check.finding != Finding::right) break;
    }
    ++data_->checks;
    return check;
}

const Workload& Checker::workload() const { return data_->workload; }
const Device& Checker::device() const { return data_->device; }
const Skeleton& Checker::skeleton() const { return data_->skeleton; }
const Kernel& Checker::baseline() const { return data_->baseline; }
const std::vector<CheckedCase>& Checker::cases() const { return data_->places; }
const std::vector<Regime>& Checker::dropped() const { return data_->dropped; }

Checker::Checker(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Checker::Checker(Checker&&) noexcept = default;
Checker& Checker::operator=(Checker&&) noexcept = default;
Checker::~Checker() = default;

}  // namespace ptxgraft::measure
