/* A search in C99: of many stubs the one whose kernel has the fewest bytes of code, with
   a cache, worker processes and a stop; then the best one runs on the emulator. Prints what it finds, and
   fails where a result is not what C computes. */

#include <ptxgraft/ptxgraft.h>
#include <stdio.h>
#include <string.h>

enum { CANDIDATES = 8, THREADS = 32 };

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "%s:%d: %s\n%s", __FILE__, __LINE__, #condition, ptxgraft_error_get_message()); \
            return 1;                                                                                       \
        }                                                                                                   \
    } while (0)
#define CHECK_OK(call) CHECK((call) == PTXGRAFT_STATUS_ok)

/* out[i] = f(i): the site s has the operand `mod f32 x`. */
static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n"
    "{\n"
    "\t.reg .b32 %r<2>; .reg .b64 %rd<3>; .reg .f32 %f<2>;\n"
    "\tld.param.u64 %rd1, [out];\n"
    "\tmov.u32 %r1, %tid.x;\n"
    "\tcvt.rn.f32.u32 %f1, %r1;\n"
    "\t{ // PTXGRAFT_SITE s\n"
    "\t.reg .f32 _x; // mod f32 x\n"
    "\tmov.b32 _x, %f1;\n"
    "\t// PTXGRAFT_STUB\n"
    "\t// PTXGRAFT_END\n"
    "\tmov.b32 %f1, _x;\n"
    "\t}\n"
    "\tmul.wide.u32 %rd2, %r1, 4;\n"
    "\tadd.s64 %rd1, %rd1, %rd2;\n"
    "\tst.global.f32 [%rd1], %f1;\n"
    "\tret;\n"
    "}\n";

/* x squared, in more and more words; the last one is wrong for this site. */
static const char* const programs[CANDIDATES] = {
    "x x mul.f32 x x mul.f32 add.f32 0.5 mul.f32 -> x",
    "x x mul.f32 sqrt.rn.f32 dup.f32 mul.f32 -> x",
    "x x mul.f32 -> x",
    "x x mul.f32 0.0 add.f32 0.0 max.f32 -> x",
    "x neg.f32 dup.f32 mul.f32 -> x",
    "x sqrt.rn.f32 dup.f32 mul.f32 dup.f32 mul.f32 -> x",
    "x x mul.f32 1.0 div.rn.f32 -> x",
    "x x mul.f32 1.0 mul.f32 2.0 mul.f32 0.5 mul.f32 -> x",
};

typedef struct Search {
    size_t best;
    uint32_t best_size;
    size_t told, failed, stopped;
    size_t stop_after;
    ptxgraft_stop* stop;
} Search;

static void keep_best(size_t candidate, ptxgraft_status status, const ptxgraft_machine_code* code,
                      const ptxgraft_kernel* kernel, void* payload) {
    Search* search = (Search*)payload;
    ptxgraft_function_info function = PTXGRAFT_FUNCTION_INFO_INIT;
    (void)kernel;
    if (++search->told == search->stop_after) ptxgraft_stop_request(search->stop);
    if (status != PTXGRAFT_STATUS_ok) {
        if (status == PTXGRAFT_STATUS_work_stopped)
            ++search->stopped;
        else
            ++search->failed;
        return;
    }
    if (ptxgraft_machine_code_get_function(&function, code, 0) != PTXGRAFT_STATUS_ok) return;
    if (function.code_size < search->best_size) {
        search->best = candidate;
        search->best_size = function.code_size;
    }
}

typedef struct Objects {
    ptxgraft_skeleton* skeleton;
    ptxgraft_stub* stubs[CANDIDATES];
    ptxgraft_assembler* pool;
    ptxgraft_cache* cache;
    ptxgraft_stop* stop;
    ptxgraft_batch* batch;
    ptxgraft_machine_code* code;
    ptxgraft_device* device;
    ptxgraft_kernel* kernel;
    ptxgraft_buffer* buffer;
} Objects;

static int make(Objects* all, ptxgraft_graft* grafts, ptxgraft_candidate* candidates) {
    ptxgraft_worker_pool_options workers = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    size_t i;
    CHECK_OK(ptxgraft_skeleton_create_from_ptx(&all->skeleton, ptx, sizeof ptx - 1));
    for (i = 0; i < CANDIDATES; ++i) {
        CHECK_OK(ptxgraft_stub_create_from_program(&all->stubs[i], all->skeleton, "s", programs[i],
                                                   strlen(programs[i])));
        grafts[i].site = i == CANDIDATES - 1 ? "nowhere" : "s";
        grafts[i].stub = all->stubs[i];
        candidates[i].grafts = &grafts[i];
        candidates[i].graft_count = 1;
    }
    workers.workers = 2;
    workers.timeout_ms = 60000;
    CHECK_OK(ptxgraft_assembler_create_worker_pool(&all->pool, &workers));
    CHECK_OK(ptxgraft_cache_open(&all->cache, NULL));
    CHECK_OK(ptxgraft_stop_create(&all->stop));
    return 0;
}

