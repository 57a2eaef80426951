// What the GEMMs for tensor cores of sm_80 share: a block's tile of c = a b, from copies of a and b through
// fragments and accumulators to the epilogue. mma.cu has a block for each tile; splitk.cuh has several;
// mma_quantised.cuh has a b that is stored in fewer bits than it is multiplied in. README.md explains the way
// of the data and the numbers here.
#pragma once
#include <ptxgraft/site.cuh>

#include "../hardware/copy.cuh"
#include "../hardware/mma.cuh"

using namespace hardware;

enum class Layout { row, column };
enum class Epilogue { unrolled, compact };
enum class Statistic { none, row, column };

using Element = TYPE;
using Result = OUTPUT;
using Accumulator = Mma<Element>::Accumulator;

constexpr unsigned tile_m = TILE_M, tile_n = TILE_N, tile_k = TILE_K;  // of a block, in elements
constexpr unsigned stages = STAGES;                                    // tiles of a and b in shared memory
constexpr unsigned warps = WARPS, threads = 32 * warps;
constexpr bool a_is_along_k = Layout::LAYOUT_A == Layout::row;
constexpr bool b_is_along_k = Layout::LAYOUT_B == Layout::column;
constexpr Epilogue epilogue = Epilogue::EPILOGUE;
constexpr Statistic statistic = Statistic::STATISTIC;

// A warp's part of the tile is a square, or as near to one as can be: it then needs the fewest fragments.
constexpr unsigned warps_m = tile_m == tile_n * 4   ? 4
                             : tile_n == tile_m * 4 ? warps / 4
                             : tile_m > tile_n      ? warps / 2
                                                    : 2;
constexpr unsigned warps_n = warps / warps_m;
constexpr unsigned warp_m = tile_m / warps_m, warp_n = tile_n / warps_n;  // of a warp
constexpr unsigned blocks_m = warp_m / 16, blocks_n = warp_n / 8;         // that one mma computes

constexpr unsigned element_bytes = sizeof(Element);
constexpr unsigned piece = 16 / element_bytes;   // elements of one copy
constexpr unsigned word = 4 / element_bytes;     // elements in a register of a fragment
constexpr unsigned step_k = 32 / element_bytes;  // elements along k of one mma
constexpr unsigned steps = tile_k / step_k;      // of a tile
constexpr unsigned threads_of_row = 4;           // lanes with columns of the same row of an mma's result
static_assert(steps == 2 || steps == 4, "a row of a tile along k has 64 or 128 bytes");
static_assert(warp_m % 16 == 0 && warp_n % 16 == 0, "fragments are loaded 16 rows or columns at a time");
static_assert(blocks_m * blocks_n <= 32, "a thread has at most 128 accumulators");
static_assert(stages >= 2 && (warps == 4 || warps == 8), "");

// ---- A tile of a or b in shared memory
//
// Along k: `span` rows (of a, or columns of b), each of tile_k elements. Otherwise, where memory runs along m
// or n: panels of 128 bytes of m or n, in which each k has a row.
template <bool is_along_k_, unsigned span> struct TileLayout {
    static constexpr bool is_along_k = is_along_k_;
    static constexpr unsigned unit = element_bytes, depth = tile_k;  // bytes of what is counted; along k
    static constexpr unsigned row_bytes = is_along_k ? tile_k * element_bytes : 128;
    static constexpr unsigned rows = is_along_k ? span : tile_k;
    static constexpr unsigned panels = is_along_k ? 1 : span * element_bytes / 128;
    static constexpr unsigned panel_bytes = rows * row_bytes;
    static constexpr unsigned bytes = panels * panel_bytes;
    static constexpr bool is_transposed_by_ldmatrix = !is_along_k && element_bytes == 2;
    static_assert(is_along_k || element_bytes != 1, "nothing transposes single bytes");

    // Row r has its piece p at p ^ permutation(r). ldmatrix reads a piece of 8 rows at once; what it cannot
    // transpose is read by words, 8 along m or n (two pieces) of 4 rows.
    static __device__ constexpr unsigned permutation(unsigned row) {
        return is_along_k || is_transposed_by_ldmatrix ? swizzle<row_bytes>(row, 0) : row % 4 * 2;
    }
    // The pieces of all panels beside each other, as they are in the matrix.
    static __device__ constexpr unsigned offset(unsigned row, unsigned piece_of_row) {
        constexpr unsigned pieces = row_bytes / 16;
        return piece_of_row / pieces * panel_bytes + row * row_bytes +
               (piece_of_row % pieces ^ permutation(row)) * 16;
    }
};
using TileA = TileLayout<a_is_along_k, tile_m>;
using TileB = TileLayout<b_is_along_k, tile_n>;

