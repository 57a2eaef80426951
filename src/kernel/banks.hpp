#pragma once
/// @file banks.hpp
/// Constants that are data: the variables that hold them, and what candidates of one structure share.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/load.hpp"
#include "link/cache.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::kernel {

/// The names of the variables, one for each site.
class BankNames {
  public:
    BankNames(std::string_view ptx, const Sites& sites);
    [[nodiscard]] const std::string& of(const Site& site) const {
        return names_[static_cast<std::size_t>(&site - sites_->sites.data())];
    }

  private:
    const Sites* sites_;
    std::vector<std::string> names_;
};

/// Of the grafts whose constants are data, in their order; `sites` are theirs.
[[nodiscard]] std::vector<ConstantBank> banks_of(const BankNames& names, std::span<const Site* const> sites,
                                                 std::span<const Graft> grafts);
/// The stub's text with the name of its variable.
[[nodiscard]] std::string text_with_bank(const ConstantBank& bank);
/// The variables, as they stand behind the head of a module.
[[nodiscard]] std::string declarations(std::span<const ConstantBank> banks, bool with_values);
/// What a device writes into them.
[[nodiscard]] std::vector<device::Bank> device_banks(std::span<const ConstantBank> banks);
/// Adds what is equal for stubs at one site that differ in constants alone.
void add_structure(link::KeyBuilder& key, const Stub& stub, const Site& site);

/// What is kept of structures: their texts, and their machine code. Threads: any number may use one.
class Structures {
  public:
    using Text = std::shared_ptr<const SourceText>;
    /// `make` may be called by several threads at once; they get one text.
    template <class Make> [[nodiscard]] Text find_or_make(const link::Key& key, Make make) {
        if (Text text = find(key)) return text;
        return keep(key, make());
    }
    /// Of machine code, in memory.
    [[nodiscard]] const Cache& cache();

  private:
    [[nodiscard]] Text find(const link::Key& key) const;
    Text keep(const link::Key& key, Text text);

    struct Hash {
        std::size_t operator()(const link::Key& key) const { return static_cast<std::size_t>(key.low); }
    };
    mutable std::mutex mutex_;
    std::unordered_map<link::Key, Text, Hash> texts_;
    std::deque<link::Key> order_;  // of texts_, the oldest first
    std::size_t bytes_ = 0;
    std::once_flag opened_;
    std::optional<Cache> cache_;
};

}  // namespace ptxgraft::kernel
