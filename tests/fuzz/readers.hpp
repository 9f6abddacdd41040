// Every reader of files but TTGIR's, as the fuzzers and the replay of their corpora call it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twill::fuzz {

/// Reads any bytes and does with what was read what the program would do next: checks, bounds,
/// lowering; what can be written is written, read back and compared. True when the input was
/// accepted, false when it was refused by InputError. Everything else is a defect: another
/// exception goes on, and a broken promise ends the process.
struct Reader {
  const char* name;
  bool json;  ///< mutated as a tree, too
  bool (*accepts)(std::string_view bytes);
  /// Files of the tree to begin with, relative to its root: a file, or a folder and an ending.
  std::vector<std::string> seeds;
};

const std::vector<Reader>& readers();
/// Throws std::runtime_error for an unknown name.
const Reader& reader(std::string_view name);

/// The reader's seeds: files of the tree below `root`, its folder tests/fuzz/NAME, and for
/// certificates those of the smallest examples, made here.
std::vector<std::string> seeds_of(const Reader& reader, const std::string& root);

}  // namespace twill::fuzz
