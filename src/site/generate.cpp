// Makes site.cuh of site.cuh.in, a host tool of the build: `generate site.cuh.in site.cuh`. The notation
// stands at the top of site.cuh.in; a line that does not follow it ends the build.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

struct Row;
using Table = std::vector<Row>;
struct Row {
    std::map<std::string, std::string> cells;
    std::map<std::string, Table> tables;
};

// A row of the table `shapes`. Of `ioi` the places are 1, 0 and 2: an asm lists what is written first.
Row shape_of(const std::string& shape) {
    Row row{{{"shape", shape}}, {{"operands", {}}, {"outs", {}}, {"ins", {}}}};
    auto next_out = 0L, next_in = static_cast<long>(std::count(shape.begin(), shape.end(), 'o'));
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const bool is_out = shape[i] == 'o';
        const long place = is_out ? next_out++ : next_in++;
        const Row operand{{{"i", std::to_string(i + 1)}, {"place", std::to_string(place)}}, {}};
        row.tables["operands"].push_back(operand);
        row.tables[is_out ? "outs" : "ins"].push_back(operand);
    }
    return row;
}

// All shapes of up to four operands, and those of five to eight whose written operands come first.
Table shapes() {
    Table table;
    for (std::size_t count = 1; count <= 4; ++count)
        for (unsigned bits = 0; bits < 1u << count; ++bits) {
            std::string shape;
            for (std::size_t i = count; i-- > 0;) shape += bits >> i & 1 ? 'o' : 'i';
            table.push_back(shape_of(shape));
        }
    for (std::size_t count = 5; count <= 8; ++count)
        for (std::size_t outs = 0; outs <= count; ++outs)
            table.push_back(shape_of(std::string(outs, 'o') + std::string(count - outs, 'i')));
    return table;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
    std::vector<std::string> words;
    for (std::size_t at = text.find_first_not_of(' '); at < text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        words.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(' ', end);
    }
    return words;
}

class Template {
  public:
    explicit Template(std::istream& in) {
        for (std::string line; std::getline(in, line);) lines_.push_back(line);
        names_.tables["shapes"] = shapes();
    }
    std::string text() {
        write(0, lines_.size(), {});
        return out_;
    }

  private:
    [[noreturn]] void stop(const std::string& message) const {
        std::cerr << "site.cuh.in:" << line_ + 1 << ": error: " << message << '\n';
        std::exit(1);
    }

    // `scope`: what the rows of the loops around the lines name.
    void write(std::size_t begin, std::size_t end, const Row& scope) {
        for (std::size_t at = begin; at < end; ++at) {
            line_ = at;
            const std::string& line = lines_[at];
            if (line.starts_with("$#")) continue;
            if (line.starts_with("$let ")) {
                const std::size_t blank = std::min(line.find(' ', 5), line.size() - 1);
                names_.cells[line.substr(5, blank - 5)] = line.substr(blank + 1);
            } else if (line.starts_with("$table ")) {
                at = read_table(at, split(line.substr(7), "  "));
            } else if (line.starts_with("$for ")) {
                const std::size_t last = end_of(at);
                for (const Row& row : rows(line.substr(5), scope)) write(at + 1, last, within(scope, row));
                at = last;
            } else {
                out_ += expand(line, scope) + '\n';
            }
        }
    }

    std::size_t end_of(std::size_t begin) const {
        int depth = 0;
        for (std::size_t at = begin; at < lines_.size(); ++at) {
            depth += lines_[at].starts_with("$for ") || lines_[at].starts_with("$table ");
            if (lines_[at] == "$end" && --depth == 0) return at;
        }
        stop("no $end");
    }

    std::size_t read_table(std::size_t begin, const std::vector<std::string>& head) {
        const std::size_t end = end_of(begin);
        for (line_ = begin + 1; line_ < end; ++line_) {
            const std::vector<std::string> cells = split(lines_[line_], "  ");
            if (cells.size() != head.size() - 1) stop("a row has a cell for each column");
            Row& row = names_.tables[head[0]].emplace_back();
            for (std::size_t i = 0; i < cells.size(); ++i) row.cells[head[i + 1]] = cells[i];
        }
        return end;
    }

