// Memory from the device's heap and from the stack: malloc, free, new, delete, trees, lists between blocks,
// alloca of any size.
#include "twin.hpp"

namespace heap {

BOTH inline u32 mixed(u32 x) { return (x ^ x >> 15) * 0x2c1b3c6d ^ x << 7; }

struct Node {
    u32 key;
    Node *left, *right;
};

BOTH inline void insert(Node** root, u32 key) {
    while (*root) {
        if ((*root)->key == key) return;
        root = key < (*root)->key ? &(*root)->left : &(*root)->right;
    }
    *root = new Node{key, nullptr, nullptr};
}
BOTH inline u32 walk_and_free(Node* node, u32 hash) {
    if (!node) return hash;
    hash = walk_and_free(node->left, hash);
    hash = hash * 31 + node->key;
    hash = walk_and_free(node->right, hash);
    delete node;
    return hash;
}
BOTH inline u32 tree(u32 seed) {
    Node* root = nullptr;
    for (u32 i = 0; i < 20 + seed % 9; ++i) insert(&root, mixed(seed + i) % 64);
    return walk_and_free(root, seed);
}

BOTH inline u32 sieve(u32 limit) {  // the number of primes
    u8* const composite = (u8*)malloc(limit);
    for (u32 i = 0; i < limit; ++i) composite[i] = 0;
    u32 found = 0;
    for (u32 i = 2; i < limit; ++i) {
        if (composite[i]) continue;
        ++found;
        for (u32 k = i * i; k < limit; k += i) composite[k] = 1;
    }
    free(composite);
    return found;
}

// Levels of alloca: each call keeps what its callers have.
BOTH
#ifdef __CUDACC__
    __noinline__
#else
    __attribute__((noinline))
#endif
    inline u32
    stacked(u32 n, u32 depth) {
    u32* const a = (u32*)__builtin_alloca((n + 1) * sizeof(u32));
    for (u32 i = 0; i <= n; ++i) a[i] = n * i + depth;
    const u32 below = depth == 0 ? 1 : stacked(n * 3 % 17, depth - 1);
    u32 sum = below;
    for (u32 i = 0; i <= n; ++i) sum = sum * 7 + a[i];
    return sum;
}

struct Results {
    u32 tree, primes, stack;
};
BOTH inline Results results(u32 x) { return {tree(x), sieve(50 + x % 200), stacked(x % 13, x % 5)}; }

#ifdef __CUDACC__
ENTRY all(const u32* in, Results* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) out[i] = results(in[i]);
}

struct Link {
    u32 value;
    Link* next;
};
// pushed by all blocks, taken apart by the last
ENTRY chain(Link** list, u32 rounds, u64* out, u32* arrived) {
    for (u32 i = 0; i < rounds; ++i) {
        Link* const link = (Link*)malloc(sizeof(Link));
        link->value = thread_number() * rounds + i;
        Link* before;
        do {
            before = *(Link* volatile*)list;
            link->next = before;
            __threadfence();
        } while ((Link*)atomicCAS((u64*)list, (u64)before, (u64)link) != before);
    }
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(arrived, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last || threadIdx.x != 0) return;
    __threadfence();
    u64 sum = 0, links = 0;
    for (Link* link = *(Link* volatile*)list; link;) {
        sum += link->value, ++links;
        Link* const next = link->next;
        free(link);
        link = next;
    }
    out[0] = sum, out[1] = links;
}
#else

TWIN(Heap, "sm_80 nvcc", "sm_75 nvcc -G", "sm_90a nvcc -Xcicc -O0") {
    run.map<Results>("all", run.random_values<u32>(96), results, 32);
    const u64 out = run.zeros<u64>(2);
    run.launch("chain", {.grid = 3, .block = 40}, run.zeros<u64>(1), 4u, out, run.zeros<u32>(1));
    run.expect_same("chain", run.download<u64>(out, 2), {480 * 479 / 2, 480});
}
#endif
}  // namespace heap
