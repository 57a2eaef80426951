// Solvers: differential equations with steps that adapt themselves, roots by Newton and bisection, a simplex,
// sudoku by search with a stack, the travelling salesman by bits, conjugate gradients in a block, splines,
// quadrature by recursion.
#include "twin.hpp"

namespace solvers {

// Dormand and Prince's pair: every lane takes another number of steps. Fused by hand: the same roundings on
// both sides.
BOTH inline double slope(double t, double y, double k) { return fma(-k, y, t * 0.5); }
BOTH inline double integrated(double k, u32& steps) {
    double t = 0, y = 1, h = 0.1;
    steps = 0;
    while (t < 2 && steps < 500) {
        if (t + h > 2) h = 2 - t;
        const double k1 = slope(t, y, k), k2 = slope(t + h * 0.2, fma(h * 0.2, k1, y), k);
        const double k3 = slope(t + h * 0.3, fma(h, fma(0.075, k1, 0.225 * k2), y), k);
        const double low = fma(h, fma(0.25, k1, 0.75 * k3), y), high = fma(h, fma(0.5, k2, 0.5 * k3), y);
        const double error = fabs(high - low), allowed = 1e-6 * (1 + fabs(y));
        ++steps;
        if (error <= allowed) t += h, y = high;
        h = h * (error > allowed ? 0.5 : error < allowed * 0.1 ? 1.8 : 1.0);
    }
    return y;
}

BOTH inline double root(double a) {  // of x^3 + a x - 1, by Newton where it stays inside, else by halves
    double low = 0, high = 2, x = 1;
    for (int i = 0; i < 60; ++i) {
        const double f = fma(x, fma(x, x, a), -1.0);
        if (f == 0) break;
        (f > 0 ? high : low) = x;
        const double next = x - f / fma(3 * x, x, a);
        x = next > low && next < high ? next : 0.5 * (low + high);
        if (high - low < 1e-15) break;
    }
    return x;
}

BOTH inline double simpson(double a, double b, double fa, double fm, double fb, double whole, u32 depth) {
    const double m = 0.5 * (a + b), x = 0.5 * (a + m), y = 0.5 * (m + b);
    const double fx = 1 / fma(x, x, 0.01), fy = 1 / fma(y, y, 0.01);
    const double left = (m - a) / 6 * (fa + fma(4.0, fx, fm)), right = (b - m) / 6 * (fm + fma(4.0, fy, fb));
    if (depth == 0 || fabs(left + right - whole) < 1e-7) return left + right;
    return simpson(a, m, fa, fx, fm, left, depth - 1) + simpson(m, b, fm, fy, fb, right, depth - 1);
}

// Sudoku of 4 by 4 boxes of 2 by 2, cell by cell with a stack of its own; the number of solutions.
BOTH inline u32 sudoku(u64 given) {
    u8 cell[16], fixed[16];
    for (u32 i = 0; i < 16; ++i)
        fixed[i] = cell[i] = (u8)(given >> 4 * i & 15) > 4 ? 0 : (u8)(given >> 4 * i & 15);
    u32 found = 0, steps = 0;
    for (s32 at = 0; at >= 0 && steps < 4000; ++steps) {
        if (at == 16) {
            ++found, --at;
            while (at >= 0 && fixed[at]) --at;
            continue;
        }
        bool moved = false;
        for (u8 value = fixed[at] ? fixed[at] : (u8)(cell[at] + 1); value <= (fixed[at] ? fixed[at] : 4);
             ++value) {
            bool fits = true;
            for (u32 i = 0; i < 16; ++i) {
                const bool sees = i / 4 == (u32)at / 4 || i % 4 == (u32)at % 4 ||
                                  (i / 8 == (u32)at / 8 && i % 4 / 2 == (u32)at % 4 / 2);
                if (i != (u32)at && sees && (i < (u32)at ? cell[i] : fixed[i]) == value) fits = false;
            }
            if (!fits) continue;
            cell[at] = value, moved = true;
            break;
        }
        if (moved) {
            ++at;
            continue;
        }
        if (!fixed[at]) cell[at] = 0;
        for (--at; at >= 0 && fixed[at];) --at;
    }
    return found * 5000 + steps;
}

BOTH inline u32 shortest_tour(const u8* distances) {  // of 7 places
    u16 best[64][6];
    for (u32 set = 0; set < 64; ++set)
        for (u32 last = 0; last < 6; ++last) {
            best[set][last] = 60000;
            if (!(set >> last & 1)) continue;
            const u32 before = set & ~(1u << last);
            if (before == 0) best[set][last] = distances[6 * 7 + last];
            for (u32 from = 0; from < 6; ++from)
                if (before >> from & 1 && best[before][from] + distances[from * 7 + last] < best[set][last])
                    best[set][last] = (u16)(best[before][from] + distances[from * 7 + last]);
        }
    u32 shortest = ~0u;
    for (u32 last = 0; last < 6; ++last) {
        const u32 length = best[63][last] + distances[last * 7 + 6];
        shortest = length < shortest ? length : shortest;
    }
    return shortest;
}

struct Results {
    double y, root, area;
    u32 steps, solutions, tour, size;
};
BOTH inline Results results(u64 x) {
    Results r;
    r.y = integrated((double)(x % 1000) * 0.02, r.steps);
    r.root = root((double)(x >> 10 & 1023) * 0.01);
    const double b = (double)(x >> 20 & 255) * 0.01 + 0.1, m = 0.5 * b, fa = 100, fm = 1 / fma(m, m, 0.01),
                 fb = 1 / fma(b, b, 0.01);
    r.area = simpson(0, b, fa, fm, fb, b / 6 * (fa + fma(4.0, fm, fb)), 9);
    r.solutions = sudoku(x & 0x0f0000f00f0000f0);
    u8 distances[49];
    for (u32 i = 0; i < 49; ++i) distances[i] = (u8)(x * (i + 1) * 0x9e3779b97f4a7c15 >> 57);
    r.tour = shortest_tour(distances);
    r.size = sizeof r;
    return r;
}

#ifdef __CUDACC__
ENTRY all(const u64* in, Results* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) out[i] = results(in[i]);
}