// ---- Copies: all threads copy a tile, each the same piece of every so many rows.
template <class Tile> struct TileCopy {
    static constexpr unsigned piece = 16 / Tile::unit;
    static constexpr unsigned pieces = Tile::panels * Tile::row_bytes / 16;  // of a row, in all panels
    static constexpr unsigned rows_at_once = threads / pieces;
    static constexpr unsigned rounds = Tile::rows / rows_at_once;
    static_assert(Tile::rows % rows_at_once == 0);

    const char* from;              // this thread's first piece of the next tile
    unsigned long long row_bytes;  // of the matrix
    unsigned to;                   // where it lies in the first stage
    int rows_left, elements_left;  // of the matrix, from that piece on

    // The matrix has so many rows of so many elements (units of the tile), `pitch` from one to the next;
    // `first` is where the block's tile begins along m or n, `k` where it begins along k.
    __device__ TileCopy(const void* matrix, unsigned rows, unsigned row_elements, unsigned pitch,
                        unsigned first, unsigned k, unsigned shared) {
        const unsigned row = threadIdx.x / pieces, column = threadIdx.x % pieces;
        const unsigned first_row = row + (Tile::is_along_k ? first : k);
        const unsigned first_element = column * piece + (Tile::is_along_k ? k : first);
        row_bytes = 1ull * pitch * Tile::unit;
        from = static_cast<const char*>(matrix) + first_row * row_bytes + 1ull * first_element * Tile::unit;
        to = shared + Tile::offset(row, column);
        rows_left = static_cast<int>(rows - first_row);
        elements_left = static_cast<int>(row_elements - first_element);
    }
    // Rows of a round are powers of two apart, so a round's permutation is combined with the thread's own.
    static __device__ constexpr unsigned target(unsigned first, unsigned round) {
        const unsigned row = round * rows_at_once;
        return (first ^ Tile::permutation(row) * 16) + row * Tile::row_bytes;
    }
    __device__ void copy_whole(unsigned stage) const {
        const char* source = from;
#pragma unroll
        for (unsigned round = 0; round < rounds; ++round) {
            cp_async(target(to + stage, round), source);
            source += row_bytes * rows_at_once;
        }
    }
    // Of a tile that the matrix ends in: zeros stand for what is beyond. A loop, as few tiles are such ones
    // and accumulators need the registers.
    __device__ void copy_part(unsigned stage) const {
        const unsigned inside = min(max(elements_left, 0), static_cast<int>(piece)) * Tile::unit;
        const char* source = from;
#pragma unroll 1
        for (unsigned round = 0; round < rounds; ++round) {
            const bool is_row = static_cast<int>(round * rows_at_once) < rows_left;
            cp_async_zfill(target(to + stage, round), source, is_row ? inside : 0);
            source += row_bytes * rows_at_once;
        }
    }
    __device__ void advance() {
        from += Tile::is_along_k ? Tile::row_bytes : row_bytes * Tile::depth;
        (Tile::is_along_k ? elements_left : rows_left) -= Tile::depth;
    }
};

