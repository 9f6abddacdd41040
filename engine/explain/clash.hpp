// A minimal set of constraints that leave no schedule at one initiation interval.
//
// The order form with a selector for each part of the problem (ConstraintPart) is refuted once; the
// parts that the refutation uses, taken from CaDiCaL's failed assumptions over the clauses and the
// lemmas, clash. Then parts are left out and the rest is asked again: what is still refuted loses
// all that its refutation does not use, and a model shows that one of the parts left out is needed
// (deletion, in chunks that grow and shrink; a model names the parts that it breaks, and where that
// is one, it is the one; Marques-Silva, "Minimal unsatisfiability: models, algorithms and
// applications", ISMVL 2010).
#pragma once

#include <optional>
#include <vector>

#include "encoders/placement.hpp"
#include "engine/search.hpp"

namespace twill::order {

/// A part of a clash.
struct Clashing {
  ConstraintPart part;
  /// Starts and slots that keep all other parts of the clash, and break this one (the rest of the
  /// problem they may break too); none = it was not decided whether the part is needed.
  std::optional<Schedule> without;
};

/// The parts clash at `ii`: with the loop's slots, widths and values, which are no parts, they
/// leave no schedule within the stages of the search. Empty = not refuted, within `conflicts` or at
/// all. Otherwise a clash, minimal (a MUS) where all of them have `without`; every question about a
/// smaller one may take `question_conflicts`, all of them `conflicts`. 0 = no limit. Of the
/// search neither goals nor pins and limits are looked at; those of the problem are parts.
std::vector<Clashing> minimal_clash(const Search& search, Cycle ii, std::int64_t conflicts,
                                    std::int64_t question_conflicts);

}  // namespace twill::order
