// One variant, several assemblers.

#include "ptxgraft/measure/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"

namespace ptxgraft::measure {
namespace {

std::optional<FunctionUsage> usage_of(const Cubin& cubin, std::string_view entry) {
    for (const FunctionUsage& usage : cubin.functions)
        if (usage.is_entry && (entry.empty() || usage.name == entry)) return usage;
    return std::nullopt;
}

// On a GPU it is loaded and run; else it is assembled alone.
Expected<void> try_one(Checker& checker, const Skeleton& skeleton, const VariantCode& variant,
                       const Assembler& assembler, Assembled& result) {
    const GraftOptions options{.entry = variant.entry, .assembler = &assembler};
    if (checker.device().kind() != DeviceKind::cuda) {
        const auto code = skeleton.assemble({}, options);
        if (code)
            result.cubin = code->cubin;
        else
            result.error = code.error();
        return {};
    }
    const auto kernel = skeleton.graft({}, checker.device(), options);
    if (!kernel) {
        result.error = kernel.error();
        return {};
    }
    result.cubin = kernel->machine_code().cubin;
    result.check = TRY(checker.check(*kernel));
    return {};
}

}  // namespace

Expected<Agreement> compare_assemblers(Checker& checker, const VariantCode& variant,
                                       std::span<const Assembler* const> assemblers) {
    if (assemblers.empty()) return fail(Errc::argument_invalid, "nobody assembles");
    const Skeleton skeleton = TRY(Skeleton::from_ptx(variant.ptx));
    Agreement agreement;
    for (const Assembler* const assembler : assemblers) {
        Assembled& one = agreement.assembled.emplace_back();
        one.assembler = fmt::format("{} {}", assembler->name(), assembler->version());
        TRY(try_one(checker, skeleton, variant, *assembler, one));
        if (one.cubin) one.usage = usage_of(*one.cubin, variant.entry);
    }
    const auto& all = agreement.assembled;
    agreement.was_run = std::ranges::all_of(all, [](const Assembled& one) { return one.check.has_value(); });
    agreement.agrees = std::ranges::all_of(all, [](const Assembled& one) {
        return one.cubin && (!one.check || one.check->finding == Finding::right);
    });
    return agreement;
}

}  // namespace ptxgraft::measure
