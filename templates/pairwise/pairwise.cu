// c[i][j] = epilogue(the fold over k of (a[i][k], b[j][k])): distances, kernels, and products of semirings,
// for rows of a and rows of b. What is folded is a pair of numbers (s, t), by sites:
//
//   (s, t) = initial,   (s, t) = accumulate(s, t, a[i][k], b[j][k], k) for each k in turn,
//   c = epilogue(s, t, u[i], v[j], i, j)
//
// As they are, the squared Euclidean distance. Without tensor cores: what they can do is gemm's.
//
// A block has a tile of c, 16 by 16 threads with (tile_m / 16) by (tile_n / 16) accumulators each, in groups
// of four neighbours, so that a thread reads shared memory 16 bytes at a time and each value it reads serves
// a row or column of its accumulators. A step takes 64 bytes of k from each row: its 16-byte loads leave
// before the step before is computed, so that they have that long to come.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using namespace hardware;

using Element = hardware::TYPE;
constexpr unsigned element_width = width<Element>;
constexpr unsigned threads = 256, side = 16;  // threads of a block, of its rows and columns
constexpr unsigned row_vectors = 4;           // of a step, in each row of a tile
constexpr unsigned tile_k = row_vectors * element_width;

// A tile in shared memory, as f32, k by k: element (row, k) at [k][row ^ 8 (k / width)]. A warp writes
// vectors of 8 rows by 4 places of k: without the exclusive or, the 4 would meet in one bank. Groups of 8
// rows stay together, so groups of 4 are still 16 bytes.
template <unsigned rows> struct Tile {
    alignas(16) float of[tile_k][rows];
    static __device__ unsigned place(unsigned row, unsigned k) { return row ^ 8 * (k / element_width); }
};

// A thread's vectors of a tile: on their way in registers, and then in shared memory.
template <unsigned rows> struct Staged {
    static constexpr unsigned count = rows * row_vectors / threads;
    Words words[count];

    __device__ void load(const Element* x, unsigned first_row, unsigned all_rows, unsigned first_k,
                         unsigned k, bool is_aligned) {
        const unsigned row = first_row + threadIdx.x / row_vectors;
        const unsigned column = first_k + threadIdx.x % row_vectors * element_width;
        const unsigned left = column < k ? k - column : 0;
        const Element* const from = x + 1ull * row * k + column;
        constexpr unsigned apart = threads / row_vectors;  // rows from a thread's vector to its next
        if (is_aligned)
            for (unsigned i = 0; i < count; ++i)
                words[i] = load_16_if(left > 0 && row + i * apart < all_rows, from + 1ull * i * apart * k);
        else
            for (unsigned i = 0; i < count; ++i)
                words[i] = load_elements(from + 1ull * i * apart * k, row + i * apart < all_rows ? left : 0);
    }
    __device__ void store(Tile<rows>& tile) const {
        for (unsigned i = 0; i < count; ++i) {
            const unsigned vector = i * threads + threadIdx.x, row = vector / row_vectors;
            const unsigned first_k = vector % row_vectors * element_width;
            float values[element_width];
            unpack<Element>(words[i], values);
            for (unsigned e = 0; e < element_width; ++e)
                tile.of[first_k + e][Tile<rows>::place(row, first_k)] = values[e];
        }
    }
};

// A thread's rows (or columns) of a tile: four neighbours of each 64. Which one the i-th is, and their
// values at one k.
__device__ inline unsigned place_of(unsigned thread, unsigned i) { return i / 4 * 64 + thread * 4 + i % 4; }
template <unsigned rows>
__device__ void read(const Tile<rows>& tile, unsigned thread, unsigned k, float (&values)[rows / side]) {
    for (unsigned i = 0; i < rows / side; i += 4) {
        const float4 four =
            *reinterpret_cast<const float4*>(&tile.of[k][Tile<rows>::place(place_of(thread, i), k)]);
        values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
    }
}

constexpr unsigned m_each = TILE_M / side, n_each = TILE_N / side;
using Accumulators = float[m_each][n_each];

struct Shared {
    Tile<TILE_M> a;
    Tile<TILE_N> b;
};

