// Where a loop has no schedule as it is asked for: other ways to put it on its machine.
#pragma once

#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cli/make_program.hpp"
#include "graph/emit/gluon.hpp"
#include "graph/error.hpp"

namespace twill::cli {

/// Flags that ask for something else, each with the options that say it: registers chosen, the tile
/// program split. None where the caller has fixed what they would change.
std::vector<std::pair<std::string, MakeFlags>> other_ways(const MakeFlags& flags);

inline const ProgramResult& result_of(const ProgramResult& made) {
  return made;
}

/// Registers a thread that slots of what is made lack, by an estimate.
inline Amount lacking_of(const ProgramResult&) {
  return 0;
}

/// So many registers lacking that ptxas is all but sure to spill, or to end products one by one.
inline constexpr Amount kMuchLacking = 96;

/// Is there no schedule, as is proved, or no text because of what the slots hold? Anything else
/// that is missing is missing in every way.
inline bool asks_for_another(const ProgramResult& result) {
  if (result.missing == Missing::text)
    return result.rule == "storage" || result.rule == "limits" ||
           result.rule == emit::kHandedProduct;
  return result.missing == Missing::schedule && result.status == Status::infeasible;
}

/// `first`, or the first of other_ways() that lacks less than half as many registers, of no larger
/// I.
template <class Made>
Made roomier(const MakeFlags& flags, const std::function<Made(const MakeFlags&)>& make,
             Made first) {
  const auto interval = [](const Made& made) {
    return result_of(made).made->program.initiation_interval;
  };
  for (const auto& [name, other] : other_ways(flags)) {
    try {
      Made made = make(other);
      if (result_of(made).missing != Missing::nothing || interval(made) > interval(first) ||
          2 * lacking_of(made) > lacking_of(first))
        continue;
      if (!flags.quiet)
        std::cerr << "slots lack registers as it is, about " << lacking_of(first)
                  << " a thread: made with " << name << "\n";
      return made;
    } catch (const InputError&) {  // not for this loop
    }
  }
  return first;
}

/// What `make` makes of the flags; where that asks_for_another(), or no layout holds the loop, what
/// it makes of the first of other_ways() where nothing is missing, else of the first with a
/// schedule, if there was none before. Standard error says which. Is there none, the first answer
/// stands. Where kMuchLacking registers are lacking, the first way of no larger I that lacks less
/// than half as many is taken. Throws what `make` throws of the flags as they are.
template <class Made>
Made with_schedule(const MakeFlags& flags, const std::function<Made(const MakeFlags&)>& make) {
  std::optional<Made> first;
  std::exception_ptr refused;
  try {
    first = make(flags);
    if (result_of(*first).missing == Missing::nothing && lacking_of(*first) >= kMuchLacking)
      return roomier(flags, make, std::move(*first));
    if (!asks_for_another(result_of(*first))) return std::move(*first);
  } catch (const InputError& error) {
    if (error.place() != "/layouts") throw;
    refused = std::current_exception();
  }
  const bool text = first && result_of(*first).missing == Missing::text;
  const auto say = [&](const std::string& name) {
    if (flags.quiet) return;
    std::cerr << (text      ? "no kernel as it is (" + result_of(*first).why + ")"
                  : refused ? "no layout can hold it as it is"
                            : "it has no schedule as it is (proved)")
              << ": made with " << name << "\n";
  };
  std::optional<std::pair<std::string, Made>> without_text;
  for (const auto& [name, other] : other_ways(flags)) {
    std::optional<Made> made;
    try {
      made = make(other);
    } catch (const InputError&) {  // not for this loop
      continue;
    }
    const Missing missing = result_of(*made).missing;
    if (missing == Missing::schedule) {
      if (result_of(*made).status == Status::infeasible) continue;
      break;  // stopped by the caller or a limit
    }
    if (missing == Missing::nothing) {
      say(name);
      return std::move(*made);
    }
    if (!text && !without_text) without_text.emplace(name, std::move(*made));
  }
  if (without_text) {
    say(without_text->first);
    return std::move(without_text->second);
  }
  if (refused) std::rethrow_exception(refused);
  return std::move(*first);
}

}  // namespace twill::cli
