// The scan (prefix sum) of an array: y[i] = x[0] o x[1] o … o x[i], or without x[i], in one pass: one read
// and one write of each element. The operator o is a site: associative; it need not commute.
//
// Tiles. A block takes a tile, the next one that nobody has (a ticket: so a tile's predecessors are under way
// whatever order blocks start in). A warp has a run of neighbouring vectors of it, 512 bytes a load: lane by
// lane within a load, load after load, warp after warp is the order of the elements.
//
// Looking back. A tile needs the fold of all tiles before it. Waiting for the predecessor's would be a chain
// as long as there are tiles. Here 32 tiles are a group and 32 groups a supergroup; a tile publishes its own
// fold, the last of a group that of the group, and the last of a supergroup that of everything up to there.
// A tile then folds, always in the same order,
//
//   everything before its supergroup o the groups before its own there o the tiles before it in its group
//
// which is 63 reads at most, all but one of values that depend on no predecessor's wait: the chain has one
// link for 1024 tiles. (Decoupled look-back as usual takes whichever sums are there first; f32 sums would
// change from launch to launch. These do not.)
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"
#include "../hardware/warp.cuh"

using namespace hardware;

using Element = hardware::TYPE;
constexpr unsigned element_width = width<Element>, threads = THREADS, vectors = VECTORS;
constexpr unsigned warps = threads / warp_size;
constexpr unsigned tile = threads * vectors * element_width;
constexpr unsigned fan = warp_size;  // tiles of a group, groups of a supergroup
enum class Kind { inclusive, exclusive };
constexpr bool is_inclusive = Kind::KIND == Kind::inclusive;

// mine = mine o later
__device__ inline void combine(float& mine, float later) {
    PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2;", mod(f32, s, mine), in(f32, s2, later));
}
__device__ inline float neutral() {
    float value;
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000;", out(f32, s, value));
    return value;
}

// Each lane gets the fold of the lanes up to it.
__device__ inline float scan_warp(float value, unsigned lane) {
#pragma unroll
    for (unsigned distance = 1; distance < warp_size; distance *= 2) {
        float folded = __shfl_up_sync(~0u, value, distance);
        combine(folded, value);
        value = lane >= distance ? folded : value;
    }
    return value;
}

// A published value is one 64-bit word with its flag, so that neither is seen without the other.
__device__ inline void publish(unsigned long long* where, float value) {
    const unsigned long long word = 1ull << 32 | __float_as_uint(value);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(global_address(where)), "l"(word) : "memory");
}
__device__ inline float wait_for(const unsigned long long* where) {
    unsigned long long word;
    do
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                     : "=l"(word)
                     : "l"(global_address(where))
                     : "memory");
    while (!(word >> 32));
    return __uint_as_float(static_cast<unsigned>(word));
}

struct State {
    unsigned long long *tiles, *groups, *supergroups;
};

// The fold of `count` published values, fewer than a warp has lanes.
__device__ inline float fold_published(const unsigned long long* first, unsigned count, unsigned lane,
                                       float zero) {
    const float value = lane < count ? wait_for(first + lane) : zero;
    return __shfl_sync(~0u, scan_warp(value, lane), warp_size - 1);
}

