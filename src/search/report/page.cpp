// The page: sections and a style sheet.

#include <fmt/format.h>

#include "base/try.hpp"
#include "ptxgraft/search_report.hpp"
#include "ptxgraft/version.h"
#include "search/report/html.hpp"
#include "search/report/sections.hpp"

namespace ptxgraft::search {
namespace {

// Blue, vermilion and green of Okabe and Ito, which are told apart without seeing red or green; lines differ
// in their dashes as well. Without < and &, as XML has them otherwise.
constexpr std::string_view style = R"css(
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1a1c20; --soft: #565b66; --rule: #d9dce2; --shade: #f4f5f8; --mark: #ffe9a8; --gain: #0b6b46;
  --evolve: #0067a8; --climb: #b34a00; --random: #5d6470;
  --q0: #08306b; --q1: #08519c; --q2: #2a73b8; --q3: #5a9bd0; --q4: #93c0e2; --q5: #bfd8ee; --q6: #deebf7;
  --on-dark: #ffffff; --on-light: #12233a; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14161a; --ink: #e7e9ee; --soft: #a3a9b6; --rule: #343943; --shade: #1d2026; --mark: #5c4a12; --gain: #5fd3a0;
  --evolve: #5ab4ee; --climb: #f0914d; --random: #a8afbc;
  --q0: #deebf7; --q1: #b5d4ee; --q2: #82b6e0; --q3: #5596cc; --q4: #3673ab; --q5: #235383; --q6: #17385a;
  --on-dark: #0d1a2b; --on-light: #ffffff; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
main { padding-top: 28px; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .7rem; border-top: 1px solid var(--rule); }
p { margin: .4rem 0; }
.lead, footer, figcaption, caption, .by, .idle { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; margin: 1rem 0 0; }
.tiles div { background: var(--shade); border-radius: 6px; padding: 10px 12px; min-width: 0; }
.tiles dt { color: var(--soft); font-size: .82rem; overflow-wrap: anywhere; }
.tiles dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
figure { margin: .6rem 0; }
figcaption { font-size: .88rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 10px 28px; align-items: start; }
.pair > svg:only-child { max-width: 640px; }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--evolve); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .4rem 0 .8rem; }
caption { text-align: left; font-size: .88rem; padding-bottom: 4px; }
th, td { text-align: left; vertical-align: top; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule); font-weight: 400; }
thead th { font-weight: 600; font-size: .82rem; vertical-align: bottom; border-bottom: 1.5px solid var(--soft); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead .number { white-space: normal; }
td:last-child, th:last-child { padding-right: 4px; }
pre, code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .84rem; }
pre { margin: 2px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
td pre { min-width: 15rem; }
code { overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; border-radius: 3px; padding: 0 2px; }
.bar { display: block; height: 5px; margin-top: 3px; background: var(--shade); border-radius: 3px; min-width: 70px; }
.bar span { display: block; height: 100%; background: var(--evolve); border-radius: 3px; }
.gain { color: var(--gain); font-weight: 600; }
.by { font-size: .85rem; }
.tunables { font-size: .85rem; margin: 0; }
.steps { padding-left: 1.7rem; margin: .6rem 0; }
.steps li { margin: 0 0 .55rem; }
.steps li::marker { color: var(--soft); font-size: .85rem; }
.steps pre { background: var(--shade); border-radius: 6px; padding: 6px 10px; }
.idle { font-size: .88rem; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
details pre { background: var(--shade); border-radius: 6px; padding: 8px 10px; }
footer { margin-top: 2.5rem; padding-top: .7rem; padding-bottom: 2rem; font-size: .85rem; }
svg { display: block; max-width: none; }
svg.plot { width: 100%; height: auto; }
svg.map { height: auto; }
svg text { fill: var(--ink); font-size: 13px; font-variant-numeric: tabular-nums; }
svg .name { fill: var(--soft); }
svg .middle { text-anchor: middle; }
svg .end { text-anchor: end; }
.grid { stroke: var(--rule); stroke-width: 1; }
.axis, .tick { stroke: var(--soft); stroke-width: 1; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.line.one { stroke-width: 1; opacity: .38; }
.line.one.own { stroke-width: 1.4; opacity: .9; }
.line.median { stroke-width: 2.8; }
.band { stroke: none; opacity: .17; }
.line.s-evolve { stroke: var(--evolve); } .band.s-evolve { fill: var(--evolve); }
.line.s-climb { stroke: var(--climb); stroke-dasharray: 8 3; } .band.s-climb { fill: var(--climb); }
.line.s-random { stroke: var(--random); stroke-dasharray: 2.5 3; } .band.s-random { fill: var(--random); }
.line.one.s-climb, .line.one.s-random { stroke-dasharray: none; }
.key { list-style: none; padding: 0; margin: .2rem 0; }
.key svg { display: inline-block; width: 36px; height: 12px; vertical-align: middle; margin-right: 6px; }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 4px; }
.swatch { width: 20px; height: 13px; }
.dot { fill: var(--evolve); opacity: .55; } .dot.base { fill: var(--random); } .dot.chose { opacity: .18; }
.range { stroke: var(--ink); stroke-width: 2; }
.empty { fill: none; stroke: var(--rule); stroke-width: 1; }
.q0 { fill: var(--q0); background: var(--q0); } .q1 { fill: var(--q1); background: var(--q1); } .q2 { fill: var(--q2); background: var(--q2); }
.q3 { fill: var(--q3); background: var(--q3); } .q4 { fill: var(--q4); background: var(--q4); } .q5 { fill: var(--q5); background: var(--q5); }
.q6 { fill: var(--q6); background: var(--q6); }
svg .on0, svg .on1, svg .on2 { fill: var(--on-dark); } svg .on3, svg .on4, svg .on5, svg .on6 { fill: var(--on-light); }
@media (max-width: 560px) { main, footer { padding-left: 14px; padding-right: 14px; } svg.plot text { font-size: 17px; } h1 { font-size: 1.4rem; } }
@media print { body { font-size: 10.5pt; } .scroll { overflow: visible; } figure, .steps li, tr { break-inside: avoid; } h2 { break-after: avoid; } }
)css";

}  // namespace

Expected<std::string> report_html(const Archive& archive, std::span<const Archive> beside,
                                  const ReportOptions& options) {
    const Facts facts = TRY(facts_of(archive, beside, options.title));
    std::string html = fmt::format(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
        escaped(facts.title), style);
    html += lead(facts);
    for (const auto section : {front_section, course_section, cells_section, times_section, ancestors_section,
                               gates_section, operators_section, task_section})
        html += section(facts);
    return html + fmt::format(
                      "</main>\n<footer>Made by ptxgraft {} from the archive alone. Costs are what the "
                      "gates gave; {}.</footer>\n</body>\n</html>\n",
                      PTXGRAFT_VERSION_STRING,
                      facts.times.sessions.empty() ? "nothing here is a time on a GPU"
                                                   : "times are of the GPUs that are named");
}

}  // namespace ptxgraft::search
