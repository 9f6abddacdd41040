#include "bench/lab/model.hpp"

#include <sstream>
#include <utility>

#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {

namespace {

/// The answer that the word behind "s" stands for; empty: it is no word of the SAT and
/// pseudo-Boolean competitions' output rules.
std::string status(const std::string& word) {
  if (word == "SATISFIABLE" || word == "OPTIMUM") return "SAT";
  if (word == "UNSATISFIABLE") return "UNSAT";
  if (word == "UNKNOWN" || word == "INDETERMINATE" || word == "UNSUPPORTED") return "UNKNOWN";
  return "";
}

}  // namespace

Model parse_model(const std::string& text, const std::string& file) {
  Model model;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word == "c" || word == "o") continue;
    if (word == "s") {
      words >> word;
      const std::string said = status(word);
      if (said.empty())
        throw InputError(file, "line " + std::to_string(number), quote(line),
                         "must say SATISFIABLE, OPTIMUM FOUND, UNSATISFIABLE, UNKNOWN or "
                         "UNSUPPORTED");
      const std::string before = std::exchange(model.answer, said);
      if (!before.empty() && before != model.answer)
        throw InputError(file, "line " + std::to_string(number), quote(line),
                         "must not contradict the answer before it");
      continue;
    }
    if (word == "SAT" || word == "UNSAT" || word == "INDET") {  // as MiniSat's file says it
      model.answer = word == "INDET" ? "UNKNOWN" : word;
      continue;
    }
    if (word == "v" && !(words >> word)) continue;
    do {
      std::string digits = word;  // "5", "-5", "x5", "-x5", "~x5"
      const bool negative = digits.front() == '-' || digits.front() == '~';
      if (negative) digits.erase(0, 1);
      if (!digits.empty() && digits.front() == 'x') digits.erase(0, 1);
      const bool numeric = !digits.empty() && digits.size() < 10 &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
      if (!numeric)
        throw InputError(file, "line " + std::to_string(number), quote(word),
                         "must be a literal of a model");
      const int variable = std::stoi(digits);
      if (variable != 0) model.literals.push_back(negative ? -variable : variable);
    } while (words >> word);
  }
  if (model.answer.empty() && !model.literals.empty()) model.answer = "SAT";
  return model;
}

}  // namespace twill::bench
