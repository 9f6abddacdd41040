// How to draw: format, width and colours of what goes to standard output.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/include/twill.hpp"

namespace twill::cli {

/// Columns of the terminal behind a file descriptor, `otherwise` when it is none.
int terminal_width(int descriptor, int otherwise);

/// The options of `solve` and `show` on pictures.
struct PictureFlags {
  std::string format;           ///< text, dot, html, svg or trace; "" = not asked for
  std::string colour = "auto";  ///< auto = on a terminal, unless NO_COLOR is set
  int width = 0;                ///< 0 = the terminal's, else 100
  bool ascii = false;

  void add_to(CLI::App& app);
};

/// The picture in the format asked for (default text). Colours on "auto" only when it goes
/// `to_terminal`.
std::string picture(const Problem& problem, const Solution& solution, const PictureFlags& flags,
                    const std::vector<BandwidthSum>& bandwidth, bool to_terminal);

}  // namespace twill::cli
