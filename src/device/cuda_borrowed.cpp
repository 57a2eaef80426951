// Kernels that somebody else loaded: what the driver says of them.

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/try.hpp"
#include "device/cuda_entry.hpp"

namespace ptxgraft::device {

using driver::Driver;
using driver::FunctionAttribute;
using driver::Result;

namespace {

Expected<driver::Function> function_of(const CudaContext& context, FunctionHandle kind,
                                       std::uint64_t handle) {
    if (kind == FunctionHandle::function) return reinterpret_cast<driver::Function>(handle);
    TRY(Driver::present(context.driver().cuKernelGetFunction, "cuKernelGetFunction"));
    driver::Function function = nullptr;
    TRY(context.checked("cuKernelGetFunction", [&](const Driver& driver) {
        return driver.cuKernelGetFunction(&function, reinterpret_cast<driver::Kernel>(handle));
    }));
    return function;
}

// The driver knows nothing of types.
ParameterInfo parameter(std::size_t number, std::size_t bytes) {
    const bool is_number = bytes == 2 || bytes == 4 || bytes == 8;
    return {std::to_string(number), is_number ? fmt::format("b{}", bytes * 8) : "b8",
            static_cast<std::uint32_t>(bytes)};
}

// Behind the last one there is Result::invalid_value (CUDA Driver API, cuFuncGetParamInfo).
Expected<std::vector<ParameterInfo>> parameters_of(const CudaContext& context, driver::Function function) {
    TRY(Driver::present(context.driver().cuFuncGetParamInfo, "cuFuncGetParamInfo"));
    std::vector<ParameterInfo> list;
    const Result ended = context.run([&](const Driver& driver) {
        for (;;) {
            std::size_t offset = 0, bytes = 0;
            const Result got = driver.cuFuncGetParamInfo(function, list.size(), &offset, &bytes);
            if (got != Result::success) return got;
            list.push_back(parameter(list.size(), bytes));
        }
    });
    if (ended != Result::invalid_value) TRY(context.check(ended, "cuFuncGetParamInfo"));
    return list;
}

Expected<std::string> name_of(const CudaContext& context, driver::Function function) {
    TRY(Driver::present(context.driver().cuFuncGetName, "cuFuncGetName"));
    const char* name = nullptr;
    TRY(context.checked("cuFuncGetName",
                        [&](const Driver& driver) { return driver.cuFuncGetName(&name, function); }));
    return std::string(name == nullptr ? "" : name);
}

Expected<void> take_cluster(launch::EntryInfo& info, const CudaContext& context, driver::Function function) {
    constexpr std::array attributes{
        FunctionAttribute::cluster_size_must_be_set, FunctionAttribute::required_cluster_width,
        FunctionAttribute::required_cluster_height, FunctionAttribute::required_cluster_depth};
    std::array<int, attributes.size()> values{};
    TRY(context.checked("cuFuncGetAttribute", [&](const Driver& driver) {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (const Result got = driver.cuFuncGetAttribute(&values[i], attributes[i], function);
                got != Result::success)
                return got;
        return Result::success;
    }));
    info.is_explicit_cluster = values[0] > 0;
    if (values[1] > 0)
        info.required_cluster =
            Dim3{static_cast<std::uint32_t>(values[1]), static_cast<std::uint32_t>(values[2]),
                 static_cast<std::uint32_t>(values[3])};
    return {};
}

}  // namespace

Expected<BorrowedEntry> borrow_cuda_entry(std::shared_ptr<const CudaContext> context, BlockLimits limits,
                                          FunctionHandle kind, std::uint64_t handle) {
    driver::Function const function = TRY(function_of(*context, kind, handle));
    launch::EntryInfo info;
    info.name = TRY(name_of(*context, function));
    info.parameters = TRY(parameters_of(*context, function));
    TRY(take_cluster(info, *context, function));
    const auto module = std::make_shared<CudaModule>(std::move(context), limits);
    TRY(module->borrow_of(function));
    auto entry = TRY(CudaEntry::borrow(module, function));
    return BorrowedEntry{std::move(info), std::move(entry)};
}

}  // namespace ptxgraft::device
