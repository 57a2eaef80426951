// Outlining: statements of a function become a `.func`, and a call of it takes their place.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/try.hpp"
#include "syntax/body.hpp"
#include "syntax/editor.hpp"
#include "syntax/names.hpp"
#include "syntax/outlined_text.hpp"

namespace ptxgraft::syntax {
namespace {

// A register that the statements use.
using Register = std::pair<DeclarationIndex, std::uint32_t>;
struct Life {
    std::string text;
    std::optional<Passage> passage = {};
    bool live_in = false, written = false, definite = false, read_elsewhere = false, elsewhere = false;
};

class Outliner {
  public:
    Outliner(const NameIndex& index, NodeIndex first, NodeIndex last, std::string_view name,
             const AccessOf& access)
        : index_(index), data_(index.data), name_(name), access_(access) {
        function_ = first;
        while (data_.nodes[function_].parent != root_node) function_ = data_.nodes[function_].parent;
        begin_ = index_.place[first];
        end_ = index_.place[data_.has_body(last) ? data_.last_child(last) : last];
    }

    Expected<void> analyse() {
        if (!names_may_move() || !instructions_may_move()) return tl::unexpected<Error>(error_);
        follow_registers();
        look_elsewhere();
        decide();
        return {};
    }

    [[nodiscard]] NodeIndex function() const { return function_; }

    [[nodiscard]] OutlinedText text() const {
        std::string prefix(name_);
        while (is_prefix_taken(prefix)) prefix += '_';
        return {std::string(name_), std::move(prefix), passed(in_), passed(out_)};
    }
    [[nodiscard]] std::vector<Passed> declared() const { return passed(declared_); }

  private:
    [[nodiscard]] bool inside(std::uint32_t place) const { return place >= begin_ && place <= end_; }
    [[nodiscard]] bool in_function(std::uint32_t place) const {
        return place >= index_.place[function_] && place <= index_.place[data_.last_child(function_)];
    }

    bool refuse(NodeIndex node, std::uint32_t token, std::string why) {
        const RawToken t = data_.tokens[data_.nodes[node].first_token + token];
        error_ = fail(Errc::statements_not_outlinable,
                      data_.text.is_source(t.begin) ? Span{t.begin, t.end()} : Span{}, std::move(why))
                     .value();
        return false;
    }

    // --- what may not move
    bool names_may_move() {
        for (const Occurrence& o : index_.occurrences) {
            if (o.declaration == no_declaration) continue;
            const Declared& d = index_.declarations[o.declaration];
            const bool declared_inside =
                d.node != function_ && d.scope != root_node && inside(index_.place[d.node]);
            if (inside(o.place) == declared_inside) continue;
            if (declared_inside)
                return refuse(
                    o.node, o.token,
                    std::string(d.text) + " is declared in the statements and used outside of them");
            if (d.scope == root_node && d.node != function_) continue;
            if (!may_be_used_inside(o, d)) return false;
        }
        return true;
    }

    bool may_be_used_inside(const Occurrence& o, const Declared& d) {
        const std::string text(index_.text(o));
        if (d.node == function_ && d.scope == root_node)
            return refuse(o.node, o.token, "a call of the function itself");
        if (d.kind == NameKind::label)
            return refuse(o.node, o.token, text + " is a label outside of the statements");
        if (d.kind == NameKind::parameter)
            return refuse(o.node, o.token,
                          text + " is a parameter of the function; read it before the statements");
        const auto variable = Statement(index_.statement(d.node)).variable();
        if (!variable || variable->space != ".reg")
            return refuse(o.node, o.token, text + " is a variable of the function and no register");
        const auto passage = variable->vector == 1 ? passage_of(variable->type) : std::nullopt;
        if (!passage)
            return refuse(o.node, o.token,
                          text + " has the type " + std::string(variable->type) +
                              (variable->vector == 1 ? "" : " of a vector") +
                              ", which cannot be a parameter");
        if (d.range != 0 && text != std::string(d.text) + std::to_string(o.element))
            return refuse(
                o.node, o.token,
                text + " has leading zeros; write " + std::string(d.text) + std::to_string(o.element));
        Life& life = lives_[{o.declaration, o.element}];
        life.passage = passage;
        life.text = text;
        return true;
    }

