// libcu++ and Thrust inside a kernel: optional, variant, tuple, array, span, complex, string_view, sorted
// ranges; Thrust's sequential algorithms; barriers, latches and semaphores between threads.
#ifdef __CUDACC__
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
#else
#include <array>
#include <complex>
#include <optional>
#include <span>
#include <tuple>
#include <variant>
#endif
#include "twin.hpp"

namespace libraries {

#ifdef __CUDACC__
namespace lib = cuda::std;
#else
namespace lib = std;
#endif

struct Results {
    u64 types;
    float re, im;
    u32 sorted, unique, sum, found, common, scanned;
};

struct Measure {
    BOTH u64 operator()(u32 x) const { return x; }
    BOTH u64 operator()(double x) const { return (u64)(x * 8); }
    BOTH u64 operator()(const lib::array<u16, 3>& x) const { return x[0] + x[1] * 10u + x[2] * 100u; }
};
BOTH inline lib::optional<u32> root(u32 x) {
    for (u32 i = 0; i * i <= x; ++i)
        if (i * i == x) return i;
    return {};
}
BOTH inline u64 types(u32 x) {
    lib::variant<u32, double, lib::array<u16, 3>> v = x;
    if (x % 3 == 1) v = x * 0.5;
    if (x % 3 == 2) v = lib::array<u16, 3>{(u16)x, 2, (u16)(x >> 3)};
    const auto [a, b, c] =
        lib::make_tuple(lib::visit(Measure(), v), root(x % 50).value_or(1000), (u8)v.index());
    u32 values[6] = {x, 2, 3, x / 2, 5, 6};
    u64 sum = 0;
    for (const u32 y : lib::span<u32>(values).subspan(x % 3, 3)) sum = sum * 7 + y;
    return a * 100000 + b * 10 + c + sum;
}
BOTH inline lib::complex<float> orbit(u32 x) {
    lib::complex<float> z(0, 0);
    const lib::complex<float> c((float)(x % 16) * 0.0625f - 0.5f, (float)(x / 16 % 16) * 0.0625f - 0.5f);
    for (int i = 0; i < 4; ++i)
        z = lib::complex<float>(z.real() * z.real() - z.imag() * z.imag(), 2 * z.real() * z.imag()) + c;
    return z;
}

#ifdef __CUDACC__
ENTRY all(const u32* in, Results* out, u32 count) {
    const u32 t = thread_number();
    if (t >= count) return;
    Results& r = out[t];
    r.types = types(in[t]);
    const auto z = orbit(in[t]);
    r.re = z.real(), r.im = z.imag();
    u32 a[20], b[20], c[40];
    for (u32 i = 0; i < 20; ++i) a[i] = in[(t + i) % count] % 30, b[i] = in[(t * 3 + i) % count] % 30;
    thrust::inclusive_scan(thrust::seq, a, a + 20, c);
    r.scanned = c[19] * 1000 + c[10];
    thrust::sort(thrust::seq, a, a + 20);
    thrust::stable_sort(thrust::seq, b, b + 20, [](u32 x, u32 y) { return x % 10 < y % 10; });
    r.sorted = 0;
    for (u32 i = 0; i < 20; ++i) r.sorted = r.sorted * 31 + a[i] * 7 + b[i];
    r.sum = thrust::reduce(thrust::seq, b, b + 20, 5u, thrust::maximum<u32>());
    thrust::sort(thrust::seq, b, b + 20);
    r.common = (u32)(thrust::set_intersection(thrust::seq, a, a + 20, b, b + 20, c) - c);
    r.unique = (u32)(thrust::unique(thrust::seq, a, a + 20) - a);
    r.found = (u32)(thrust::lower_bound(thrust::seq, a, a + r.unique, 15u) - a);
}

ENTRY waiting(const u32* in, u32* out) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier barrier;
    using Latch = cuda::latch<cuda::thread_scope_block>;
    using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
    __shared__ alignas(Latch) char latch_storage[sizeof(Latch)];
    __shared__ alignas(Semaphore) char semaphore_storage[sizeof(Semaphore)];
    __shared__ u32 a[64], finished;
    Latch& latch = reinterpret_cast<Latch&>(latch_storage);
    Semaphore& semaphore = reinterpret_cast<Semaphore&>(semaphore_storage);
    const u32 t = threadIdx.x;
    if (t == 0) {
        init(&barrier, 64), new (&latch) Latch(64), new (&semaphore) Semaphore(1);
        finished = 0;
    }
    __syncthreads();
    u32 x = in[t];
    for (u32 i = 0; i < 4; ++i) {
        a[t] = x;
        auto token = barrier.arrive();
        const u32 meanwhile = x * 3;
        barrier.wait(static_cast<Barrier::arrival_token&&>(token));
        x = meanwhile + a[(t + 1) % 64];
        barrier.arrive_and_wait();
    }
    if (t % 32 == 5) {  // one lane of each warp
        semaphore.acquire();
        finished = finished * 2 + 1;
        semaphore.release();
    }
    latch.arrive_and_wait();
    out[t] = x + finished;
}
#else

static Results results(const std::vector<u32>& in, u32 t) {
    const u32 count = (u32)in.size();
    Results r;
    r.types = types(in[t]);
    const auto z = orbit(in[t]);
    r.re = z.real(), r.im = z.imag();
    std::vector<u32> a(20), b(20), c(20);
    for (u32 i = 0; i < 20; ++i) a[i] = in[(t + i) % count] % 30, b[i] = in[(t * 3 + i) % count] % 30;
    std::partial_sum(a.begin(), a.end(), c.begin());
    r.scanned = c[19] * 1000 + c[10];
    std::sort(a.begin(), a.end());
    std::stable_sort(b.begin(), b.end(), [](u32 x, u32 y) { return x % 10 < y % 10; });
    r.sorted = 0;
    for (u32 i = 0; i < 20; ++i) r.sorted = r.sorted * 31 + a[i] * 7 + b[i];
    r.sum = std::max(5u, *std::max_element(b.begin(), b.end()));
    std::sort(b.begin(), b.end());
    std::vector<u32> common;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
    r.common = (u32)common.size();
    a.erase(std::unique(a.begin(), a.end()), a.end());
    r.unique = (u32)a.size(), r.found = (u32)(std::lower_bound(a.begin(), a.end(), 15) - a.begin());
    return r;
}

TWIN(Libraries, "sm_80 nvcc --extended-lambda -fmad=false", "sm_90a nvcc -G --extended-lambda -fmad=false") {
    const auto in = run.random_values<u32>(96);
    std::vector<Results> host;
    for (u32 t = 0; t < 96; ++t) host.push_back(results(in, t));
    const u64 out = run.zeros<Results>(96), at = run.upload(in), waited = run.zeros<u32>(64);
    run.launch("all", {.grid = 3, .block = 32}, at, out, 96u);
    run.expect_same("all", run.download<Results>(out, 96), host);
    run.launch("waiting", {.block = 64}, at, waited);
    std::vector<u32> x(in.begin(), in.begin() + 64);
    for (u32 i = 0; i < 4; ++i) {
        const auto before = x;
        for (u32 t = 0; t < 64; ++t) x[t] = before[t] * 3 + before[(t + 1) % 64];
    }
    for (u32& v : x) v += 3;
    run.expect_same("waited", run.download<u32>(waited, 64), x);
}
#endif
}  // namespace libraries
