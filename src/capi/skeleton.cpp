// Skeletons and their sites in C.

#include <algorithm>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/named.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

Expected<const Site*> site_at(const ptxgraft_skeleton* skeleton, std::size_t index) {
    const auto& sites = skeleton->skeleton.sites().sites;
    TRY(capi::check_index(index, sites.size(), "site"));
    return &sites[index];
}

std::uint32_t line_of(const ptxgraft_skeleton* skeleton, std::uint32_t offset) {
    const auto& ends = skeleton->line_ends;
    return static_cast<std::uint32_t>(std::lower_bound(ends.begin(), ends.end(), offset) - ends.begin()) + 1;
}

}  // namespace

Expected<CudaOptions> capi::cuda_options(const ptxgraft_cuda_options* given) {
    const auto options = TRY(capi::options_of(given));
    CudaOptions result;
    if (options.target) result.target = options.target;
    if (options.file_name) result.file_name = options.file_name;
    if (options.cache_dir) result.cache_dir = options.cache_dir;
    if (options.cache) result.cache = &options.cache->cache;
    const auto& o = options;
    auto copied = capi::copy_strings(result.include_dirs, o.include_dirs, o.include_dir_count, "include_dirs",
                                     "include_dir_count");
    if (copied)
        copied = capi::copy_strings(result.defines, o.defines, o.define_count, "defines", "define_count");
    if (copied)
        copied = capi::copy_strings(result.options, o.options, o.option_count, "options", "option_count");
    if (!copied) return tl::unexpected(std::move(copied.error()));
    return result;
}

Expected<std::string> capi::target_of(const ptxgraft_cuda_options* given) {
    const auto options = TRY(options_of(given));
    return std::string(options.target != nullptr ? options.target : "");
}

Expected<void> capi::give_skeleton(ptxgraft_skeleton** out, Expected<Skeleton> skeleton) {
    if (!skeleton) return tl::unexpected(std::move(skeleton.error()));
    const std::string_view ptx = skeleton->ptx();
    std::vector<std::size_t> line_ends;
    for (std::size_t at = ptx.find('\n'); at != std::string_view::npos; at = ptx.find('\n', at + 1))
        line_ends.push_back(at);
    *out = new ptxgraft_skeleton{std::move(*skeleton), std::move(line_ends)};
    return {};
}

// The enumerators of ptxgraft.h are those of the C++ headers.
static_assert(PTXGRAFT_TYPE_f16 == int(Type::f16) && PTXGRAFT_TYPE_s16 == int(Type::s16) &&
              PTXGRAFT_TYPE_f64 == int(Type::f64));
static_assert(PTXGRAFT_TYPE_u32 == int(Type::u32) && PTXGRAFT_TYPE_b64 == int(Type::b64) &&
              PTXGRAFT_TYPE_bf16x2 == int(Type::bf16x2));
static_assert(PTXGRAFT_DIRECTION_mod == int(Direction::mod) && PTXGRAFT_DIRECTION_out == int(Direction::out));
static_assert(PTXGRAFT_EFFECT_warp == int(Effect::warp) && PTXGRAFT_EFFECT_exit == int(Effect::exit) &&
              PTXGRAFT_EFFECT_state == int(Effect::state));
static_assert(2 * PTXGRAFT_EFFECT_state - 1 == int(Effect::all));