    bool instructions_may_move() {
        bool carry_known = false;  // the statements have set the flag that they read
        for (NodeIndex i = data_.nodes[function_].first_child; i != null_node;
             i = data_.in_print_order_after(i)) {
            if (index_.place[i] < begin_) continue;
            if (!in_function(index_.place[i])) return true;
            const auto instruction = index_.statement(i).instruction();
            if (!instruction) continue;
            const std::uint32_t opcode = opcode_token(*instruction);
            const bool reads = reads_carry(instruction->opcode), writes = instruction->has(".cc");
            if (!inside(index_.place[i])) {
                if (reads) return refuse(i, opcode, "the carry flag that it reads would be lost in the call");
                if (writes) return true;
                continue;
            }
            if (reads && !carry_known)
                return refuse(i, opcode, "the carry flag that it reads would be lost in the call");
            carry_known |= writes;
            if (const std::string_view why = bound_to_function(instruction->opcode); !why.empty())
                return refuse(i, opcode, std::string(why));
        }
        return true;
    }
    static std::uint32_t opcode_token(const Instruction& i) {
        return !i.guard ? 0 : i.guard->negated ? 3 : 2;
    }

    // --- registers
    // A write counts as certain for what stands behind it when no branch is before it, or no label between.
    void follow_registers() {
        std::set<Register> dominating, since_label;
        bool branched = false;
        auto o = std::lower_bound(index_.occurrences.begin(), index_.occurrences.end(), begin_,
                                  [](const Occurrence& a, std::uint32_t place) { return a.place < place; });
        while (o != index_.occurrences.end() && o->place <= end_) {
            auto behind = o;
            while (behind != index_.occurrences.end() && behind->place == o->place) ++behind;
            const auto instruction = index_.statement(o->node).instruction();
            if (data_.nodes[o->node].kind == StatementKind::label) since_label.clear();
            if (instruction)
                branched |= one_instruction({o, behind}, *instruction, branched, dominating, since_label);
            o = behind;
        }
        for (auto& [r, life] : lives_) life.definite = dominating.contains(r) || since_label.contains(r);
    }

    // True when it may jump.
    bool one_instruction(std::span<const Occurrence> all, const Instruction& instruction, bool branched,
                         std::set<Register>& dominating, std::set<Register>& since_label) {
        bool jumps = false;
        std::vector<Register> written;
        for (const Occurrence& o : all) {
            const Register r{o.declaration, o.element};
            if (o.declaration == no_declaration) continue;
            jumps |= index_.declarations[o.declaration].kind == NameKind::label;
            const auto life = lives_.find(r);
            if (life == lives_.end()) continue;
            const Access access = access_to(o, instruction);
            if (access != Access::write && !dominating.contains(r) && !since_label.contains(r))
                life->second.live_in = true;
            if (access == Access::read) continue;
            life->second.written = true;
            if (!instruction.guard) written.push_back(r);
        }
        for (const Register& r : written) {
            since_label.insert(r);
            if (!branched) dominating.insert(r);
        }
        return jumps;
    }

    [[nodiscard]] Access access_to(const Occurrence& o, const Instruction& instruction) const {
        return static_cast<UseKind>(o.kind) == UseKind::operand ? access_(instruction, o.operand)
                                                                : Access::read;
    }

