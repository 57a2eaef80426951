#pragma once
/// @file ptxgraft.hpp
/// Everything of the C++ API. One header per stage: error, target, syntax, isa, site, stub, stack, set,
/// program, expression, evaluate, accuracy, link, worker, cache, launch, emulator (its observer, its
/// coverage, tolerances of sums), coverage, device, graph, tensor_map, route, kernel, template. The emitter,
/// dsl.hpp, is included by itself: its table costs a compiler 0.4 s.

#include "ptxgraft/accuracy.hpp"
#include "ptxgraft/cache.hpp"
#include "ptxgraft/coverage.hpp"
#include "ptxgraft/device.hpp"
#include "ptxgraft/device_properties.hpp"
#include "ptxgraft/emulator.hpp"
#include "ptxgraft/emulator_checks.hpp"
#include "ptxgraft/emulator_coverage.hpp"
#include "ptxgraft/emulator_decoded.hpp"
#include "ptxgraft/emulator_observer.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/graph.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/launch.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/route.hpp"
#include "ptxgraft/set.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stack.hpp"
#include "ptxgraft/stub.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/target.hpp"
#include "ptxgraft/template.hpp"
#include "ptxgraft/tensor_map.hpp"
#include "ptxgraft/tolerance.hpp"
#include "ptxgraft/worker.hpp"
