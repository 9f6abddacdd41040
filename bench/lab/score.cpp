#include "bench/lab/score.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace twill::bench {
namespace {

std::string question_of(const Row& row) {
  return text_of(row, "instance") + " #" +
         std::to_string(static_cast<long long>(number_of(row, "scramble")));
}

void count(Score& score, double limit) {
  double sum = 0;
  std::size_t asked = 0;
  for (const auto& [question, outcome] : score.outcomes) {
    if (outcome.status == "NOTRUN") {
      ++score.not_run;
      continue;
    }
    ++asked;
    score.sat += outcome.status == "SAT";
    score.unsat += outcome.status == "UNSAT";
    sum += outcome.solved() ? outcome.cpu_seconds : 2 * limit;
  }
  score.par2 = asked == 0 ? 0 : sum / static_cast<double>(asked);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::optional<double> spread_of(const Score& score) {
  std::map<std::string, std::vector<double>> seconds;
  for (const auto& [question, outcome] : score.outcomes)
    if (outcome.solved())
      seconds[question.substr(0, question.rfind(" #"))].push_back(outcome.cpu_seconds);
  std::vector<double> spreads;
  for (const auto& [instance, all] : seconds) {
    if (all.size() < 2 || median(all) <= 0) continue;
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    spreads.push_back((*high - *low) / median(all));
  }
  if (spreads.empty()) return std::nullopt;
  return median(spreads);
}

void sizes(std::vector<Score>& scores) {
  std::map<std::string, std::size_t> built;
  for (const Score& s : scores)
    for (const auto& [question, outcome] : s.outcomes) built[question] += outcome.clauses > 0;
  for (Score& s : scores) {
    double vars = 0, clauses = 0, n = 0;
    for (const auto& [question, outcome] : s.outcomes) {
      if (built[question] < scores.size()) continue;
      vars += std::log(std::max(1.0, outcome.vars));
      clauses += std::log(outcome.clauses);
      ++n;
    }
    if (n == 0) continue;
    s.vars = std::exp(vars / n);
    s.clauses = std::exp(clauses / n);
  }
}

}  // namespace

std::vector<double> solved_seconds(const Score& score) {
  std::vector<double> seconds;
  for (const auto& [question, outcome] : score.outcomes)
    if (outcome.solved()) seconds.push_back(outcome.cpu_seconds);
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

Scores scores_of(const std::vector<Row>& rows) {
  Scores all;
  std::map<std::string, Score> by_encoding;
  std::set<std::string> questions;
  for (const Row& row : rows) {
    const std::string encoding = contestant(row), question = question_of(row);
    all.limit = std::max(all.limit, number_of(row, "limit_cpu_s"));
    questions.insert(question);
    Score& score = by_encoding[encoding];
    score.encoding = encoding;
    score.outcomes[question] = {text_of(row, "status"), number_of(row, "cpu_s"),
                                number_of(row, "vars"), number_of(row, "clauses"),
                                number_of(row, "conflicts")};
  }
  all.questions = questions.size();
  all.virtual_best.encoding = "virtual best";
  std::map<std::string, std::size_t> solvers;
  for (const auto& [encoding, score] : by_encoding)
    for (const auto& [question, outcome] : score.outcomes) {
      if (outcome.status == "NOTRUN") continue;
      solvers[question] += outcome.solved();
      const auto [best, fresh] = all.virtual_best.outcomes.emplace(question, outcome);
      if (!fresh && outcome.solved() &&
          (!best->second.solved() || outcome.cpu_seconds < best->second.cpu_seconds))
        best->second = outcome;
    }
  count(all.virtual_best, all.limit);
  for (auto& [encoding, score] : by_encoding) {
    count(score, all.limit);
    for (const auto& [question, outcome] : score.outcomes)
      score.unique += outcome.solved() && solvers[question] == 1;
    score.spread = spread_of(score);
    all.encodings.push_back(std::move(score));
  }
  sizes(all.encodings);
  std::sort(all.encodings.begin(), all.encodings.end(), [](const Score& a, const Score& b) {
    if (a.solved() != b.solved()) return a.solved() > b.solved();
    if (a.par2 != b.par2) return a.par2 < b.par2;
    return a.encoding < b.encoding;
  });
  return all;
}

}  // namespace twill::bench
