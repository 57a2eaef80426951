#pragma once
/// @file wgmma_tile.cuh
/// What the parts of the GEMMs of wgmma.cuh have in common: the tunables, and where tiles of a and b stand in
/// shared memory, with the mbarriers of each stage.

#include "tile.cuh"

namespace gemm {

enum class Schedule { cooperative, pingpong };
enum class Epilogue { unrolled, compact };

constexpr Schedule schedule = Schedule::SCHEDULE;
constexpr Epilogue epilogue = Epilogue::EPILOGUE;

constexpr u32 tile_m = TILE_M, tile_n = TILE_N, stages = STAGES;
constexpr u32 a_bytes = tile_m * row_bytes, b_bytes = tile_n * row_bytes, stage_bytes = a_bytes + b_bytes;

// The blocks of a cluster take tiles of c that lie one below the other (cluster_m) or side by side
// (cluster_n), which have a tile of b, or of a, in common: each copies a half of it, for both.
constexpr u32 cluster_m = CLUSTER_M, cluster_n = CLUSTER_N, cluster = cluster_m * cluster_n;

constexpr u32 consumers = 2;  // warpgroups
constexpr u32 threads = 128 * (1 + consumers);
// Of the 64 K registers of a multiprocessor each thread begins with 168; what the producer does not need the
// consumers get.
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
constexpr u32 producer_registers = PRODUCER_REGISTERS;
constexpr u32 consumer_registers = (3 * 168 - producer_registers) / consumers;
// Of a tile, a consumer has a half, or takes the whole of every second one.
constexpr u32 group_m = schedule == Schedule::cooperative ? tile_m / consumers : tile_m;
constexpr u32 group_blocks = group_m / 64;                                  // of wgmma's 64 rows
constexpr u32 readers = schedule == Schedule::cooperative ? consumers : 1;  // of a stage
static_assert(group_m % 64 == 0 && group_m * tile_n <= 64 * 256, "128 accumulators a thread");

// The way out: each warp takes 16 rows of its tile through a place in shared memory of its own, a chunk of so
// many columns, 128 bytes of c's rows, at a time, from where they go to global memory whole rows at a time.
constexpr u32 chunks = tile_n / chunk;
// Unrolled: two chunks, of which one is written while a tensor copy reads the other one. Compact: one as f32.
constexpr u32 chunk_bytes = 16 * (epilogue == Epilogue::unrolled ? 128 : chunk * 4);
constexpr u32 staging_bytes = (epilogue == Epilogue::unrolled ? 2 : 1) * chunk_bytes;

constexpr u32 staging_begin = stages * stage_bytes;
constexpr u32 barriers_begin = staging_begin + consumers * 4 * staging_bytes;
constexpr u32 shared_bytes = barriers_begin + 8 * (2 * stages + consumers);

extern __shared__ __align__(1024) unsigned char shared[];

/// The mbarriers of a stage.
__device__ inline u32 full_of(u32 stage) { return shared_address(shared + barriers_begin) + 8 * stage; }
__device__ inline u32 empty_of(u32 stage) { return full_of(stage) + 8 * stages; }
/// The mbarrier by which a consumer is told, by the other one, that its turn to multiply has come.
__device__ inline u32 turn_of(u32 consumer) { return full_of(2 * stages + consumer); }

}  // namespace gemm
