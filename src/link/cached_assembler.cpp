// An assembler behind a cache, and the keys of machine code.

#include <algorithm>
#include <string>
#include <utility>

#include "link/archive.hpp"
#include "link/cache.hpp"

namespace ptxgraft {
namespace link {

void add_options(KeyBuilder& key, const AssembleOptions& options) {
    std::string bytes;
    Writer writer(bytes);
    writer(options);
    key.add(bytes);
}

bool names_file(const AssembleOptions& options) {
    return std::any_of(options.options.begin(), options.options.end(), [](const std::string& option) {
        return option.find("options-file") != std::string::npos || option.find("optf") != std::string::npos;
    });
}

std::optional<Key> assembly_key(std::string_view ptx, const AssembleOptions& options,
                                const Assembler& assembler) {
    if (names_file(options)) return std::nullopt;
    KeyBuilder key;
    key.add("assemble " PTXGRAFT_VERSION_STRING);
    key.add(assembler.name());
    key.add(assembler.version());
    add_options(key, options);
    key.add(ptx);
    return key.key();
}

bool is_of_input(Errc code) {
    constexpr int first_of_syntax = 100, behind_stub = 500;  // blocks whose stages read their input alone
    const int number = static_cast<int>(code);
    if (number >= first_of_syntax && number < behind_stub) return true;
    switch (code) {
        case Errc::argument_invalid:
        case Errc::text_too_large:
        case Errc::cuda_compile_failed:
        case Errc::assemble_failed:
        case Errc::performance_loss:
        case Errc::assemble_limit_exceeded:
        case Errc::module_refused:
        case Errc::link_failed:
        case Errc::target_differs:
        case Errc::route_not_possible: return true;
        default: return false;
    }
}

namespace {

class CachedAssembler final : public Assembler {
  public:
    CachedAssembler(std::shared_ptr<const Assembler> assembler, Cache cache)
        : assembler_(std::move(assembler)), cache_(std::move(cache)) {}

    std::string_view name() const override { return assembler_->name(); }
    std::string version() const override { return assembler_->version(); }
    bool is_other_process() const override { return assembler_->is_other_process(); }

    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        const auto key = assembly_key(ptx, options, *assembler_);
        if (!key) return assembler_->assemble(ptx, options);
        std::optional<Error> stopped;  // by the stop of this call, which is not the others'
        const auto make = [&]() -> Expected<Cubin> {
            auto cubin = assembler_->assemble(ptx, options);
            if (cubin || is_of_input(cubin.error().code) || !options.stop.stop_requested()) return cubin;
            stopped = std::move(cubin.error());
            return fail(Errc::work_stopped);
        };
        const auto cubin = find_or_make(cache_, *key, make);
        if (stopped) return tl::unexpected(std::move(*stopped));
        if (!cubin) return tl::unexpected(cubin.error());
        return **cubin;
    }

  private:
    std::shared_ptr<const Assembler> assembler_;
    Cache cache_;
};

}  // namespace
}  // namespace link

std::shared_ptr<const Assembler> cached(std::shared_ptr<const Assembler> assembler, Cache cache) {
    return std::make_shared<const link::CachedAssembler>(std::move(assembler), std::move(cache));
}

std::shared_ptr<const Assembler> cached(const Assembler& assembler, Cache cache) {
    return cached(std::shared_ptr<const Assembler>(std::shared_ptr<const Assembler>(), &assembler),
                  std::move(cache));
}

}  // namespace ptxgraft
