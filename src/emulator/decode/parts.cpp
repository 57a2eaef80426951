// Long modules in several threads.
#include <algorithm>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

#include "base/lent.hpp"
#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

// All decode the functions, which should not be most of the module; a short one takes less time than a
// thread.
std::uint32_t count_parts(const syntax::Module& module, std::uint32_t threads) {
    constexpr std::uint64_t least_bytes = 1 << 20;
    const std::uint64_t size = module.source().size(),
                        wanted = std::min<std::uint64_t>(threads, size / least_bytes);
    if (wanted < 2) return 1;
    std::uint64_t of_functions = 0, begin = size;
    const std::vector<syntax::Statement> functions = module.functions();
    for (auto at = functions.rbegin(); at != functions.rend(); ++at) {
        const std::uint64_t end = std::exchange(begin, at->span().begin);
        if (at->is_definition() && !at->is_entry()) of_functions += end - begin;
    }
    return of_functions > size / 8 ? 1 : static_cast<std::uint32_t>(wanted);
}

struct Part {
    Part(const syntax::Module& module, ModuleVariables& variables, const ModuleDecoder& first)
        : decoder(module, variables, *kept) {
        decoder.declare_as(first);
    }
    const Lent<DecoderMemory> kept;
    ModuleDecoder decoder;
};

class Parts {
  public:
    Parts(const syntax::Module& module, ModuleVariables& variables, std::uint32_t count)
        : module_(module), variables_(variables), first_(module, variables, *kept_), count_(count) {}

    // Of the first error in the text, or none.
    Expected<void> decode() {
        TRY(first_.declare());
        std::vector<std::future<Expected<void>>> results;
        for (std::uint32_t i = 1; i < count_; ++i) {
            Part& part = *others_.emplace_back(std::make_unique<Part>(module_, variables_, first_));
            results.push_back(in_a_thread([&part, i, this] {
                return part.decoder.decode_bodies({i, count_});
            }));
        }
        Expected<void> result = first_.decode_bodies({0, count_});
        for (auto& one : results) {
            Expected<void> other = one.get();
            if (result && !other) result = std::move(other);
        }
        if (needs_order()) return decode_in_order();
        return result ? first_.initialise() : result;
    }
    Expected<std::vector<Program>> programs() {
        std::vector<ModuleDecoder*> decoders;
        if (!is_in_order_) decoders.push_back(&first_);
        for (const auto& part : others_) decoders.push_back(&part->decoder);
        std::vector<Program> all;
        for (ModuleDecoder* decoder : decoders) {
            auto program = TRY(decoder->finish());
            all.push_back(std::move(program));
        }
        return all;
    }

  private:
    [[nodiscard]] bool needs_order() const {
        return first_.needs_order() ||
               std::ranges::any_of(others_, [](const auto& part) { return part->decoder.needs_order(); });
    }
    // Once more, in one part. The module's own variables have their places.
    Expected<void> decode_in_order() {
        is_in_order_ = true;
        others_.clear();
        ModuleDecoder& whole =
            others_.emplace_back(std::make_unique<Part>(module_, variables_, first_))->decoder;
        std::swap(whole.program.variables, first_.program.variables);
        TRY(whole.decode_bodies(ModulePart()));
        TRY(first_.initialise());
        return whole.initialise();
    }

    template <class Work> static std::future<Expected<void>> in_a_thread(const Work& work) {
        try {
            return std::async(std::launch::async, work);
        } catch (const std::system_error&) {  // this thread does it
            return std::async(std::launch::deferred, work);
        }
    }

    const syntax::Module& module_;
    ModuleVariables& variables_;
    const Lent<DecoderMemory> kept_;
    ModuleDecoder first_;
    std::uint32_t count_;
    std::vector<std::unique_ptr<Part>> others_;
    bool is_in_order_ = false;
};

}  // namespace

Expected<std::vector<Program>> decode_in_parts(const syntax::Module& module, ModuleVariables& variables,
                                               std::uint32_t threads) {
    Parts parts(module, variables, count_parts(module, threads));
    TRY(parts.decode());
    return parts.programs();
}

}  // namespace ptxgraft::emulator
