#pragma once
/// @file api.hpp
/// What the shared library exports. Visible for those who use the library too: where a program is compiled with
/// `-fvisibility=hidden`, the type information of a class would otherwise be another one in the program than in the library.

#include "ptxgraft/version.h"

#define PTXGRAFT_API __attribute__((visibility("default")))