// ---- Fragments: what ldmatrix gives a lane of 16 rows (columns of b) and 32 bytes of k.
//
// of a: word 0 rows 0-7, word 1 rows 8-15 of the first 16 bytes; words 2 and 3 of the second.
// of b: words 0 and 1 columns 0-7, the first and the second 16 bytes; words 2 and 3 columns 8-15.
template <class Tile, bool is_a> struct FragmentReader {
    unsigned first;  // this lane's address in the first stage

    __device__ FragmentReader(unsigned shared, unsigned warp_begin) {
        const unsigned lane = threadIdx.x % 32, row = lane % 8;
        // Of the matrix whose rows' addresses this lane gives, the halves of the 16 rows and of k.
        const unsigned half = is_a ? lane / 8 % 2 : lane / 16, half_k = is_a ? lane / 16 : lane / 8 % 2;
        if (Tile::is_along_k)
            first = Tile::offset(warp_begin + 8 * half + row, half_k);
        else if (Tile::is_transposed_by_ldmatrix)
            first = Tile::offset(8 * half_k + row, warp_begin / piece + half);
        else
            first = Tile::offset(lane % 4, warp_begin / piece + lane / 4 / piece) + lane / 4 % piece * 4;
        first += shared;
    }
    // Rows 16 * block on; bytes 32 * step on. An address is XORed where the piece changes: stages begin at
    // multiples of 1024 bytes.
    __device__ void load(unsigned (&to)[4], unsigned stage, unsigned block, unsigned step) const {
        constexpr unsigned block_pieces = 16 / piece, panel_blocks = 8 / block_pieces;
        const unsigned here = first + stage;
        if (Tile::is_along_k) {
            ldmatrix_x4(to, (here ^ 32 * step) + 16 * block * Tile::row_bytes);
        } else {
            const unsigned in_panel = (here ^ block % panel_blocks * block_pieces * 16) +
                                      block / panel_blocks * Tile::panel_bytes + step * step_k * 128;
            if (Tile::is_transposed_by_ldmatrix)
                ldmatrix_x4_trans(to, in_panel);
            else
                load_words(to, in_panel);
        }
    }
    // Elements of 32 bits are their own words: 8 rows on are 2 pieces, 16 bytes of k are 4 rows.
    static __device__ void load_words(unsigned (&to)[4], unsigned at) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned half = is_a ? i % 2 : i / 2, half_k = is_a ? i / 2 : i % 2;
            to[i] = ld_shared((at ^ half * 32) + half_k * 4 * 128);
        }
    }
};

struct Fragments {
    unsigned a[blocks_m][4], b[blocks_n / 2][4];
};
struct Accumulators {
    Accumulator of[blocks_m][blocks_n][4];
};

// ---- A product: a block's tile of c = a b over some tiles of k
template <class MatrixB> struct Matrices {
    const Element* a;  // of this batch, as b is
    MatrixB b;
    unsigned m, n, k, pitch_a, pitch_b;
};
struct TilePlace {
    unsigned row, column;  // of c, where the block's tile begins
};

// b as it is multiplied: its fragments are read where its tiles have been copied to. (QuantisedB of
// mma_quantised.cuh makes tiles to read of those that are copied.)
struct PlainB {
    using Matrix = const Element*;
    static constexpr unsigned stage_bytes = TileB::bytes;
    static constexpr bool is_made = false;
    TileCopy<TileB> copy;

    __device__ PlainB(const Matrices<Matrix>& of, unsigned column, unsigned first_tile, unsigned to)
        : copy(of.b, b_is_along_k ? of.n : of.k, b_is_along_k ? of.k : of.n, of.pitch_b, column,
               first_tile * tile_k, to) {}
    __device__ void copy_whole(unsigned stage) const { copy.copy_whole(stage); }
    __device__ void copy_part(unsigned stage) const { copy.copy_part(stage); }
    __device__ void advance() { copy.advance(); }
};

