// Lists of what is built in, for C++: kernels, machines, encodings.
//
//   for (const twill::EncodingEntry& e : twill::encoding_entries())
//     std::cout << e.key << "=" << e.value << "  " << e.source << "\n";
#pragma once

#include <string>
#include <vector>

namespace twill {

/// A kernel or a machine, as builtin_kernel() and builtin_machine() (twill.hpp) take its name.
struct Entry {
  std::string name;
  std::string doc;  ///< of its file, "" when it has none; of an alias what it stands for
};

std::vector<Entry> kernel_entries();
std::vector<Entry> machine_entries();

/// An encoding, as Options::encoding takes it: "key=value". What a field has nothing to say of is
/// "".
struct EncodingEntry {
  std::string key, value;
  std::string source;             ///< the paper
  std::string family;             ///< what it is built of
  std::string propagation;        ///< what unit propagation finds out by it
  std::string smaller_bounds_by;  ///< how a smaller bound is asked for
  std::string size;               ///< variables and clauses
  std::string claim;
};

std::vector<EncodingEntry> encoding_entries();

/// What `twill kernels --json`, `machines --json` and `encodings --json` print.
std::string entries_json(const std::vector<Entry>& entries);
std::string encodings_json();

}  // namespace twill
