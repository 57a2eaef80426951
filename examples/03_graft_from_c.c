/* From C: a CUDA kernel is compiled once, then three different stubs are grafted into its site and run.

   Prints one line per variant and fails if a result is not what C computes. Runs on a GPU, or without one on
   the emulator. */

#include <ptxgraft/ptxgraft.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 1000 };

static const char source[] =
    "#include <ptxgraft/site.cuh>\n"
    "extern \"C\" __global__ void combine(const float* x, const float* y, float* z, unsigned count) {\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i >= count) return;\n"
    "    float a = x[i], b = y[i], c;\n"
    "    PTXGRAFT_SITE(\"combine\", \"mov.f32 _c, _a;\", in(f32, a), in(f32, b), out(f32, c));\n"
    "    z[i] = c;\n"
    "}\n";

static float sum(float a, float b) { return a + b; }
static float rectified_product(float a, float b) { return a * b > 0 ? a * b : 0; }
static float squared_distance(float a, float b) { return (a - b) * (a - b); }

typedef struct Variant {
    const char* program;
    float (*expected)(float, float);
} Variant;

static const Variant variants[] = {
    {"a b add.f32 -> c", sum},
    {"a b mul.f32 0.0 max.f32 -> c", rectified_product},
    {"a b sub.f32 dup.f32 mul.f32 -> c", squared_distance},
};

/* What the calls share. */
typedef struct Work {
    ptxgraft_device* device;
    ptxgraft_skeleton* skeleton;
    ptxgraft_buffer *x, *y, *z;
    float host_x[COUNT], host_y[COUNT], host_z[COUNT];
} Work;

static ptxgraft_status set_up(Work* work) {
    ptxgraft_cuda_options options = PTXGRAFT_CUDA_OPTIONS_INIT;
    ptxgraft_status status;
    if ((status = ptxgraft_device_open(&work->device, "auto"))) return status;
    options.target = ptxgraft_device_get_target(work->device);
    options.file_name = "combine.cu";
    if ((status = ptxgraft_skeleton_create_from_cuda(&work->skeleton, source, strlen(source), &options)))
        return status;
    if ((status = ptxgraft_buffer_create(&work->x, work->device, sizeof work->host_x))) return status;
    if ((status = ptxgraft_buffer_create(&work->y, work->device, sizeof work->host_y))) return status;
    if ((status = ptxgraft_buffer_create(&work->z, work->device, sizeof work->host_z))) return status;
    if ((status = ptxgraft_buffer_write(work->x, 0, work->host_x, sizeof work->host_x))) return status;
    return ptxgraft_buffer_write(work->y, 0, work->host_y, sizeof work->host_y);
}

static ptxgraft_status launch(Work* work, const ptxgraft_kernel* kernel) {
    const uint32_t count = COUNT;
    const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(work->x), PTXGRAFT_BUFFER(work->y),
                                           PTXGRAFT_BUFFER(work->z), PTXGRAFT_VALUE(count)};
    ptxgraft_launch_options options = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    ptxgraft_status status;
    options.grid[0] = (COUNT + 127) / 128;
    options.block[0] = 128;
    if ((status = ptxgraft_buffer_fill(work->z, 0xFF))) return status; /* NaN: what is not written is seen */
    if ((status = ptxgraft_kernel_launch(kernel, &options, arguments, 4))) return status;
    return ptxgraft_buffer_read(work->host_z, work->z, 0, sizeof work->host_z);
}

static ptxgraft_status run_variant(Work* work, const char* program) {
    ptxgraft_stub* stub = NULL;
    ptxgraft_kernel* kernel = NULL;
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_graft graft = {"combine", NULL};
    ptxgraft_status status =
        ptxgraft_stub_create_from_program(&stub, work->skeleton, "combine", program, strlen(program));
    if (status == PTXGRAFT_STATUS_ok) {
        graft.stub = stub;
        options.grafts = &graft;
        options.graft_count = 1;
        status = ptxgraft_kernel_create(&kernel, work->skeleton, work->device, &options);
    }
    if (status == PTXGRAFT_STATUS_ok) status = launch(work, kernel);
    ptxgraft_kernel_destroy(kernel);
    ptxgraft_stub_destroy(stub);
    return status;
}

/* Elements that are wrong. The inputs are small multiples of 1/4, so that every result is exact. */
static int count_wrong(const Work* work, const Variant* variant) {
    int wrong = 0, i;
    for (i = 0; i < COUNT; ++i)
        wrong += !(work->host_z[i] == variant->expected(work->host_x[i], work->host_y[i]));
    return wrong;
}

static int run_all(Work* work) {
    const size_t count = sizeof variants / sizeof variants[0];
    size_t i;
    int wrong = 0;
    for (i = 0; i < count; ++i) {
        int here;
        if (run_variant(work, variants[i].program) != PTXGRAFT_STATUS_ok) return -1;
        here = count_wrong(work, &variants[i]);
        printf("%-36s %d of %d correct\n", variants[i].program, COUNT - here, COUNT);
        wrong += here;
    }
    return wrong;
}

int main(void) {
    static Work work;
    int wrong, i;
    for (i = 0; i < COUNT; ++i) {
        work.host_x[i] = (float)(i % 37 - 18) / 4;
        work.host_y[i] = (float)(i % 23 - 11) / 4;
    }
    wrong = set_up(&work) == PTXGRAFT_STATUS_ok ? run_all(&work) : -1;
    if (wrong < 0) fputs(ptxgraft_error_get_message(), stderr);
    ptxgraft_buffer_destroy(work.x);
    ptxgraft_buffer_destroy(work.y);
    ptxgraft_buffer_destroy(work.z);
    ptxgraft_skeleton_destroy(work.skeleton);
    ptxgraft_device_destroy(work.device);
    return wrong == 0 ? 0 : 1;
}
