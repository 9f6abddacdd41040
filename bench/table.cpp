#include "bench/table.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/output/style.hpp"

namespace twill::bench {

Table::Table(std::ostream& out, std::vector<Column> columns)
    : out_(out), columns_(std::move(columns)) {
  for (Column& column : columns_) {
    column.width = std::max({column.width, display_width(column.title), std::size_t{3}});
  }
}

void Table::head() {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  row(titles);
  out_ << "|";
  for (const Column& column : columns_) {
    out_ << std::string(column.width + 1, '-') << (column.right ? ":|" : "-|");
  }
  out_ << "\n" << std::flush;
}

void Table::row(const std::vector<std::string>& cells) {
  out_ << "|";
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const std::string cell = printable(cells.at(k));
    const std::size_t width = display_width(cell);
    const std::string space(width < columns_[k].width ? columns_[k].width - width : 0, ' ');
    out_ << " " << (columns_[k].right ? space + cell : cell + space) << " |";
  }
  out_ << "\n" << std::flush;
}

std::string short_seconds(double seconds) {
  return decimal(seconds, seconds < 1 ? 3 : seconds < 10 ? 2 : seconds < 100 ? 1 : 0);
}

std::string mebibytes(std::int64_t bytes) {
  const double size = static_cast<double>(bytes) / (1024.0 * 1024.0);
  return decimal(size, size < 10 ? 2 : size < 100 ? 1 : 0);
}

}  // namespace twill::bench
