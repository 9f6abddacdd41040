// twill bench instances: questions as files.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/lab/lab.hpp"
#include "bench/lab/question.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

/// --from and --optimum together.
std::vector<LiteratureFile> files_of(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& optima) {
  std::vector<LiteratureFile> files;
  for (const std::string& path : paths) files.push_back({path, 0});
  for (const std::string& text : optima) {
    const std::size_t equals = text.find('=');
    const auto named = std::find_if(files.begin(), files.end(), [&](const LiteratureFile& f) {
      return std::filesystem::path(f.path).stem().string() == text.substr(0, equals);
    });
    if (equals == std::string::npos || named == files.end())
      throw InputError("command line", "--optimum", quote(text),
                       "must be NAME=L with the name of a file of --from");
    const char *const begin = text.data() + equals + 1, *const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(begin, last, named->optimum);
    if (error != std::errc() || end != last || named->optimum < 1 || named->optimum > kMaxCycles)
      throw InputError("command line", "--optimum", quote(text),
                       "must be a number, " + range_rule(1, kMaxCycles));
  }
  return files;
}

}  // namespace

cli::Command instances_command(CLI::App& bench) {
  struct Flags {
    std::string grid = "default", out;
    std::vector<std::string> from, optima;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app = bench.add_subcommand(
      "instances", "Write the questions of a built-in grid, or of files of the literature");
  auto* grid = app->add_option("--grid", flags->grid, "default or quick")->capture_default_str();
  auto* from = app->add_option("--from", flags->from,
                               "PSPLIB project (.sm), Patterson project (.rcp) or job shop (any "
                               "other ending); may be repeated");
  from->excludes(grid);
  app->add_option("--optimum", flags->optima,
                  "NAME=L, the published makespan of NAME.sm and so on; may be repeated (default: "
                  "found here)")
      ->needs(from);
  app->add_option("-o,--out", flags->out, "Folder for problems and instances.jsonl")->required();
  app->footer(
      "Files of the literature become loops of one stage: at I = L nothing wraps around, so the\n"
      "questions are whether there is a schedule of the optimal makespan (SAT) and of one less\n"
      "(UNSAT). What the order engine does not settle within a minute is left out and named.");
  return {app, [flags] {
            const auto left_out =
                flags->from.empty()
                    ? write_instances(flags->grid, flags->out, {})
                    : write_literature(files_of(flags->from, flags->optima), flags->out);
            for (const std::string& name : left_out)
              std::cerr << "left out, not settled within a minute: " << name << "\n";
            std::cout << read_instances(flags->out).size() << " instances in " << flags->out
                      << "\n";
            return static_cast<int>(cli::kDone);
          }};
}

}  // namespace twill::bench
