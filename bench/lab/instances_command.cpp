// twill bench instances: questions as files.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/lab/lab.hpp"
#include "bench/lab/literature.hpp"
#include "bench/lab/question.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

struct InstanceFlags {
  std::string grid = "default", out;
  std::vector<std::string> from, lists, optima;
  Cycle ii = 0, length = 0;
};

/// A file, or those of a folder whose endings say what they are, by name.
void add_files(const std::string& path, std::vector<QuestionFile>& files) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_directory(path, none)) {
    files.push_back({path, {}, 0, 0});
    return;
  }
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().string(), ending = entry.path().extension().string();
    if (entry.is_regular_file() && (is_problem_file(name) || is_literature_ending(ending)))
      found.push_back(name);
  }
  if (found.empty())
    throw InputError("command line", "--from", quote(path),
                     "must have a file that ends in .problem.json, .sm, .rcp, .sch or .jss");
  std::sort(found.begin(), found.end());
  for (const std::string& name : found) files.push_back({name, {}, 0, 0});
}

/// --from, --optima, --optimum, --ii and --length together.
std::vector<QuestionFile> files_of(const InstanceFlags& flags) {
  const Cycle ii = flags.ii, length = flags.length;
  std::vector<QuestionFile> files;
  for (const std::string& path : flags.from) add_files(path, files);
  for (const std::string& path : flags.lists)
    for (const auto& [name, published] : read_published(path))
      for (QuestionFile& file : files)
        if (std::filesystem::path(file.path).stem().string() == name) file.published = published;
  for (QuestionFile& file : files) {
    if (ii == 0) break;
    if (!is_problem_file(file.path))
      throw InputError("command line", "--ii", std::to_string(ii),
                       "must be for problem files alone, not " + file.path);
    file.ii = ii;
    file.length = length;
  }
  for (const std::string& text : flags.optima) {
    const std::size_t equals = text.find('=');
    const auto named = std::find_if(files.begin(), files.end(), [&](const QuestionFile& f) {
      return std::filesystem::path(f.path).stem().string() == text.substr(0, equals);
    });
    if (equals == std::string::npos || named == files.end())
      throw InputError("command line", "--optimum", quote(text),
                       "must be NAME=L with the name of a file of --from");
    named->published = parse_published(text.substr(equals + 1), "command line", "--optimum");
  }
  return files;
}

}  // namespace

cli::Command instances_command(CLI::App& bench) {
  auto flags = std::make_shared<InstanceFlags>();
  CLI::App* app =
      bench.add_subcommand("instances", "Write the questions of a built-in grid, or of files");
  auto* grid =
      app->add_option("--grid", flags->grid, "default, quick or domain")->capture_default_str();
  auto* from =
      app->add_option("--from", flags->from,
                      "Problem (.problem.json), PSPLIB project (.sm), Patterson project "
                      "(.rcp), ProGen/max project (.sch), job shop (any other ending), or a "
                      "folder of them (job shops there end in .jss); may be repeated");
  from->excludes(grid);
  app->add_option("--optima", flags->lists,
                  "Published makespans: a CSV of FILE,MAKESPAN below a heading; may be repeated")
      ->needs(from);
  app->add_option("--optimum", flags->optima,
                  "NAME=L, the published makespan of NAME.sm and so on, or NAME=unsat; may be "
                  "repeated (default: found here)")
      ->needs(from);
  auto* ii = app->add_option("--ii", flags->ii, "The I that problem files are asked for")
                 ->check(CLI::Range(Cycle{1}, kMaxCycles))
                 ->needs(from);
  app->add_option("--length", flags->length, "The largest L that they are asked for")
      ->check(CLI::Range(Cycle{1}, kMaxCycles))
      ->needs(ii);
  app->add_option("-o,--out", flags->out, "Folder for problems and instances.jsonl")->required();
  app->footer(
      "Of a problem: at --ii and --length, answer unknown, or as of the grid's loops at the "
      "optimum\n"
      "(SAT), one cycle shorter and at one I less (UNSAT), where no bound answers that. What is\n"
      "below a best that is not proved within 30,000 conflicts has no expected answer.\n"
      "Files of the literature become loops of one stage: at I = L nothing wraps around, so the\n"
      "questions are whether there is a schedule of the optimal makespan (SAT) and of one less\n"
      "(UNSAT), or one at all where there is none. A makespan not settled within a minute is left\n"
      "out and named.");
  return {app, [flags] {
            if (flags->ii > 0 && flags->length == 0)
              throw InputError("command line", "--ii", std::to_string(flags->ii),
                               "must have --length beside it");
            const auto left_out = flags->from.empty()
                                      ? write_instances(flags->grid, flags->out, {})
                                      : write_file_questions(files_of(*flags), flags->out);
            for (const std::string& name : left_out)
              std::cerr << "left out, no answer within the limit: " << name << "\n";
            std::cout << read_instances(flags->out).size() << " instances in " << flags->out
                      << "\n";
            return static_cast<int>(cli::kDone);
          }};
}

}  // namespace twill::bench
