// Programs as numbers: a walk over the stacks makes a graph of values, and what leads to results is counted.

#include "search/surrogate/features.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ptxgraft::search {
namespace {

using stack::Opcode;
using stack::TypeId;

// Opcodes that cost about the same. Each of the opcodes' names stands between spaces.
struct OpClass {
    std::string_view name, opcodes;
};
constexpr std::array<OpClass, 11> classes = {{
    {"add", " add sub neg abs sad "},
    {"mul", " mul mul24 mul.wide mul.lo mul.hi "},
    {"fma", " fma mad mad24 dp4a dp2a "},
    {"min", " min max clamp "},
    {"logic", " and or xor not lop3 cnot "},
    {"shift", " shl shr shf bfe bfi bmsk szext prmt "},
    {"select", " set setp selp slct testp copysign "},
    {"convert", " cvt cvta "},
    {"approximate", " ex2 lg2 sin cos tanh rcp rsqrt sqrt "},
    {"divide", " div rem "},
    {"other",
     " bfind brev clmad clz fns getctarank isspacep mapa mov popc vabsdiff vabsdiff2 vabsdiff4 vadd vadd2"
     " vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2"
     " vsub4 ld st atom red shfl vote match redux activemask elect "},
}};
constexpr std::uint8_t special_class = 8, divide_class = 9, other_class = 10, input_class = 0xFF,
                       constant_class = 0xFE;
constexpr std::array<std::string_view, 11> rest = {"live",        "depth",     "special",   "wide",
                                                   "narrow",      "constants", "inputs",    "peak",
                                                   "live x peak", "any wide",  "any divide"};
constexpr std::size_t site_features = classes.size() + rest.size();

std::uint8_t bytes_of(TypeId type) {
    if (type >= stack::first_user_type) return 4;
    if (type == stack::type_b8) return 1;
    if (type == stack::type_b128) return 16;
    return static_cast<std::uint8_t>(std::max(1u, bits(static_cast<Type>(type)) / 8));
}

// The place in `classes`; nothing for an opcode that has none there.
std::optional<std::uint8_t> find_class(std::string_view opcode) {
    const std::string word = ' ' + std::string(opcode) + ' ';
    for (std::uint8_t k = 0; k < classes.size(); ++k)
        if (classes[k].opcodes.find(word) != std::string_view::npos) return k;
    return std::nullopt;
}

}  // namespace

bool has_cost_class(std::string_view opcode) { return find_class(opcode).has_value(); }

Features::Form Features::form_of(const stack::Entry& entry) {
    Form made;
    const std::string_view name = entry.form == nullptr ? std::string_view() : entry.form->spelling;
    const std::string_view opcode = name.substr(0, name.find('.'));
    made.op_class = find_class(opcode).value_or(other_class);
    // sqrt.rn, rcp.rn and div are code of many instructions, ex2.approx is one
    if (made.op_class == special_class && name.find(".approx") == std::string_view::npos)
        made.op_class = divide_class;
    made.is_special = made.op_class == special_class;
    made.is_counted = opcode != "mov";
    for (const stack::EntryOperand& operand : entry.operands) {
        if (operand.is_immediate) continue;
        (operand.is_output ? made.outputs : made.inputs).push_back(stack::stack_of(operand.type));
    }
    if (entry.form == nullptr) made.outputs = {stack::stack_of(entry.special_type)};
    return made;
}

Features::Features(const Space& space, std::size_t extras) : extras_(extras) {
    for (const SiteSpace& site : space.sites) {
        Site& made = sites_.emplace_back();
        for (const stack::Entry& entry : site.machine.set().entries()) made.forms.push_back(form_of(entry));
        for (const SiteOperand& operand : site.machine.signature().operands) {
            made.operands.push_back(stack::stack_of(stack::type_id(operand.type)));
            made.counts.push_back(std::max(operand.count, 1u));
            made.is_output.push_back(operand.direction != Direction::in);
        }
        for (const OpClass& one : classes) names_.push_back(site.name + ": " + std::string(one.name));
        for (const std::string_view one : rest) names_.push_back(site.name + ": " + std::string(one));
    }
    for (const Tunable& tunable : space.tunables) {
        tunables_.push_back(tunable.values);
        names_.push_back(tunable.name);
        names_.push_back("place of " + tunable.name);
    }
    for (std::size_t k = 0; k < extras; ++k) names_.push_back("extra " + std::to_string(k));
}

bool Features::fits(const Genome& genome) const {
    if (genome.programs.size() != sites_.size() || genome.tunables.size() != tunables_.size()) return false;
    for (std::size_t t = 0; t < tunables_.size(); ++t)
        if (genome.tunables[t] >= tunables_[t].size()) return false;
    return true;
}

