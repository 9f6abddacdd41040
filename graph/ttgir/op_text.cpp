#include "graph/ttgir/op_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace twill::ttgir {
namespace {

/// Where %NAME, and not a longer name, stands at or behind `from`.
std::size_t find_value(const std::string& text, const std::string& name, std::size_t from) {
  const std::string value = "%" + name;
  for (std::size_t at = text.find(value, from); at != std::string::npos;
       at = text.find(value, at + 1))
    if (at + value.size() == text.size() || !in_name(text[at + value.size()])) return at;
  return std::string::npos;
}

/// The elements of a list in round brackets that opens at `open`: where each begins and ends, and
/// last where the bracket that closes it is, twice.
std::vector<std::pair<std::size_t, std::size_t>> elements(const std::string& text,
                                                          std::size_t open) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = open + 1;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    const bool closes = c == ')' || c == ']' || c == '}' || (c == '>' && text[at - 1] != '-');
    if (closes) --depth;
    if ((c == ',' && depth == 1) || (closes && depth == 0)) {
      found.emplace_back(begin, at);
      begin = at + 1;
    }
    if (closes && depth == 0) {
      found.emplace_back(at, at);
      return found;
    }
  }
  return {};
}

/// "op"(%a, %name) ... : (A, T) -> R without %name and its type. What is in another form stays.
std::string without_operand(std::string text, const std::string& name) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos) return text;
  const auto erase = [&](const std::vector<std::pair<std::size_t, std::size_t>>& list,
                         std::size_t k) {  // with the comma beside it
    const bool last = k + 2 == list.size();
    const std::size_t from = last && k > 0 ? list[k - 1].second : list[k].first;
    text.erase(from, (last ? list[k].second : list[k + 1].first) - from);
  };
  for (;;) {
    const auto operands = elements(text, open);
    std::size_t k = 0;
    while (k + 1 < operands.size()) {
      std::size_t begin = operands[k].first;
      while (text[begin] == ' ') ++begin;
      if (text.compare(begin, operands[k].second - begin, "%" + name) == 0) break;
      ++k;
    }
    if (k + 1 >= operands.size()) return text;
    const std::size_t clause = text.rfind(" : (");
    if (clause == std::string::npos) return text;
    const auto types = elements(text, clause + 3);
    if (types.size() != operands.size()) return text;
    erase(types, k);
    erase(operands, k);
  }
}

}  // namespace

std::string written_name(const Module& module, int value) {
  const Value& v = module.value(value);
  std::string name = "%" + std::string(v.name);
  if (v.op == kNone) return name;
  const std::vector<int>& all = module.op(v.op).results;
  const auto shares = [&](int one) { return module.value(one).name == v.name; };
  if (std::count_if(all.begin(), all.end(), shares) < 2) return name;
  return name + "#" + std::to_string(std::count_if(all.begin(), all.begin() + v.index, shares));
}

bool is_there_before(const Module& module, int value, int op) {
  const Value& v = module.value(value);
  int around = v.op;
  if (around == kNone)
    around = module.regions[static_cast<std::size_t>(module.block(v.block).region)].op;
  while (around != kNone && around != op) around = module.parent(around);
  return around == kNone;
}

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.' || c == '-';
}

