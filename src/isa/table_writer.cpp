// Writes the table as C++ arrays, in the shape of table.hpp: each kind of thing stands in one array, and a
// span names a part of another.

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>

#include "table_model.hpp"
#include "types.hpp"

namespace ptxgraft::isa::generator {
namespace {

// One array of the output: its elements' texts.
class Pool {
  public:
    Pool(std::string type, std::string name) : type_(std::move(type)), name_(std::move(name)) {}
    /// Appends elements and gives the span of them.
    std::string add(const Strings& elements) {
        if (elements.empty()) return "{}";
        const std::size_t begin = elements_.size();
        elements_.insert(elements_.end(), elements.begin(), elements.end());
        return "{" + name_ + "+" + std::to_string(begin) + "," + std::to_string(elements.size()) + "}";
    }
    /// The same, where equal spans share their elements.
    std::string share(const Strings& elements) {
        std::string key;
        for (const std::string& e : elements) key += e + ";";
        const auto found = shared_.find(key);
        return found != shared_.end() ? found->second : shared_[key] = add(elements);
    }
    void write(std::ostream& out) const {
        out << "constexpr std::array<" << type_ << ',' << std::max<std::size_t>(elements_.size(), 1) << "> "
            << name_ << "_all = {{\n";
        for (std::size_t i = 0; i < elements_.size(); ++i) out << elements_[i] << (i % 8 == 7 ? ",\n" : ",");
        out << "}};\n[[maybe_unused]] constexpr const " << type_ << "* " << name_ << " = " << name_
            << "_all.data();\n";
    }

