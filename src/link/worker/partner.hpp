#pragma once
// A process that was started to be talked to: its end of a socket, what it prints, and how it died.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/process.hpp"

namespace ptxgraft::link::worker {

/// The path of one of ptxgraft's programs: the caller's, else where an installation and a build have it.
/// Errc::assembler_not_usable names the places that were searched.
[[nodiscard]] Expected<std::string> find_program(const std::string& given, const std::string& name);

struct PartnerStart {
    std::vector<std::string> arguments = {};  ///< the first one is a path
    /// `NAME=value`, all that there are; without: the caller's.
    std::optional<std::vector<std::string>> environment = {};
    /// Its standard output is the socket, as its standard input; else it is what it prints.
    bool answers_by_output = false;
};

/// Whatever is not as it should be closes the talk, for good. Threads: one at a time.
class Partner {
  public:
    /// Errors: Errc::assembler_not_usable where it does not start.
    [[nodiscard]] static Expected<std::unique_ptr<Partner>> start(const PartnerStart& start);
    /// Kills it; in a process forked from its owner's, leaves it alone.
    ~Partner();
    Partner(const Partner&) = delete;
    Partner& operator=(const Partner&) = delete;

    [[nodiscard]] pid_t id() const { return child_.id(); }
    void kill();
    /// Whether nothing has come that was not asked for, nor its end.
    [[nodiscard]] bool is_quiet() const;
    /// Whether its end of the socket is open.
    [[nodiscard]] bool is_there() const;

    [[nodiscard]] bool is_open() const { return is_open_; }
    /// What it says means nothing.
    void close() { is_open_ = false; }
    /// All bytes, unless patience ends (which is the result) or the process does; then the talk is closed.
    [[nodiscard]] Wait send(std::string_view message, const Patience& patience);
    [[nodiscard]] Wait receive(char* to, std::size_t size, const Patience& patience);
    /// So many bytes more behind those of `to`. A size that is a lie costs no more memory than comes.
    [[nodiscard]] Wait receive(std::string& to, std::uint64_t size, const Patience& patience);

    /// What it has printed since the last call, at most the 64 KiB that a pipe keeps; what does not fit is
    /// lost, and nobody waits for it.
    [[nodiscard]] std::string take_said();
    /// Waits for its end, which is a little later than its socket's.
    [[nodiscard]] std::string how_it_died(const std::string& said);

  private:
    Partner(pid_t id, File socket, File said);

    Child child_;
    pid_t owner_;
    File socket_;
    File said_;
    bool is_open_ = true;
};

}  // namespace ptxgraft::link::worker
