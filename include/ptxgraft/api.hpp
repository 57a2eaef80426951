#pragma once
/// @file api.hpp
/// What the shared library exports, and the language that its headers are in.

#if __cplusplus < 202002L
#error \
    "ptxgraft's C++ headers are in C++20: compile with -std=c++20. (ptxgraft/ptxgraft.h is for C99 and C++11.)"
#endif

#if defined(PTXGRAFT_BUILDING)
#define PTXGRAFT_API __attribute__((visibility("default")))
#else
#define PTXGRAFT_API
#endif
