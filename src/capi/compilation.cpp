// Many programs compiled at once in C.

#include <fmt/format.h>

#include <cstring>
#include <deque>

#include "base/threads.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/stack_options.hpp"
#include "ptxgraft/program_view.hpp"

using namespace ptxgraft;
using capi::call;

namespace {

using stack::Batch, stack::Instruction, stack::ProgramView;

// What the bytes of a caller are as programs, which are looked at where they stand as far as that goes.
class Decoded {
  public:
    [[nodiscard]] static Expected<Decoded> make(const ptxgraft_programs& given,
                                                const ptxgraft_machine& machine, std::uint32_t threads) {
        TRY(check(given));
        Decoded result;
        if (given.encoding == PTXGRAFT_ENCODING_code)
            result.look_at(given);
        else
            result.read(given, ptxgraft_machine_get_hash(&machine), threads);
        return result;
    }

    /// Those that are programs.
    [[nodiscard]] const std::vector<ProgramView>& views() const { return views_; }
    /// Puts an error into a batch of these for each of the bytes that are no program.
    void add_errors(Batch& batch) {
        if (views_.size() == checked_.size() || checked_.empty()) return;
        std::vector<Batch::Item> items;
        items.reserve(checked_.size());
        for (auto compiled = batch.items.begin(); auto& program : checked_) {
            if (program) {
                items.push_back(*compiled++);
                continue;
            }
            items.push_back({.error = static_cast<std::uint32_t>(batch.errors.size())});
            batch.errors.push_back(std::move(program.error()));
        }
        batch.items = std::move(items);
    }

  private:
    static Expected<void> check(const ptxgraft_programs& given) {
        TRY(capi::check_enumerators({{"encoding", given.encoding, PTXGRAFT_ENCODING_checked}}));
        TRY(capi::check_list(given.offsets, given.count, "offsets", "count"));
        if (given.count == 0) return {};
        TRY(capi::check_required({{given.bytes, "bytes"}}));
        for (std::size_t i = 0; i < given.count; ++i) {
            const std::size_t begin = given.offsets[i], end = given.offsets[i + 1];
            if (begin > end)
                return capi::fail_at(i, fmt::format("offsets[{}] is {}, and the next one {}", i, begin, end));
            if (given.encoding == PTXGRAFT_ENCODING_code && (end - begin) % sizeof(Instruction) != 0)
                return capi::fail_at(
                    i, fmt::format("program {} has {} bytes; an instruction has 8", i, end - begin));
        }
        return {};
    }

    void look_at(const ptxgraft_programs& given) {
        const auto* bytes = static_cast<const std::byte*>(given.bytes);
        bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes) % alignof(Instruction) == 0;
        for (std::size_t i = 0; i < given.count; ++i)
            is_aligned &= given.offsets[i] % alignof(Instruction) == 0;
        if (!is_aligned) return copy(given);
        views_.reserve(given.count);
        for (std::size_t i = 0; i < given.count; ++i)
            views_.emplace_back(std::span(reinterpret_cast<const Instruction*>(bytes + given.offsets[i]),
                                          (given.offsets[i + 1] - given.offsets[i]) / sizeof(Instruction)));
    }

    void copy(const ptxgraft_programs& given) {
        const std::size_t* const at = given.offsets;
        copy_.resize((at[given.count] - at[0]) / sizeof(Instruction));
        Instruction* to = copy_.data();
        for (std::size_t i = 0; i < given.count; ++i) {
            const std::size_t size = at[i + 1] - at[i];
            if (size != 0)
                std::memcpy(static_cast<void*>(to), static_cast<const std::byte*>(given.bytes) + at[i], size);
            views_.emplace_back(std::span<const Instruction>(to, size / sizeof(Instruction)));
            to += size / sizeof(Instruction);
        }
    }

    void read(const ptxgraft_programs& given, std::uint64_t machine, std::uint32_t threads) {
        checked_.resize(given.count);
        const std::size_t parts =
            std::max<std::size_t>(1, std::min<std::size_t>(thread_count(threads), given.count));
        read_.resize(parts);
        on_threads(parts, [&](std::size_t part) {
            for (std::size_t i = part * given.count / parts; i < (part + 1) * given.count / parts; ++i) {
                const std::span bytes(static_cast<const std::byte*>(given.bytes) + given.offsets[i],
                                      given.offsets[i + 1] - given.offsets[i]);
                checked_[i] = view_of(bytes, machine, read_[part]);
            }
        });
        views_.reserve(given.count);
        for (const auto& program : checked_)
            if (program) views_.push_back(*program);
    }

