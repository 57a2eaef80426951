#pragma once
/// @file site.hpp
/// Sites: the places in a PTX module that a stub may fill. `scan` finds them, `render` fills them. Threads:
/// any number may read one Sites, Site or Signature, and render with it, at once.
///
/// A site is marked in CUDA code with the macros of site.cuh. The compiler copies each marking into PTX as
/// often as it unrolls or inlines the code around it; each textual occurrence is a **site copy**. One stub
/// serves all copies.
///
/// What a copy looks like in PTX (site.cuh makes it; blanks, tabs and line ends are free, CRLF is fine):
/// @code
///     { // PTXGRAFT_SITE epilogue
///     .reg .f32 _acc; // mod f32 acc
///     mov.b32 _acc, %f5;
///     .reg .f32 _frag<4>; // in f32 frag 4
///     mov.b32 _frag0, %f6; … mov.b32 _frag3, %f9;
///     .reg .u32 _row; // in u32 row
///     mov.b32 _row, %r7;
///     // PTXGRAFT_STUB
///     add.f32 _acc, _acc, _frag0;             <- the default stub: what render replaces
///     // PTXGRAFT_END
///     mov.b32 %f5, _acc;
///     }
/// @endcode
/// After the name on the PTXGRAFT_SITE line may stand `pure` (the compiler was free to move or drop the
/// site), `hot` or `cold` (see Heat) and `allow WORD…` (what a stub may do there, see Policy). Operand
/// lines end with a comment of the form `// in|mod|out TYPE NAME [COUNT]`, where TYPE is a PTX type or, for a
/// user type, `name:TYPE`. A marker is a
/// `//` comment outside of strings and block comments whose first word is the marker; the end marker stands
/// alone on its line. A stub refers to operand `acc` as register `_acc`, to element 2 of the fragment `frag`
/// as `_frag2`.
///
/// mm-ptx's markers are read as well, so that its kernels work unchanged: `// PTX_INJECT_START name`, lines
/// `// _x0 m f32 F32 v` (register without its `%`; i|o|m; PTX type; type token; operand name), `//
/// PTX_INJECT_END`. There the register of operand `v` is `%_x0`. Their policy allows everything.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// The types of operands. The enumerators are the PTX fundamental types (PTX ISA 5.2.1) without the dot.
enum class Type : std::uint8_t {
    pred,
    b16,
    b32,
    b64,
    u16,
    u32,
    u64,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64
};

[[nodiscard]] PTXGRAFT_API std::string_view name(Type type);  ///< "f16x2"
/// The type of a name ("f32"); Errc::type_unknown otherwise.
[[nodiscard]] PTXGRAFT_API Expected<Type> type_from_name(std::string_view name);
[[nodiscard]] PTXGRAFT_API std::uint32_t bits(Type type);  ///< 16, 32, 64; 1 for pred
/// The type to declare a register of it: ".f32"; ".b16" for f16 and bf16, ".b32" for their pairs.
[[nodiscard]] PTXGRAFT_API std::string_view register_type(Type type);

enum class Direction : std::uint8_t { in, mod, out };
[[nodiscard]] PTXGRAFT_API std::string_view name(Direction direction);

/// One operand of a site.
struct SiteOperand {
    std::string name;  ///< as in the marking: `acc`
    Type type = Type::f32;
    Direction direction = Direction::in;
    std::uint32_t count = 0;    ///< elements of a fragment; 0: a scalar
    std::string user_type;      ///< the name of a user-defined type over `type`; empty for the types above
    std::string register_name;  ///< `_acc`; of a fragment the stem `_frag`, elements are `_frag0`, `_frag1` …

    friend bool operator==(const SiteOperand&, const SiteOperand&) = default;
};

/// The operands of a site, in the order of the marking.
struct PTXGRAFT_API Signature {
    std::vector<SiteOperand> operands;

    [[nodiscard]] const SiteOperand* find(std::string_view name) const;
    /// Reads a signature from text: `in f32 x, mod f32 acc, in f32 frag[8]`. Registers are named as site.cuh
    /// names them.
    [[nodiscard]] static Expected<Signature> parse(std::string_view text);
    /// The text that `parse` reads.
    [[nodiscard]] std::string text() const;
    friend bool operator==(const Signature&, const Signature&) = default;
};

