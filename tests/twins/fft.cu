// A radix-2 FFT in shared memory, a thread per butterfly, and a number-theoretic transform modulo 998244353:
// forth and back.
#include "twin.hpp"

namespace fft {

struct Complex {
    float re, im;
};

BOTH inline u32 reversed_bits(u32 x, u32 bits) {
    u32 r = 0;
    for (u32 i = 0; i < bits; ++i) r |= (x >> i & 1) << (bits - 1 - i);
    return r;
}

// The k-th butterfly of the stage of spans of `half`. Fused by hand: the same roundings on both sides.
BOTH inline void butterfly(Complex* a, const Complex* roots, u32 size, u32 half, u32 k) {
    const u32 low = k / half * 2 * half + k % half, high = low + half;
    const Complex w = roots[k % half * (size / 2 / half)], x = a[high];
    const Complex t = {fmaf(w.re, x.re, -(w.im * x.im)), fmaf(w.re, x.im, w.im * x.re)};
    a[high] = {a[low].re - t.re, a[low].im - t.im};
    a[low] = {a[low].re + t.re, a[low].im + t.im};
}

constexpr u32 modulus = 998244353;
BOTH inline u32 product(u32 a, u32 b) { return (u32)((u64)a * b % modulus); }
BOTH inline u32 power(u32 base, u32 exponent) {
    u32 result = 1;
    for (; exponent > 0; exponent >>= 1, base = product(base, base))
        if (exponent & 1) result = product(result, base);
    return result;
}
BOTH inline void ntt_butterfly(u32* a, u32 root, u32 half, u32 k) {
    const u32 low = k / half * 2 * half + k % half, high = low + half;
    const u32 t = product(a[high], power(root, k % half));
    const u32 x = a[low];
    a[high] = x >= t ? x - t : x + modulus - t;
    a[low] = x + t < modulus ? x + t : x + t - modulus;
}

#ifdef __CUDACC__
ENTRY fft(Complex* data, const Complex* roots, u32 bits) {
    extern __shared__ Complex a[];
    const u32 size = 1 << bits;
    Complex* mine = data + blockIdx.x * size;
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) a[__brev(i) >> (32 - bits)] = mine[i];
    for (u32 half = 1; half < size; half *= 2) {
        __syncthreads();
        for (u32 k = threadIdx.x; k < size / 2; k += blockDim.x) butterfly(a, roots, size, half, k);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) mine[i] = a[i];
}

ENTRY ntt(u32* data, u32 bits, u32 generator) {
    __shared__ u32 a[512];
    const u32 size = 1 << bits;
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) a[__brev(i) >> (32 - bits)] = data[i];
    for (u32 half = 1; half < size; half *= 2) {
        __syncthreads();
        const u32 root = power(generator, (modulus - 1) / (2 * half));
        for (u32 k = threadIdx.x; k < size / 2; k += blockDim.x) ntt_butterfly(a, root, half, k);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) data[i] = a[i];
}
#else

static void fft_on_host(Complex* data, const std::vector<Complex>& roots, u32 bits) {
    const u32 size = 1u << bits;
    std::vector<Complex> a(size);
    for (u32 i = 0; i < size; ++i) a[reversed_bits(i, bits)] = data[i];
    for (u32 half = 1; half < size; half *= 2)
        for (u32 k = 0; k < size / 2; ++k) butterfly(a.data(), roots.data(), size, half, k);
    std::copy(a.begin(), a.end(), data);
}

TWIN(Fft, "sm_90a --fmad=false", "sm_75 nvcc -fmad=false -Xcicc -O0", "sm_80 -G --fmad=false") {
    const u32 bits = 8, size = 1u << bits, batch = 3;
    std::vector<Complex> roots(size / 2), data(size * batch);
    for (u32 i = 0; i < size / 2; ++i) {
        const double angle = -2 * M_PI * i / size;
        roots[i] = {(float)std::cos(angle), (float)std::sin(angle)};
    }
    const auto reals = run.random_reals<float>(2 * data.size(), -1, 1);
    for (u32 i = 0; i < data.size(); ++i) data[i] = {reals[2 * i], reals[2 * i + 1]};
    const u64 at = run.upload(data);
    run.launch("fft", {.grid = batch, .block = 96, .shared = size * 8}, at, run.upload(roots), bits);
    for (u32 i = 0; i < batch; ++i) fft_on_host(data.data() + i * size, roots, bits);
    run.expect_same("fft", run.download<Complex>(at, data.size()), data);

    // A product of polynomials through the transform is their product.
    std::vector<u32> p(512), q(512), expected(512);
    for (u32 i = 0; i < 200; ++i) p[i] = (u32)(run.random() % modulus), q[i] = (u32)(run.random() % modulus);
    for (u32 i = 0; i < 200; ++i)
        for (u32 k = 0; k < 200; ++k) expected[i + k] = (u32)((expected[i + k] + (u64)p[i] * q[k]) % modulus);
    const u64 pa = run.upload(p), qa = run.upload(q);
    run.launch("ntt", {.block = 128}, pa, 9u, 3u);
    run.launch("ntt", {.block = 256}, qa, 9u, 3u);
    p = run.download<u32>(pa, 512), q = run.download<u32>(qa, 512);
    for (u32 i = 0; i < 512; ++i) p[i] = product(p[i], q[i]);
    const u64 back = run.upload(p);
    run.launch("ntt", {.block = 256}, back, 9u, power(3, modulus - 2));
    auto got = run.download<u32>(back, 512);
    for (u32& x : got) x = product(x, power(512, modulus - 2));
    run.expect_same("product", got, expected);
}
#endif
}  // namespace fft
