// The ledger of a folder: found or made, locked, and believed only if its checksum is right.

#include "link/cache/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <thread>
#include <type_traits>

#include "link/cache/hash.hpp"

namespace ptxgraft::link {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr char ledger_magic[16] = "ptxgraft ledge1";
constexpr int read_attempts = 8;  // at reading what somebody writes, and at a file that is replaced
static_assert(std::has_unique_object_representations_v<LedgerRecord>);

std::string path_in(const std::string& folder) { return folder + "/ptxgraft.ledger"; }

std::string_view bytes_of(const LedgerRecord& record) {
    return {reinterpret_cast<const char*>(&record), sizeof record};
}
Key sum_of(const LedgerRecord& record) {
    return hash(bytes_of(record).substr(0, offsetof(LedgerRecord, sum)));
}

bool read_record(const OpenFile& file, LedgerRecord& record) {
    LedgerRecord found;
    if (::pread(file.number(), &found, sizeof found, 0) != sizeof found) return false;
    if (std::memcmp(found.magic, ledger_magic, sizeof ledger_magic) != 0 || !(found.sum == sum_of(found)))
        return false;
    record = found;
    return true;
}

// A file of nobody's but this folder's: what we write in it reaches no other place.
bool is_own(const OpenFile& file, struct stat& status) {
    return file.is_regular(status) && status.st_nlink <= 1;
}

}  // namespace

std::optional<Ledger> Ledger::open(const std::string& folder, std::chrono::milliseconds patience) {
    const std::string path = path_in(folder);
    const Clock::time_point end = Clock::now() + patience;
    Clock::duration pause = 20us;
    for (int replaced = 0; replaced < read_attempts;) {
        OpenFile file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
        struct stat status {};
        if (!file && errno != ELOOP) return std::nullopt;
        if (!file || !is_own(file, status)) {
            if (::unlink(path.c_str()) != 0) return std::nullopt;
            ++replaced;
        } else if (file.lock()) {
            if (!is_at(path, status)) {  // it was replaced meanwhile: this is no lock of the folder
                ++replaced;
                continue;
            }
            Ledger ledger(std::move(file));
            ledger.is_known = read_record(ledger.file_, ledger.record);
            return ledger;
        } else if (errno != EWOULDBLOCK || Clock::now() >= end) {
            return std::nullopt;
        } else {
            std::this_thread::sleep_for(pause);
            pause = std::min<Clock::duration>(2 * pause, 2ms);
        }
    }
    return std::nullopt;
}

// Not by closing alone: a child of fork() may still have the file open.
Ledger::~Ledger() {
    if (file_) ::flock(file_.number(), LOCK_UN);
}

void Ledger::write() {
    std::memcpy(record.magic, ledger_magic, sizeof ledger_magic);
    record.sum = sum_of(record);
    // What is not written whole has a wrong checksum: then the files are counted.
    char bytes[sizeof record];
    std::memcpy(bytes, &record, sizeof record);
    is_known = ::pwrite(file_.number(), bytes, sizeof bytes, 0) == sizeof bytes;
}

std::optional<LedgerRecord> read_ledger(const std::string& folder) {
    for (int i = 0; i < read_attempts; ++i) {
        const OpenFile file(path_in(folder), O_RDONLY | O_NOFOLLOW);
        if (!file) return std::nullopt;
        LedgerRecord record;
        if (read_record(file, record)) return record;
    }
    return std::nullopt;
}

}  // namespace ptxgraft::link
