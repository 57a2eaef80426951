#pragma once
/// @file api.hpp
/// What the shared library exports.

#if defined(PTXGRAFT_BUILDING)
#define PTXGRAFT_API __attribute__((visibility("default")))
#else
#define PTXGRAFT_API
#endif
