// Text to stub in one call.

#include "base/try.hpp"
#include "ptxgraft/stack.hpp"
#include "stub/builder.hpp"
#include "stub/stack/compile/run.hpp"
#include "stub/stack/machines.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

// One per thread (stack.hpp says what it keeps): compiles after the first allocate no more than the stub that
// they return.
struct TextWorkspace {
    Compiler compiler;
    Reader reader;
    Program program;
    std::vector<Span> places;
    MachineCache machines;
};

TextWorkspace& workspace() {
    thread_local TextWorkspace work;
    return work;
}

Expected<Stub> make_stub(Compiler& compiler, ProgramView program, const Machine& machine,
                         const CompileOptions& options) {
    const auto compiled = TRY(compiler.compile(program, machine, options));
    return StubBuilder::make(compiled, machine.signature());
}

// An `out` is missed at the end of the program: point at the last token.
Span place_of(const Error& error, const std::vector<Span>& places, std::size_t text_size) {
    if (error.index < places.size()) return places[error.index];
    return places.empty() ? Span{0, static_cast<std::uint32_t>(text_size)} : places.back();
}

std::shared_ptr<const InstructionSet> standard_set() {
    static const std::shared_ptr<const InstructionSet> set = find_set("standard");
    return set;
}

// Where a fault stands in the text: in a routine at its own line; nowhere in one that was imported.
Span place_of(const Fault& fault, const TextWorkspace& work, std::size_t text_size) {
    return fault.routine != Fault::program ? work.reader.place_in_routine(fault.routine, fault.at)
                                           : place_of(fault.error, work.places, text_size);
}

Expected<Stub> compile_program(std::string_view text, const Machine& machine, const CompileOptions& options) {
    TextWorkspace& work = workspace();
    TRY(work.reader.read(text, machine, work.program, work.places));
    auto stub = make_stub(work.compiler, work.program, machine, options);
    if (stub) return stub;
    Error error = stub.error();
    error.span = place_of(error, work.places, text.size());
    if (options.missing == Missing::skip || work.program.routines.empty())
        return tl::unexpected(std::move(error));
    const std::vector<Fault> faults = find_faults(work.program, machine, options);
    const Span inner = faults.empty() || faults.front().error.code != error.code
                           ? Span{}
                           : place_of(faults.front(), work, text.size());
    if (inner.known()) error.span = inner;
    return tl::unexpected(std::move(error));
}

// The machine of a text, and where its program begins.
struct TextMachine {
    const Machine* machine;
    std::uint32_t program_offset;
};

Expected<TextMachine> machine_of(std::string_view text, const Signature& signature,
                                 const TextOptions& options, Policy policy) {
    const auto file = TRY(parse_file(text));
    MachineOptions machine_options{policy, options.target, 0};
    if (file.program_offset != 0) {
        TRY(check_fit(file, signature, policy, signature_line(text)));
        machine_options.policy.allowed = file.policy.allowed;
    }
    const auto machine = TRY(
        workspace().machines.find(options.set ? options.set : standard_set(), signature, machine_options));
    return TextMachine{machine, file.program_offset};
}

}  // namespace

Expected<Program> parse(std::string_view text, const Machine& machine) {
    Program program;
    TextWorkspace& work = workspace();
    TRY(work.reader.read(text, machine, program, work.places));
    return program;
}

Expected<Stub> compile(std::string_view text, const Signature& signature, const TextOptions& options,
                       Policy policy) {
    const auto found = TRY(machine_of(text, signature, options, policy));
    auto stub = compile_program(text.substr(found.program_offset), *found.machine, options.compile);
    return stub ? std::move(stub) : tl::unexpected(shifted(stub.error(), found.program_offset));
}

std::vector<Error> find_missing(std::string_view text, const Signature& signature, const TextOptions& options,
                                Policy policy) {
    const auto found = machine_of(text, signature, options, policy);
    if (!found) return {};
    TextWorkspace& work = workspace();
    const std::string_view program = text.substr(found->program_offset);
    if (!work.reader.read(program, *found->machine, work.program, work.places)) return {};
    CompileOptions compile = options.compile;
    compile.missing = Missing::skip;
    std::vector<Error> errors;
    for (Fault& fault : find_faults(work.program, *found->machine, compile)) {
        fault.error.span = place_of(fault, work, program.size());
        errors.push_back(shifted(std::move(fault.error), found->program_offset));
    }
    return errors;
}

Expected<Stub> compile(std::string_view text, const Site& site, const TextOptions& options) {
    return compile(text, site.signature, options, site.policy);
}

Expected<Stub> make_stub(ProgramView program, const Machine& machine, const CompileOptions& options) {
    return make_stub(workspace().compiler, program, machine, options);
}

}  // namespace ptxgraft::stack
