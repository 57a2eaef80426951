#include "emulator/launch.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

namespace ptxgraft::emulator {
namespace {

// CTAs that one host thread keeps begun at a time: those of a grid may wait for each other. No fewer than a device holds.
constexpr std::size_t most_resident = 8192;
constexpr std::uint64_t most_resident_bytes = std::uint64_t{2} << 30;
// How long CTAs in front of a failed one may go on: an error of theirs comes first.
constexpr unsigned last_turns = 2;

class Grid {
  public:
    explicit Grid(const Launch& launch)
        : launch_(launch),
          ctas_(launch.shape.cluster.x * launch.shape.cluster.y * launch.shape.cluster.z),
          count_(std::uint64_t{launch.shape.grid.x} * launch.shape.grid.y * launch.shape.grid.z / ctas_) {}

    Expected<void> run(std::uint32_t threads, std::string& output) {
        std::vector<std::thread> others;
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(threads, count_)) - 1;
        try {
            while (others.size() < wanted) others.emplace_back([this] { work(); });
        } catch (const std::system_error&) {  // fewer threads do the same
        }
        work();
        for (std::thread& other : others) other.join();
        for (const auto& [index, text] : outputs_) output += text;
        launch_.findings.end();
        return failed_ == none ? Expected<void>{} : tl::unexpected<Error>(error_);
    }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    using Resident = std::deque<std::unique_ptr<Cluster>>;

    // One host thread: runs a cluster until it ends; when it waits for others, begins the next one beside it.
    void work() {
        Resident resident;
        std::unique_ptr<Cluster> spare;
        unsigned turns = 0;
        bool wants_more = true;
        while (true) {
            const std::uint64_t failed = failed_.load();
            if (failed != none && ++turns > last_turns * (resident.size() + 1)) return;
            if (wants_more && resident.size() * ctas_ < most_resident && bytes(resident) < most_resident_bytes) {
                if (auto cluster = begin_next(std::move(spare))) resident.push_front(std::move(cluster));
            }
            if (resident.empty()) return;
            wants_more = false;
            std::unique_ptr<Cluster> cluster = std::move(resident.front());
            resident.pop_front();
            if (cluster->index() > failed) continue;
            switch (cluster->run()) {
                case Cta::State::finished:
                    keep_output(*cluster);
                    keep_findings(*cluster, Cta::State::finished);
                    spare = std::move(cluster);
                    wants_more = resident.empty();
                    break;
                case Cta::State::yielded:
                    resident.push_back(std::move(cluster));
                    wants_more = true;
                    break;
                case Cta::State::failed:
                    keep_output(*cluster);
                    keep_findings(*cluster, Cta::State::failed);
                    report(cluster->index(), cluster->error());
                    break;
            }
        }
    }

    [[nodiscard]] std::uint64_t bytes(const Resident& resident) const {
        const std::uint64_t warps =
            (std::uint64_t{launch_.shape.block.x} * launch_.shape.block.y * launch_.shape.block.z + 31) / 32;
        return resident.size() * ctas_ * (launch_.shared_bytes + warps * launch_.entry->register_bytes);
    }

    std::unique_ptr<Cluster> begin_next(std::unique_ptr<Cluster> cluster) {
        if (failed_.load() != none) return nullptr;
        const std::uint64_t index = next_.fetch_add(1);
        if (index >= count_) return nullptr;
        if (cluster == nullptr) cluster = std::make_unique<Cluster>(launch_);
        cluster->begin(index);
        return cluster;
    }

    void keep_output(Cluster& cluster) {
        for (std::uint32_t rank = 0; rank < cluster.size(); ++rank) {
            Cta& cta = cluster.cta(rank);
            if (cta.output().empty()) continue;
            const std::scoped_lock lock(mutex_);
            outputs_[cta.index()] = std::move(cta.output());
        }
    }

    void keep_findings(Cluster& cluster, Cta::State state) {
        ClusterFindings* const findings = cluster.findings();
        if (findings == nullptr || (!launch_.keeps_going && !launch_.excuses.any())) return;
        launch_.findings.add(cluster.index(), {std::move(findings->all()), cluster.cta(0).warps(),
                                               state == Cta::State::failed});
    }

    void report(std::uint64_t index, const Error& error) {
        const std::scoped_lock lock(mutex_);
        if (index > failed_.load()) return;
        failed_ = index;
        error_ = error;
    }

    const Launch& launch_;
    std::uint64_t ctas_;   // of a cluster
    std::uint64_t count_;  // clusters
    std::atomic<std::uint64_t> next_ = 0;
    std::atomic<std::uint64_t> failed_ = none;
    std::mutex mutex_;
    std::map<std::uint64_t, std::string> outputs_;
    Error error_;
};

}  // namespace

Expected<void> run(const Launch& launch, std::uint32_t threads, std::string& output) {
    return Grid(launch).run(std::max(threads, 1u), output);
}

}  // namespace ptxgraft::emulator
