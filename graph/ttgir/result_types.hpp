// The types of an op's results from its type clause: printed ops leave out what their traits imply.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

struct TypeClause {
  const std::vector<int>&before, &after;
  bool arrow = false;
};

/// The results of an op whose text names none: those of the type clause, of ops that are known to
/// have some.
std::size_t unnamed_results(const Operation& op, const TypeClause& clause);

/// One type (or kNone) for each of `count` results. `intern` adds a type that is not written out,
/// such as the mask of a comparison.
std::vector<int> result_types(Module& module, const Operation& op, const TypeClause& clause,
                              std::size_t count,
                              const std::function<int(std::string_view)>& intern);

}  // namespace twill::ttgir
