#pragma once
/// @file ptxgraft.hpp
/// Everything of the C++ API. One header per stage:
/// error, syntax, isa, site, stub, stack, expression, link, emulator, device, kernel.

#include "ptxgraft/device.hpp"
#include "ptxgraft/emulator.hpp"
#include "ptxgraft/emulator_checks.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stack.hpp"
#include "ptxgraft/stub.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/tensor_map.hpp"
#include "ptxgraft/tolerance.hpp"
