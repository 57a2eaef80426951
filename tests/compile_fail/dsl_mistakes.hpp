#pragma once
// The right lines of dsl_mistakes.cpp.

#include "ptxgraft/dsl.hpp"

void emit_all_on_sm_90a(ptxgraft::dsl::Module& module);
void emit_all_on_sm_80(ptxgraft::dsl::Module& module);
void emit_all_on_ptx_7_8(ptxgraft::dsl::Module& module);
