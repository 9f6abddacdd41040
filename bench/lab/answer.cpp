#include "bench/lab/answer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "bench/lab/model.hpp"
#include "bench/lab/question.hpp"
#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/io/json_text.hpp"
#include "graph/verify.hpp"

namespace twill::bench {
namespace {

using Values = std::map<std::string, bool, std::less<>>;

std::vector<std::string> map_lines(const NamedText& question) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(question.text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const char first = line.front();
    if (first != 'c' && first != '*' && first != '\\') break;  // comments come first
    if (line.compare(1, 5, " map ") == 0) lines.push_back(line.substr(6));
  }
  return lines;
}

/// The schedule of literals: those that are not in `truth` count as false and are said.
void decode(const NamedText& question, const std::map<int, bool>& truth, const Problem& problem,
            Answer& answer) {
  const VariableMap map = VariableMap::parse(map_lines(question), std::string(question.file));
  if (map.slots.size() != problem.ops.size())
    throw InputError(std::string(question.file), "map", std::to_string(map.slots.size()) + " ops",
                     "must have the " + std::to_string(problem.ops.size()) + " of the problem");
  const auto note = [&](const std::vector<std::vector<Lit>>& table, const char* name) {
    for (std::size_t v = 0; v < table.size(); ++v)
      for (const Lit l : table[v])
        if (!l.is_constant() && !truth.contains(std::abs(l.dimacs())))
          answer.missing.push_back("variable " + std::to_string(std::abs(l.dimacs())) + " of the " +
                                   name + " of " + quote(problem.ops[v].id));
  };
  note(map.rows, "row");
  note(map.stages, "stage");
  note(map.issue, "start");
  note(map.slots, "slot");
  answer.schedule = map.decode(problem, [&](Lit l) {
    const auto found = truth.find(std::abs(l.dimacs()));
    return (found != truth.end() && found->second) == (l.dimacs() > 0);
  });
}

/// "sat", then values as (NAME true) or (define-fun NAME () Bool true).
Answer smtlib_answer(const NamedText& question, const NamedText& output, const Problem& problem) {
  Answer answer;
  std::string text(output.text);
  for (char& c : text)
    if (c == '(' || c == ')' || c == '|') c = ' ';
  std::istringstream words(text);
  std::string word, name;
  Values values;
  while (words >> word) {
    if (answer.verdict.empty()) {
      if (word == "sat") answer.verdict = "SAT";
      if (word == "unsat") answer.verdict = "UNSAT";
      if (word == "unknown" || word == "timeout") answer.verdict = "UNKNOWN";
      if (answer.verdict.empty()) return answer;
    }
    if (word.starts_with("op_") || word.starts_with("opw_")) name = word;
    if (word != "true" && word != "false") continue;
    if (!name.empty()) values[name] = word == "true";
    name.clear();
  }
  if (answer.verdict != "SAT") return answer;
  Schedule schedule;
  const std::size_t at = question.text.find(": I = ");
  if (at != std::string_view::npos)
    std::from_chars(question.text.data() + at + 6, question.text.data() + question.text.size(),
                    schedule.initiation_interval);
  if (schedule.initiation_interval < 1)
    throw InputError(std::string(question.file), "first line", "a question",
                     "must be one of `bench export`, with \": I = \"");
  const auto first = [&](const std::string& prefix, const std::string& what) -> Cycle {
    for (auto v = values.lower_bound(prefix); v != values.end() && v->first.starts_with(prefix);
         ++v) {
      Cycle index = -1;
      const std::string rest = v->first.substr(prefix.size());
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      if (v->second && error == std::errc() && end == rest.data() + rest.size()) return index;
    }
    answer.missing.push_back("a true " + prefix + "* (" + what + ")");
    return 0;
  };
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const std::string index = std::to_string(v) + "_", id = quote(problem.ops[v].id);
    schedule.start.push_back(first("op_" + index + "0_", "the start of " + id));
    schedule.warp.push_back(static_cast<int>(first("opw_" + index, "the slot of " + id)));
  }
  schedule.length = schedule_length(problem, schedule.start);
  answer.schedule = std::move(schedule);
  return answer;
}

