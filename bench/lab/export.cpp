// twill bench export: the questions for other solvers, with names, provenance and expected answers.
// twill bench import: a model that another solver found, as a verified schedule.
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "bench/lab/grid.hpp"
#include "bench/lab/lab.hpp"
#include "bench/lab/linear_program.hpp"
#include "bench/lab/model.hpp"
#include "bench/lab/question.hpp"
#include "bench/lab/scramble.hpp"
#include "bench/smtlib.hpp"
#include "encoders/time_indexed/modulo.hpp"
#include "engine/include/twill.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

// Clauses and sums in the format of the pseudo-Boolean competitions (Roussel and Manquinho, "Input/
// Output Format and Solver Requirements for the Competitions of Pseudo-Boolean Solvers", 2012).
class OpbSink : public ClauseSink {
 public:
  int new_variable() override { return ++variables_; }
  void add_clause(std::span<const int> literals) override {
    for (const int l : literals) body_ += "+1 " + name(l) + " ";
    end(literals.empty() ? "+1 x1 >= 2" : ">= 1");
  }
  bool add_sum(std::span<const int> literals, std::span<const std::int64_t> weights,
               std::int64_t bound) override {
    for (std::size_t i = 0; i < literals.size(); ++i)
      body_ += "-" + std::to_string(weights[i]) + " " + name(literals[i]) + " ";
    end(">= " + std::to_string(-bound));
    return true;
  }
  std::string text(const std::vector<std::string>& comments) const {
    std::string out = "* #variable= " + std::to_string(variables_) +
                      " #constraint= " + std::to_string(constraints_) + "\n";
    for (const std::string& line : comments) out += "* " + line + "\n";
    return out + body_;
  }

 private:
  static std::string name(int literal) {
    return (literal < 0 ? "~x" : "x") + std::to_string(std::abs(literal));
  }
  void end(const std::string& relation) {
    body_ += relation + " ;\n";
    ++constraints_;
  }
  int variables_ = 0;
  std::int64_t constraints_ = 0;
  std::string body_;
};

struct ExportFlags {
  std::string instances, encodings = "auto", format = "cnf", out, parts;
  Scramble scramble;
  bool literal = false;
};

std::vector<std::string> provenance(const Instance& i, const std::string& encoding,
                                    const Scramble& scramble) {
  return {std::string("twill ") + version() + ", question " + one_line(i.name),
          "problem " + fs::path(i.file).filename().string() + " sha256 " + i.sha256,
          "is there a schedule with I = " + std::to_string(i.ii) +
              " and L <= " + std::to_string(i.length) + "? expected " +
              (i.expected.empty() ? "unknown" : i.expected),
          "encoding " + encoding,
          "scramble " + std::to_string(scramble.seed) + " " + to_string(scramble)};
}

void add_map(std::vector<std::string>& comments, const VariableMap& map) {
  for (const std::string& line : map.lines()) comments.push_back("map " + line);
}

std::string cnf_text(const Instance& i, const Problem& problem, const std::string& encoding,
                     const Scramble& scramble) {
  Budget budget({}, 0, 0, 0);
  EncodedQuestion question =
      encode_question(problem, i.ii, i.length, parse_encoding(encoding), budget);
  const ScrambledCnf formula = scrambled(question.cnf, scramble);
  for (auto* table :
       {&question.map.rows, &question.map.stages, &question.map.issue, &question.map.slots})
    for (auto& row : *table)
      for (Lit& l : row)
        if (!l.is_constant()) l = Lit::of(formula.of(l.dimacs()));
  std::vector<std::string> comments = provenance(i, encoding, scramble);
  add_map(comments, question.map);
  std::ostringstream text;
  formula.cnf.write_dimacs(text, comments);
  return text.str();
}

