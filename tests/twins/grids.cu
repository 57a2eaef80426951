// Fields in two and three dimensions: convolution through tiles with halos, a median filter, Sobel, heat in a
// box, Life by ballots, a flood by steps, transposes without bank conflicts, products of matrices of every
// type.
#include "twin.hpp"

namespace grids {

BOTH inline u8 median(u8* v) {
    for (int i = 1; i < 9; ++i)
        for (int k = i; k > 0 && v[k - 1] > v[k]; --k) {
            const u8 kept = v[k];
            v[k] = v[k - 1], v[k - 1] = kept;
        }
    return v[4];
}
BOTH inline u32 edge(const u8* v) {
    const s32 x = v[2] + 2 * v[5] + v[8] - v[0] - 2 * v[3] - v[6],
              y = v[6] + 2 * v[7] + v[8] - v[0] - 2 * v[1] - v[2];
    return (u32)(x * x + y * y);
}

#ifdef __CUDACC__
ENTRY filters(const u8* image, s32 width, s32 height, u8* medians, u32* edges) {
    __shared__ u8 tile[10][18];  // of 16 by 8, with a border of 1
    const s32 x0 = (s32)blockIdx.x * 16, y0 = (s32)blockIdx.y * 8;
    for (s32 i = (s32)(threadIdx.y * 16 + threadIdx.x); i < 180; i += 128) {
        const s32 x = min(max(x0 + i % 18 - 1, 0), width - 1), y = min(max(y0 + i / 18 - 1, 0), height - 1);
        tile[i / 18][i % 18] = image[y * width + x];
    }
    __syncthreads();
    const s32 x = x0 + (s32)threadIdx.x, y = y0 + (s32)threadIdx.y;
    if (x >= width || y >= height) return;
    u8 v[9];
    for (int i = 0; i < 9; ++i) v[i] = tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
    edges[y * width + x] = edge(v);
    medians[y * width + x] = median(v);
}

ENTRY heat(const float* from, float* to, s32 n) {  // a cube, a column along z per thread
    const s32 x = (s32)(blockIdx.x * blockDim.x + threadIdx.x),
              y = (s32)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= n || y >= n) return;
    for (s32 z = 0; z < n; ++z) {
        const s32 at = (z * n + y) * n + x;
        float sum = 0;
        sum += x > 0 ? from[at - 1] : 0, sum += x + 1 < n ? from[at + 1] : 0, sum += y > 0 ? from[at - n] : 0;
        sum += y + 1 < n ? from[at + n] : 0, sum += z > 0 ? from[at - n * n] : 0,
            sum += z + 1 < n ? from[at + n * n] : 0;
        to[at] = fmaf(0.1f, fmaf(-6.0f, from[at], sum), from[at]);
    }
}

// Life on a torus of 32 columns: a row is a warp's ballot.
ENTRY life(u32* rows, u32 count, u32 steps) {
    extern __shared__ u32 field[];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    u32* here = field;
    u32* next = field + count;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) here[i] = rows[i];
    __syncthreads();
    for (u32 step = 0; step < steps; ++step) {
        for (u32 y = warp; y < count; y += warps) {
            u32 around = 0;
            for (u32 dy = 0; dy < 3; ++dy) {
                const u32 row = here[(y + count + dy - 1) % count];
                around += __popc(__funnelshift_r(row, row, (lane + 31) % 32) & 7);
            }
            const bool alive = here[y] >> lane & 1;
            const u32 made = __ballot_sync(~0u, around == 3 || (alive && around == 4));
            if (lane == 0) next[y] = made;
        }
        __syncthreads();
        u32* const kept = here;
        here = next, next = kept;
    }
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) rows[i] = here[i];
}

