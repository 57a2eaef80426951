// ptxgraft canonical: the canonical text of a PTX file.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::cli {
namespace {

struct CanonicalFlags {
    std::string file, output = "-";
};

void canonical(const CanonicalFlags& options) {
    const std::string file = display_name(options.file);
    const std::string text = take(read_file(options.file));
    const syntax::Module module = take(syntax::parse(text), text, file);
    take(write_file(options.output, syntax::canonical(module)));
}

}  // namespace

void add_canonical(CLI::App& app) {
    CLI::App* verb = app.add_subcommand(
        "canonical",
        "Print PTX in canonical form: a statement a line, no comments; it assembles to the same code");
    const auto options = std::make_shared<CanonicalFlags>();
    verb->add_option("FILE", options->file, "PTX file")->required();
    verb->add_option("-o,--output", options->output, "Where to write; default: standard output");
    verb->callback([options] { canonical(*options); });
}

}  // namespace ptxgraft::cli
