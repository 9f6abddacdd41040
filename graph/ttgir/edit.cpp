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
  std::sort(edits.begin(), edits.end(),
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
