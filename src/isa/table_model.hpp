#pragma once
// What the rows of ptx.isa say, before it becomes arrays. Part of the generator; its notation stands at the
// top of ptx.isa.

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptxgraft::isa::generator {

using Strings = std::vector<std::string>;

/// Ends the build: `ptx.isa:LINE: error: MESSAGE`.
[[noreturn]] void stop(int line, const std::string& message);

struct Since {
    unsigned version = 0;   // 10 * major + minor
    Strings architectures;  // "90", "100f"
};
using SinceList = std::vector<Since>;

struct Part {  // of a syntax line
    std::string name;
    Strings members;  // without `none`
    bool is_optional = false;
};

struct Atom {
    std::string word;
    bool is_absent = false;
};
using Term = std::vector<Atom>;

struct Constraint {
    std::string kind;  // "needs", "excludes", "since"
    std::vector<Term> left, right;
    SinceList since;
    std::string text;
    int line = 0;
};

struct Count {
    std::string slot;
    unsigned value = 1, times = 1, divided_by = 1, minus = 0;
    bool or_more = false;
};

struct Range {
    std::int64_t low = 0, high = 0, step = 1;
    std::vector<std::int64_t> values;
};

struct Operand {
    std::string name, kind = "value", type;  // kind: an enumerator of RuleKind
    Strings words;                           // reg, exact, wide, sink, special, symbol, constant
    std::optional<Count> count;
    std::optional<Range> range;
    std::vector<Term> with, without;
    std::vector<Operand> children;
    SinceList since;  // where it is written
    bool is_optional = false;
    [[nodiscard]] bool has(const std::string& word) const;
    [[nodiscard]] bool is_output() const { return name == "d" || name == "p" || name == "q"; }
};

struct Row {
    int line = 0;
    std::string opcode, syntax;
    std::vector<Part> parts;
    std::vector<Operand> operands;
    std::vector<Constraint> constraints;
    Strings implied;
    SinceList since;
    unsigned until_version = 0, until_sm = 0;
    bool pure = false;
    [[nodiscard]] const Part* part(const std::string& name) const;
};

struct Special {
    std::string name, type;
    bool is_vector = false;
    bool is_narrow = false;
    bool is_volatile = false;
    unsigned count = 0;
    SinceList since;
};

struct Table {
    std::vector<Row> rows;
    std::vector<Special> special;
    std::map<std::string, unsigned> effects;
    Strings repeatable;
};

Table read(std::istream& in);
void write(std::ostream& out, const Table& table);

}  // namespace ptxgraft::isa::generator