namespace {

using Scratch = Features::Scratch;

// One program on stacks of nodes.
class Walk {
  public:
    explicit Walk(Scratch& scratch) : s_(scratch) {
        s_.stacks.resize(stack::max_types);
        for (auto& one : s_.stacks) one.clear();
        s_.nodes.clear();
        s_.inputs.clear();
        s_.cells.clear();
        s_.operands.clear();
        s_.assigned.clear();
    }
    std::vector<std::uint32_t>& on(TypeId type) {
        return s_.stacks[std::min<TypeId>(type, stack::max_types - 1)];
    }
    std::uint32_t make(std::uint8_t form_class, TypeId type) {
        s_.nodes.push_back({.form_class = form_class, .width = bytes_of(type)});
        return static_cast<std::uint32_t>(s_.nodes.size() - 1);
    }
    void push(TypeId type, std::uint32_t node) { on(type).push_back(node); }
    void input(TypeId type, std::uint64_t place) {
        for (const auto& [at, node] : s_.operands)
            if (at == place) return push(type, node);
        s_.operands.emplace_back(place, make(input_class, type));
        push(type, s_.operands.back().second);
    }
    void assign(TypeId type, std::uint64_t place) {
        if (on(type).empty()) return;
        const std::uint32_t node = on(type).back();
        on(type).pop_back();
        for (auto& [at, value] : s_.assigned)
            if (at == place) {
                value = node;
                return;
            }
        s_.assigned.emplace_back(place, node);
    }
    // A word that moves what lies on a stack.
    void move(const stack::Instruction& one) {
        auto& of = on(one.type);
        const std::size_t size = of.size(), depth = one.payload;
        switch (one.opcode) {
            case Opcode::dup:
                if (size >= 1) of.push_back(of[size - 1]);
                break;
            case Opcode::swap:
                if (size >= 2) std::swap(of[size - 1], of[size - 2]);
                break;
            case Opcode::drop:
                if (size >= 1) of.pop_back();
                break;
            case Opcode::over:
                if (size >= 2) of.push_back(of[size - 2]);
                break;
            case Opcode::rotate:
                if (size >= 3) std::rotate(of.end() - 3, of.end() - 2, of.end());
                break;
            case Opcode::reverse: std::ranges::reverse(of); break;
            case Opcode::clear: of.clear(); break;
            case Opcode::yank_dup:
                if (depth < size) of.push_back(of[size - 1 - depth]);
                break;
            case Opcode::swap_with:
                if (depth < size) std::swap(of[size - 1], of[size - 1 - depth]);
                break;
            case Opcode::replace:
                if (size >= 1 && depth + 1 < size) {
                    of[size - 2 - depth] = of[size - 1];
                    of.pop_back();
                }
                break;
            default: break;
        }
    }
    void cast(TypeId from, TypeId to) {
        if (on(from).empty()) return;
        const std::uint32_t node = on(from).back();
        on(from).pop_back();
        push(to, node);
    }
    // An instruction of the set; where an operand is missing it does nothing.
    void apply(const Features::Form& form) {
        const auto first = static_cast<std::uint32_t>(s_.inputs.size());
        std::uint16_t depth = 0;
        for (std::size_t k = form.inputs.size(); k-- > 0;) {
            auto& of = on(form.inputs[k]);
            if (of.empty()) return give_back(form, first);
            s_.inputs.push_back(of.back());
            depth = std::max(depth, s_.nodes[of.back()].depth);
            of.pop_back();
        }
        for (std::size_t k = 0; k < form.outputs.size(); ++k) {
            const std::uint32_t node = make(form.op_class, form.outputs[k]);
            Scratch::Node& made = s_.nodes[node];
            made.first = first;
            made.count = static_cast<std::uint32_t>(s_.inputs.size()) - first;
            made.depth = static_cast<std::uint16_t>(depth + (form.is_counted ? 1 : 0));
            made.is_special = form.is_special;
            made.is_counted = form.is_counted && k == 0;
            push(form.outputs[k], node);
        }
    }
    void cell(const stack::Instruction& one) {
        const std::uint64_t place = std::uint64_t{one.type} << 32 | one.payload;
        auto found = std::ranges::find(s_.cells, place, [](const auto& cell) { return cell.first; });
        if (one.opcode == Opcode::load) {
            if (found != s_.cells.end()) push(one.type, found->second);
            return;
        }
        if (on(one.type).empty()) return;
        const std::uint32_t node = on(one.type).back();
        on(one.type).pop_back();
        if (found == s_.cells.end())
            s_.cells.emplace_back(place, node);
        else
            found->second = node;
    }

