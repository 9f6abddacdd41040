// What ranges of costs (machine files, CostRange) mean for an answer, for C++: is it the best worst
// case, what would other costs give, and which range matters most. Beside twill.hpp, which it
// includes.
//
//   const auto lower_at = [&](const twill::RangeEnds& ends) {
//     twill::LowerOptions at;
//     at.ends = ends;
//     return twill::lower(kernel, "kernel.json", machine, "machine.json", at);
//   };
//   const twill::LayoutsSolution worst = twill::solve_layouts(lower_at({}));
//   const auto ranges = twill::machine_ranges(machine, "machine.json");
//   std::cout << twill::ranges_json(twill::weigh_ranges(ranges, worst, lower_at), worst);
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "twill.hpp"

namespace twill {

/// The problems of a kernel, one a layout, with the ranges of its machine at these ends. Throws
/// InputError where such costs are no machine.
using LowerAt = std::function<std::vector<Lowered>(const RangeEnds&)>;

/// The smallest I with other costs, each from a search of its own.
struct IntervalAt {
  Status status = Status::unknown;  ///< optimal: `interval` is the smallest I; infeasible: none is
  std::optional<Cycle> interval;    ///< the best found
  Cycle lower_bound = 0;            ///< proved; 0 = nothing is
  std::string refused;  ///< why no loop has these costs: what the reader or the lowering said
};

/// The schedule that was found, with its starts and slots, on other costs.
struct RangeCheck {
  RangeEnds ends;
  std::string text;      ///< "all at their best ends"
  std::string broken;    ///< the rule that it breaks and where; "" = the judge accepts it
  bool refused = false;  ///< no loop has these costs: `broken` says why
};

struct RangeWeight {
  std::size_t range = 0;  ///< in machine_ranges()
  bool used = true;       ///< false = no number of the loop depends on it
  IntervalAt at_best;     ///< this one at its best end, all others at their worst
};

struct RangeReport {
  std::vector<CostRange> ranges;
  /// Is the I of the worst ends the best worst case, that is: does its schedule keep all rules with
  /// every cost in its range, at the same I? By the lemma of graph/relaxation.cpp, between the
  /// worst ends and the best ones. "" = proved, else what keeps the proof from holding.
  std::string not_proved;
  /// By the judge: all nominal, all at their best ends, and each range alone at its best end.
  std::vector<RangeCheck> checks;
  bool holds() const;  ///< the judge accepts it wherever there is a loop
  /// All ranges at these ends; not asked where the options ask for one interval or for the time of
  /// some iterations.
  std::optional<IntervalAt> nominal, best;
  /// All ranges, most cycles gained first, then in the machine's order; where gains are not known,
  /// those last. Empty where nothing was found with the worst ends or one interval was asked for.
  std::vector<RangeWeight> weights;
  /// False = a limit or the stop token ended it: what was not asked is unknown.
  bool complete = true;
};

/// Weighs the ranges of a machine for `worst`, what solve_layouts() gave with all of them at their
/// worst ends and the same options. `search`: false = only the judge is asked. The limits of
/// `options` are those of all searches together; goals and evidence are not pursued.
RangeReport weigh_ranges(std::vector<CostRange> ranges, const LayoutsSolution& worst,
                         const LowerAt& lower_at, const Options& options = {},
                         std::stop_token stop = {}, bool search = true);

/// Did the search for `all`, goals included, come to its own end? Not where a limit or the stop
/// token ended it: then weigh_ranges() without `search`.
bool search_ended(const LayoutsSolution& all);

/// `options` with the limits that a search of `seconds`, which gave `worst`, has left of them.
Options limits_after(const Options& options, const LayoutsSolution& worst, double seconds);

/// The report with its schedule as `twill solve --json` prints them: format "twill.ranges".
std::string ranges_json(const RangeReport& report, const LayoutsSolution& worst);

}  // namespace twill
