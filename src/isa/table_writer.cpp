// Writes the table as C++ arrays, in the shape of ptxgraft/isa/table.hpp: each kind of thing stands in one
// array, and a list names a part of another.

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>

#include "ptxgraft/isa/types.hpp"
#include "ptxgraft/syntax/spaces.hpp"
#include "table_model.hpp"

namespace ptxgraft::isa::generator {
namespace {

// One array of the output: its elements' texts.
class Pool {
  public:
    Pool(std::string type, std::string name) : type_(std::move(type)), name_(std::move(name)) {}
    /// The List of these elements, "{first,count}"; equal lists are one.
    std::string list(const Strings& elements) {
        if (elements.empty()) return "{}";
        std::string key;
        for (const std::string& e : elements) key += e + ";";
        const auto [at, is_new] = lists_.try_emplace(key, elements_.size());
        if (is_new) elements_.insert(elements_.end(), elements.begin(), elements.end());
        if (elements_.size() > UINT16_MAX) stop(0, "more " + name_ + " than a List can count");
        return "{" + std::to_string(at->second) + "," + std::to_string(elements.size()) + "}";
    }
    void write(std::ostream& out) const {
        out << "inline constexpr " << type_ << ' ' << name_ << "[] = {\n";
        for (std::size_t i = 0; i < elements_.size(); ++i) out << elements_[i] << (i % 8 == 7 ? ",\n" : ",");
        out << "};\n";
    }

  private:
    std::string type_, name_;
    Strings elements_;
    std::map<std::string, std::size_t> lists_;
};

// The text of all names and lines, as literals that every compiler takes: a place is the number of one and,
// in the lower 16 bits, where in it.
class TextPool {
  public:
    std::string add(const std::string& text) {
        const auto [at, is_new] = places_.try_emplace(text);
        if (is_new) {
            if (pages_.back().size() + text.size() > page_size) pages_.emplace_back();
            at->second = (pages_.size() - 1) << 16 | pages_.back().size();
            pages_.back() += text;
        }
        return "{" + std::to_string(at->second) + "," + std::to_string(text.size()) + "}";
    }
    void write(std::ostream& out) const {
        constexpr std::size_t line = 100;
        out << "inline constexpr const char* pages[] = {";
        for (const std::string& page : pages_) {
            out << '(';  // clang takes a list of a few adjacent literals for one that lacks a comma
            for (std::size_t i = 0; i < page.size(); i += line) out << "\n\"" << page.substr(i, line) << "\"";
            out << "),";
        }
        out << "};\n";
    }

