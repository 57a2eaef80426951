#include "link/assembler.hpp"

#include "link/assembler_log.hpp"
#include "link/cubin.hpp"

namespace ptxgraft {

namespace link {

Expected<std::string> assembly_target(const ModuleFacts& facts, const AssembleOptions& options) {
    std::string target = options.target.empty() ? std::string(facts.target) : options.target;
    if (target.empty())
        return fail(Errc::target_unknown, "(the module has no .target sm_NN, and the options name none)");
    if (target.find('\0') != std::string::npos)
        return fail(Errc::target_unknown, "(it contains a zero byte)");
    return target;
}

tl::unexpected<Error> assembly_error(std::string log, std::string_view ptx) {
    const Span span = first_error_span(log, ptx);
    return fail(Errc::assemble_failed, span, std::move(log));
}

Expected<Cubin> finish(Cubin cubin, const AssembleOptions& options) {
    cubin.functions = parse_usage(cubin.log);
    if (is_whole_cubin(cubin.image)) complete_usage(cubin.image, cubin.functions);
    cubin.losses = parse_losses(cubin.log);
    if (cubin.losses.empty() || options.allow_performance_loss) return cubin;
    std::string all;
    for (const auto& loss : cubin.losses)
        all += (all.empty() ? "C" : "\nC") + std::to_string(loss.code) + " " + loss.message;
    return fail(Errc::performance_loss, std::move(all));
}

}  // namespace link

// Here, and not in the header: where it is, the type information is too.
Assembler::~Assembler() = default;

const Assembler& default_assembler() {
    const Assembler* first = nvptxcompiler();
    return first ? *first : *nvjitlink();
}

}  // namespace ptxgraft
