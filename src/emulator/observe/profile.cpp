// A profile of a launch: how often each instruction ran, and what its accesses cost.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>

#include "ptxgraft/emulator_observer.hpp"

namespace ptxgraft {
namespace {

constexpr std::uint32_t banks = 32, word_bytes = 4, sector_bytes = 32;

constexpr std::string_view by_type = "", by_access = "access";
struct ClassRow {
    std::string_view opcodes;  // between spaces
    std::string_view name;     // or what else says it
};
// Every opcode of the table has a row; one without would be "other".
constexpr ClassRow class_rows[] = {
    {" abs add addc clmad copysign div dp2a dp4a fma mad mad24 madc max min mul mul24 neg rem sad sub subc ",
     by_type},
    {" vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4"
     " vset vset2 vset4 vshl vshr vsub vsub2 vsub4 ",
     "integer"},
    {" ld ldu st atom red ", by_access},
    {" tex tld4 txq suld sust sured suq ", "texture and surface"},
    {" mma wmma wgmma tcgen05 ", "tensor core"},
    {" ldmatrix stmatrix movmatrix ", "matrix load and store"},
    {" cp multimem fabric tensormap prefetch prefetchu applypriority discard createpolicy ",
     "copy and cache"},
    {" bar barrier mbarrier fence membar griddepcontrol ", "barrier and fence"},
    {" shfl vote match redux activemask elect ", "warp"},
    {" bra brx call ret exit trap brkpt nanosleep pmevent setmaxnreg clusterlaunchcontrol ", "control"},
    {" mov cvt cvta isspacep mapa getctarank prmt alloca stacksave stackrestore ", "move and convert"},
    {" setp set selp slct testp istypep ", "compare and select"},
    {" and or xor not cnot lop3 shl shr shf bfe bfi bfind brev clz popc fns bmsk szext ", "logic and shift"},
    {" sin cos ex2 lg2 tanh rcp rsqrt sqrt ", "special functions"},
};

struct Name {
    std::string_view opcode, modifiers, type;  // "ld", ".global.f32", ".f32"
};
Name name_of(std::string_view text) {
    const auto skip = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size())); };
    if (text.starts_with('@')) {
        text.remove_prefix(std::min(text.find_first_of(" \t\r\n"), text.size()));
        skip();
    }
    const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n;{(["));
    const std::size_t dot = std::min(word.find('.'), word.size()), last = word.rfind('.');
    return {word.substr(0, dot), word.substr(dot),
            last == std::string_view::npos ? std::string_view() : word.substr(last)};
}

std::string_view class_by_type(std::string_view type) {
    if (type == ".f64") return "double precision";
    if (type == ".f32" || type == ".f32x2") return "single precision";
    if (type.find("f16") != std::string_view::npos) return "half precision";
    return "integer";
}

std::string_view memory_class(std::string_view opcode, const ObservedStep& step) {
    using Space = ObservedAccess::Space;
    constexpr std::string_view loads[] = {"global load", "constant load", "shared load", "local load",
                                          "parameter load"};
    constexpr std::string_view stores[] = {"global store", "constant store", "shared store", "local store",
                                           "parameter store"};
    const Space space = step.accesses.empty() ? Space::global : step.accesses[0].space;
    if (opcode == "atom" || opcode == "red")
        return space == Space::shared ? "shared atomic" : "global atomic";
    return (opcode == "st" ? stores : loads)[static_cast<std::size_t>(space)];
}

bool has(std::string_view modifiers, std::string_view one) {
    const std::size_t at = modifiers.find(one);
    const std::size_t end = at + one.size();
    return at != std::string_view::npos && (end == modifiers.size() || modifiers[end] == '.');
}

// Of opcodes whose forms differ: nothing for all others.
std::string_view class_by_modifiers(const Name& name) {
    if (name.opcode == "wmma")
        return has(name.modifiers, ".load") || has(name.modifiers, ".store") ? "matrix load and store"
                                                                             : "tensor core";
    if (name.opcode == "multimem" && has(name.modifiers, ".cp")) return "bulk copy";
    if (name.opcode == "multimem")
        return has(name.modifiers, ".st")    ? "global store"
               : has(name.modifiers, ".red") ? "global atomic"
                                             : "global load";
    if (name.opcode == "wgmma")
        return has(name.modifiers, ".mma_async") ? "tensor core" : "barrier and fence";
    if (name.opcode != "cp") return {};
    for (const std::string_view wait : {".commit_group", ".wait_group", ".wait_all", ".mbarrier.arrive"})
        if (has(name.modifiers, wait)) return "barrier and fence";
    return has(name.modifiers, ".bulk") ? "bulk copy" : std::string_view();
}

std::string_view class_of(const ObservedStep& step, std::string_view text) {
    const Name name = name_of(text);
    if (const std::string_view found = class_by_modifiers(name); !found.empty()) return found;
    const std::string word = ' ' + std::string(name.opcode) + ' ';
    for (const ClassRow& row : class_rows) {
        if (row.opcodes.find(word) == std::string_view::npos) continue;
        if (row.name == by_access) return memory_class(name.opcode, step);
        return row.name == by_type ? class_by_type(name.type) : row.name;
    }
    return "other";
}

// The words of a bank that a wavefront is asked for: the turns that it takes.
class Banks {
  public:
    void ask(std::uint64_t word, bool takes_turns) {
        auto& bank = words_[word % banks];
        auto& count = counts_[word % banks];
        if (!takes_turns && std::find(bank.begin(), bank.begin() + count, word) != bank.begin() + count)
            return;
        bank[count++] = word;
    }
    [[nodiscard]] std::uint64_t turns() const { return *std::max_element(counts_.begin(), counts_.end()); }

  private:
    std::array<std::array<std::uint64_t, 32>, banks> words_;  // a lane asks each bank for one at most
    std::array<std::uint32_t, banks> counts_ = {};
};

// What is copied in bulk: lines of all banks.
AccessCost lines_of(const ObservedAccess& access) {
    constexpr std::uint64_t line_bytes = banks * word_bytes;
    AccessCost cost;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if ((access.lanes >> lane & 1) == 0) continue;
        const std::uint64_t begin = access.addresses[lane];
        cost.actual += (begin + access.bytes - 1) / line_bytes - begin / line_bytes + 1;
    }
    cost.ideal = cost.actual;
    return cost;
}

}  // namespace