  private:
    std::string type_, name_;
    Strings elements_;
    std::map<std::string, std::string> shared_;
};

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

bool contains(const Strings& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

class Writer {
  public:
    explicit Writer(const Table& table) : table_(table) {}

    void run(std::ostream& out) {
        collect_words();
        std::ostringstream opcodes, special;
        write_opcodes(opcodes);
        write_special(special);
        out << "// Generated from ptx.isa.\n#include <array>\n#include \"isa/table.hpp\"\n\nnamespace "
               "ptxgraft::isa {\nnamespace {\n";
        for (const Pool* pool : {&architectures_, &sinces_, &members_, &atoms_, &terms_, &constraints_,
                                 &values_, &ranges_, &children_, &operands_, &slots_, &rows_})
            pool->write(out);
        out << opcodes.str() << special.str();
        write_words(out);
        write_effects(out);
        write_repeatable(out);
        out << "}  // namespace\n\nconst std::span<const std::string_view> table_words = words;\n"
               "const std::span<const Opcode> table_opcodes = opcodes;\nconst std::span<const "
               "SpecialRegister> table_special = special;\n"
               "const std::span<const WordId> table_repeatable = repeatable;\nconst std::span<const "
               "OpcodeEffects> table_effects = effect_rows;\n\n}  // namespace ptxgraft::isa\n";
    }

  private:
    // --- modifiers
    void collect_words() {
        std::set<std::string> all;
        for (const Row& row : table_.rows)
            for (const Part& part : row.parts) all.insert(part.members.begin(), part.members.end());
        words_.assign(all.begin(), all.end());
    }
    std::string word_id(const std::string& word) const {
        const auto at = std::lower_bound(words_.begin(), words_.end(), word);
        return std::to_string(at - words_.begin());
    }
    void write_words(std::ostream& out) const {
        out << "constexpr std::string_view words[] = {\n";
        for (std::size_t i = 0; i < words_.size(); ++i)
            out << quoted(words_[i]) << (i % 8 == 7 ? ",\n" : ",");
        out << "};\n";
    }

    // --- versions and architectures
    std::string since(const SinceList& list) {
        Strings all;
        for (const Since& s : list) {
            Strings archs;
            for (const std::string& arch : s.architectures) {
                const bool has_suffix = arch.back() == 'a' || arch.back() == 'f';
                archs.push_back("{" + arch.substr(0, arch.size() - (has_suffix ? 1 : 0)) + "," +
                                (has_suffix ? "'" + arch.substr(arch.size() - 1) + "'" : "0") + "}");
            }
            all.push_back("{" + std::to_string(s.version) + "," + architectures_.share(archs) + "}");
        }
        return sinces_.share(all);
    }

    // --- rows
    std::string slot(const Part& part) {
        Strings ids;
        for (const std::string& member : part.members) ids.push_back(word_id(member));
        return "{" + quoted(part.name) + "," + members_.share(ids) + "," +
               (part.is_optional ? "true," : "false,") + std::to_string(vocabulary(part)) + "}";
    }

    // Types, state spaces, layouts and logical operations: ptxas takes other modifiers in any order, these
    // only in the manual's.
    static unsigned vocabulary(const Part& part) {
        static const std::array<std::regex, 4> vocabularies = {
            std::regex(R"(\.(?!b1024)([usbf][0-9]+|bf16|tf32|u?e[0-9]+m[0-9]+|s2f6)(x[0-9]+)?(_p[0-9]+)?)"),
            std::regex(R"(\.(global|local|const|(shared|param)(::[a-z]+)?))"), std::regex(R"(\.(row|col))"),
            std::regex(R"(\.(and|or|xor|popc))")};
        for (std::size_t i = 0; i < vocabularies.size() && !part.members.empty(); ++i)
            if (std::regex_match(part.members.front(), vocabularies[i])) return static_cast<unsigned>(i) + 1;
        return 0;
    }

    static std::size_t part_index(const Row& row, const std::string& name) {
        return static_cast<std::size_t>(row.part(name) - row.parts.data());
    }

    std::string atom(const Row& row, const Atom& a) const {
        std::string place, word = "no_word";
        if (row.part(a.word) != nullptr) {
            place = std::to_string(part_index(row, a.word));
        } else {
            Strings places;
            for (std::size_t i = 0; i < row.parts.size(); ++i)
                if (contains(row.parts[i].members, a.word)) places.push_back(std::to_string(i));
            place = places.size() == 1 ? places[0] : "any_slot";
            word = word_id(a.word);
        }
        return "{" + place + "," + word + "," + (a.is_absent ? "true" : "false") + "}";
    }

    std::string term_list(const Row& row, const std::vector<Term>& list) {
        Strings all;
        for (const Term& term : list) {
            Strings atoms;
            for (const Atom& a : term) atoms.push_back(atom(row, a));
            all.push_back(atoms_.share(atoms));
        }
        return terms_.share(all);
    }

    std::string constraint(const Row& row, const Constraint& c) {
        return "{Constraint::Kind::" + c.kind + "," + term_list(row, c.left) + "," + term_list(row, c.right) +
               "," + (c.kind == "since" ? since(c.since) : "{}") + "," + quoted(c.text) + "}";
    }

    std::string type_ref(const Row& row, const std::string& type) const {
        if (type.empty()) return "{RegisterType::none,any_slot}";
        if (row.part(type) != nullptr && type_info(type.substr(1)) == nullptr)
            return "{RegisterType::none," + std::to_string(part_index(row, type)) + "}";
        if (type_info(type.substr(1)) == nullptr) stop(row.line, "no type is named " + type);
        return "{RegisterType::" + type.substr(1) + ",any_slot}";
    }

    static std::string count_ref(const Row& row, const std::optional<Count>& count) {
        const Count c = count.value_or(Count{});
        const std::string place = c.slot.empty() ? "any_slot" : std::to_string(part_index(row, c.slot));
        return "{" + place + "," + std::to_string(c.value) + "," + std::to_string(c.times) + "," +
               std::to_string(c.divided_by) + "," + std::to_string(c.minus) + "," +
               (c.or_more ? "true" : "false") + "}";
    }

    std::string range_ref(const std::optional<Range>& range) {
        if (!range) return "nullptr";
        Strings values;
        for (const std::int64_t value : range->values) values.push_back(std::to_string(value));
        const std::string span =
            ranges_.share({"{" + std::to_string(range->low) + "," + std::to_string(range->high) + "," +
                           std::to_string(range->step) + "," + values_.share(values) + "}"});
        return span.substr(1, span.find(',') - 1);
    }

    std::string operand(const Row& row, const Operand& o) {
        Strings inner;
        for (const Operand& child : o.children) inner.push_back(operand(row, child));
        const auto flag = [](bool b) { return b ? "1," : "0,"; };
        std::string text = "{" + quoted(o.name) + ",RuleKind::" + o.kind + "," + type_ref(row, o.type) + "," +
                           count_ref(row, o.count) + ",";
        text += flag(o.is_output());
        text += flag(o.is_optional);
        for (const char* word : {"reg", "constant", "exact", "wide", "sink", "special", "symbol", "mixed",
                                 "plain", "braces", "loose", "inout", "minus", "element"})
            text += flag(o.has(word));
        text += range_ref(o.range) + "," + term_list(row, o.with) + "," + term_list(row, o.without) + ",";
        return text + children_.add(inner) + "}";
    }

    std::string row(const Row& r) {
        Strings slots, operands, constraints;
        for (const Part& part : r.parts) slots.push_back(slot(part));
        for (const Operand& o : r.operands) operands.push_back(operand(r, o));
        for (const Constraint& c : r.constraints) constraints.push_back(constraint(r, c));
        return "{" + quoted(r.opcode) + "," + quoted(r.syntax) + "," + slots_.share(slots) + "," +
               operands_.add(operands) + "," + constraints_.add(constraints) + "," + since(r.since) + "," +
               std::to_string(r.until_version) + "," + std::to_string(r.until_sm) + "," +
               (r.pure ? "1" : "0") + "}";
    }

    void write_opcodes(std::ostream& out) {
        std::map<std::string, Strings> by_opcode;
        for (const Row& r : table_.rows) by_opcode[r.opcode].push_back(row(r));
        out << "constexpr Opcode opcodes[] = {\n";
        for (const auto& [opcode, rows] : by_opcode)
            out << "{" << quoted(opcode) << "," << rows_.add(rows) << "},\n";
        out << "};\n";
    }

    void write_repeatable(std::ostream& out) const {
        out << "constexpr std::array<WordId," << table_.repeatable.size() << "> repeatable = {{";
        for (const std::string& word : table_.repeatable) {
            if (!contains(words_, word)) stop(0, "no row has " + word + ", which may repeat");
            out << word_id(word) << ",";
        }
        out << "}};\n";
    }

    void write_special(std::ostream& out) {
        std::vector<Special> all = table_.special;
        std::sort(all.begin(), all.end(), [](const Special& a, const Special& b) { return a.name < b.name; });
        out << "constexpr std::array<SpecialRegister," << all.size() << "> special = {{\n";
        for (const Special& s : all)
            out << "{" << quoted(s.name) << ",RegisterType::" << s.type << ","
                << (s.is_vector ? "true" : "false") << "," << (s.is_narrow ? "true" : "false") << ","
                << (s.is_volatile ? "true" : "false") << "," << s.count << "," << since(s.since) << "},\n";
        out << "}};\n";
    }

    void write_effects(std::ostream& out) const {
        out << "constexpr OpcodeEffects effect_rows[] = {\n";
        for (const auto& [opcode, bits] : table_.effects) out << "{" << quoted(opcode) << "," << bits << "},";
        out << "};\n";
    }

    const Table& table_;
    Strings words_;
    Pool architectures_{"Architecture", "architectures"}, sinces_{"Since", "sinces"},
        members_{"WordId", "members"}, atoms_{"Atom", "atoms"}, terms_{"Term", "terms"},
        constraints_{"Constraint", "constraints"}, values_{"std::int64_t", "values"},
        ranges_{"Range", "ranges"}, children_{"OperandRule", "children"},
        operands_{"OperandRule", "operands"}, slots_{"Slot", "slots"}, rows_{"Row", "rows"};
};

}  // namespace

void write(std::ostream& out, const Table& table) { Writer(table).run(out); }

}  // namespace ptxgraft::isa::generator
