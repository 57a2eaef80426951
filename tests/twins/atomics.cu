// Atomics on every type: sums of f32, f64, f16x2 and bf16x2, scopes, 16-bit and 128-bit compare-and-swap,
// vectors of f32, loops of one's own, on global and shared memory; cuda::atomic_ref with every order.
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/atomic>
#else
#include "narrow.hpp"
#endif
#include "twin.hpp"

namespace atomics {

constexpr u32 count = 320;

#ifdef __CUDACC__
template <class T> DEVICE T multiplied(T* at, T by) {  // an operation that there is no instruction for
    u64* const word = (u64*)at;
    u64 seen = *word, before;
    do {
        before = seen;
        seen = atomicCAS(word, before, (u64)((T)before * by));
    } while (seen != before);
    return (T)before;
}

// Sums of small whole numbers: exact in any order.
ENTRY sums(const u8* in, float* single, double* real, __half2* half, __nv_bfloat162* bfloat, __half* one,
           u64* wide) {
    __shared__ float shared_single;
    __shared__ double shared_real;
    __shared__ __half2 shared_half;
    if (threadIdx.x == 0) shared_single = 0, shared_real = 0, shared_half = __half2half2(__float2half(0));
    __syncthreads();
    const u32 x = in[thread_number()] % 4;
    atomicAdd(single, x * 0.5f), atomicAdd(real, x * 0.25), atomicAdd(half, __floats2half2_rn(x, 1)),
        atomicAdd(one, __float2half(x % 2));
    atomicAdd(&shared_single, (float)x), atomicAdd(&shared_real, x * 1e10),
        atomicAdd(&shared_half, __floats2half2_rn(1, x));
    if (thread_number() % 4 == 0) atomicAdd(bfloat, __floats2bfloat162_rn(x % 2, 1));
    atomicAdd_block((u32*)wide, x), atomicAdd_system(wide + 1, (u64)x << 40),
        atomicMax_block((s64*)wide + 2, (s64)x - 5);
    if (thread_number() < 20) multiplied(wide + 3, u64{3});
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(single + 1, shared_single), atomicAdd(real + 1, shared_real),
            atomicAdd(half + 1, shared_half);
}

ENTRY swaps(u16* narrow, u32* order, u32* generic) {
    const u32 t = thread_number();
    u16 seen = *(volatile u16*)narrow, before;
    do {
        before = seen;
        seen = atomicCAS((unsigned short*)narrow, before, (u16)(before * 5 + 1));
    } while (seen != before);
    cuda::atomic_ref<u32, cuda::thread_scope_device> counter(order[0]);
    counter.fetch_add(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<u32, cuda::thread_scope_block>(order[1]).fetch_xor(t * 77, cuda::memory_order_acq_rel);
    cuda::atomic_ref<u32, cuda::thread_scope_system>(order[2]).fetch_max(t * 2654435761u,
                                                                         cuda::memory_order_seq_cst);
    cuda::atomic_ref<u32>(order[3]).fetch_or(1u << t % 32, cuda::memory_order_release);
    u32 expected = 0;
    while (!cuda::atomic_ref<u32>(order[4]).compare_exchange_weak(expected, expected + t,
                                                                  cuda::memory_order_acquire)) {}
    __shared__ u32 local;
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    u32* const somewhere = t % 2 ? &local : generic;  // a generic address
    atomicAdd(somewhere, t);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(generic + 1, local);
}

// A message through a flag, with acquire and release.
ENTRY message(u32* flag, u32* data, u32* out) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<u32, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        for (u32 i = 0; i < 16; ++i) data[i] = i * i;
        ready.store(1, cuda::memory_order_release);
        ready.notify_all();
    } else {
        ready.wait(0, cuda::memory_order_acquire);
        u32 sum = 0;
        for (u32 i = 0; i < 16; ++i) sum += data[i];
        out[blockIdx.x] = sum;
    }
}