  private:
    // g++ hashes the whole literal whenever a constant expression calls a function with a pointer into it.
    static constexpr std::size_t page_size = 500;
    Strings pages_ = {""};
    std::map<std::string, std::size_t> places_;
};

bool contains(const Strings& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

class Writer {
  public:
    explicit Writer(const Table& table) : table_(table) {}

    void run(std::ostream& out) {
        collect_words();
        std::ostringstream tables;
        write_opcodes(tables);
        write_special(tables);
        write_words(tables);
        write_effects(tables);
        write_repeatable(tables);
        out << "// Generated from ptx.isa; a part of table.hpp.\n";
        text_.write(out);
        for (const Pool* pool : {&architectures_, &sinces_, &members_, &atoms_, &terms_, &constraints_,
                                 &values_, &ranges_, &operands_, &slots_, &rows_})
            pool->write(out);
        out << tables.str();
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
    void write_words(std::ostream& out) {
        out << "inline constexpr Word words[] = {\n";
        for (const std::string& word : words_) {
            const TypeInfo* const type = type_info(word.substr(1));
            out << "{" << text_.add(word) << ",RegisterType::" << (type == nullptr ? "none" : type->name)
                << ",syntax::Space(" << static_cast<unsigned>(syntax::space_of(word)) << "),"
                << number_of(word) << "},\n";
        }
        out << "};\n";
        write_places(out, "word_places", words_);
    }
    static std::uint32_t number_of(std::string_view word) {
        if (const auto n = word.find('n', 1); word.starts_with(".m") && n != std::string_view::npos)
            word = word.substr(n);
        std::uint32_t value = 0;
        for (const char c : word) {
            const bool is_digit = c >= '0' && c <= '9';
            if (!is_digit && value != 0) break;
            if (is_digit) value = 10 * value + static_cast<std::uint32_t>(c - '0');
        }
        if (value > UINT16_MAX) stop(0, "the number in " + std::string(word) + " is too large");
        return value == 0 ? 1 : value;
    }

    // Where names stand, by their keys: with open addressing, at least half of it empty.
    static void write_places(std::ostream& out, const char* name, const Strings& names) {
        std::vector<std::size_t> places(std::bit_ceil(2 * names.size()), SIZE_MAX);
        for (std::size_t i = 0; i < names.size(); ++i) {
            std::size_t at = key_of(names[i]) % places.size();
            while (places[at] != SIZE_MAX) at = (at + 1) % places.size();
            places[at] = i;
        }
        out << "inline constexpr std::uint16_t " << name << "[] = {\n";
        for (std::size_t i = 0; i < places.size(); ++i)
            out << (places[i] == SIZE_MAX ? "nowhere" : std::to_string(places[i]))
                << (i % 16 == 15 ? ",\n" : ",");
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
            all.push_back("{" + std::to_string(s.version) + "," + architectures_.list(archs) + "}");
        }
        return sinces_.list(all);
    }

    // --- rows
    std::string slot(const Part& part) {
        Strings ids;
        for (const std::string& member : part.members) ids.push_back(word_id(member));
        return "{" + text_.add(part.name) + "," + members_.list(ids) + "," +
               (part.is_optional ? "true," : "false,") + std::to_string(vocabulary(part)) + "}";
    }

    // Types, state spaces, layouts and logical operations: ptxas takes other modifiers in any order, these
    // only in the manual's.
    static unsigned vocabulary(const Part& part) {
        static const std::array<std::regex, 4> vocabularies = {
            std::regex(
                R"(\.(?!b1024)(pred|[usbf][0-9]+|bf16|tf32|u?e[0-9]+m[0-9]+|s2f6)(x[0-9]+)?(_p[0-9]+)?)"),
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
            all.push_back(atoms_.list(atoms));
        }
        return terms_.list(all);
    }

    std::string constraint(const Row& row, const Constraint& c) {
        return "{Constraint::Kind::" + c.kind + "," + term_list(row, c.left) + "," + term_list(row, c.right) +
               "," + (c.kind == "since" ? since(c.since) : "{}") + "," + text_.add(c.text) + "}";
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
        const std::string list =
            ranges_.list({"{" + std::to_string(range->low) + "," + std::to_string(range->high) + "," +
                          std::to_string(range->step) + "," + values_.list(values) + "}"});
        return "ranges+" + list.substr(1, list.find(',') - 1);
    }

    std::string operand(const Row& row, const Operand& o) {
        Strings inner;
        for (const Operand& child : o.children) inner.push_back(operand(row, child));
        const auto flag = [](bool b) { return b ? "1," : "0,"; };
        std::string text = "{" + text_.add(o.name) + ",RuleKind::" + o.kind + "," + type_ref(row, o.type) +
                           "," + count_ref(row, o.count) + ",";
        text += flag(o.is_output());
        text += flag(o.is_optional);
        for (const char* word : {"reg", "constant", "exact", "wide", "sink", "special", "symbol", "mixed",
                                 "plain", "braces", "loose", "inout", "minus", "element"})
            text += flag(o.has(word));
        text += range_ref(o.range) + "," + term_list(row, o.with) + "," + term_list(row, o.without) + ",";
        text += (o.since.empty() ? "{}" : since(o.since)) + ",";
        return text + operands_.list(inner) + "}";
    }

    std::string row(const Row& r) {
        Strings slots, operands, constraints;
        for (const Part& part : r.parts) slots.push_back(slot(part));
        for (const Operand& o : r.operands) operands.push_back(operand(r, o));
        for (const Constraint& c : r.constraints) constraints.push_back(constraint(r, c));
        Strings implied;
        for (const std::string& word : r.implied) {
            if (!contains(words_, word)) stop(r.line, "no row has " + word + ", which is implied");
            implied.push_back(word_id(word));
        }
        return "{" + text_.add(r.opcode) + "," + text_.add(r.syntax) + "," + slots_.list(slots) + "," +
               operands_.list(operands) + "," + constraints_.list(constraints) + "," +
               members_.list(implied) + "," + since(r.since) + "," + std::to_string(r.until_version) + "," +
               std::to_string(r.until_sm) + "," + (r.pure ? "1" : "0") + "}";
    }

    void write_opcodes(std::ostream& out) {
        std::map<std::string, Strings> by_opcode;
        for (const Row& r : table_.rows) by_opcode[r.opcode].push_back(row(r));
        out << "inline constexpr Opcode opcodes[] = {\n";
        for (const auto& [opcode, rows] : by_opcode)
            out << "{" << text_.add(opcode) << "," << rows_.list(rows) << "},\n";
        out << "};\n";
        Strings names;
        for (const auto& [opcode, rows] : by_opcode) names.push_back(opcode);
        write_places(out, "opcode_places", names);
    }

    void write_repeatable(std::ostream& out) const {
        out << "inline constexpr WordId repeatable[] = {";
        for (const std::string& word : table_.repeatable) {
            if (!contains(words_, word)) stop(0, "no row has " + word + ", which may repeat");
            out << word_id(word) << ",";
        }
        out << "};\n";
    }

    void write_special(std::ostream& out) {
        std::vector<Special> all = table_.special;
        std::sort(all.begin(), all.end(), [](const Special& a, const Special& b) { return a.name < b.name; });
        out << "inline constexpr SpecialRegister special[] = {\n";
        for (const Special& s : all)
            out << "{" << text_.add(s.name) << ",RegisterType::" << s.type << ","
                << (s.is_vector ? "true" : "false") << "," << (s.is_narrow ? "true" : "false") << ","
                << (s.is_volatile ? "true" : "false") << "," << s.count << "," << since(s.since) << "},\n";
        out << "};\n";
    }

    void write_effects(std::ostream& out) {
        out << "inline constexpr OpcodeEffects effects[] = {\n";
        for (const auto& [opcode, bits] : table_.effects)
            out << "{" << text_.add(opcode) << "," << bits << "},";
        out << "};\n";
    }

    const Table& table_;
    Strings words_;
    TextPool text_;
    Pool architectures_{"Architecture", "architectures"}, sinces_{"Since", "sinces"},
        members_{"WordId", "members"}, atoms_{"Atom", "atoms"}, terms_{"Term", "terms"},
        constraints_{"Constraint", "constraints"}, values_{"std::int64_t", "values"},
        ranges_{"Range", "ranges"}, operands_{"OperandRule", "operands"}, slots_{"Slot", "slots"},
        rows_{"Row", "instructions"};
};

}  // namespace

void write(std::ostream& out, const Table& table) { Writer(table).run(out); }

}  // namespace ptxgraft::isa::generator