extern "C" {

ptxgraft_status ptxgraft_skeleton_create_from_cuda(ptxgraft_skeleton** skeleton, const char* source,
                                                   size_t size, const ptxgraft_cuda_options* options) {
    return call({{skeleton, "skeleton"}, {source, "source"}}, [&]() -> Expected<void> {
        const auto cuda = TRY(capi::cuda_options(options));
        const auto text = TRY(capi::text_at(source, size));
        return capi::give_skeleton(skeleton,
                                   capi::with_source(Skeleton::from_cuda(text, cuda), text, cuda.file_name));
    });
}

ptxgraft_status ptxgraft_skeleton_create_from_template(ptxgraft_skeleton** skeleton, const char* name,
                                                       const char* tunables,
                                                       const ptxgraft_cuda_options* options) {
    return call({{skeleton, "skeleton"}, {name, "name"}}, [&]() -> Expected<void> {
        const auto cuda = TRY(capi::cuda_options(options));
        const auto target = TRY(capi::target_of(options));
        const auto choices = TRY(capi::choices_of(tunables));
        const Template found = TRY(Template::find(name));
        return capi::give_skeleton(skeleton, found.skeleton(choices, target, cuda));
    });
}

ptxgraft_status ptxgraft_skeleton_create_from_ptx(ptxgraft_skeleton** skeleton, const char* ptx,
                                                  size_t size) {
    return call({{skeleton, "skeleton"}, {ptx, "ptx"}}, [&]() -> Expected<void> {
        const auto text = TRY(capi::text_at(ptx, size));
        return capi::give_skeleton(skeleton,
                                   capi::with_source(Skeleton::from_ptx(std::string(text)), text, "ptx"));
    });
}

ptxgraft_status ptxgraft_skeleton_create_from_file(ptxgraft_skeleton** skeleton, const char* path,
                                                   const ptxgraft_cuda_options* options) {
    return call({{skeleton, "skeleton"}, {path, "path"}}, [&]() -> Expected<void> {
        const auto cuda = TRY(capi::cuda_options(options));
        return capi::give_skeleton(skeleton, Skeleton::from_file(path, cuda));
    });
}

void ptxgraft_skeleton_destroy(ptxgraft_skeleton* skeleton) { delete skeleton; }

ptxgraft_status ptxgraft_skeleton_get_ptx(char* text, size_t* size, const ptxgraft_skeleton* skeleton) {
    return call({{size, "size"}, {skeleton, "skeleton"}},
                [&] { return capi::give_text(text, size, skeleton->skeleton.ptx()); });
}

const char* ptxgraft_skeleton_get_target(const ptxgraft_skeleton* skeleton) {
    return get(skeleton, "skeleton", "",
               [](const ptxgraft_skeleton& s) { return s.skeleton.target().c_str(); });
}

size_t ptxgraft_skeleton_get_entry_count(const ptxgraft_skeleton* skeleton) {
    return get(skeleton, "skeleton", size_t{0},
               [](const ptxgraft_skeleton& s) { return s.skeleton.entries().size(); });
}

const char* ptxgraft_skeleton_get_entry_name(const ptxgraft_skeleton* skeleton, size_t entry) {
    const char* name = nullptr;
    call({{skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const std::vector<std::string>& entries = skeleton->skeleton.entries();
        if (auto valid = capi::check_index(entry, entries.size(), "entry"); !valid) return valid;
        name = entries[entry].c_str();
        return {};
    });
    return name;
}

size_t ptxgraft_site_get_count(const ptxgraft_skeleton* skeleton) {
    return get(skeleton, "skeleton", size_t{0},
               [](const ptxgraft_skeleton& s) { return s.skeleton.sites().sites.size(); });
}

ptxgraft_status ptxgraft_site_find(size_t* site, const ptxgraft_skeleton* skeleton, const char* name) {
    return call({{site, "site"}, {skeleton, "skeleton"}, {name, "name"}}, [&]() -> Expected<void> {
        const auto found = TRY(skeleton->skeleton.find_site(name));
        *site = static_cast<size_t>(found - skeleton->skeleton.sites().sites.data());
        return {};
    });
}

ptxgraft_status ptxgraft_site_get_info(ptxgraft_site_info* info, const ptxgraft_skeleton* skeleton,
                                       size_t site) {
    return call({{info, "info"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto found = TRY(site_at(skeleton, site));
        const Site& s = *found;
        return capi::give_info(info,
                               {sizeof(*info), s.name.c_str(), s.signature.operands.size(), s.copies.size(),
                                static_cast<std::uint32_t>(s.policy.allowed), s.policy.pure});
    });
}

ptxgraft_status ptxgraft_site_get_operand(ptxgraft_operand_info* info, const ptxgraft_skeleton* skeleton,
                                          size_t site, size_t operand) {
    return call({{info, "info"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto found = TRY(site_at(skeleton, site));
        const auto& operands = found->signature.operands;
        if (auto valid = capi::check_index(operand, operands.size(), "operand"); !valid) return valid;
        const SiteOperand& o = operands[operand];
        return capi::give_info(info, {sizeof(*info), o.name.c_str(), static_cast<ptxgraft_type>(o.type),
                                      static_cast<ptxgraft_direction>(o.direction), o.count,
                                      o.user_type.c_str(), o.register_name.c_str()});
    });
}

ptxgraft_status ptxgraft_site_get_copy(ptxgraft_copy_info* info, const ptxgraft_skeleton* skeleton,
                                       size_t site, size_t copy) {
    return call({{info, "info"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto found = TRY(site_at(skeleton, site));
        if (auto valid = capi::check_index(copy, found->copies.size(), "copy"); !valid) return valid;
        const SiteCopy& c = found->copies[copy];
        const Sites::Function& function = skeleton->skeleton.sites().functions.at(c.function);
        return capi::give_info(info, {sizeof(*info), function.name.c_str(), function.is_entry,
                                      line_of(skeleton, c.marker.begin)});
    });
}

}  // extern "C"