// The same number, of which the compiler does not know that. What only a stub needs is computed from such
// ones, so that none of it is kept for what follows the site.
__device__ inline unsigned hidden(unsigned x) {
    unsigned same;
    asm("mov.b32 %0, %1;" : "=r"(same) : "r"(x));
    return same;
}

// Where a warp is in the block's tile, and a lane's accumulator 0 in the warp's.
__device__ inline unsigned warp_row(unsigned thread) { return thread / 32 % warps_m * warp_m; }
__device__ inline unsigned warp_column(unsigned thread) { return thread / 32 / warps_m * warp_n; }
__device__ inline unsigned lane_row(unsigned thread) { return thread % 32 / threads_of_row; }
__device__ inline unsigned lane_column(unsigned thread) { return thread % threads_of_row * 2; }

template <class B> class TileProduct {
  public:
    // Tiles first_tile to end_tile - 1 of k, one at least.
    __device__ TileProduct(const Matrices<typename B::Matrix>& of, TilePlace place, unsigned first_tile,
                           unsigned end_tile, unsigned shared)
        : copy_a(of.a, a_is_along_k ? of.m : of.k, a_is_along_k ? of.k : of.m, of.pitch_a, place.row,
                 first_tile * tile_k, shared),
          b(of, place.column, first_tile, shared + TileA::bytes),
          read_a(shared, warp_row(threadIdx.x)),
          read_b(shared + (B::is_made ? stages * stage_bytes : TileA::bytes), warp_column(threadIdx.x)),
          next_copy(first_tile),
          end(end_tile),
          thread(hidden(threadIdx.x)),
          row(hidden(place.row) + warp_row(thread) + lane_row(thread)),
          column(hidden(place.column) + warp_column(thread) + lane_row(thread)) {
        const bool is_inside = place.row + tile_m <= of.m && place.column + tile_n <= of.n;
        end_of_whole = is_inside ? min(end, of.k / tile_k) : 0;
        if constexpr (B::is_made) made_to = shared + stages * stage_bytes;
    }

    // All stages but one are on their way before the first is awaited. While one step of a tile is
    // multiplied, the fragments of the next are loaded, also across the end of a tile. Where b's tiles are
    // made, that of the next tile is made meanwhile, which must have arrived for that.
    __device__ void multiply(Accumulators& acc) {
        constexpr unsigned on_their_way = stages - (B::is_made ? 3 : 2);
#pragma unroll 1
        for (unsigned i = 0; i + 1 < stages; ++i) copy_tile();
        wait_for_tile<stages - 2>();
        if constexpr (B::is_made) {
            b.make(made_to, 0, (next_copy - (stages - 1)) * tile_k);
            wait_for_tile<on_their_way>();
        }
        Fragments fragments[2];
        load(fragments[0], 0);
        do {
#pragma unroll
            for (unsigned step = 0; step < steps; ++step) {
                Fragments& now = fragments[step % 2];
                fill_sites(now, (next_copy - (step == 0 ? stages - 1 : stages)) * tile_k + step * step_k);
                if (step + 1 == steps) {
                    next_stage(read_stage);
                    made ^= TileB::bytes;
                    wait_for_tile<on_their_way>();
                }
                load(fragments[(step + 1) % 2], (step + 1) % steps);
                if (step == 0) {
                    copy_tile();  // where the tile before was: all warps have read it
                    make_next();
                }
                add(acc, now);
            }
        } while (next_copy < end + stages - 1);
    }

  private:
    static constexpr unsigned stage_bytes = TileA::bytes + B::stage_bytes;
    static_assert(stages >= (B::is_made ? 3 : 2), "one is multiplied, another one is on its way");
    TileCopy<TileA> copy_a;
    B b;
    FragmentReader<TileA, true> read_a;
    FragmentReader<TileB, false> read_b;
    unsigned next_copy;                        // tile of k to copy next, stages - 1 before it is multiplied
    unsigned end_of_whole, end;                // the first that has something beyond an edge; behind the last
    unsigned thread, row, column;              // for the sites: this lane's in its fragments
    unsigned write_stage = 0, read_stage = 0;  // in bytes
    unsigned made = 0, made_to;                // of two tiles that are made the one to read; where they are

    static __device__ void next_stage(unsigned& stage) {
        stage = stage == (stages - 1) * stage_bytes ? 0 : stage + stage_bytes;
    }
    // Behind the last tile a group is empty, so that the count of groups goes on.
    __device__ void copy_tile() {
        if (next_copy < end_of_whole) {
            copy_a.copy_whole(write_stage);
            b.copy_whole(write_stage);
        } else if (next_copy < end) {
            copy_a.copy_part(write_stage);
            b.copy_part(write_stage);
        }
        copy_a.advance();
        b.advance();
        ++next_copy;
        next_stage(write_stage);
        cp_async_commit_group();
    }
    // The tile behind the one that is multiplied, of which copy_tile() has just begun the last but one.
    __device__ void make_next() const {
        if constexpr (B::is_made) {
            const unsigned tile = next_copy - (stages - 1);
            unsigned stage = read_stage;
            next_stage(stage);
            if (tile < end) b.make(made_to + (made ^ TileB::bytes), stage, tile * tile_k);
        }
    }
    // The tile to multiply next has arrived (`but` newer ones may be on their way), for all threads, and the
    // one before it is read.
    template <unsigned but> static __device__ void wait_for_tile() {
        cp_async_wait_group<but>();
        __syncthreads();
    }
    __device__ void load(Fragments& to, unsigned step) const {
#pragma unroll
        for (unsigned i = 0; i < blocks_m; ++i) read_a.load(to.a[i], read_stage, i, step);
#pragma unroll
        for (unsigned i = 0; i < blocks_n / 2; ++i)
            read_b.load(to.b[i], B::is_made ? made : read_stage, i, step);
    }
    // The sites see a word: `word` elements along k, the first one in its lowest bits.
    __device__ void fill_sites(Fragments& of, unsigned first_k) const {
        const unsigned k = hidden(first_k) + thread % threads_of_row * word;
#pragma unroll
        for (unsigned i = 0; i < blocks_m; ++i)
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                PTXGRAFT_HOT_SITE("prologue_a", "", mod(b32, x, of.a[i][j]),
                                  in(u32, row, row + 16 * i + j % 2 * 8), in(u32, k, k + j / 2 * 4 * word));
        if constexpr (!B::is_made) fill_sites_of_b(of, k);
    }
    __device__ void fill_sites_of_b(Fragments& of, unsigned k) const {
#pragma unroll
        for (unsigned i = 0; i < blocks_n / 2; ++i)
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x, of.b[i][j]),
                                  in(u32, col, column + 16 * i + j / 2 * 8),
                                  in(u32, k, k + j % 2 * 4 * word));
    }
    static __device__ void add(Accumulators& acc, const Fragments& of) {
#pragma unroll
        for (unsigned i = 0; i < blocks_m; ++i)
#pragma unroll
            for (unsigned j = 0; j < blocks_n; ++j)
                Mma<Element>::add(acc.of[i][j], of.a[i], of.b[j / 2][j % 2 * 2], of.b[j / 2][j % 2 * 2 + 1]);
    }
};

