#pragma once
/// @file api.hpp
/// What the shared library exports, and the language that its headers are in. What is exported is visible for
/// those who use the library too: where a program is compiled with `-fvisibility=hidden`, the type
/// information of a class would otherwise be another one in the program than in the library.

#if __cplusplus < 202002L
#error \
    "ptxgraft's C++ headers are C++20: compile with -std=c++20. (ptxgraft/ptxgraft.h is for C99 and C++11.)"
#endif

#include "ptxgraft/version.h"

#define PTXGRAFT_API __attribute__((visibility("default")))
