#ifndef PTXGRAFT_C_STATUS_H
#define PTXGRAFT_C_STATUS_H
/**
 * @file status.h
 * What calls come to, what went wrong, and which library runs. ptxgraft.h states the rules that hold
 * everywhere.
 */

#include <stddef.h>
#include <stdint.h>

#include "ptxgraft/version.h"

#define PTXGRAFT_C_API __attribute__((visibility("default")))

/* Enums are as large as int and may hold every int, so that the library can tell those that are no
   enumerators. */
#ifdef __cplusplus
#define PTXGRAFT_C_ENUM : int
#else
#define PTXGRAFT_C_ENUM
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a call came to. The values are fixed; errc.def lists them all and says what each means, each as
 * PTXGRAFT_STATUS_<name>: PTXGRAFT_STATUS_out_of_memory, PTXGRAFT_STATUS_site_unknown, …
 */
typedef enum ptxgraft_status PTXGRAFT_C_ENUM {
#define PTXGRAFT_ERRC(name, value, message) PTXGRAFT_STATUS_##name = value,
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
} ptxgraft_status;
typedef char ptxgraft_enums_are_ints[sizeof(ptxgraft_status) == sizeof(int) ? 1 : -1];

/** The name of a status: "site_unknown". Never null; "unknown" for a value that is none. */
PTXGRAFT_C_API const char* ptxgraft_status_get_name(ptxgraft_status status);

/**
 * What went wrong in this thread's last call that failed: whole lines of text,
 *
 *     program:1:7: error: …
 *     x y add.f64 -> z
 *         ^~~~~~~
 *
 * Never null; empty before the first failure. Valid until the thread's next failing call, or until the thread
 * ends. While the thread ends, in destructors of thread-local objects, a message may be cut short.
 */
PTXGRAFT_C_API const char* ptxgraft_error_get_message(void);

/** Line and column, from 1, of the same error in the text that it is about; 0 when it has no place. */
PTXGRAFT_C_API uint32_t ptxgraft_error_get_line(void);
PTXGRAFT_C_API uint32_t ptxgraft_error_get_column(void);
/** The text that the line and the column are in, and its name: "affine.ptx" of PTX that the library rendered,
    "program" of one that the caller gave. Never null; "" when the error has no place. Valid as long as the
    message; empty while the thread ends. */
PTXGRAFT_C_API const char* ptxgraft_error_get_source(void);
PTXGRAFT_C_API const char* ptxgraft_error_get_source_name(void);
/** Which of several inputs the same error is about, from 0: the graft, the argument of a launch. 0 too when
    it is about none. */
PTXGRAFT_C_API uint32_t ptxgraft_error_get_index(void);

/** "0.1.0": of the library that runs; PTXGRAFT_VERSION_STRING is that of this header. Never null. */
PTXGRAFT_C_API const char* ptxgraft_library_get_version(void);
/** "nvptxcompiler 13.5.37": what makes machine code for a GPU. Never null. The first call takes some
 * milliseconds. */
PTXGRAFT_C_API const char* ptxgraft_library_get_assembler(void);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_STATUS_H */
