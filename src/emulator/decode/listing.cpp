// A decoded module as text: `ptxgraft dump --decoded`.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"
#include "ptxgraft/emulator_decoded.hpp"

namespace ptxgraft {
namespace {

using namespace emulator;

std::string_view name_of(Table table) {
    constexpr std::string_view names[] = {"other", "memory", "collective", "barrier", "matrix"};
    return names[static_cast<std::size_t>(table)];
}

std::string_view name_of(Undefined undefined) {
    constexpr std::string_view names[] = {"spreads", "moves",   "bits",   "halves",  "packs",
                                          "joins",   "inserts", "splits", "carries", "refused"};
    return names[static_cast<std::size_t>(undefined)];
}

std::string_view name_of(Semantics semantics) {
    constexpr std::string_view names[] = {"weak", "relaxed", "acquire", "release", "acq_rel"};
    return names[static_cast<std::size_t>(semantics)];
}

class Listing {
  public:
    Listing(const Program& program, const std::vector<TableEntry>& entries, std::string_view text)
        : program_(program), entries_(entries), text_(text) {}

    std::string run() {
        for (const Function& function : program_.functions)
            if (function.has_code) list(function);
        return std::move(out_);
    }

  private:
    template <class... Args> void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }

    void list(const Function& function) {
        function_ = &function;
        put("{} {}: {} operations, {} bytes of registers for a warp, {} of local memory for a thread\n",
            function.is_entry ? "entry" : "func", function.name, function.end.code - function.begin,
            function.register_bytes, function.local_bytes);
        Span last;
        for (std::uint32_t pc = function.begin; pc < function.end.code; ++pc) {
            if (const Span span = program_.spans[pc]; !(span == last)) instruction(last = span);
            operation(pc);
        }
    }

    void instruction(Span span) {
        if (span.begin < at_) at_ = 0, line_ = 1;  // functions stand before entries
        line_ += static_cast<std::size_t>(std::count(text_.begin() + at_, text_.begin() + span.begin, '\n'));
        at_ = span.begin;
        put("{}: {}\n", line_, text_.substr(span.begin, span.end - span.begin));
    }

    void operation(std::uint32_t pc) {
        const Operation& o = program_.code[pc];
        put("    {:>4} {}", pc, o.function != nullptr ? "pure" : name_of(entries_[pc].table));
        if (o.guard != no_ref) put("  @{}{}", o.guard_negated ? "!" : "", operand(o.guard));
        if (o.outputs != 0 || o.inputs != 0) put("  ");
        for (std::uint32_t i = 0; i < o.outputs; ++i)
            put("{}{}", i == 0 ? "" : ", ", operand(program_.refs[o.operands + i]));
        if (o.outputs != 0 && o.inputs != 0) put(" <- ");
        for (std::uint32_t i = 0; i < o.inputs; ++i)
            put("{}{}", i == 0 ? "" : ", ", operand(program_.refs[o.operands + o.outputs + i]));
        if (entries_[pc].table == Table::accesses) access(program_.accesses[entries_[pc].index]);
        if (o.function != nullptr) put("  definedness: {}", name_of(o.undefined));
        if (o.is_micro_op) put("  micro-op");
        if (o.run > 1) put("  straight run: {}", o.run);
        if (o.row > 1) put("  fused row: {}", o.row);
        put("\n");
    }

    void access(const Access& a) {
        put("  [{}{} + {}], {} x {} bytes, {}", a.frame_relative ? "frame " : "", name(a.space), a.offset,
            a.count, a.bytes, name_of(a.semantics));
        if (a.used != ~0u) put(", used {:#x}", a.used);
        if (a.is_strong()) put(" .{}", a.reach == Reach::cta ? "cta" : "cluster");
    }

    [[nodiscard]] std::string operand(Ref ref) const {
        if (ref == no_ref) return "-";
        if ((ref & ~(constant_bank - 1)) == constant_bank) return constant(ref);
        if (!is_register(ref)) return fmt::format("special{}", offset(ref) / lane_count);
        const auto found =
            std::ranges::find_if(function_->names, [&](const RegisterName& n) { return n.ref == ref; });
        if (found != function_->names.end()) return std::string(found->name(text_));
        return fmt::format("t{}", offset(ref) / lane_count);
    }

    [[nodiscard]] std::string constant(Ref ref) const {
        const std::byte* const column = program_.constants[0].bytes.data() + offset(ref);
        std::uint64_t bits = 0;
        std::memcpy(&bits, column, std::min<std::size_t>(width(ref), sizeof bits));
        return fmt::format("{:#x}", bits);
    }

    const Program& program_;
    const std::vector<TableEntry>& entries_;  // of each operation
    std::string_view text_;
    const Function* function_ = nullptr;
    std::string out_;
    std::uint32_t at_ = 0;  // of the last instruction, on line_
    std::size_t line_ = 1;
};

}  // namespace

Expected<std::string> decoded_listing(std::string_view ptx) {
    const auto tree = TRY(syntax::parse(std::string(ptx)));
    constexpr std::uint64_t most_variables = std::uint64_t{1} << 32;
    ModuleVariables variables(std::make_shared<Memory>(most_variables, false));
    DecoderMemory kept;
    kept.shapes.often = ~std::uint32_t{0};  // each instruction by itself
    std::vector<TableEntry> entries;
    ModuleDecoder decoder(tree, variables, kept);
    decoder.entries = &entries;
    const auto program = TRY(decoder.decode());
    return Listing(program, entries, tree.source()).run();
}

}  // namespace ptxgraft