    void look_elsewhere() {
        for (const Occurrence& o : index_.occurrences) {
            if (inside(o.place)) continue;
            const auto life = lives_.find({o.declaration, o.element});
            if (life == lives_.end() || static_cast<UseKind>(o.kind) == UseKind::declaration) continue;
            life->second.elsewhere = true;
            const auto instruction = index_.statement(o.node).instruction();
            life->second.read_elsewhere |=
                !instruction || access_to(o, *instruction) != Access::write || instruction->guard.has_value();
        }
    }

    // Into the order of first use.
    void decide() {
        std::set<Register> seen;
        for (const Occurrence& o : index_.occurrences) {
            const Register r{o.declaration, o.element};
            const auto found = lives_.find(r);
            if (!inside(o.place) || found == lives_.end() || !seen.insert(r).second) continue;
            const Life& life = found->second;
            // What is read before it is written may come from the last round of a loop.
            const bool out = life.written && (life.read_elsewhere || life.live_in);
            if (life.live_in || (out && !life.definite)) in_.push_back(r);
            if (out) out_.push_back(r);
            declared_.push_back(r);
        }
    }

    [[nodiscard]] bool is_prefix_taken(const std::string& prefix) const {
        return std::any_of(index_.occurrences.begin(), index_.occurrences.end(),
                           [&](const Occurrence& o) { return index_.text(o).starts_with(prefix + "_"); });
    }

    [[nodiscard]] std::vector<Passed> passed(const std::vector<Register>& registers) const {
        std::vector<Passed> all;
        for (const Register& r : registers) all.push_back({lives_.at(r).text, *lives_.at(r).passage});
        return all;
    }

    const NameIndex& index_;
    const ModuleData& data_;
    NodeIndex function_ = root_node;
    std::uint32_t begin_ = 0, end_ = 0;
    std::string_view name_;
    const AccessOf& access_;
    std::map<Register, Life> lives_;
    std::vector<Register> in_, out_, declared_;
    Error error_;
};

// The `.loc`s of a function that say where it was inlined:
// `.loc 1 9 3, function_name label, inlined_at 1 21 3`.
std::vector<Statement> inlined_locations(Statement function) {
    std::vector<Statement> all;
    for (const Statement s : function.walk())
        if (s.kind() == StatementKind::directive && s.text().starts_with(".loc") &&
            s.text().find(',') != std::string_view::npos)
            all.push_back(s);
    return all;
}

}  // namespace

Expected<Module::Outlined> Module::outline(Statement first, Statement last, std::string_view name,
                                           const AccessOf& access) {
    if (!owns(first) || !owns(last)) return not_here();
    if (!may_be_name(name)) return no_name(name);
    Statement end = first;
    while (end && end != last) end = end.next();
    if (!end || !first.parent() || first.kind() == StatementKind::end)
        return fail(Errc::statements_not_outlinable, first.span(),
                    "the last statement is not behind the first in one body");
    const Names names(*this);
    if (names.find(first, name) || names.find({}, name))
        return fail(Errc::name_taken, std::string(name) + " is declared already");
    Outliner outliner(*names.index_, first.node_, last.node_, name, access);
    TRY(outliner.analyse());

    const OutlinedText text = outliner.text();
    std::string body;
    data_->print(first.node_, data_->in_print_order_after(Editor(*data_).last_within(last.node_)), body);
    const auto made = TRY(insert_before(Statement(data_.get(), outliner.function()),
                                        "\n\n" + text.definition(outliner.declared(), body)));
    // Where they were inlined is in the other function, behind the new one.
    for (const Statement s : inlined_locations(made))
        TRY(replace(s, std::string(s.text().substr(0, s.text().find(',')))));
    const std::string line = line_like(first.trivia());
    const auto call = insert_before(first, text.call(line == " " ? "\n" : line));
    if (!call) {
        remove(made);
        return tl::unexpected<Error>(call.error());
    }
    for (Statement s = first; s;) {
        const Statement next = s == last ? Statement() : s.next();
        remove(s);
        s = next;
    }
    return Outlined{made, *call};
}

}  // namespace ptxgraft::syntax