// ---- The epilogue
struct Output {
    Result* c;  // of this batch, as `residual` is
    const Result* residual;
    const float *bias, *row_scale, *column_scale;
    unsigned m, n, batch;
    float* statistics;  // of all batches
};

// An element of an array that may be null, where `is_inside`. A predicated load: one that no stub reads is
// dropped, and none is a branch.
__device__ inline float load_or(const float* array, unsigned index, bool is_inside, float otherwise) {
    return ld_global_if(array + index, is_inside && array, otherwise);
}

// What the epilogue makes of an accumulated value. The site sees elements beyond c's edges too.
__device__ inline float finished(const Output& to, float acc, unsigned row, unsigned col) {
    const bool is_row = row < hidden(to.m), is_col = col < hidden(to.n);
    const float bias = load_or(to.bias, col, is_col, 0.0f);
    const float row_scale = load_or(to.row_scale, row, is_row, 1.0f);
    const float col_scale = load_or(to.column_scale, col, is_col, 1.0f);
    const float residual = to_f32(
        ld_global_if(to.residual + (1ull * row * to.n + col), is_row && is_col && to.residual, Result{}));
    PTXGRAFT_COLD_SITE("epilogue", "", mod(f32, acc), in(u32, row), in(u32, col), in(u32, batch, to.batch),
                       in(f32, bias), in(f32, row_scale), in(f32, col_scale), in(f32, residual));
    return acc;
}

