// Many candidates at once in C.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/graft_options.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;

namespace {

using Candidates = std::vector<std::vector<Graft>>;

Expected<Candidates> read_candidates(const ptxgraft_batch_options& given) {
    TRY(capi::check_list(given.candidates, given.candidate_count, "candidates", "candidate_count"));
    Candidates result;
    for (std::size_t i = 0; i < given.candidate_count; ++i) {
        const auto& [grafts, count] = given.candidates[i];
        auto read = capi::read_grafts(grafts, count, "graft_count");
        if (!read) return capi::fail_at(i, fmt::format("candidates[{}]: {}", i, *read.error().detail));
        result.push_back(std::move(*read));
    }
    return result;
}

// What the candidates have in common, which is all but their grafts.
Expected<capi::GraftRequest> read_request(const ptxgraft_graft_options* options) {
    auto request = TRY(capi::GraftRequest::read(options));
    if (request.grafts.empty()) return request;
    return fail(Errc::argument_invalid, "graft_count is above 0: each candidate has grafts of its own");
}

ManyOptions many_options(const ptxgraft_batch_options& given) {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    ManyOptions result{
        .threads = given.threads,
        .stubs_per_module = given.stubs_per_module,
        .variants_per_module = static_cast<std::uint32_t>(std::min(given.variants_per_module, most))};
    if (given.stop != nullptr) result.stop = given.stop->source.get_token();
    return result;
}

// The caller's on_result, of machine code or of kernels.
class Caller {
  public:
    explicit Caller(const ptxgraft_batch_options& given) : call_(given.on_result), payload_(given.payload) {}

    template <class T> [[nodiscard]] OnResult<T> on_result() const {
        if (call_ == nullptr) return {};
        return [*this](std::size_t index, const Expected<T>& result) {
            if (result) return tell(index, *result);
            call_(index, capi::report(result.error()), nullptr, nullptr, payload_);
        };
    }

  private:
    void tell(std::size_t index, const MachineCode& result) const {
        const ptxgraft_machine_code code{result};
        call_(index, PTXGRAFT_STATUS_ok, &code, nullptr, payload_);
    }
    void tell(std::size_t index, const Kernel& result) const {
        const ptxgraft_machine_code code{result.machine_code()};
        const ptxgraft_kernel kernel(result);
        call_(index, PTXGRAFT_STATUS_ok, &code, &kernel, payload_);
    }

    decltype(ptxgraft_batch_options::on_result) call_;
    void* payload_;
};

// Runs work(candidates, many, caller): the results.
template <class Work>
Expected<void> give_batch(ptxgraft_batch** batch, const ptxgraft_batch_options* many, Work work) {
    const auto given = TRY(capi::options_of(many));
    const auto candidates = TRY(read_candidates(given));
    auto made = std::make_unique<ptxgraft_batch>();
    made->results = work(candidates, many_options(given), Caller(given));
    *batch = made.release();
    return {};
}

template <class T> Expected<T> candidate_of(const std::vector<Expected<T>>& results, std::size_t candidate) {
    TRY(capi::check_index(candidate, results.size(), "candidate"));
    return results[candidate];
}

Expected<MachineCode> machine_code_of(const ptxgraft_batch& batch, std::size_t candidate) {
    if (const auto* const codes = std::get_if<0>(&batch.results)) return candidate_of(*codes, candidate);
    const auto kernel = TRY(candidate_of(std::get<1>(batch.results), candidate));
    return kernel.machine_code();
}

Expected<Kernel> kernel_of(const ptxgraft_batch& batch, std::size_t candidate) {
    if (const auto* const kernels = std::get_if<1>(&batch.results)) return candidate_of(*kernels, candidate);
    return fail(Errc::argument_invalid, "the batch was not made on a device: it has no kernels");
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_batch_create(ptxgraft_batch** batch, const ptxgraft_skeleton* skeleton,
                                      const ptxgraft_graft_options* options,
                                      const ptxgraft_batch_options* many) {
    return call({{batch, "batch"}, {skeleton, "skeleton"}, {many, "many"}}, [&]() -> Expected<void> {
        const auto request = TRY(read_request(options));
        const Skeleton held = skeleton->skeleton;
        return give_batch(batch, many, [&](const auto& candidates, const auto& how, const Caller& caller) {
            return held.assemble_many(candidates, request.options(), how, caller.on_result<MachineCode>());
        });
    });
}

ptxgraft_status ptxgraft_batch_create_on_device(ptxgraft_batch** batch, const ptxgraft_skeleton* skeleton,
                                                const ptxgraft_device* device,
                                                const ptxgraft_graft_options* options,
                                                const ptxgraft_batch_options* many) {
    const auto body = [&]() -> Expected<void> {
        const auto request = TRY(read_request(options));
        TRY(capi::check_loadable(request.options()));
        const Skeleton held = skeleton->skeleton;
        const Device on = device->device;
        return give_batch(batch, many, [&](const auto& candidates, const auto& how, const Caller& caller) {
            return held.graft_many(candidates, on, request.options(), how, caller.on_result<Kernel>());
        });
    };
    return call({{batch, "batch"}, {skeleton, "skeleton"}, {device, "device"}, {many, "many"}}, body);
}

void ptxgraft_batch_destroy(ptxgraft_batch* batch) { delete batch; }

size_t ptxgraft_batch_get_count(const ptxgraft_batch* batch) {
    return capi::get(batch, "batch", size_t{0}, [](const ptxgraft_batch& b) {
        return std::visit([](const auto& results) { return results.size(); }, b.results);
    });
}

ptxgraft_status ptxgraft_machine_code_create_from_batch(ptxgraft_machine_code** code,
                                                        const ptxgraft_batch* batch, size_t candidate) {
    return call({{code, "code"}, {batch, "batch"}},
                [&] { return capi::give(code, machine_code_of(*batch, candidate)); });
}

ptxgraft_status ptxgraft_kernel_create_from_batch(ptxgraft_kernel** kernel, const ptxgraft_batch* batch,
                                                  size_t candidate) {
    return call({{kernel, "kernel"}, {batch, "batch"}},
                [&] { return capi::give(kernel, kernel_of(*batch, candidate)); });
}

}  // extern "C"
