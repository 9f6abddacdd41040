// The schedule as text for a terminal or a log.
#pragma once

#include <string>
#include <vector>

#include "engine/output/steady_state.hpp"
#include "graph/lower.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// The op table needs this many columns.
inline constexpr int kLeastWidth = 80;

struct TextOptions {
  int width = 100;                      ///< columns; at least 60 are used
  bool colour = false;                  ///< ANSI colours by warp slot
  bool ascii = false;                   ///< no character beyond ASCII, names excepted
  std::vector<BandwidthSum> bandwidth;  ///< printed beside I, with a warning where one exceeds it
};

/// Header (status, I and L with their bounds, stages), timeline of the steady state by unit and by
/// slot, busy shares, peak registers and memory, op table and the pipelined loop (the Twill paper's
/// Figures 1d to 1f). Without a schedule: the header and what clashes.
std::string text_picture(const Problem& problem, const Solution& solution,
                         const TextOptions& options = {});

/// One period of I cycles, a line per lane, `options.width` columns (text_timeline.cpp).
std::string text_timeline(const Problem& problem, const Solution& solution,
                          const SteadyState& state, const TextOptions& options);

/// Prologue, steady state and epilogue, a column per warp slot where they fit the width, else the
/// slot named in each line (text_pipeline.cpp).
std::string text_pipeline(const Problem& problem, const Solution& solution,
                          const SteadyState& state, const TextOptions& options);

}  // namespace twill
