// Lines and heat maps as SVG.

#include "search/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/report/html.hpp"

namespace ptxgraft::search {
namespace {

constexpr double width = 520, height = 330;
constexpr double right = 18, top = 14, bottom = 52;

// From a value to a place between two others.
struct Scale {
    double low, high;  // values
    double from, to;   // places
    bool is_log;
    [[nodiscard]] double operator()(double value) const {
        const auto at = [&](double v) { return is_log ? std::log(v) : v; };
        return from + (to - from) * (at(value) - at(low)) / (at(high) - at(low));
    }
};

std::vector<double> decades(double low, double high) {
    std::vector<double> made;
    const double first = std::ceil(std::log10(low) - 1e-9), last = std::floor(std::log10(high) + 1e-9);
    const double step = std::max(1.0, std::ceil((last - first) / 6));
    for (double power = first; power <= last; power += step) made.push_back(std::pow(10.0, power));
    if (made.size() >= 2) return made;
    made.clear();
    for (double power = first - 1; power <= last; ++power)  // of less than two decades 1, 2, 5
        for (const double digit : {1.0, 2.0, 5.0})
            if (const double tick = digit * std::pow(10.0, power); tick >= low && tick <= high)
                made.push_back(tick);
    return made;
}

std::vector<double> ticks(const Scale& scale) {
    if (scale.is_log) return decades(scale.low, scale.high);
    const double rough = (scale.high - scale.low) / 5, power = std::pow(10.0, std::floor(std::log10(rough)));
    const double digit = rough / power;
    const double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
    std::vector<double> made;
    for (double at = std::ceil(scale.low / step); at * step <= scale.high * (1 + 1e-12); ++at)
        made.push_back(at * step);
    return made;
}

// The lowest and highest of all numbers that are drawn.
struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void add(double value) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    [[nodiscard]] bool is_empty() const { return !(low <= high); }
};

Scale scale_of(Range range, double from, double to, bool is_log) {
    if (range.is_empty()) range = {1, 10};
    if (is_log) {
        const double room = std::max(1.15, std::pow(range.high / range.low, 0.05));
        return {range.low / room, range.high * room, from, to, true};
    }
    const double room = range.high > range.low ? 0.06 * (range.high - range.low) : 1;
    const double low = range.low >= 0 ? std::max(0.0, range.low - room) : range.low - room;
    return {low, range.high + room, from, to, false};
}

std::string head(std::string_view id, const std::string& title, const std::string& description, double w,
                 double h, std::string_view style) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" class=\"{5}\" viewBox=\"0 0 {3:g} {4:g}\" "
        "aria-labelledby=\"{0}-title {0}-about\">\n<title id=\"{0}-title\">{1}</title>\n"
        "<desc id=\"{0}-about\">{2}</desc>\n",
        id, escaped(title), escaped(description), w, h, style);
}

std::string text(double x, double y, std::string_view style, std::string_view shown) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                       escaped(shown));
}

// The end of a path of steps to each point.
std::string steps(const std::vector<Point>& points, const Scale& x, const Scale& y) {
    std::string path;
    for (const Point& point : points) {
        if (!std::isfinite(point.y)) continue;
        path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x(point.x), y(point.y))
                             : fmt::format("H{:.1f}V{:.1f}", x(point.x), y(point.y));
    }
    return path;
}

std::string area(const Band& band, const Scale& x, const Scale& y) {
    std::string path;
    for (std::size_t k = 0; k + 1 < band.x.size(); ++k) {
        if (!std::isfinite(band.low[k]) || !std::isfinite(band.high[k])) continue;
        path += fmt::format("M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}Z", x(band.x[k]), y(band.low[k]),
                            x(band.x[k + 1]), y(band.high[k]), x(band.x[k]));
    }
    return path;
}

