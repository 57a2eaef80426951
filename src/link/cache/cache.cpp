// A cache: memory, then the folder, then the work itself, which one thread does for all that ask for it.

#include <fmt/format.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/try.hpp"
#include "link/cache.hpp"
#include "link/cache/counters.hpp"
#include "link/cache/folder.hpp"
#include "link/cache/memory.hpp"
#include "link/cache/turn.hpp"

namespace ptxgraft::link {

class CacheData {
  public:
    explicit CacheData(CacheOptions options) : options_(std::move(options)), memory_(options_.memory_bytes) {
        if (!options_.dir.empty()) folder_.emplace(options_.dir, options_.disk_bytes, counters_);
    }

    using Make = std::function<Outcome()>;
    Outcome find_or_make(const Key& key, const Make& make, CacheLevel& from);
    void keep(const Key& key, const Outcome& outcome);

    [[nodiscard]] const CacheOptions& options() const { return options_; }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] std::optional<Folder>& folder() { return folder_; }
    [[nodiscard]] CacheSize memory() const {
        const std::lock_guard lock(mutex_);
        return memory_.size();
    }
    void forget() {
        const std::lock_guard lock(mutex_);
        memory_.clear();
    }

  private:
    // Work of one thread that others wait for.
    struct Flight {
        std::condition_variable ended;
        const std::thread::id leader = std::this_thread::get_id();
        bool is_over = false;
        std::optional<Outcome> outcome;  // none: it is for those who wait to try themselves
        CacheLevel from = CacheLevel::none;
    };
    class Leader;

    [[nodiscard]] std::optional<Outcome> find_in_memory(const Key& key, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Outcome lead(const Key& key, const std::shared_ptr<Flight>& flight, const Make& make,
                               CacheLevel& from);
    void keep_in_memory(const Key& key, const Outcome& outcome);
    void store(const Key& key, const Outcome& outcome);

    CacheOptions options_;
    Counters counters_;
    std::optional<Folder> folder_;
    mutable std::mutex mutex_;  // of what follows
    Memory memory_;
    std::unordered_map<Key, std::shared_ptr<Flight>, KeyHash> flights_;
};

namespace {

// How long a process waits for another one that makes what it wants: longer than nearly all assemblies take.
constexpr std::chrono::seconds turn_patience(60);
// Seconds after which the folder hears again that an entry is used which memory has.
constexpr std::int64_t refresh_in_folder_after = 600;

bool is_kept(const Outcome& outcome) {
    const Error* const error = std::get_if<Error>(&outcome);
    return error == nullptr || is_of_input(error->code);
}

// What its caller does not want any more, others may.
bool is_of_its_caller(const Outcome& outcome) {
    const Error* const error = std::get_if<Error>(&outcome);
    return error != nullptr && error->code == Errc::work_stopped;
}

}  // namespace

// Ends the flight of its thread, whichever way that goes.
class CacheData::Leader {
  public:
    Leader(CacheData& cache, const Key& key, std::shared_ptr<Flight> flight)
        : cache_(cache), key_(key), flight_(std::move(flight)) {}
    ~Leader() {
        const std::lock_guard lock(cache_.mutex_);
        if (flight_->outcome && is_kept(*flight_->outcome)) cache_.keep_in_memory(key_, *flight_->outcome);
        cache_.flights_.erase(key_);
        flight_->is_over = true;
        flight_->ended.notify_all();
    }
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;

