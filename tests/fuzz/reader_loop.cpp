// Any compiler: a number of mutated inputs to one reader, each within 5 seconds of processor time
// and 1 GiB. What breaks is written to a folder, and the loop goes on behind it.
//
//   reader_loop list                     the readers' names
//   reader_loop READER seeds FOLDER      its seeds as files, for libFuzzer
//   reader_loop READER replay FILE...    these, one after the other, with their times
//   reader_loop READER INPUTS [SEED [FOLDER [SECONDS]]]
//
// From the root of the checkout; ends with "N inputs, A accepted, S s, F failed"; not 0 where any
// failed.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "graph/io/file.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/readers.hpp"

namespace {

using twill::fuzz::Random;

constexpr int kSeconds = 5;
constexpr rlim_t kMemory = rlim_t{1} << 30;

/// What the parent sees of its child, whatever happens to it.
struct Shared {
  std::atomic<std::uint64_t> done, accepted;
  char why[200];
};
Shared* shared = nullptr;

volatile std::sig_atomic_t ticks = 0;
std::uint64_t ticked_at = 0;

/// Once a second of processor time.
void tick(int) {
  const std::uint64_t now = shared->done.load();
  ticks = now == ticked_at ? ticks + 1 : 0;
  ticked_at = now;
  if (ticks <= kSeconds) return;
  std::strcpy(shared->why, "takes more than 5 s");
  _exit(3);
}

struct Seed {
  std::string text;
  nlohmann::ordered_json json;  ///< discarded where it is none
};

/// The input of a number, the same in parent and child.
std::string input(const twill::fuzz::Reader& reader, const std::vector<Seed>& seeds,
                  std::uint64_t seed, std::uint64_t number) {
  Random random(seed * 1'000'003 + number);
  random.discard(2);
  // Small files are quicker, so they are taken more often: the smallest of four.
  const Seed* one = &seeds[random() % seeds.size()];
  const Seed* two = one;
  for (int n = 0; n < 3; ++n) {
    two = &seeds[random() % seeds.size()];
    if (two->text.size() < one->text.size()) std::swap(one, two);
  }
  const std::string& text = one->text;
  if (std::strcmp(reader.name, "certificate") == 0)
    return twill::fuzz::mutate_certificate(text, random);
  return reader.json ? twill::fuzz::mutate_json(text, one->json, two->json, random)
                     : twill::fuzz::mutate_text(text, random);
}

using Clock = std::chrono::steady_clock;

[[noreturn]] void child(const twill::fuzz::Reader& reader, const std::vector<Seed>& seeds,
                        std::uint64_t seed, std::uint64_t to, Clock::time_point end) {
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit most{kMemory, kMemory};
  ::setrlimit(RLIMIT_AS, &most);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGPROF, tick);
  const itimerval second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_PROF, &second, nullptr);
  for (std::uint64_t number = shared->done; number < to; ++number) {
    if (number % 64 == 0 && Clock::now() > end) break;
    try {
      if (reader.accepts(input(reader, seeds, seed, number))) ++shared->accepted;
    } catch (const std::exception& error) {
      std::snprintf(shared->why, sizeof shared->why, "throws %s", error.what());
      _exit(3);
    }
    ++shared->done;
  }
  _exit(0);
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

int loop(const twill::fuzz::Reader& reader, const std::vector<Seed>& seeds, std::uint64_t inputs,
         std::uint64_t seed, const std::filesystem::path& folder, double seconds) {
  shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
  int failed = 0;
  while (shared->done < inputs && failed < 100 && Clock::now() < end) {
    shared->why[0] = 0;
    const pid_t pid = ::fork();
    if (pid == 0) child(reader, seeds, seed, inputs, end);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    if (WIFSIGNALED(status))
      std::snprintf(shared->why, sizeof shared->why, "signal %s", ::strsignal(WTERMSIG(status)));
    const std::uint64_t number = shared->done++;
    const auto file = folder / (std::string(reader.name) + "-" + std::to_string(seed) + "-" +
                                std::to_string(number));
    write(file, input(reader, seeds, seed, number));
    std::cout << file.string() << ": " << shared->why << std::endl;
    ++failed;
  }
  const std::chrono::duration<double> spent = Clock::now() - begin;
  std::cout << reader.name << ": " << shared->done << " inputs, " << shared->accepted
            << " accepted, " << static_cast<int>(spent.count()) << " s, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> argument(words + 1, words + count);
  if (argument.size() == 1 && argument[0] == "list") {
    for (const auto& reader : twill::fuzz::readers()) std::cout << reader.name << "\n";
    return 0;
  }
  if (argument.size() < 2) {
    std::cerr << "reader_loop READER INPUTS [SEED [FOLDER [SECONDS]]]\n";
    return 2;
  }
  const twill::fuzz::Reader& reader = twill::fuzz::reader(argument[0]);
  if (argument[1] == "replay") {
    for (std::size_t i = 2; i < argument.size(); ++i) {
      const auto begin = Clock::now();
      const bool yes = reader.accepts(twill::read_file(argument[i]));
      const std::chrono::duration<double> spent = Clock::now() - begin;
      std::cout << argument[i] << ": " << (yes ? "accepted, " : "refused, ") << spent.count()
                << " s" << std::endl;
    }
    return 0;
  }
  const std::vector<std::string> seeds = twill::fuzz::seeds_of(reader, ".");
  const auto word = [&](std::size_t i, const char* otherwise) {
    return i < argument.size() ? argument[i] : std::string(otherwise);
  };
  const std::filesystem::path folder = word(argument[1] == "seeds" ? 2 : 3, "found");
  if (argument[1] == "seeds") {
    for (std::size_t i = 0; i < seeds.size(); ++i)
      write(folder / ("seed-" + std::to_string(i)), seeds[i]);
    return 0;
  }
  if (seeds.empty()) {
    std::cerr << "no seeds for " << reader.name << "\n";
    return 2;
  }
  std::vector<Seed> parsed;
  for (const std::string& text : seeds)
    parsed.push_back({text, nlohmann::ordered_json::parse(text, nullptr, false)});
  return loop(reader, parsed, std::stoull(argument[1]), std::stoull(word(2, "1")), folder,
              std::stod(word(4, "1e9")));
}