// Four lanes have the 8 columns of a block in a row of c, two each: with 32-bit results that is a sector of
// 32 bytes. With 16-bit results it is half of one, so lanes exchange with their neighbour: an even one then
// has four columns of the first block of two, an odd one four of the second.
template <class T>
__device__ void store_blocks(T* row, unsigned col, unsigned n, bool is_row, const float (&first)[2],
                             const float (&second)[2]) {
    if constexpr (sizeof(T) == 4) {
        st_global_if(row + col, is_row && col < n, bits(from_f32<T>(first[0])), bits(from_f32<T>(first[1])));
        st_global_if(row + col + 8, is_row && col + 8 < n, bits(from_f32<T>(second[0])),
                     bits(from_f32<T>(second[1])));
    } else {
        const bool is_odd = threadIdx.x % 2;
        const unsigned a = pack(first[0], first[1], T{}), b = pack(second[0], second[1], T{});
        const unsigned other = __shfl_xor_sync(0xFFFFFFFF, is_odd ? a : b, 1);
        const unsigned at = is_odd ? col + 6 : col;
        st_global_if(row + at, is_row && at < n, is_odd ? other : a, is_odd ? b : other);
    }
}
// Two columns, of rows that begin anywhere.
template <class T>
__device__ void store_apart(T* row, unsigned col, unsigned n, bool is_row, const float (&values)[2]) {
#pragma unroll
    for (unsigned i = 0; i < 2; ++i)
        st_global_if(row + col + i, is_row && col + i < n, bits(from_f32<T>(values[i])));
}

// The site stands once for each accumulator; row after row, so that few predicates and addresses live at a
// time.
__device__ inline void store_unrolled(const Output& to, const Accumulators& acc, TilePlace place) {
    const unsigned row0 = place.row + warp_row(threadIdx.x) + lane_row(threadIdx.x);
    const unsigned col0 = place.column + warp_column(threadIdx.x) + lane_column(threadIdx.x);
    const bool has_aligned_rows = to.n % (8 / sizeof(Result)) == 0;
    Result* here = to.c + 1ull * row0 * to.n;
#pragma unroll
    for (unsigned i = 0; i < 2 * blocks_m; ++i, here += 8ull * to.n) {
        const unsigned row = row0 + 8 * i;
        float values[blocks_n][2];
#pragma unroll
        for (unsigned j = 0; j < blocks_n; ++j)
#pragma unroll
            for (unsigned e = 0; e < 2; ++e)
                values[j][e] = finished(to, to_f32(acc.of[i / 2][j][i % 2 * 2 + e]), row, col0 + 8 * j + e);
        if (has_aligned_rows) {
#pragma unroll
            for (unsigned j = 0; j < blocks_n; j += 2)
                store_blocks(here, col0 + 8 * j, to.n, row < to.m, values[j], values[j + 1]);
        } else {
#pragma unroll
            for (unsigned j = 0; j < blocks_n; ++j)
                store_apart(here, col0 + 8 * j, to.n, row < to.m, values[j]);
        }
    }
}

