#pragma once
/// @file skeleton_data.hpp
/// What a Skeleton holds: the module with its sites, and what its candidates share.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernel/banks.hpp"
#include "kernel/linking.hpp"
#include "kernel/route.hpp"
#include "kernel/variants.hpp"
#include "launch/module_info.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft {

struct Skeleton::Data {
    std::string ptx;
    Sites sites;
    std::shared_ptr<const launch::ModuleInfo> info;
    std::vector<std::string> entries;  // names
    mutable kernel::Linking linking = {};
    mutable kernel::Structures structures = {};

    /// Made when it is first asked for.
    [[nodiscard]] const Expected<kernel::RoutePlan>& plan() const {
        std::call_once(planned_, [this] { plan_ = kernel::RoutePlan::make(ptx, sites); });
        return *plan_;
    }

    /// Made when it is first asked for.
    [[nodiscard]] const Expected<kernel::VariantPlan>& variants() const {
        std::call_once(split_, [this] { variants_ = kernel::VariantPlan::make(ptx, sites); });
        return *variants_;
    }

    /// Of the variables for constants; made when somebody asks for one.
    [[nodiscard]] const kernel::BankNames& banks() const {
        std::call_once(named_, [this] { banks_.emplace(ptx, sites); });
        return *banks_;
    }

    /// Of the text.
    [[nodiscard]] const link::Key& key() const {
        std::call_once(hashed_, [this] {
            link::KeyBuilder key;
            key.add(ptx);
            key_ = key.key();
        });
        return key_;
    }

  private:
    mutable std::once_flag split_;
    mutable std::optional<Expected<kernel::VariantPlan>> variants_;
    mutable std::once_flag named_;
    mutable std::optional<kernel::BankNames> banks_;
    mutable std::once_flag hashed_;
    mutable link::Key key_;
    mutable std::once_flag planned_;
    mutable std::optional<Expected<kernel::RoutePlan>> plan_;
};

}  // namespace ptxgraft
