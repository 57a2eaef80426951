#pragma once
/// @file dsl.hpp
/// The emitter: kernels and stubs written in C++, where one call is one PTX instruction, checked while C++
/// compiles.
///
/// @code
/// using namespace ptxgraft::dsl;
/// Module module({.target = "sm_80"});
/// auto& k = module.entry("add_one");
/// const auto data = k.argument<u64>("data");           // ld.param.u64 %rd1, [data];
/// const auto i = k.reg<u32>(), value = k.reg<u32>();
/// const auto address = k.reg<u64>();
/// k.emit<"mov.u32">(i, special<"%tid.x">);             // mov.u32 %u1, %tid.x;
/// k.emit<"mad.wide.u32">(address, i, 4, data);         // mad.wide.u32 %ud2, %u1, 4, %ud1;
/// k.emit<"ld.global.u32">(value, at(address));
/// k.emit<"add.u32">(value, value, 1);
/// k.emit<"st.global.u32">(at(address), value);
/// k.emit<"ret">();
/// const ptxgraft::Expected<std::string> ptx = module.ptx();
/// @endcode
///
/// operand.hpp: what operands there are; builder.hpp: emit, guards, branches and loops; module.hpp: entries,
/// functions, variables, sites; stub.hpp: stubs for sites; value.hpp: arithmetic with operators; reduce.hpp:
/// sums and maxima of warps and blocks; matrix.hpp, tcgen05.hpp, pipeline.hpp: layouts of the tensor cores,
/// rings of mbarriers; async_copy.hpp: cp.async and bulk copies; cluster.hpp: clusters, named barriers, one
/// thread of a warp; schedule.hpp: which block computes which tiles; any_operand.hpp: instructions made of
/// data. An instruction costs a compiler 3 to 5 ms, once however often it is emitted, and the headers 1.5 s a
/// source file, of which the table is a fifth: ptxgraft.hpp does not include this header, and projects whose
/// files emit may precompile it (`target_precompile_headers(app PRIVATE <ptxgraft/dsl.hpp>)`).

#include "ptxgraft/dsl/any_operand.hpp"
#include "ptxgraft/dsl/async_copy.hpp"
#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/dsl/check.hpp"
#include "ptxgraft/dsl/cluster.hpp"
#include "ptxgraft/dsl/explain.hpp"
#include "ptxgraft/dsl/matrix.hpp"
#include "ptxgraft/dsl/module.hpp"
#include "ptxgraft/dsl/operand.hpp"
#include "ptxgraft/dsl/pipeline.hpp"
#include "ptxgraft/dsl/reduce.hpp"
#include "ptxgraft/dsl/schedule.hpp"
#include "ptxgraft/dsl/shape.hpp"
#include "ptxgraft/dsl/signature.hpp"
#include "ptxgraft/dsl/softmax.hpp"
#include "ptxgraft/dsl/stub.hpp"
#include "ptxgraft/dsl/tcgen05.hpp"
#include "ptxgraft/dsl/value.hpp"
