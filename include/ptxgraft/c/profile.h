#ifndef PTXGRAFT_C_PROFILE_H
#define PTXGRAFT_C_PROFILE_H
/**
 * @file profile.h
 * What launches on an emulator did, line by line of the PTX: of one that was opened with
 * ptxgraft_device_options::profile.
 */

#include "ptxgraft/c/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Counts of the launches since the device was opened or its profile was cleared; those of another module
    begin anew. It never changes. Threads: any number read one at once. */
typedef struct ptxgraft_profile ptxgraft_profile;

/** PTXGRAFT_STATUS_argument_invalid of a device that keeps none. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_profile_create(ptxgraft_profile** profile,
                                                       const ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_profile_destroy(ptxgraft_profile* profile);
/** From now on the device counts from 0. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_clear_profile(ptxgraft_device* device);

/** A line of PTX; strings live as long as the profile. */
typedef struct ptxgraft_profile_line {
    size_t struct_size;
    const char* instruction;   /**< the first one there */
    uint64_t warps;            /**< instructions that warps executed */
    uint64_t lanes;            /**< lanes that were active in them */
    uint64_t wavefronts;       /**< of accesses to shared memory */
    uint64_t ideal_wavefronts; /**< without bank conflicts */
    uint64_t sectors;          /**< of accesses to global memory: of 32 bytes */
    uint64_t ideal_sectors;    /**< how few could hold as many different bytes */
    uint64_t shared_size;      /**< bytes that these accesses read or wrote */
    uint64_t global_size;
    uint32_t line; /**< from 1 */
    uint32_t zero; /**< always 0 */
} ptxgraft_profile_line;
#define PTXGRAFT_PROFILE_LINE_INIT \
    { sizeof(ptxgraft_profile_line), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
PTXGRAFT_C_API size_t ptxgraft_profile_get_line_count(const ptxgraft_profile* profile);
PTXGRAFT_C_API ptxgraft_status ptxgraft_profile_get_line(ptxgraft_profile_line* info,
                                                         const ptxgraft_profile* profile, size_t index);

/** Instructions of one class: "integer", "global load", "tensor core". */
typedef struct ptxgraft_profile_class {
    size_t struct_size;
    const char* name;
    uint64_t warps;
    uint64_t lanes;
    uint64_t shared_size;
    uint64_t global_size;
} ptxgraft_profile_class;
#define PTXGRAFT_PROFILE_CLASS_INIT \
    { sizeof(ptxgraft_profile_class), NULL, 0, 0, 0, 0 }
PTXGRAFT_C_API size_t ptxgraft_profile_get_class_count(const ptxgraft_profile* profile);
PTXGRAFT_C_API ptxgraft_status ptxgraft_profile_get_class(ptxgraft_profile_class* info,
                                                          const ptxgraft_profile* profile, size_t index);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_PROFILE_H */
