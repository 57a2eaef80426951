#pragma once
/// @file template.hpp
/// The skeletons that come with the library: families of kernels, each with a manifest that says what a
/// program needs to compile a member, to launch it, and to check it. templates/README.md has the manifest's
/// keys; a folder of one's own is read in the same way.
///
/// @code
/// auto gemm = Template::find("gemm/mma");
/// auto skeleton = gemm->skeleton({{"tile_m", 64}, {"type", "f16"}}, "sm_90a");
/// auto launch = gemm->launch({{"m", 129}, {"n", 65}, {"k", 48}}, {{"tile_m", 64}, {"type", "f16"}});
/// auto kernel = skeleton->graft({{"epilogue", *stub}}, device);
/// auto arguments = launch->arguments({&a, &b, nullptr, &c});   // one buffer for each of launch->tensors
/// kernel->launch_with(launch->config, *arguments);             // tensors that are `zeroed` were filled
/// @endcode
///
/// A **dimension** is a number that a launch has: rows, columns. A **tunable** is a choice that is compiled
/// in: a tile's size, an element's type; it reaches the source as a macro of its name in capitals. A
/// **tensor** is an array in device memory: an argument by address or by tensor map. Grids, shapes, boxes
/// and sizes are expressions of dimensions and tunables (PTX's constant expressions, constant.hpp).
///
/// The **reference** of a template is a kernel too, naive, in double precision, with the same sites: what a
/// stub does to the kernel it does to the reference. try_template() runs both and compares.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/choices.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/spare_registers.hpp"
#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft {

/// Dimensions by name.
using Dimensions = std::map<std::string, std::uint64_t, std::less<>>;

struct TemplateDimension {
    std::string name, meaning;
    std::uint64_t least = 1, most = 0xFFFFFFFFu;
    std::string multiple_of = {};             ///< an expression; empty: of 1
    std::string why = {};                     ///< the reason of its bounds
    std::optional<std::uint64_t> usual = {};  ///< where a caller does not say it
};

struct TemplateTunable {
    std::string name, meaning;
    std::vector<Choice> values;
    Choice usual;  ///< where a caller does not say it
};

/// What holds for every combination that the manifest allows.
struct TemplateRequirement {
    std::string that;  ///< an expression of tunables, dimensions and names
    std::string why;
};

struct TemplateSite {
    std::string name, signature, meaning;
    std::string usual;                                          ///< what its default stub does
    std::string law;                                            ///< what its stubs obey; empty: nothing
    std::vector<std::pair<std::string, std::string>> operands;  ///< name, meaning
    std::string where;                                          ///< "hot" in the main loop, else "cold"
    std::string copies;  ///< an expression of tunables; empty where the manifest does not say it
    /// By target: 32-bit values that a stub may keep alive there before the kernel spills or a multiprocessor
    /// holds a block less, as measured with the tunables of Template::choices_with(), by the stubs of
    /// spare_registers.hpp: chains of floats, and of integers, which convert no operand. With others there
    /// may be fewer: Template::measure_spare_registers().
    std::map<std::string, std::uint32_t> spare_registers;
};

enum class TensorAccess : std::uint8_t {
    in,
    out,
    modified,  ///< read and written
    scratch,   ///< memory that the kernel alone uses
};
[[nodiscard]] PTXGRAFT_API std::string_view name(TensorAccess access);  ///< "in", "out", "mod", "scratch"

/// A parameter of the kernel, as the manifest has it.
struct TemplateArgument {
    std::string name;
    std::string type;  ///< of an element or number: "f32", or the name of a tunable that says it
    bool is_tensor = false, by_map = false;
    std::vector<std::string> shape = {};  ///< of a tensor: expressions, the outermost first
    TensorAccess access = TensorAccess::in;
    bool nullable = false;
};

/// A tensor of a launch.
struct TemplateTensor {
    std::string name;
    std::string type;  ///< "bf16"
    std::vector<std::uint64_t> shape;
    std::uint64_t bytes = 0;
    TensorAccess access = TensorAccess::in;
    bool nullable = false;  ///< the kernel takes a null pointer
    /// Nullable, and integers without a "range": places or lengths, of which random ones mean nothing.
    /// try_template() passes a null pointer.
    bool is_places = false;
    /// It has to be zeros before every launch, each time anew: a kernel leaves there what it counted, and a
    /// second launch over that would write out of bounds (Buffer::fill).
    bool zeroed = false;
    double low = -1, high = 1;  ///< of random inputs
};

