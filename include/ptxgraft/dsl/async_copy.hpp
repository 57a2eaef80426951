#pragma once
/// @file dsl/async_copy.hpp
/// Copies from global to shared memory that go on while a thread computes: of 4, 8 or 16 bytes by every
/// thread (cp.async, from sm_80 on, PTX 7.0; PTX ISA 9.7.9.25.3.1), and in bulk by one, at whose end an
/// mbarrier is told (cp.async.bulk, from sm_90 on, PTX 8.0; PTX ISA 9.7.9.25.4.1).
///
/// @code
/// async_copy<16>(b, at(to), at(from));                              // 16 bytes
/// async_copy<16>(b, at(to), at(from), bytes_within<16>(b, left));   // those before an edge, and zeros
/// b.emit<"cp.async.commit_group">();
///
/// bulk_copy(k, full, here, {{a, a_from, 4096}, {b, b_from, 2048}});    // 6144 bytes are announced
/// @endcode

#include <cstdint>
#include <initializer_list>

#include "ptxgraft/dsl/pipeline.hpp"

namespace ptxgraft::dsl {

/// The name of a copy of so many bytes, for emit: only those of 16 go past L1 (.cg).
/// `cp.async.ca.shared.global` of 4 and 8, `cp.async.cg.shared.global` of 16.
template <std::uint32_t Bytes>
requires(Bytes == 4 || Bytes == 8 || Bytes == 16) inline constexpr auto cp_async = [] {
    constexpr std::string_view name = "cp.async.ca.shared.global";
    Literal<name.size() + 1> made;
    for (std::size_t i = 0; i < name.size(); ++i) made.text[i] = name[i];
    if (Bytes == 16) made.text[10] = 'g';
    return made;
}();

/// `cp.async.cg.shared.global [to], [from], 16;`: addresses, both multiples of Bytes.
template <std::uint32_t Bytes, Target On, Operand To, Operand From>
void async_copy(Builder<On>& b, const To& to, const From& from) {
    b.template emit<cp_async<Bytes>>(to, from, imm<Bytes>);
}
/// `cp.async.cg.shared.global [to], [from], 16, count;`: the first `count` bytes are read, 0 to Bytes, and
/// zeros written behind them.
template <std::uint32_t Bytes, Target On, Operand To, Operand From, Operand Count>
void async_copy(Builder<On>& b, const To& to, const From& from, const Count& count) {
    b.template emit<cp_async<Bytes>>(to, from, imm<Bytes>, count);
}
/// How many of the next bytes there are where `left` of them are left, which may be fewer than none:
/// @code
/// max.s32 count, left, 0;
/// min.s32 count, count, 16;     // Bytes
/// @endcode
template <std::uint32_t Bytes, Target On> [[nodiscard]] Reg<s32> bytes_within(Builder<On>& b, Reg<s32> left) {
    const auto count = b.template reg<s32>();
    b.template emit<"max.s32">(count, left, 0);
    b.template emit<"min.s32">(count, count, Bytes);
    return count;
}

/// Bytes, a multiple of 16, as the addresses are: in .shared and in .global.
struct BulkCopy {
    Reg<u32> to;
    Reg<u64> from;
    std::uint32_t bytes;
};
/// Announces what all copies have together at a stage's barrier, and begins them: Barriers::expect_tx, and
/// for each `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [%t];`.
/// One thread does that.
template <Target On>
void bulk_copy(FunctionBuilder<On>& k, const Barriers<On>& full, const Cursor& here,
               std::initializer_list<BulkCopy> copies) {
    std::uint32_t bytes = 0;
    for (const BulkCopy& copy : copies) bytes += copy.bytes;
    const auto barrier = full.expect_tx(here, bytes);
    for (const BulkCopy& copy : copies)
        k.template emit<"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes">(
            at(copy.to), at(copy.from), copy.bytes, at(barrier));
}

}  // namespace ptxgraft::dsl
