#pragma once
/// @file tensor_kernel.hpp
/// Kernels over tensors of named extents: emitted, and compiled, for the extents that a launch has.
///
/// @code
/// const TensorKernel scale({.name = "scale",
///                             .inputs = {Tile("rows", "columns", f32).named("x")},
///                             .outputs = {Tile("rows", "columns", f32).named("y")},
///                             .grid = [](const Specialisation& s) { return Dim3{s.extent("rows")}; },
///                             .block = {128}},
///                            [](FunctionBuilder<>& k, const Specialisation& s, const Tensor& x,
///                               const Tensor& y) {
///     const auto from = global_address(k, x), to = global_address(k, y);
///     for (std::uint64_t i = 0; i < s["columns"]; i += 128) …
/// });
/// const auto done = scale.launch(device, {{x, {64, 512}}, {y, {64, 512}}});   // rows = 64, columns = 512
/// const auto text = scale.ptx({{"rows", 64}, {"columns", 512}});
/// @endcode
///
/// A **shape variable** is a name among the extents of tiles: a launch resolves it from the tensors that it
/// is given, and the body sees it as a number. A **dynamic** one is a `.u32` parameter instead, and its value
/// makes no new specialisation. A **parameter** is a number that the caller may choose: the size of a tile,
/// the stages of a ring. Extents, parameters, strides of tensors that are not dense, and the target make a
/// **specialisation**: it is emitted and verified once, and loaded once for each device; the tensor kernel
/// keeps the last KernelOptions::kept of them.
///
/// The entry has a parameter for each input, then each output (`.u64`, an address; or `.align 64 .b8 x[128]`,
/// a tensor map), one for each dynamic extent (`.u32`), and what the body declares behind them.

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptxgraft/dsl/module.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::dsl {

/// Which extent of a tensor is the innermost one, whose elements are neighbours: the last, or the first.
enum class Layout : std::uint8_t { row, column };

/// An extent: a number, or the name of a shape variable or of a parameter.
struct Dim {
    template <std::integral I> Dim(I number) : value(static_cast<std::uint64_t>(number)) {}
    Dim(const char* variable) : name(variable) {}
    Dim(std::string variable) : name(std::move(variable)) {}
    std::string name = {};    ///< empty for a number
    std::uint64_t value = 0;  ///< of a number
};

/// The tensor map of a tile (PTX ISA 5.5; TensorMapOptions). Type, address, extents and strides are the
/// tensor's; lists are in the order of the tile's extents, whatever its layout.
struct MapOptions {
    std::vector<Dim> box = {};                        ///< empty with `im2col`
    std::vector<std::uint32_t> element_strides = {};  ///< empty: all 1
    TensorInterleave interleave = TensorInterleave::none;
    TensorSwizzle swizzle = TensorSwizzle::none;
    TensorL2Promotion l2 = TensorL2Promotion::none;
    TensorFill fill = TensorFill::zero;
    std::optional<TensorIm2col> im2col = std::nullopt;  ///< innermost first, as PTX has it
    /// In place of the tile's own: tf32 of .f32, packed 4-bit elements of .b8 (whose extents then count
    /// elements).
    std::optional<TensorType> type = std::nullopt;
};

/// What a kernel takes for a tensor: `Tile("M", "K", bf16)`, `Tile("M", 128, f32, Layout::column)`.
struct PTXGRAFT_API Tile {
    template <class... Parts> explicit Tile(const Parts&... parts) { (add(parts), ...); }
    /// The same, under this name: that of its parameter. Others are x0, x1 … and y0, y1 …
    [[nodiscard]] Tile named(std::string_view text) const;
    /// The same, passed as a tensor map (`__grid_constant__`) in place of an address.
    [[nodiscard]] Tile by_map(const MapOptions& options) const;

    std::vector<Dim> dims = {};  ///< 1 to 5 with a tensor map
    Type type = Type::none;      ///< of an element, as it is stored: not .pred
    Layout layout = Layout::row;
    std::string name = {};
    std::optional<MapOptions> map = std::nullopt;

  private:
    void add(Type of) { type = of; }
    void add(Layout of) { layout = of; }
    void add(const Dim& dim) { dims.push_back(dim); }
};

/// A tensor within the body: its parameter, and its extents as far as they are known.
struct Tensor {
    std::string name = {};
    Type type = Type::none;
    Variable<Space::param> parameter = {};     ///< its address, or its tensor map
    std::vector<std::uint64_t> extents = {};   ///< in the tile's order; 0: a dynamic one
    std::vector<std::uint64_t> strides = {};   ///< in elements; 0 too: what depends on a dynamic extent
    std::optional<TensorMapOptions> map = {};  ///< all but the address and what is dynamic
    /// Of a box in shared memory, as many as a copy of it announces to a mbarrier; 0 without a map.
    std::uint32_t box_bytes = 0;
};

/// Numbers by name: extents and parameters.
using Sizes = std::map<std::string, std::uint64_t, std::less<>>;

/// One choice of all that is named. It is what bodies and functions for launches are given.
class PTXGRAFT_API Specialisation {
  public:
    /// A shape variable that is not dynamic, or a parameter; for the grid and `shared_bytes` of a launch
    /// dynamic ones too. Another name is an error of the call that needed the specialisation:
    /// Errc::argument_invalid.
    [[nodiscard]] std::uint64_t operator[](std::string_view name) const;
    /// The same in 32 bits, as grids and instructions take it; a larger one is such an error too.
    [[nodiscard]] std::uint32_t extent(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const;

    [[nodiscard]] const std::string& target() const { return target_; }
    [[nodiscard]] std::span<const Tensor> tensors() const { return tensors_; }  ///< inputs, then outputs
    /// While the body runs: for device functions, variables, shared memory.
    [[nodiscard]] Module& module() const { return *module_; }
    /// For the grid and `shared_bytes` of a launch: of its device. Elsewhere 0.
    [[nodiscard]] std::uint32_t multiprocessors() const { return multiprocessors_; }

  private:
    friend class TensorKernel;
    friend class SpecialisationMaker;
    std::string name_, target_;
    Sizes sizes_ = {};
    std::vector<std::string> dynamic_ = {};
    std::vector<Tensor> tensors_ = {};
    EntryDirectives directives_ = {};
    Module* module_ = nullptr;
    std::uint32_t multiprocessors_ = 0;
    bool is_asked_ = false;  // by one thread, whose errors it keeps
    mutable std::optional<Error> error_ = {};
    void keep(std::string problem) const;
};

/// What a launch needs, as a value or as a function of its specialisation.
template <class T> class OfSizes {
  public:
    OfSizes(const T& value) : function_([value](const Specialisation&) { return value; }) {}
    template <class F>
    requires std::is_invocable_r_v<T, F, const Specialisation&> OfSizes(F function)
        : function_(std::move(function)) {}
    /// Of threads or blocks: `.block = {128}`.
    OfSizes(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) requires std::is_same_v<T, Dim3>
        : OfSizes(Dim3{x, y, z}) {}
    [[nodiscard]] T operator()(const Specialisation& s) const { return function_(s); }

  private:
    std::function<T(const Specialisation&)> function_;
};

struct KernelOptions {
    std::string name;
    std::vector<Tile> inputs = {}, outputs = {};
    /// Of 0 blocks nothing is launched.
    OfSizes<Dim3> grid = Dim3{};
    OfSizes<Dim3> block = Dim3{};              ///< `.reqntid`: of what is known when it is emitted
    OfSizes<Dim3> cluster = Dim3{};            ///< the same: `.explicitcluster` beyond one block
    OfSizes<std::uint32_t> shared_bytes = 0u;  ///< dynamic
    Sizes parameters = {};                     ///< with the values that they have unless a caller chooses
    std::vector<std::string> dynamic = {};     ///< shape variables that are `.u32` parameters
    std::string target = "auto";               ///< of the device; of ptx() without one sm_90a
    std::string version = {};                  ///< as ModuleOptions::version
    bool line_info = false;                    ///< as ModuleOptions::line_info
    std::string file = __builtin_FILE();       ///< as ModuleOptions::file
    std::size_t kept = 256;  ///< specialisations; those that nobody asked for longest go first
};

/// A tensor that a caller has, in a buffer that lives as long as the call.
struct TensorView {
    TensorView(const Buffer& memory, std::vector<std::uint64_t> extents_,
               std::vector<std::uint64_t> strides_ = {})
        : buffer(&memory), extents(std::move(extents_)), strides(std::move(strides_)) {}
    const Buffer* buffer;
    std::vector<std::uint64_t> extents;  ///< in the tile's order
    /// In elements, in the same order; empty: dense, in the tile's layout.
    std::vector<std::uint64_t> strides;
    std::uint64_t offset = 0;  ///< of the first element, in bytes
};

/// What belongs to one launch beside its tensors.
struct LaunchValues {
    Sizes sizes = {};                      ///< parameters, and extents that no tensor has
    std::vector<Argument> arguments = {};  ///< for the parameters that the body declares
    LaunchLimits limits = {};
    const Stream* stream = nullptr;
};

/// A specialisation, emitted.
struct SpecialisedKernel {
    Specialisation specialisation;
    Skeleton skeleton;  ///< its PTX; sites that the body declares can be filled
};

/// A launch that is ready: of `kernel->skeleton`, with any stubs in.
/// `kernel->skeleton.graft({{"epilogue", stub}}, device)->launch_with(config, arguments)`.
struct BoundLaunch {
    std::shared_ptr<const SpecialisedKernel> kernel;
    LaunchConfig config;
    std::vector<Argument> arguments;
};

/// A shared handle: copies share what is kept. Threads: any number may use one at once; what several ask for
/// at the same time is emitted once. A body must not use its own tensor kernel.
class PTXGRAFT_API TensorKernel {
  public:
    /// `body(k, s, tensors…)`: one `const Tensor&` for each input and output, of which there are 16 at most,
    /// or none of them. `k` is a FunctionBuilder<>&. Several threads may run it at once, for different
    /// choices.
    template <class Body>
    TensorKernel(KernelOptions options, Body body)
        : TensorKernel(std::move(options), emitter<any_target>(std::move(body)), any_target) {}
    /// The same for one target, which C++ checks: `k` is a FunctionBuilder<sm_90a>&.
    template <Target On, class Body> [[nodiscard]] static TensorKernel on(KernelOptions options, Body body) {
        return TensorKernel(std::move(options), emitter<On>(std::move(body)), On);
    }

    /// The PTX for these extents and parameters; `target` empty: the options', else "sm_90a". Errors:
    /// Errc::argument_invalid for a name that the kernel has not, or an extent that has no number; those of
    /// the body's builder and of Module::ptx().
    [[nodiscard]] Expected<std::string> ptx(const Sizes& sizes, std::string_view target = {}) const;
    /// The same as a skeleton with its specialisation, which is kept.
    [[nodiscard]] Expected<std::shared_ptr<const SpecialisedKernel>> specialise(
        const Sizes& sizes, std::string_view target = {}) const;
    /// Puts the entry into a module beside others, whose target counts. Nothing is kept.
    [[nodiscard]] Expected<void> emit_into(Module& module, const Sizes& sizes) const;
    /// The machine code, assembled by default_assembler() and disassembled: link.hpp's disassemble(). Errors
    /// are those of ptx(), of the assembler and of disassemble().
    [[nodiscard]] Expected<std::string> sass(const Sizes& sizes, std::string_view target = {}) const;

    /// Resolves the shape variables, specialises, encodes tensor maps, and computes the launch. Errors beside
    /// those of specialise(): Errc::argument_count_wrong for a wrong number of tensors;
    /// Errc::argument_invalid for a tensor with another number of extents, and for an extent that differs
    /// from the tile's or from that of a tensor before it; Errc::buffer_exceeded for a buffer that is
    /// smaller than its tensor; Errc::tensor_map_invalid; Errc::target_differs.
    [[nodiscard]] Expected<BoundLaunch> bind(const Device& device, std::span<const TensorView> tensors,
                                             const LaunchValues& values = {}) const;
    /// bind(), and a launch with the default stubs, whose loaded kernel is kept. Errors are those of bind(),
    /// Skeleton::graft and Function::launch.
    [[nodiscard]] Expected<void> launch(const Device& device, std::span<const TensorView> tensors,
                                        const LaunchValues& values = {}) const;
    [[nodiscard]] Expected<void> launch(const Device& device, std::initializer_list<TensorView> tensors,
                                        const LaunchValues& values = {}) const {
        return launch(device, std::span(tensors.begin(), tensors.size()), values);
    }
    /// launch() with outputs that it allocates, dense, in their order.
    [[nodiscard]] Expected<std::vector<Buffer>> operator()(const Device& device,
                                                           std::initializer_list<TensorView> inputs,
                                                           const LaunchValues& values = {}) const;

    [[nodiscard]] const KernelOptions& options() const;
    [[nodiscard]] std::size_t kept() const;  ///< specialisations
    /// Drops all specialisations, and the kernels that are loaded for them.
    void forget() const;

    struct Data;

  private:
    using Emit = std::function<void(Module&, Specialisation&)>;
    TensorKernel(KernelOptions options, Emit emit, Target on);
    template <Target On, class Body> static Emit emitter(Body body);
    std::shared_ptr<Data> data_;
};

/// The address of a tensor that is no map: emits `ld.param.u64 %ud1, [x];` and
/// `cvta.to.global.u64 %ud1, %ud1;`.
template <Target On> [[nodiscard]] Reg<u64> global_address(FunctionBuilder<On>& k, const Tensor& tensor) {
    const Reg<u64> address = k.template reg<u64>();
    k.template emit<"ld.param.u64">(address, at(tensor.parameter));
    k.template emit<"cvta.to.global.u64">(address, address);
    return address;
}
/// The address of a tensor map, generic, as `cp.async.bulk.tensor` takes it: emits `mov.b64 %ud1, x;` and
/// `cvta.param.u64 %ud1, %ud1;`.
template <Target On> [[nodiscard]] Reg<u64> map_address(FunctionBuilder<On>& k, const Tensor& tensor) {
    const Reg<u64> address = k.template reg<u64>();
    k.template emit<"mov.b64">(address, tensor.parameter);
    k.template emit<"cvta.param.u64">(address, address);
    return address;
}
/// The value of a dynamic extent: emits `ld.param.u32 %r1, [rows];`.
template <Target On> [[nodiscard]] Reg<u32> dynamic_extent(FunctionBuilder<On>& k, std::string_view name) {
    const Reg<u32> value = k.template reg<u32>();
    k.template emit<"ld.param.u32">(value, at(Variable<Space::param>{name}));
    return value;
}

// ---- how a body is called

namespace emitting {

// Calls the body with so many tensors; false where it takes another number.
template <std::size_t... I, class Body, class K>
bool call_with(std::index_sequence<I...>, Body& body, K& k, const Specialisation& s) {
    if constexpr (std::is_invocable_v<Body&, K&, const Specialisation&,
                                      decltype((void)I, std::declval<const Tensor&>())...>) {
        body(k, s, s.tensors()[I]...);
        return true;
    }
    return false;
}
// With as many as there are, or else with none.
template <std::size_t... N, class Body, class K>
bool call_body(std::index_sequence<N...>, Body& body, K& k, const Specialisation& s) {
    const auto call = [&]<std::size_t Count>(std::index_sequence<Count>) {
        return s.tensors().size() == Count && call_with(std::make_index_sequence<Count>(), body, k, s);
    };
    return (call(std::index_sequence<N>()) || ...) || call_with(std::index_sequence<>(), body, k, s);
}

}  // namespace emitting

template <Target On, class Body> TensorKernel::Emit TensorKernel::emitter(Body body) {
    return [body = std::move(body)](Module& module, Specialisation& s) mutable {
        auto& k = module.entry<On>(s.name_);
        k.directives(s.directives_);
        for (Tensor& tensor : s.tensors_)
            tensor.parameter =
                tensor.map ? k.tensor_map(tensor.name) : k.template parameter<u64>(tensor.name);
        for (const std::string& name : s.dynamic_) (void)k.template parameter<u32>(name);
        s.module_ = &module;
        constexpr std::size_t most_tensors = 16;
        if (!emitting::call_body(std::make_index_sequence<most_tensors + 1>(), body, k, std::as_const(s)))
            s.error_ = fail(Errc::argument_count_wrong,
                            "the body takes another number of tensors than there are, or more than 16")
                           .value();
        s.module_ = nullptr;
    };
}

}  // namespace ptxgraft::dsl