  private:
    // What was popped for the last inputs of a form.
    void give_back(const Features::Form& form, std::size_t first) {
        for (std::size_t k = form.inputs.size() - (s_.inputs.size() - first); k < form.inputs.size(); ++k) {
            push(form.inputs[k], s_.inputs.back());
            s_.inputs.pop_back();
        }
    }
    Scratch& s_;
};

}  // namespace

void Features::read(const Site& site, const stack::Program& program, Scratch& s) {
    Walk walk(s);
    for (const stack::Instruction& one : program.code) {
        switch (one.opcode) {
            case Opcode::input:
                if (one.index < site.operands.size())
                    walk.input(site.operands[one.index], std::uint64_t{one.index} << 32 | one.payload);
                break;
            case Opcode::constant:
            case Opcode::pooled: walk.push(one.type, walk.make(constant_class, one.type)); break;
            case Opcode::assign:
                if (one.index < site.operands.size())
                    walk.assign(site.operands[one.index], std::uint64_t{one.index} << 32 | one.payload);
                break;
            case Opcode::cast: walk.cast(static_cast<TypeId>(one.index), one.type); break;
            case Opcode::store:
            case Opcode::load: walk.cell(one); break;
            case Opcode::form:
                if (one.index < site.forms.size()) walk.apply(site.forms[one.index]);
                break;
            default: walk.move(one); break;
        }
    }
    // Requests::top: what is not assigned takes from its stack, the last operand first
    for (std::size_t o = site.operands.size(); o-- > 0;)
        for (std::uint32_t element = site.counts[o]; site.is_output[o] && element-- > 0;) {
            const std::uint64_t place = std::uint64_t{o} << 32 | element;
            if (std::ranges::find(s.assigned, place, [](const auto& a) { return a.first; }) ==
                s.assigned.end())
                walk.assign(site.operands[o], place);
        }
}

void Features::count_live(Scratch& s, std::span<double> row) {
    for (const auto& [place, node] : s.assigned) {
        s.nodes[node].is_live = true;
        s.nodes[node].last_use = static_cast<std::uint32_t>(s.nodes.size());
    }
    const auto at = [&](std::size_t k) -> double& { return row[classes.size() + k]; };
    for (std::size_t n = s.nodes.size(); n-- > 0;) {
        const Scratch::Node& node = s.nodes[n];
        if (!node.is_live) continue;
        for (std::uint32_t k = node.first; k < node.first + node.count; ++k) {
            Scratch::Node& input = s.nodes[s.inputs[k]];
            input.is_live = true;
            input.last_use = std::max(input.last_use, static_cast<std::uint32_t>(n));
        }
    }
    s.ends.assign(s.nodes.size() + 1, 0);
    double alive = 0;
    for (std::size_t n = 0; n < s.nodes.size(); ++n) {
        const Scratch::Node& node = s.nodes[n];
        alive -= s.ends[n];
        if (!node.is_live) continue;
        if (node.form_class == constant_class) {
            at(5) += 1;
            continue;
        }
        const double registers = node.width > 4 ? node.width / 4.0 : 1;
        alive += registers;
        s.ends[node.last_use] += static_cast<std::uint32_t>(registers);
        at(7) = std::max(at(7), alive);
        if (node.form_class == input_class) {
            at(6) += registers;
            continue;
        }
        if (!node.is_counted) continue;
        row[node.form_class] += 1;
        at(0) += 1;
        at(1) = std::max(at(1), static_cast<double>(node.depth));
        at(2) += node.is_special ? 1 : 0;
        at(3) += node.width > 4 ? 1 : 0;
        at(4) += node.width < 4 ? 1 : 0;
    }
    at(8) = at(0) * at(7);
    at(9) = at(3) > 0 ? 1 : 0;
    at(10) = row[divide_class] > 0 ? 1 : 0;
}

void Features::write(const Genome& genome, std::span<const double> extras, std::span<double> row,
                     Scratch& scratch) const {
    std::ranges::fill(row, 0.0);
    std::size_t next = 0;
    for (std::size_t s = 0; s < sites_.size(); ++s, next += site_features) {
        read(sites_[s], genome.programs[s], scratch);
        count_live(scratch, row.subspan(next, site_features));
    }
    for (std::size_t t = 0; t < tunables_.size(); ++t) {
        row[next++] = static_cast<double>(tunables_[t][genome.tunables[t]]);
        row[next++] = genome.tunables[t];
    }
    for (std::size_t k = 0; k < extras_; ++k) row[next++] = extras[k];
}

}  // namespace ptxgraft::search
