#include "graph/ttgir/edit.hpp"

#include <algorithm>

namespace twill::ttgir {
namespace {

struct Edit {
  std::size_t offset = 0, removed = 0;
  std::string text;
};

std::string entry(const std::string& name, const std::string& value) {
  return value.empty() ? name : name + " = " + value;
}

/// The unit attribute with the comma that parts it from the next or the last one.
Edit without(const std::string& source, const Operation& op, std::size_t k) {
  const std::string_view name = op.attributes[k].name;
  std::size_t begin = static_cast<std::size_t>(name.data() - source.data());
  std::size_t end = begin + name.size();
  if (begin > 0 && source[begin - 1] == '"') --begin, ++end;
  const auto space = [&](std::size_t at) { return source[at] == ' ' || source[at] == '\n'; };
  std::size_t next = end;
  while (next < source.size() && space(next)) ++next;
  if (next < source.size() && source[next] == ',') {
    end = next + 1;
    while (end < source.size() && space(end)) ++end;
  } else {
    std::size_t last = begin;
    while (last > 0 && space(last - 1)) --last;
    if (last > 0 && source[last - 1] == ',') begin = last - 1;
  }
  return {begin, end - begin, ""};
}

/// On a line of its own, two columns deeper than the line of the closing brace.
Edit yield_before(const std::string& source, std::size_t brace, const std::string& attribute) {
  const std::string text = "scf.yield {" + attribute + "}";
  std::size_t line = brace;
  while (line > 0 && source[line - 1] == ' ') --line;
  if (line > 0 && source[line - 1] != '\n') return {brace, 0, "\n" + text + "\n"};
  return {line, 0, std::string(brace - line + 2, ' ') + text + "\n"};
}

}  // namespace

void Editor::set(int op, const std::string& name, const std::string& value) {
  auto& list = added_[op];
  for (auto& [known, text] : list)
    if (known == name) {
      text = value;
      return;
    }
  list.emplace_back(name, value);
}

void Editor::terminate(int region, const std::string& name, const std::string& value) {
  yields_[region] = entry(name, value);
}

std::string Editor::text() const {
  const std::string& source = *m_.text;
  std::vector<Edit> edits;
  for (const auto& [index, list] : added_) {
    const Operation& op = m_.op(index);
    std::string fresh;
    for (const auto& [name, value] : list) {
      const auto there =
          std::find_if(op.attributes.begin(), op.attributes.end(),
                       [&, &wanted = name](const Attribute& a) { return a.name == wanted; });
      if (there != op.attributes.end()) {
        if (there->value.empty() || value.empty()) continue;  // a unit attribute is there already
        edits.push_back({static_cast<std::size_t>(there->value.data() - source.data()),
                         there->value.size(), value});
        continue;
      }
      fresh += (fresh.empty() ? "" : ", ") + entry(name, value);
    }
    if (fresh.empty()) continue;
    if (op.has_dict)
      fresh += op.attributes.empty() ? "" : ", ";
    else
      fresh = " {" + fresh + "}";
    edits.push_back({op.attribute_offset, 0, fresh});
  }
  for (const auto& [index, names] : removed_) {
    const Operation& op = m_.op(index);
    for (std::size_t k = 0; k < op.attributes.size(); ++k)
      if (op.attributes[k].value.empty() && names.count(std::string(op.attributes[k].name)) != 0)
        edits.push_back(without(source, op, k));
  }
  for (const auto& [region, attribute] : yields_)
    edits.push_back(
        yield_before(source, m_.regions[static_cast<std::size_t>(region)].end, attribute));
  for (const auto& [begin, end] : m_.gaps) edits.push_back({begin, end - begin, ""});
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
  std::string result;
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    result += source.substr(done, edit.offset - done) + edit.text;
    done = edit.offset + edit.removed;
  }
  return result + source.substr(done);
}

}  // namespace twill::ttgir
