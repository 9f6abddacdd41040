#include "bench/lab/published.hpp"

#include <charconv>
#include <filesystem>

#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

bool Published::allows(Cycle optimum, bool no_schedule) const {
  if (none || no_schedule) return none == no_schedule;
  return optimum >= low && (high == 0 || optimum <= high);
}

Published parse_published(std::string_view text, const std::string& source,
                          const std::string& place) {
  const auto number = [&](std::string_view digits) {
    Cycle n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc() || end != digits.data() + digits.size() || n < 1 || n > kMaxCycles)
      throw InputError(source, place, quote(text),
                       "must be a makespan (" + range_rule(1, kMaxCycles) +
                           "), a range as 90..102 or ..102, or unsat");
    return n;
  };
  Published published;
  if (text == "unsat") {
    published.none = true;
    return published;
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    published.low = published.high = number(text);
    return published;
  }
  if (dots > 0) published.low = number(text.substr(0, dots));
  published.high = number(text.substr(dots + 2));
  if (published.low > published.high)
    throw InputError(source, place, quote(text), "must be a range that begins below its end");
  return published;
}

std::map<std::string, Published> parse_published_list(std::string_view text,
                                                      const std::string& source) {
  std::map<std::string, Published> list;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == 1 || row.empty()) continue;  // the heading
    const std::string place = "line " + std::to_string(line);
    const std::size_t comma = row.find(',');
    const std::string name = std::filesystem::path(row.substr(0, comma)).stem().string();
    if (comma == std::string_view::npos || name.empty())
      throw InputError(source, place, quote(row), "must be FILE,MAKESPAN");
    if (!list.emplace(name, parse_published(trimmed(row.substr(comma + 1)), source, place)).second)
      throw InputError(source, place, quote(row), "must name a file once");
  }
  return list;
}

std::map<std::string, Published> read_published(const std::string& path) {
  return parse_published_list(read_file(path), path);
}

}  // namespace twill::bench
