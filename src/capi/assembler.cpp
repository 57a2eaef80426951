// Assemblers, pools of workers and stops in C.

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "ptxgraft/worker.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

WorkerPoolOptions pool_options(const ptxgraft_worker_pool_options& given) {
    WorkerPoolOptions result;
    result.workers = given.workers;
    result.timeout = std::chrono::milliseconds(given.timeout_ms);
    result.memory_bytes = given.memory_size;
    if (given.assembler != nullptr) result.assembler = given.assembler;
    if (given.program != nullptr) result.program = given.program;
    result.modules_per_worker = given.modules_per_worker;
    return result;
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_assembler_open(ptxgraft_assembler** assembler, const char* name) {
    return call({{assembler, "assembler"}},
                [&] { return capi::give(assembler, find_assembler(name != nullptr ? name : "")); });
}

ptxgraft_status ptxgraft_assembler_create_worker_pool(ptxgraft_assembler** assembler,
                                                      const ptxgraft_worker_pool_options* options) {
    return call({{assembler, "assembler"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        return capi::give(assembler, worker_pool(pool_options(given)));
    });
}

void ptxgraft_assembler_destroy(ptxgraft_assembler* assembler) { delete assembler; }

const char* ptxgraft_assembler_get_name(const ptxgraft_assembler* assembler) {
    return get(assembler, "assembler", "", [](const ptxgraft_assembler& a) { return a.name.c_str(); });
}

const char* ptxgraft_assembler_get_version(const ptxgraft_assembler* assembler) {
    return get(assembler, "assembler", "", [](const ptxgraft_assembler& a) { return a.version.c_str(); });
}

ptxgraft_status ptxgraft_stop_create(ptxgraft_stop** stop) {
    return call({{stop, "stop"}}, [&]() -> Expected<void> {
        *stop = new ptxgraft_stop;
        return {};
    });
}

void ptxgraft_stop_destroy(ptxgraft_stop* stop) { delete stop; }

ptxgraft_status ptxgraft_stop_request(ptxgraft_stop* stop) {
    return call({{stop, "stop"}}, [&]() -> Expected<void> {
        stop->source.request_stop();
        return {};
    });
}

uint32_t ptxgraft_stop_get_requested(const ptxgraft_stop* stop) {
    return get(stop, "stop", uint32_t{0},
               [](const ptxgraft_stop& s) -> uint32_t { return s.source.stop_requested(); });
}

}  // extern "C"
