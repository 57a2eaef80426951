// Candidates become machine code: their whole text, or their stubs alone, which are linked to the skeleton.
#include "kernel/machine_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "base/try.hpp"
#include "kernel/kernel_data.hpp"
#include "ptxgraft/syntax.hpp"
#include "site/stub_place.hpp"

namespace ptxgraft {
namespace kernel {
namespace {

std::string source_of(const std::string& ptx, std::uint32_t offset) {
    if (ptx.find(".loc") == std::string::npos) return {};
    const auto module = syntax::parse(ptx);
    const std::string lines =
        module ? syntax::describe(syntax::source_lines(*module, offset)) : std::string();
    return lines.empty() ? lines : "; from " + lines;
}

// An assembler's error says in which stub it is, or of which source line.
tl::unexpected<Error> explained(Error error, const std::shared_ptr<const SourceText>& source) {
    if (error.span.known() && !error.source) {
        const std::string before = error.detail ? *error.detail : std::string();
        error = site::with_stub(std::move(error), source->text);
        const std::string from = source_of(source->text, error.span.begin);
        if (error.detail && *error.detail == before && !from.empty())
            error.detail = std::make_shared<const std::string>(before + from);
    }
    return with_source(std::move(error), source);
}

bool have_common_function(std::span<const Linking::Part> modules) {
    if (modules.size() < 2) return false;
    std::unordered_set<std::string_view> names;
    for (const Linking::Part& module : modules)
        for (const FunctionUsage& function : module->functions)
            if (!names.insert(function.name).second) return true;
    return false;
}

constexpr std::string_view of_variant = "variant 1";  // keys of places in modules

// What is there; else Errc::work_stopped.
Expected<Linking::Part> find_in(const Cache& cache, const link::Key& key, CacheLevel* from = nullptr) {
    return link::find_or_make(cache, key, std::function<Expected<Cubin>()>(), from);
}

const std::string& detail_of(const Error& error) {
    static const std::string none;
    return error.detail ? *error.detail : none;
}

AssembleOptions for_linking(AssembleOptions options) {
    options.relocatable = true;
    options.limits = {};  // of what is linked
    return options;
}

}  // namespace

MachineCodeMaker::MachineCodeMaker(const Skeleton::Data& skeleton, const GraftOptions& options)
    : skeleton_(skeleton),
      routes_(options.routes),
      assembler_(options.assembler ? *options.assembler : default_assembler()),
      cache_(options.cache),
      options_(options.assemble) {
    if (options_.target.empty()) options_.target = skeleton.info->target;
    part_options_ = for_linking(options_);
    link::KeyBuilder how;
    link::add_options(how, part_options_);
    how.add(assembler_.name());
    how.add(assembler_.version());
    how_ = how.key().hex();
    stub_options_ = part_options_;
    if (const std::uint32_t most = register_ceiling(*skeleton.info); most != 0)
        stub_options_.max_registers =
            stub_options_.max_registers == 0 ? most : std::min(stub_options_.max_registers, most);
    link::add_options(how, options_);
    options_key_ = how.key();
    costs_ = skeleton.linking.costs(how_);
}

Expected<Candidate> MachineCodeMaker::plan(std::span<const Graft> grafts) const {
    return plan_candidate(skeleton_, grafts, routes_, costs_ ? &*costs_ : nullptr);
}

Expected<MachineCode> MachineCodeMaker::make(Candidate candidate, GraftTimes times,
                                             std::shared_ptr<const SourceText>* text) const {
    auto code = make_as_planned(candidate, times, text);
    while (!code && choose_again(candidate, code.error())) code = make_as_planned(candidate, times, text);
    return code;
}

Expected<MachineCode> MachineCodeMaker::find_kept(const Candidate& candidate) const {
    const Cache* const cache = cache_for(candidate);
    if (cache == nullptr) return fail(Errc::work_stopped);
    CacheLevel from = CacheLevel::none;
    auto cubin = TRY(find_in(*cache, key_of(candidate), &from));
    return MachineCode{std::move(cubin), candidate.choices, {}, from, candidate.banks};
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::assemble_variants(
    const VariantModule& module, std::span<const Candidate* const> candidates,
    std::span<const std::string> suffixes) const {
    auto part = assembled(module.source, options_);
    const auto key =
        cache_ != nullptr ? link::assembly_key(module.source->text, options_, assembler_) : std::nullopt;
    for (std::size_t i = 0; part && key && i < candidates.size(); ++i)
        link::keep(*cache_, key_of(*candidates[i], of_variant), {*key, suffixes[i]});
    return part;
}

std::optional<MachineCodeMaker::KeptVariant> MachineCodeMaker::find_kept_variant(
    const Candidate& candidate) const {
    if (cache_ == nullptr || link::names_file(options_)) return std::nullopt;
    auto place = link::find_place(*cache_, key_of(candidate, of_variant));
    if (!place) return std::nullopt;
    CacheLevel from = CacheLevel::none;
    auto cubin = find_in(*cache_, place->module, &from);  // the module may be gone
    if (!cubin) return std::nullopt;
    return KeptVariant{std::move(*cubin), std::move(*place), from};
}

std::optional<Error> MachineCodeMaker::find_kept_error(const Candidate& candidate) const {
    if (cache_ == nullptr || link::names_file(options_)) return std::nullopt;
    const auto source = text_of(skeleton_, candidate);
    auto kept = find_in(*cache_, *link::assembly_key(source->text, options_, assembler_));
    if (kept || kept.error().code == Errc::work_stopped) return std::nullopt;
    if (Candidate other = candidate; choose_again(other, kept.error())) return std::nullopt;
    return explained(std::move(kept.error()), source).value();
}

// Structures are kept where nobody gave a cache: constants are changed to be tried.
const Cache* MachineCodeMaker::cache_for(const Candidate& candidate) const {
    if (link::names_file(options_)) return nullptr;
    if (cache_ == nullptr && !candidate.banks.empty()) return &skeleton_.structures.cache();
    return cache_;
}

// What `auto` chose and what does not link, or is over a limit so, is called or inlined as if nothing were
// linked; what is over one when it is called is inlined.
bool MachineCodeMaker::choose_again(Candidate& candidate, const Error& why) const {
    const bool is_over_limit = why.code == Errc::assemble_limit_exceeded;
    if (why.code != Errc::link_failed && !is_over_limit) return false;
    const auto was_chosen = [&](const RoutePlan::Filled& one, Route route) {
        return one.route == route && route_at(routes_, one.site->name) == Route::automatic;
    };
    const bool has_linked = std::ranges::any_of(
        candidate.filled, [&](const RoutePlan::Filled& one) { return was_chosen(one, Route::link); });
    if (!has_linked && !is_over_limit) return false;
    const Route given_up = has_linked ? Route::link : Route::call;
    bool has_changed = false;
    for (RoutePlan::Filled& one : candidate.filled) {
        if (!was_chosen(one, given_up)) continue;
        RouteChoice& choice = *std::ranges::find(candidate.choices, one.site->name, &RouteChoice::site);
        const std::string what = given_up == Route::link ? "linked" : "called";
        const std::string problem = is_over_limit
                                        ? fmt::format("{} it is over a limit ({})", what, detail_of(why))
                                        : "it does not link: " + detail_of(why);
        if (given_up == Route::link)
            choice = *candidate.plan->choose(*one.site, *one.stub, Route::automatic, nullptr);
        else
            choice.route = Route::inlined;
        choice.reason = problem;
        one.route = choice.route;
        has_changed = true;
    }
    return has_changed;
}

// An error is not kept with the candidate: it would have lost its text. The assembler's own is kept with what
// was assembled, and told anew.
Expected<MachineCode> MachineCodeMaker::make_as_planned(const Candidate& candidate, GraftTimes times,
                                                        std::shared_ptr<const SourceText>* text) const {
    std::shared_ptr<const SourceText> source;
    if (text != nullptr) source = *text = text_of(skeleton_, candidate);
    CacheLevel from = CacheLevel::none;
    Part cubin;
    const Cache* const cache = cache_for(candidate);
    if (cache == nullptr) {
        cubin = TRY(made(candidate, source, times));
    } else {
        std::optional<Error> error;
        const auto make_cubin = [&]() -> Expected<Part> {
            auto part = made(candidate, source, times);
            if (part) return part;
            error = std::move(part.error());
            return fail(Errc::work_stopped);
        };
        auto found = link::find_or_make(*cache, key_of(candidate), make_cubin, &from);
        if (!found && !error)
            found = made(candidate, source, times);  // of another thread, for which it waited
        if (!found) return tl::unexpected(error ? *error : found.error());
        cubin = std::move(*found);
    }
    return MachineCode{std::move(cubin), candidate.choices, times, from, candidate.banks};
}

link::Key MachineCodeMaker::key_of(const Candidate& candidate, std::string_view kind) const {
    link::KeyBuilder key;
    key.add(kind);
    key.add(skeleton_.key());
    key.add(candidate.key());
    key.add(options_key_);
    if (candidate.has(Route::link)) key.add(nvjitlink()->version());
    return key.key();
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::made(const Candidate& candidate,
                                                        std::shared_ptr<const SourceText> source,
                                                        GraftTimes& times) const {
    if (candidate.has(Route::link)) return linked(candidate, times);
    Stopwatch watch;
    if (source == nullptr) source = text_of(skeleton_, candidate);
    times.render += watch.lap();
    auto part = whole(source);
    times.assemble = watch.lap();
    return part ? std::move(part) : explained(std::move(part.error()), source);
}

// Of a whole candidate only an error is kept under its text: machine code is kept under the candidate's key.
Expected<MachineCodeMaker::Part> MachineCodeMaker::whole(
    const std::shared_ptr<const SourceText>& source) const {
    Part part;
    const auto assemble = [&]() -> Expected<Cubin> {
        part = std::make_shared<const Cubin>(TRY(assembler_.assemble(source->text, options_)));
        return fail(Errc::work_stopped);
    };
    const auto key =
        cache_ != nullptr ? link::assembly_key(source->text, options_, assembler_) : std::nullopt;
    Expected<Cubin> none = fail(Errc::work_stopped);
    if (key) {
        const auto kept = link::find_or_make(*cache_, *key, assemble);
        if (!kept) none = tl::unexpected(kept.error());
    }
    if (!part && none.error().code == Errc::work_stopped) none = assemble();
    if (!part) return tl::unexpected(std::move(none.error()));
    return part;
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::linked(const Candidate& candidate,
                                                          GraftTimes& times) const {
    Stopwatch watch;
    const Part skeleton = TRY(skeleton_for(candidate));
    std::vector<LinkedName> names;
    std::vector<RoutePlan::Linked> stubs;
    for (const RoutePlan::Filled& one : candidate.filled) {
        if (one.route != Route::link) continue;
        stubs.push_back(candidate.plan->linked(*one.site, *one.stub));
        names.push_back({candidate.plan->linked_name(*one.site), stubs.back().name});
    }
    const std::vector<Part> modules = TRY(modules_of(stubs));
    times.assemble = watch.lap();
    auto cubin = TRY(link_stubs(*skeleton, names, modules, options_.target, options_));
    times.link = watch.lap();
    return std::make_shared<const Cubin>(std::move(cubin));
}

// The modules that have the stubs. Batches that are made at once may have one stub in two modules, which do
// not go into one link; then these stubs are assembled as a module of their own.
Expected<std::vector<MachineCodeMaker::Part>> MachineCodeMaker::modules_of(
    std::span<const RoutePlan::Linked> stubs) const {
    std::vector<Part> modules;
    for (const RoutePlan::Linked& stub : stubs) {
        Part module = TRY(module_of(stub));
        if (std::ranges::find(modules, module) == modules.end()) modules.push_back(std::move(module));
    }
    if (have_common_function(modules)) modules = {TRY(stub_module(stubs))};
    return modules;
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::assembled(std::shared_ptr<const SourceText> source,
                                                             const AssembleOptions& options) const {
    const auto assemble = [&] { return assembler_.assemble(source->text, options); };
    const auto key = cache_ != nullptr ? link::assembly_key(source->text, options, assembler_) : std::nullopt;
    if (key) {
        auto part = link::find_or_make(*cache_, *key, assemble);
        return part ? std::move(part) : explained(part.error(), source);
    }
    auto cubin = assemble();
    if (!cubin) return explained(std::move(cubin.error()), source);
    return std::make_shared<const Cubin>(std::move(*cubin));
}

// Candidates whose stubs are all linked, at the same sites, have one.
Expected<MachineCodeMaker::Part> MachineCodeMaker::skeleton_for(const Candidate& candidate) const {
    auto source = std::make_shared<const SourceText>(
        SourceText{"skeleton.ptx", render(skeleton_, candidate, LinkedAs::missing)});
    link::KeyBuilder key;
    key.add(source->text);
    const std::string name = key.key().hex();
    const std::lock_guard lock(skeleton_.linking.making);
    if (Part part = skeleton_.linking.find(name, how_)) return part;
    Part part = TRY(assembled(std::move(source), part_options_));
    skeleton_.linking.keep(name, how_, part);
    return part;
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::module_of(const RoutePlan::Linked& stub) const {
    if (Part part = skeleton_.linking.find(stub.name, how_)) return part;
    return assemble_stubs({&stub, 1});
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::assemble_stubs(
    std::span<const RoutePlan::Linked> stubs) const {
    Part module = TRY(stub_module(stubs));
    for (const RoutePlan::Linked& stub : stubs) skeleton_.linking.keep(stub.name, how_, module);
    return module;
}

Expected<MachineCodeMaker::Part> MachineCodeMaker::stub_module(
    std::span<const RoutePlan::Linked> stubs) const {
    std::string text = skeleton_.plan()->module_head();
    for (const RoutePlan::Linked& stub : stubs) text += stub.text;
    return assembled(std::make_shared<const SourceText>(SourceText{"stubs.ptx", std::move(text)}),
                     stub_options_);
}

bool MachineCodeMaker::is_assembled(const RoutePlan::Linked& stub) const {
    return skeleton_.linking.find(stub.name, how_) != nullptr;
}

// Of a stub's module and of a link: once before, because the linker's first link takes long.
Expected<Preparation> MachineCodeMaker::measured(const Candidate& candidate, Preparation preparation) const {
    const RoutePlan::Filled& one = candidate.filled.front();
    GraftTimes times;
    TRY(linked(candidate, times));
    preparation.stub = TRY(module_of(candidate.plan->linked(*one.site, *one.stub)))->assemble_ms;
    preparation.link = TRY(linked(candidate, times))->assemble_ms;
    skeleton_.linking.set_costs(how_, {preparation.whole, preparation.stub + preparation.link});
    return preparation;
}

std::vector<Graft> MachineCodeMaker::linkable_defaults() const {
    const RoutePlan& plan = *skeleton_.plan();
    std::vector<Graft> grafts;
    for (const Site& site : skeleton_.sites.sites) {
        if (!plan.may_leave(site)) continue;
        const Span text = site.copies.front().stub;
        const auto stub =
            Stub::from_ptx(std::string_view(skeleton_.ptx).substr(text.begin, text.end - text.begin), site);
        if (stub && plan.choose(site, *stub, Route::link)) grafts.emplace_back(site.name, *stub);
    }
    return grafts;
}

Expected<Preparation> MachineCodeMaker::prepare() const {
    auto preparation = prepared();
    if (preparation) return preparation;
    // Of the default stubs: candidates have others.
    const Errc code = preparation.error().code;
    if (code != Errc::assembler_ended && code != Errc::performance_loss) return preparation;
    return Preparation{.not_linkable = "nothing could be measured: " + message(preparation.error())};
}

// Every site that `auto` may link is, with its default stub.
Expected<Preparation> MachineCodeMaker::prepared() const {
    Preparation preparation;
    const Part whole_cubin = TRY(
        assembled(std::make_shared<const SourceText>(SourceText{"skeleton.ptx", skeleton_.ptx}), options_));
    preparation.whole = whole_cubin->assemble_ms;
    if (!skeleton_.plan()) return tl::unexpected(skeleton_.plan().error());
    preparation.not_linkable = skeleton_.plan()->link_obstacle();
    if (!preparation.not_linkable.empty()) return preparation;
    const std::vector<Graft> grafts = linkable_defaults();
    if (grafts.empty()) {
        preparation.not_linkable = "every site is in a loop or hot, or its default stub cannot be a function";
        return preparation;
    }
    const auto candidate = TRY(plan_candidate(skeleton_, grafts, {.route = Route::link}));
    preparation.skeleton = TRY(skeleton_for(candidate))->assemble_ms;
    auto measured_too = measured(candidate, preparation);
    if (measured_too || measured_too.error().code != Errc::link_failed) return measured_too;
    preparation.not_linkable = message(measured_too.error());
    return preparation;
}

}  // namespace kernel

Expected<MachineCode> Skeleton::assemble(std::span<const Graft> grafts, const GraftOptions& options) const {
    Stopwatch watch;
    const kernel::MachineCodeMaker maker(*data_, options);
    auto candidate = TRY(maker.plan(grafts));
    return maker.make(std::move(candidate), {.render = watch.lap()});
}

// Whatever the default stubs use: limits are for candidates.
Expected<Preparation> Skeleton::prepare(const GraftOptions& options) const {
    GraftOptions without_limits = options;
    without_limits.assemble.limits = {};
    return kernel::MachineCodeMaker(*data_, without_limits).prepare();
}

}  // namespace ptxgraft