// Characters, of which UTF-8 begins each with a byte that is none of those from 80 to BF.
std::size_t length(std::string_view shown) {
    return static_cast<std::size_t>(
        std::ranges::count_if(shown, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Room for the name of the axis and the longest number beside it, also in the letters of narrow windows.
double left_of(const Scale& y) {
    std::size_t most = 1;
    for (const double tick : ticks(y)) most = std::max(most, length(number(tick)));
    return 36 + 9.6 * static_cast<double>(most);
}

std::string grid(const Plot& plot, const Scale& x, const Scale& y) {
    std::string svg;
    const double left = x.from;
    for (const double tick : ticks(y)) {
        svg +=
            fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y(tick), width - right);
        svg += text(left - 8, y(tick) + 4.5, "end", number(tick));
    }
    for (const double tick : ticks(x)) {
        svg += fmt::format("<path class=\"tick\" d=\"M{:.1f} {:.1f}v5\"/>\n", x(tick), height - bottom);
        svg += text(x(tick), height - bottom + 20, "middle", number(tick));
    }
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, height - bottom,
                       width - right);
    svg += text((left + width - right) / 2, height - 8, "middle name", plot.x_name);
    svg +=
        fmt::format("<text transform=\"translate(16 {:.1f}) rotate(-90)\" class=\"middle name\">{}</text>\n",
                    (top + height - bottom) / 2, escaped(plot.y_name));
    return svg;
}

// The step of colour of a value; logarithmic where values are of different magnitudes.
class Heat {
  public:
    explicit Heat(const HeatMap& map) {
        for (const auto& row : map.values)
            for (const auto& value : row)
                if (value) range_.add(*value);
        is_log_ = range_.low > 0 && range_.high > 50 * range_.low;
    }
    [[nodiscard]] int operator()(double value) const {
        if (!std::isfinite(value)) return heat_steps - 1;
        if (range_.is_empty() || range_.high == range_.low) return 0;
        const Scale scale{range_.low, range_.high, 0, heat_steps, is_log_};
        return std::clamp(static_cast<int>(scale(value)), 0, heat_steps - 1);
    }
    [[nodiscard]] const Range& range() const { return range_; }

  private:
    Range range_;
    bool is_log_ = false;
};

}  // namespace

std::string svg_of(const Plot& plot) {
    Range all_x, all_y;
    for (const Line& line : plot.lines)
        for (const Point& point : line.points) {
            if (std::isfinite(point.y)) all_x.add(point.x);
            all_y.add(point.y);
        }
    for (const Band& band : plot.bands)
        for (std::size_t k = 0; k < band.x.size(); ++k)
            for (const double value : {band.low[k], band.high[k]}) all_y.add(value);
    // where all happens late, a logarithm would show nothing but what comes before
    const bool is_log_x = all_x.is_empty() || all_x.low * 30 < all_x.high;
    all_x.add(is_log_x ? 1 : 0);
    all_x.add(10);
    const Scale y = scale_of(all_y, height - bottom, top, plot.is_log_y);
    const Scale x{all_x.low, all_x.high, left_of(y), width - right, is_log_x};
    std::string svg = head(plot.id, plot.title, plot.description, width, height, "plot") + grid(plot, x, y);
    for (const Band& band : plot.bands)
        svg += fmt::format("<path class=\"band {}\" d=\"{}\"/>\n", band.style, area(band, x, y));
    for (const Line& line : plot.lines)
        svg += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", line.style, steps(line.points, x, y));
    return svg + "</svg>\n";
}

std::string svg_of(const HeatMap& map) {
    constexpr double cell_height = 30, line = 22;
    const double row_names = map.y_name.empty() ? 2 : 150;
    const double cell = std::clamp(900.0 / static_cast<double>(map.columns.size()), 38.0, 64.0);
    const double w = row_names +
                     std::max(cell * static_cast<double>(map.columns.size()),
                              9.0 * static_cast<double>(length(map.x_name))) +
                     8;
    const double above = map.y_name.empty() ? 0 : line;
    const double below = cell_height * static_cast<double>(map.rows.size()) + above;
    const Heat heat(map);
    std::string svg = head(map.id, map.title, map.description, w, below + 2 * line + 6, "map");
    // No smaller than can be read, and no larger than the words around it.
    svg.replace(svg.find("viewBox"), 0,
                fmt::format("style=\"width:{0:g}px;min-width:{1:g}px\" ", w, 0.8 * w));
    svg += text(0, line - 8, "name", map.y_name);
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
        const double y = below - cell_height * static_cast<double>(r + 1);
        svg += text(row_names - 8, y + 20, "end", map.rows[r]);
        for (std::size_t c = 0; c < map.columns.size(); ++c) {
            const double x = row_names + cell * static_cast<double>(c);
            const auto& value = map.values[r][c];
            svg += fmt::format(
                "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                value ? fmt::format("q{}", heat(*value)) : "empty", x + 1, y + 1, cell - 2, cell_height - 2);
            if (value)
                svg += text(x + cell / 2, y + 20, fmt::format("middle on{}", heat(*value)), number(*value));
        }
    }
    for (std::size_t c = 0; c < map.columns.size(); ++c)
        svg += text(row_names + cell * (static_cast<double>(c) + 0.5), below + 18, "middle", map.columns[c]);
    svg += text(row_names, below + 2 * line, "name", map.x_name);
    return svg + "</svg>\n";
}

std::string legend_of(const HeatMap& map) {
    const Heat heat(map);
    if (heat.range().is_empty()) return {};
    std::string html = fmt::format("<p class=\"legend\">lowest {} ", number(heat.range().low));
    for (int k = 0; k < heat_steps; ++k) html += fmt::format("<span class=\"swatch q{}\"></span>", k);
    return html +
           fmt::format(" highest {}; empty cells have only an outline</p>\n", number(heat.range().high));
}

}  // namespace ptxgraft::search
