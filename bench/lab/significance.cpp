#include "bench/lab/significance.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace twill::bench {
namespace {

double penalised(const Outcome& outcome, double limit) {
  return outcome.solved() ? outcome.cpu_seconds : 2 * limit;
}

std::string instance_of(const std::string& question) {
  return question.substr(0, question.rfind(" #"));
}

using InstanceValues = std::map<std::string, std::vector<double>>;  // by instance

InstanceValues values_of(const Score& score, double limit) {
  InstanceValues values;
  for (const auto& [question, outcome] : score.outcomes)
    if (outcome.status != "NOTRUN")
      values[instance_of(question)].push_back(penalised(outcome, limit));
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

std::map<std::string, double> means_of(const InstanceValues& values) {
  std::map<std::string, double> means;
  for (const auto& [instance, all] : values) means[instance] = mean(all);
  return means;
}

using InstanceMeans = std::vector<std::map<std::string, double>>;  // by contestant

void compare_pairs(const InstanceMeans& means, Significance& all) {
  std::vector<double> p;
  for (std::size_t a = 0; a < means.size(); ++a)
    for (std::size_t b = a + 1; b < means.size(); ++b) {
      std::vector<double> differences;
      for (const auto& [instance, seconds] : means[a])
        if (const auto other = means[b].find(instance); other != means[b].end())
          differences.push_back(seconds - other->second);
      if (differences.empty()) continue;
      PairedTest pair{a, b, differences.size(), mean(differences), signed_rank_p(differences), 1};
      p.push_back(pair.p);
      all.pairs.push_back(pair);
    }
  const std::vector<double> adjusted = holm_adjusted(p);
  for (std::size_t i = 0; i < adjusted.size(); ++i) all.pairs[i].adjusted = adjusted[i];
}

void rank_all(const InstanceMeans& means, Significance& all) {
  all.mean_ranks.assign(means.size(), 0);
  if (means.empty()) return;
  for (const auto& [instance, seconds] : means[0]) {
    std::vector<double> row;
    for (const auto& one : means)
      if (const auto found = one.find(instance); found != one.end()) row.push_back(found->second);
    if (row.size() < means.size()) continue;
    const std::vector<double> ranks = ranks_of(row);
    for (std::size_t c = 0; c < ranks.size(); ++c) all.mean_ranks[c] += ranks[c];
    ++all.ranked_instances;
  }
  if (all.ranked_instances == 0) return;
  for (double& rank : all.mean_ranks) rank /= static_cast<double>(all.ranked_instances);
  if (means.size() > 1 && all.ranked_instances > 1)
    all.critical_difference = critical_difference(means.size(), all.ranked_instances);
}

void contributions(const Scores& scores, Significance& all) {
  all.contribution.assign(scores.encodings.size(), 0);
  if (scores.virtual_best.outcomes.empty()) return;
  for (const auto& [question, outcome] : scores.virtual_best.outcomes) {
    // Without the fastest the second takes its place.
    double best = 2 * scores.limit, second = best;
    std::size_t fastest = scores.encodings.size();
    for (std::size_t c = 0; c < scores.encodings.size(); ++c) {
      const auto found = scores.encodings[c].outcomes.find(question);
      if (found == scores.encodings[c].outcomes.end() || !found->second.solved()) continue;
      const double seconds = found->second.cpu_seconds;
      if (fastest == scores.encodings.size() || seconds < best) {
        second = fastest == scores.encodings.size() ? second : best;
        best = seconds;
        fastest = c;
      } else {
        second = std::min(second, seconds);
      }
    }
    if (fastest < scores.encodings.size()) all.contribution[fastest] += second - best;
  }
  for (double& c : all.contribution) c /= static_cast<double>(scores.virtual_best.outcomes.size());
}

// "SOLVER: key=value,key=value" in its parts; the solver counts as a key.
std::map<std::string, std::string> keys_of(const std::string& contestant) {
  std::map<std::string, std::string> keys;
  const std::size_t colon = contestant.find(": ");
  keys["solver"] = colon == std::string::npos ? "linked" : contestant.substr(0, colon);
  std::stringstream items(colon == std::string::npos ? contestant : contestant.substr(colon + 2));
  for (std::string item; std::getline(items, item, ',');)
    if (const std::size_t equals = item.find('='); equals != std::string::npos)
      keys[item.substr(0, equals)] = item.substr(equals + 1);
  return keys;
}

void choices(const Scores& scores, const InstanceMeans& means, Significance& all) {
  std::vector<std::map<std::string, std::string>> keys;
  std::set<std::string> names;
  for (const Score& s : scores.encodings) {
    keys.push_back(keys_of(s.encoding));
    for (const auto& [key, value] : keys.back()) names.insert(key);
  }
  for (const std::string& name : names) {
    // Contestants that differ in this key alone.
    std::map<std::map<std::string, std::string>, std::vector<std::size_t>> alike;
    for (std::size_t c = 0; c < keys.size(); ++c) {
      std::map<std::string, std::string> rest = keys[c];
      if (rest.erase(name) > 0) alike[rest].push_back(c);
    }
    std::map<std::string, ChoiceValue> values;
    for (const auto& [rest, members] : alike) {
      std::set<std::string> instances;
      for (const std::size_t c : members)
        for (const auto& [instance, seconds] : means[c]) instances.insert(instance);
      for (const std::string& instance : instances) {
        std::vector<std::size_t> asked;
        std::vector<double> seconds;
        for (const std::size_t c : members)
          if (const auto found = means[c].find(instance); found != means[c].end()) {
            asked.push_back(c);
            seconds.push_back(found->second);
          }
        if (asked.size() < 2) continue;
        const std::vector<double> ranks = ranks_of(seconds);
        for (std::size_t i = 0; i < asked.size(); ++i) {
          ChoiceValue& value = values[keys[asked[i]].at(name)];
          value.mean_rank += ranks[i];
          value.mean_values += static_cast<double>(asked.size());
          ++value.comparisons;
        }
      }
    }
    std::vector<ChoiceValue> of_key;
    for (auto& [text, value] : values) {
      value.key = name;
      value.value = text;
      value.mean_rank /= static_cast<double>(value.comparisons);
      value.mean_values /= static_cast<double>(value.comparisons);
      of_key.push_back(value);
    }
    std::stable_sort(of_key.begin(), of_key.end(), [](const ChoiceValue& a, const ChoiceValue& b) {
      return a.mean_rank < b.mean_rank;
    });
    all.choices.insert(all.choices.end(), of_key.begin(), of_key.end());
  }
}

}  // namespace

Significance significance_of(const Scores& scores, std::uint64_t seed) {
  Significance all;
  InstanceMeans means;
  for (const Score& score : scores.encodings) {
    const InstanceValues values = values_of(score, scores.limit);
    std::vector<std::vector<double>> groups;
    for (const auto& [instance, group] : values) groups.push_back(group);
    all.par2.push_back(bootstrap_mean(groups, seed));
    means.push_back(means_of(values));
  }
  compare_pairs(means, all);
  rank_all(means, all);
  contributions(scores, all);
  choices(scores, means, all);
  return all;
}

}  // namespace twill::bench
