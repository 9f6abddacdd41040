// Changes of a text that else stays byte for byte. Private to graph/ttgir/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace twill::ttgir {

/// From `offset` on, `removed` bytes of the source go and `text` comes.
struct TextEdit {
  std::size_t offset = 0, removed = 0;
  std::string text;
};

/// The source with all edits, which do not overlap; of several at one offset, in their order.
std::string edited(const std::string& source, std::vector<TextEdit> edits);

/// Where the line begins that an offset of a text is in.
std::size_t line_around(const std::string& text, std::size_t offset);

}  // namespace twill::ttgir
