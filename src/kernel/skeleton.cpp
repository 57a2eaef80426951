// Skeleton: a module with its sites.

#include <array>
#include <fstream>
#include <utility>

#include "base/try.hpp"
#include "kernel/candidate.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft {

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
    if (!error.span.known() || error.source) return tl::unexpected(std::move(error));
    return kernel::with_source(
        std::move(error), std::make_shared<const SourceText>(SourceText{std::move(name), std::move(text)}));
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
    if (found == nullptr) return kernel::unknown_site(name, data_->sites);
    return found;
}

}  // namespace ptxgraft