// By one warp: publishes the fold of the tile and gets that of everything before it.
__device__ inline float look_back(const State& state, unsigned index, float mine, unsigned lane, float zero) {
    const unsigned group = index / fan, supergroup = group / fan;
    if (lane == 0) publish(state.tiles + index, mine);
    const float of_tiles = fold_published(state.tiles + group * fan, index % fan, lane, zero);
    if (index % fan == fan - 1 && lane == 0) {
        float of_group = of_tiles;
        combine(of_group, mine);
        publish(state.groups + group, of_group);
    }
    const float of_groups = fold_published(state.groups + supergroup * fan, group % fan, lane, zero);
    float before = supergroup > 0 ? wait_for(state.supergroups + supergroup - 1) : zero;
    combine(before, of_groups);
    combine(before, of_tiles);
    if (index % (fan * fan) == fan * fan - 1 && lane == 0) {
        float all = before;
        combine(all, mine);
        publish(state.supergroups + supergroup, all);
    }
    return before;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scan(const Element* x, Element* y, unsigned long long* state, unsigned* ticket, unsigned n) {
    __shared__ unsigned index_of_block;
    __shared__ float of_warps[warps], before_tile;
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    if (threadIdx.x == 0) index_of_block = atomicAdd(ticket, 1);
    __syncthreads();
    const unsigned index = index_of_block;
    const unsigned begin = index * tile + (warp * vectors * warp_size + lane) * element_width;
    const bool is_aligned = (global_address(x) | global_address(y)) % 16 == 0;
    const auto at = [&](unsigned i) { return begin + i * warp_size * element_width; };
    const auto is_whole = [&](unsigned i) { return is_aligned && at(i) + element_width <= n; };

    Words words[vectors];
    for (unsigned i = 0; i < vectors; ++i) {
        words[i] = load_16_if(is_whole(i), x + at(i));
        if (!is_whole(i) && at(i) < n) words[i] = load_elements(x + at(i), n - at(i));
    }
    const float zero = neutral();
    float values[vectors][element_width], before[vectors];  // before: what is in front of a vector
    for (unsigned i = 0; i < vectors; ++i) {
        unpack<Element>(words[i], values[i]);
        for (unsigned e = 0; e < element_width; ++e) {
            PTXGRAFT_SITE("map", "", mod(f32, x, values[i][e]), in(u32, index, at(i) + e));
            if (at(i) + e >= n) values[i][e] = zero;
        }
    }

    // Within vectors, then lanes, then loads: `running` is the fold of the warp's loads before.
    float running = zero;
    for (unsigned i = 0; i < vectors; ++i) {
        float of_vector = values[i][0];
        for (unsigned e = 1; e < element_width; ++e) combine(of_vector, values[i][e]);
        const float up_to_lane = scan_warp(of_vector, lane);
        const float before_lane = __shfl_up_sync(~0u, up_to_lane, 1);
        before[i] = running;
        combine(before[i], lane > 0 ? before_lane : zero);
        combine(running, __shfl_sync(~0u, up_to_lane, warp_size - 1));
    }

    // Then warps, then tiles.
    if (lane == 0) of_warps[warp] = running;
    __syncthreads();
    const float up_to_warp = scan_warp(lane < warps ? of_warps[lane] : zero, lane);
    if (warp == 0) {
        const unsigned tiles = gridDim.x, groups = (tiles + fan - 1) / fan;
        const State parts{state, state + tiles, state + tiles + groups};
        const float of_tile = __shfl_sync(~0u, up_to_warp, warp_size - 1);
        const float result = look_back(parts, index, of_tile, lane, zero);
        if (lane == 0) before_tile = result;
    }
    __syncthreads();
    const float of_warps_before = __shfl_sync(~0u, up_to_warp, warp == 0 ? 0 : warp - 1);
    float before_warp = before_tile;
    combine(before_warp, warp == 0 ? zero : of_warps_before);

    for (unsigned i = 0; i < vectors; ++i) {
        float so_far = before_warp;
        combine(so_far, before[i]);
        for (unsigned e = 0; e < element_width; ++e) {
            const float before_element = so_far;
            combine(so_far, values[i][e]);
            values[i][e] = is_inclusive ? so_far : before_element;
            PTXGRAFT_SITE("epilogue", "", mod(f32, y, values[i][e]), in(u32, index, at(i) + e));
        }
        const Words result = pack<Element>(values[i]);
        store_16_if(is_whole(i), y + at(i), result);
        if (!is_whole(i) && at(i) < n) store_elements(y + at(i), n - at(i), result);
    }
}
