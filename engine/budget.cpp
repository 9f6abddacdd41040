#include "engine/budget.hpp"

#include <unistd.h>

#include <cstdio>

namespace twill {

std::int64_t resident_memory() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  const int fields = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return fields == 2 ? static_cast<std::int64_t>(resident) * sysconf(_SC_PAGESIZE) : 0;
}

Budget::Budget(Budget& whole, std::stop_token stop)
    : whole_(&whole),
      stop_(std::move(stop)),
      begin_(whole.begin_),
      seconds_(0),
      conflict_limit_(whole.conflicts_left()),
      memory_limit_(0) {}

void Budget::join() {
  whole_->conflicts_ += conflicts_;
  joined_ = true;
}

bool Budget::spent() {
  if (joined_) return whole_->spent();
  if (reason_.load() != nullptr) return true;
  const char* reason = nullptr;
  if (stop_.stop_requested() || (whole_ != nullptr && whole_->spent())) reason = "stopped";
  if (seconds_ > 0 && elapsed() >= seconds_) reason = "time limit";
  if (conflict_limit_ > 0 && conflicts_ >= conflict_limit_) reason = "conflict limit";
  // Reading the process's size costs a system call or two: every 64th poll is enough.
  if (memory_limit_ > 0 && polls_++ % 64 == 0 && resident_memory() > memory_limit_)
    reason = "memory limit";
  if (reason == nullptr) return false;
  const char* none = nullptr;
  reason_.compare_exchange_strong(none, reason);
  return true;
}

std::string Budget::reason() const {
  if (joined_) return whole_->reason();
  const char* reason = reason_.load();
  return reason ? reason : "";
}

std::int64_t Budget::conflicts_left() const {
  if (joined_) return whole_->conflicts_left();
  if (conflict_limit_ <= 0) return -1;
  const std::int64_t left = conflict_limit_ - conflicts_;
  return left > 0 ? left : 0;
}

}  // namespace twill
