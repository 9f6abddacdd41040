// What can be said of a program without running it: the judge's own reading of it (judge.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/program/judge.hpp"

namespace twill::program::judged {

using Finding = std::optional<Fault>;
using Index = std::size_t;

inline Index index(int i) {
  return static_cast<Index>(i);
}

/// Bytes or columns from one copy of a storage to the next.
Amount step_of(const Storage& s);

/// The ops whose ends are arrivals of an event.
std::vector<int> ends_of(const Event& event);

/// First address of a copy and the one after its last.
struct Range {
  Amount begin = 0, end = 0;
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const Range&) const = default;
};

Range copy_range(const Storage& s, std::int64_t iteration);

/// Rules "shape", "memory", "bytes", "arrivals", "fence" and those versions that no run has to
/// show.
Finding check_shape(const Program& program);

}  // namespace twill::program::judged
