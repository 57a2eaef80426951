// Stands between a pool and a worker and does what a broken one, or a broken line to it, may do:
//
//     faulty_worker FAULT ptxgraft worker --device …
//
// FAULT is a list of NAME=N: it happens to every Nth answer. `kill`: the worker is killed when it has begun,
// `stop`: it is stopped; `garbage`: bytes that are no frame come first; `cut`: half of the answer, and the
// end; `twice`: the answer comes twice; `late`: an answer to another request comes first; `slow`: the answer
// waits for 20 ms; `noise`: the worker prints. `baseline=N`: it is killed by its Nth request for the
// baseline. A variant whose text has `(kill the worker)` or `(stop the worker)` does so, whatever FAULT is.

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace {

struct Header {
    std::uint32_t length;
    std::uint16_t version, kind;
    std::uint64_t id;
};
constexpr std::uint16_t check = 3, timing = 4, health = 5, result = 7;

bool read_all(int file, char* to, std::size_t size) {
    for (ssize_t got; size > 0; to += got, size -= static_cast<std::size_t>(got))
        if ((got = ::read(file, to, size)) <= 0) return false;
    return true;
}
void write_all(int file, std::string_view bytes) {
    for (ssize_t sent; !bytes.empty(); bytes.remove_prefix(static_cast<std::size_t>(sent)))
        if ((sent = ::write(file, bytes.data(), bytes.size())) <= 0) std::_Exit(0);
}
Header header_of(const std::string& frame) {
    Header header;
    std::memcpy(&header, frame.data(), sizeof header);
    return header;
}
std::string read_frame(int file) {
    std::string frame(sizeof(Header), '\0');
    if (!read_all(file, frame.data(), frame.size())) std::_Exit(0);
    const std::size_t length = header_of(frame).length;
    frame.resize(sizeof(Header) + length);
    if (!read_all(file, frame.data() + sizeof(Header), length)) std::_Exit(0);
    return frame;
}

class Line {
  public:
    Line(std::string_view faults, char** command) {
        while (!faults.empty()) {
            const std::string_view one = faults.substr(0, faults.find(','));
            faults.remove_prefix(std::min(one.size() + 1, faults.size()));
            const std::size_t equals = one.find('=');
            every_[std::string(one.substr(0, equals))] = std::atoi(one.data() + equals + 1);
        }
        int down[2], up[2];
        if (::pipe(down) != 0 || ::pipe(up) != 0) std::_Exit(1);
        if ((worker_ = ::fork()) == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(down[0], 0), ::dup2(up[1], 1);
            for (const int file : {down[0], down[1], up[0], up[1]}) ::close(file);
            ::execv(command[0], command);
            std::_Exit(1);
        }
        ::close(down[0]), ::close(up[1]);
        to_ = down[1], from_ = up[0];
    }
    [[noreturn]] void run() {
        pollfd wanted[] = {{0, POLLIN, 0}, {from_, POLLIN, 0}};
        for (;;) {
            ::poll(wanted, 2, -1);
            if (wanted[1].revents != 0) answer(read_frame(from_));
            if (wanted[0].revents != 0) ask(read_frame(0));
        }
    }

  private:
    bool comes(const std::string& fault, int& count) {
        return every_.contains(fault) && ++count % every_[fault] == 0;
    }
    bool comes(const std::string& fault) { return comes(fault, counts_[fault]); }

    void ask(const std::string& frame) {
        const std::uint16_t kind = header_of(frame).kind;
        if (kind == health && comes("baseline")) ::kill(worker_, SIGKILL);
        if (kind == check || kind == timing) {
            ends_ = comes("kill") || frame.find("(kill the worker)") != frame.npos;
            stops_ = comes("stop") || frame.find("(stop the worker)") != frame.npos;
        }
        if (kind == check && comes("noise")) write_all(2, "something is printed\n");
        write_all(to_, frame);
    }
    void answer(const std::string& frame) {
        Header header = header_of(frame);
        if (header.kind != result) write_all(1, frame);
        if (ends_ || stops_) ::kill(worker_, ends_ ? SIGKILL : SIGSTOP);
        if (ends_) std::_Exit(0);
        while (stops_) ::pause();
        if (header.kind != result) return;
        if (comes("garbage")) write_all(1, std::string(100, '\x5a'));
        if (comes("cut")) {
            write_all(1, std::string_view(frame).substr(0, frame.size() / 2));
            std::_Exit(0);
        }
        if (comes("slow")) ::usleep(20'000);
        if (comes("late")) {
            std::string other = frame;
            header.id -= 1;
            std::memcpy(other.data(), &header, sizeof header);
            write_all(1, other);
        }
        write_all(1, frame);
        if (comes("twice")) write_all(1, frame);
    }

    std::map<std::string, int> every_, counts_;
    pid_t worker_ = 0;
    int to_ = -1, from_ = -1;
    bool ends_ = false, stops_ = false;  // once it has begun
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    Line(argv[1], argv + 2).run();
}