__device__ inline void accumulate(const Shared& shared, unsigned k, unsigned k_of_row, Accumulators& s,
                                  Accumulators& t) {
    float a[m_each], b[n_each];
    read(shared.a, threadIdx.x / side, k, a);
    read(shared.b, threadIdx.x % side, k, b);
    for (unsigned i = 0; i < m_each; ++i)
        for (unsigned j = 0; j < n_each; ++j)
            PTXGRAFT_SITE("accumulate", "{ .reg .f32 d; sub.f32 d, _a, _b; fma.rn.f32 _s, d, d, _s; }",
                          mod(f32, s, s[i][j]), mod(f32, t, t[i][j]), in(f32, a, a[i]), in(f32, b, b[j]),
                          in(u32, k, k_of_row));
}

struct Output {
    const float *u, *v;  // may be null
    float* c;
    unsigned m, n;
};

// Four neighbours of v, zeros where there are none.
__device__ inline void read_v(const Output& output, unsigned column, float* four) {
    if (!output.v) return;
    const bool is_whole = column + 4 <= output.n && global_address(output.v) % 16 == 0;
    Words words = load_16_if(is_whole, output.v + column);
    if (!is_whole && column < output.n) words = load_elements(output.v + column, output.n - column);
    for (unsigned e = 0; e < 4; ++e) four[e] = __uint_as_float(words.of[e]);
}

__device__ inline void write(const Output& output, const Accumulators& s, const Accumulators& t) {
    const bool is_aligned = output.n % 4 == 0 && global_address(output.c) % 16 == 0;
    const auto column_of = [&](unsigned j) { return blockIdx.x * TILE_N + place_of(threadIdx.x % side, j); };
    float v[n_each] = {};
    for (unsigned j = 0; j < n_each; j += 4) read_v(output, column_of(j), v + j);
    for (unsigned i = 0; i < m_each; ++i) {
        const unsigned row = blockIdx.y * TILE_M + place_of(threadIdx.x / side, i);
        const bool has_row = row < output.m;
        const float u = output.u && has_row ? output.u[row] : 0.0f;
        for (unsigned j = 0; j < n_each; j += 4) {
            const unsigned column = column_of(j);
            float four[4];
            for (unsigned e = 0; e < 4; ++e)
                PTXGRAFT_SITE("epilogue", "mov.f32 _c, _s;", in(f32, s, s[i][j + e]), in(f32, t, t[i][j + e]),
                              in(f32, u, u), in(f32, v, v[j + e]), out(f32, c, four[e]), in(u32, row),
                              in(u32, column, column + e));
            float* const to = output.c + 1ull * row * output.n + column;
            const unsigned left = has_row && column < output.n ? output.n - column : 0;
            if (is_aligned)
                store_16_if(left > 0, to, pack<float>(four));
            else
                store_elements(to, left, pack<float>(four));
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, BLOCKS)
    pairwise(const Element* a, const Element* b, const float* u, const float* v, float* c, unsigned m,
             unsigned n, unsigned k) {
    __shared__ Shared shared;
    const bool is_aligned = k % element_width == 0 && (global_address(a) | global_address(b)) % 16 == 0;
    const unsigned first_row = blockIdx.y * TILE_M, first_column = blockIdx.x * TILE_N;
    Accumulators s, t;
    for (unsigned i = 0; i < m_each; ++i)
        for (unsigned j = 0; j < n_each; ++j)
            PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s, s[i][j]),
                          out(f32, t, t[i][j]));
    Staged<TILE_M> staged_a;
    Staged<TILE_N> staged_b;
    staged_a.load(a, first_row, m, 0, k, is_aligned);
    staged_b.load(b, first_column, n, 0, k, is_aligned);
    for (unsigned begin = 0; begin < k; begin += tile_k) {
        __syncthreads();  // the step before has been read
        staged_a.store(shared.a);
        staged_b.store(shared.b);
        __syncthreads();
        staged_a.load(a, first_row, m, begin + tile_k, k, is_aligned);
        staged_b.load(b, first_column, n, begin + tile_k, k, is_aligned);

        // Values behind the end of k are in no fold: other operators than the product have no zero for them.
        const unsigned count = k - begin < tile_k ? k - begin : tile_k;
        const unsigned unrolled = count / UNROLL * UNROLL;
#pragma unroll 1
        for (unsigned i = 0; i < unrolled; i += UNROLL) {
#pragma unroll
            for (unsigned more = 0; more < UNROLL; ++more)
                accumulate(shared, i + more, begin + i + more, s, t);
        }
        if constexpr (UNROLL > 1) {
#pragma unroll 1
            for (unsigned i = unrolled; i < count; ++i) accumulate(shared, i, begin + i, s, t);
        }
    }
    write({u, v, c, m, n}, s, t);
}
