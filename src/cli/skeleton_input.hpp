#pragma once
/// @file skeleton_input.hpp
/// The FILE of a verb as a skeleton, and the stubs that the command line gives for its sites.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache_flags.hpp"
#include "ptxgraft/kernel.hpp"

namespace CLI {
class App;
}

namespace ptxgraft::cli {

/// How CUDA files are compiled: --target, -I, -D, --option, and where results are kept: --cache, --no-cache.
struct CudaFlags {
    std::string target;  ///< empty: not said
    std::vector<std::string> include_dirs, defines, options;
    CacheFlags cache;
};
void add_cuda_flags(CLI::App& verb, CudaFlags& flags);
/// --target NAME, of an architecture that there is.
void add_target_flag(CLI::App& verb, std::string& target, const std::string& help);

/// Compiles CUDA source; warnings go to standard error.
[[nodiscard]] std::string compile_cuda_text(const std::string& path, std::string_view source,
                                            const CudaFlags& flags, const std::string& default_target);

/// A skeleton and where it came from.
struct Input {
    Skeleton skeleton;
    std::string file;        ///< as diagnostics name it
    bool from_cuda = false;  ///< its PTX stands in no file

    /// What to call its PTX in diagnostics: `a.ptx`, or `a.cu (as PTX, with stubs)` where the text is not the
    /// file's.
    [[nodiscard]] std::string ptx_name(std::size_t stub_count) const;
};
[[nodiscard]] Input load_input(const std::string& path, const CudaFlags& flags,
                               const std::string& default_target);

/// Which stubs fill which sites: --stub NAME=FILE, --program NAME=TEXT and --expr NAME=TEXT; and how: --route
/// ROUTE or NAME=ROUTE, --constants.
struct StubFlags {
    std::vector<std::string> files, programs, expressions, routes;
    stack::Constants constants = stack::Constants::literals;
};
void add_stub_flags(CLI::App& verb, StubFlags& flags);

struct NamedStub {
    std::string site;
    Stub stub;
};
[[nodiscard]] std::vector<NamedStub> compile_stubs(const Input& input, const StubFlags& flags);
[[nodiscard]] RouteOptions route_options(const StubFlags& flags);
/// Says on standard error which stub takes which route, and why, where a route was asked for.
void print_routes(const StubFlags& flags, const std::vector<RouteChoice>& routes);
[[nodiscard]] std::vector<Graft> as_grafts(const std::vector<NamedStub>& stubs);

/// What fills a site: a stack program, an expression, or the text of a `.stub` file.
enum class StubKind : std::uint8_t { program, expression, file };
/// A stub of a text, by the options of candidates: with a dataflow hash, so that equal ones are found.
/// `leftover` is of programs. Errors have spans in `text`.
[[nodiscard]] Expected<Stub> stub_of(StubKind kind, std::string_view text, const Site& site,
                                     stack::Constants constants, stack::Leftover leftover);

/// True for names of hand-written PTX: they end in `.ptx`.
[[nodiscard]] bool is_ptx_file(std::string_view path);

}  // namespace ptxgraft::cli
