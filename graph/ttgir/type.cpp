#include "graph/ttgir/type.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "graph/divide.hpp"

namespace twill::ttgir {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

/// Splits at the commas that stand outside of all brackets.
std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && (i == 0 || s[i - 1] != '-'))) --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trim(s.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trim(s.substr(begin)));
  return parts;
}

/// The text between the first < and the last >.
std::string_view inside(std::string_view s) {
  const std::size_t open = s.find('<'), close = s.rfind('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return s.substr(open + 1, close - open - 1);
}

void set_element(Type& type, std::string_view text) {
  text = trim(text);
  if (text.starts_with("!tt.ptr")) {
    type.element = "ptr";
    type.bits = 64;
    return;
  }
  if (text == "index") {
    type.element = "i64";
    type.bits = 64;
    return;
  }
  std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return;
  int bits = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), bits);
  if (bits < 1 || bits > 1024) return;
  type.bits = bits;
  const char head = text[0];
  // f8E4M3FN and its like share one rate; so do f4E2M1FN.
  if (head == 'f' && bits <= 8)
    type.element = "f" + std::to_string(bits);
  else if (head == 'u' || head == 's')
    type.element = "i" + std::to_string(bits);
  else
    type.element = std::string(text.substr(0, digits)) + std::to_string(bits);
}

/// "128x64xf32" -> shape and element.
bool set_shape(Type& type, std::string_view text, std::string& fault) {
  if (text.starts_with('?') || text.starts_with('*')) {
    fault = "a tile must have extents that are numbers";
    return false;
  }
  std::int64_t elements = 1;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    const bool large = error == std::errc::result_out_of_range;
    if (large || (error == std::errc() && (extent < 1 || extent > kMaxElements / elements))) {
      fault = "a tile must have from 1 to " + std::to_string(kMaxElements) + " elements";
      return false;
    }
    if (error != std::errc() || end == text.data() + text.size() || *end != 'x') return false;
    elements *= extent;
    type.shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  set_element(type, text);
  return true;
}

std::vector<std::int64_t> numbers(std::string_view list) {
  std::vector<std::int64_t> values;
  if (list.size() < 2 || list.front() != '[') return values;
  for (const std::string_view part : split(list.substr(1, list.size() - 2))) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error == std::errc()) values.push_back(value);
  }
  return values;
}

using Shape = std::vector<std::int64_t>;

/// Elements of each dimension that a thread holds; dimensions in `sliced` are held once.
std::optional<std::int64_t> held(std::string_view layout, Shape shape, std::vector<int> sliced,
                                 const Module& module, int depth) {
  layout = resolve_alias(layout, module);
  if (depth > 4) return std::nullopt;
  if (layout.starts_with("#ttg.slice")) {
    int dim = 0;
    const std::string_view text = layout_field(layout, "dim");
    if (std::from_chars(text.data(), text.data() + text.size(), dim).ec != std::errc() || dim < 0 ||
        dim > static_cast<int>(shape.size()))
      return std::nullopt;
    for (int& d : sliced)
      if (d >= dim) ++d;
    shape.insert(shape.begin() + dim, 1);
    sliced.push_back(dim);
    return held(layout_field(layout, "parent"), shape, sliced, module, depth + 1);
  }
  const auto is_sliced = [&](std::size_t d) {
    return std::find(sliced.begin(), sliced.end(), static_cast<int>(d)) != sliced.end();
  };
  if (layout.starts_with("#ttg.blocked")) {
    const auto size = numbers(layout_field(layout, "sizePerThread"));
    const auto threads = numbers(layout_field(layout, "threadsPerWarp"));
    const auto warps = numbers(layout_field(layout, "warpsPerCTA"));
    if (size.size() != shape.size() || threads.size() != shape.size() ||
        warps.size() != shape.size())
      return std::nullopt;
    std::int64_t count = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t tile = size[d] * threads[d] * warps[d];
      if (tile < 1) return std::nullopt;
      if (!is_sliced(d)) count *= ceil_divide(shape[d], tile) * std::min(size[d], shape[d]);
    }
    return count;
  }
  if (layout.starts_with("#ttg.linear")) {
    const std::string_view bases = layout_field(layout, "register");
    if (bases.size() < 2) return std::nullopt;
    std::set<Shape> distinct;
    for (const std::string_view part : split(bases.substr(1, bases.size() - 2))) {
      Shape base = numbers(part);
      if (base.empty() && part.empty()) continue;
      if (base.size() != shape.size()) return std::nullopt;
      bool zero = true;
      for (std::size_t d = 0; d < base.size(); ++d) {
        if (is_sliced(d)) base[d] = 0;
        zero = zero && base[d] == 0;
      }
      if (!zero) distinct.insert(base);
    }
    return distinct.size() > 30 ? std::nullopt
                                : std::optional<std::int64_t>(std::int64_t{1} << distinct.size());
  }
  if (layout.starts_with("#ttg.nvidia_mma") && shape.size() == 2) {
    // Accumulator fragments of mma.sync and wgmma: a thread holds 2 columns of each 8 and, of the
    // 16 rows of a warp's tile, 2 (PTX ISA, m16n8 and wgmma accumulators).
    const auto warps = numbers(layout_field(layout, "warpsPerCTA"));
    if (warps.size() != 2 || warps[0] < 1 || warps[1] < 1) return std::nullopt;
    const std::int64_t rows = is_sliced(0) ? 1 : 2 * ceil_divide(shape[0], 16 * warps[0]);
    const std::int64_t columns = is_sliced(1) ? 1 : 2 * ceil_divide(shape[1], 8 * warps[1]);
    return rows * columns;
  }
  if (layout.starts_with("#ttg.dot_op") && shape.size() == 2) {
    // A factor of mma.sync or wgmma in registers: every warp has what its own tile of the result is
    // made of, all that is summed. Of 16 rows of the left one a thread has 2, of 8 columns of the
    // right one 1, and of what is summed a quarter (PTX ISA, fragments of mma.m16n8k16).
    const std::string_view parent = resolve_alias(layout_field(layout, "parent"), module);
    const auto warps = numbers(layout_field(parent, "warpsPerCTA"));
    if (!parent.starts_with("#ttg.nvidia_mma") || warps.size() != 2 || warps[0] < 1 || warps[1] < 1)
      return std::nullopt;
    const bool left = layout_field(layout, "opIdx") == "0";
    const std::int64_t summed = ceil_divide(shape[left ? 1 : 0], 4);
    return summed *
           (left ? 2 * ceil_divide(shape[0], 16 * warps[0]) : ceil_divide(shape[1], 8 * warps[1]));
  }
  return std::nullopt;
}

