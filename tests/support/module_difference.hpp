// A module's loop executed op by op beside what its meaning computes of the same inputs.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <variant>

#include "graph/meaning/reference.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"

namespace twill::test {

/// What a module's loop computes; the test fails where that is not known.
inline ttgir::ModuleMeaning meaning_of(const ttgir::LoweredModule& lowered) {
  auto result = ttgir::meaning_of_loop(lowered);
  if (const auto* no = std::get_if<ttgir::NoMeaning>(&result)) FAIL(no->why);
  return std::get<ttgir::ModuleMeaning>(std::move(result));
}

struct ModuleDifference {
  /// Of all outputs, relative to the largest number; infinite where one alone is no number.
  double largest = 0;
  int compared = 0;  ///< numbers
};

/// Of n iterations, launched so. `change` makes a mutant of the meaning.
inline ModuleDifference module_difference(
    const ttgir::LoweredModule& lowered, ttgir::ModuleMeaning of, const meaning::Launch& launch,
    int n, const std::function<void(meaning::Meaning&)>& change = nullptr) {
  ttgir::set_numbers(of.meaning, of.kernel, launch);
  const auto result = ttgir::run_module(lowered, of, launch, n, 7);
  if (const auto* no = std::get_if<ttgir::NotInterpreted>(&result)) FAIL(no->why);
  const ttgir::ModuleRun& run = std::get<ttgir::ModuleRun>(result);
  if (change) change(of.meaning);
  const auto mine = meaning::reference(of.meaning, n, run.inputs);
  ModuleDifference found;
  double scale = 0;
  for (std::size_t t = 0; t < mine.size(); ++t)
    for (std::size_t i = 0; i < mine[t].size(); ++i)
      for (std::size_t k = 0; k < mine[t][i].value.data.size(); ++k) {
        const double x = mine[t][i].value.data[k], y = run.outputs.at(t).at(i).data.at(k);
        ++found.compared;
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        if (!std::isfinite(x) || !std::isfinite(y)) return {HUGE_VAL, found.compared};
        scale = std::max(scale, std::abs(y));
        found.largest = std::max(found.largest, std::abs(x - y));
      }
  if (scale > 0) found.largest /= scale;
  return found;
}

}  // namespace twill::test
