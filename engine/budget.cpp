#include "engine/budget.hpp"

#include <fcntl.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

namespace twill {
namespace {

constexpr std::int64_t kLook = 10'000'000;  // nanoseconds between two looks at the process's size
constexpr double kGivenBack = 1.75e9;       // bytes a second that a solver's destructor frees

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A number in a file of the system, -1 = there is none ("max" in a control group).
std::int64_t number_in(const std::string& path, const std::string& key = {}) {
  std::ifstream file(path);
  std::string word;
  if (!key.empty())
    while (file >> word && word != key) {
    }
  std::int64_t value = -1;
  return file >> value ? value : -1;
}

// What the control groups of this process leave, version 2: the least of the groups on the way up.
std::int64_t left_in_control_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::string line; std::getline(file, line);) {
    // "0::/user.slice/..." of version 2; "4:memory:/..." of version 1.
    const bool second = line.starts_with("0::");
    const std::size_t path = line.rfind(":/");
    if (path == std::string::npos || (!second && line.find(":memory:") == std::string::npos))
      continue;
    const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string group = line.substr(path + 1);;) {
      const std::string folder = root + (group == "/" ? "" : group);
      const std::int64_t limit =
          number_in(folder + (second ? "/memory.max" : "/memory.limit_in_bytes"));
      const std::int64_t used =
          number_in(folder + (second ? "/memory.current" : "/memory.usage_in_bytes"));
      if (limit >= 0) {
        // Pages of files are given back when they are needed.
        const std::int64_t files =
            number_in(folder + "/memory.stat", second ? "inactive_file" : "total_inactive_file");
        least = std::min(
            least, limit - std::max<std::int64_t>(0, used) + std::max<std::int64_t>(0, files));
      }
      if (group.size() <= 1) break;
      group.resize(std::max<std::size_t>(1, group.rfind('/')));
    }
  }
  return least;
}

}  // namespace

// Without the C++ and C libraries' files, which allocate.
std::int64_t resident_memory() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128];
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return 0;
  const char *const begin = text, *const end = begin + size;
  const char* const second = std::find(begin, end, ' ');
  std::int64_t pages = 0;
  if (second == end || std::from_chars(second + 1, end, pages).ec != std::errc()) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

std::int64_t default_memory_limit() {
  std::int64_t available = number_in("/proc/meminfo", "MemAvailable:");
  if (available < 0) return 0;
  available = std::max<std::int64_t>(0, std::min(available * 1024, left_in_control_groups()));
  return resident_memory() + available / 4 * 3;
}

Budget::Budget(Budget& whole, std::stop_token stop, std::int64_t most)
    : whole_(&whole),
      stop_(std::move(stop)),
      begin_(whole.begin_),
      seconds_(0),
      conflict_limit_(whole.conflicts_left()),
      memory_limit_(0) {
  if (most > 0) conflict_limit_ = conflict_limit_ > 0 ? std::min(conflict_limit_, most) : most;
}

void Budget::join() {
  whole_->conflicts_ += conflicts_;
  joined_ = true;
}

bool Budget::spent() {
  if (joined_) return whole_->spent();
  if (reason_.load() != Stop::unsaid) return true;
  Stop reason = Stop::unsaid;
  if (stop_.stop_requested() || (whole_ != nullptr && whole_->spent())) reason = Stop::interrupt;
  const double seconds = keeps_back() ? seconds_ - seconds_ / kKeptBack : seconds_;
  if (seconds_ > 0 && elapsed() >= seconds - giving_back()) reason = Stop::time_limit;
  if (conflict_limit_ > 0 && conflicts_ >= conflict_limit()) reason = Stop::conflict_limit;
  if (memory_limit_ > 0 && size() > memory_limit_) reason = Stop::memory_limit;
  if (reason == Stop::unsaid) return false;
  end(reason);
  return true;
}

bool Budget::keeps_back() const {
  const std::int64_t after = kept_back_after_;
  return after >= 0 && conflicts_ >= after;
}

// (What is kept back from is not less than what has to be there first.)
std::int64_t Budget::conflict_limit() const {
  const std::int64_t after = kept_back_after_;
  if (after < 0) return conflict_limit_;
  return std::min(conflict_limit_, std::max(after, conflict_limit_ - conflict_limit_ / kKeptBack));
}

// What has ended early has ended by a limit, whatever comes after: the reason is kept.
void Budget::release(bool settled) {
  const bool early = keeps_back();
  kept_back_after_ = -1;
  const Stop reason = reason_;
  if (!early || !((reason == Stop::conflict_limit && conflicts_ < conflict_limit_) ||
                  (reason == Stop::time_limit && elapsed() < seconds_ - giving_back())))
    return;
  ended_early_ = settled ? Stop::unsaid : reason;
  reason_ = Stop::unsaid;
}

// Reading the process's size costs a few system calls.
std::int64_t Budget::size() {
  const std::int64_t time = now();
  if (time >= next_look_.load(std::memory_order_relaxed)) {
    next_look_.store(time + kLook, std::memory_order_relaxed);
    size_.store(resident_memory(), std::memory_order_relaxed);
  }
  return size_.load(std::memory_order_relaxed);
}

double Budget::giving_back() {
  const auto taken = static_cast<double>(std::max<std::int64_t>(0, size() - memory_before_));
  return std::min(taken / kGivenBack, seconds_ / 5);
}

bool Budget::room_for(std::int64_t bytes) {
  if (whole_ != nullptr) return whole_->room_for(bytes);
  if (reason_.load() != Stop::unsaid) return false;
  if (memory_limit_ <= 0 || bytes < kUnasked) return true;
  if (has_room(bytes)) return true;
  std::int64_t none = 0;
  not_begun_.compare_exchange_strong(none, bytes);
  end(Stop::memory_limit);
  return false;
}

bool Budget::has_room(std::int64_t bytes) const {
  if (whole_ != nullptr) return whole_->has_room(bytes);
  if (memory_limit_ <= 0) return true;
  return bytes <= memory_limit_ && resident_memory() <= memory_limit_ - bytes;
}

// (Where the system refused without a limit, it would refuse again. What a program has freed it may
// still have. Where most of the limit is taken all the same, there is nothing to go on with.)
bool Budget::go_on_with_less() {
  if (whole_ != nullptr || memory_limit_ <= 0 || reason_ != Stop::memory_limit) return false;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  next_look_ = 0;
  if (!has_room(memory_limit_ / 4)) return false;
  std::int64_t none = 0;
  not_begun_.compare_exchange_strong(none, -1);
  ended_early_ = Stop::memory_limit;
  reason_ = Stop::unsaid;
  return true;
}

void Budget::out_of_memory() {
  if (whole_ != nullptr)
    whole_->out_of_memory();
  else
    end(Stop::memory_limit);
}

void Budget::end(Stop reason) {
  Stop none = Stop::unsaid;
  reason_.compare_exchange_strong(none, reason);
}

Stop Budget::reason() const {
  if (joined_) return whole_->reason();
  const Stop reason = reason_;
  return reason != Stop::unsaid ? reason : ended_early_.load();
}

std::int64_t Budget::conflicts_left() const {
  if (joined_) return whole_->conflicts_left();
  if (conflict_limit_ <= 0) return -1;
  const std::int64_t left = conflict_limit() - conflicts_;
  return left > 0 ? left : 0;
}

}  // namespace twill
