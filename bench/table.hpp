// A Markdown table whose rows are printed as they become known.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace twill::bench {

struct Column {
  std::string title;
  std::size_t width = 0;  ///< at least; wider cells push their row to the right
  bool right = true;      ///< aligned to the right, as numbers are
};

class Table {
 public:
  Table(std::ostream& out, std::vector<Column> columns);
  void head();
  /// A cell per column. Flushed, so that an interrupted run has shown what it
  /// knew.
  void row(const std::vector<std::string>& cells);

 private:
  std::ostream& out_;
  std::vector<Column> columns_;
};

/// 12345678 bytes -> "11.8" (MiB); three digits or so, whatever the size.
std::string mebibytes(std::int64_t bytes);
/// Seconds with three digits or so: "0.012", "1.23", "123".
std::string short_seconds(double seconds);

}  // namespace twill::bench
