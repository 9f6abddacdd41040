#include "graph/ttgir/text_edit.hpp"

#include <algorithm>

namespace twill::ttgir {

std::string edited(const std::string& source, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.offset < b.offset; });
  std::string result;
  std::size_t done = 0;
  for (const TextEdit& edit : edits) {
    result += source.substr(done, edit.offset - done) + edit.text;
    done = edit.offset + edit.removed;
  }
  return result + source.substr(done);
}

std::size_t line_around(const std::string& text, std::size_t offset) {
  const std::size_t end = text.rfind('\n', offset);
  return end == std::string::npos ? 0 : end + 1;
}

}  // namespace twill::ttgir