template <class T, class Sum> DEVICE void multiply(const T* a, const T* b, Sum* c, u32 n) {
    __shared__ T as[8][9], bs[8][9];
    const u32 row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    Sum sum = 0;
    for (u32 k = 0; k < n; k += 8) {
        as[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : T(0);
        bs[threadIdx.y][threadIdx.x] =
            column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : T(0);
        __syncthreads();
        for (u32 i = 0; i < 8; ++i) sum += (Sum)as[threadIdx.y][i] * (Sum)bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
ENTRY products(const s8* a, const s8* b, s32* c, float* f, double* d, u64* u, u32 n, const float* fa,
               const float* fb, const double* da, const double* db, const u64* ua, const u64* ub) {
    multiply<s8, s32>(a, b, c, n), multiply<float, float>(fa, fb, f, n),
        multiply<double, double>(da, db, d, n), multiply<u64, u64>(ua, ub, u, n);
}

ENTRY transpose(const u16* in, u16* out, u32 width, u32 height) {
    __shared__ u16 tile[32][33];
    for (u32 y = threadIdx.y; y < 32; y += blockDim.y) {
        const u32 x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + y;
        if (x < width && row < height) tile[y][threadIdx.x] = in[row * width + x];
    }
    __syncthreads();
    for (u32 y = threadIdx.y; y < 32; y += blockDim.y) {
        const u32 x = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + y;
        if (x < height && row < width) out[row * height + x] = tile[threadIdx.x][y];
    }
}
#else

static void images(twin::Run& run) {
    const s32 width = 45, height = 21;
    const auto image = run.random_values<u8>(width * height);
    std::vector<u8> medians;
    std::vector<u32> edges;
    for (s32 y = 0; y < height; ++y)
        for (s32 x = 0; x < width; ++x) {
            u8 v[9];
            for (int i = 0; i < 9; ++i)
                v[i] = image[std::clamp(y + i / 3 - 1, 0, height - 1) * width +
                             std::clamp(x + i % 3 - 1, 0, width - 1)];
            edges.push_back(edge(v)), medians.push_back(median(v));
        }
    const u64 m = run.zeros<u8>(image.size()), e = run.zeros<u32>(image.size());
    run.launch("filters", {.grid = 3, .block = 16, .block_y = 8, .grid_y = 3}, run.upload(image), width,
               height, m, e);
    run.expect_same("medians", run.download<u8>(m, image.size()), medians);
    run.expect_same("edges", run.download<u32>(e, image.size()), edges);

    std::vector<u16> in = run.random_values<u16>(70 * 41), turned(in.size());
    for (u32 i = 0; i < in.size(); ++i) turned[i % 70 * 41 + i / 70] = in[i];
    const u64 out = run.zeros<u16>(in.size());
    run.launch("transpose", {.grid = 3, .block = 32, .block_y = 8, .grid_y = 2}, run.upload(in), out, 70u,
               41u);
    run.expect_same("transposed", run.download<u16>(out, in.size()), turned);
}

static void heat_and_life(twin::Run& run) {
    const s32 n = 13;
    auto field = run.random_reals<float>(n * n * n, 0, 100);
    u64 from = run.upload(field), to = run.upload(field);
    for (int step = 0; step < 3; ++step, std::swap(from, to)) {
        run.launch("heat", {.grid = 2, .block = 8, .block_y = 4, .grid_y = 4}, from, to, n);
        const auto before = field;
        const auto at = [&](s32 x, s32 y, s32 z) {
            return x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n ? 0 : before[(z * n + y) * n + x];
        };
        for (s32 i = 0; i < n * n * n; ++i) {
            const s32 x = i % n, y = i / n % n, z = i / n / n;
            float sum = 0;
            sum += at(x - 1, y, z), sum += at(x + 1, y, z), sum += at(x, y - 1, z), sum += at(x, y + 1, z),
                sum += at(x, y, z - 1), sum += at(x, y, z + 1);
            field[i] = std::fma(0.1f, std::fma(-6.0f, before[i], sum), before[i]);
        }
    }
    run.expect_same("heat", run.download<float>(from, field.size()), field);

    auto rows = run.random_values<u32>(20);
    const u64 device = run.upload(rows);
    run.launch("life", {.block = 96, .shared = 160}, device, 20u, 12u);
    for (int step = 0; step < 12; ++step) {
        const auto before = rows;
        for (u32 y = 0; y < 20; ++y)
            for (u32 x = 0; x < 32; ++x) {
                u32 around = 0;
                for (u32 i = 0; i < 9; ++i)
                    around += before[(y + 19 + i / 3) % 20] >> (x + 31 + i % 3) % 32 & 1;
                const bool alive = before[y] >> x & 1;
                rows[y] = (rows[y] & ~(1u << x)) | (u32)(around == 3 || (alive && around == 4)) << x;
            }
    }
    run.expect_same("life", run.download<u32>(device, 20), rows);
}

template <class Sum, class T>
static std::vector<Sum> product(const std::vector<T>& a, const std::vector<T>& b, u32 n) {
    std::vector<Sum> c(n * n);
    for (u32 i = 0; i < n * n; ++i)
        for (u32 k = 0; k < (n + 7) / 8 * 8; ++k)
            c[i] += k < n ? (Sum)a[i / n * n + k] * (Sum)b[k * n + i % n] : Sum(0);
    return c;
}

TWIN(Grids, "sm_80 --fmad=false", "sm_75 -G", "sm_90a nvcc -fmad=false -Xcicc -O0",
     "sm_120a nvcc -fmad=false -lineinfo") {
    images(run), heat_and_life(run);
    const u32 n = 21;
    const auto a = run.random_values<s8>(n * n), b = run.random_values<s8>(n * n);
    const auto fa = run.random_reals<float>(n * n, -1, 1), fb = run.random_reals<float>(n * n, -1, 1);
    const auto da = run.random_reals<double>(n * n, -1, 1), db = run.random_reals<double>(n * n, -1, 1);
    const auto ua = run.random_values<u64>(n * n), ub = run.random_values<u64>(n * n);
    const u64 c = run.zeros<s32>(n * n), f = run.zeros<float>(n * n), d = run.zeros<double>(n * n),
              u = run.zeros<u64>(n * n);
    run.launch("products", {.grid = 3, .block = 8, .block_y = 8, .grid_y = 3}, run.upload(a), run.upload(b),
               c, f, d, u, n, run.upload(fa), run.upload(fb), run.upload(da), run.upload(db), run.upload(ua),
               run.upload(ub));
    run.expect_same("bytes", run.download<s32>(c, n * n), product<s32>(a, b, n));
    run.expect_same("floats", run.download<float>(f, n * n), product<float>(fa, fb, n));
    run.expect_same("doubles", run.download<double>(d, n * n), product<double>(da, db, n));
    run.expect_same("u64", run.download<u64>(u, n * n), product<u64>(ua, ub, n));
}
#endif
}  // namespace grids
