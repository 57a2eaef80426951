// Measures how many values a stub may keep alive: a ladder of stubs for each site, one rung of all sites at a
// time.

#include "ptxgraft/spare_registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "ptxgraft/static_cost.hpp"

namespace ptxgraft {
namespace {

enum class Kind { floats, integers };
constexpr std::array kinds = {Kind::floats, Kind::integers};
constexpr std::uint32_t most_values = 256;

std::vector<std::string> registers_of(const SiteOperand& operand) {
    if (operand.count == 0) return {operand.register_name};
    std::vector<std::string> names;
    for (unsigned i = 0; i < operand.count; ++i)
        names.push_back(fmt::format("{}{}", operand.register_name, i));
    return names;
}

// An operand's value as 32 bits, in `word`.
std::string as_word(const std::string& word, Type type, const std::string& from) {
    if (type == Type::pred) return fmt::format("selp.b32 {}, 1, 0, {};\n", word, from);
    if (bits(type) == 16) return fmt::format("cvt.u32.u16 {}, {};\n", word, from);
    if (bits(type) == 64) return fmt::format("mov.b64 {{{}, kept_upper}}, {};\n", word, from);
    return fmt::format("mov.b32 {}, {};\n", word, from);
}
// And back.
std::string from_word(const std::string& to, Type type, const std::string& word) {
    if (type == Type::pred) return fmt::format("setp.ne.u32 {}, {}, 0;\n", to, word);
    if (bits(type) == 16) return fmt::format("cvt.u16.u32 {}, {};\n", to, word);
    if (bits(type) == 64) return fmt::format("mov.b64 {}, {{{}, {}}};\n", to, word, word);
    return fmt::format("mov.b32 {}, {};\n", to, word);
}

// What a stub computes with: the registers of its kind, else a number made of the first one of another kind.
struct Sources {
    std::vector<std::string> registers;
    std::string text;
};
Sources sources_of(const Signature& signature, Kind kind) {
    const auto is_of_kind = [&](Type type) {
        return bits(type) == 32 && (type == Type::f32) == (kind == Kind::floats);
    };
    Sources sources;
    const SiteOperand* other = nullptr;
    for (const SiteOperand& operand : signature.operands) {
        if (operand.direction == Direction::out) continue;
        if (!is_of_kind(operand.type)) {
            if (other == nullptr) other = &operand;
            continue;
        }
        std::ranges::move(registers_of(operand), std::back_inserter(sources.registers));
    }
    if (!sources.registers.empty()) return sources;
    sources.text = other == nullptr ? "mov.u32 kept_word, %tid.x;\n"
                                    : as_word("kept_word", other->type, registers_of(*other).front());
    sources.text +=
        kind == Kind::floats ? "cvt.rn.f32.u32 kept_only, kept_word;\n" : "mov.b32 kept_only, kept_word;\n";
    sources.registers.emplace_back("kept_only");
    return sources;
}

// So many values, each made of the one before it and of an operand, and then added up from the last one on. A
// factor is a part of its instruction, so that no register has it.
std::string stub_with(std::uint32_t values, Kind kind, const Signature& signature) {
    const bool is_f32 = kind == Kind::floats;
    const auto [sources, made] = sources_of(signature, kind);
    std::string text = fmt::format(".reg .{} kept<{}>, kept_only;\n.reg .b32 kept_word, kept_upper;\n",
                                   is_f32 ? "f32" : "b32", values);
    text += made;
    const auto add = [&](std::uint32_t to, const std::string& what, const std::string& term) {
        text += is_f32 ? fmt::format("fma.rn.f32 kept{}, {}, 0f3F{:02X}0001, {};\n", to, what, to, term)
                       : fmt::format("mad.lo.u32 kept{}, {}, 0x3F{:02X}0001, {};\n", to, what, to, term);
    };
    add(0, sources[0], sources[0]);
    for (std::uint32_t i = 1; i < values; ++i)
        add(i, fmt::format("kept{}", i - 1), sources[i % sources.size()]);
    for (std::uint32_t i = values - 1; i-- > 0;)
        add(i, fmt::format("kept{}", i + 1), fmt::format("kept{}", i));
    text += "mov.b32 kept_word, kept0;\n";
    for (const SiteOperand& operand : signature.operands)
        if (operand.direction != Direction::in)
            for (const std::string& result : registers_of(operand))
                text += from_word(result, operand.type, "kept_word");
    return text;
}

// A site on its way: `fit` values do, `beyond` do not, or are more than are tried.
struct Climb {
    const Site* site;
    std::uint32_t fit = 0, beyond;
    std::string loss = {};
    std::uint32_t rung;

