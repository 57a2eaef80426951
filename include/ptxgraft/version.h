#ifndef PTXGRAFT_VERSION_H
#define PTXGRAFT_VERSION_H
/**
 * @file version.h
 * The version of these headers, for C and C++. That of the library which runs may be newer:
 * ptxgraft_library_get_version().
 *
 * Versions follow semver.org. Before 1.0.0, a minor version may change the interface, a patch version may
 * not; the library's SONAME is that of the major version.
 */

#define PTXGRAFT_VERSION_MAJOR 0
#define PTXGRAFT_VERSION_MINOR 1
#define PTXGRAFT_VERSION_PATCH 0
/** As one number to compare with: 100 for 0.1.0, 10203 for 1.2.3. */
#define PTXGRAFT_VERSION_NUMBER \
    (PTXGRAFT_VERSION_MAJOR * 10000 + PTXGRAFT_VERSION_MINOR * 100 + PTXGRAFT_VERSION_PATCH)
/** "0.1.0" */
#define PTXGRAFT_VERSION_STRING_OF(major, minor, patch) #major "." #minor "." #patch
#define PTXGRAFT_VERSION_STRING_OF_VALUES(major, minor, patch) PTXGRAFT_VERSION_STRING_OF(major, minor, patch)
#define PTXGRAFT_VERSION_STRING \
    PTXGRAFT_VERSION_STRING_OF_VALUES(PTXGRAFT_VERSION_MAJOR, PTXGRAFT_VERSION_MINOR, PTXGRAFT_VERSION_PATCH)

#endif /* PTXGRAFT_VERSION_H */
