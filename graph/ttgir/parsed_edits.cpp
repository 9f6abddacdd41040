#include "graph/ttgir/parsed_edits.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "graph/error.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::ttgir {

std::optional<Module> parsed_edits(const Module& module, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.offset < b.offset; });
  const auto lines_in = [](std::string_view text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const std::string_view text = *module.text;
  std::vector<std::size_t> line_of = {0, 1};  // per line of the new text, from 1
  std::size_t line = 1, done = 0;
  const auto pass = [&](std::size_t end) {
    for (; done < end; ++done)
      if (text[done] == '\n') line_of.push_back(++line);
  };
  for (const TextEdit& edit : edits) {
    pass(edit.offset);
    line_of.insert(line_of.end(), lines_in(edit.text), line);
    line += lines_in(text.substr(edit.offset, edit.removed));
    done = edit.offset + edit.removed;
  }
  pass(text.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places(line + 1);
  std::size_t seen = 0, now = 1;
  std::vector<std::pair<std::size_t, std::size_t>> begins;  // of ops
  for (std::size_t op = 0; op < module.ops.size(); ++op)
    begins.emplace_back(module.ops[op].begin, op);
  std::sort(begins.begin(), begins.end());
  for (const auto& [begin, op] : begins) {
    for (; seen < begin; ++seen) now += text[seen] == '\n';
    if (places[now].first == 0) places[now] = {module.ops[op].line, module.ops[op].column};
  }
  try {
    Module again = parse_module(edited(*module.text, std::move(edits)), module.source);
    for (Operation& op : again.ops) {
      if (op.line >= line_of.size() || line_of[op.line] >= places.size()) continue;
      const auto& place = places[line_of[op.line]];
      if (place.first != 0) std::tie(op.line, op.column) = place;
    }
    return again;
  } catch (const InputError&) {  // (A file that has one of the names.)
    return std::nullopt;
  }
}

}  // namespace twill::ttgir
