#pragma once
/// @file search_task.hpp
/// Tasks: searches as files, for `ptxgraft search` and for whoever wants to keep one. JSON:
///
/// @code
/// {
///   "signature": "in f32 x, out f32 y",
///   "set": ["add.f32", "fma.rn.f32 weight 2", "cvt.rni.f32.f32"],
///   "inputs": {"x": {"from": -127, "to": 0, "count": 4096}},
///   "reference": "y = exp2(x)",
///   "measure": "relative", "bound": 1e-4,
///   "objective": "instructions"
/// }
/// @endcode
///
/// | key | what it says |
/// |---|---|
/// | `name` | of the site: `f` where it is missing |
/// | `signature` | the operands (site.hpp) |
/// | `set` | the name of a shipped set, or the lines of one (set.hpp) |
/// | `genes` | the most instructions of a program: 32 |
/// | `seeds` | programs where the search begins (stack.hpp) |
/// | `constants` | numbers that constants often are |
/// | `tunables` | names with lists of whole numbers |
/// | `inputs` | for each `in` and `mod` operand how its points are made: below |
/// | `reference` | what is right: below |
/// | `measure` | `absolute`, `relative`, `ulp` or `bits` (Measure) |
/// | `bound` | the largest error of a right program; 0 where it is missing |
/// | `screen` | points that are tried first: 64 |
/// | `perturb` | false: approximate instructions are exact; true where it is missing (ColumnsOptions) |
/// | `objective` | `instructions` or `error` |
/// | `axes` | `instructions` and `error`, each with its edges; instructions 1 to 32 by default |
/// | `options` | members of Options by their names; `operators` are weights by name |
/// | `budget` | `candidates`, `seconds`, `cpu_seconds` |
/// | `target` | `cost`, and `instructions` and `error` |
///
/// The reference is an expression (expression.hpp) over the operands, computed in f64 where they are floats;
/// or `{"program": TEXT}`, a stack program of the set `full`; or `{"values": [[…], …]}`, a list for each
/// `mod` or `out` register.
///
/// All points are those of the first count that is said, or all lists are of one length:
///
/// | input | its values |
/// |---|---|
/// | `{"from": A, "to": B, "count": N}` | N numbers from A to B with equal distances |
/// | `{"uniform": [A, B], "seed": S, "count": N}` | random between A and B; of integers both included |
/// | `{"words": S, "count": N}` | of integers: edges of the type, then random ones of all magnitudes |
/// | `[1, 2, …]` | these |

#include <string>
#include <string_view>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

struct Task {
    Space space;
    Cases cases;
    ColumnsOptions columns;
    Options options;  ///< its `task` is the text
    Budget budget;
    std::optional<Target> target;
    std::string reference = {};  ///< where it is an expression: its text
};

/// Reads a task. Errors: Errc::task_invalid with its place, and those of sets, signatures, programs and
/// expressions, with places in their texts.
[[nodiscard]] PTXGRAFT_API Expected<Task> parse_task(std::string_view text);

}  // namespace ptxgraft::search
