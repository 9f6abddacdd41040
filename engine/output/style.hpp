// What the pictures share: names made safe to print, widths, numbers and the colour of each warp
// slot.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/lower.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// `name` without control characters (a name could otherwise steer a terminal): each becomes '?'.
std::string printable(std::string_view name);

/// Code points of UTF-8 text: its width on a terminal, as far as names of ops go.
std::size_t display_width(std::string_view text);

/// Exactly `width` columns: padded on the right (or on the left), or cut with an ellipsis.
std::string fit(std::string_view text, std::size_t width, bool ascii, bool right = false);

/// `value` with `digits` behind the point, whatever the locale.
std::string decimal(double value, int digits);

/// 0.8412 -> "84.1 %".
std::string percent(double share);

/// "Ring depths of streaming loads"; where some are in flight, "Ring depths of loads".
const char* ring_title(const Problem& problem);

/// "1 cycle", "2 cycles".
std::string plural(std::int64_t count, std::string_view noun);

/// Share of I that a bandwidth sum takes. Sums are in clocks, I in cycles of cycle_unit clocks
/// each.
double bandwidth_share(const Problem& problem, Cycle ii, const BandwidthSum& sum);

/// Does the sum exceed I? Normalised costs are rounded: then up to 2 % beyond I says nothing.
bool bandwidth_exceeded(const Problem& problem, Cycle ii, const BandwidthSum& sum);

/// A colour a slot has in every picture. After the Twill paper's Figure 9: variable latency green,
/// then pink, blue, orange, yellow and others in the order of the slots that have work.
struct Colour {
  const char* hex;  ///< for light paper, with black text on it
  int terminal;     ///< index into the 256 colours of xterm
};
inline constexpr Colour kUnplaced = {"#d5d9de", 252};
std::vector<Colour> slot_colours(const Problem& problem, const Solution& solution);

/// Of the goals, those that have a line each, and how many come after them because "canonical" was
/// asked for: start and slot of every op, which the op table has.
struct GoalLines {
  std::vector<Goal> single;
  std::size_t canonical = 0, proved = 0;  ///< of the latter
};
GoalLines goal_lines(const Problem& problem, const Solution& solution);

/// The counts that solve_split() chose, as its options have them.
struct SplitLines {
  std::string launch;                                       ///< registers a thread at launch
  std::vector<std::pair<std::string, std::string>> counts;  ///< slots, "168 gross, 144 net"
};
SplitLines split_lines(const Solution& solution);

/// What the schedule was made of and by, for every picture: "Twill 1.0.0: machine hopper, layout
/// 2x4, units.SFU=2; reading machine"; "" = nobody knows.
std::string made_by_text(const Solution& solution);
/// Of the solution's options those that a picture has no other place for: "seed 0, encoding ...".
std::string options_text(const Solution& solution);

/// "stopped by the time limit", "stopped by request" (a signal, a stop token); "" = it was not.
std::string stop_text(const Solution& solution);

/// Of a solution without a schedule, what was found: "no schedule exists at any I (proved)", "no
/// schedule has I = 7 (proved); I is at least 9", or what stopped the search for one, and how far
/// it had come: "no schedule found: stopped by the time limit; I is at least 9". A limit is no
/// proof.
std::string no_schedule_text(const Solution& solution);

/// Above Solution::conflict: "what clashes" where these are constraints that do, else "why".
const char* conflict_title(const Solution& solution);

/// The amount of each unit that op v reserves, "TC" or "TC+SMEM"; "-" for none.
std::string units_of(const Problem& problem, int v);

}  // namespace twill
