#include "bench/lab/report_csv.hpp"

#include <map>
#include <set>

#include "engine/output/style.hpp"

namespace twill::bench {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string scores_csv(const Scores& scores, const Significance& comparison) {
  std::string csv =
      "encoding,solved,sat,unsat,unique,par2_s,spread,vars_geomean,clauses_geomean,not_run,"
      "par2_low_s,par2_high_s,alone_s\n";
  const auto add = [&](const Score& s, const std::string& standing) {
    csv += csv_field(s.encoding) + "," + std::to_string(s.solved()) + "," + std::to_string(s.sat) +
           "," + std::to_string(s.unsat) + "," + std::to_string(s.unique) + "," +
           decimal(s.par2, 4) + "," + (s.spread ? decimal(*s.spread, 4) : "") + "," +
           decimal(s.vars, 1) + "," + decimal(s.clauses, 1) + "," + std::to_string(s.not_run) +
           "," + standing + "\n";
  };
  add(scores.virtual_best, ",,");
  for (std::size_t c = 0; c < scores.encodings.size(); ++c)
    add(scores.encodings[c], decimal(comparison.par2[c].low, 4) + "," +
                                 decimal(comparison.par2[c].high, 4) + "," +
                                 decimal(comparison.contribution[c], 4));
  return csv;
}

std::string cactus_csv(const Scores& scores) {
  std::string csv = "encoding,cpu_s,solved\n";
  const auto add = [&](const Score& s) {
    std::size_t solved = 0;
    for (const double seconds : solved_seconds(s))
      csv +=
          csv_field(s.encoding) + "," + decimal(seconds, 4) + "," + std::to_string(++solved) + "\n";
  };
  add(scores.virtual_best);
  for (const Score& s : scores.encodings) add(s);
  return csv;
}

std::string pairs_csv(const Scores& scores, const Significance& comparison) {
  std::string csv = "first,second,instances,mean_difference_s,p,p_holm\n";
  for (const PairedTest& pair : comparison.pairs)
    csv += csv_field(scores.encodings[pair.first].encoding) + "," +
           csv_field(scores.encodings[pair.second].encoding) + "," +
           std::to_string(pair.instances) + "," + decimal(pair.difference, 4) + "," +
           decimal(pair.p, 6) + "," + decimal(pair.adjusted, 6) + "\n";
  return csv;
}

std::string ranks_csv(const Scores& scores, const Significance& comparison) {
  std::string csv = "encoding,instances,mean_rank,critical_difference\n";
  for (std::size_t c = 0; c < comparison.mean_ranks.size(); ++c)
    csv += csv_field(scores.encodings[c].encoding) + "," +
           std::to_string(comparison.ranked_instances) + "," +
           decimal(comparison.mean_ranks[c], 4) + "," + decimal(comparison.critical_difference, 4) +
           "\n";
  return csv;
}

std::string choices_csv(const Significance& comparison) {
  std::string csv = "key,value,mean_rank,mean_values,comparisons\n";
  for (const ChoiceValue& choice : comparison.choices)
    csv += csv_field(choice.key) + "," + csv_field(choice.value) + "," +
           decimal(choice.mean_rank, 4) + "," + decimal(choice.mean_values, 4) + "," +
           std::to_string(choice.comparisons) + "\n";
  return csv;
}

std::string rows_csv(const std::vector<Row>& rows) {
  std::vector<std::string> header;
  std::set<std::string> known;
  std::vector<std::map<std::string, std::string>> lines;
  const auto visit = [&](auto& self, const std::string& prefix, const Row& object,
                         std::map<std::string, std::string>& line) -> void {
    for (const auto& [key, value] : object.items()) {
      const std::string name = prefix.empty() ? key : prefix + "." + key;
      if (value.is_object()) {
        self(self, name, value, line);
        continue;
      }
      if (known.insert(name).second) header.push_back(name);
      line[name] = value.is_string() ? text_of(object, key.c_str()) : value.dump();
    }
  };
  for (const Row& row : rows) {
    lines.emplace_back();
    visit(visit, "", row, lines.back());
  }
  std::string csv;
  for (std::size_t i = 0; i < header.size(); ++i) csv += (i ? "," : "") + csv_field(header[i]);
  csv += "\n";
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const auto found = line.find(header[i]);
      csv += (i ? "," : "") + (found == line.end() ? std::string() : csv_field(found->second));
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace twill::bench