    static Row within(const Row& scope, Row row) {
        row.cells.insert(scope.cells.begin(), scope.cells.end());
        return row;
    }

    Table rows(const std::string& source, const Row& scope) const {
        for (const Row* names : {&scope, &names_})
            if (const auto table = names->tables.find(source); table != names->tables.end())
                return table->second;
        const std::size_t equals = source.find(" = ");
        if (equals == std::string::npos) stop("no table '" + source + "'");
        const std::string name = source.substr(0, equals), values = source.substr(equals + 3);
        const std::size_t dots = values.find("..");
        Table table;
        if (dots == std::string::npos) {
            for (const std::string& word : split(values, " ")) table.push_back({{{name, word}}, {}});
            return table;
        }
        const int first = number(values.substr(0, dots), scope),
                  last = number(values.substr(dots + 2), scope);
        const int step = first <= last ? 1 : -1;
        for (int i = first; i != last + step; i += step) table.push_back({{{name, std::to_string(i)}}, {}});
        return table;
    }

    const std::string& cell(const std::string& name, const Row& scope) const {
        for (const Row* names : {&scope, &names_})
            if (const auto found = names->cells.find(name); found != names->cells.end()) return found->second;
        stop("nothing is called '" + name + "'");
    }

    // Names and numbers with + and - between.
    int number(const std::string& sum, const Row& scope) const {
        int value = 0;
        for (std::size_t at = 0, end = 0; at < sum.size(); at = end) {
            const int sign = sum[at] == '-' ? -1 : 1;
            at += sum[at] == '-' || sum[at] == '+';
            end = std::min(sum.find_first_of("+-", at), sum.size());
            const std::string term = sum.substr(at, end - at);
            value += sign * std::atoi((std::isdigit(term[0]) ? term : cell(term, scope)).c_str());
        }
        return value;
    }

    std::string value(const std::string& expression, const Row& scope) const {
        if (const std::size_t dot = expression.find('.'); dot != std::string::npos) {
            const int n = number(expression.substr(0, dot), scope);
            const char digit = expression[dot + 1];
            return std::to_string(digit == 'h' ? n / 100 : digit == 't' ? n / 10 % 10 : n % 10);
        }
        if (expression.find_first_of("+-") != std::string::npos)
            return std::to_string(number(expression, scope));
        return expand(cell(expression, scope), scope);
    }

    std::string list(const std::string& given, const Row& scope) const {
        const std::size_t bar = given.find('|'), second = given.find('|', bar + 1);
        if (second == std::string::npos) stop("a list is $[SOURCE|SEPARATOR|TEXT]");
        std::string text, separator;
        for (const Row& row : rows(given.substr(0, bar), scope)) {
            text += separator + expand(given.substr(second + 1), within(scope, row));
            separator = given.substr(bar + 1, second - bar - 1);
        }
        return text;
    }

    std::string expand(const std::string& line, const Row& scope) const {
        std::string text;
        std::size_t at = 0;
        for (std::size_t dollar; (dollar = line.find('$', at)) != std::string::npos;) {
            text += line.substr(at, dollar - at);
            const char open = line[dollar + 1];
            const bool is_closed = open == '{' || open == '[';
            const std::size_t begin = dollar + 1 + is_closed;
            at = is_closed
                     ? line.find(open == '{' ? '}' : ']', begin)
                     : std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz", begin), line.size());
            if (at == std::string::npos) stop("no end of a $");
            const std::string inside = line.substr(begin, at - begin);
            text += open == '[' ? list(inside, scope) : value(inside, scope);
            at += is_closed;
        }
        return text + line.substr(at);
    }

    std::vector<std::string> lines_;
    Row names_;  // what $let and $table name
    std::string out_;
    std::size_t line_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: generate site.cuh.in site.cuh\n";
        return 2;
    }
    std::ifstream in(argv[1]);
    if (!in) {
        std::cerr << argv[1] << ": error: cannot be read\n";
        return 1;
    }
    const std::string text = Template(in).text();
    std::ofstream out(argv[2]);
    out << text;
    out.close();
    return out ? 0 : 1;
}
