// Rows of experiments in JSON Lines files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace twill::bench {

using Row = nlohmann::ordered_json;

/// One line of a file of JSON lines, read as strictly as any file: nesting is bounded, keys are not
/// repeated. Throws InputError naming the line.
Row json_line(std::string_view line, const std::string& path, std::size_t number);

/// What makes a row the same measurement as another: instance, encoding, scramble, solver, seed,
/// limits.
std::string row_key(const Row& row);

struct RowFile {
  std::vector<Row> rows;
  /// Bytes up to the end of the last whole row; what is behind it was cut off when a run was
  /// killed.
  std::size_t whole = 0;
};
/// Throws InputError on a line that is no row, but for the last one, if it has no end.
RowFile read_rows(const std::string& path);
RowFile parse_rows(std::string_view text, const std::string& path);

/// Takes back what other solvers say against a verified model of the same question: status WRONG.
void distrust(std::vector<Row>& rows);

/// "ENCODING" of the linked solver, "SOLVER: ENCODING" of others.
std::string contestant(const Row& row);

/// Rows of several files (shards), one a key: of the same measurement the one that was run;
/// distrusted.
std::vector<Row> merged_rows(const std::vector<std::string>& paths);

/// A text that is there, a number, or the default.
std::string text_of(const Row& row, const char* key);
double number_of(const Row& row, const char* key);

/// Two rows that answer the same question differently, or one against what is expected, in words;
/// the literal straight-line form is not exact and is only compared with itself.
std::vector<std::string> disagreements(const std::vector<Row>& rows);

}  // namespace twill::bench