/// A parameter of a launch: a tensor's address or map, or a number.
struct TemplateParameter {
    static constexpr std::size_t no_tensor = ~std::size_t{0};
    std::string name;
    std::string type;                          ///< "u64" for addresses, "b8" for maps, "u32", "f32" …
    std::size_t tensor = no_tensor;            ///< in TemplateLaunch::tensors
    std::optional<TensorMapOptions> map = {};  ///< of that tensor; its `address` counts from there
    std::vector<std::byte> value = {};         ///< of a number
    std::optional<double> above = {};          ///< what a floating-point number has to be larger than
    std::optional<double> least = {};          ///< the least that it may be
};

/// The bytes of a random tensor, uniform from `low` to `high`; of floating types of 8 bits half of the
/// elements are bit patterns between them, each as likely. The same for a seed and a name everywhere.
[[nodiscard]] PTXGRAFT_API std::vector<std::byte> random_bytes(const TemplateTensor& tensor,
                                                               std::uint64_t seed);

/// All that a launch needs but memory.
struct TemplateLaunch {
    std::string entry;
    LaunchConfig config;
    std::vector<TemplateTensor> tensors;  ///< in the order of the kernel's parameters
    std::vector<TemplateParameter> parameters;

    /// Gives a floating-point parameter, such as `eps`, another value than the manifest's. Errors:
    /// Errc::argument_invalid for a name or a type that there is not, for a value that is not larger than
    /// TemplateParameter::above or below TemplateParameter::least, and for NaN and infinities.
    [[nodiscard]] PTXGRAFT_API Expected<void> set(std::string_view parameter, double value);
    /// For Kernel::launch_with: one buffer for each of `tensors`, null for one that may be. Errors:
    /// Errc::argument_count_wrong for another number of them; Errc::argument_invalid for a null pointer that
    /// the kernel does not take; Errc::buffer_exceeded for a buffer that is smaller than its tensor; those of
    /// Buffer::encode_tensor_map.
    [[nodiscard]] PTXGRAFT_API Expected<std::vector<Argument>> arguments(
        std::span<const Buffer* const> buffers) const;
    [[nodiscard]] Expected<std::vector<Argument>> arguments(
        std::initializer_list<const Buffer*> buffers) const {
        return arguments(std::span(buffers.begin(), buffers.size()));
    }
};

/// How near a result has to be: |result - wanted| <= relative |wanted| + absolute + half a unit in the last
/// place of the result's type.
struct TemplateTolerance {
    double relative = 0, absolute = 0;
};

