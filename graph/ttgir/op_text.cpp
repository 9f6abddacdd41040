#include "graph/ttgir/op_text.hpp"

#include <string_view>
#include <utility>

namespace twill::ttgir {

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
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || c == '-';
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted && text[i] == '%') {
      std::size_t end = i + 1;
      while (end < text.size() && is_name(text[end])) ++end;
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
    } else if (!quoted && text.substr(i).starts_with("loc(") && (i == 0 || !is_name(text[i - 1]))) {
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
  for (std::size_t at = text.find("%" + name); at != std::string::npos;) {
    constexpr std::string_view kWord = " token ";
    if (at >= kWord.size() && text.compare(at - kWord.size(), kWord.size(), kWord) == 0) {
      text.erase(at - kWord.size(), kWord.size() + 1 + name.size());
      at = text.find("%" + name);
      continue;
    }
    const std::size_t begin = text.rfind('[', at), end = text.find(']', at);
    if (begin == std::string::npos || end == std::string::npos) return text;
    text.erase(begin, end - begin + 1);
    at = text.find("%" + name);
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

}  // namespace twill::ttgir
