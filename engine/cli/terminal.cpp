#include "engine/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/output/dot.hpp"
#include "engine/output/html.hpp"
#include "engine/output/svg.hpp"
#include "engine/output/text.hpp"
#include "engine/output/trace.hpp"

namespace twill::cli {

int terminal_width(int descriptor, int otherwise) {
  struct winsize size = {};
  if (::isatty(descriptor) != 1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return otherwise;
  return size.ws_col > 0 ? static_cast<int>(size.ws_col) : otherwise;
}

void PictureFlags::add_to(CLI::App& app) {
  app.add_option("--format", format, "text, dot, html, svg or trace")
      ->check(CLI::IsMember({"text", "dot", "html", "svg", "trace"}));
  app.add_option("--color", colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_option("--width", width,
                 "Columns of the text picture (default: the terminal's, else 100)")
      ->check(CLI::Range(kLeastWidth, 1000));
  app.add_flag("--ascii", ascii, "No characters beyond ASCII in the text picture");
}

std::string picture(const Problem& problem, const Solution& solution, const PictureFlags& flags,
                    const std::vector<BandwidthSum>& bandwidth, bool to_terminal) {
  if (flags.format == "dot") return dot_graph(problem, solution);
  if (flags.format == "html") return html_page(problem, solution, bandwidth);
  if (flags.format == "svg") return svg_picture(problem, solution);
  if (flags.format == "trace") return trace_events(problem, solution);
  TextOptions options;
  const bool terminal = to_terminal && ::isatty(STDOUT_FILENO) == 1;
  options.width =
      flags.width > 0 ? flags.width : (terminal ? terminal_width(STDOUT_FILENO, 100) : 100);
  options.colour = flags.colour == "always" ||
                   (flags.colour == "auto" && terminal && std::getenv("NO_COLOR") == nullptr);
  options.ascii = flags.ascii;
  options.bandwidth = bandwidth;
  return text_picture(problem, solution, options);
}

}  // namespace twill::cli
