#pragma once
/// @file kernel.hpp
/// The whole way: a skeleton, compiled once; stubs grafted into it; a kernel, launched.
///
/// @code
/// auto skeleton = ptxgraft::Skeleton::from_cuda(source, {.target = "sm_90a"});
/// auto stub = ptxgraft::stack::compile("acc bias add.f32 -> acc", *skeleton->site("epilogue"));
/// auto kernel = skeleton->graft({{"epilogue", *stub}}, device);
/// auto launched = kernel->launch({.grid = {8, 8}, .block = {16, 16}}, a, b, bias, c, m, n, k);
/// @endcode

#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/cache.hpp"
#include "ptxgraft/choices.hpp"
#include "ptxgraft/device.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/route.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stack.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft {
namespace launch {
struct EntryInfo;  // internal
}

/// One filled site: its name and the stub. A value: it owns both.
struct Graft {
    Graft(std::string_view site_, Stub stub_) : site(site_), stub(std::move(stub_)) {}
    std::string site;
    Stub stub;
};

/// Milliseconds of the steps of a graft.
struct GraftTimes {
    double render = 0, assemble = 0, link = 0, load = 0;
};

/// The constants of a site whose stub has them as data (stack::Constants::data): a `.const` variable of the
/// module, of eight bytes for each of `stub.constants()`, which whoever loads the machine code writes there.
struct ConstantBank {
    std::string site;
    std::string variable;  ///< its name in PTX: what cuModuleGetGlobal finds
    Stub stub;
};

/// Machine code of a skeleton with stubs, and how it came about.
struct MachineCode {
    std::shared_ptr<const Cubin> cubin = {};
    std::vector<RouteChoice> routes = {};  ///< one for each stub, in their order
    GraftTimes times = {};
    CacheLevel from = CacheLevel::none;  ///< where it was kept
    /// Constants that are data, which are not in `cubin`: candidates that differ in them alone share it.
    /// Empty where there are none.
    std::vector<ConstantBank> banks = {};
    /// Behind the names of entries in `cubin`, where several variants are in it: of entry `gemm` this one is
    /// `gemm` + suffix. Empty where it stands alone.
    std::string suffix = {};
    struct VariantModule;  // internal
    std::shared_ptr<const VariantModule> variants = {};
};

/// How Skeleton::assemble_many and graft_many work.
struct ManyOptions {
    std::uint32_t threads = 0;  ///< that work, the calling one among them; 0: as many as the machine has
    std::stop_token stop =
        {};  ///< when it is asked for, candidates that nobody has begun are Errc::work_stopped
    std::uint32_t stubs_per_module = 32;  ///< of the `link` route: so many are assembled at once
    /// So many candidates stand in one module, as Skeleton::render_variants() writes it: one assembly and one
    /// load serve them, which takes two thirds to a third of the time (src/kernel/README.md). Their code may
    /// differ from what they get alone, as ptxas goes by the names of entries; they share the module's
    /// variables; and none of them is unloaded before all are. A module that does not assemble is taken apart
    /// until the bad ones are found, which then are assembled alone. Linked stubs, constants that are data,
    /// and stubs that name a function of the skeleton stand in modules of their own. A cache keeps the
    /// module, and of each candidate where it is in it: it is found again whoever stands beside it then.
    std::uint32_t variants_per_module = 1;
};
/// Is called with every result as it comes, in any order, by one thread at a time. An exception of it stops
/// the work and comes out of the call; it is not called again.
template <class T> using OnResult = std::function<void(std::size_t index, const Expected<T>& result)>;

/// What Skeleton::prepare made and measured, in milliseconds.
struct Preparation {
    double whole = 0;  ///< the skeleton with its default stubs, assembled: what an inlined candidate costs
    /// The skeleton assembled for linking: once for all candidates of the `link` route.
    double skeleton = 0;
    double stub = 0;           ///< a module with one stub, assembled
    double link = 0;           ///< the two, linked
    std::string not_linkable;  ///< why nothing is linked to this skeleton; empty when `auto` may
};

