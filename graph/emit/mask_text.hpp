// Masks that are no rules of places, as text.
#pragma once

#include <string>

#include "graph/emit/element_text.hpp"

namespace twill::emit {

/// A comparison of integers of an element; one that says "or" of others
/// (ttgir/element_places.cpp) as that.
std::string mask_text(const Plan& plan, const meaning::IndexComparison& one,
                      const ElementNames& names);

}  // namespace twill::emit
