// Anytime curves: what a search had found and proved after how many CPU seconds.
#pragma once

#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/include/twill.hpp"

namespace twill::bench {

/// What is known at a moment; 0 = nothing yet.
struct CurvePoint {
  double cpu_seconds = 0;
  Cycle ii_low = 0, ii_high = 0;          ///< proved bound and best found
  Cycle length_low = 0, length_high = 0;  ///< at ii_high
  bool same_but_time(const CurvePoint& other) const {
    return ii_low == other.ii_low && ii_high == other.ii_high && length_low == other.length_low &&
           length_high == other.length_high;
  }
  bool proved() const {
    return ii_high > 0 && ii_low == ii_high && length_high > 0 && length_low == length_high;
  }
};

/// Listens to a search in this process, by the CPU seconds of all of its threads since it was made.
/// Bounds and schedules of a search only get better, so the best of what was told counts.
class CurveListener {
 public:
  void operator()(const Progress& progress) {
    CurvePoint point;
    point.ii_low = progress.ii_low;
    point.ii_high = progress.ii_high;
    if (progress.ii_high > 0) {
      point.length_low = progress.length_low;
      point.length_high = progress.length_high;
    }
    add(point);
  }
  void end(const Solution& solution) {
    CurvePoint point;
    point.ii_low = solution.ii_lower_bound;
    if (solution.schedule) {
      point.ii_high = solution.schedule->initiation_interval;
      point.length_high = solution.schedule->length;
      point.length_low = solution.length_lower_bound;
    }
    add(point);
  }
  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  void add(CurvePoint point) {
    const std::lock_guard lock(mutex_);
    point.cpu_seconds = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
    if (!points_.empty()) {
      const CurvePoint& last = points_.back();
      point.ii_low = std::max(point.ii_low, last.ii_low);
      if (last.ii_high > 0 && (point.ii_high == 0 || point.ii_high >= last.ii_high)) {
        if (point.ii_high != last.ii_high) point.length_high = point.length_low = 0;
        point.ii_high = last.ii_high;
        point.length_low = std::max(point.length_low, last.length_low);
        if (last.length_high > 0 &&
            (point.length_high == 0 || point.length_high > last.length_high))
          point.length_high = last.length_high;
      }
      if (point.same_but_time(last)) return;
    }
    points_.push_back(point);
  }

  std::clock_t begin_ = std::clock();
  std::mutex mutex_;
  std::vector<CurvePoint> points_;
};

/// [CPU seconds, bound of I, I found, bound of L, L found] of each.
inline nlohmann::ordered_json to_json(const std::vector<CurvePoint>& curve) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CurvePoint& p : curve)
    list.push_back({p.cpu_seconds, p.ii_low, p.ii_high, p.length_low, p.length_high});
  return list;
}

}  // namespace twill::bench
