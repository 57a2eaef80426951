#pragma once
/// @file link_examples.hpp
/// A kernel, and how the tests of compiling and linking look at errors.

#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::test {

inline std::string_view at(std::string_view source, Span span) {
    return span.known() ? source.substr(span.begin, span.end - span.begin) : "(nowhere)";
}

inline std::string detail(const Error& error) { return error.detail ? *error.detail : ""; }

inline constexpr std::string_view sum_cu = R"(
extern "C" __global__ void sum(const float* x, float* y, int n) {
    __shared__ float part[128];
    part[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < n; i += 128) part[threadIdx.x] += x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float s = 0;
        for (float p : part) s += p;
        *y = s;
    }
}
)";

}  // namespace ptxgraft::test