/// A launchable kernel: an entry of a skeleton with its stubs, loaded on a device. A shared handle.
///
/// Threads: any number may launch and read one kernel at once, and its last handle may go on any thread,
/// whatever else runs on the device.
class PTXGRAFT_API Kernel {
  public:
    /// A kernel that somebody else loaded: Device::borrow_function. It has no stubs, no PTX, no machine code.
    [[nodiscard]] static Expected<Kernel> borrow(const Device& device, FunctionHandle kind,
                                                 std::uint64_t handle);
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
    /// Other constants for a site whose stub has them as data: those of a stub that differs in them alone, or
    /// their bits in the order of Stub::constants(). They count for what is launched later, on that stream or
    /// without one, as the arguments of a launch do: it is a copy in the order of the stream
    /// (cuMemcpyHtoDAsync), and what was launched there before still computes with the old ones. Streams do
    /// not wait for each other: while a launch runs on one, the constants may not be changed on another. It
    /// is for all handles of this kernel; no other kernel sees it. Errors: Errc::constants_differ for a site
    /// without such constants, another number of them, or a stub of another structure; Errc::device_differs.
    [[nodiscard]] Expected<void> set_constants(std::string_view site, const Stub& stub,
                                               const Stream* stream = nullptr) const;
    [[nodiscard]] Expected<void> set_constants(std::string_view site,
                                               std::span<const std::uint64_t> constants,
                                               const Stream* stream = nullptr) const;

    /// With the stubs in. Where stubs are linked this is the text of the `call` route. Constants that are
    /// data are variables without values in it: kernels that differ in them alone have one text.
    [[nodiscard]] const std::string& ptx() const;
    [[nodiscard]] const MachineCode& machine_code() const;  ///< without a cubin where there is none
    [[nodiscard]] const Cubin* cubin() const;               ///< null on the emulator, and when borrowed
    [[nodiscard]] const GraftTimes& times() const;
    [[nodiscard]] const std::vector<RouteChoice>& routes() const;  ///< one for each stub, in their order
    [[nodiscard]] const Function& function() const;

    struct Data;

  private:
    friend class Skeleton;
    explicit Kernel(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] Expected<std::size_t> bank_of(std::string_view site) const;
    std::shared_ptr<const Data> data_;
};

struct GraftOptions {
    std::string entry = {};  ///< which entry; may be empty when the module has one entry
    AssembleOptions assemble = {};
    RouteOptions routes = {};
    /// Who assembles for a GPU; null: default_assembler(). It is only used during the call.
    const Assembler* assembler = nullptr;
    /// Keeps machine code, of candidates and of the parts that are linked, and errors of the assembler; null:
    /// none is kept. A candidate is found by its skeleton, its stubs (their text, or their dataflow hash
    /// where they have one), routes, options and assembler. It is only used during the call.
    const Cache* cache = nullptr;
};

/// PTX with stubs in, and the route that each of them took.
struct Rendered {
    std::string ptx;
    std::vector<RouteChoice> routes;  ///< in the order of the grafts
};

/// How several candidates stand in one module.
struct VariantOptions {
    RouteOptions routes = {};  ///< `link` is not possible
    /// What stands behind the names of each variant's functions, one for each candidate; empty: `_0`, `_1` …
    /// (or `__0` where the module has such names).
    std::vector<std::string> suffixes = {};
};
struct Variants {
    std::string ptx;
    std::vector<std::string> suffixes;             ///< by candidate: its entry `gemm` is `gemm` + suffix
    std::vector<std::vector<RouteChoice>> routes;  ///< by candidate, in the order of its grafts
};

