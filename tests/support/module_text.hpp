// Lines of a module's text, and what a module stores when its ops are executed one by one.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "graph/io/builtin.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/replaced.hpp"

namespace twill::test {

/// The one line that has these words.
inline std::string line_with(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  CAPTURE(words);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(words, at + 1) == std::string::npos);
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) + 1 - begin);
}

/// The two sides of its first branch exchanged.
inline std::string with_sides_exchanged(const std::string& text) {
  const std::size_t open = text.find("scf.if"), brace = text.find(" {", open) + 2,
                    other = text.find("} else {", brace), end = text.find("} loc", other + 8);
  REQUIRE(end != std::string::npos);
  const std::string then = text.substr(brace, other - brace),
                    otherwise = text.substr(other + 8, end - other - 8);
  return text.substr(0, brace) + otherwise + "} else {" + then + text.substr(end);
}

/// The tiles that tt.store stores, of a run by the module's first loop.
inline std::vector<std::vector<double>> stored_tiles(const ttgir::Module& module,
                                                     const meaning::Launch& launch) {
  const auto done =
      ttgir::interpret(module, ttgir::list_loops(module).front().op, launch, 0.125, 5);
  REQUIRE(std::holds_alternative<ttgir::Interpretation>(done));
  std::vector<std::vector<double>> all;
  for (const auto& [op, tiles] : std::get<ttgir::Interpretation>(done).moved)
    if (module.op(op).name == "tt.store")
      for (const auto& tile : tiles) all.push_back(tile.data);
  return all;
}

/// Does a module store what another form of it does? At several trip counts of its loop, launched
/// as the text asks for.
inline void check_stores_the_same(const std::string& text, const std::string& machine,
                                  const ttgir::Module& before, const ttgir::Module& after) {
  ttgir::LoopOptions options;
  options.undo_rings = true;
  const meaning::UserKernel kernel =
      meaning_of(ttgir::lower_module(text, "m", builtin_machine(machine), machine, options, {}))
          .kernel;
  CHECK(kernel.incomplete.empty());
  for (const int n : {0, 1, 2, 5, 8}) {
    CAPTURE(n);
    const auto launch = ttgir::launch_of(kernel, n);
    REQUIRE(launch);
    const auto right = stored_tiles(before, *launch);
    CHECK(right.size() == 1);
    CHECK(right == stored_tiles(after, *launch));
  }
}

}  // namespace twill::test