// The accumulators go through shared memory, where the stages were, and a loop over rows has the site four
// times. A row is tile_n words; its 16-byte pieces are permuted so that neither four rows of a block, which
// a half warp writes, nor a row, which it reads, are in the same banks twice.
constexpr unsigned tile_pieces = tile_n / 4;
__device__ inline unsigned result_offset(unsigned row, unsigned piece_of_row) {
    return row * tile_n * 4 + (piece_of_row ^ row % 4 * 2) * 16;
}
__device__ inline void leave_in_shared(const Accumulators& acc, unsigned shared) {
    const unsigned first = shared + lane_column(threadIdx.x) % 4 * 4 +
                           result_offset(warp_row(threadIdx.x) + lane_row(threadIdx.x),
                                         (warp_column(threadIdx.x) + lane_column(threadIdx.x)) / 4);
#pragma unroll
    for (unsigned i = 0; i < 2 * blocks_m; ++i)
#pragma unroll
        for (unsigned j = 0; j < blocks_n; ++j) {
            const Accumulator* pair = &acc.of[i / 2][j][i % 2 * 2];
            st_shared((first ^ j % 4 * 32) + j / 4 * 128 + 8 * i * tile_n * 4, bits(pair[0]), bits(pair[1]));
        }
}
template <class T> __device__ void store_four(T* to, bool is_inside, const float (&values)[4]) {
    if constexpr (sizeof(T) == 4) {
        const unsigned words[4] = {bits(from_f32<T>(values[0])), bits(from_f32<T>(values[1])),
                                   bits(from_f32<T>(values[2])), bits(from_f32<T>(values[3]))};
        st_global_if(to, is_inside, words);
    } else {
        st_global_if(to, is_inside, pack(values[0], values[1], T{}), pack(values[2], values[3], T{}));
    }
}

// ---- A statistic of c: what the site `reduce` makes of each element, added up over the tile's columns for
// each row (or over its rows for each column), always in the same order. Each tile leaves its sums beside
// those of the tiles to its left (or above it), as [batch, tile, row or column], so nobody waits and nothing
// is added in an order that changes. Where `statistics` is null nothing is left.
__device__ inline float contribution(const Output& to, float x, unsigned row, unsigned col) {
    PTXGRAFT_COLD_SITE("reduce", "", mod(f32, x), in(u32, row), in(u32, col), in(u32, batch, to.batch));
    return col < to.n ? x : 0.0f;
}

// The sums of the threads of store_shared(), which have four columns of every so many rows.
template <Statistic> class TileStatistic {
  public:
    __device__ void add(const Output&, unsigned, const float (&)[4], unsigned, unsigned) {}
    __device__ void leave(const Output&, TilePlace, unsigned) const {}
};

template <> class TileStatistic<Statistic::row> {
    // A row's threads that are in the same warp add what they have. The first one leaves it where its piece
    // of the row was, in shared memory.
    static constexpr unsigned lanes = tile_pieces < 32 ? tile_pieces : 32;
    static_assert(lanes >= 16, "a warp has one row or two");

  public:
    __device__ void add(const Output& to, unsigned piece_address, const float (&values)[4], unsigned row,
                        unsigned col) {
        float sum = 0;
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) sum += contribution(to, values[e], row, col + e);
        // Of a warp's two rows one may be beyond the edge, and its lanes then are not here.
        const unsigned here = lanes == 32 ? ~0u : 0xFFFFu << threadIdx.x % 32 / lanes * lanes;
#pragma unroll
        for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(here, sum, distance);
        if (threadIdx.x % lanes == 0) st_shared(piece_address, bits(sum), 0);
    }
    __device__ void leave(const Output& to, TilePlace place, unsigned shared) const {
        if (!to.statistics) return;
        __syncthreads();
        const unsigned tiles = (to.n + tile_n - 1) / tile_n, rows = min(tile_m, to.m - place.row);
        float* const sums =
            to.statistics + (1ull * to.batch * tiles + place.column / tile_n) * to.m + place.row;
        for (unsigned i = threadIdx.x; i < rows; i += threads) {
            float sum = 0;
#pragma unroll
            for (unsigned piece_of_row = 0; piece_of_row < tile_pieces; piece_of_row += lanes)
                sum += __uint_as_float(ld_shared(shared + result_offset(i, piece_of_row)));
            sums[i] = sum;
        }
    }
};

