// The variables that hold constants, in a module's text and on a device.
#include "kernel/banks.hpp"

#include <fmt/format.h>

#include "kernel/route.hpp"

namespace ptxgraft::kernel {
namespace {

constexpr std::size_t most_structure_bytes = std::size_t{64} << 20;
constexpr std::string_view placed = "[ptxgraft_constants+";  // in a stub's text (Stub::constants)

}  // namespace

BankNames::BankNames(std::string_view ptx, const Sites& sites) : sites_(&sites) {
    const std::string prefix = free_prefix(ptx) + "constants_";
    for (const Site& site : sites.sites) names_.push_back(site_name(prefix, names_.size(), site.name));
}

std::vector<ConstantBank> banks_of(const BankNames& names, std::span<const Site* const> sites,
                                   std::span<const Graft> grafts) {
    std::vector<ConstantBank> banks;
    for (std::size_t i = 0; i < grafts.size(); ++i)
        if (!grafts[i].stub.constants().empty())
            banks.push_back({grafts[i].site, names.of(*sites[i]), grafts[i].stub});
    return banks;
}

std::string text_with_bank(const ConstantBank& bank) {
    const std::string& ptx = bank.stub.ptx();
    std::string text;
    text.reserve(ptx.size() + bank.stub.constants().size() * bank.variable.size());
    std::size_t at = 0;
    for (std::size_t next; (next = ptx.find(placed, at)) != std::string::npos; at = next + placed.size())
        text.append(ptx, at, next - at).append("[").append(bank.variable).append("+");
    return text.append(ptx, at);
}

std::string declarations(std::span<const ConstantBank> banks, bool with_values) {
    std::string text;
    for (const ConstantBank& bank : banks) {
        const auto constants = bank.stub.constants();
        // .visible: an assembler keeps it, whatever it makes of the loads.
        text += fmt::format("\n.visible .const .align 8 .b64 {}[{}]", bank.variable, constants.size());
        for (std::size_t i = 0; with_values && i < constants.size(); ++i)
            text += fmt::format("{}0x{:X}", i == 0 ? " = {" : ", ", constants[i]);
        text += with_values ? "};" : ";";
    }
    return text;
}

std::vector<device::Bank> device_banks(std::span<const ConstantBank> banks) {
    std::vector<device::Bank> result;
    result.reserve(banks.size());
    for (const ConstantBank& bank : banks) {
        const auto bytes = std::as_bytes(bank.stub.constants());
        result.push_back({bank.variable, {bytes.begin(), bytes.end()}});
    }
    return result;
}

void add_structure(link::KeyBuilder& key, const Stub& stub, const Site& site) {
    const std::uint64_t hash = stub.dataflow_parts().structure;
    key.add("constants are data");
    key.add(std::to_string(stub.constants().size()));
    // The hash numbers the operands of the stub's own signature.
    if (hash != 0 && stub.signature() == site.signature)
        key.add({reinterpret_cast<const char*>(&hash), sizeof hash});
    else
        key.add(stub.ptx());
}

const Cache& Structures::cache() {
    std::call_once(opened_, [this] { cache_ = *Cache::open({.memory_bytes = most_structure_bytes}); });
    return *cache_;
}

Structures::Text Structures::find(const link::Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : found->second;
}

Structures::Text Structures::keep(const link::Key& key, Text text) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = texts_.emplace(key, text);
    if (!is_new) return found->second;
    order_.push_back(key);
    bytes_ += text->text.size();
    while (bytes_ > most_structure_bytes && order_.size() > 1) {
        const auto oldest = texts_.find(order_.front());
        bytes_ -= oldest->second->text.size();
        texts_.erase(oldest);
        order_.pop_front();
    }
    return text;
}

}  // namespace ptxgraft::kernel
