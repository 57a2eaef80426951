// A worker: the process around a device, and its side of the conversation.

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/host_memory.hpp"
#include "link/worker/self.hpp"
#include "measure/worker/handler.hpp"

namespace ptxgraft::measure {
namespace {

namespace self = link::worker;

constexpr int context_lost = 4;  // the exit status

bool read_all(int file, char* to, std::size_t size) {
    while (size > 0) {
        const ssize_t got = ::read(file, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}
// So many bytes more; a size that is a lie costs no more memory than comes.
bool read_all(int file, std::string& to, std::size_t size) {
    constexpr std::size_t block = 1 << 20;
    while (to.size() < size) {
        const std::size_t at = to.size(), more = std::min(size - at, block);
        to.resize(at + more);
        if (!read_all(file, to.data() + at, more)) return false;
    }
    return true;
}
bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::write(file, bytes.data(), bytes.size());
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

// Results by the content of their requests: one that comes again, after a connection was lost, costs nothing.
class Answered {
  public:
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    static Key key_of(FrameKind kind, std::string_view payload) {
        const XXH128_hash_t hash =
            XXH3_128bits_withSeed(payload.data(), payload.size(), static_cast<XXH64_hash_t>(kind));
        return {hash.low64, hash.high64};
    }
    [[nodiscard]] const Check* find(const Key& key) const {
        for (const auto& [known, check] : all_)
            if (known == key) return &check;
        return nullptr;
    }
    void keep(const Key& key, const Check& check) {
        all_.emplace_back(key, check);
        if (all_.size() > most) all_.pop_front();
    }

  private:
    static constexpr std::size_t most = 64;
    std::deque<std::pair<Key, Check>> all_;
};

class Server {
  public:
    Server(Handler& handler, int input, int output) : handler_(handler), input_(input), output_(output) {}

    Expected<void> run(const WorkerInfo& info) {
        if (!write_all(output_, encode(info))) return {};
        for (;;) {
            std::array<char, sizeof(FrameHeader)> bytes;
            if (!read_all(input_, bytes.data(), bytes.size())) return {};
            const auto header = decode_header({bytes.data(), bytes.size()});
            if (!header) return stop(header.error());
            std::string payload;
            if (!read_all(input_, payload, header->length)) return {};
            if (header->kind == FrameKind::bye) return {};
            const auto answer = answer_to(*header, payload);
            if (!answer) return stop(answer.error());
            if (!write_all(output_, *answer)) return {};
            // In a context that is lost nothing is right again, nor can it be taken down in order.
            if (handler_.is_lost() || lacks_memory_) ::_exit(context_lost);
        }
    }

  private:
    // Says why on both sides.
    tl::unexpected<Error> stop(const Error& error) const {
        static_cast<void>(write_all(output_, encode_bye(message(error))));
        return tl::unexpected(error);
    }

    // The frame of a result; an error for what is no request.
    Expected<std::string> answer_to(const FrameHeader& header, std::string_view payload) {
        const Tell tell = [&, beat = std::uint64_t{0}](FramePhase phase, std::uint32_t variant) mutable {
            static_cast<void>(write_all(output_, encode(header.id, ProgressFrame{phase, ++beat, variant})));
        };
        switch (header.kind) {
            case FrameKind::open: return answer<Opened>(header, decode_open(payload), tell, &Handler::open);
            case FrameKind::check: return answer_check(header, payload, tell);
            case FrameKind::health:
                return answer<Check>(header, decode_health(payload), tell, &Handler::health);
            case FrameKind::time: return answer<Timed>(header, decode_time(payload), tell, &Handler::time);
            default: return fail(Errc::frame_malformed, "it is no request");
        }
    }
    template <class Result, class Request>
    Expected<std::string> answer(const FrameHeader& header, const Expected<Request>& request,
                                 const Tell& tell,
                                 Expected<Result> (Handler::*work)(const Request&, const Tell&)) {
        if (!request) return tl::unexpected(request.error());
        const Expected<Result> result = or_out_of_memory([&] { return (handler_.*work)(*request, tell); });
        return encode(header.id, result);
    }
    Expected<std::string> answer_check(const FrameHeader& header, std::string_view payload,
                                       const Tell& tell) {
        const Answered::Key key = Answered::key_of(header.kind, payload);
        if (const Check* const known = answered_.find(key)) return encode(header.id, Expected<Check>(*known));
        const auto request = decode_check(payload);
        if (!request) return tl::unexpected(request.error());
        const auto check = handler_.check(*request, tell);
        if (check && check->finding != Finding::device_lost) answered_.keep(key, *check);
        lacks_memory_ = check && check->error.code == Errc::out_of_memory;
        return encode(header.id, check);
    }

    Handler& handler_;
    int input_, output_;
    Answered answered_;
    bool lacks_memory_ = false;  // little is left, in pieces: the next one begins with all of it
};

// Kernels cannot reach a network; what they may break into could.
bool leave_network() { return ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

// The frames' files become others, so that no print gets between frames, and no read takes some of them.
struct Files {
    int input, output;
};
Files take_files(const ServeOptions& options) {
    const Files files{::fcntl(options.input, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
                      ::fcntl(options.output, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
    if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0) {
        ::dup2(nothing, STDIN_FILENO);
        ::close(nothing);
    }
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    return files;
}

}  // namespace

Expected<void> serve(Handler& handler, const WorkerInfo& info, int input, int output) {
    return Server(handler, input, output).run(info);
}

Expected<void> serve_worker(const ServeOptions& options) {
    std::signal(SIGPIPE, SIG_IGN);
    const Files files = take_files(options);
    // A driver looks for devices in folders that a user of another name space may not read.
    const bool is_alone = options.device.starts_with("emulator") && leave_network();
    self::come_first_when_memory_is_short();
    self::end_with(::getppid(), {files.output});
    const auto device = Device::open(options.device, options.how);
    auto info = device ? describe_worker(*device) : tl::unexpected(device.error());
    if (!info) {
        static_cast<void>(write_all(files.output, encode_bye(message(info.error()))));
        return tl::unexpected(info.error());
    }
    info->has_network = !is_alone;
    Handler handler(*device, options.check);
    self::limit_memory(options.memory_bytes);
    return serve(handler, *info, files.input, files.output);
}

}  // namespace ptxgraft::measure
