#pragma once
/// @file plot.hpp
/// Figures as inline SVG: lines over two axes, and grids of coloured cells. Colours are classes, which the
/// page's style sheet knows for light and for dark.

#include <optional>
#include <string>
#include <vector>

namespace ptxgraft::search {

struct Point {
    double x = 0, y = 0;
};
struct Line {
    std::vector<Point> points = {};  ///< steps: a value holds until the next one
    std::string style = {};          ///< classes
};
/// What lies between two lines of steps; where the upper one is infinite nothing is drawn.
struct Band {
    std::vector<double> x = {}, low = {}, high = {};
    std::string style = {};
};
struct Plot {
    std::string id;                  ///< letters
    std::string title, description;  ///< texts, for who does not see it
    std::string x_name, y_name;      ///< texts
    bool is_log_y = false;           ///< of x the figure decides by itself
    std::vector<Band> bands = {};
    std::vector<Line> lines = {};
};
[[nodiscard]] std::string svg_of(const Plot& plot);

struct HeatMap {
    std::string id, title, description, x_name, y_name;
    std::vector<std::string> columns, rows;                  ///< their names, texts; rows from below
    std::vector<std::vector<std::optional<double>>> values;  ///< a list for each row
};
[[nodiscard]] std::string svg_of(const HeatMap& map);

/// Colours of heat maps, the best first: classes q0 to q6.
inline constexpr int heat_steps = 7;
/// What stands for which values, as HTML.
[[nodiscard]] std::string legend_of(const HeatMap& map);

}  // namespace ptxgraft::search
