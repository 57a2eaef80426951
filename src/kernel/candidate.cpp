// Candidates: which stub goes to which site by which route, and their text.
#include "kernel/candidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/try.hpp"
#include "kernel/banks.hpp"

namespace ptxgraft {
namespace kernel {
namespace {

std::string site_list(const Sites& sites) {
    if (sites.sites.empty()) return "the skeleton has none";
    std::string text = "the skeleton has ";
    for (const Site& site : sites.sites)
        text += fmt::format("{}{}", &site == sites.sites.data() ? "" : ", ", site.name);
    return text;
}

tl::unexpected<Error> at(std::size_t index, tl::unexpected<Error> error) {
    error.value().index = static_cast<std::uint32_t>(index);
    return error;
}

tl::unexpected<Error> does_not_fit(const Site& site, const Stub& stub, const Error& why) {
    return fail(Errc::stub_signature_mismatch,
                fmt::format("site {} ({}), stub ({}): {}", site.name, site.signature.text(),
                            stub.signature().text(), message(why)));
}

// The sites that stubs fill, which they fit.
Expected<std::vector<const Site*>> filled_sites(const Sites& all, std::span<const Graft> grafts) {
    std::vector<const Site*> sites;
    sites.reserve(grafts.size());
    std::unordered_set<std::string_view> filled;
    for (std::size_t i = 0; i < grafts.size(); ++i) {
        const Graft& graft = grafts[i];
        const Site* const found = all.find(graft.site);
        if (found == nullptr) return at(i, unknown_site(graft.site, all));
        if (!filled.insert(graft.site).second)
            return at(i, fail(Errc::site_filled_twice, std::string(graft.site)));
        if (auto fits = graft.stub.check(*found); !fits)
            return at(i, does_not_fit(*found, graft.stub, fits.error()));
        sites.push_back(found);
    }
    return sites;
}

std::string with_pieces(const std::string& ptx, const std::vector<Piece>& pieces) {
    std::string text;
    std::size_t at = 0;
    for (const Piece& piece : pieces) {
        text.append(ptx, at, piece.replaced.begin - at).append(piece.text);
        at = piece.replaced.end;
    }
    return text.append(ptx, at);
}

std::string render_stubs(const Skeleton::Data& skeleton, const Candidate& candidate, LinkedAs linked) {
    if (candidate.plan != nullptr) return with_pieces(skeleton.ptx, pieces_of(candidate, linked));
    std::vector<Replacement> replacements;
    replacements.reserve(candidate.filled.size());
    for (const RoutePlan::Filled& one : candidate.filled) replacements.push_back({one.site->name, one.ptx()});
    return *ptxgraft::render(skeleton.ptx, skeleton.sites, replacements);
}

}  // namespace

std::vector<Piece> pieces_of(const Candidate& candidate, LinkedAs linked) {
    if (candidate.plan != nullptr) {
        std::vector<RoutePlan::Filled> filled = candidate.filled;
        for (RoutePlan::Filled& one : filled)
            if (one.route == Route::link && linked == LinkedAs::called) one.route = Route::call;
        return candidate.plan->pieces(filled);
    }
    std::vector<Piece> pieces;
    for (const RoutePlan::Filled& one : candidate.filled)
        for (const SiteCopy& copy : one.site->copies) pieces.push_back({copy.stub, one.ptx()});
    std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.replaced.begin; });
    return pieces;
}

Route route_at(const RouteOptions& options, std::string_view site) {
    const auto found = options.sites.find(site);
    return found == options.sites.end() ? options.route : found->second;
}

tl::unexpected<Error> unknown_site(std::string_view name, const Sites& sites) {
    return fail(Errc::site_unknown, fmt::format("{}; {}", name, site_list(sites)));
}

tl::unexpected<Error> with_source(Error error, const std::shared_ptr<const SourceText>& source) {
    if (error.span.known() && !error.source) error.source = source;
    return tl::unexpected(std::move(error));
}

bool Candidate::has(Route route) const {
    return std::ranges::any_of(filled, [&](const RoutePlan::Filled& one) { return one.route == route; });
}

