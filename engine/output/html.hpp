// The schedule as one self-contained HTML page: opens offline, light and dark, no font, script or
// picture from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/output/steady_state.hpp"
#include "graph/lower.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Key numbers; a timeline (SVG) of two periods of the steady state by unit and by warp slot,
/// coloured by slot, iteration or sub-tile, with start, cycles and iteration of each op on hover;
/// registers and memory over the period; the op table; the pipelined loop. Without a schedule: what
/// clashes.
std::string html_page(const Problem& problem, const Solution& solution,
                      const std::vector<BandwidthSum>& bandwidth = {});

/// Text for an element or a quoted attribute: & < > " ' escaped, control characters replaced.
std::string html_escape(std::string_view text);

/// What the timelines of a page share: colours, zoom, hand-overs on or off, the legends.
std::string html_controls(const Problem& problem, const Solution& solution,
                          const SteadyState& state);
/// A timeline (html_timeline.cpp). `widest`: the I of the page's widest one, to whose scale it is
/// drawn; 0 = its own. `moved`: ops to mark, by index.
std::string html_timeline(const Problem& problem, const Solution& solution,
                          const SteadyState& state, Cycle widest = 0,
                          const std::vector<bool>& moved = {});

/// What holds I up (bounds, the critical recurrence) and what is free (html_binds.cpp).
std::string html_binds(const Problem& problem, const Solution& solution, const SteadyState& state);

/// Two schedules of one problem beside each other (html_diff.cpp): numbers, both timelines to one
/// scale with the ops that differ marked, and the table of these.
std::string html_diff(const Problem& problem, const Solution& a, const Solution& b,
                      const std::string& name_a, const std::string& name_b);

/// The beginning and the end of a page: title, style, colours; script.
std::string html_head(const Problem& problem, const Solution& solution, const std::string& title);
std::string html_foot(const std::string& made_from);

/// Steps of registers and memory over one period (html_pressure.cpp).
std::string html_pressure(const Problem& problem, const Solution& solution,
                          const SteadyState& state);

/// Sub-tile of an op by its id: "s0_exp" and "s0" are of sub-tile 0; -1 = none.
int sub_tile(const std::string& id);

/// Are there ops with cycles on more than one slot? Else the page is coloured by iteration at
/// first.
bool several_slots(const Problem& problem, const Solution& solution);

/// The page's style sheet and script (html_style.cpp).
extern const char* const kHtmlStyle;
extern const char* const kHtmlScript;

}  // namespace twill
