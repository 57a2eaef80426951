// Entries in a folder: found, stored, refreshed, counted, and removed when there are too many.

#include "link/cache/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "base/try.hpp"
#include "link/cache/listing.hpp"

namespace ptxgraft::link {
namespace {

using namespace std::chrono_literals;

// How long others may keep the folder: of a store that can be left out, and of what the user asked for.
constexpr auto short_patience = 1s, long_patience = 10s, busy_time = 10s;
constexpr std::int64_t refresh_after = 60, count_after = 24 * 60 * 60;  // seconds
constexpr int attempts = 4;                                             // at a new file

// The entries to keep when there are too many.
std::uint64_t low_mark(std::uint64_t most) { return most - most / 10; }

bool is_older(const ListedEntry& a, const ListedEntry& b) {
    const auto time = [](const ListedEntry& e) {
        return std::pair(e.status.st_mtim.tv_sec, e.status.st_mtim.tv_nsec);
    };
    return time(a) < time(b);
}

void remove_from(CacheSize& size, std::uint64_t bytes) {
    size.entries -= size.entries > 0;
    size.bytes -= std::min(size.bytes, bytes);
}

}  // namespace

std::int64_t now_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now.tv_sec;
}

Folder::~Folder() {
    if (!counters_.has_rest()) return;
    if (auto ledger = Ledger::open(path_, short_patience)) {
        counters_.hand_over(ledger->record.counters);
        ledger->write();  // where there was none before, it was never counted: the next store counts
    }
}

std::string Folder::path_of(const Key& key) const { return path_ + "/" + entry_name(key); }

Folder::Read Folder::read(const Key& key, std::optional<Outcome>& outcome, struct stat& status) const {
    const std::string path = path_of(key);
    const OpenFile file(path, O_RDONLY | O_NOFOLLOW);
    if (!file)  // a symbolic link is none of ours; what cannot be opened for other reasons is not there
        return errno == ELOOP && ::lstat(path.c_str(), &status) == 0 ? Read::damaged : Read::absent;
    EntryHead head;
    if (!file.is_regular(status)) return Read::damaged;
    auto got = file.read(reinterpret_cast<char*>(&head), sizeof head);
    if (!got) return Read::absent;
    if (*got < sizeof head || entry_size(head, key) != static_cast<std::uint64_t>(status.st_size))
        return Read::damaged;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > most_bytes_) return Read::absent;
    const auto bytes = std::make_unique_for_overwrite<char[]>(size);
    std::memcpy(bytes.get(), &head, sizeof head);
    got = file.read(bytes.get() + sizeof head, size - sizeof head);
    if (!got) return Read::absent;
    outcome = decode(key, {bytes.get(), sizeof head + *got});
    return outcome ? Read::whole : Read::damaged;
}

std::optional<Outcome> Folder::find(const Key& key) {
    std::optional<Outcome> outcome;
    struct stat status {};
    switch (read(key, outcome, status)) {
        case Read::absent: break;
        case Read::damaged: {
            const std::lock_guard threads(mutex_);
            if (auto ledger = lock(); ledger && drop(*ledger, path_of(key), status)) ledger->write();
            break;
        }
        case Read::whole:
            counters_.add(&CacheCounters::bytes_read, static_cast<std::uint64_t>(status.st_size));
            if (now_seconds() - status.st_mtim.tv_sec > refresh_after) refresh(key);
    }
    return outcome;
}

