// ptxgraft stub: the PTX of one stub.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "skeleton_input.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

struct StubVerbFlags {
    std::string program, site, signature, output = "-";
    CudaFlags cuda;
};

struct Program {
    std::string text, file;
    bool is_ptx = false;
};

bool names_a_file(std::string_view text) {
    return text == "-" || text.ends_with(".stub") || is_ptx_file(text);
}

Program load_program(const std::string& argument) {
    if (!names_a_file(argument)) return {argument, "PROGRAM", false};
    return {take(read_file(argument)), display_name(argument), is_ptx_file(argument)};
}

template <class Target>
Stub make_stub(const Program& program, const Target& target) {
    return take(program.is_ptx ? Stub::from_ptx(program.text, target) : stack::compile(program.text, target),
                program.text, program.file);
}

Stub stub_for_site(const Program& program, const StubVerbFlags& flags) {
    const std::size_t colon = flags.site.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == flags.site.size())
        fail_usage(fmt::format("--site wants FILE:SITE, but got '{}'", flags.site));
    const Input input = load_input(flags.site.substr(0, colon), flags.cuda, CudaOptions{}.target);
    return make_stub(program, *take(input.skeleton.find_site(flags.site.substr(colon + 1)), {}, input.file));
}

Stub stub_for_signature(const Program& program, const StubVerbFlags& flags) {
    if (!flags.signature.empty())
        return make_stub(program, take(Signature::parse(flags.signature), flags.signature, "--signature"));
    Signature signature;
    if (!program.is_ptx)
        signature = take(stack::parse_file(program.text), program.text, program.file).signature;
    if (signature.operands.empty())
        fail_usage(
            "whose operands? Give --site FILE:SITE, --signature 'in f32 x, mod f32 acc', or a file with a "
            "signature line");
    return make_stub(program, signature);
}

void print_stub(const StubVerbFlags& flags) {
    const Program program = load_program(flags.program);
    const Stub stub = flags.site.empty() ? stub_for_signature(program, flags) : stub_for_site(program, flags);
    take(write_file(flags.output, stub.ptx()));
}

}  // namespace

void add_stub(CLI::App& app) {
    CLI::App* verb =
        app.add_subcommand("stub", "Compile a stack program, or check hand-written PTX, and print the stub");
    const auto flags = std::make_shared<StubVerbFlags>();
    verb->add_option("PROGRAM", flags->program,
                     "Stack program, a .stub file, or a .ptx file with hand-written PTX")
        ->required();
    auto* site = verb->add_option("--site", flags->site, "FILE:SITE, the site that it is for");
    verb->add_option("--signature", flags->signature, "Operands, such as 'in f32 x, mod f32 acc'")
        ->excludes(site);
    verb->add_option("-o,--output", flags->output, "File (default: standard output)");
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { print_stub(*flags); });
}

}  // namespace ptxgraft::cli