/// What a stub may do at a site beyond computing its outputs in registers. The words are those of `allow` in
/// a marking. An instruction without effects makes its results of its operands alone: nothing else changes,
/// and it waits for nothing. isa::effects() says which effects each opcode has.
enum class Effect : std::uint16_t {
    none = 0,
    /// read memory, or say how it is to be read: prefetch, createpolicy, the attributes of textures
    load = 1,
    store = 2,     ///< write memory, discard included
    atomic = 4,    ///< atom, red
    warp = 8,      ///< shfl, vote, match, redux, activemask, elect: exchange with other lanes
    barrier = 16,  ///< bar, barrier, mbarrier, fence, membar, and asynchronous copies
    branch = 32,   ///< labels and branches within the stub
    call = 64,     ///< call of functions of the module
    tensor = 128,  ///< mma, wgmma, tcgen05, ldmatrix, stmatrix
    exit = 256,    ///< ret, exit, trap, brkpt
    /// what the thread, the warp or the launch has beside memory: the stack (alloca, stacksave,
    /// stackrestore), its
    state = 512,
    ///< number of registers (setmaxnreg), its time (nanosleep), counters (pmevent), other
    ///< launches (griddepcontrol, clusterlaunchcontrol)
    all = 1023,
};
constexpr Effect operator|(Effect a, Effect b) { return Effect(std::uint16_t(a) | std::uint16_t(b)); }
constexpr bool contains(Effect set, Effect part) {
    return (std::uint16_t(set) & std::uint16_t(part)) == std::uint16_t(part);
}
[[nodiscard]] PTXGRAFT_API std::string_view name(Effect effect);  ///< of one effect: "load"

/// How often a site runs, where its marking says more than its place in the code does: what `auto` goes by
/// (route.hpp).
enum class Heat : std::uint8_t {
    unsaid,
    hot,   ///< often: a stub is never a function of its own
    cold,  ///< seldom, even where it stands in a loop
};

[[nodiscard]] PTXGRAFT_API std::string_view name(Heat heat);  ///< "unsaid", "hot", "cold"

struct Policy {
    Effect allowed = Effect::none;
    bool pure = false;  ///< the marking was not volatile
    Heat heat = Heat::unsaid;
    friend bool operator==(const Policy&, const Policy&) = default;
};

/// One occurrence of a site in the text. Spans are byte ranges of the scanned text.
struct SiteCopy {
    Span marker;  ///< from the first marker to the end of the last
    /// what render replaces: after the line of PTXGRAFT_STUB, before the line of PTXGRAFT_END
    Span stub;
    /// index into Sites::functions of the function around it, an entry or a `.func`
    std::uint32_t function = 0;
};

struct Site {
    std::string name;
    Signature signature;
    Policy policy;
    std::vector<SiteCopy> copies;  ///< in text order, at least one
};

/// All sites of a module, in the order in which their first copies stand in the text.
class PTXGRAFT_API Sites {
  public:
    struct Function {
        std::string name;  ///< of the `.entry` or `.func`
        bool is_entry = false;
        Span span;  ///< from its directive to its closing brace
    };
    std::vector<Site> sites;
    std::vector<Function> functions;  ///< only those that hold a copy

    [[nodiscard]] const Site* find(std::string_view name) const;
    [[nodiscard]] std::size_t copy_count() const;

    /// Copies of all sites in text order: (index of the site, index of its copy).
    struct CopyRef {
        std::uint32_t site, copy;
    };
    std::vector<CopyRef> order;

  private:
    friend struct SitesBuilder;
    std::vector<std::uint32_t> names_;  // open addressing over `sites`
};

/// Finds every site and copy. Refuses copies of one name whose signatures or policies disagree, markers
/// without an end, malformed operand lines, and clashing operand names, each with its place. Linear in bytes
/// and in sites.
[[nodiscard]] PTXGRAFT_API Expected<Sites> scan(std::string_view ptx);

/// Where a place of a rendered text stands in a stub: in a copy of the site, or in the function that its
/// copies call.
struct StubPlace {
    std::string site;
    std::uint32_t line = 1;  ///< of the stub, from 1
};
/// None where the place is in no stub. Scans the text anew: for errors.
[[nodiscard]] PTXGRAFT_API std::optional<StubPlace> find_stub_place(std::string_view ptx,
                                                                    std::uint32_t offset);

/// Splices stub text into every copy of the sites named, and changes no other byte; sites that are not named
/// keep what they hold. The text is inserted as given (end it with a newline). `ptx` must be the text that
/// was scanned. Unknown names are Errc::site_unknown with `index` of the replacement.
struct Replacement {
    std::string_view site;
    std::string_view text;
};
[[nodiscard]] PTXGRAFT_API Expected<std::string> render(std::string_view ptx, const Sites& sites,
                                                        std::span<const Replacement> replacements);
/// The same into the caller's string, whose capacity is reused.
[[nodiscard]] PTXGRAFT_API Expected<void> render_to(std::string& out, std::string_view ptx,
                                                    const Sites& sites,
                                                    std::span<const Replacement> replacements);

}  // namespace ptxgraft