void Folder::refresh(const Key& key) const {
    ::utimensat(AT_FDCWD, path_of(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

// Somebody may have put a whole entry in its place meanwhile.
bool Folder::drop(Ledger& ledger, const std::string& path, const struct stat& status) {
    if (!is_at(path, status) || !remove_any(path)) return false;
    remove_from(ledger.record.size, on_disk(static_cast<std::uint64_t>(status.st_size)));
    counters_.add(&CacheCounters::dropped);
    return true;
}

std::string Folder::turn_path(const Key& key) const { return path_ + "/" + turn_name(key); }

void Folder::store(const Key& key, const Outcome& outcome) {
    if (!write(key, encode(key, outcome))) counters_.add(&CacheCounters::not_stored);
}

bool Folder::write(const Key& key, std::string_view bytes) {
    if (on_disk(bytes.size()) > most_bytes_) return false;
    for (int i = 0; i < attempts; ++i) {
        const std::string path = path_ + "/" + new_name();
        const OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
        struct stat status {};
        if (!file && errno == EEXIST) continue;
        if (!file) {
            std::error_code error(errno, std::generic_category());
            if (error == std::errc::no_such_file_or_directory)
                std::filesystem::create_directories(path_, error);
            if (error) return false;
            continue;
        }
        // Until it is locked, it looks as if its writer had died.
        const bool is_ours = file.lock() && file.is_regular(status) && status.st_nlink == 1;
        if (is_ours && file.write(bytes) && publish(path, key, bytes.size())) return true;
        ::unlink(path.c_str());
        if (is_ours) return false;
    }
    return false;
}

bool Folder::publish(const std::string& temporary, const Key& key, std::uint64_t bytes) {
    const std::string path = path_of(key);
    const std::lock_guard threads(mutex_);
    auto ledger = lock();
    if (!ledger) return false;
    struct stat old {};
    if (::lstat(path.c_str(), &old) == 0) {
        if (S_ISDIR(old.st_mode)) ::rmdir(path.c_str());
        remove_from(ledger->record.size, on_disk(static_cast<std::uint64_t>(old.st_size)));
    }
    const CacheSize before = ledger->record.size;
    ledger->record.size.entries += 1;
    ledger->record.size.bytes += on_disk(bytes);
    ledger->write();
    const bool is_there = ::rename(temporary.c_str(), path.c_str()) == 0;
    if (!is_there) ledger->record.size = before;
    if (is_there) {
        counters_.add(&CacheCounters::stored);
        counters_.add(&CacheCounters::bytes_written, bytes);
    }
    const std::int64_t age = now_seconds() - ledger->record.counted;
    if (ledger->record.size.bytes > most_bytes_ || age > count_after || age < 0) sweep(*ledger);
    counters_.hand_over(ledger->record.counters);
    ledger->write();
    return is_there;
}

void Folder::sweep(Ledger& ledger) {
    auto listing = list(path_);
    if (!listing) return;
    remove_abandoned(*listing);
    CacheSize size = listing->size();
    std::vector<ListedEntry>& entries = listing->entries;
    if (size.bytes > most_bytes_) {
        std::sort(entries.begin(), entries.end(), is_older);
        for (const ListedEntry& entry : entries) {
            if (size.bytes <= low_mark(most_bytes_)) break;
            if (!remove_any(path_of(entry.key))) continue;
            remove_from(size, entry.bytes());
            counters_.add(&CacheCounters::evicted);
        }
    }
    ledger.record.size = size;
    ledger.record.counted = now_seconds();
}

Expected<CacheFolder> Folder::contents() const {
    const std::lock_guard threads(mutex_);
    CacheFolder contents{TRY(list(path_)).size(), {}};
    if (const auto record = read_ledger(path_)) contents.counters = record->counters;
    counters_.add_rest(contents.counters);
    return contents;
}

// Who holds the lock for long is stopped, perhaps: then nothing waits for a while.
std::optional<Ledger> Folder::lock() {
    if (Clock::now() < busy_until_) return std::nullopt;
    auto ledger = Ledger::open(path_, short_patience);
    if (!ledger && errno == EWOULDBLOCK) busy_until_ = Clock::now() + busy_time;
    return ledger;
}

Expected<Ledger> Folder::lock_for_long() const {
    if (auto ledger = Ledger::open(path_, long_patience)) return std::move(*ledger);
    return fail(Errc::cache_not_usable,
                fmt::format("{}: {}", path_,
                            errno == EWOULDBLOCK ? "another process keeps it locked" : std::strerror(errno)));
}

Expected<CacheSize> Folder::clear() {
    const std::lock_guard threads(mutex_);
    std::error_code ignored;
    if (!std::filesystem::exists(path_, ignored)) return CacheSize{};
    auto ledger = TRY(lock_for_long());
    const Listing listing = TRY(list(path_));
    remove_abandoned(listing);
    int failed = 0;
    for (const ListedEntry& entry : listing.entries)
        if (!remove_any(path_of(entry.key)) && errno != ENOENT) failed = errno;
    counters_.hand_over(ledger.record.counters);
    ledger.record = {};
    ledger.record.counted = failed ? 0 : now_seconds();
    ledger.write();
    if (failed) return fail(Errc::cache_not_usable, fmt::format("{}: {}", path_, std::strerror(failed)));
    return listing.size();
}

Expected<CacheCheck> Folder::verify() {
    const Listing listing = TRY(list(path_));
    CacheCheck check;
    std::vector<ListedEntry> damaged;
    for (const ListedEntry& entry : listing.entries) {
        std::optional<Outcome> outcome;
        struct stat status {};
        const Read how = read(entry.key, outcome, status);
        if (how == Read::damaged) damaged.push_back({entry.key, status});
        if (how != Read::whole) continue;
        ++check.whole.entries;
        check.whole.bytes += on_disk(static_cast<std::uint64_t>(status.st_size));
    }
    if (listing.entries.empty() && listing.begun.empty()) return check;
    const std::lock_guard threads(mutex_);
    auto ledger = TRY(lock_for_long());
    for (const ListedEntry& entry : damaged) check.damaged += drop(ledger, path_of(entry.key), entry.status);
    check.abandoned = remove_abandoned(listing);
    sweep(ledger);
    counters_.hand_over(ledger.record.counters);
    ledger.write();
    return check;
}

}  // namespace ptxgraft::link