AccessCost shared_wavefronts(const ObservedAccess& access) {
    if (access.bytes > 16) return lines_of(access);
    // lanes of one wavefront
    const std::uint32_t together = access.bytes <= 4 ? 32 : access.bytes <= 8 ? 16 : 8;
    AccessCost cost;
    for (std::uint32_t first = 0; first < 32; first += together) {
        const std::uint32_t lanes = access.lanes >> first & (together == 32 ? ~0u : (1u << together) - 1);
        if (lanes == 0) continue;
        Banks asked;
        for (std::uint32_t lane = 0; lane < together; ++lane) {
            if ((lanes >> lane & 1) == 0) continue;
            const std::uint64_t begin = access.addresses[first + lane], last = begin + access.bytes - 1;
            for (std::uint64_t word = begin / word_bytes; word <= last / word_bytes; ++word)
                asked.ask(word, access.kind == ObservedAccess::Kind::atomic);
        }
        cost.actual += asked.turns();
        ++cost.ideal;
    }
    return cost;
}

AccessCost global_sectors(const ObservedAccess& access) {
    std::array<std::pair<std::uint64_t, std::uint64_t>, 32> ranges;  // of bytes, by address
    std::size_t count = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((access.lanes >> lane & 1) != 0)
            ranges[count++] = {access.addresses[lane], access.addresses[lane] + access.bytes};
    std::sort(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(count));
    AccessCost cost;
    // of those counted: bytes up to `end`, sectors before `next_sector`
    std::uint64_t bytes = 0, end = 0, next_sector = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto [from, to] = ranges[i];
        if (to > end) bytes += to - std::max(from, end);
        end = std::max(end, to);
        const std::uint64_t first = std::max(from / sector_bytes, next_sector),
                            last = (to - 1) / sector_bytes;
        if (last + 1 > first) cost.actual += last + 1 - first;
        next_sector = std::max(next_sector, last + 1);
    }
    cost.ideal = (bytes + sector_bytes - 1) / sector_bytes;
    return cost;
}