/// Must a number of this list of a layout be at least 1?
bool counts_something(std::string_view key) {
  return key == "sizePerThread" || key == "threadsPerWarp" || key == "warpsPerCTA";
}

}  // namespace

std::string_view resolve_alias(std::string_view text, const Module& module) {
  for (int steps = 0; steps < 16; ++steps) {
    const auto found = module.aliases.find(text);
    if (found == module.aliases.end()) return text;
    text = found->second;
  }
  return text;
}

std::string_view layout_field(std::string_view layout, std::string_view key) {
  std::string_view body = inside(layout);
  if (body.size() >= 2 && body.front() == '{') body = body.substr(1, body.size() - 2);
  for (const std::string_view part : split(body)) {
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && trim(part.substr(0, equals)) == key)
      return trim(part.substr(equals + 1));
  }
  return {};
}

std::string number_fault(std::string_view text) {
  const auto part_of_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  std::string_view word, key;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {  // a string has no numbers; it ends, or the lexer had refused it
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
      ++at;
      continue;
    }
    if (text[at] == '=') key = word;
    if (!part_of_word(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && part_of_word(text[at])) ++at;
    word = text.substr(begin, at - begin);
    if (word.find_first_not_of("0123456789-") != std::string_view::npos) continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const std::int64_t least = counts_something(key) ? 1 : 0;
    if (error == std::errc() && end == word.data() + word.size() && number >= least &&
        number <= kMaxLayoutNumber)
      continue;
    if (word == "-" || word.starts_with("--")) continue;  // of an arrow
    return "a number of " + std::string(key.empty() ? "a type" : key) + " must be from " +
           std::to_string(least) + " to " + std::to_string(kMaxLayoutNumber) + ", not " +
           std::string(word.substr(0, 40));
  }
  return "";
}

Type parse_type(std::string_view text, const Module& module, std::string* fault) {
  Type type;
  std::string broken;
  type.text = text;
  text = resolve_alias(trim(text), module);
  if (text.starts_with("tensor<")) {
    const auto parts = split(inside(text));
    type.kind = TypeKind::tensor;
    if (!set_shape(type, parts[0], broken)) type.kind = TypeKind::other;
    if (parts.size() > 1) type.encoding = resolve_alias(parts[1], module);
  } else if (text.starts_with("!ttg.memdesc<") || text.starts_with("<")) {
    const auto parts = split(inside(text));
    type.kind = TypeKind::memdesc;
    if (!set_shape(type, parts[0], broken)) type.kind = TypeKind::other;
    if (parts.size() > 1) type.encoding = resolve_alias(parts[1], module);
    for (const std::string_view part : parts)
      if (resolve_alias(part, module) == "#ttng.tensor_memory") type.tensor_memory = true;
  } else if (text.starts_with("!tt.tensordesc<")) {
    std::string_view body = split(inside(text))[0];
    if (body.starts_with("tensor<")) body = split(inside(text.substr(15)))[0];
    type.kind = TypeKind::descriptor;
    if (!set_shape(type, body, broken)) type.kind = TypeKind::other;
  } else if (text == "!ttg.async.token") {
    type.kind = TypeKind::token;
  } else {
    set_element(type, text);
    if (type.bits > 0) type.kind = TypeKind::scalar;
  }
  if (fault != nullptr) *fault = broken;
  return type;
}

std::optional<std::int64_t> elements_per_thread(const Type& type, const Module& module) {
  if (type.kind != TypeKind::tensor || type.encoding.empty()) return std::nullopt;
  return held(type.encoding, type.shape, {}, module, 0);
}

std::int64_t registers_per_thread(const Type& type, int warps, const Module& module) {
  if (type.kind != TypeKind::tensor || type.bits == 0) return 0;
  if (type.bits == 1) return 1;
  const auto known = elements_per_thread(type, module);
  const std::int64_t count =
      known ? *known : ceil_divide(type.elements(), std::int64_t{32} * std::max(warps, 1));
  return ceil_divide(count * type.bits, 32);
}

std::int64_t buffer_bytes(const Type& type) {
  return ceil_divide(type.elements() * type.bits, 8);
}

std::int64_t buffer_columns(const Type& type) {
  if (type.shape.empty()) return 0;
  const std::int64_t columns = type.shape.back();
  // (A sum of 16 bits has a column of 32 for each number: colStride = 2.)
  std::int64_t apart = 1;
  const std::string_view stride = layout_field(type.encoding, "colStride");
  if (std::from_chars(stride.data(), stride.data() + stride.size(), apart).ec != std::errc() ||
      apart < 1 || apart > 4)
    apart = 1;
  return ceil_divide(columns * type.bits * apart, 32) * ceil_divide(type.elements() / columns, 128);
}

}  // namespace twill::ttgir
