// Starts a worker, talks to it as long as its module may take, and finds out how it died.

#include "link/worker/process.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "ptxgraft/version.h"

namespace ptxgraft::link::worker {
namespace {

using namespace std::chrono_literals;

// A worker loads some 100 MB of libraries, and machines can be busy.
constexpr auto start_timeout = 30s;

tl::unexpected<Error> cannot_start(const std::string& program, std::string_view why) {
    return fail(Errc::assembler_not_usable, fmt::format("{}: {}", program, why));
}

// What nvPTXCompiler, nvJitLink and the C++ library print when they get no more memory. They end in several
// ways.
bool tells_of_no_memory(std::string_view said) {
    constexpr std::string_view words[] = {"Memory allocation failure", "std::bad_alloc"};
    return std::ranges::any_of(words, [&](std::string_view w) { return said.find(w) != said.npos; });
}

}  // namespace

Expected<std::unique_ptr<Process>> Process::start(const Setup& setup, const std::stop_token& stop) {
    auto partner = TRY(Partner::start({.arguments = {setup.program, std::string(protocol), setup.assembler,
                                                     std::to_string(setup.memory_bytes)}}));
    std::unique_ptr<Process> process(new Process(setup, std::move(partner)));
    TRY(process->greet(stop));
    return process;
}

bool Process::is_ready() const { return is_at_rest_ && partner_->is_quiet(); }

Expected<void> Process::greet(const std::stop_token& stop) {
    std::string payload;
    const Wait waited = receive(Kind::hello, payload, Patience(start_timeout, stop));
    if (waited == Wait::stopped) return killed("a worker that was starting", waited, start_timeout);
    if (waited == Wait::late)
        return cannot_start(setup_.program, "it does not begin to speak as a worker does");
    if (!partner_->is_open())
        return cannot_start(setup_.program,
                            "it does not start: " + partner_->how_it_died(partner_->take_said()));
    hello_ = TRY(decode_hello(payload));
    if (hello_.library != PTXGRAFT_VERSION_STRING)
        return cannot_start(setup_.program, fmt::format("it is of ptxgraft {}, not {}", hello_.library,
                                                        PTXGRAFT_VERSION_STRING));
    is_at_rest_ = true;
    return {};
}

Expected<Cubin> Process::assemble(std::string_view ptx, const AssembleOptions& options) {
    ++modules_;
    is_at_rest_ = false;
    const Patience patience(setup_.timeout, options.stop);
    std::string payload;
    Wait waited = partner_->send(encode(ptx, options), patience);
    if (partner_->is_open()) waited = receive(Kind::begun, payload, patience);
    died_idle_ = !partner_->is_open() && waited == Wait::done;
    if (partner_->is_open()) waited = receive(Kind::result, payload, patience);
    const std::string said = partner_->take_said();
    if (!partner_->is_open()) return ended(waited, said);
    auto result = decode_result(payload);
    if (result) {
        is_at_rest_ = true;
        return result;
    }
    const bool lacks_memory = result.error().code == Errc::out_of_memory || tells_of_no_memory(said);
    if (lacks_memory) return out_of_memory();
    is_at_rest_ = result.error().code != Errc::internal_error;
    return result;
}

Wait Process::receive(Kind kind, std::string& payload, const Patience& patience) {
    Header header;
    Wait waited = partner_->receive(reinterpret_cast<char*>(&header), sizeof header, patience);
    if (!is_header_of(header, kind)) partner_->close();
    if (partner_->is_open()) waited = partner_->receive(payload, header.size, patience);
    return waited;
}

// --- how it went wrong

tl::unexpected<Error> Process::out_of_memory() const {
    const std::string limit = setup_.memory_bytes == 0
                                  ? std::string("the machine has")
                                  : fmt::format("{} MiB, the limit for a worker", setup_.memory_bytes >> 20);
    return fail(Errc::assembler_ended, fmt::format("{} wants more memory than {}", what(), limit));
}

tl::unexpected<Error> Process::ended(Wait waited, const std::string& said) {
    if (waited != Wait::done) return killed(what(), waited, setup_.timeout);
    if (tells_of_no_memory(said)) return out_of_memory();
    return fail(Errc::assembler_ended, fmt::format("{}: {}", what(), partner_->how_it_died(said)));
}

}  // namespace ptxgraft::link::worker
