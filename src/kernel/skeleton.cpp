#include <fmt/format.h>

#include <array>
#include <fstream>
#include <optional>
#include <unordered_set>
#include <utility>

#include "device/backend.hpp"
#include "kernel/kernel_data.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft {

struct Skeleton::Data {
    std::string ptx;
    Sites sites;
    std::vector<std::string> entries;
    std::string target;
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

tl::unexpected<Error> with_source(Error error, std::string name, std::string text) {
    if (error.span.known() && !error.source)
        error.source = std::make_shared<const SourceText>(SourceText{std::move(name), std::move(text)});
    return tl::unexpected(std::move(error));
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

Expected<std::string> choose_entry(const std::vector<std::string>& entries, std::string_view name) {
    if (name.empty() && entries.size() == 1) return entries.front();
    for (const std::string& entry : entries)
        if (entry == name) return entry;
    if (entries.empty()) return fail(Errc::entry_unknown, std::string("the skeleton has none"));
    const std::string list = fmt::format("{}", fmt::join(entries, ", "));
    if (name.empty()) return fail(Errc::entry_not_named, list);
    return fail(Errc::entry_unknown, fmt::format("{}; the skeleton has {}", name, list));
}

// Without another wish, machine code is made for the device at hand: PTX of sm_80 runs on every later GPU.
Expected<Cubin> assemble_for(const Device& device, const std::string& ptx, std::string_view ptx_target,
                             AssembleOptions options) {
    if (options.target.empty()) options.target = device.target();
    if (!device::runs_on(ptx_target, options.target))
        return fail(Errc::target_differs, fmt::format("its PTX is for {}, the device is {} ({})", ptx_target,
                                                      device.name(), options.target));
    return default_assembler().assemble(ptx, options);
}

}  // namespace

Expected<Skeleton> Skeleton::from_ptx(std::string ptx) {
    auto data = std::make_shared<Data>();
    auto module = syntax::parse(ptx);
    if (!module) return tl::unexpected(module.error());
    auto sites = scan(ptx);
    if (!sites) return tl::unexpected(sites.error());
    for (const syntax::Statement function : module->functions())
        if (function.is_entry() && function.is_definition()) data->entries.emplace_back(function.name());
    data->target = module->target();
    data->sites = std::move(*sites);
    data->ptx = std::move(ptx);
    return Skeleton(std::move(data));
}

Expected<Skeleton> Skeleton::from_cuda(std::string_view source, const CudaOptions& options) {
    auto ptx = compile_cuda(source, options);
    if (!ptx) return tl::unexpected(ptx.error());
    auto skeleton = from_ptx(ptx->text);
    if (!skeleton) return with_source(skeleton.error(), options.file_name + ".ptx", std::move(ptx->text));
    return skeleton;
}

Expected<Skeleton> Skeleton::from_file(const std::string& path, const CudaOptions& options) {
    const bool is_cuda = path.ends_with(".cu");
    if (!is_cuda && !path.ends_with(".ptx")) return fail(Errc::file_kind_unknown, path);
    auto text = read_file(path);
    if (!text) return tl::unexpected(text.error());
    if (is_cuda) {
        CudaOptions with_name = options;
        with_name.file_name = path;
        with_name.include_dirs.insert(with_name.include_dirs.begin(), folder_of(path));
        auto skeleton = from_cuda(*text, with_name);
        if (!skeleton) return with_source(skeleton.error(), path, std::move(*text));
        return skeleton;
    }
    auto skeleton = from_ptx(*text);
    if (!skeleton) return with_source(skeleton.error(), path, std::move(*text));
    return skeleton;
}

const std::string& Skeleton::ptx() const { return data_->ptx; }
const Sites& Skeleton::sites() const { return data_->sites; }
const std::vector<std::string>& Skeleton::entries() const { return data_->entries; }
const std::string& Skeleton::target() const { return data_->target; }
const Site* Skeleton::site(std::string_view name) const { return data_->sites.find(name); }

Expected<const Site*> Skeleton::find_site(std::string_view name) const {
    const Site* found = site(name);
    if (found == nullptr) return unknown_site(name, data_->sites);
    return found;
}

Expected<std::string> Skeleton::render(std::span<const Graft> grafts) const {
    std::vector<Replacement> replacements;
    replacements.reserve(grafts.size());
    std::unordered_set<std::string_view> filled;
    for (std::size_t i = 0; i < grafts.size(); ++i) {
        const Graft& graft = grafts[i];
        const Site* const found = site(graft.site);
        if (found == nullptr) return at(i, unknown_site(graft.site, data_->sites));
        if (!filled.insert(graft.site).second)
            return at(i, fail(Errc::site_filled_twice, std::string(graft.site)));
        if (auto fits = graft.stub.check(*found); !fits)
            return at(i, does_not_fit(*found, graft.stub, fits.error()));
        replacements.push_back({graft.site, graft.stub.ptx()});
    }
    return ptxgraft::render(data_->ptx, data_->sites, replacements);
}

Expected<Kernel> Skeleton::graft(std::span<const Graft> grafts, const Device& device,
                                 const GraftOptions& options) const {
    auto entry = choose_entry(data_->entries, options.entry);
    if (!entry) return tl::unexpected(entry.error());
    Stopwatch watch;
    GraftTimes times;
    auto ptx = render(grafts);
    if (!ptx) return tl::unexpected(ptx.error());
    times.render = watch.lap();
    std::optional<Cubin> cubin;
    if (device.kind() == DeviceKind::cuda) {
        auto assembled = assemble_for(device, *ptx, data_->target, options.assemble);
        if (!assembled) return with_source(assembled.error(), *entry + ".ptx", std::move(*ptx));
        cubin = std::move(*assembled);
        times.assemble = watch.lap();
    }
    auto function = device.load(*ptx, *entry, cubin ? &*cubin : nullptr);
    if (!function) return with_source(function.error(), *entry + ".ptx", std::move(*ptx));
    times.load = watch.lap();
    return Kernel(std::make_shared<const Kernel::Data>(
        Kernel::Data{std::move(*entry), std::move(*ptx), std::move(cubin), times, std::move(*function)}));
}

}  // namespace ptxgraft
