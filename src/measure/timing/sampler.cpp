// One sample after the other: everything between two decisions of a session.
#include "measure/timing/sampler.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace ptxgraft::measure {
namespace {

constexpr std::uint64_t slot_count = 4096;

}  // namespace

Expected<Sampler> Sampler::make(const Device& device, const Sets& sets, const SessionFacts& facts,
                                std::uint64_t seed) {
    TimingKernels kernels = TRY(TimingKernels::load(device));
    Stream stream = TRY(device.create_stream());
    Event begin = TRY(device.create_event()), end = TRY(device.create_event());
    Buffer flush = TRY(device.allocate(facts.flush_bytes)),
           slots = TRY(device.allocate(slot_count * sizeof(Slot)));
    Sampler sampler(device, sets, std::move(kernels), std::move(stream), std::move(begin), std::move(end),
                    std::move(flush), std::move(slots), seed);
    sampler.has_persisting_lines_ = facts.device.persisting_l2_bytes != 0;
    // Whatever the driver does at a first launch it has done then.
    const Setting setting{};
    TRY(sampler.prepare({&setting, 1}, sampler.slots_.address()));
    TRY(sampler.look({&setting, 1}, sampler.slots_.address()));
    TRY(sampler.kernels_.mark(sampler.slots_.address(), sampler.stream_));
    TRY(sampler.stream_.synchronize());
    return sampler;
}

// Persisting lines first: the flush then takes them as any others.
Expected<void> Sampler::prepare(std::span<const Setting> settings, std::uint64_t slot) {
    if (has_persisting_lines_) TRY(device_.reset_persisting_l2());
    TRY(kernels_.fill(slot, (settings.size() + 1) * sizeof(Slot), 0, stream_));
    for (const Setting& setting : settings)
        TRY(kernels_.copy(sets_->place(setting.place).address(), sets_->image(setting.image).address(),
                          sets_->layout().bytes, stream_));
    TRY(kernels_.fill(flush_.address(), flush_.bytes(), ++flushes_, stream_));
    return kernels_.discard(flush_.address(), flush_.bytes(), stream_);
}

Expected<void> Sampler::launch_between_events(const TimedLaunch& launch, const Kernel& kernel, Graph* graph,
                                              std::span<const Setting> settings) {
    TRY(begin_.record(&stream_));
    in_launch_ = true;
    if (graph != nullptr)
        TRY(graph->launch(&stream_));
    else
        TRY(kernel.launch_with(launch.launch.config, sets_->arguments(settings[0].place), &stream_));
    in_launch_ = false;
    return end_.record(&stream_);
}

Expected<void> Sampler::look(std::span<const Setting> settings, std::uint64_t slot) {
    for (const Setting& setting : settings) {
        TRY(kernels_.digest(sets_->place(setting.place).address(), sets_->layout().digested, secret_, slot,
                            stream_));
        slot += sizeof(Slot);
    }
    return {};
}

// The marker comes right behind the kernel, while the clock is what it was.
Expected<Measured> Sampler::measure(const TimedLaunch& launch, const Kernel& kernel, Graph* graph,
                                    std::span<const Setting> settings) {
    in_launch_ = false;
    const std::uint64_t first = random_.below(slot_count - settings.size());
    const std::uint64_t slot = slots_.address() + first * sizeof(Slot);
    TRY(prepare(settings, slot));
    TRY(launch_between_events(launch, kernel, graph, settings));
    if (has_marker_) TRY(kernels_.mark(slot + settings.size() * sizeof(Slot), stream_));
    TRY(look(settings, slot));
    // What the kernel does wrong is known when it has run.
    in_launch_ = true;
    TRY(stream_.synchronize());
    in_launch_ = false;
    Measured measured;
    measured.milliseconds = TRY(end_.elapsed_since(begin_));
    std::vector<Slot> slots(settings.size() + 1);
    TRY(slots_.read(std::as_writable_bytes(std::span(slots)), first * sizeof(Slot)));
    for (std::size_t i = 0; i < settings.size(); ++i) measured.digests.push_back(slots[i].digest);
    if (nvml_ != nullptr) measured.state = nvml_->state();
    if (const Slot& marker = slots.back(); has_marker_ && marker.nanoseconds != 0)
        measured.state.megahertz =
            1000 * static_cast<double>(marker.cycles) / static_cast<double>(marker.nanoseconds);
    return measured;
}

Expected<double> Sampler::measure_nothing() {
    TRY(begin_.record(&stream_));
    TRY(end_.record(&stream_));
    TRY(stream_.synchronize());
    return TRY(end_.elapsed_since(begin_));
}

Expected<std::vector<std::byte>> Sampler::content(std::size_t place) const {
    std::vector<std::byte> bytes(sets_->layout().bytes);
    TRY(sets_->place(place).read(bytes));
    return bytes;
}

Expected<Graph> Sampler::batch(const TimedLaunch& launch, const Kernel& kernel) const {
    Graph graph = TRY(device_.create_graph());
    for (std::size_t place = 0; place < sets_->count(); ++place)
        TRY(graph.add(kernel.function(), launch.launch.config, sets_->arguments(place)));
    TRY(graph.instantiate());
    return graph;
}

}  // namespace ptxgraft::measure