link::Key Candidate::key() const {
    link::KeyBuilder key;
    key.add("candidate 1");
    for (const RoutePlan::Filled& one : filled) {
        const auto [site, stub] = std::pair(one.site, one.stub);
        key.add(site->name);
        key.add(name(one.route));
        if (!stub->constants().empty()) {
            add_structure(key, *stub, *site);
            continue;
        }
        const std::uint64_t hash = stub->dataflow_hash();
        // The hash numbers the operands of the stub's own signature.
        const bool is_hashed = hash != 0 && stub->signature() == site->signature;
        key.add(is_hashed ? std::string_view(reinterpret_cast<const char*>(&hash), sizeof hash)
                          : std::string_view(stub->ptx()));
    }
    return key.key();
}

Expected<Candidate> plan_candidate(const Skeleton::Data& skeleton, std::span<const Graft> grafts,
                                   const RouteOptions& routes, const RouteCosts* costs) {
    for (const auto& [name, route] : routes.sites)
        if (skeleton.sites.find(name) == nullptr) return unknown_site(name, skeleton.sites);
    const std::vector<const Site*> sites = TRY(filled_sites(skeleton.sites, grafts));
    Candidate candidate;
    candidate.banks = banks_of(skeleton.banks(), sites, grafts);
    for (std::size_t i = 0; i < grafts.size(); ++i) {
        const Route wanted = route_at(routes, grafts[i].site);
        if (wanted == Route::inlined) {
            candidate.filled.push_back({sites[i], &grafts[i].stub, wanted});
            candidate.choices.push_back({grafts[i].site, wanted, std::string(asked_for)});
            continue;
        }
        if (!skeleton.plan()) return tl::unexpected(skeleton.plan().error());
        candidate.plan = &*skeleton.plan();
        auto choice = candidate.plan->choose(*sites[i], grafts[i].stub, wanted, costs);
        if (!choice) return at(i, tl::unexpected(choice.error()));
        candidate.filled.push_back({sites[i], &grafts[i].stub, choice->route});
        candidate.choices.push_back(std::move(*choice));
    }
    for (const ConstantBank& bank : candidate.banks) {
        auto& one = *std::ranges::find(candidate.filled, bank.site,
                                       [](const RoutePlan::Filled& f) { return f.site->name; });
        one.bound_text = text_with_bank(bank);
    }
    // Not in the order of the grafts: candidates that compute the same have one key and one text.
    std::ranges::sort(candidate.filled, {}, &RoutePlan::Filled::site);
    std::ranges::sort(candidate.banks, {},
                      [&](const ConstantBank& bank) { return skeleton.sites.find(bank.site); });
    return candidate;
}

std::string render(const Skeleton::Data& skeleton, const Candidate& candidate, LinkedAs linked,
                   BankValues values) {
    std::string text = render_stubs(skeleton, candidate, linked);
    if (!candidate.banks.empty())
        text.insert(skeleton.info->head_end, declarations(candidate.banks, values == BankValues::written));
    return text;
}

// Named after its entry when it has one alone.
std::shared_ptr<const SourceText> text_of(const Skeleton::Data& skeleton, const Candidate& candidate) {
    const auto make = [&] {
        const std::string name = skeleton.entries.size() == 1 ? skeleton.entries.front() : "candidate";
        return std::make_shared<const SourceText>(
            SourceText{name + ".ptx", render(skeleton, candidate, LinkedAs::called)});
    };
    return candidate.banks.empty() ? make() : skeleton.structures.find_or_make(candidate.key(), make);
}

}  // namespace kernel

Expected<std::string> Skeleton::render(std::span<const Graft> grafts) const {
    const auto candidate = TRY(kernel::plan_candidate(*data_, grafts, {}));
    return kernel::render(*data_, candidate, kernel::LinkedAs::called, kernel::BankValues::written);
}

Expected<Rendered> Skeleton::render_by(std::span<const Graft> grafts, const RouteOptions& routes) const {
    auto candidate = TRY(kernel::plan_candidate(*data_, grafts, routes));
    return Rendered{kernel::render(*data_, candidate, kernel::LinkedAs::called, kernel::BankValues::written),
                    std::move(candidate.choices)};
}

}  // namespace ptxgraft