struct EmulatorProfile::Data {
    struct Entry {
        std::string_view text;
        std::string_view class_;
        ProfileLine counts;
    };
    const char* seen = nullptr;              // the module's text
    std::string ptx;                         // a copy
    std::map<std::uint32_t, Entry> entries;  // by the instruction's place

    Entry& entry_of(const ObservedStep& step) {
        if (seen != step.ptx.data() || ptx.size() != step.ptx.size()) {
            seen = step.ptx.data();
            if (ptx != step.ptx) {
                entries.clear();
                ptx = step.ptx;
            }
        }
        Entry& entry = entries[step.span.begin];
        if (entry.text.empty()) {
            entry.text = std::string_view(ptx).substr(step.span.begin, step.span.end - step.span.begin);
            entry.class_ = class_of(step, entry.text);
            entry.counts.line = position(ptx, step.span.begin).line;
        }
        return entry;
    }
};

EmulatorProfile::EmulatorProfile() : data_(std::make_unique<Data>()) {}
EmulatorProfile::~EmulatorProfile() = default;

void EmulatorProfile::step(const ObservedStep& step) {
    if (step.is_rest) return;
    ProfileLine& counts = data_->entry_of(step).counts;
    ++counts.warps;
    counts.lanes += static_cast<std::uint64_t>(std::popcount(step.lanes));
    for (const ObservedAccess& access : step.accesses) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(std::popcount(access.lanes)) * access.bytes;
        if (access.space == ObservedAccess::Space::shared) {
            const AccessCost cost = shared_wavefronts(access);
            counts.wavefronts += cost.actual;
            counts.ideal_wavefronts += cost.ideal;
            counts.shared_bytes += bytes;
        } else if (access.space == ObservedAccess::Space::global) {
            const AccessCost cost = global_sectors(access);
            counts.sectors += cost.actual;
            counts.ideal_sectors += cost.ideal;
            counts.global_bytes += bytes;
        }
    }
}

std::vector<ProfileLine> EmulatorProfile::lines() const {
    std::vector<ProfileLine> all;
    for (const auto& [begin, entry] : data_->entries) {
        if (all.empty() || all.back().line != entry.counts.line) {
            all.push_back(entry.counts);
            all.back().text = entry.text;
            continue;
        }
        ProfileLine& line = all.back();
        for (const auto count :
             {&ProfileLine::warps, &ProfileLine::lanes, &ProfileLine::wavefronts,
              &ProfileLine::ideal_wavefronts, &ProfileLine::sectors, &ProfileLine::ideal_sectors,
              &ProfileLine::shared_bytes, &ProfileLine::global_bytes})
            line.*count += entry.counts.*count;
    }
    return all;
}

std::vector<ProfileClass> EmulatorProfile::classes() const {
    std::map<std::string_view, ProfileClass> sums;
    for (const auto& [begin, entry] : data_->entries) {
        ProfileClass& sum = sums[entry.class_];
        sum.name = entry.class_;
        sum.warps += entry.counts.warps;
        sum.lanes += entry.counts.lanes;
        sum.shared_bytes += entry.counts.shared_bytes;
        sum.global_bytes += entry.counts.global_bytes;
    }
    std::vector<ProfileClass> all;
    for (const auto& [name, sum] : sums) all.push_back(sum);
    return all;
}

}  // namespace ptxgraft