#if __CUDA_ARCH__ >= 900
ENTRY newest(float4* vectors, unsigned __int128* wide) {
    atomicAdd(vectors, make_float4(1, 2, 3, threadIdx.x));
    asm volatile(
        "{ .reg .b128 a, b; .reg .b64 l, h; mov.b64 l, %1; mov.b64 h, 7; mov.b128 a, {l, h}; atom.exch.b128 "
        "b, [%0], a; }" ::"l"(wide + threadIdx.x),
        "l"((u64)threadIdx.x)
        : "memory");
}
#endif
#else

static void compare_sums(twin::Run& run) {
    const auto in = run.random_values<u8>(count);
    std::vector<float> single(2);
    std::vector<double> real(2);
    std::vector<u64> wide = {0, 0, (u64)(s64)-100, 1};
    u32 total = 0, odd = 0, odd_fourths = 0, high = 0;
    for (u32 t = 0; t < count; ++t) {
        const u32 x = in[t] % 4;
        total += x, odd += x % 2, high = std::max(high, x), odd_fourths += t % 4 == 0 ? x % 2 : 0;
    }
    const auto half = [](double x) { return twin::bits_of_f16(x); };
    const u64 a = run.upload(single), b = run.upload(real), c = run.zeros<u16>(4), d = run.zeros<u16>(2),
              e = run.zeros<u16>(1), f = run.upload(wide);
    run.launch("sums", {.grid = 5, .block = 64}, run.upload(in), a, b, c, d, e, f);
    run.expect_same("singles", run.download<float>(a, 2), {(float)total * 0.5f, (float)total});
    run.expect_same("reals", run.download<double>(b, 2), {total * 0.25, total * 1e10});
    run.expect_same("halves", run.download<u16>(c, 4), {half(total), half(count), half(count), half(total)});
    run.expect_same("bfloats", run.download<u16>(d, 2),
                    {twin::bits_of_bf16(odd_fourths), twin::bits_of_bf16(count / 4)});
    run.expect_same("half", run.download<u16>(e, 1), {half(odd)});
    u64 power = 1;
    for (int i = 0; i < 20; ++i) power *= 3;
    run.expect_same("wide", run.download<u64>(f, 4), {total, (u64)total << 40, (u64)((s64)high - 5), power});
}

static void compare_swaps(twin::Run& run) {
    u16 narrow = 9;
    std::vector<u32> order(5), generic(2);
    for (u32 t = 0; t < count; ++t) {
        narrow = (u16)(narrow * 5 + 1);
        ++order[0], order[1] ^= t * 77, order[2] = std::max(order[2], t * 2654435761u),
                                        order[3] |= 1u << t % 32, order[4] += t;
        generic[t % 2] += t;
    }
    const u64 a = run.upload(std::vector<u16>{9, 0}), b = run.zeros<u32>(5), c = run.zeros<u32>(2);
    run.launch("swaps", {.grid = 5, .block = 64}, a, b, c);
    run.expect_same("narrow", run.download<u16>(a, 2), {narrow, 0});
    run.expect_same("orders", run.download<u32>(b, 5), order);
    run.expect_same("generic", run.download<u32>(c, 2), generic);
    const u64 out = run.zeros<u32>(4);
    run.launch("message", {.grid = 4, .block = 32}, run.zeros<u32>(1), run.zeros<u32>(16), out);
    run.expect_same("message", run.download<u32>(out, 4), {0, 1240, 1240, 1240});
}

TWIN(Atomics, "sm_80", "sm_80 nvcc -G", "sm_90a nvcc -Xcicc -O0", "sm_120a --device-int128") {
    compare_sums(run), compare_swaps(run);
}

TWIN(AtomicsOfHopper, "sm_90a --device-int128", "sm_90a nvcc -Xcicc -O0") {
    const u64 vectors = run.zeros<float>(4), wide = run.zeros<u64>(128);
    run.launch("newest", {.block = 64}, vectors, wide);
    run.expect_same("vectors", run.download<float>(vectors, 4), {64, 128, 192, 2016});
    std::vector<u64> host;
    for (u32 t = 0; t < 64; ++t) host.push_back(t), host.push_back(7);
    run.expect_same("wide", run.download<u64>(wide, 128), host);
}
#endif
}  // namespace atomics