std::string op_text(const Module& m, int index, const std::map<int, std::string>& names) {
  const Operation& op = m.op(index);
  std::map<std::pair<std::string_view, int>, std::string_view> tokens;
  for (const auto& [value, name] : names) {
    const Value& v = m.value(value);
    int first = v.index;
    while (v.op != kNone && first > 0 &&
           m.value(m.op(v.op).results[static_cast<std::size_t>(first) - 1]).name == v.name)
      --first;
    tokens[{v.name, v.index - first}] = name;
  }
  std::string_view text = std::string_view(*m.text).substr(op.begin, op.end - op.begin);
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted && text[i] == '%') {
      std::size_t end = i + 1;
      while (end < text.size() && in_name(text[end])) ++end;
      const std::string_view name = text.substr(i + 1, end - i - 1);
      int number = 0;
      std::size_t after = end;
      if (after < text.size() && text[after] == '#') {
        ++after;
        while (after < text.size() && text[after] >= '0' && text[after] <= '9' && number < 10'000)
          number = 10 * number + (text[after++] - '0');
      }
      const auto found = tokens.find({name, number});
      out += found == tokens.end() ? std::string(text.substr(i, after - i))
                                   : std::string(found->second);
      i = after;
    } else if (!quoted && text.substr(i).starts_with("loc(") && (i == 0 || !in_name(text[i - 1]))) {
      int depth = 0;
      bool inside = false;
      for (; i < text.size(); ++i) {
        if (text[i] == '"') inside = !inside;
        if (inside) continue;
        if (text[i] == '(') ++depth;
        if (text[i] == ')' && --depth == 0) break;
      }
      ++i;
    } else if (!quoted && text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else {
      out += text[i++];
    }
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

std::string without_token(std::string text, const std::string& name) {
  if (text.starts_with('"')) return without_operand(std::move(text), name);
  for (std::size_t at = find_value(text, name, 0); at != std::string::npos;) {
    constexpr std::string_view kWord = " token ";
    if (at >= kWord.size() && text.compare(at - kWord.size(), kWord.size(), kWord) == 0) {
      text.erase(at - kWord.size(), kWord.size() + 1 + name.size());
      at = find_value(text, name, 0);
      continue;
    }
    const std::size_t begin = text.rfind('[', at), end = text.find(']', at);
    if (begin == std::string::npos || end == std::string::npos) return text;
    text.erase(begin, end - begin + 1);
    at = find_value(text, name, 0);
  }
  return text;
}

std::string loaded_type(const std::string& pointers) {
  constexpr std::string_view kPointer = "!tt.ptr<";
  const std::size_t begin = pointers.find(kPointer);
  const std::size_t end = begin == std::string::npos ? begin : pointers.find('>', begin);
  if (end == std::string::npos) return "";
  std::string element = pointers.substr(begin + kPointer.size(), end - begin - kPointer.size());
  element = element.substr(0, element.find(','));
  return pointers.substr(0, begin) + element + pointers.substr(end + 1);
}

std::string mask_type(const Type& pointers) {
  if (pointers.kind == TypeKind::scalar) return "i1";
  const std::size_t begin = pointers.text.find("!tt.ptr<");
  if (pointers.kind != TypeKind::tensor || begin == std::string_view::npos) return "";
  const std::size_t end = pointers.text.find('>', begin);
  if (end == std::string_view::npos) return "";
  return std::string(pointers.text.substr(0, begin)) + "i1" +
         std::string(pointers.text.substr(end + 1));
}

std::optional<std::size_t> line_begin(const Module& module, int op) {
  const std::string& text = *module.text;
  const std::size_t end = text.rfind('\n', module.op(op).begin);
  const std::size_t begin = end == std::string::npos ? 0 : end + 1;
  for (std::size_t k = begin; k < module.op(op).begin; ++k)
    if (!in_name(text[k]) && std::string_view(" \t%=,:#").find(text[k]) == std::string_view::npos)
      return std::nullopt;
  return begin;
}

std::int64_t divisor_of(const Module& module, std::string_view name) {
  const std::string kKey = "tt.divisibility = ";
  const std::string& text = *module.text;
  if (name.empty() || name.data() < text.data() || name.data() >= text.data() + text.size())
    return 1;
  const auto begin = static_cast<std::size_t>(name.data() - text.data());
  const std::size_t key = text.find(kKey, begin);
  if (key == std::string::npos || key > text.find(", %", begin) || key > text.find('\n', begin))
    return 1;
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data() + key + kKey.size(), text.data() + text.size(), number);
  return error == std::errc() && number > 0 ? number : 1;
}

std::string shape_of(const Module& m, int op, const std::vector<int>& operands) {
  std::map<int, std::string> names;
  for (const int operand : operands) names[operand] = "%";
  const std::string text = op_text(m, op, names);
  std::map<std::string, std::size_t> inner;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i++];
    const bool blank = c == ' ' || c == '\n';
    if (!blank || out.empty() || out.back() != ' ') out += blank ? ' ' : c;
    if (c != '%') continue;
    const std::size_t end = std::min(text.find_first_of(" ,:)]}\n", i), text.size());
    if (end == i) continue;
    out += std::to_string(inner.try_emplace(text.substr(i, end - i), inner.size()).first->second);
    i = end;
  }
  return out;
}

bool commutes(std::string_view op) {
  static constexpr std::array<std::string_view, 10> kOps = {
      "arith.addf",     "arith.mulf", "arith.maxnumf", "arith.minnumf", "arith.maximumf",
      "arith.minimumf", "arith.addi", "arith.muli",    "arith.andi",    "arith.ori"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

}  // namespace twill::ttgir
