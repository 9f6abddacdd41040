#include "graph/program/oversized_handovers.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/program/links.hpp"

namespace twill::program {

std::vector<std::pair<std::string, std::string>> oversized_handovers(const Program& program) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!program.meaning) return pairs;
  const meaning::Meaning& m = *program.meaning;
  for (const Op& op : program.ops) {
    const auto made =
        std::find_if(m.values.begin() + m.loop_begin, m.values.begin() + m.after_begin,
                     [&](const meaning::Value& value) { return value.id == op.id; });
    if (made == m.values.begin() + m.after_begin) continue;
    const auto type = meaning::number_type(made->type);
    if (!type) continue;
    const Amount bytes = meaning::elements(made->shape) * type->bytes;
    for (const int s : op.writes) {
      const Storage& storage = program.storages[at(s)];
      if (storage.kind != Storage::in_memory || bytes_of(program, storage) >= bytes) continue;
      for (const Op& reader : program.ops)
        if (reader.slot != op.slot &&
            std::any_of(reader.reads.begin(), reader.reads.end(),
                        [&](const Read& read) { return read.storage == s; }))
          pairs.emplace_back(op.id, reader.id);
    }
  }
  return pairs;
}

}  // namespace twill::program
