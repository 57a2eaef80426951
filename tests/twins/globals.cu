// Variables of a module: initialised, zero, constant, with pointers to each other and to functions, strings,
// structures, arrays of arrays; what one launch leaves the next one finds.
#include "twin.hpp"

namespace globals {

#ifdef __CUDACC__
#define GLOBAL __device__
#define CONSTANT __constant__
#else
#define GLOBAL static
#define CONSTANT static
#endif

struct Item {
    const char* name;
    double weight;
    s16 counts[3];
    const Item* next;
    u8 flag;
};

GLOBAL s32 counter = 5;
GLOBAL u64 zero[4];
GLOBAL u8 bytes[5] = {1, 2, 3};
GLOBAL float table[2][3] = {{1.5f, -2.25f, 1e-30f}, {3}};
GLOBAL double reals[3] = {1.0 / 3, -0.0, 1e300};
CONSTANT u16 primes[7] = {2, 3, 5, 7, 11, 13, 17};
CONSTANT const char text[] = "the quick brown fox";
GLOBAL const char* names[3] = {"alpha", "beta", "a longer name"};
GLOBAL s32 squares[6] = {0, 1, 4, 9, 16, 25};
GLOBAL s32* into[3] = {squares + 2, &squares[5], &counter};
GLOBAL Item last = {"last", 2.5, {1, -2, 3}, nullptr, 9};
GLOBAL Item first = {"first", -1.5, {4, 5, -6}, &last, 200};
CONSTANT const Item* heads[2] = {&first, &last};
#ifdef __CUDACC__
GLOBAL s32 managed_elsewhere;
#endif

BOTH inline s32 twice(s32 x) { return 2 * x; }
BOTH inline s32 squared(s32 x) { return x * x; }
typedef s32 (*Function)(s32);
GLOBAL Function const functions[2] = {twice, squared};

struct Results {
    u64 numbers, words, items;
    s64 calls;
    float single;
    u32 pad;
    double real;
};

BOTH inline u64 hash(const char* s) {
    u64 h = 7;
    for (; *s; ++s) h = h * 31 + (u8)*s;
    return h;
}

#ifdef __CUDACC__
ENTRY all(Results* out) {
    const u32 t = threadIdx.x;
#else
static Results results(u32 t) {
    Results r;
    Results* const out = &r - t;
#endif
    Results& here = out[t];
    here.numbers = (u64)*into[t % 3] + bytes[t % 5] * 100 + zero[t % 4] + primes[t % 7] * 10000u +
                   (u64)squares[t % 6] * 1000000;
    here.words = hash(names[t % 3]) ^ hash(text + t % 19);
    here.items = 0;
    for (const Item* item = heads[t & 1]; item; item = item->next)
        here.items = here.items * 1000003 + hash(item->name) + (u64)(s64)item->counts[t % 3] +
                     (u64)(s64)(item->weight * 4) + item->flag;
    here.calls = functions[t % 2]((s32)t) + functions[(t + 1) % 2](3);
    here.single = table[t % 2][t % 3], here.pad = 0, here.real = reals[t % 3];
#ifndef __CUDACC__
    return r;
#endif
}

#ifdef __CUDACC__
ENTRY change(u32 steps, s64* seen) {  // seen: what this launch finds
    if (threadIdx.x == 0) {
        seen[0] = counter, seen[1] = (s64)zero[1], seen[2] = squares[2];
        zero[1] += steps;
        *into[0] += 7;
        into[0] = &squares[3];
    }
    __syncthreads();
    atomicAdd(&counter, (s32)steps);
    __syncthreads();
    if (threadIdx.x == 0) seen[3] = counter, managed_elsewhere = counter;
}
#else

TWIN(Globals, "sm_80", "sm_75 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a nvcc") {
    std::vector<Results> host;
    for (u32 t = 0; t < 84; ++t) host.push_back(results(t));
    const u64 out = run.zeros<Results>(84), seen = run.zeros<s64>(4);
    run.launch("all", {.block = 84}, out);
    run.expect_same("all", run.download<Results>(out, 84), host);
    run.launch("change", {.block = 32}, 3u, seen);
    run.expect_same("first", run.download<s64>(seen, 4), {5, 0, 4, 5 + 96});
    run.launch("change", {.block = 32}, 4u, seen);
    run.expect_same("second", run.download<s64>(seen, 4), {101, 3, 11, 101 + 128});
}
#endif
}  // namespace globals
