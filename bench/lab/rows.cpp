#include "bench/lab/rows.hpp"

#include <map>
#include <set>

#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {

std::string text_of(const Row& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_of(const Row& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>() : 0;
}

std::string row_key(const Row& row) {
  std::string key = text_of(row, "instance") + "\n" + text_of(row, "instance_sha256") + "\n" +
                    text_of(row, "encoding") + "\n" + text_of(row, "scramble_parts") + "\n" +
                    text_of(row, "solver") + "\n" + text_of(row, "solver_command");
  for (const char* number : {"I", "L", "scramble", "seed", "limit_cpu_s", "limit_wall_s",
                             "limit_conflicts", "limit_mem"})
    key += "\n" + std::to_string(number_of(row, number));
  return key;
}

Row json_line(std::string_view line, const std::string& path, std::size_t number) {
  try {
    return JsonDocument::parse(line, path).json();
  } catch (const InputError& error) {
    throw InputError(path, "line " + std::to_string(number), quote(line),
                     "must be JSON: " + error.place() + ": " + error.rule());
  }
}

RowFile read_rows(const std::string& path) {
  return parse_rows(read_file(path), path);
}

RowFile parse_rows(std::string_view text, const std::string& path) {
  RowFile file;
  std::size_t begin = 0, number = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    ++number;
    if (end == std::string::npos) break;  // the row in flight when the run was killed
    const std::string_view line = text.substr(begin, end - begin);
    Row row = json_line(line, path, number);
    const bool is_row = row.is_object() && !text_of(row, "instance").empty() &&
                        !text_of(row, "encoding").empty() && !text_of(row, "status").empty();
    if (!is_row)
      throw InputError(path, "line " + std::to_string(number), quote(line),
                       "must be a row with instance, encoding and status");
    file.rows.push_back(std::move(row));
    begin = end + 1;
    file.whole = begin;
  }
  return file;
}

void distrust(std::vector<Row>& rows) {
  std::set<std::string> satisfiable;
  const auto question = [](const Row& row) {
    return text_of(row, "instance") + "\n" + text_of(row, "instance_sha256");
  };
  for (const Row& row : rows)
    if (text_of(row, "status") == "SAT" && text_of(row, "verified") == "model")
      satisfiable.insert(question(row));
  for (Row& row : rows) {
    const bool other = !text_of(row, "solver_command").empty();
    const bool literal = text_of(row, "encoding").starts_with("form=straight-line-literal");
    if (!other || literal || text_of(row, "status") != "UNSAT" ||
        !satisfiable.contains(question(row)))
      continue;
    row["status"] = "WRONG";
    row["error"] = "says UNSAT of a question of which another row has a schedule";
  }
}

std::vector<Row> merged_rows(const std::vector<std::string>& paths) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> known;
  for (const std::string& path : paths)
    for (Row& row : read_rows(path).rows) {
      const auto [place, fresh] = known.emplace(row_key(row), rows.size());
      if (fresh)
        rows.push_back(std::move(row));
      else if (text_of(rows[place->second], "status") == "NOTRUN")
        rows[place->second] = std::move(row);
    }
  distrust(rows);
  return rows;
}

std::string contestant(const Row& row) {
  const std::string solver = text_of(row, "solver"), encoding = text_of(row, "encoding");
  return solver.empty() || solver == "cadical" ? encoding : solver + ": " + encoding;
}

std::vector<std::string> disagreements(const std::vector<Row>& rows) {
  std::vector<std::string> found;
  std::map<std::string, const Row*> answers;
  for (const Row& row : rows) {
    const std::string status = text_of(row, "status");
    if (status != "SAT" && status != "UNSAT") continue;
    const std::string encoding = text_of(row, "encoding");
    const bool literal = encoding.find("form=straight-line-literal") != std::string::npos;
    const std::string expected = text_of(row, "expected");
    if (!literal && !expected.empty() && expected != status)
      found.push_back(text_of(row, "instance") + ": " + status + " by " + contestant(row) +
                      ", expected " + expected);
    const std::string question = text_of(row, "instance") + "\n" + text_of(row, "instance_sha256") +
                                 (literal ? "\nliteral" : "");
    const auto [place, fresh] = answers.emplace(question, &row);
    if (!fresh && text_of(*place->second, "status") != status)
      found.push_back(text_of(row, "instance") + ": " + status + " by " + contestant(row) + ", " +
                      text_of(*place->second, "status") + " by " + contestant(*place->second));
  }
  return found;
}

}  // namespace twill::bench
