// Tensor cores through mma.h: products of f16, bf16, tf32, f64 and bytes, in row and column order, added to
// what was there; many tiles.
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <mma.h>
#else
#include "narrow.hpp"
#endif
#include "twin.hpp"

namespace tensor_cores {

#ifdef __CUDACC__
namespace wmma = nvcuda::wmma;
using wmma::col_major, wmma::row_major;

// d = 2 (a b + c), c and d by rows. Small whole numbers: exact in every order.
template <u32 M, u32 N, u32 K, class Rows, class Columns, class Element, class In, class Sum>
DEVICE void multiply(const In* a, u32 a_stride, const In* b, u32 b_stride, const Sum* c, Sum* d) {
    wmma::fragment<wmma::matrix_a, M, N, K, Element, Rows> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, Element, Columns> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(fa, a, a_stride);
    wmma::load_matrix_sync(fb, b, b_stride);
    wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
    wmma::mma_sync(sum, fa, fb, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
    wmma::store_matrix_sync(d, sum, N, wmma::mem_row_major);
}

// four shapes and orders, a warp each
ENTRY halves(const __half* a, const __half* b, const float* c, float* d) {
    switch (threadIdx.x / 32) {
        case 0: multiply<16, 16, 16, row_major, row_major, __half>(a, 16, b, 16, c, d); break;
        case 1: multiply<32, 8, 16, row_major, col_major, __half>(a, 16, b, 16, c, d + 256); break;
        case 2: multiply<8, 32, 16, col_major, row_major, __half>(a, 8, b, 32, c, d + 512); break;
        default: multiply<16, 16, 16, col_major, col_major, __half>(a, 16, b, 16, c, d + 768);
    }
}
ENTRY others(const __nv_bfloat16* ba, const __nv_bfloat16* bb, const float* fa, const float* fb, const s8* ia,
             const s8* ib, const double* da, const double* db, const float* c, const s32* ic,
             const double* dc, float* d, s32* id, double* dd) {
    if (threadIdx.x < 32) multiply<16, 16, 16, row_major, row_major, __nv_bfloat16>(ba, 16, bb, 16, c, d);
    if (threadIdx.x < 32)
        multiply<16, 16, 8, row_major, row_major, wmma::precision::tf32>(fa, 8, fb, 16, c, d + 256);
    multiply<16, 16, 16, row_major, row_major, s8>(ia, 16, ib, 16, ic, id);
    multiply<8, 8, 4, row_major, row_major, double>(da, 4, db, 8, dc, dd);
}

// A product of 48 by 64 through tiles in shared memory, with sums in half precision.
ENTRY tiled(const __half* a, const __half* b, __half* d, u32 depth) {
    __shared__ __half as[16 * 16], bs[16 * 16];
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum;
    wmma::fill_fragment(sum, __float2half(0.0f));
    const u32 row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (u32 k = 0; k < depth; k += 16) {
        for (u32 i = threadIdx.x; i < 256; i += 32)
            as[i] = a[(row + i / 16) * depth + k + i % 16], bs[i] = b[(k + i / 16) * 64 + column + i % 16];
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, row_major> fb;
        wmma::load_matrix_sync(fa, as, 16), wmma::load_matrix_sync(fb, bs, 16);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(d + row * 64 + column, sum, 64, wmma::mem_row_major);
}
#else

using Values = std::vector<s32>;

static Values small_values(twin::Run& run, u32 count, u32 range) {
    Values values(count);
    for (s32& x : values) x = (s32)(run.random() % (2 * range + 1)) - (s32)range;
    return values;
}
template <class T> static std::vector<T> as(const Values& values) { return {values.begin(), values.end()}; }
static std::vector<u16> halves_of(const Values& values) {
    std::vector<u16> bits;
    for (const s32 x : values) bits.push_back(twin::bits_of_f16(x));
    return bits;
}
static std::vector<u16> bfloats_of(const Values& values) {
    std::vector<u16> bits;
    for (const s32 x : values) bits.push_back(twin::bits_of_bf16(x));
    return bits;
}
static Values product(const Values& a, bool a_rows, const Values& b, bool b_rows, const Values& c, u32 m,
                      u32 n, u32 k) {
    Values d(m * n);
    for (u32 i = 0; i < m * n; ++i) {
        const u32 row = i / n, column = i % n;
        s32 sum = c[i];
        for (u32 x = 0; x < k; ++x)
            sum += a[a_rows ? row * k + x : x * m + row] * b[b_rows ? x * n + column : column * k + x];
        d[i] = 2 * sum;
    }
    return d;
}

static void compare_halves(twin::Run& run) {
    const Values a = small_values(run, 512, 8), b = small_values(run, 512, 8),
                 c = small_values(run, 256, 100);
    const u64 d = run.zeros<float>(1024);
    run.launch("halves", {.block = 128}, run.upload(halves_of(a)), run.upload(halves_of(b)),
               run.upload(as<float>(c)), d);
    std::vector<float> host;
    for (const Values& part :
         {product(a, true, b, true, c, 16, 16, 16), product(a, true, b, false, c, 32, 8, 16),
          product(a, false, b, true, c, 8, 32, 16), product(a, false, b, false, c, 16, 16, 16)})
        host.insert(host.end(), part.begin(), part.end());
    run.expect_same("halves", run.download<float>(d, 1024), host);

    const Values left = small_values(run, 48 * 32, 4), right = small_values(run, 32 * 64, 4);
    const u64 tiled = run.zeros<u16>(48 * 64);
    run.launch("tiled", {.grid = 4, .block = 32, .grid_y = 3}, run.upload(halves_of(left)),
               run.upload(halves_of(right)), tiled, 32u);
    Values twice = product(left, true, right, true, Values(48 * 64), 48, 64, 32);
    for (s32& x : twice) x /= 2;
    run.expect_same("tiled", run.download<u16>(tiled, 48 * 64), halves_of(twice));
}

static void compare_others(twin::Run& run) {
    const Values ba = small_values(run, 256, 8), bb = small_values(run, 256, 8),
                 fa = small_values(run, 128, 500), fb = small_values(run, 128, 500),
                 ia = small_values(run, 256, 127), ib = small_values(run, 256, 127);
    const Values da = small_values(run, 32, 100000), db = small_values(run, 32, 1000),
                 c = small_values(run, 256, 100);
    const u64 d = run.zeros<float>(512), id = run.zeros<s32>(256), dd = run.zeros<double>(64),
              wide = run.upload(as<float>(c));
    run.launch("others", {.block = 32}, run.upload(bfloats_of(ba)), run.upload(bfloats_of(bb)),
               run.upload(as<float>(fa)), run.upload(as<float>(fb)), run.upload(as<s8>(ia)),
               run.upload(as<s8>(ib)), run.upload(as<double>(da)), run.upload(as<double>(db)), wide,
               run.upload(c), run.upload(as<double>(c)), d, id, dd);
    std::vector<float> host = as<float>(product(ba, true, bb, true, c, 16, 16, 16));
    for (const s32 x : product(fa, true, fb, true, c, 16, 16, 8)) host.push_back((float)x);
    run.expect_same("floats", run.download<float>(d, 512), host);
    run.expect_same("bytes", run.download<s32>(id, 256), product(ia, true, ib, true, c, 16, 16, 16));
    run.expect_same("doubles", run.download<double>(dd, 64),
                    as<double>(product(da, true, db, true, c, 8, 8, 4)));
}

TWIN(TensorCores, "sm_80 nvcc", "sm_90a nvcc -G") { compare_halves(run), compare_others(run); }
#endif
}  // namespace tensor_cores
