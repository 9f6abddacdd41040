// twill encodings: the values of --encoding, where each comes from and what is claimed of it.

#include <algorithm>
#include <iostream>
#include <memory>

#include "encoders/choose.hpp"
#include "engine/cli/cli.hpp"
#include "engine/include/twill_catalogue.hpp"
#include "engine/output/style.hpp"

namespace twill::cli {
namespace {

struct EncodingsFlags {
  bool quiet = false;
  bool json = false;
};

std::string as_text() {
  std::size_t name_width = 0;
  std::size_t source_width = 0;
  const std::vector<EncodingEntry> entries = encoding_entries();
  for (const EncodingEntry& row : entries) {
    name_width = std::max(name_width, display_width(row.key + "=" + row.value));
    source_width = std::max(source_width, display_width(row.source));
  }
  std::string text;
  for (const EncodingEntry& row : entries) {
    std::string line = fit(row.key + "=" + row.value, name_width, true) + "  " +
                       fit(row.source, source_width, true) + "  " + row.claim;
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + "default: " + encoding_text({}) + "\n";
}

}  // namespace

Command encodings_command(CLI::App& program) {
  auto flags = std::make_shared<EncodingsFlags>();
  CLI::App* app = program.add_subcommand("encodings", "List the encodings that --encoding takes");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "List as JSON");
  app->footer(
      "What is not named, or named auto, is chosen by predicted size:\n"
      "  start  rowstage: it grows with I + stages, not with I * stages\n"
      "  amo    pairwise up to 5 literals, ladder above\n"
      "  card   sequential counter or k-limited totalizer, whichever has fewer clauses\n"
      "  pb     BDD while it has at most n * bound nodes, else the sequential weighted counter\n"
      "In form=straight-line the starts are the form's own.");
  return {app, [flags] {
            std::cout << (flags->json ? encodings_json() : as_text());
            return kDone;
          }};
}

}  // namespace twill::cli