template <> class TileStatistic<Statistic::column> {
    float sums[4] = {};

  public:
    __device__ void add(const Output& to, unsigned, const float (&values)[4], unsigned row, unsigned col) {
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) sums[e] += contribution(to, values[e], row, col + e);
    }
    __device__ void leave(const Output& to, TilePlace place, unsigned shared) const {
        if (!to.statistics) return;
        __syncthreads();  // the tile has been read
        const unsigned words[4] = {bits(sums[0]), bits(sums[1]), bits(sums[2]), bits(sums[3])};
        st_shared(shared + threadIdx.x * 16, words);
        __syncthreads();
        const unsigned tiles = (to.m + tile_m - 1) / tile_m;
        float* const of_tile = to.statistics + (1ull * to.batch * tiles + place.row / tile_m) * to.n;
        for (unsigned i = threadIdx.x; i < tile_n; i += threads) {
            float sum = 0;
#pragma unroll
            for (unsigned group = 0; group < threads / tile_pieces; ++group)
                sum += __uint_as_float(ld_shared(shared + group * tile_n * 4 + i * 4));
            if (place.column + i < to.n) of_tile[place.column + i] = sum;
        }
    }
};

// A tile's sums in shared memory to c; a thread has four columns of every so many rows.
__device__ inline void store_shared(const Output& to, TilePlace place, unsigned shared) {
    const unsigned column = threadIdx.x % tile_pieces, col = place.column + column * 4;
    const unsigned rows = min(tile_m, to.m - place.row);
    TileStatistic<statistic> of_tile;
#pragma unroll 1
    for (unsigned i = threadIdx.x / tile_pieces; i < rows; i += threads / tile_pieces) {
        const unsigned row = place.row + i;
        unsigned sums[4];
        ld_shared(sums, shared + result_offset(i, column));
        float values[4];
#pragma unroll
        for (unsigned e = 0; e < 4; ++e)
            values[e] = finished(to, to_f32(__builtin_bit_cast(Accumulator, sums[e])), row, col + e);
        of_tile.add(to, shared + result_offset(i, column), values, row, col);
        Result* const here = to.c + 1ull * row * to.n + col;
        if (to.n % 4 == 0) {
            store_four(here, col < to.n, values);
        } else {
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                st_global_if(here + e, col + e < to.n, bits(from_f32<Result>(values[e])));
        }
    }
    of_tile.leave(to, place, shared);
}

__device__ inline void store(const Output& to, const Accumulators& acc, TilePlace place, unsigned shared) {
    if constexpr (epilogue == Epilogue::unrolled) {
        store_unrolled(to, acc, place);
    } else {
        __syncthreads();  // the last fragments are read
        leave_in_shared(acc, shared);
        __syncthreads();
        store_shared(to, place, shared);
    }
}

// ---- Which tile a block takes. Blocks that run together should share rows of a and columns of b, which are
// then read from L2: tiles go down 8 rows of tiles, then to the next column of tiles.
__device__ inline TilePlace place_of_block(unsigned block, unsigned m, unsigned n) {
    constexpr unsigned group = 8;
    const unsigned tiles_m = (m + tile_m - 1) / tile_m, tiles_n = (n + tile_n - 1) / tile_n;
    const unsigned first = block / (group * tiles_n) * group, in_group = block % (group * tiles_n);
    const unsigned height = min(group, tiles_m - first);
    return {(first + in_group % height) * tile_m, in_group / height * tile_n};
}
