#ifndef PTXGRAFT_PYTHON_XLA_H
#define PTXGRAFT_PYTHON_XLA_H
/* What of XLA's FFI (xla/ffi/api/c_api.h, which jaxlib installs) a handler needs, in names of our own. Since
   jaxlib 0.4.35 that interface is a stable ABI: structs have their sizes in front and grow at their ends, and
   its API says its version. So the wheel is built without jaxlib, and serves all later ones.
   tests/python/jax_test.py compares each field's place with those of the jaxlib that is there. */

#include <stddef.h>
#include <stdint.h>

enum { xla_api_major = 0, xla_extension_metadata = 1, xla_stage_execute = 3, xla_attribute_scalar = 3 };
enum { xla_code_invalid_argument = 3, xla_code_internal = 13, xla_code_unimplemented = 12 };

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension* next;
} xla_extension;

typedef struct xla_version {
    size_t struct_size;
    xla_extension* extension_start;
    int major_version;
    int minor_version;
} xla_version;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version api_version;
    uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension extension_base;
    xla_metadata* metadata;
} xla_metadata_extension;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension* extension_start;
    int dtype;
    void* data;
} xla_buffer;

typedef struct xla_scalar {
    int dtype;
    void* value;
} xla_scalar;

/* Arguments, or results. */
typedef struct xla_buffers {
    size_t struct_size;
    xla_extension* extension_start;
    int64_t size;
    int* types;
    void** items;
} xla_buffers;

typedef struct xla_span {
    const char* ptr;
    size_t len;
} xla_span;

typedef struct xla_attributes {
    size_t struct_size;
    xla_extension* extension_start;
    int64_t size;
    int* types;
    xla_span** names;
    void** attrs;
} xla_attributes;

typedef struct xla_error_arguments {
    size_t struct_size;
    xla_extension* extension_start;
    const char* message;
    int errc;
} xla_error_arguments;

typedef struct xla_stream_arguments {
    size_t struct_size;
    xla_extension* extension_start;
    void* ctx;
    void* stream;
} xla_stream_arguments;

typedef struct xla_api {
    size_t struct_size;
    xla_extension* extension_start;
    xla_version api_version;
    void* internal_api;
    void* (*error_create)(xla_error_arguments*);
    void* error_get_message;
    void* error_destroy;
    void* handler_register;
    void* (*stream_get)(xla_stream_arguments*);
} xla_api;

typedef struct xla_frame {
    size_t struct_size;
    xla_extension* extension_start;
    const xla_api* api;
    void* ctx;
    int stage;
    xla_buffers args;
    xla_buffers rets;
    xla_attributes attrs;
} xla_frame;

#endif /* PTXGRAFT_PYTHON_XLA_H */
