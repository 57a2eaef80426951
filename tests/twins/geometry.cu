// Geometry: convex hulls, points in polygons, triangles against rays, a tree of boxes walked with a stack,
// nearest neighbours in a k-d tree, quaternions, Morton codes, Bresenham's lines, a distance field by jumps.
#include "twin.hpp"

namespace geometry {

struct Point {
    s32 x, y;
};
BOTH inline s64 turn(Point a, Point b, Point c) {
    return (s64)(b.x - a.x) * (c.y - a.y) - (s64)(b.y - a.y) * (c.x - a.x);
}

BOTH inline u32 hull(const Point* points, u32 count) {  // Andrew's; a hash of the corners
    u8 order[24], corner[50];
    for (u32 i = 0; i < count; ++i) {
        u32 at = i;
        for (; at > 0 && (points[order[at - 1]].x > points[i].x ||
                          (points[order[at - 1]].x == points[i].x && points[order[at - 1]].y > points[i].y));
             --at)
            order[at] = order[at - 1];
        order[at] = (u8)i;
    }
    u32 size = 0;
    for (u32 pass = 0, least = 2; pass < 2; ++pass, least = size + 1)
        for (u32 i = pass; i < count; ++i) {
            const u8 next = pass == 0 ? order[i] : order[count - 1 - i];
            while (size >= least &&
                   turn(points[corner[size - 2]], points[corner[size - 1]], points[next]) <= 0)
                --size;
            corner[size++] = next;
        }
    u32 hash = size;
    for (u32 i = 0; i + 1 < size; ++i) hash = hash * 31 + corner[i];
    return hash;
}

BOTH inline bool inside(const Point* corners, u32 count, Point p) {
    bool in = false;
    for (u32 i = 0, k = count - 1; i < count; k = i++) {
        const Point a = corners[i], b = corners[k];
        if ((a.y > p.y) == (b.y > p.y)) continue;
        const s64 side = (s64)(b.x - a.x) * (p.y - a.y) - (s64)(p.x - a.x) * (b.y - a.y);
        if ((side > 0) == (b.y > a.y)) in = !in;
    }
    return in;
}

BOTH inline u32 spread(u32 x) {
    x = (x | x << 8) & 0x00ff00ff, x = (x | x << 4) & 0x0f0f0f0f, x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

BOTH inline u32 line(Point a, Point b) {  // a hash of its pixels
    const s32 dx = abs(b.x - a.x), dy = -abs(b.y - a.y), sx = a.x < b.x ? 1 : -1, sy = a.y < b.y ? 1 : -1;
    u32 hash = 0;
    for (s32 error = dx + dy;;) {
        hash = hash * 131 + (u32)a.x * 7 + (u32)a.y;
        if (a.x == b.x && a.y == b.y) return hash;
        const s32 twice = 2 * error;
        if (twice >= dy) error += dy, a.x += sx;
        if (twice <= dx) error += dx, a.y += sy;
    }
}

// A k-d tree without pointers: node i's children are 2 i + 1 and 2 i + 2, its axis is its level's.
struct Nearest {
    u32 distance, node;
};
BOTH inline Nearest nearest(const Point* tree, u32 count, Point p) {
    Nearest best = {~0u, 0};
    struct Visit {
        u32 node, apart;
    } stack[16];
    u32 depth = 0;
    stack[depth++] = {0, 0};
    while (depth > 0) {
        const Visit visit = stack[--depth];
        if (visit.node >= count || visit.apart > best.distance) continue;
        const Point here = tree[visit.node];
        const u32 distance = (u32)((here.x - p.x) * (here.x - p.x) + (here.y - p.y) * (here.y - p.y));
        if (distance < best.distance || (distance == best.distance && visit.node < best.node))
            best = {distance, visit.node};
        u32 level = 0;
        for (u32 n = visit.node + 1; n > 1; n /= 2) ++level;
        const s32 apart = level % 2 == 0 ? p.x - here.x : p.y - here.y;
        const u32 near_ = 2 * visit.node + (apart < 0 ? 1 : 2), far_ = 2 * visit.node + (apart < 0 ? 2 : 1);
        stack[depth++] = {far_, (u32)(apart * apart)};
        stack[depth++] = {near_, 0};
    }
    return best;
}

struct Quaternion {
    float w, x, y, z;
};
BOTH inline Quaternion operator*(Quaternion a, Quaternion b) {
    return {fmaf(a.w, b.w, -fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z))),
            fmaf(a.w, b.x, fmaf(a.x, b.w, fmaf(a.y, b.z, -(a.z * b.y)))),
            fmaf(a.w, b.y, fmaf(-a.x, b.z, fmaf(a.y, b.w, a.z * b.x))),
            fmaf(a.w, b.z, fmaf(a.x, b.y, fmaf(-a.y, b.x, a.z * b.w)))};
}