/// Annotated PTX with its sites.
///
/// **Constants as data.** Stubs whose constants are data (stack::Constants::data) load them from a variable
/// of the module, `ptxgraft_constants_<number>_<site>`. Candidates whose stubs differ in constants alone are
/// one structure: their machine code is assembled once and kept with the skeleton, with or without a cache
/// (of the options or the skeleton's own, 64 MB); threads that ask for it at once wait for one. Each Kernel
/// has constants of its own: on a GPU every graft loads a module of its own from the same machine code, and
/// writes them there; on the emulator kernels of one structure share a module where the skeleton has no
/// variables of its own, and launches bring their constants. Kernel::set_constants changes those of a kernel
/// that is loaded: the shortest way from constants to a launch. The `link` route does not take such stubs,
/// and `automatic` does not link them: the structure is assembled once either way.
///
/// Copies share their text. Threads: any number may read it, render and graft
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

    /// A template of the library, compiled for these tunables: Template::skeleton of template.hpp, which has
    /// all else of it. `target` empty: the template's own.
    [[nodiscard]] static Expected<Skeleton> from_template(std::string_view name, const Choices& choices = {},
                                                          std::string_view target = {});

    [[nodiscard]] const std::string& ptx() const;
    [[nodiscard]] const Sites& sites() const;
    /// A site by name: Errc::site_unknown names the sites that there are.
    [[nodiscard]] Expected<const Site*> find_site(std::string_view name) const;
    /// The same; null when there is none.
    [[nodiscard]] const Site* site(std::string_view name) const;
    [[nodiscard]] const std::vector<std::string>& entries() const;  ///< in text order
    [[nodiscard]] const std::string& target() const;                ///< "sm_90a": the module's `.target`

    /// The PTX with the stubs in, constants that are data as the values of their variables. Sites that are
    /// not named keep their default stub. Errors, with the graft's `index`: Errc::site_unknown lists the
    /// sites; Errc::site_filled_twice; Errc::stub_signature_mismatch names both signatures.
    [[nodiscard]] Expected<std::string> render(std::span<const Graft> grafts) const;
    [[nodiscard]] Expected<std::string> render(std::initializer_list<Graft> grafts) const {
        return render(std::span<const Graft>(grafts.begin(), grafts.size()));
    }
    /// The same by routes. Beside the errors of render() Errc::route_not_possible, with the graft's `index`;
    /// and Errc::site_unknown for an option that names no site. The functions of the `call` route stand
    /// before the function that holds the first copy. `link` makes machine code: its text is that of `call`,
    /// and `automatic` does not take it.
    [[nodiscard]] Expected<Rendered> render_by(std::span<const Graft> grafts,
                                               const RouteOptions& routes) const;
    /// Several candidates as one module. Functions that hold a copy of a site, and those that call one, stand
    /// there once for each candidate, under names of their own; variables and all else stand there once, and
    /// the variants share them. Errors, with the candidate's `index`: those of render_by(), and
    /// Errc::route_not_possible for a stub that is linked or names one of these functions;
    /// Errc::argument_invalid for suffixes that are not all different, and for a module that names such a
    /// function outside of functions (a table of addresses, `.alias`).
    [[nodiscard]] Expected<Variants> render_variants(std::span<const std::vector<Graft>> candidates,
                                                     const VariantOptions& options = {}) const;
    /// Machine code with the stubs in, by routes, for the options' target or else the module's; no device is
    /// needed. What candidates of the `link` route share (the skeleton for linking, stubs that were assembled
    /// before) is kept with the skeleton, up to 64 MB. Beside the errors of render_by() those of the
    /// assembler and of link_cubins; their spans are in what was assembled (the rendered PTX, or a module of
    /// linked stubs), which they bring along, and they name the stub and its line, or the skeleton's CUDA
    /// line where its PTX has line information.
    [[nodiscard]] Expected<MachineCode> assemble(std::span<const Graft> grafts,
                                                 const GraftOptions& options = {}) const;
    [[nodiscard]] Expected<MachineCode> assemble(std::initializer_list<Graft> grafts,
                                                 const GraftOptions& options = {}) const {
        return assemble(std::span<const Graft>(grafts.begin(), grafts.size()), options);
    }
    /// Many candidates at once; the results in their order. Candidates that compute the same, by the text or
    /// the dataflow hash of their stubs, are assembled once and share their machine code. Stubs of the `link`
    /// route are assembled many to a module; one that does not assemble does not harm the others. Errors are
    /// those of assemble(), and Errc::work_stopped.
    [[nodiscard]] std::vector<Expected<MachineCode>> assemble_many(
        std::span<const std::vector<Graft>> candidates, const GraftOptions& options = {},
        const ManyOptions& many = {}, const OnResult<MachineCode>& on_result = {}) const;
    /// The same, loaded: graft() of many.
    [[nodiscard]] std::vector<Expected<Kernel>> graft_many(std::span<const std::vector<Graft>> candidates,
                                                           const Device& device,
                                                           const GraftOptions& options = {},
                                                           const ManyOptions& many = {},
                                                           const OnResult<Kernel>& on_result = {}) const;
    /// Makes what the `link` route needs and measures whether it pays: from now on `automatic` may link,
    /// with these AssembleOptions and this assembler. Errors are those of assemble(); a skeleton that nothing
    /// can be linked to is none, nor are default stubs that lose performance or take the assembler too long.
    [[nodiscard]] Expected<Preparation> prepare(const GraftOptions& options = {}) const;
    /// assemble() for a GPU, for that GPU unless the options say otherwise, and loads. The emulator runs the
    /// rendered PTX. Errc::entry_unknown and Errc::entry_not_named list the entries.
    [[nodiscard]] Expected<Kernel> graft(std::span<const Graft> grafts, const Device& device,
                                         const GraftOptions& options = {}) const;
    [[nodiscard]] Expected<Kernel> graft(std::initializer_list<Graft> grafts, const Device& device,
                                         const GraftOptions& options = {}) const {
        return graft(std::span<const Graft>(grafts.begin(), grafts.size()), device, options);
    }

    struct Data;

  private:
    [[nodiscard]] Expected<Kernel> load(const Device& device, const launch::EntryInfo& entry,
                                        MachineCode code, std::shared_ptr<const SourceText> source) const;
    explicit Skeleton(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

}  // namespace ptxgraft