static int search(Objects* all, const ptxgraft_graft_options* options, const ptxgraft_candidate* candidates,
                  Search* found) {
    ptxgraft_batch_options many = PTXGRAFT_BATCH_OPTIONS_INIT;
    found->best = CANDIDATES;
    found->best_size = UINT32_MAX;
    many.candidates = candidates;
    many.candidate_count = CANDIDATES;
    many.threads = 2;
    many.stop = found->stop;
    many.on_result = keep_best;
    many.payload = found;
    ptxgraft_batch_destroy(all->batch);
    all->batch = NULL;
    CHECK_OK(ptxgraft_batch_create(&all->batch, all->skeleton, options, &many));
    CHECK(ptxgraft_batch_get_count(all->batch) == CANDIDATES);
    CHECK(found->told == CANDIDATES);
    return 0;
}

static int run(Objects* all, const ptxgraft_graft* graft) {
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    ptxgraft_device_properties device = PTXGRAFT_DEVICE_PROPERTIES_INIT;
    ptxgraft_argument argument = PTXGRAFT_BUFFER(NULL);
    float out[THREADS];
    size_t i;
    options.grafts = graft;
    options.graft_count = 1;
    CHECK_OK(ptxgraft_device_open(&all->device, "emulator"));
    CHECK_OK(ptxgraft_device_get_properties(&device, all->device));
    CHECK(device.warp_size == THREADS && device.kind == PTXGRAFT_DEVICE_emulator);
    CHECK_OK(ptxgraft_kernel_create(&all->kernel, all->skeleton, all->device, &options));
    CHECK_OK(ptxgraft_buffer_create(&all->buffer, all->device, sizeof out));
    argument.buffer = all->buffer;
    launch.block[0] = THREADS;
    CHECK_OK(ptxgraft_kernel_launch(all->kernel, &launch, &argument, 1));
    CHECK_OK(ptxgraft_buffer_read(out, all->buffer, 0, sizeof out));
    for (i = 0; i < THREADS; ++i) CHECK((double)out[i] == (double)i * (double)i);
    return 0;
}

static int work(Objects* all) {
    ptxgraft_graft grafts[CANDIDATES];
    ptxgraft_candidate candidates[CANDIDATES];
    const ptxgraft_limit limits[] = {{PTXGRAFT_LIMIT_registers, 64}, {PTXGRAFT_LIMIT_spill_size, 0}};
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_cache_counters counters = PTXGRAFT_CACHE_COUNTERS_INIT;
    ptxgraft_machine_code_info info = PTXGRAFT_MACHINE_CODE_INFO_INIT;
    ptxgraft_route_info route = PTXGRAFT_ROUTE_INFO_INIT;
    Search first = {0, 0, 0, 0, 0, 0, NULL}, again = {0, 0, 0, 0, 0, 0, NULL},
           third = {0, 0, 0, 0, 0, 1, NULL};
    if (make(all, grafts, candidates)) return 1;
    options.route = PTXGRAFT_ROUTE_auto;
    options.limits = limits;
    options.limit_count = 2;
    options.assembler = all->pool;
    options.cache = all->cache;
    if (search(all, &options, candidates, &first)) return 1;
    CHECK(first.failed == 1 && first.stopped == 0);
    CHECK(first.best < CANDIDATES - 1);
    CHECK_OK(ptxgraft_machine_code_create_from_batch(&all->code, all->batch, first.best));
    CHECK_OK(ptxgraft_machine_code_get_info(&info, all->code));
    CHECK_OK(ptxgraft_machine_code_get_route(&route, all->code, 0));
    CHECK(info.from == PTXGRAFT_CACHE_LEVEL_none);
    printf("best: %s, %u bytes, %s: %s\n", programs[first.best], (unsigned)first.best_size, info.assembler,
           route.reason);
    ptxgraft_machine_code_destroy(all->code);
    all->code = NULL;
    CHECK(ptxgraft_machine_code_create_from_batch(&all->code, all->batch, CANDIDATES - 1) ==
          PTXGRAFT_STATUS_site_unknown);
    CHECK(all->code == NULL && strstr(ptxgraft_error_get_message(), "nowhere") != NULL);

    if (search(all, &options, candidates, &again)) return 1;
    CHECK(again.best_size == first.best_size);
    CHECK_OK(ptxgraft_cache_get_counters(&counters, all->cache));
    CHECK(counters.memory_hits >= CANDIDATES - 2);

    options.cache = NULL;
    third.stop = all->stop;
    if (search(all, &options, candidates, &third)) return 1;
    CHECK(third.stopped > 0);
    return run(all, &grafts[first.best]);
}

int main(void) {
    Objects all;
    int failed;
    size_t i;
    memset(&all, 0, sizeof all);
    failed = work(&all);
    ptxgraft_skeleton_destroy(all.skeleton); /* in any order */
    ptxgraft_assembler_destroy(all.pool);
    ptxgraft_cache_destroy(all.cache);
    ptxgraft_stop_destroy(all.stop);
    ptxgraft_device_destroy(all.device);
    for (i = 0; i < CANDIDATES; ++i) ptxgraft_stub_destroy(all.stubs[i]);
    ptxgraft_kernel_destroy(all.kernel);
    ptxgraft_buffer_destroy(all.buffer);
    ptxgraft_machine_code_destroy(all.code);
    ptxgraft_batch_destroy(all.batch);
    return failed;
}
