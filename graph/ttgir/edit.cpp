#include "graph/ttgir/edit.hpp"

#include <algorithm>

#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

std::string entry(const std::string& name, const std::string& value) {
  return value.empty() ? name : name + " = " + value;
}

/// Where an attribute stands in the source, with its quotes and its value.
std::pair<std::size_t, std::size_t> extent(const std::string& source, const Attribute& attribute) {
  auto begin = static_cast<std::size_t>(attribute.name.data() - source.data());
  std::size_t end = begin + attribute.name.size();
  if (begin > 0 && source[begin - 1] == '"') --begin, ++end;
  if (!attribute.value.empty())
    end = static_cast<std::size_t>(attribute.value.data() - source.data()) + attribute.value.size();
  return {begin, end};
}

/// On a line of its own, two columns deeper than the line of the closing brace.
TextEdit yield_before(const std::string& source, std::size_t brace, const std::string& attribute) {
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

bool Editor::is_removed(int op, const Attribute& attribute) const {
  const auto found = removed_.find(op);
  return found != removed_.end() && found->second.count(std::string(attribute.name)) != 0;
}

std::string Editor::text() const {
  const std::string& source = *m_.text;
  std::vector<TextEdit> edits;
  std::set<int> rebuilt;  // ops whose attributes are written anew
  for (const auto& [index, names] : removed_) {
    const Operation& op = m_.op(index);
    if (std::none_of(op.attributes.begin(), op.attributes.end(),
                     [&, op_index = index](const Attribute& a) { return is_removed(op_index, a); }))
      continue;
    // What stays and what is new, in the place of all that was there.
    std::string kept;
    const auto keep = [&](const std::string& text) { kept += (kept.empty() ? "" : ", ") + text; };
    const auto added = added_.find(index);
    std::set<std::string> set;
    if (added != added_.end())
      for (const auto& [name, value] : added->second) {
        keep(entry(name, value));
        set.insert(name);
      }
    for (const Attribute& attribute : op.attributes) {
      if (is_removed(index, attribute) || set.count(std::string(attribute.name)) != 0) continue;
      const auto [begin, end] = extent(source, attribute);
      keep(source.substr(begin, end - begin));
    }
    const std::size_t begin = extent(source, op.attributes.front()).first;
    edits.push_back({begin, extent(source, op.attributes.back()).second - begin, kept});
    rebuilt.insert(index);
  }
  for (const auto& [index, list] : added_) {
    if (rebuilt.count(index) != 0) continue;
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
    else  // (of this op behind a word)
      fresh = (op.name == "scf.while" && !op.generic ? " attributes {" : " {") + fresh + "}";
    edits.push_back({op.attribute_offset, 0, fresh});
  }
  for (const auto& [region, attribute] : yields_)
    edits.push_back(
        yield_before(source, m_.regions[static_cast<std::size_t>(region)].end, attribute));
  for (const auto& [begin, end] : m_.gaps) edits.push_back({begin, end - begin, ""});
  return edited(source, std::move(edits));
}

}  // namespace twill::ttgir