// Conjugate gradients on a tridiagonal system, an unknown per thread.
DEVICE double sum_of_block(double* shared, double x) {
    shared[threadIdx.x] = x;
    for (u32 d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) shared[threadIdx.x] += shared[threadIdx.x + d];
    }
    __syncthreads();
    const double sum = shared[0];
    __syncthreads();
    return sum;
}
ENTRY gradients(const double* right, double* out) {
    __shared__ double sums[64], p[66];
    const u32 t = threadIdx.x;
    if (t < 2) p[65 * t] = 0;
    double x = 0, r = right[t], squared = sum_of_block(sums, r * r);
    p[t + 1] = r;
    for (u32 step = 0; step < 64 && squared > 1e-24; ++step) {
        __syncthreads();
        const double product = 2.5 * p[t + 1] - p[t] - p[t + 2];
        const double along = squared / sum_of_block(sums, p[t + 1] * product);
        x += along * p[t + 1], r -= along * product;
        const double next = sum_of_block(sums, r * r);
        p[t + 1] = r + next / squared * p[t + 1];
        squared = next;
    }
    out[t] = x;
}
#else
TWIN(Solvers, "sm_80 --fmad=false", "sm_75 -G --fmad=false", "sm_90a nvcc -fmad=false -Xcicc -O0") {
    run.map<Results>("all", run.random_values<u64>(96), results, 32);
    const auto right = run.random_reals<double>(64, -1, 1);
    const u64 out = run.zeros<double>(64);
    run.launch("gradients", {.block = 64}, run.upload(right), out);
    const auto x = run.download<double>(out, 64);
    double most = 0;
    for (u32 i = 0; i < 64; ++i)
        most = std::max(most,
                        std::abs(2.5 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < 63 ? x[i + 1] : 0) - right[i]));
    run.expect(most < 1e-11, "the gradients' answer solves the system");
}
#endif
}  // namespace solvers
