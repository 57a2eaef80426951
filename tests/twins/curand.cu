// cuRAND's device generators, whose headers are compiled for the host as well: XORWOW, MRG32k3a, Philox,
// scrambled or not; uniform, normal, lognormal and Poisson numbers.
#ifdef __CUDACC__
#if __has_include(<curand_kernel.h>)
#include <curand_kernel.h>
#endif
#elif __has_include(<curand_kernel.h>)
#define QUALIFIERS [[maybe_unused]] static inline
#include <cuda_runtime.h>
#include <curand_kernel.h>
#endif
#include "twin.hpp"

namespace curand_twin {

#if __has_include(<curand_kernel.h>)
#ifdef __CUDACC__
#define DRAW DEVICE
#else
#define DRAW static
#endif

constexpr u32 whole = 12, reals = 14;

template <class State> DRAW void draw(State& s, u32* out, float* single, double* real) {
    for (u32 i = 0; i < 6; ++i) out[i] = curand(&s);
    for (u32 i = 0; i < 4; ++i) single[i] = curand_uniform(&s);
    real[0] = curand_uniform_double(&s), real[1] = curand_normal_double(&s),
    real[2] = curand_log_normal_double(&s, 0.5, 0.25);
    single[4] = curand_normal(&s), single[5] = curand_normal(&s),
    single[6] = curand_log_normal(&s, 0.1f, 0.5f);
    const float2 pair = curand_normal2(&s);
    single[7] = pair.x, single[8] = pair.y;
    out[6] = curand_poisson(&s, 3.5), out[7] = curand_poisson(&s, 90), out[8] = curand_poisson(&s, 5000);
    skipahead(1000ull, &s);
    out[9] = curand(&s);
    skipahead_sequence(3ull, &s);
    out[10] = curand(&s), out[11] = 0;
}

DRAW void draw_all(u32 t, u32* out, float* single, double* real) {
    curandStateXORWOW_t xorwow;
    curand_init(1234ull + t, t, t * 5, &xorwow);
    draw(xorwow, out, single, real);
    curandStateMRG32k3a_t mrg;
    curand_init(99ull * t + 1, t, 7, &mrg);
    draw(mrg, out + whole, single + reals, real + 3);
    curandStatePhilox4_32_10_t philox;
    curand_init(0xdeadbeefull << t % 30, t, t * 3, &philox);
    draw(philox, out + 2 * whole, single + 2 * reals, real + 6);
    const uint4 four = curand4(&philox);
    out[2 * whole + 11] = four.x ^ four.y * 3 ^ four.z * 5 ^ four.w * 7;
    const float4 normals = curand_normal4(&philox);
    float* const more = single + 2 * reals + 9;
    more[0] = normals.x, more[1] = normals.y, more[2] = normals.z, more[3] = normals.w,
    more[4] = curand_uniform4(&philox).z;
}

#ifdef __CUDACC__
ENTRY numbers(u32* out, float* single, double* real) {
    const u32 t = thread_number();
    draw_all(t, out + 3 * whole * t, single + 3 * reals * t, real + 9 * t);
}
#else

TWIN(Curand, "sm_80 nvcc", "sm_90a nvcc -Xcicc -O0", "sm_75 nvcc -G") {
    const u32 count = 40;
    std::vector<u32> out(3 * whole * count);
    std::vector<float> single(3 * reals * count);
    std::vector<double> real(9 * count);
    for (u32 t = 0; t < count; ++t) draw_all(t, &out[3 * whole * t], &single[3 * reals * t], &real[9 * t]);
    const u64 a = run.zeros<u32>(out.size()), b = run.zeros<float>(single.size()),
              c = run.zeros<double>(real.size());
    run.launch("numbers", {.grid = 2, .block = 20}, a, b, c);
    run.expect_same("integers", run.download<u32>(a, out.size()), out);
    const auto close = [](double x, double y, double most) {
        return std::abs(x - y) <= most * std::max(1.0, std::abs(y));
    };
    // Normal numbers go through logarithms and sines: of the library here, of the fast instructions there.
    const auto got = run.download<float>(b, single.size());
    const auto got_real = run.download<double>(c, real.size());
    bool near = true;
    for (u32 i = 0; i < single.size(); ++i) near = near && close(got[i], single[i], i % reals < 4 ? 0 : 1e-5);
    for (u32 i = 0; i < real.size(); ++i) near = near && close(got_real[i], real[i], i % 3 == 0 ? 0 : 1e-13);
    run.expect(near, "uniform numbers are the same, normal ones near");
}
#endif
#elif !defined(__CUDACC__)
TWIN(Curand, "sm_80 nvcc") { run.skip("no curand_kernel.h"); }
#endif
}  // namespace curand_twin
