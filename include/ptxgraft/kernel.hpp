#pragma once
/// @file kernel.hpp
/// The whole way: a skeleton, compiled once; stubs grafted into it; a kernel, launched.
///
/// @code
/// auto skeleton = ptxgraft::Skeleton::from_cuda(source, {.target = "sm_90a"}); auto stub     =
/// ptxgraft::stack::compile("acc bias add.f32 0.0 max.f32 -> acc", *skeleton->site("epilogue")); auto kernel
/// = skeleton->graft({{"epilogue", *stub}}, device); auto launched = kernel->launch({.grid = {8, 8}, .block =
/// {16, 16}}, a, b, bias, c, m, n, k);
/// @endcode

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/route.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stack.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft {

/// One filled site: its name and the stub. A value: it owns both.
struct Graft {
    Graft(std::string_view site_, Stub stub_) : site(site_), stub(std::move(stub_)) {}
    std::string site;
    Stub stub;
};

/// Milliseconds of the steps of a graft.
struct GraftTimes {
    double render = 0, assemble = 0, load = 0;
};

/// A launchable kernel: an entry of a skeleton with its stubs, loaded on a device. A shared handle.
///
/// Threads: any number may launch and read one kernel at once, and its last handle may go on any thread,
/// whatever else runs on the device.
class PTXGRAFT_API Kernel {
  public:
    /// One argument per parameter: buffers and scalars, of exactly the parameters' sizes (`5u` for a .u32,
    /// `1.5f` for an .f32). Errors are those of Function::launch.
    template <class... Arguments>
    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, const Arguments&... arguments) const {
        const std::array<Argument, sizeof...(Arguments)> list{Argument(arguments)...};
        return launch_with(config, list);
    }
    /// The same on a stream.
    template <class... Arguments>
    [[nodiscard]] Expected<void> launch_on(const Stream& stream, const LaunchConfig& config,
                                           const Arguments&... arguments) const {
        const std::array<Argument, sizeof...(Arguments)> list{Argument(arguments)...};
        return launch_with(config, list, &stream);
    }
    /// With a list of arguments. Errors are those of Function::launch.
    [[nodiscard]] Expected<void> launch_with(const LaunchConfig& config, std::span<const Argument> arguments,
                                             const Stream* stream = nullptr) const;

    [[nodiscard]] std::string_view entry() const;
    [[nodiscard]] const std::string& ptx() const;  ///< with the stubs in
    [[nodiscard]] const Cubin* cubin() const;      ///< null on the emulator
    [[nodiscard]] const GraftTimes& times() const;
    [[nodiscard]] const std::vector<RouteChoice>& routes() const;  ///< one for each stub, in their order
    [[nodiscard]] const Function& function() const;

    struct Data;

  private:
    friend class Skeleton;
    explicit Kernel(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

struct GraftOptions {
    std::string entry = {};  ///< which entry; may be empty when the module has one entry
    AssembleOptions assemble = {};
    RouteOptions routes = {};
    /// Who assembles for a GPU; null: default_assembler(). It is only used during the call.
    const Assembler* assembler = nullptr;
};

/// PTX with stubs in, and the route that each of them took.
struct Rendered {
    std::string ptx;
    std::vector<RouteChoice> routes;  ///< in the order of the grafts
};

/// Annotated PTX with its sites. Copies share their text. Threads: any number may read it, render and graft
/// at once.
class PTXGRAFT_API Skeleton {
  public:
    /// Compiles CUDA source with marked sites (site.cuh). Errors are those of compile_cuda and from_ptx.
    /// They have spans in the CUDA source's PTX, which they bring along.
    [[nodiscard]] static Expected<Skeleton> from_cuda(std::string_view source,
                                                      const CudaOptions& options = {});
    /// Takes PTX with markers, or without any. Errors are those of syntax::parse and scan, with spans in
    /// `ptx`.
    [[nodiscard]] static Expected<Skeleton> from_ptx(std::string ptx);
    /// Reads a `.cu` or `.ptx` file. Errors are those of from_cuda and from_ptx, and bring the file's name
    /// and text; Errc::file_not_found, Errc::file_kind_unknown. `#include "x.cuh"` finds files beside a `.cu`
    /// file.
    [[nodiscard]] static Expected<Skeleton> from_file(const std::string& path,
                                                      const CudaOptions& options = {});

    [[nodiscard]] const std::string& ptx() const;
    [[nodiscard]] const Sites& sites() const;
    /// A site by name: Errc::site_unknown names the sites that there are.
    [[nodiscard]] Expected<const Site*> find_site(std::string_view name) const;
    /// The same; null when there is none.
    [[nodiscard]] const Site* site(std::string_view name) const;
    [[nodiscard]] const std::vector<std::string>& entries() const;  ///< in text order
    [[nodiscard]] const std::string& target() const;                ///< "sm_90a": the module's `.target`

    /// The PTX with the stubs in. Sites that are not named keep their default stub. Errors, with the graft's
    /// `index`: Errc::site_unknown lists the sites; Errc::site_filled_twice; Errc::stub_signature_mismatch
    /// names both signatures.
    [[nodiscard]] Expected<std::string> render(std::span<const Graft> grafts) const;
    [[nodiscard]] Expected<std::string> render(std::initializer_list<Graft> grafts) const {
        return render(std::span<const Graft>(grafts.begin(), grafts.size()));
    }
    /// The same by routes. Beside the errors of render() Errc::route_not_possible, with the graft's `index`;
    /// and Errc::site_unknown for an option that names no site. The functions of the `call` route stand
    /// before the function that holds the first copy.
    [[nodiscard]] Expected<Rendered> render_by(std::span<const Graft> grafts,
                                               const RouteOptions& routes) const;
    /// Renders, assembles (on a GPU, for that GPU unless the options say otherwise) and loads. Errors of the
    /// assembler have spans in the rendered PTX, which they bring along. Errc::entry_unknown and
    /// Errc::entry_not_named list the entries.
    [[nodiscard]] Expected<Kernel> graft(std::span<const Graft> grafts, const Device& device,
                                         const GraftOptions& options = {}) const;
    [[nodiscard]] Expected<Kernel> graft(std::initializer_list<Graft> grafts, const Device& device,
                                         const GraftOptions& options = {}) const {
        return graft(std::span<const Graft>(grafts.begin(), grafts.size()), device, options);
    }

    struct Data;

  private:
    [[nodiscard]] Expected<std::vector<const Site*>> filled_sites(std::span<const Graft> grafts) const;
    explicit Skeleton(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

}  // namespace ptxgraft