    [[nodiscard]] bool is_done() const { return beyond - fit <= 1; }
    // Rungs double until one is too high, and then halve what is between.
    void go_on(std::string lost, std::uint32_t most) {
        if (lost.empty())
            fit = rung;
        else
            beyond = rung, loss = std::move(lost);
        rung = beyond > most ? std::min(2 * rung, most) : (fit + beyond) / 2;
    }
};

class Measurer {
  public:
    Measurer(const Skeleton& skeleton, const SpareRegistersOptions& options)
        : skeleton_(skeleton), options_(options) {}

    Expected<std::vector<SpareRegisters>> run() {
        if (options_.most == 0 || options_.most > most_values)
            return fail(Errc::argument_invalid,
                        fmt::format("{} values, not 1 to {}", options_.most, most_values));
        std::vector<Climb> climbs = TRY(begin());
        const MachineCode own = TRY(skeleton_.assemble({}, options_.graft));
        own_ = TRY(usage_of(own));
        while (std::ranges::any_of(climbs, [](const Climb& climb) { return !climb.is_done(); }))
            TRY(try_rungs(climbs));
        std::vector<SpareRegisters> all;
        all.reserve(climbs.size());
        for (Climb& climb : climbs) all.push_back({climb.site->name, climb.fit, std::move(climb.loss)});
        return all;
    }

  private:
    struct Usage {
        std::uint32_t spilled = 0, blocks = 0;
    };

    Expected<std::vector<Climb>> begin() const {
        for (const std::string& name : options_.sites) TRY(skeleton_.find_site(name));
        std::vector<Climb> climbs;
        for (const Site& site : skeleton_.sites().sites)
            if (options_.sites.empty() ||
                std::ranges::find(options_.sites, site.name) != options_.sites.end())
                climbs.push_back({.site = &site,
                                  .beyond = options_.most + 1,
                                  .rung = std::clamp(options_.first, 1u, options_.most)});
        return climbs;
    }
    Expected<Usage> usage_of(const MachineCode& code) const {
        const StaticCost cost =
            TRY(static_cost(*code.cubin, {.entry = options_.graft.entry,
                                          .threads_per_block = options_.threads_per_block,
                                          .dynamic_shared_bytes = options_.dynamic_shared_bytes,
                                          .disassemble = false}));
        return Usage{cost.spill_store_bytes + cost.spill_load_bytes,
                     cost.occupancy ? cost.occupancy->blocks : 0};
    }
    // Empty where there is none.
    Expected<std::string> loss_of(const Expected<MachineCode>& code) const {
        if (!code && code.error().code == Errc::performance_loss) return message(code.error());
        if (!code) return tl::unexpected(code.error());
        const Usage usage = TRY(usage_of(*code));
        if (usage.spilled > own_.spilled)
            return fmt::format("{} bytes of spills", usage.spilled - own_.spilled);
        if (usage.blocks < own_.blocks)
            return fmt::format("{} blocks of a multiprocessor, not {}", usage.blocks, own_.blocks);
        return std::string();
    }
    Expected<void> try_rungs(std::vector<Climb>& climbs) const {
        std::vector<std::vector<Graft>> candidates;
        for (const Climb& climb : climbs) {
            if (climb.is_done()) continue;
            for (const Kind kind : kinds) {
                const std::string text = stub_with(climb.rung, kind, climb.site->signature);
                const Stub stub = TRY(Stub::from_ptx(text, *climb.site));
                candidates.push_back({Graft(climb.site->name, stub)});
            }
        }
        const auto codes = skeleton_.assemble_many(candidates, options_.graft, options_.many);
        std::size_t next = 0;
        for (Climb& climb : climbs) {
            if (climb.is_done()) continue;
            std::string loss;
            for ([[maybe_unused]] const Kind kind : kinds) {
                std::string one = TRY(loss_of(codes[next++]));
                if (loss.empty()) loss = std::move(one);
            }
            climb.go_on(std::move(loss), options_.most);
        }
        return {};
    }

    const Skeleton& skeleton_;
    const SpareRegistersOptions& options_;
    Usage own_;
};

}  // namespace

Expected<std::vector<SpareRegisters>> measure_spare_registers(const Skeleton& skeleton,
                                                              const SpareRegistersOptions& options) {
    return Measurer(skeleton, options).run();
}

}  // namespace ptxgraft
