// Archives for tables and for other searches: records of CSV, and genomes of another space.

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "search/archive/archive_data.hpp"

namespace ptxgraft::search {
namespace {

// A record of RFC 4180.
class Record {
  public:
    Record& field(std::string_view text) {
        if (!text_.empty()) text_ += ',';
        const bool is_quoted = text.empty() || text.find_first_of(",\"\r\n") != std::string_view::npos;
        if (!is_quoted) return add(text);
        text_ += '"';
        for (const char c : text) text_.append(c == '"' ? 2 : 1, c);
        return add("\"");
    }
    Record& field(std::uint64_t number) { return field(fmt::format("{}", number)); }
    Record& field(double number) { return field(fmt::format("{}", number)); }
    [[nodiscard]] const std::string& end() {
        text_ += "\r\n";
        return text_;
    }

  private:
    Record& add(std::string_view text) {
        text_ += text;
        return *this;
    }
    std::string text_;
};

std::string header_of(const Space& space, const Options& options) {
    Record record;
    for (const char* name :
         {"index", "island", "operator", "refine", "parent", "parent2", "status", "cost", "low", "high"})
        record.field(name);
    for (const Axis& axis : options.axes) record.field("axis " + axis.name);
    for (const SiteSpace& site : space.sites) record.field("site " + site.name);
    for (const Tunable& tunable : space.tunables) record.field("tunable " + tunable.name);
    return record.field("detail").end();
}

std::string record_of(const Candidate& candidate, const Result& result, const Space& space,
                      const Options& options) {
    Record record;
    record.field(candidate.index).field(std::uint64_t{candidate.island});
    record.field(options.operators[candidate.operation].name);
    record.field(refine_names.at(static_cast<std::size_t>(candidate.refine)));
    for (const std::uint64_t parent : candidate.parents)
        parent == Candidate::no_parent ? record.field("") : record.field(parent);
    record.field(name(result.status)).field(result.cost);
    const bool is_interval = Elite::bound_of(result.cost, result.low, result.high) != result.cost;
    for (const double end : {result.low, result.high}) is_interval ? record.field(end) : record.field("");
    for (std::size_t k = 0; k < options.axes.size(); ++k)
        k < result.descriptor.size() ? record.field(result.descriptor[k]) : record.field("");
    const Genome& genome = result.genome ? *result.genome : candidate.genome;
    for (std::size_t s = 0; s < space.sites.size(); ++s)
        record.field(stack::print(genome.programs[s], space.sites[s].machine));
    for (std::size_t t = 0; t < space.tunables.size(); ++t)
        record.field(fmt::format("{}", space.tunables[t].values[genome.tunables[t]]));
    return record.field(result.detail).end();
}

// Brings genomes of one space into another, by names.
class Carrier {
  public:
    Carrier(const Space& from, const Space& to) : from_(from), to_(to) {}
    [[nodiscard]] std::optional<Genome> carry(const Genome& genome) const {
        Genome made;
        for (const SiteSpace& site : to_.sites) {
            auto program = program_of(genome, site);
            if (!program) return std::nullopt;
            made.programs.push_back(std::move(*program));
        }
        for (const Tunable& tunable : to_.tunables) {
            const auto place = place_of(genome, tunable);
            if (!place) return std::nullopt;
            made.tunables.push_back(*place);
        }
        return made;
    }

  private:
    [[nodiscard]] std::optional<stack::Program> program_of(const Genome& genome,
                                                           const SiteSpace& site) const {
        const auto at = std::ranges::find(from_.sites, site.name, &SiteSpace::name);
        if (at == from_.sites.end()) return std::nullopt;
        const auto place = static_cast<std::size_t>(at - from_.sites.begin());
        auto program = stack::parse(stack::print(genome.programs[place], at->machine), site.machine);
        if (!program || program->code.size() > site.max_genes) return std::nullopt;
        return std::move(*program);
    }
    // A tunable that there was not has its first value.
    [[nodiscard]] std::optional<std::uint32_t> place_of(const Genome& genome, const Tunable& tunable) const {
        const auto at = std::ranges::find(from_.tunables, tunable.name, &Tunable::name);
        if (at == from_.tunables.end()) return 0;
        const std::uint32_t old = genome.tunables[static_cast<std::size_t>(at - from_.tunables.begin())];
        const auto value = std::ranges::find(tunable.values, at->values[old]);
        if (value == tunable.values.end()) return std::nullopt;
        return static_cast<std::uint32_t>(value - tunable.values.begin());
    }

    const Space& from_;
    const Space& to_;
};

}  // namespace

Expected<void> Archive::export_csv(const std::function<void(std::string_view)>& record) const {
    record(header_of(data_->space, data_->options));
    return for_each([&](const Candidate& candidate, const Result& result) {
        record(record_of(candidate, result, data_->space, data_->options));
    });
}

Expected<std::vector<Genome>> Archive::genomes_for(const Space& space) const {
    const Carrier carrier(data_->space, space);
    std::vector<Genome> made;
    TRY(for_each([&](const Candidate& candidate, const Result& result) {
        const bool is_unchanged = candidate.refine != Refine::none && !result.genome;
        if (result.status != Status::ok || is_unchanged) return;
        if (auto genome = carrier.carry(result.genome ? *result.genome : candidate.genome))
            made.push_back(std::move(*genome));
    }));
    return made;
}

}  // namespace ptxgraft::search
