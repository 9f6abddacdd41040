// A limit on the CPU time of this process.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "bench/lab/question.hpp"

namespace twill::bench {

/// Asks for a stop when this process has used its CPU time or the outer token asks; limits by CPU
/// time stay honest however many rows share the machine.
class CpuWatch {
 public:
  CpuWatch(double seconds, const std::stop_token& outer)
      : thread_([this, seconds, outer](const std::stop_token& end) {
          std::mutex mutex;
          std::condition_variable_any sleep;
          std::unique_lock lock(mutex);
          while (!end.stop_requested()) {
            if (seconds > 0 && cpu_seconds() >= seconds) {
              out_of_time_ = true;
              source_.request_stop();
            }
            if (outer.stop_requested()) source_.request_stop();
            sleep.wait_for(lock, end, std::chrono::milliseconds(20), [] { return false; });
          }
        }) {}
  std::stop_token token() const { return source_.get_token(); }
  bool out_of_time() const { return out_of_time_; }

 private:
  std::stop_source source_;
  std::atomic<bool> out_of_time_ = false;
  std::jthread thread_;
};

}  // namespace twill::bench
