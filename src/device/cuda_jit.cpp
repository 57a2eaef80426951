// The GPU driver's own assembler.

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda_entry.hpp"
#include "link/assembler.hpp"
#include "link/module_text.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft::device {
namespace {

using driver::Driver;
using driver::JitOption;
using driver::Result;

/// Options of the driver: each a number, in the bits of a pointer, or an address.
class JitOptions {
  public:
    void add(JitOption option, std::uintptr_t number) { add(option, reinterpret_cast<void*>(number)); }
    void add(JitOption option, void* address) {
        options_.push_back(option);
        values_.push_back(address);
    }
    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(options_.size()); }
    [[nodiscard]] JitOption* options() { return options_.data(); }
    [[nodiscard]] void** values() { return values_.data(); }

  private:
    std::vector<JitOption> options_;
    std::vector<void*> values_;
};

// CUjit_target
std::uintptr_t number_of(const Architecture& target) {
    return target.sm + (target.variant == 'a'   ? driver::accelerated_target
                        : target.variant == 'f' ? driver::family_target
                                                : 0u);
}

class CudaJit final : public Assembler {
  public:
    CudaJit(std::shared_ptr<const CudaContext> context, Architecture architecture)
        : context_(std::move(context)), architecture_(architecture) {}

    [[nodiscard]] std::string_view name() const override { return "driver"; }
    [[nodiscard]] std::string version() const override { return version_text(context_->driver()); }
    [[nodiscard]] Expected<Cubin> assemble(std::string_view ptx,
                                           const AssembleOptions& options) const override {
        const auto assembly = TRY(link::begin_assembly(ptx, options));
        TRY(check(options));
        if (const Span loss = link::relocatable_loss(ptx); loss.known())
            return fail(Errc::module_refused, loss,
                        "the driver assembles as relocatable, which drops setmaxnreg and serialises wgmma; "
                        "nvptxcompiler does not");
        Architecture target = architecture_;
        if (!options.target.empty()) target = TRY(parse_architecture(options.target));
        auto cubin = TRY(link_one(std::string(ptx), target, options));
        return link::finish(std::move(cubin), options, *this, assembly);
    }

  private:
    [[nodiscard]] static Expected<void> check(const AssembleOptions& options) {
        if (options.relocatable)
            return fail(Errc::assembler_not_usable,
                        std::string("the driver gives no relocatable cubin; nvptxcompiler and ptxas do"));
        if (options.options.empty()) return {};
        return fail(Errc::assembler_not_usable,
                    fmt::format("the driver takes no options of ptxas ({}); nvptxcompiler and ptxas do",
                                options.options.front()));
    }

    // `ptx` ends in a zero byte, as the driver wants it.
    [[nodiscard]] Expected<Cubin> link_one(std::string ptx, const Architecture& target,
                                           const AssembleOptions& options) const {
        constexpr std::size_t log_bytes = 256 * 1024;
        std::string info(log_bytes, '\0'), errors(log_bytes, '\0');
        JitOptions jit;
        jit.add(JitOption::info_log_buffer, info.data());
        jit.add(JitOption::info_log_buffer_size_bytes, log_bytes);
        jit.add(JitOption::error_log_buffer, errors.data());
        jit.add(JitOption::error_log_buffer_size_bytes, log_bytes);
        jit.add(JitOption::log_verbose, 1);
        jit.add(JitOption::target, number_of(target));
        jit.add(JitOption::optimization_level, static_cast<std::uintptr_t>(options.optimisation));
        if (options.max_registers != 0) jit.add(JitOption::max_registers, options.max_registers);
        if (options.line_info) jit.add(JitOption::generate_line_info, 1);

        Cubin cubin;
        const Result result =
            context_->run([&](const Driver& driver) { return run(driver, ptx, jit, cubin.image); });
        if (result == Result::success) {
            cubin.log = info.c_str();
            return cubin;
        }
        if (errors[0] != '\0' && !driver::loses_context(result))
            return link::assembly_error(errors.c_str(), ptx);
        return tl::unexpected(context_->check(result, "cuLink", Errc::assemble_failed).error());
    }

    // The cubin is the linker's: it is copied before that goes.
    static Result run(const Driver& driver, std::string& ptx, JitOptions& jit,
                      std::vector<std::byte>& image) {
        driver::LinkState linker = nullptr;
        Result result = driver.cuLinkCreate_v2(jit.count(), jit.options(), jit.values(), &linker);
        if (result != Result::success) return result;
        result = driver.cuLinkAddData_v2(linker, driver::JitInput::ptx, ptx.data(), ptx.size() + 1, "ptx", 0,
                                         nullptr, nullptr);
        void* cubin = nullptr;
        std::size_t bytes = 0;
        if (result == Result::success) result = driver.cuLinkComplete(linker, &cubin, &bytes);
        if (result == Result::success) {
            const auto* first = static_cast<const std::byte*>(cubin);
            image.assign(first, first + bytes);
        }
        driver.cuLinkDestroy(linker);
        return result;
    }

    std::shared_ptr<const CudaContext> context_;
    Architecture architecture_;
};

}  // namespace

std::shared_ptr<const Assembler> cuda_jit(std::shared_ptr<const CudaContext> context,
                                          Architecture architecture) {
    return std::make_shared<CudaJit>(std::move(context), architecture);
}

}  // namespace ptxgraft::device
