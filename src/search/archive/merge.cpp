// Archives become one: the candidates of all searches, each once.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/try.hpp"
#include "search/archive/archive_data.hpp"
#include "search/archive/bytes.hpp"
#include "search/archive/measurements.hpp"
#include "search/archive/new_file.hpp"
#include "search/archive/options_text.hpp"
#include "search/random.hpp"

namespace ptxgraft::search {
namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// Candidates with equal keys were judged alike: of refinements what was made counts as well. What was
// measured or guessed may differ between searches; then each is there.
struct RowKey {
    std::uint64_t structure = 0, constants = 0, refine = 0, made = 0, found = 0;
    friend bool operator==(const RowKey&, const RowKey&) = default;
};
struct HashRowKey {
    std::size_t operator()(const RowKey& key) const {
        return mixed(mixed(mixed(mixed(key.structure, key.constants), key.refine), key.made), key.found);
    }
};
RowKey key_of(const Candidate& candidate, const Result& result) {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value + 0.0); };  // no -0
    const double bound = Elite::bound_of(result.cost, result.low, result.high);
    return {candidate.key.structure, candidate.key.constants, static_cast<std::uint64_t>(candidate.refine),
            result.genome ? hash_of(bytes_of(*result.genome)) : 0,
            mixed(mixed(static_cast<std::uint64_t>(result.status), bits(result.cost)), bits(bound))};
}

// A search, in an archive of its own or in a collection.
struct Part {
    std::size_t archive = 0;  // the place among those that are merged
    StoredSource source;      // as it stands there
    BlockCounts counts;
    std::uint64_t measured = 0;  // measurements of its candidates
    [[nodiscard]] bool has(std::uint64_t index) const { return index - source.first < source.count; }
};
auto order_of(const Part& part) {
    return std::tuple(std::string_view(part.source.options), ~part.source.count, part.source.digest,
                      std::string_view(part.source.task));
}

class Merge {
  public:
    Merge(const std::vector<Archive::Data*>& archives, const std::vector<Measurements>& times,
          std::vector<Part> parts)
        : archives_(archives), times_(times), parts_(std::move(parts)), places_(archives.size()) {}

    // Of the first search, with the operators of all.
    [[nodiscard]] Expected<Options> options() const {
        Options made = TRY(options_of(parts_.front().source.options));
        made.task = parts_.front().source.task;
        for (const Part& part : parts_) {
            const Options of = TRY(options_of(part.source.options));
            for (const Operator& op : of.operators)
                if (std::ranges::find(made.operators, op.name, &Operator::name) == made.operators.end())
                    made.operators.push_back({op.name, 0});
        }
        return made;
    }
    Expected<void> run(Store& out, const Options& options) {
        std::uint64_t first = 0;
        std::uint64_t place = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            TRY(add(parts_[p], first, options, out));
            // A search that was there already: all of it was left out, and only its children's parents found.
            if (p != 0 && order_of(parts_[p]) == order_of(parts_[p - 1])) continue;
            parts_[p].counts.block = place++;
            TRY(out.add(parts_[p].counts));
            StoredSource source = parts_[p].source;
            source.first = std::exchange(first, first + source.count);
            TRY(out.add(source));
            add_times(parts_[p]);
        }
        if (!measured_.sessions.empty()) TRY(write_measurements(out.database(), measured_));
        return out.flush();
    }

  private:
    // What no search before has; a search's own equals stay.
    Expected<void> add(Part& part, std::uint64_t first, const Options& options, Store& out) {
        Archive::Data& from = *archives_[part.archive];
        auto& places = places_[part.archive];
        std::vector<std::pair<RowKey, std::uint64_t>> added;
        const std::vector<std::uint16_t> operators = operators_in(from.options, options);
        part.counts.candidates = 0;
        TRY(from.store.for_each(part.source.first, part.source.count,
                                [&](Candidate&& candidate, Result&& result) -> Expected<void> {
                                    const RowKey key = key_of(candidate, result);
                                    const std::uint64_t old = candidate.index;
                                    if (const auto found = known_.find(key); found != known_.end()) {
                                        places[old] = found->second;
                                        return {};
                                    }
                                    candidate.index = result.index = old - part.source.first + first;
                                    if (candidate.operation >= operators.size())
                                        return fail(Errc::archive_malformed, "an operator is none");
                                    candidate.operation = operators[candidate.operation];
                                    for (std::uint64_t& parent : candidate.parents)
                                        if (const auto at = places.find(parent); at != places.end())
                                            parent = at->second;
                                    places[old] = candidate.index;
                                    added.emplace_back(key, candidate.index);
                                    ++part.counts.candidates;
                                    return out.add(candidate, result);
                                }));
        for (const auto& [key, index] : added) known_.try_emplace(key, index);
        return {};
    }
    // What was measured of a search's candidates, in the order of the old numbers.
    void add_times(const Part& part) {
        const Measurements& from = times_[part.archive];
        const auto& places = places_[part.archive];
        std::map<std::uint64_t, std::uint64_t> sessions, batches;  // old to new number
        const auto is_kept = [&](const Measurement& one) {
            return part.has(one.candidate) && places.contains(one.candidate);
        };
        for (const Measurement& one : from.measurements)
            if (is_kept(one)) batches[one.batch] = 0;
        for (const MeasuredBatch& batch : from.batches)
            if (batches.contains(batch.id)) sessions[batch.session] = 0;
        for (const MeasuredSession& session : from.sessions) {
            if (!sessions.contains(session.id)) continue;
            measured_.sessions.push_back(session);
            measured_.sessions.back().id = sessions[session.id] = measured_.sessions.size();
        }
        for (const MeasuredBatch& batch : from.batches) {
            if (!batches.contains(batch.id)) continue;
            measured_.batches.push_back(batch);
            measured_.batches.back().id = batches[batch.id] = measured_.batches.size();
            measured_.batches.back().session = sessions[batch.session];
        }
        for (const Measurement& one : from.measurements) {
            if (!is_kept(one)) continue;
            measured_.measurements.push_back(one);
            measured_.measurements.back().candidate = places.at(one.candidate);
            measured_.measurements.back().batch = batches[one.batch];
        }
    }
    static std::vector<std::uint16_t> operators_in(const Options& from, const Options& to) {
        std::vector<std::uint16_t> made;
        for (const Operator& op : from.operators)
            made.push_back(static_cast<std::uint16_t>(
                std::ranges::find(to.operators, op.name, &Operator::name) - to.operators.begin()));
        return made;
    }

    const std::vector<Archive::Data*>& archives_;
    const std::vector<Measurements>& times_;  // of each archive
    std::vector<Part> parts_;
    Measurements measured_;  // of all
    std::vector<std::unordered_map<std::uint64_t, std::uint64_t>>
        places_;  // of each archive: old to new index
    std::unordered_map<RowKey, std::uint64_t, HashRowKey> known_;
};

