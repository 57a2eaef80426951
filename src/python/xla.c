/* A custom call of XLA: runs the plan that its attribute `plan` is the address of. The attribute `process`
   tells calls of this process from those that were compiled in another one and kept in a cache, where the
   address means nothing. */

#include "xla.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

uint64_t ptxgraft_python_xla_process = 0;

static void* fail(const xla_frame* frame, int code, const char* message) {
    xla_error_arguments arguments = {sizeof arguments, NULL, message, code};
    return frame->api->error_create(&arguments);
}

/* What XLA asks as the handler is registered. Version 0.1 has all that is used here, and all later ones serve
   it. */
static void* answer_metadata(xla_metadata* metadata) {
    metadata->api_version.major_version = xla_api_major;
    metadata->api_version.minor_version = 1;
    metadata->traits = 0;
    return NULL;
}

static uint64_t attribute(const xla_frame* frame, const char* name) {
    for (int64_t i = 0; i < frame->attrs.size; ++i) {
        const xla_span* found = frame->attrs.names[i];
        uint64_t value;
        if (found->len != strlen(name) || memcmp(found->ptr, name, found->len) != 0 ||
            frame->attrs.types[i] != xla_attribute_scalar)
            continue;
        memcpy(&value, ((const xla_scalar*)frame->attrs.attrs[i])->value, sizeof value);
        return value;
    }
    return 0;
}

/* An error with the library's message, or with that of a changed input. */
static void* fail_with(const xla_frame* frame, ptxgraft_status status, size_t changed) {
    const char* const name = ptxgraft_status_get_name(status);
    const char* const message = ptxgraft_error_get_message();
    const size_t size = strlen(name) + strlen(message) + 100;
    char* const text = malloc(size);
    void* error;
    if (!text) return fail(frame, xla_code_internal, name);
    if (status == PTXGRAFT_STATUS_memory_read_only && changed != SIZE_MAX)
        snprintf(text, size, "ptxgraft: %s: the kernel wrote to input %zu, which JAX keeps", name, changed);
    else
        snprintf(text, size, "ptxgraft: %s: %s", name, message);
    error = fail(frame, xla_code_internal, text);
    free(text);
    return error;
}

static void* run_on_stream(const xla_frame* frame, const ptxgraft_python_plan* plan, void* const* operands) {
    size_t changed = SIZE_MAX;
    ptxgraft_stream* stream = NULL;
    ptxgraft_status status = PTXGRAFT_STATUS_ok;
    if (plan->on_gpu) {
        xla_stream_arguments arguments = {sizeof arguments, NULL, frame->ctx, NULL};
        void* const error = frame->api->stream_get(&arguments);
        if (error) return error;
        status =
            ptxgraft_stream_create_borrowed(&stream, plan->device, (uint64_t)(uintptr_t)arguments.stream);
    }
    if (!status) status = ptxgraft_python_run(plan, operands, stream, &changed);
    void* const error = status ? fail_with(frame, status, changed) : NULL;
    ptxgraft_stream_destroy(stream);
    return error;
}

static void* execute(const xla_frame* frame) {
    if (attribute(frame, "process") != ptxgraft_python_xla_process)
        return fail(frame, xla_code_invalid_argument,
                    "ptxgraft: the call was compiled in another process, whose kernels are not here");
    const ptxgraft_python_plan* const plan = (const ptxgraft_python_plan*)(uintptr_t)attribute(frame, "plan");
    const size_t inputs = (size_t)frame->args.size, results = (size_t)frame->rets.size;
    if (!plan || inputs + results != plan->operand_count)
        return fail(frame, xla_code_invalid_argument, "ptxgraft: the call has not the operands of its plan");
    void** const operands = calloc(inputs + results + 1, sizeof(void*));
    if (!operands) return fail(frame, xla_code_internal, "ptxgraft: out of memory");
    for (size_t i = 0; i < inputs; ++i) operands[i] = ((const xla_buffer*)frame->args.items[i])->data;
    for (size_t i = 0; i < results; ++i)
        operands[inputs + i] = ((const xla_buffer*)frame->rets.items[i])->data;
    void* const error = run_on_stream(frame, plan, operands);
    free(operands);
    return error;
}

void* ptxgraft_python_xla_call(void* call) {
    const xla_frame* const frame = call;
    for (const xla_extension* e = frame->extension_start; e; e = e->next)
        if (e->type == xla_extension_metadata)
            return answer_metadata(((const xla_metadata_extension*)e)->metadata);
    if (frame->api->api_version.major_version != xla_api_major || frame->struct_size < sizeof *frame)
        return fail(frame, xla_code_unimplemented, "ptxgraft: this version of XLA has another FFI");
    return frame->stage == xla_stage_execute ? execute(frame) : NULL;
}