/// A solution file of CBC, HiGHS or SCIP: words that tell the status, then "NAME value" somewhere
/// in a line. What is not named is 0.
Answer linear_answer(const NamedText& question, const NamedText& output, const Problem& problem) {
  Answer answer;
  std::istringstream in{std::string(output.text)};
  std::map<int, bool> truth;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto says = [&](const char* part) { return line.find(part) != std::string::npos; };
    if (answer.verdict.empty()) {
      if (says("nfeasible"))
        answer.verdict = "UNSAT";
      else if (says("ptimal"))
        answer.verdict = "SAT";
      else if (says("topped") || says("imit") || says("unknown"))
        answer.verdict = "UNKNOWN";
    }
    // Of a program without a solution CBC writes fractions.
    std::istringstream words(answer.verdict == "SAT" ? line : "");
    for (std::string word; words >> word;) {
      int variable = 0;
      if (word.size() < 2 || word[0] != 'x') continue;
      const auto [end, error] =
          std::from_chars(word.data() + 1, word.data() + word.size(), variable);
      double value = 0;
      if (error != std::errc() || end != word.data() + word.size() || !(words >> value)) continue;
      if (std::abs(value) > 1e-5 && std::abs(value - 1) > 1e-5)
        throw InputError(std::string(output.file), "line " + std::to_string(number), quote(line),
                         "must give a 0-1 variable the value 0 or 1");
      truth[variable] = value > 0.5;
    }
  }
  if (answer.verdict != "SAT") return answer;
  if (map_lines(question).empty())
    throw InputError(std::string(question.file), "map", "none",
                     "has units and dependences only, so that its model has no slots: export the "
                     "question as ilp");
  decode(question, truth, problem, answer);
  answer.missing.clear();  // solution files leave zeros out
  return answer;
}

/// "sat" and a schedule, of a solver that read the problem itself.
Answer own_answer(const NamedText& output, const Problem& problem) {
  Answer answer;
  const std::string file(output.file);
  const std::size_t end = std::min(output.text.find('\n'), output.text.size());
  std::string_view word = output.text.substr(0, end);
  while (!word.empty() && (word.back() == ' ' || word.back() == '\r')) word.remove_suffix(1);
  if (word == "sat") answer.verdict = "SAT";
  if (word == "unsat") answer.verdict = "UNSAT";
  if (word == "unknown") answer.verdict = "UNKNOWN";
  if (answer.verdict != "SAT") return answer;
  const JsonDocument document =
      JsonDocument::parse(output.text.substr(std::min(end + 1, output.text.size())), file);
  const auto refuse = [&](const std::string& place, const std::string& rule) {
    throw InputError(file, place, "the answer", rule);
  };
  const auto integer = [&](const nlohmann::ordered_json& object, const char* key,
                           const std::string& place) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer() ||
        object[key] < 0 || object[key] > kMaxCycles)
      refuse(place, std::string("must have ") + key + ", " + range_rule(0, kMaxCycles));
    return object[key].get<Cycle>();
  };
  const auto& json = document.json();
  Schedule schedule;
  schedule.initiation_interval = integer(json, "initiation_interval", "");
  if (!json.contains("ops") || !json["ops"].is_array() || json["ops"].size() != problem.ops.size())
    refuse("/ops", "must have all ops of the problem, in its order");
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const std::string place = "/ops/" + std::to_string(v);
    const auto& op = json["ops"][v];
    schedule.start.push_back(integer(op, "start", place));
    if (!op.contains("id") || op["id"] != problem.ops[v].id)
      refuse(place, "must be of the op " + quote(problem.ops[v].id));
    const auto slot = std::find_if(
        problem.warps.begin(), problem.warps.end(),
        [&](const WarpSlot& w) { return op.contains("warp") && op["warp"] == w.name; });
    if (slot == problem.warps.end()) refuse(place, "must have a warp of the problem");
    schedule.warp.push_back(static_cast<int>(slot - problem.warps.begin()));
  }
  schedule.length = schedule_length(problem, schedule.start);
  answer.schedule = std::move(schedule);
  return answer;
}

}  // namespace

Answer read_answer(const NamedText& question, const NamedText& output, const Problem& problem) {
  if (question.text.find("\n(set-logic ") != std::string_view::npos)
    return smtlib_answer(question, output, problem);
  if (question.text.starts_with("{")) return own_answer(output, problem);
  if (question.text.starts_with("\\")) return linear_answer(question, output, problem);
  const Model model = parse_model(std::string(output.text), std::string(output.file));
  Answer answer;
  answer.verdict = model.answer;
  if (answer.verdict != "SAT") return answer;
  std::map<int, bool> truth;
  for (const int l : model.literals) truth[std::abs(l)] = l > 0;
  decode(question, truth, problem, answer);
  return answer;
}

std::string answer_lines(const std::string& out) {
  std::string kept;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("s ") || line.starts_with("v ") || line == "v") kept += line + "\n";
  return kept;
}

std::string refusal_of(const Problem& problem, const Schedule& schedule, Cycle length) {
  if (const auto violation = verify(problem, schedule))
    return violation->rule + ": " + violation->text;
  if (schedule.length > length)
    return "length " + std::to_string(schedule.length) + " > " + std::to_string(length);
  return "";
}

}  // namespace twill::bench
