// How many threads work is for.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <algorithm>

namespace twill {

/// `wanted` (0 = as many as there are), but no more than the process is allowed: TBB complains
/// about requests beyond it. One thread is one without asking, since TBB takes its time to begin.
inline int threads_for(int wanted) {
  if (wanted == 1) return 1;
  const int allowed = static_cast<int>(oneapi::tbb::global_control::active_value(
      oneapi::tbb::global_control::max_allowed_parallelism));
  return wanted > 0 ? std::min(wanted, allowed) : allowed;
}

}  // namespace twill
