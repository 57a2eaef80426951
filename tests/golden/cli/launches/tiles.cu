struct alignas(128) Map { char bytes[128]; };
struct Tile { int rows, columns; };
struct Params {
    float* out;
    Map a, b;
    Tile tile;
    float alpha;
    double beta;
    unsigned char mode;
};
__device__ void load(void* to, const Map& map, int x, int y, unsigned long long* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
        "r"((unsigned)__cvta_generic_to_shared(to)), "l"(&map), "r"(x), "r"(y), "r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
}
// out = alpha * a + beta * b, tile by tile, both fetched by tensor copies.
extern "C" __global__ void add_tiles(const __grid_constant__ Params p) {
    __shared__ alignas(128) float a[16 * 16], b[16 * 16];
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" :: "r"(at) : "memory");
        asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" :: "r"(at), "r"((unsigned)(sizeof a + sizeof b)) : "memory");
        load(a, p.a, blockIdx.x * p.tile.columns, blockIdx.y * p.tile.rows, &barrier);
        load(b, p.b, blockIdx.x * p.tile.columns, blockIdx.y * p.tile.rows, &barrier);
    }
    __syncthreads();
    asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra again; }" :: "r"(at) : "memory");
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        const int row = blockIdx.y * p.tile.rows + i / 16, column = blockIdx.x * p.tile.columns + i % 16;
        p.out[row * 32 + column] = p.mode == 1 ? p.alpha * a[i] + (float)p.beta * b[i] : -1.0f;
    }
}
// The same, of tensor maps in global memory.
extern "C" __global__ void sum_tiles(const Map* maps, float* out) {
    __shared__ alignas(128) float a[16 * 16];
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" :: "r"(at) : "memory");
        asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" :: "r"(at), "r"((unsigned)sizeof a) : "memory");
        load(a, maps[blockIdx.x], 0, 0, &barrier);
    }
    __syncthreads();
    asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra again; }" :: "r"(at) : "memory");
    out[blockIdx.x * 32 + threadIdx.x] = a[threadIdx.x];
}
