// twill bench export: the questions for other solvers, with names, provenance and expected answers.
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "bench/lab/grid.hpp"
#include "bench/lab/lab.hpp"
#include "bench/lab/linear_program.hpp"
#include "bench/lab/question_text.hpp"
#include "bench/lab/scramble.hpp"
#include "bench/smtlib.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

struct ExportFlags {
  std::string instances, encodings = "auto", format = "cnf", out, parts;
  Scramble scramble;
  bool literal = false, values = false;
};

int run_export(ExportFlags flags) {
  if (!flags.parts.empty()) flags.scramble = scramble_parts(flags.parts, flags.scramble);
  const std::vector<Instance> instances = read_instances(flags.instances);
  const bool encoded = flags.format == "cnf" || flags.format == "icnf" || flags.format == "opb" ||
                       flags.format == "ilp";
  const std::vector<std::string> encodings =
      encoded ? expand_encodings(flags.encodings) : std::vector<std::string>{""};
  const bool own = flags.format == "icnf" || flags.format == "lp";
  const std::string ending = own ? flags.format : ending_of(question_format(flags.format));
  fs::create_directories(flags.out);
  std::string names, expected;
  for (const Instance& i : instances) {
    const std::string bytes = read_file(i.file);
    if (sha256(bytes) != i.sha256)
      throw InputError(i.file, "file", sha256(bytes), "must have the SHA-256 " + i.sha256);
    const Problem problem = parse_problem(bytes, i.file);
    for (std::size_t e = 0; e < encodings.size(); ++e) {
      const std::string file =
          i.name + (encodings.size() > 1 ? "-" + std::to_string(e) : "") + "." + ending;
      std::string text;
      Budget budget({}, 0, 0, 0);
      if (flags.format == "icnf")
        text = incremental_text(i, problem, encodings[e]);
      else if (flags.format == "lp")
        text = modulo_linear_program(problem, i.ii);
      else if (flags.format == "smtlib")
        // The printed form may answer the question differently.
        text = annotated_smtlib(smtlib(problem, i.ii, i.length, flags.literal),
                                flags.literal ? "" : i.expected, flags.values);
      else
        text = question_text(question_format(flags.format), i, problem, encodings[e],
                             flags.scramble, budget)
                   .text;
      write_file((fs::path(flags.out) / file).string(), text);
      names += file + "\n";
      // The linear program leaves out warps and minimises L, so the question's answer is not its.
      const std::string answer = flags.format == "lp" || flags.literal ? "" : i.expected;
      const nlohmann::ordered_json line = {
          {"file", file},       {"sha256", sha256(text)},     {"instance", i.name},
          {"problem", i.file},  {"problem_sha256", i.sha256}, {"ii", i.ii},
          {"length", i.length}, {"encoding", encodings[e]},   {"expected", answer}};
      expected += line.dump() + "\n";
    }
  }
  write_file((fs::path(flags.out) / "instances.txt").string(), names);
  write_file((fs::path(flags.out) / "expected.jsonl").string(), expected);
  return cli::kDone;
}

}  // namespace

cli::Command export_command(CLI::App& bench) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* app = bench.add_subcommand("export", "Write the questions for other solvers");
  app->add_option("--instances", flags->instances, "Folder with instances.jsonl")->required();
  app->add_option(
         "--format", flags->format,
         "cnf, icnf (all lengths, by assumption), opb (sums as they are), ilp (the same as "
         "a 0-1 program in LP format), smtlib (the paper's form), lp (units and "
         "dependences only, smallest L)")
      ->check(CLI::IsMember({"cnf", "icnf", "opb", "ilp", "smtlib", "lp"}))
      ->capture_default_str();
  app->add_option("--encodings", flags->encodings, "As for `bench run` (cnf, icnf, opb, ilp)")
      ->capture_default_str();
  app->add_option("--scramble", flags->scramble.seed, "Seed of the scrambler (cnf)");
  app->add_option("--scramble-parts", flags->parts,
                  "Any of variables,polarities,clauses,literals, or none");
  app->add_flag("--literal", flags->literal, "smtlib as the paper prints it, which is not exact");
  app->add_flag("--values", flags->values, "smtlib asks for the values that import reads");
  app->add_option("-o,--out", flags->out,
                  "Folder for the files, instances.txt (a name a line, as Mallob takes it) and "
                  "expected.jsonl")
      ->required();
  app->footer(
      "Comments hold the provenance and, as `c map` lines, the variables of rows, stages and\n"
      "slots; `bench import` reads them. SMT-LIB carries :status where the answer is known.");
  return {app, [flags] { return run_export(*flags); }};
}

}  // namespace twill::bench
