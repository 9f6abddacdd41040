// What the tests of `twill bench` share: the program, JSON Lines, and two questions.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "graph/problem_io.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

#ifdef TWILL_PROGRAM

namespace twill::test {

inline Run bench(const std::string& arguments, const std::string& environment = "") {
  return run_command(environment + " '" TWILL_PROGRAM "' bench " + arguments);
}

/// bench/schema/NAME.schema.json.
inline nlohmann::json bench_schema(const std::string& name) {
  return nlohmann::json::parse(
      bytes(TWILL_TEST_DATA "/../../bench/schema/" + name + ".schema.json"));
}

/// Rows and instances among them are as their schemas say. (The lists beside exported formulas have
/// an expected answer too, and name a file.)
inline std::vector<nlohmann::json> lines(const std::string& text) {
  std::vector<nlohmann::json> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    result.push_back(nlohmann::json::parse(line));
    const bool row = result.back().contains("encoder"),
               asked = result.back().contains("expected") && !result.back().contains("file");
    if (row || asked) CHECK(breaks(result.back(), bench_schema(row ? "row" : "instance")) == "");
  }
  return result;
}

inline void write_lines(const std::string& path, const std::vector<nlohmann::json>& rows) {
  std::ofstream file(path);
  for (const nlohmann::json& row : rows) file << row.dump() << "\n";
}

/// A folder with two questions about the running example: its optimum, and one cycle less.
inline void write_questions(const std::string& folder) {
  const std::string problem = bytes(TWILL_TEST_DATA "/examples/figure-1.problem.json");
  std::ofstream(folder + "/figure.problem.json") << problem;
  std::vector<nlohmann::json> list;
  for (const int length : {4, 3})
    list.push_back({{"name", "figure-" + std::to_string(length)},
                    {"family", "example"},
                    {"problem", "figure.problem.json"},
                    {"problem_sha256", twill::sha256(problem)},
                    {"ii", 2},
                    {"length", length},
                    {"expected", length == 4 ? "SAT" : "UNSAT"}});
  write_lines(folder + "/instances.jsonl", list);
}

}  // namespace twill::test

#endif
