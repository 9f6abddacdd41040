#include "bench/lab/model.hpp"

#include <sstream>

#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {

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
      const std::string before = model.answer;
      model.answer = word == "SATISFIABLE" || word == "OPTIMUM" ? "SAT"
                     : word == "UNSATISFIABLE"                  ? "UNSAT"
                                                                : "UNKNOWN";
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
