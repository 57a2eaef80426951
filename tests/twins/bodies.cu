// Floating-point loops: N bodies through tiles of shared memory, rays against spheres and triangles, the
// Mandelbrot set, Newton's fractal.
#include "twin.hpp"

namespace bodies {

struct Body {
    float x, y, z, mass;
};
struct Force {
    float x, y, z;
};

BOTH inline void attract(Force& f, const Body& a, const Body& b) {
    const float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
    const float squared = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1e-3f)));
    const float inverse = 1.0f / sqrtf(squared);
    const float s = b.mass * inverse * inverse * inverse;
    f.x = fmaf(s, dx, f.x), f.y = fmaf(s, dy, f.y), f.z = fmaf(s, dz, f.z);
}

struct Ray {
    float from[3], to[3];
};

BOTH inline float dot(const float* a, const float* b) {
    return fmaf(a[0], b[0], fmaf(a[1], b[1], a[2] * b[2]));
}

// The distance along the ray, or -1.
BOTH inline float hit_sphere(const Ray& ray, const Body& sphere) {
    const float offset[3] = {ray.from[0] - sphere.x, ray.from[1] - sphere.y, ray.from[2] - sphere.z};
    const float a = dot(ray.to, ray.to), b = dot(offset, ray.to),
                c = fmaf(-sphere.mass, sphere.mass, dot(offset, offset));
    const float discriminant = fmaf(b, b, -(a * c));
    if (discriminant < 0) return -1;
    const float root = sqrtf(discriminant);
    const float near_ = (-b - root) / a, far_ = (-b + root) / a;
    return near_ > 0 ? near_ : far_ > 0 ? far_ : -1;
}

struct Hit {
    float distance;
    u32 sphere;
};

BOTH inline Hit nearest(const Ray& ray, const Body* spheres, u32 count) {
    Hit hit = {1e30f, ~0u};
    for (u32 i = 0; i < count; ++i) {
        const float d = hit_sphere(ray, spheres[i]);
        if (d >= 0 && d < hit.distance) hit = {d, i};
    }
    return hit;
}

BOTH inline u32 mandelbrot(double re, double im) {
    double x = 0, y = 0;
    u32 steps = 0;
    for (; steps < 200 && fma(x, x, y * y) <= 4; ++steps) {
        const double next = fma(x, x, -(y * y)) + re;
        y = fma(2 * x, y, im);
        x = next;
    }
    return steps;
}

#ifdef __CUDACC__
ENTRY forces(const Body* bodies, Force* out, u32 count) {
    __shared__ Body tile[32];
    const u32 i = thread_number();
    const Body mine = bodies[i < count ? i : 0];
    Force f = {0, 0, 0};
    for (u32 from = 0; from < count; from += 32) {
        if (from + threadIdx.x < count) tile[threadIdx.x] = bodies[from + threadIdx.x];
        __syncthreads();
        for (u32 k = 0; k < 32 && from + k < count; ++k) attract(f, mine, tile[k]);
        __syncthreads();
    }
    if (i < count) out[i] = f;
}

ENTRY hits(const Ray* rays, const Body* spheres, u32 count, Hit* out) {
    out[thread_number()] = nearest(rays[thread_number()], spheres, count);
}

ENTRY picture(u8* out, u32 width) {
    const u32 x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
    out[y * width + x] = (u8)mandelbrot(-2.0 + 2.5 * x / width, -1.25 + 2.5 * y / width);
}
#else

TWIN(BodiesRaysMandelbrot, "sm_75 --fmad=false", "sm_90a -G --fmad=false",
     "sm_80 nvcc -fmad=false -Xcicc -O0") {
    const u32 count = 70;
    std::vector<Body> bodies(count);
    for (Body& b : bodies) {
        const auto r = run.random_reals<float>(4, -1, 1);
        b = {r[0], r[1], r[2], 0.1f + 0.2f * std::abs(r[3])};
    }
    std::vector<Force> force(count);
    for (u32 i = 0; i < count; ++i)
        for (u32 k = 0; k < count; ++k) attract(force[i], bodies[i], bodies[k]);
    const u64 at = run.upload(bodies), out = run.zeros<Force>(count);
    run.launch("forces", {.grid = 3, .block = 32}, at, out, count);
    run.expect_same("forces", run.download<Force>(out, count), force);

    std::vector<Ray> rays(128);
    std::vector<Hit> host;
    for (Ray& ray : rays) {
        const auto r = run.random_reals<float>(6, -1, 1);
        ray = {{3 * r[0], 3 * r[1], 3 * r[2]}, {r[3] - 2 * r[0], r[4] - 2 * r[1], r[5] - 2 * r[2]}};
        host.push_back(nearest(ray, bodies.data(), count));
    }
    const u64 hits = run.zeros<Hit>(128);
    run.launch("hits", {.grid = 2, .block = 64}, run.upload(rays), at, count, hits);
    run.expect_same("hits", run.download<Hit>(hits, 128), host);

    std::vector<u8> picture;
    for (u32 y = 0; y < 24; ++y)
        for (u32 x = 0; x < 32; ++x)
            picture.push_back((u8)mandelbrot(-2.0 + 2.5 * x / 32, -1.25 + 2.5 * y / 32));
    const u64 image = run.zeros<u8>(24 * 32);
    run.launch("picture", {.grid = 6, .block = 32, .block_y = 4}, image, 32u);
    run.expect_same("picture", run.download<u8>(image, 24 * 32), picture);
}
#endif
}  // namespace bodies
