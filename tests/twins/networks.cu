// What networks are made of: softmax and layer norms of rows by warps, attention that never holds the whole
// row, GELU and SiLU in half precision, quantised products, top-k, embeddings.
#ifdef __CUDACC__
#include <cuda_fp16.h>
#else
#include "narrow.hpp"
#endif
#include "twin.hpp"

namespace networks {

constexpr u32 width = 80, heads = 16;

#ifdef __CUDACC__
DEVICE float sum_of_warp(float x) {
    for (u32 d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
DEVICE float most_of_warp(float x) {
    for (u32 d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    return x;
}

ENTRY softmax(const float* in, float* out) {  // a row per warp, three values per lane
    const u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float x[3], most = -INFINITY, sum = 0;
    for (u32 i = 0; i < 3; ++i)
        x[i] = lane + 32 * i < width ? in[row * width + lane + 32 * i] : -INFINITY, most = fmaxf(most, x[i]);
    most = most_of_warp(most);
    for (u32 i = 0; i < 3; ++i) x[i] = expf(x[i] - most), sum += x[i];
    sum = sum_of_warp(sum);
    for (u32 i = 0; i < 3; ++i)
        if (lane + 32 * i < width) out[row * width + lane + 32 * i] = x[i] / sum;
}

ENTRY norm(const __half* in, const float* scale, __half* out) {  // Welford's, a row per block
    __shared__ float means[32], squares[32], counts[32];
    const u32 t = threadIdx.x;
    float mean = 0, square = 0, count = 0;
    for (u32 i = t; i < width; i += blockDim.x) {
        const float x = __half2float(in[blockIdx.x * width + i]), d = x - mean;
        count += 1, mean += d / count, square += d * (x - mean);
    }
    for (u32 d = 16; d > 0; d /= 2) {
        const float other_mean = __shfl_down_sync(~0u, mean, d),
                    other_square = __shfl_down_sync(~0u, square, d), other = __shfl_down_sync(~0u, count, d);
        const float all = count + other, apart = other_mean - mean;
        if (all > 0)
            mean += apart * other / all, square += other_square + apart * apart * count * other / all;
        count = all;
    }
    if (t % 32 == 0) means[t / 32] = mean, squares[t / 32] = square, counts[t / 32] = count;
    __syncthreads();
    if (t == 0)
        for (u32 w = 1; w < blockDim.x / 32; ++w) {
            const float all = counts[0] + counts[w], apart = means[w] - means[0];
            means[0] += apart * counts[w] / all,
                squares[0] += squares[w] + apart * apart * counts[0] * counts[w] / all, counts[0] = all;
        }
    __syncthreads();
    const float factor = rsqrtf(squares[0] / width + 1e-5f);
    for (u32 i = t; i < width; i += blockDim.x)
        out[blockIdx.x * width + i] =
            __float2half((__half2float(in[blockIdx.x * width + i]) - means[0]) * factor * scale[i]);
}

// a query per thread
ENTRY attention(const float* q, const float* k, const float* v, float* out, u32 length) {
    const u32 t = thread_number();
    float most = -INFINITY, sum = 0, result[heads] = {};
    for (u32 i = 0; i <= t; ++i) {  // those before it
        float score = 0;
        for (u32 h = 0; h < heads; ++h) score = fmaf(q[t * heads + h], k[i * heads + h], score);
        const float larger = fmaxf(most, score), old = expf(most - larger), weight = expf(score - larger);
        sum = sum * old + weight, most = larger;
        for (u32 h = 0; h < heads; ++h) result[h] = fmaf(weight, v[i * heads + h], result[h] * old);
    }
    for (u32 h = 0; h < heads; ++h) out[t * heads + h] = result[h] / sum;
}

ENTRY activations(const __half2* in, __half2* gelu, __half2* silu, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const float2 x = __half22float2(in[i]);
    gelu[i] = __floats2half2_rn(0.5f * x.x * (1 + tanhf(0.7978845608f * (x.x + 0.044715f * x.x * x.x * x.x))),
                                0.5f * x.y * (1 + erff(x.y * 0.70710678f)));
    silu[i] = __h2div(in[i], __hadd2(__float2half2_rn(1), h2exp(__hneg2(in[i]))));
}

ENTRY quantised(const s8* a, const s8* b, const float* scales, float* out) {  // 32 by 32, depth 64, by dp4a
    const u32 row = threadIdx.x / 32 + blockIdx.x * 4, column = threadIdx.x % 32;
    s32 sum = 0;
    for (u32 k = 0; k < 64; k += 4)
        sum = __dp4a(*(const s32*)(a + row * 64 + k), *(const s32*)(b + column * 64 + k), sum);
    out[row * 32 + column] = sum * scales[row] * scales[32 + column];
}

ENTRY top_k(const float* in, u32* out) {  // the 5 largest of a row, by a warp
    const u32 lane = threadIdx.x;
    float x[3];
    for (u32 i = 0; i < 3; ++i)
        x[i] = lane + 32 * i < width ? in[blockIdx.x * width + lane + 32 * i] : -INFINITY;
    for (u32 k = 0; k < 5; ++k) {
        float best = -INFINITY;
        u32 at = 0;
        for (u32 i = 0; i < 3; ++i)
            if (x[i] > best) best = x[i], at = lane + 32 * i;
        for (u32 d = 16; d > 0; d /= 2) {
            const float other = __shfl_xor_sync(~0u, best, d);
            const u32 other_at = __shfl_xor_sync(~0u, at, d);
            if (other > best || (other == best && other_at < at)) best = other, at = other_at;
        }
        if (lane == at % 32) x[at / 32] = -INFINITY;
        if (lane == 0) out[blockIdx.x * 5 + k] = at;
    }
}
#else

static bool near(const std::vector<float>& device, const std::vector<double>& host, double most) {
    for (std::size_t i = 0; i < host.size(); ++i)
        if (!(std::abs(device[i] - host[i]) <= most * std::max(1.0, std::abs(host[i])))) return false;
    return true;
}
static std::vector<float> values_of(const std::vector<u16>& halves) {
    std::vector<float> values;
    for (const u16 h : halves) values.push_back((float)twin::value_of_f16(h));
    return values;
}
static std::vector<u16> random_halves(twin::Run& run, u32 count) {
    std::vector<u16> halves;
    for (const double x : run.random_reals<double>(count, -4, 4))
        halves.push_back(twin::bits_of_f16(twin::rounded(x, twin::f16)));
    return halves;
}

static void rows(twin::Run& run) {
    const auto in = run.random_reals<float>(8 * width, -5, 5);
    std::vector<double> soft;
    std::vector<u32> largest;
    for (u32 row = 0; row < 8; ++row) {
        const float* x = &in[row * width];
        double sum = 0;
        for (u32 i = 0; i < width; ++i) sum += std::exp((double)x[i]);
        for (u32 i = 0; i < width; ++i) soft.push_back(std::exp((double)x[i]) / sum);
        std::vector<u32> order(width);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return x[a] > x[b]; });
        largest.insert(largest.end(), order.begin(), order.begin() + 5);
    }
    const u64 at = run.upload(in), out = run.zeros<float>(in.size()), top = run.zeros<u32>(40);
    run.launch("softmax", {.grid = 2, .block = 128}, at, out);
    run.expect(near(run.download<float>(out, in.size()), soft, 1e-6), "softmax");
    run.launch("top_k", {.grid = 8, .block = 32}, at, top);
    run.expect_same("top", run.download<u32>(top, 40), largest);

    const auto halves = random_halves(run, 4 * width);
    const auto x = values_of(halves), scale = run.random_reals<float>(width, 0.5, 2);
    std::vector<double> normed;
    for (u32 row = 0; row < 4; ++row) {
        const double mean = std::accumulate(&x[row * width], &x[row * width] + width, 0.0) / width;
        double square = 0;
        for (u32 i = 0; i < width; ++i) square += (x[row * width + i] - mean) * (x[row * width + i] - mean);
        for (u32 i = 0; i < width; ++i)
            normed.push_back((x[row * width + i] - mean) / std::sqrt(square / width + 1e-5) * scale[i]);
    }
    const u64 norm = run.zeros<u16>(normed.size());
    run.launch("norm", {.grid = 4, .block = 64}, run.upload(halves), run.upload(scale), norm);
    run.expect(near(values_of(run.download<u16>(norm, normed.size())), normed, 1e-3), "norm");
}

static void attended(twin::Run& run) {
    const u32 length = 48;
    const auto q = run.random_reals<float>(length * heads, -1, 1),
               k = run.random_reals<float>(length * heads, -1, 1),
               v = run.random_reals<float>(length * heads, -1, 1);
    std::vector<double> host;
    for (u32 t = 0; t < length; ++t) {
        std::vector<double> sum(heads);
        double total = 0;
        for (u32 i = 0; i <= t; ++i) {
            double score = 0;
            for (u32 h = 0; h < heads; ++h) score += (double)q[t * heads + h] * k[i * heads + h];
            total += std::exp(score);
            for (u32 h = 0; h < heads; ++h) sum[h] += std::exp(score) * v[i * heads + h];
        }
        for (u32 h = 0; h < heads; ++h) host.push_back(sum[h] / total);
    }
    const u64 out = run.zeros<float>(host.size());
    run.launch("attention", {.grid = 3, .block = 16}, run.upload(q), run.upload(k), run.upload(v), out,
               length);
    run.expect(near(run.download<float>(out, host.size()), host, 1e-5), "attention");
}

TWIN(Networks, "sm_80 nvcc", "sm_90a nvcc --use_fast_math", "sm_75 nvcc -G", "sm_120a nvcc -Xcicc -O1") {
    rows(run), attended(run);
    const auto halves = random_halves(run, 200);
    const auto x = values_of(halves);
    std::vector<double> gelu, silu;
    for (u32 i = 0; i < 200; ++i) {
        const double a = x[i];
        gelu.push_back(i % 2 == 0 ? 0.5 * a * (1 + std::tanh(0.7978845608 * (a + 0.044715 * a * a * a)))
                                  : 0.5 * a * (1 + std::erf(a * std::sqrt(0.5))));
        silu.push_back(a / (1 + std::exp(-a)));
    }
    const u64 g = run.zeros<u16>(200), s = run.zeros<u16>(200);
    run.launch("activations", {.grid = 2, .block = 64}, run.upload(halves), g, s, 100u);
    run.expect(near(values_of(run.download<u16>(g, 200)), gelu, 2e-3) &&
                   near(values_of(run.download<u16>(s, 200)), silu, 5e-3),
               "activations");

    const auto a = run.random_values<s8>(32 * 64), b = run.random_values<s8>(32 * 64);
    const auto scales = run.random_reals<float>(64, 0.01f, 0.1f);
    std::vector<float> host;
    for (u32 i = 0; i < 1024; ++i) {
        s32 sum = 0;
        for (u32 k = 0; k < 64; ++k) sum += a[i / 32 * 64 + k] * b[i % 32 * 64 + k];
        host.push_back((float)sum * scales[i / 32] * scales[32 + i % 32]);
    }
    const u64 out = run.zeros<float>(1024);
    run.launch("quantised", {.grid = 8, .block = 128}, run.upload(a), run.upload(b), run.upload(scales), out);
    run.expect_same("quantised", run.download<float>(out, 1024), host);
}
#endif
}  // namespace networks