  private:
    CacheData& cache_;
    const Key& key_;
    std::shared_ptr<Flight> flight_;
};

void CacheData::keep_in_memory(const Key& key, const Outcome& outcome) {
    try {
        memory_.keep(key, outcome, now_seconds());
    } catch (const std::bad_alloc&) {
        return;  // what there is no memory for is not kept
    }
}

std::optional<Outcome> CacheData::find_in_memory(const Key& key, std::unique_lock<std::mutex>& lock) {
    Memory::Held* const held = memory_.find(key);
    if (held == nullptr) return std::nullopt;
    std::optional<Outcome> outcome = held->outcome;
    const std::int64_t now = now_seconds();
    if (folder_ && now - held->refreshed > refresh_in_folder_after) {
        held->refreshed = now;
        lock.unlock();
        folder_->refresh(key);
    }
    counters_.add(&CacheCounters::memory_hits);
    return outcome;
}

Outcome CacheData::find_or_make(const Key& key, const Make& make, CacheLevel& from) {
    for (;;) {
        std::unique_lock lock(mutex_);
        from = CacheLevel::memory;
        if (auto held = find_in_memory(key, lock)) return std::move(*held);
        const auto found = flights_.find(key);
        const bool is_first = found == flights_.end();
        const auto flight = is_first ? std::make_shared<Flight>() : found->second;
        if (is_first) {
            flights_.emplace(key, flight);
            lock.unlock();
            return lead(key, flight, make, from);
        }
        if (flight->leader == std::this_thread::get_id()) {  // its work is in two hands: ours already
            lock.unlock();
            from = CacheLevel::none;
            return make ? make() : Error{Errc::work_stopped};
        }
        flight->ended.wait(lock, [&] { return flight->is_over; });
        from = flight->from;
        if (!flight->outcome) continue;
        counters_.add(&CacheCounters::joined);
        return *flight->outcome;
    }
}

Outcome CacheData::lead(const Key& key, const std::shared_ptr<Flight>& flight, const Make& make,
                        CacheLevel& from) {
    std::optional<Turn> turn;  // ends when what was made is stored
    {
        const Leader leader(*this, key, flight);
        if (folder_) flight->outcome = folder_->find(key);
        if (folder_ && make && !flight->outcome) {
            turn.emplace(folder_->turn_path(key), turn_patience);
            flight->outcome = folder_->find(key);
        }
        flight->from = from = flight->outcome ? CacheLevel::disk : CacheLevel::none;
        counters_.add(!flight->outcome             ? &CacheCounters::misses
                      : turn && turn->has_waited() ? &CacheCounters::joined
                                                   : &CacheCounters::disk_hits);
        if (!flight->outcome) {
            Outcome made = make ? make() : Error{Errc::work_stopped};
            if (is_of_its_caller(made)) return made;
            flight->outcome = std::move(made);
        }
    }
    // Those who waited are on their way by now, and nobody changes the outcome any more.
    if (from == CacheLevel::none && is_kept(*flight->outcome)) store(key, *flight->outcome);
    return *flight->outcome;
}

void CacheData::store(const Key& key, const Outcome& outcome) {
    if (!folder_) return;
    try {
        folder_->store(key, outcome);
    } catch (const std::bad_alloc&) { counters_.add(&CacheCounters::not_stored); }
}

void CacheData::keep(const Key& key, const Outcome& outcome) {
    {
        const std::lock_guard lock(mutex_);
        keep_in_memory(key, outcome);
    }
    store(key, outcome);
}

CacheData& data_of(const Cache& cache) { return *cache.data_; }

namespace {

template <class T> std::shared_ptr<const T> shared(T made) {
    return std::make_shared<const T>(std::move(made));
}
template <class T> std::shared_ptr<const T> shared(std::shared_ptr<const T> made) { return made; }

template <class T, class Make>
Expected<std::shared_ptr<const T>> find_or_make_as(const Cache& cache, const Key& key, const Make& make,
                                                   CacheLevel* from) {
    const auto make_outcome = [&]() -> Outcome {
        auto made = make();
        if (!made) return std::move(made.error());
        return shared(std::move(*made));
    };
    CacheLevel level = CacheLevel::none;
    Outcome outcome =
        data_of(cache).find_or_make(key, make ? CacheData::Make(make_outcome) : CacheData::Make(), level);
    if (!std::holds_alternative<Error>(outcome) &&
        !std::holds_alternative<std::shared_ptr<const T>>(outcome)) {  // whoever wrote that was no cache
        level = CacheLevel::none;
        outcome = make ? make_outcome() : Error{Errc::work_stopped};
    }
    if (from != nullptr) *from = level;
    if (auto* error = std::get_if<Error>(&outcome)) return tl::unexpected(std::move(*error));
    return std::get<std::shared_ptr<const T>>(std::move(outcome));
}

}  // namespace

Expected<std::shared_ptr<const Cubin>> find_or_make(const Cache& cache, const Key& key,
                                                    const std::function<Expected<Cubin>()>& make,
                                                    CacheLevel* from) {
    return find_or_make_as<Cubin>(cache, key, make, from);
}

Expected<std::shared_ptr<const Cubin>> find_or_make(
    const Cache& cache, const Key& key, const std::function<Expected<std::shared_ptr<const Cubin>>()>& make,
    CacheLevel* from) {
    return find_or_make_as<Cubin>(cache, key, make, from);
}

Expected<std::shared_ptr<const Ptx>> find_or_make(const Cache& cache, const Key& key,
                                                  const std::function<Expected<Ptx>()>& make,
                                                  CacheLevel* from) {
    return find_or_make_as<Ptx>(cache, key, make, from);
}

void keep(const Cache& cache, const Key& key, const VariantPlace& place) {
    data_of(cache).keep(key, shared(place));
}

std::optional<VariantPlace> find_place(const Cache& cache, const Key& key) {
    const std::function<Expected<VariantPlace>()> nobody;
    const auto place = find_or_make_as<VariantPlace>(cache, key, nobody, nullptr);
    return place ? std::optional(**place) : std::nullopt;
}

}  // namespace ptxgraft::link

namespace ptxgraft {

Expected<Cache> Cache::open(const CacheOptions& given) {
    namespace fs = std::filesystem;
    CacheOptions options = given;
    if (!options.dir.empty()) {
        std::error_code error;
        options.dir = fs::absolute(options.dir, error).string();
        const fs::file_status status = fs::status(options.dir, error);
        if (options.dir.find('\0') != std::string::npos || (fs::exists(status) && !fs::is_directory(status)))
            return fail(Errc::cache_not_usable, fmt::format("{} is no folder", given.dir));
    }
    return Cache(std::make_shared<link::CacheData>(std::move(options)));
}

const CacheOptions& Cache::options() const { return data_->options(); }
CacheCounters Cache::counters() const { return data_->counters().total(); }
CacheSize Cache::memory() const { return data_->memory(); }

Expected<CacheFolder> Cache::folder() const {
    if (!data_->folder()) return CacheFolder{};
    return data_->folder()->contents();
}

Expected<CacheSize> Cache::clear() const {
    data_->forget();
    if (!data_->folder()) return CacheSize{};
    return data_->folder()->clear();
}

Expected<CacheCheck> Cache::verify() const {
    if (!data_->folder()) return CacheCheck{};
    return data_->folder()->verify();
}

}  // namespace ptxgraft
