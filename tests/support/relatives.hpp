// The engines against every_schedule(), on one wild loop: answers, bounds, goals, certificates.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/wild_loop.hpp"

namespace twill::test {

struct JudgeSettings {
  std::int64_t most_nodes = 200'000;  ///< of every_schedule()
  std::string folder;  ///< certificates are written to and removed from here; "" = none
};

/// What was met, by name: how many loops have a schedule, were left unfinished, ...
using Tally = std::map<std::string, std::int64_t>;

/// Asks both engines, with the same options, and says what is wrong with an answer, "" = nothing:
/// status, I, L, bounds, goals, stages and depths of rings against the enumeration, the schedule
/// against its rules and against verify(), and a certificate of the answer that is written and
/// checked. Then asks for schedules better than (I, L)s around the best. Begins with the kind of
/// fault, a colon, and the engine.
std::string fault(const WildCase& wild, const JudgeSettings& settings, Tally& tally);

/// The case made small as long as its fault is of the same kind: options left out, then shrink().
WildCase smaller(WildCase wild, const JudgeSettings& settings);

/// The options of a case as text, for a report.
std::string options_text(const WildCase& wild);

}  // namespace twill::test