    // Where it stands, or where it is put.
    static Expected<ProgramView> view_of(std::span<const std::byte> bytes, std::uint64_t machine,
                                         std::deque<stack::Program>& read) {
        const auto there = TRY(stack::view_of_bytes(bytes, machine));
        if (there) return *there;
        auto program = TRY(stack::program_from_bytes(bytes, machine));
        return ProgramView(read.emplace_back(std::move(program)));
    }

    std::vector<ProgramView> views_;
    std::vector<Expected<ProgramView>> checked_;    // one for each of the checked bytes
    std::vector<std::deque<stack::Program>> read_;  // of those that cannot be looked at, by thread
    std::vector<Instruction> copy_;                 // of bare code that is not aligned
};

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_compilation_create(ptxgraft_compilation** compilation,
                                            const ptxgraft_machine* machine,
                                            const ptxgraft_programs* programs,
                                            const ptxgraft_compile_options* options, uint32_t threads) {
    const auto body = [&]() -> Expected<void> {
        const auto how = TRY(capi::mutated_options(options));
        auto decoded = TRY(Decoded::make(*programs, *machine, threads));
        auto batch = stack::compile_batch(decoded.views(), machine->machine, {how, threads});
        decoded.add_errors(batch);
        *compilation = new ptxgraft_compilation{std::move(batch)};
        return {};
    };
    return call({{compilation, "compilation"}, {machine, "machine"}, {programs, "programs"}}, body);
}

void ptxgraft_compilation_destroy(ptxgraft_compilation* compilation) { delete compilation; }

size_t ptxgraft_compilation_get_count(const ptxgraft_compilation* compilation) {
    return capi::get(compilation, "compilation", size_t{0},
                     [](const ptxgraft_compilation& c) { return c.batch.items.size(); });
}

const char* ptxgraft_compilation_get_text(const ptxgraft_compilation* compilation) {
    return capi::get(compilation, "compilation", "",
                     [](const ptxgraft_compilation& c) { return c.batch.text.c_str(); });
}

const uint64_t* ptxgraft_compilation_get_constants(const ptxgraft_compilation* compilation) {
    return capi::get(compilation, "compilation", static_cast<const uint64_t*>(nullptr),
                     [](const ptxgraft_compilation& c) {
                         return c.batch.constants.empty() ? nullptr : c.batch.constants.data();
                     });
}

ptxgraft_status ptxgraft_compilation_read(const ptxgraft_compilation_arrays* arrays,
                                          const ptxgraft_compilation* compilation) {
    return call({{arrays, "arrays"}, {compilation, "compilation"}}, [&]() -> Expected<void> {
        const auto to = TRY(capi::options_of(arrays));
        const Batch& batch = compilation->batch;
        const auto fill = [&](auto* array, auto value) {
            if (array == nullptr) return;
            for (const Batch::Item& item : batch.items) *array++ = value(item);
        };
        fill(to.statuses, [&](const Batch::Item& i) {
            return i.error == Batch::none ? PTXGRAFT_STATUS_ok
                                          : static_cast<ptxgraft_status>(batch.errors[i.error].code);
        });
        fill(to.instruction_counts, [](const Batch::Item& i) { return i.instruction_count; });
        fill(to.hashes, [](const Batch::Item& i) { return i.hash; });
        fill(to.structures, [](const Batch::Item& i) { return i.parts.structure; });
        fill(to.constant_hashes, [](const Batch::Item& i) { return i.parts.constants; });
        const auto offsets = [&](size_t* array, auto size) {
            if (array == nullptr) return;
            size_t at = *array = 0;
            for (const Batch::Item& item : batch.items) *++array = at += size(item);
        };
        offsets(to.text_offsets, [](const Batch::Item& i) { return i.end - i.begin; });
        offsets(to.constant_offsets,
                [](const Batch::Item& i) { return i.constants_end - i.constants_begin; });
        return {};
    });
}

ptxgraft_status ptxgraft_compilation_get_ptx(char* text, size_t* size,
                                             const ptxgraft_compilation* compilation, size_t program) {
    return call({{size, "size"}, {compilation, "compilation"}}, [&]() -> Expected<void> {
        const Batch& batch = compilation->batch;
        TRY(capi::check_index(program, batch.items.size(), "program"));
        const Batch::Item& item = batch.items[program];
        if (item.error != Batch::none) return tl::unexpected(batch.errors[item.error]);
        return capi::give_text(text, size,
                               std::string_view(batch.text).substr(item.begin, item.end - item.begin));
    });
}

}  // extern "C"
