// Skeletons and stubs as machine code: the names by which they are linked, and the parts that are kept.
#include "kernel/linking.hpp"

#include <string.h>

#include <algorithm>
#include <cstring>

#include "base/try.hpp"
#include "link/assembler.hpp"

namespace ptxgraft::kernel {
namespace {

constexpr std::size_t most_part_bytes = std::size_t{64} << 20;

const FunctionUsage* find_usage(const Cubin& cubin, std::string_view function) {
    const auto found = std::ranges::find(cubin.functions, function, &FunctionUsage::name);
    return found == cubin.functions.end() ? nullptr : &*found;
}

// A linked image does not say what was spilled; the parts' assembler did.
void add_spills(Cubin& linked, const Cubin& part) {
    for (FunctionUsage& function : linked.functions) {
        const FunctionUsage* const of_part = find_usage(part, function.name);
        if (of_part == nullptr) continue;
        function.spill_store_bytes = of_part->spill_store_bytes;
        function.spill_load_bytes = of_part->spill_load_bytes;
    }
}

}  // namespace

std::vector<std::byte> renamed(std::span<const std::byte> image, std::span<const LinkedName> names) {
    std::vector<std::byte> copy(image.begin(), image.end());
    for (const LinkedName& name : names) {
        std::byte* at = copy.data();
        const std::byte* const end = at + copy.size();
        while ((at = static_cast<std::byte*>(::memmem(at, static_cast<std::size_t>(end - at),
                                                      name.called.data(), name.called.size()))) != nullptr) {
            std::memcpy(at, name.name.data(), name.name.size());
            at += name.name.size();
        }
    }
    return copy;
}

Expected<Cubin> link_stubs(const Cubin& skeleton, std::span<const LinkedName> names,
                           std::span<const std::shared_ptr<const Cubin>> modules, const std::string& target,
                           const AssembleOptions& options) {
    const std::vector<std::byte> image = renamed(skeleton.image, names);
    std::vector<std::span<const std::byte>> images{image};
    for (const auto& module : modules) images.emplace_back(module->image);
    Cubin cubin = TRY(link_cubins(images, target));
    add_spills(cubin, skeleton);
    for (const auto& module : modules) add_spills(cubin, *module);
    return link::checked(std::move(cubin), options);
}

std::uint32_t register_ceiling(const launch::ModuleInfo& module) {
    constexpr std::uint64_t registers = 65536, most = 255, threads_together = 128, unit = 8;
    std::uint64_t ceiling = most + 1;
    for (const launch::EntryInfo& entry : module.entries) {
        if (entry.max_registers) ceiling = std::min(ceiling, *entry.max_registers);
        std::uint64_t threads = entry.max_threads.value_or(0);
        if (const auto& block = entry.required_block) threads = std::uint64_t{block->x} * block->y * block->z;
        if (threads == 0 || threads > 1024) continue;
        threads = (threads + threads_together - 1) / threads_together * threads_together;
        const std::uint64_t blocks = std::clamp<std::uint64_t>(entry.min_blocks.value_or(1), 1, 32);
        ceiling = std::min(ceiling, registers / (threads * blocks) / unit * unit);
    }
    return ceiling > most ? 0 : static_cast<std::uint32_t>(std::max<std::uint64_t>(ceiling, 16));
}

Linking::Part Linking::find(const std::string& name, const std::string& how) const {
    const std::lock_guard lock(mutex_);
    const auto found = parts_.find(name + '\n' + how);
    return found == parts_.end() ? nullptr : found->second;
}

// A module of many stubs is kept under the name of each, and takes up room once.
void Linking::keep(const std::string& name, const std::string& how, Part part) {
    const std::lock_guard lock(mutex_);
    std::string key = name + '\n' + how;
    const Cubin* const cubin = part.get();
    if (!parts_.emplace(key, std::move(part)).second) return;
    order_.push_back(std::move(key));
    if (users_[cubin]++ == 0) bytes_ += cubin->image.size();
    while (bytes_ > most_part_bytes && order_.size() > 1) {
        const auto oldest = parts_.find(order_.front());
        const auto users = users_.find(oldest->second.get());
        if (--users->second == 0) {
            bytes_ -= oldest->second->image.size();
            users_.erase(users);
        }
        parts_.erase(oldest);
        order_.pop_front();
    }
}

std::optional<RouteCosts> Linking::costs(const std::string& how) const {
    const std::lock_guard lock(mutex_);
    const auto found = costs_.find(how);
    return found == costs_.end() ? std::nullopt : std::optional(found->second);
}

void Linking::set_costs(const std::string& how, RouteCosts costs) {
    const std::lock_guard lock(mutex_);
    costs_[how] = costs;
}

}  // namespace ptxgraft::kernel
