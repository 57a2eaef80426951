/* Runs what Python has planned: launches over the memory of operands, in place, or over copies in the
   emulator's own. */

#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* What a run needs beside its plan, for one launch after the other. */
typedef struct run {
    const ptxgraft_python_plan* plan;
    void* const* operands;
    ptxgraft_launch_options options;
    ptxgraft_argument* arguments;
    uint64_t* addresses;      /* of the operands, for this launch */
    ptxgraft_buffer** copies; /* of the operands; null where they are used in place */
    char* scratch;            /* as large as the largest input */
} run;

static void* place_of(const run* r, size_t operand, size_t launch) {
    const ptxgraft_python_operand* o = &r->plan->operands[operand];
    return (char*)r->operands[operand] + (o->is_batch ? launch * o->size : 0);
}

static size_t largest_input(const ptxgraft_python_plan* plan) {
    size_t size = 0;
    for (size_t i = 0; i < plan->operand_count; ++i)
        if (!plan->operands[i].is_result && plan->operands[i].size > size) size = plan->operands[i].size;
    return size;
}

static ptxgraft_status make_copies(run* r) {
    for (size_t i = 0; i < r->plan->operand_count; ++i) {
        const ptxgraft_status status =
            ptxgraft_buffer_create(&r->copies[i], r->plan->device, r->plan->operands[i].size);
        if (status) return status;
    }
    return PTXGRAFT_STATUS_ok;
}

/* What a result holds before the launch no kernel may read. An input that is the same for all launches is
   copied for the first alone. */
static ptxgraft_status copy_in(run* r, size_t launch) {
    for (size_t i = 0; i < r->plan->operand_count; ++i) {
        const ptxgraft_python_operand* o = &r->plan->operands[i];
        ptxgraft_status status = PTXGRAFT_STATUS_ok;
        if (o->is_result)
            status = ptxgraft_buffer_fill_unwritten(r->copies[i], 0);
        else if (launch == 0 || o->is_batch)
            status = ptxgraft_buffer_write(r->copies[i], 0, place_of(r, i, launch), o->size);
        if (status) return status;
    }
    return PTXGRAFT_STATUS_ok;
}

static ptxgraft_status copy_out(run* r, size_t launch, size_t* changed) {
    for (size_t i = 0; i < r->plan->operand_count; ++i) {
        const ptxgraft_python_operand* o = &r->plan->operands[i];
        void* const place = place_of(r, i, launch);
        const ptxgraft_status status =
            ptxgraft_buffer_read(o->is_result ? place : r->scratch, r->copies[i], 0, o->size);
        if (status) return status;
        if (!o->is_result && memcmp(place, r->scratch, o->size) != 0) {
            *changed = i;
            return PTXGRAFT_STATUS_memory_read_only;
        }
    }
    return PTXGRAFT_STATUS_ok;
}

static void set_addresses(run* r, size_t launch) {
    for (size_t i = 0; i < r->plan->operand_count; ++i)
        r->addresses[i] = r->copies ? ptxgraft_buffer_get_address(r->copies[i])
                                    : (uint64_t)(uintptr_t)place_of(r, i, launch);
}

static ptxgraft_status launch_all(run* r, size_t* changed) {
    ptxgraft_status status = r->copies ? make_copies(r) : PTXGRAFT_STATUS_ok;
    for (size_t launch = 0; !status && launch < r->plan->launches; ++launch) {
        set_addresses(r, launch);
        if (r->copies) status = copy_in(r, launch);
        if (!status)
            status =
                ptxgraft_kernel_launch(r->plan->kernel, &r->options, r->arguments, r->plan->argument_count);
        if (!status && r->copies) status = copy_out(r, launch, changed);
    }
    return status;
}

static int allocate(run* r) {
    const ptxgraft_python_plan* plan = r->plan;
    r->arguments = calloc(plan->argument_count + 1, sizeof *r->arguments);
    r->addresses = calloc(plan->operand_count + 1, sizeof *r->addresses);
    if (plan->copies) {
        r->copies = calloc(plan->operand_count + 1, sizeof(ptxgraft_buffer*));
        r->scratch = malloc(largest_input(plan) + 1);
    }
    return r->arguments && r->addresses && (!plan->copies || (r->copies && r->scratch));
}

static void release(run* r) {
    for (size_t i = 0; r->copies && i < r->plan->operand_count; ++i) ptxgraft_buffer_destroy(r->copies[i]);
    free(r->scratch);
    free(r->copies);
    free(r->addresses);
    free(r->arguments);
}

ptxgraft_status ptxgraft_python_run(const ptxgraft_python_plan* plan, void* const* operands,
                                    const ptxgraft_stream* stream, size_t* changed) {
    run r = {plan, operands, *plan->options, NULL, NULL, NULL, NULL};
    ptxgraft_status status = PTXGRAFT_STATUS_out_of_memory;
    r.options.stream = stream;
    if (allocate(&r)) {
        for (size_t i = 0; i < plan->argument_count; ++i) {
            r.arguments[i] = plan->arguments[i];
            if (plan->operand_of[i] >= 0)
                r.arguments[i] =
                    (ptxgraft_argument){NULL, &r.addresses[plan->operand_of[i]], sizeof(uint64_t)};
        }
        status = launch_all(&r, changed);
    }
    release(&r);
    return status;
}
