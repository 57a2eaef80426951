// Skeleton: a module with its sites; and the graft, which renders stubs, assembles and loads.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/try.hpp"
#include "device/load.hpp"
#include "kernel/kernel_data.hpp"
#include "kernel/route.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft {

struct Skeleton::Data {
    std::string ptx;
    Sites sites;
    std::shared_ptr<const launch::ModuleInfo> info;
    std::vector<std::string> entries;  // names

    /// Made when it is first asked for.
    [[nodiscard]] const Expected<kernel::RoutePlan>& plan() const {
        std::call_once(planned_, [this] { plan_ = kernel::RoutePlan::make(ptx, sites); });
        return *plan_;
    }

  private:
    mutable std::once_flag planned_;
    mutable std::optional<Expected<kernel::RoutePlan>> plan_;
};

namespace {

Expected<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(Errc::file_not_found, path);
    std::string text;
    std::array<char, 1 << 16> part{};
    while (file.read(part.data(), part.size()), file.gcount() > 0)
        text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (file.bad()) return fail(Errc::file_not_readable, path);  // a folder opens, and does not read
    return text;
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

tl::unexpected<Error> with_source(Error error, const std::shared_ptr<const SourceText>& source) {
    if (error.span.known() && !error.source) error.source = source;
    return tl::unexpected(std::move(error));
}

tl::unexpected<Error> with_source(Error error, std::string name, std::string text) {
    if (!error.span.known() || error.source) return tl::unexpected(std::move(error));
    return with_source(std::move(error),
                       std::make_shared<const SourceText>(SourceText{std::move(name), std::move(text)}));
}

std::string site_list(const Sites& sites) {
    if (sites.sites.empty()) return "the skeleton has none";
    std::string text = "the skeleton has ";
    for (const Site& site : sites.sites)
        text += fmt::format("{}{}", &site == sites.sites.data() ? "" : ", ", site.name);
    return text;
}

tl::unexpected<Error> unknown_site(std::string_view name, const Sites& sites) {
    return fail(Errc::site_unknown, fmt::format("{}; {}", name, site_list(sites)));
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

// Without another wish, machine code is made for the device at hand: PTX of sm_80 runs on every later GPU.
Expected<Cubin> assemble_for(const Device& device, const std::string& ptx, std::string_view ptx_target,
                             const Assembler& assembler, AssembleOptions options) {
    if (options.target.empty()) {
        TRY(device::Loader::check_target(device, ptx_target));
        options.target = device.target();
        return assembler.assemble(ptx, options);
    }
    const auto target = TRY(parse_architecture(options.target));
    if (!runs_on(ptx_target, target))
        return fail(Errc::target_differs,
                    fmt::format("its PTX is for {}, the options are for {}", ptx_target, options.target));
    return assembler.assemble(ptx, options);
}

Route route_at(const RouteOptions& options, std::string_view site) {
    const auto found = options.sites.find(site);
    return found == options.sites.end() ? options.route : found->second;
}

}  // namespace

Expected<Skeleton> Skeleton::from_ptx(std::string ptx) {
    auto data = std::make_shared<Data>();
    auto module = TRY(syntax::parse(ptx));
    auto sites = TRY(scan(ptx));
    data->info = std::make_shared<const launch::ModuleInfo>(launch::module_info(module));
    for (const launch::EntryInfo& entry : data->info->entries) data->entries.push_back(entry.name);
    data->sites = std::move(sites);
    data->ptx = std::move(ptx);
    return Skeleton(std::move(data));
}

Expected<Skeleton> Skeleton::from_cuda(std::string_view source, const CudaOptions& options) {
    auto ptx = TRY(compile_cuda(source, options));
    auto skeleton = from_ptx(ptx.text);
    if (!skeleton) return with_source(skeleton.error(), options.file_name + ".ptx", std::move(ptx.text));
    return skeleton;
}

Expected<Skeleton> Skeleton::from_file(const std::string& path, const CudaOptions& options) {
    const bool is_cuda = path.ends_with(".cu");
    if (!is_cuda && !path.ends_with(".ptx")) return fail(Errc::file_kind_unknown, path);
    auto text = TRY(read_file(path));
    if (is_cuda) {
        CudaOptions with_name = options;
        with_name.file_name = path;
        with_name.include_dirs.insert(with_name.include_dirs.begin(), folder_of(path));
        auto skeleton = from_cuda(text, with_name);
        if (!skeleton) return with_source(skeleton.error(), path, std::move(text));
        return skeleton;
    }
    auto skeleton = from_ptx(text);
    if (!skeleton) return with_source(skeleton.error(), path, std::move(text));
    return skeleton;
}

const std::string& Skeleton::ptx() const { return data_->ptx; }
const Sites& Skeleton::sites() const { return data_->sites; }
const std::vector<std::string>& Skeleton::entries() const { return data_->entries; }
const std::string& Skeleton::target() const { return data_->info->target; }
const Site* Skeleton::site(std::string_view name) const { return data_->sites.find(name); }

Expected<const Site*> Skeleton::find_site(std::string_view name) const {
    const Site* found = site(name);
    if (found == nullptr) return unknown_site(name, data_->sites);
    return found;
}

// The sites that stubs fill, which they fit.
Expected<std::vector<const Site*>> Skeleton::filled_sites(std::span<const Graft> grafts) const {
    std::vector<const Site*> sites;
    sites.reserve(grafts.size());
    std::unordered_set<std::string_view> filled;
    for (std::size_t i = 0; i < grafts.size(); ++i) {
        const Graft& graft = grafts[i];
        const Site* const found = site(graft.site);
        if (found == nullptr) return at(i, unknown_site(graft.site, data_->sites));
        if (!filled.insert(graft.site).second)
            return at(i, fail(Errc::site_filled_twice, std::string(graft.site)));
        if (auto fits = graft.stub.check(*found); !fits)
            return at(i, does_not_fit(*found, graft.stub, fits.error()));
        sites.push_back(found);
    }
    return sites;
}

Expected<std::string> Skeleton::render(std::span<const Graft> grafts) const {
    TRY(filled_sites(grafts));
    std::vector<Replacement> replacements;
    replacements.reserve(grafts.size());
    for (const Graft& graft : grafts) replacements.push_back({graft.site, graft.stub.ptx()});
    return ptxgraft::render(data_->ptx, data_->sites, replacements);
}

Expected<Rendered> Skeleton::render_by(std::span<const Graft> grafts, const RouteOptions& routes) const {
    for (const auto& [name, route] : routes.sites)
        if (site(name) == nullptr) return unknown_site(name, data_->sites);
    const auto is_inlined = [&](const Graft& graft) {
        return route_at(routes, graft.site) == Route::inlined;
    };
    Rendered rendered;
    if (std::ranges::all_of(grafts, is_inlined)) {
        rendered.ptx = TRY(render(grafts));
        for (const Graft& graft : grafts)
            rendered.routes.push_back({graft.site, Route::inlined, std::string(kernel::asked_for)});
        return rendered;
    }
    const std::vector<const Site*> sites = TRY(filled_sites(grafts));
    if (!data_->plan()) return tl::unexpected(data_->plan().error());
    const kernel::RoutePlan& plan = *data_->plan();
    std::vector<kernel::RoutePlan::Filled> filled;
    for (std::size_t i = 0; i < grafts.size(); ++i) {
        auto choice = plan.choose(*sites[i], grafts[i].stub, route_at(routes, grafts[i].site));
        if (!choice) return at(i, tl::unexpected(choice.error()));
        filled.push_back({sites[i], &grafts[i].stub, choice->route});
        rendered.routes.push_back(std::move(*choice));
    }
    rendered.ptx = plan.render(data_->ptx, filled);
    return rendered;
}

Expected<Kernel> Skeleton::graft(std::span<const Graft> grafts, const Device& device,
                                 const GraftOptions& options) const {
    const auto entry = launch::find_entry(*data_->info, options.entry);
    if (!entry) return with_source(entry.error(), "skeleton.ptx", data_->ptx);
    Stopwatch watch;
    GraftTimes times;
    auto rendered = TRY(render_by(grafts, options.routes));
    times.render = watch.lap();
    const auto source =
        std::make_shared<const SourceText>(SourceText{(*entry)->name + ".ptx", std::move(rendered.ptx)});
    std::optional<Cubin> cubin;
    if (device.kind() == DeviceKind::cuda) {
        const Assembler& assembler = options.assembler ? *options.assembler : default_assembler();
        auto assembled = assemble_for(device, source->text, data_->info->target, assembler, options.assemble);
        if (!assembled) return with_source(assembled.error(), source);
        cubin = std::move(*assembled);
        times.assemble = watch.lap();
    }
    auto function = device::Loader::load(device, {source, data_->info}, **entry, cubin ? &*cubin : nullptr);
    if (!function) return with_source(function.error(), source);
    times.load = watch.lap();
    return Kernel(std::make_shared<const Kernel::Data>(
        Kernel::Data{std::move(cubin), times, std::move(*function), std::move(rendered.routes)}));
}

}  // namespace ptxgraft
