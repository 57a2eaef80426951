#pragma once
/// @file split_k.hpp
/// A GEMM for few tiles and a great depth, by the parts of gemm_wgmma.hpp: the CTAs of a cluster multiply a
/// part of the depth each, and add what they have through each other's shared memory (sm_90a). Each then has
/// the sums of some columns of the tile, always added in the same order, and the site sees each sum once.
///
/// Arguments and site are those of gemm_wgmma.hpp.

#include "gemm_wgmma.hpp"

namespace gemm {

template <std::uint32_t Parts, WgmmaShape S> class SplitK;

/// Emits the kernel: a cluster of so many CTAs computes one tile of C.
template <std::uint32_t Parts = 4, WgmmaShape S = WgmmaShape{}>
void emit_split_k(Module& module, std::string_view name = "split_k") {
    SplitK<Parts, S> gemm(module, name);
    gemm.find_places();
    gemm.find_part();  // this cluster's tile, this CTA's steps along the depth
    gemm.make_barriers();
    gemm.k.if_(
        gemm.is_producer,
        [&] {
            gemm.give_registers();
            gemm.one_thread([&] { copy_for_wgmma(gemm); });
        },
        [&] {
            gemm.take_registers();
            multiply_by_wgmma(gemm);
            gemm.leave();               // bar.sync, st.shared: all accumulators, for all CTAs
            cluster_sync(gemm.k);       // barrier.cluster
            gemm.add();                 // mapa, ld.shared::cluster
            cluster_sync(gemm.k, [&] {  // no CTA ends before all have read
                gemm.store_sums();      // the site, st.global
            });
        });
    gemm.k.template emit<"ret">();
}

template <std::uint32_t Parts, WgmmaShape S> class SplitK : public WgmmaGemm<S> {
    using Base = WgmmaGemm<S>;
    // Accumulators go in fours: those of a thread, those that its CTA adds, bytes of one of all threads.
    static constexpr std::uint32_t fours = S.tile_n / 8, own = fours / Parts,
                                   fours_bytes = 16 * Base::group * S.consumers;
    static_assert(S.cluster == 1, "the cluster's CTAs have the same tile");
    static_assert(fours % Parts == 0, "each CTA has columns of its own");
    static_assert(fours * fours_bytes <= Base::shared_bytes, "accumulators lie where the stages were");

  public:
    using Base::k;

    SplitK(Module& module, std::string_view name) : Base(module, name, Cluster<Parts>::extent) {}

    static ptxgraft::LaunchConfig launch(std::uint32_t m, std::uint32_t n) {
        return {.grid = {Parts * Base::tiles_of(m, n)},
                .block = {Base::threads},
                .shared_bytes = Base::shared_bytes};
    }

    // All parts have as many steps: tensor copies give zeros for those behind the depth.
    void find_part() {
        this->find_tile(tile_at(k, read<"%clusterid.x">(k), this->tiles));
        const auto length =
            value(k, tiles_over(k, this->end_step, Parts * Base::tile_depth)) * Base::tile_depth;
        rank = read<"%cluster_ctarank">(k);
        this->first_step = length * rank;
        this->end_step = value(k, this->first_step) + length;
    }

    void leave() {
        NamedBarrier(k, Base::group * S.consumers).sync();  // no consumer reads the stages any more
        slot = (value(k, this->thread) - Base::group) * 16 + this->begin;
        for (std::uint32_t i = 0; i < fours; ++i)
            k.template emit<"st.shared.v4.f32">(at(slot, i * fours_bytes), four(this->acc, i));
    }
    void add() {
        const auto mine = value(k, rank) * (own * fours_bytes) + slot;
        const auto term = k.template regs<f32, 4>();
        for (std::uint32_t part = 0; part < Parts; ++part) {
            const auto there = address_in(k, mine, part);
            for (std::uint32_t i = 0; i < own; ++i) {
                const auto sum = four(sums, i);
                k.template emit<"ld.shared::cluster.v4.f32">(part == 0 ? sum : term,
                                                             at(there, i * fours_bytes));
                for (std::uint32_t j = 0; j < 4 && part > 0; ++j)
                    k.template emit<"add.f32">(sum[j], sum[j], term[j]);
            }
        }
    }
    void store_sums() { this->store(sums, value(k, rank) * (8 * own) + this->col); }

  private:
    template <std::size_t N> static Regs<f32, 4> four(const Regs<f32, N>& of, std::uint32_t i) {
        return {of[4 * i], of[4 * i + 1], of[4 * i + 2], of[4 * i + 3]};
    }
    Reg<u32> rank = {}, slot = {};
    Regs<f32, 4 * own> sums = k.template regs<f32, 4 * own>();
};

}  // namespace gemm