std::string opb_text(const Instance& i, const Problem& problem, const std::string& encoding) {
  OpbSink sink;
  Formula f(sink);
  const EncodingChoice choice = parse_encoding(encoding);
  if (choice.form != Form::modulo)
    throw InputError("command line", "--encodings", quote(encoding), "must be of form=modulo");
  ModuloRequest request;
  request.ii = i.ii;
  request.stages = i.length / i.ii + 1;
  request.length_low = request.length_high = i.length;
  request.detail = 30;
  ModuloEncoding encoded = encode_modulo(f, problem, request, choice);
  VariableMap map;
  map.ii = i.ii;
  map.rows = std::move(encoded.rows);
  map.stages = std::move(encoded.stage_literals);
  map.slots = std::move(encoded.slot);
  std::vector<std::string> comments = provenance(i, encoding, {});
  add_map(comments, map);
  return sink.text(comments);
}

/// One formula for all lengths up to the question's, asked from the longest down (iCNF: Wieringa,
/// Niemenmaa and Heljanko, PDMC 2009).
std::string icnf_text(const Instance& i, const Problem& problem, const std::string& encoding) {
  MemoryCnf cnf;
  Formula f(cnf);
  const EncodingChoice choice = parse_encoding(encoding);
  if (choice.form != Form::modulo)
    throw InputError("command line", "--encodings", quote(encoding), "must be of form=modulo");
  const auto earliest = earliest_starts(problem, i.ii, forced_delays(problem));
  ModuloRequest request;
  request.ii = i.ii;
  request.stages = i.length / i.ii + 1;
  request.length_high = i.length;
  request.length_low = i.length;
  if (earliest) request.length_low = std::min(i.length, schedule_length(problem, *earliest));
  request.detail = 30;
  const ModuloEncoding encoded = encode_modulo(f, problem, request, choice);
  std::ostringstream text;
  for (const std::string& line : provenance(i, encoding, {})) text << "c " << line << "\n";
  text << "c assumptions: L <= " << i.length << ", " << i.length - 1 << ", ... , "
       << request.length_low << "\np inccnf\n";
  for (std::size_t c = 0; c < cnf.clauses(); ++c) {
    for (const int l : cnf.clause(c)) text << l << " ";
    text << "0\n";
  }
  for (Cycle l = i.length; l >= request.length_low; --l) {
    const Lit bound = encoded.at_most_length(l);
    text << "a ";
    if (!bound.is_constant()) text << bound.dimacs() << " ";
    text << "0\n";
  }
  return text.str();
}