// The one search of an archive that is no collection.
Expected<Part> whole(const Archive& archive, std::size_t place, const std::vector<BlockCounts>& blocks) {
    Part part{.archive = place, .source = {}, .counts = {}};
    part.source.options = text_of(archive.options());
    part.source.task = archive.options().task;
    TRY(archive.for_each(
        [&](const Candidate& candidate, const Result&) { part.source.count = candidate.index + 1; }));
    TRY(archive.export_json([&](std::string_view line) {
        part.source.digest = XXH3_64bits_withSeed(line.data(), line.size(), part.source.digest);
    }));
    for (const BlockCounts& block : blocks) {
        part.counts.drawn += block.drawn;
        part.counts.duplicates += block.duplicates;
    }
    return part;
}

}  // namespace

Expected<void> merge(std::span<const std::string> paths, const std::string& out) {
    if (paths.empty()) return fail(Errc::argument_invalid, "no archive is to be merged");
    if (std::filesystem::exists(out)) return fail(Errc::archive_failed, out + " exists");
    std::vector<Archive> archives;
    std::vector<Archive::Data*> data;
    std::vector<Measurements> times;
    std::vector<Part> parts;
    for (const std::string& path : paths) {
        archives.push_back(TRY(Archive::open(path)));
        data.push_back(archives.back().data_.get());
        TRY(check_comparable(archives.front(), archives.back(), path));
        const std::size_t place = archives.size() - 1;
        const auto blocks = TRY(data.back()->store.blocks());
        const auto& sources = data.back()->stored;
        for (std::size_t k = 0; k < sources.size(); ++k)
            parts.push_back({place, sources[k], k < blocks.size() ? blocks[k] : BlockCounts{}});
        if (sources.empty()) parts.push_back(TRY(whole(archives.back(), place, blocks)));
        times.push_back(TRY(archives.back().measurements()));
    }
    for (Part& part : parts)
        part.measured = static_cast<std::uint64_t>(
            std::ranges::count_if(times[part.archive].measurements,
                                  [&](const Measurement& one) { return part.has(one.candidate); }));
    // of a search that is there twice, once before its best were confirmed, the one with more measurements
    std::ranges::stable_sort(parts, {}, [](const Part& part) {
        return std::tuple_cat(order_of(part), std::tuple(~part.measured));
    });
    Merge all(data, times, std::move(parts));
    const Options options = TRY(all.options());
    NewFile file(out);
    {
        Store store = TRY(Store::create(file.name(), archives.front().space(), options));
        TRY(all.run(store, options));
    }
    return file.keep();
}

}  // namespace ptxgraft::search