/// A member of a family. A shared handle. Threads: any number may use one at once.
class PTXGRAFT_API Template {
  public:
    /// "gemm/mma". `folder` holds the families; empty: the library's own, beside an installed library or in
    /// the sources that it was built from. Errors: Errc::template_unknown lists those that there are;
    /// Errc::manifest_invalid, in the manifest.
    [[nodiscard]] static Expected<Template> find(std::string_view name, const std::string& folder = {});
    /// All of them, by name.
    [[nodiscard]] static Expected<std::vector<Template>> all(const std::string& folder = {});
    /// Those of one manifest. Errors: Errc::manifest_invalid, with its place.
    [[nodiscard]] static Expected<std::vector<Template>> from_manifest(const std::string& path);

    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] const std::string& meaning() const;
    [[nodiscard]] const std::string& target() const;  ///< the lowest: "sm_80"; with an `a` the only one
    [[nodiscard]] const std::string& entry() const;
    [[nodiscard]] const std::string& source_path() const;           ///< of the CUDA source
    [[nodiscard]] const std::vector<std::string>& outputs() const;  ///< the tensors that are compared
    [[nodiscard]] const std::string& numpy() const;  ///< what it computes, in NumPy's words; may be empty
    [[nodiscard]] const std::string& launch_rule() const;  ///< the same of its grid, in words; may be empty
    [[nodiscard]] const std::vector<TemplateDimension>& dimensions() const;
    [[nodiscard]] const std::vector<TemplateTunable>& tunables() const;
    /// Shorthand of its expressions: a name and what it stands for, each of those before it.
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& names() const;
    [[nodiscard]] const std::vector<TemplateRequirement>& requirements() const;
    [[nodiscard]] const std::vector<TemplateArgument>& arguments() const;
    [[nodiscard]] const std::vector<TemplateSite>& sites() const;

    /// Every tunable: those that are given, the others as usual. `target` empty: the template's own. Errors:
    /// Errc::choice_invalid for a name or a value that there is not, and for a combination that the manifest
    /// rules out, for that target or for all, with its reason; Errc::target_differs.
    [[nodiscard]] Expected<Choices> complete(const Choices& choices, std::string_view target = {}) const;
    /// All combinations that the manifest allows: of a large family some hundred thousands. None for a target
    /// that the template does not run on.
    [[nodiscard]] std::vector<Choices> combinations(std::string_view target = {}) const;
    /// Of the copies of a site, as the manifest says; 0 where it does not. Errors: those of complete() for
    /// all targets, Errc::site_unknown.
    [[nodiscard]] Expected<std::uint64_t> copies(std::string_view site, const Choices& choices) const;

    /// The tunables that are not as usual where a manifest speaks of a site: none, or the first one or two
    /// without which there is no such site. Errors: Errc::site_unknown.
    [[nodiscard]] Expected<Choices> choices_with(std::string_view site) const;
    /// How many values a stub may keep alive in each site with these tunables, on this target (empty: the
    /// template's own). The entry, the target, and where `options.threads_per_block` is 0 the block and its
    /// shared memory are the template's; `options.graft.cache` keeps PTX too. Errors: those of skeleton() and
    /// of measure_spare_registers(); Errc::dimension_invalid where the block depends on a dimension.
    [[nodiscard]] Expected<std::vector<SpareRegisters>> measure_spare_registers(
        const Choices& choices = {}, std::string_view target = {}, SpareRegistersOptions options = {}) const;

    /// Compiles it. `target` empty: the template's own. What `cuda` says counts too: a cache, more options.
    /// Errors: those of complete() and of Skeleton::from_cuda; Errc::target_differs for a target that the
    /// template does not run on.
    [[nodiscard]] Expected<Skeleton> skeleton(const Choices& choices = {}, std::string_view target = {},
                                              CudaOptions cuda = {}) const;
    /// The same of its reference.
    [[nodiscard]] Expected<Skeleton> reference(const Choices& choices = {}, std::string_view target = {},
                                               CudaOptions cuda = {}) const;

    /// From dimensions to a launch. `multiprocessors` is of the device that will run it, for kernels whose
    /// blocks stay. Errors: Errc::dimension_invalid for a name that there is not, one that is missing, or a
    /// value that the manifest rules out; Errc::argument_invalid for no multiprocessor; those of complete()
    /// for all targets.
    [[nodiscard]] Expected<TemplateLaunch> launch(const Dimensions& dimensions, const Choices& choices = {},
                                                  std::uint32_t multiprocessors = 1) const;
    /// Of its reference, whose tensors are the kernel's but for scratch, and whose outputs are .f64.
    [[nodiscard]] Expected<TemplateLaunch> reference_launch(const Dimensions& dimensions,
                                                            const Choices& choices = {}) const;
    [[nodiscard]] Expected<TemplateTolerance> tolerance(const Dimensions& dimensions,
                                                        const Choices& choices = {}) const;

    struct Data;

  private:
    explicit Template(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

/// What try_template() tries.
struct TrialOptions {
    Dimensions dimensions = {};
    Choices choices = {};
    std::string target = {};  ///< empty: a GPU's own where the template runs there; else the template's
    std::vector<Graft> grafts = {};
    std::uint64_t seed = 1;                                   ///< of the inputs: the same numbers everywhere
    std::vector<std::string> null = {};                       ///< tensors that are null pointers
    std::map<std::string, double, std::less<>> numbers = {};  ///< for TemplateLaunch::set
    GraftOptions graft = {};
    CudaOptions cuda = {};
    bool assemble = true;       ///< for the machine code of a kernel that runs on the emulator
    std::uint32_t repeats = 0;  ///< on a GPU: launches that are timed, after one that is not
    /// In place of the template's tolerance, which is for its default stubs: one that multiplies wants more.
    std::optional<double> relative = {}, absolute = {};
};

struct Trial {
    bool is_right = false;
    /// Of the element whose error is the largest part of what is allowed there (1 and less is right).
    double worst = 0;
    std::string worst_tensor = {};  ///< the output that it is in
    std::uint64_t worst_index = 0;  ///< in that, in its memory's order
    double got = 0, wanted = 0;     ///< there
    double allowed = 0;             ///< of |got - wanted|
    double largest_error = 0;       ///< of |got - wanted|, over all elements
    std::uint64_t wrong = 0, elements = 0;
    std::uint64_t not_numbers = 0;  ///< elements where the reference has NaN
    /// Outputs of which the reference has NaN alone, so that nothing was compared: all of their elements are
    /// wrong.
    std::vector<std::string> not_compared = {};
    TemplateTolerance tolerance = {};  ///< that was used
    MachineCode machine_code =
        {};  ///< for the device's target; on the emulator too, where `assemble` says so
    std::optional<double> milliseconds = {};  ///< the median of the timed launches; of a GPU alone
};

/// Makes inputs, runs the kernel and its reference with the same stubs, and compares. Not a number is right
/// where the reference has one, but for an output that is nothing else. Errors: those of Template,
/// Skeleton::graft, Skeleton::assemble and Function::launch.
[[nodiscard]] PTXGRAFT_API Expected<Trial> try_template(const Template& from, const Device& device,
                                                        const TrialOptions& options);

}  // namespace ptxgraft