int run_export(ExportFlags flags) {
  if (!flags.parts.empty()) flags.scramble = scramble_parts(flags.parts, flags.scramble);
  const std::vector<Instance> instances = read_instances(flags.instances);
  const bool encoded = flags.format == "cnf" || flags.format == "icnf" || flags.format == "opb";
  const std::vector<std::string> encodings =
      encoded ? expand_encodings(flags.encodings) : std::vector<std::string>{""};
  const std::string ending = flags.format == "smtlib" ? "smt2" : flags.format;
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
      if (flags.format == "cnf") text = cnf_text(i, problem, encodings[e], flags.scramble);
      if (flags.format == "icnf") text = icnf_text(i, problem, encodings[e]);
      if (flags.format == "opb") text = opb_text(i, problem, encodings[e]);
      if (flags.format == "smtlib") text = smtlib(problem, i.ii, i.length, flags.literal);
      if (flags.format == "lp") text = modulo_linear_program(problem, i.ii);
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

struct ImportFlags {
  std::string model, formula, problem, out;
};

int run_import(const ImportFlags& flags) {
  const Problem problem = read_problem(flags.problem);
  std::vector<std::string> lines;
  std::istringstream formula(read_file(flags.formula));
  for (std::string line; std::getline(formula, line);) {
    if (line.empty()) continue;
    if (line.starts_with("c map ") || line.starts_with("* map "))
      lines.push_back(line.substr(6));
    else if (line.front() != 'c' && line.front() != '*')
      break;  // comments come first
  }
  const VariableMap map = VariableMap::parse(lines, flags.formula);
  if (map.slots.size() != problem.ops.size())
    throw InputError(flags.formula, "c map", std::to_string(map.slots.size()) + " ops",
                     "must have the " + std::to_string(problem.ops.size()) + " of the problem");
  const Model model = parse_model(read_file(flags.model), flags.model);
  if (model.answer != "SAT") {
    std::cout << (model.answer == "UNSAT" ? "no schedule, says the solver\n"
                                          : "no answer of the solver\n");
    return model.answer == "UNSAT" ? cli::kNo : cli::kStopped;
  }
  std::vector<bool> truth;
  for (const int l : model.literals) {
    const auto variable = static_cast<std::size_t>(std::abs(l));
    if (truth.size() <= variable) truth.resize(variable + 1);
    truth[variable] = l > 0;
  }
  Solution solution;
  solution.schedule = map.decode(problem, [&](Lit l) {
    const auto variable = static_cast<std::size_t>(std::abs(l.dimacs()));
    const bool value = variable < truth.size() && truth[variable];
    return value == (l.dimacs() > 0);
  });
  if (const auto violation = verify(problem, *solution.schedule)) {
    std::cout << "refused, " << violation->rule << ": " << violation->text << "\n";
    return cli::kNo;
  }
  solution.problem = problem.name;
  solution.problem_sha256 = sha256(read_file(flags.problem));
  solution.status = Status::feasible;
  solution.stages = std::to_string(stage_count(*solution.schedule));
  solution.max_stages = stage_count(*solution.schedule);
  solution.engine = "import";
  if (!flags.out.empty()) write_file(flags.out, schedule_text(problem, solution));
  std::cout << "verified: I = " << solution.schedule->initiation_interval
            << ", L = " << solution.schedule->length << "\n";
  return cli::kDone;
}

}  // namespace

cli::Command export_command(CLI::App& bench) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* app = bench.add_subcommand("export", "Write the questions for other solvers");
  app->add_option("--instances", flags->instances, "Folder with instances.jsonl")->required();
  app->add_option("--format", flags->format,
                  "cnf, icnf (all lengths, by assumption), opb (sums as they are), smtlib (the "
                  "paper's form), lp (units and dependences only, smallest L)")
      ->check(CLI::IsMember({"cnf", "icnf", "opb", "smtlib", "lp"}))
      ->capture_default_str();
  app->add_option("--encodings", flags->encodings, "As for `bench run` (cnf, icnf, opb)")
      ->capture_default_str();
  app->add_option("--scramble", flags->scramble.seed, "Seed of the scrambler (cnf)");
  app->add_option("--scramble-parts", flags->parts,
                  "Any of variables,polarities,clauses,literals, or none");
  app->add_flag("--literal", flags->literal, "smtlib as the paper prints it, which is not exact");
  app->add_option("-o,--out", flags->out,
                  "Folder for the files, instances.txt (a name a line, as Mallob takes it) and "
                  "expected.jsonl")
      ->required();
  app->footer(
      "Comments hold the provenance and, as `c map` lines, the variables of rows, stages and\n"
      "slots; `bench import` reads them.");
  return {app, [flags] { return run_export(*flags); }};
}

cli::Command import_command(CLI::App& bench) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* app = bench.add_subcommand("import", "A solver's model as a verified schedule");
  app->add_option("MODEL", flags->model, "Output of the solver: s and v lines")->required();
  app->add_option("--formula", flags->formula, "The exported CNF or OPB file")->required();
  app->add_option("--problem", flags->problem, "The problem file")->required();
  app->add_option("-o,--out", flags->out, "Write the schedule here");
  app->footer("Exit codes: 0 verified, 1 refused or UNSAT, 3 the solver has no answer.");
  return {app, [flags] { return run_import(*flags); }};
}

}  // namespace twill::bench
