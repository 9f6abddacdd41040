#include "bench/lab/grid.hpp"

#include <algorithm>

#include "encoders/choose.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

std::vector<std::string> parts(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> values_of(const std::string& key) {
  std::vector<std::string> values;
  for (const EncodingInfo& row : encoding_table())
    if (row.key == key) values.push_back(row.value);
  return values;
}

// Every choice of a value a key; parse_encoding() refuses what does not exist.
void product(const std::vector<std::string>& items, std::size_t next, const std::string& before,
             std::vector<std::string>& out) {
  if (next == items.size()) {
    std::string text = encoding_text(parse_encoding(before));
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    return;
  }
  const std::string& item = items[next];
  const std::size_t equals = item.find('=');
  if (equals == std::string::npos)
    throw InputError("command line", "--encodings", quote(item), "must have the form key=value");
  const std::string key = item.substr(0, equals), value = item.substr(equals + 1);
  for (const std::string& v : value == "*" ? values_of(key) : parts(value, '|'))
    product(items, next + 1, before + (before.empty() ? "" : ",") + key + "=" + v, out);
}

}  // namespace

std::string grid_patterns(std::string_view grid) {
  if (grid == "quick") return "start=*;card=*;pb=*";
  // One key at a time around two bases, and the pairs that share the largest sums.
  return "form=modulo;form=straight-line;symmetry=off;"
         "start=*;amo=*;card=*;pb=*;"
         "start=order,pb=*;start=order,card=*;start=order,amo=*;"
         "start=channelled,pb=bdd|gte|gpw|adder;start=direct,amo=*;start=binary,pb=bdd|gpw|adder;"
         "form=straight-line,amo=*;form=straight-line,pb=bdd|bdd-amo|gte|gte-amo|swc|swc-amo";
}

std::vector<std::string> expand_encodings(std::string_view text) {
  if (text == "quick" || text == "default") return expand_encodings(grid_patterns(text));
  std::vector<std::string> out;
  for (const std::string& pattern : parts(text, ';')) {
    if (pattern.empty() || pattern == "auto")
      product({}, 0, "", out);
    else
      product(parts(pattern, ','), 0, "", out);
  }
  return out;
}

}  // namespace twill::bench