struct Results {
    u32 hull, inside, morton, line;
    Nearest nearest;
    Quaternion turned;
};
BOTH inline Results results(const Point* points, u32 t) {
    Results r;
    r.hull = hull(points + t, 5 + t % 20), r.inside = 0;
    for (u32 i = 0; i < 16; ++i) r.inside |= (u32)inside(points + t, 3 + t % 9, points[t + 12 + i]) << i;
    const Point p = points[t], q = points[t + 1];
    r.morton = spread((u32)p.x & 0xffff) | spread((u32)p.y & 0xffff) << 1;
    r.line = line({p.x / 16, p.y / 16}, {q.x / 16, q.y / 16});
    r.nearest = nearest(points, 63, points[t + 64]);
    Quaternion turned = {1, 0, 0, 0};
    for (u32 i = 0; i < 6; ++i)
        turned = turned * Quaternion{(float)(points[t + i].x % 7) * 0.25f, 0.5f,
                                     (float)(points[t + i].y % 5) * 0.125f, -0.25f};
    r.turned = turned;
    return r;
}

#ifdef __CUDACC__
ENTRY all(const Point* points, Results* out, u32 count) {
    const u32 t = thread_number();
    if (t < count) out[t] = results(points, t);
}

// The nearest seed of each cell of a 32 by 32 field, by jump flooding.
ENTRY flood(const u32* seeds, u32 count, u32* out) {
    __shared__ u16 field[2][1024];
    const auto distance = [](u32 a, u32 b) {
        const s32 x = (s32)(a % 32) - (s32)(b % 32), y = (s32)(a / 32) - (s32)(b / 32);
        return (u32)(x * x + y * y);
    };
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) field[0][i] = 0xffff;
    __syncthreads();
    if (threadIdx.x < count) field[0][seeds[threadIdx.x]] = (u16)seeds[threadIdx.x];
    u32 now = 0;
    for (s32 jump = 16; jump > 0; jump /= 2, now ^= 1) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) {
            u32 best = field[now][i];
            for (s32 k = 0; k < 9; ++k) {
                const s32 x = (s32)(i % 32) + (k % 3 - 1) * jump, y = (s32)(i / 32) + (k / 3 - 1) * jump;
                if (x < 0 || y < 0 || x > 31 || y > 31) continue;
                const u32 other = field[now][y * 32 + x];
                if (other != 0xffff && (best == 0xffff || distance(i, other) < distance(i, best)))
                    best = other;
            }
            field[now ^ 1][i] = (u16)best;
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) out[i] = distance(i, field[now][i]);
}
#else

static void sort_tree(std::vector<Point>& points, std::vector<Point>& tree, u32 from, u32 to, u32 node,
                      u32 level) {
    if (from >= to) return;
    std::sort(points.begin() + from, points.begin() + to,
              [level](Point a, Point b) { return level % 2 == 0 ? a.x < b.x : a.y < b.y; });
    const u32 middle = (from + to) / 2;
    tree[node] = points[middle];
    sort_tree(points, tree, from, middle, 2 * node + 1, level + 1),
        sort_tree(points, tree, middle + 1, to, 2 * node + 2, level + 1);
}

TWIN(Geometry, "sm_75 --fmad=false", "sm_90a -G --fmad=false", "sm_80 nvcc -fmad=false -Xcicc -O0",
     "sm_120a nvcc -fmad=false") {
    const u32 count = 90;
    std::vector<Point> points(count + 70);
    for (Point& p : points) p = {(s32)(run.random() % 1000), (s32)(run.random() % 1000)};
    std::vector<Point> first(points.begin(), points.begin() + 63);
    sort_tree(first, points, 0, 63, 0, 0);
    std::vector<Results> host;
    for (u32 t = 0; t < count; ++t) {
        host.push_back(results(points.data(), t));
        u32 least = ~0u;
        for (u32 i = 0; i < 63; ++i)
            least =
                std::min(least, (u32)((points[i].x - points[t + 64].x) * (points[i].x - points[t + 64].x) +
                                      (points[i].y - points[t + 64].y) * (points[i].y - points[t + 64].y)));
        run.expect(host[t].nearest.distance == least, "the tree finds the nearest point");
    }
    const u64 out = run.zeros<Results>(count), field = run.zeros<u32>(1024);
    run.launch("all", {.grid = 3, .block = 32}, run.upload(points), out, count);
    run.expect_same("all", run.download<Results>(out, count), host);

    const std::vector<u32> seeds = {17, 800, 333, 1023, 512};
    run.launch("flood", {.block = 128}, run.upload(seeds), (u32)seeds.size(), field);
    std::vector<u32> least(1024, ~0u);
    for (u32 i = 0; i < 1024; ++i)
        for (const u32 s : seeds) {
            const s32 x = (s32)(i % 32) - (s32)(s % 32), y = (s32)(i / 32) - (s32)(s / 32);
            least[i] = std::min(least[i], (u32)(x * x + y * y));
        }
    run.expect_same("distances", run.download<u32>(field, 1024), least);
}
#endif
}  // namespace geometry
