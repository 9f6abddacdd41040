#include "bench/lab/question.hpp"

#include <ctime>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "bench/lab/rows.hpp"
#include "encoders/straight_line/straight_line.hpp"
#include "encoders/time_indexed/modulo.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/problem_io.hpp"

namespace twill::bench {
namespace {

// A formula in memory that is given up when the budget is spent.
class BudgetedCnf : public ClauseSink {
 public:
  BudgetedCnf(MemoryCnf& cnf, Budget& budget) : cnf_(cnf), budget_(budget) {}
  int new_variable() override { return cnf_.new_variable(); }
  void add_clause(std::span<const int> literals) override {
    if (cnf_.clauses() % 1024 == 0 && budget_.spent()) throw Budget::Spent{};
    cnf_.add_clause(literals);
  }

 private:
  MemoryCnf& cnf_;
  Budget& budget_;
};

constexpr std::string_view kInstanceKeys[] = {"name", "family", "problem", "problem_sha256",
                                              "ii",   "length", "expected"};

const char* const kTables[] = {"rows", "stages", "issue", "slots"};

}  // namespace

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Schedule VariableMap::decode(const Problem& problem, const std::function<bool(Lit)>& value) const {
  const auto holds = [&](Lit l) { return l.is_constant() ? l.is_true() : value(l); };
  const auto count = [&](const std::vector<Lit>& literals) {
    return static_cast<Cycle>(std::count_if(literals.begin(), literals.end(), holds));
  };
  const auto first = [&](const std::vector<Lit>& literals) {
    return std::find_if(literals.begin(), literals.end(), holds) - literals.begin();
  };
  Schedule schedule;
  schedule.initiation_interval = ii;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    schedule.start.push_back(issue.empty() ? ii * count(stages[v]) + count(rows[v])
                                           : static_cast<Cycle>(first(issue[v])));
    schedule.warp.push_back(static_cast<int>(first(slots[v])));
  }
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

std::vector<std::string> VariableMap::lines() const {
  std::vector<std::string> out = {"ii " + std::to_string(ii)};
  const std::vector<std::vector<Lit>>* const tables[] = {&rows, &stages, &issue, &slots};
  for (std::size_t k = 0; k < std::size(tables); ++k)
    for (std::size_t v = 0; v < tables[k]->size(); ++v) {
      std::string line = std::string(kTables[k]) + " " + std::to_string(v);
      for (const Lit l : (*tables[k])[v])
        line += l.is_true() ? " T" : l.is_false() ? " F" : " " + std::to_string(l.dimacs());
      out.push_back(std::move(line));
    }
  return out;
}

VariableMap VariableMap::parse(const std::vector<std::string>& lines, const std::string& file) {
  VariableMap map;
  std::vector<std::vector<Lit>>* const tables[] = {&map.rows, &map.stages, &map.issue, &map.slots};
  for (const std::string& line : lines) {
    const auto refuse = [&](const std::string& rule) {
      throw InputError(file, "c map", quote(line), rule);
    };
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    const auto number = [&](long long low, long long high) {
      long long n = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
      if (error != std::errc() || end != word.data() + word.size() || n < low || n > high)
        refuse("must have numbers from " + std::to_string(low) + " to " + std::to_string(high));
      return n;
    };
    if (!(words >> word)) refuse("must have a number");
    if (key == "ii") {
      map.ii = number(1, kMaxCycles);
      continue;
    }
    const auto known = std::find(std::begin(kTables), std::end(kTables), key);
    if (known == std::end(kTables)) refuse("must begin with ii, rows, stages, issue or slots");
    auto& table = *tables[known - std::begin(kTables)];
    if (number(0, kMaxOps) != static_cast<long long>(table.size()))
      refuse("must follow the op before it");
    table.emplace_back();
    while (words >> word) {
      if (word == "T" || word == "F") {
        table.back().push_back(Lit::constant(word == "T"));
        continue;
      }
      const long long literal = number(-2'000'000'000, 2'000'000'000);
      if (literal == 0) refuse("must not have the literal 0");
      table.back().push_back(Lit::of(static_cast<int>(literal)));
    }
  }
  const std::size_t ops = map.slots.size();
  const bool whole = map.ii > 0 && ops > 0 &&
                     (map.issue.size() == ops ||
                      (map.issue.empty() && map.rows.size() == ops && map.stages.size() == ops));
  if (!whole) throw InputError(file, "c map", "a part of it", "must have every op");
  return map;
}

EncodedQuestion encode_question(const Problem& problem, Cycle ii, Cycle length,
                                const EncodingChoice& choice, Budget& budget) {
  const double begin = cpu_seconds();
  EncodedQuestion question;
  question.map.ii = ii;
  BudgetedCnf sink(question.cnf, budget);
  Formula f(sink);
  if (choice.form == Form::modulo) {
    ModuloRequest request;
    request.ii = ii;
    request.stages = length / ii + 1;  // an op of no cycles may start at `length` itself
    request.length_low = request.length_high = length;
    request.detail = 30;  // every copy of every value
    ModuloEncoding encoding = encode_modulo(f, problem, request, choice);
    question.sizes = std::move(encoding.sizes);
    question.map.rows = std::move(encoding.rows);
    question.map.stages = std::move(encoding.stage_literals);
    question.map.slots = std::move(encoding.slot);
  } else {
    StraightLineRequest request;
    request.ii = ii;
    request.length = length;
    request.literal = choice.form == Form::straight_line_literal;
    StraightLineEncoding encoding = encode_straight_line(f, problem, request, choice);
    question.sizes = std::move(encoding.sizes);
    question.map.issue = std::move(encoding.issue);
    question.map.slots = std::move(encoding.slot);
  }
  question.literals = f.literals();
  question.cpu_seconds = cpu_seconds() - begin;
  return question;
}

std::vector<Instance> read_instances(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string file =
      fs::is_directory(path) ? (fs::path(path) / "instances.jsonl").string() : path;
  return parse_instances(read_file(file), file);
}

std::vector<Instance> parse_instances(const std::string& all, const std::string& file) {
  namespace fs = std::filesystem;
  std::vector<Instance> instances;
  std::istringstream lines(all);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    const std::string place = "line " + std::to_string(number);
    const Row json = json_line(line, file, number);
    const auto text = [&](const char* key) -> std::string {
      if (!json.is_object() || !json.contains(key) || !json[key].is_string())
        throw InputError(file, place, quote(line), std::string("must have the text ") + key);
      return json[key];
    };
    const auto cycles = [&](const char* key) -> Cycle {
      if (!json.contains(key) || !json[key].is_number_integer() || json[key] < 1 ||
          json[key] > kMaxCycles)
        throw InputError(file, place, quote(line),
                         std::string("must have ") + key + ", " + range_rule(1, kMaxCycles));
      return json[key];
    };
    Instance i;
    i.name = text("name");
    for (const auto& [key, value] : json.items())
      if (std::find(std::begin(kInstanceKeys), std::end(kInstanceKeys), key) ==
          std::end(kInstanceKeys))
        throw InputError(file, place, quote(key),
                         "must be a key of bench/schema/instance.schema.json");
    if (i.name.empty() || i.name.size() > 200 || i.name.find('/') != std::string::npos ||
        i.name.find('\0') != std::string::npos)
      throw InputError(file, place, quote(i.name),
                       "name must be that of a file without its folder, at most 200 bytes");
    i.family = text("family");
    i.file = (fs::path(file).parent_path() / text("problem")).string();
    i.sha256 = text("problem_sha256");
    i.expected = text("expected");
    i.ii = cycles("ii");
    i.length = cycles("length");
    if (i.expected != "SAT" && i.expected != "UNSAT" && !i.expected.empty())
      throw InputError(file, place, quote(i.expected), "must be SAT, UNSAT or nothing");
    instances.push_back(std::move(i));
  }
  if (instances.empty()) throw InputError(file, "", "nothing", "must have an instance a line");
  return instances;
}

}  // namespace twill::bench
