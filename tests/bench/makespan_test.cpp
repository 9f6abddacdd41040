// Makespans of projects with least and most times between starts (RCPSP/max): read, bounded and
// solved beside enumeration; published lists.
#include "bench/lab/makespan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/lab/published.hpp"
#include "graph/check.hpp"
#include "graph/io/file.hpp"
#include "tests/support/file_samples.hpp"
#include "tests/support/random_loop.hpp"

namespace makespan_test {

using namespace twill;
using namespace twill::bench;
using test::Random;
using test::refusal;

namespace {

/// A project as it is drawn, without a word of problems.
struct Drawn {
  struct Lag {
    int from, to, cycles;
  };
  std::vector<int> durations;
  std::vector<std::vector<int>> demands;  // activity, resource
  std::vector<int> available;
  std::vector<Lag> lags;

  std::string text() const {
    const std::size_t jobs = durations.size();
    std::string out =
        std::to_string(jobs - 2) + "\t" + std::to_string(available.size()) + "\t0\t0\n";
    for (std::size_t j = 0; j < jobs; ++j) {
      std::string to, cycles;
      int count = 0;
      for (const Lag& lag : lags)
        if (lag.from == static_cast<int>(j)) {
          ++count;
          to += "\t" + std::to_string(lag.to);
          cycles += "\t[" + std::to_string(lag.cycles) + "]";
        }
      out += std::to_string(j) + "\t1\t" + std::to_string(count) + to + cycles + "\n";
    }
    for (std::size_t j = 0; j < jobs; ++j) {
      out += std::to_string(j) + "\t1\t" + std::to_string(durations[j]);
      for (const int d : demands[j]) out += "\t" + std::to_string(d);
      out += "\n";
    }
    for (const int a : available) out += std::to_string(a) + "\t";
    return out + "\n";
  }
};

Drawn draw(Random& random) {
  Drawn d;
  const int jobs = static_cast<int>(random.range(1, 4)) + 2;
  const int units = static_cast<int>(random.range(0, 2));
  for (int u = 0; u < units; ++u) d.available.push_back(static_cast<int>(random.range(1, 3)));
  for (int j = 0; j < jobs; ++j) {
    const bool dummy = j == 0 || j == jobs - 1;
    d.durations.push_back(dummy ? 0 : static_cast<int>(random.range(0, 3)));
    d.demands.emplace_back();
    for (int u = 0; u < units; ++u)  // now and then more than there is
      d.demands.back().push_back(
          dummy ? 0
                : static_cast<int>(random.range(
                      0, d.available[static_cast<std::size_t>(u)] + (random.percent(2) ? 1 : 0))));
  }
  const auto lag = [&](int from, int to, std::int64_t low, std::int64_t high) {
    for (const Drawn::Lag& l : d.lags)
      if (l.from == from && l.to == to) return;
    d.lags.push_back({from, to, static_cast<int>(random.range(low, high))});
  };
  for (int j = 1; j < jobs - 1; ++j) {
    lag(0, j, 0, random.percent(70) ? 0 : 2);
    lag(j, jobs - 1, d.durations[static_cast<std::size_t>(j)],
        d.durations[static_cast<std::size_t>(j)]);
    for (int k = 1; k < jobs - 1; ++k) {
      if (k == j) continue;
      if (random.percent(j < k ? 40 : 10)) lag(j, k, 0, 3);  // at least
      if (random.percent(25)) lag(j, k, -5, 0);              // at most, of the other
    }
  }
  return d;
}

/// The least makespan by trying all starts up to `most`; 0 = none. The last activity's start
/// counts.
int enumerated(const Drawn& d, int most, std::vector<int>& start) {
  const std::size_t v = start.size();
  if (v == d.durations.size()) {
    int end = 0;
    for (std::size_t j = 0; j < v; ++j) end = std::max(end, start[j] + d.durations[j]);
    return std::max(1, end);
  }
  int best = 0;
  for (int at = 0; at + d.durations[v] <= most; ++at) {
    start.push_back(at);
    bool holds = true;
    for (const Drawn::Lag& l : d.lags) {
      const auto from = static_cast<std::size_t>(l.from), to = static_cast<std::size_t>(l.to);
      if (std::max(from, to) == v) holds = holds && start[to] >= start[from] + l.cycles;
    }
    for (int t = at; holds && t < at + d.durations[v]; ++t)
      for (std::size_t u = 0; u < d.available.size(); ++u) {
        int sum = 0;
        for (std::size_t j = 0; j <= v; ++j)
          if (start[j] <= t && t < start[j] + d.durations[j]) sum += d.demands[j][u];
        holds = holds && sum <= d.available[u];
      }
    if (holds)
      if (const int end = enumerated(d, most, start); end > 0 && (best == 0 || end < best))
        best = end;
    start.pop_back();
  }
  return best;
}

}  // namespace

TEST_CASE("projects with least and most times: the makespan of enumeration, or none") {
  Random random(20261125);
  int optimal = 0, none = 0, by_lags = 0, above_bound = 0;
  for (int round = 0; round < 1500; ++round) {
    CAPTURE(round);
    const Drawn drawn = draw(random);
    CAPTURE(drawn.text());
    const Project project = parse_literature(drawn.text(), "x.sch");
    REQUIRE(project.problem.ops.size() == drawn.durations.size());
    const Cycle longest = longest_makespan(project);
    // Beyond what the bound says is needed, too.
    std::vector<int> start;
    const int expected = enumerated(drawn, static_cast<int>(longest) + 2, start);
    const auto bound = makespan_bound(project);
    Options options;  // (by itself it takes one form or the other, as amounts are)
    if (round % 2 == 1) options.search_engine = EngineChoice::order;
    const Makespan found = smallest_makespan(project, options, {});
    REQUIRE(found.proved());
    CHECK(found.none == (expected == 0));
    if (!bound) CHECK(expected == 0);
    by_lags += !bound;
    none += expected == 0;
    if (expected == 0) continue;
    CHECK(found.high == expected);
    CHECK(expected <= longest);
    CHECK(*bound <= expected);
    above_bound += *bound < expected;
    ++optimal;
  }
  CHECK(optimal > 500);
  CHECK(none - by_lags > 8);
  CHECK(by_lags > 150);
  CHECK(above_bound > 60);
}

TEST_CASE("projects with least and most times: a file, and what is refused") {
  const std::string text = read_file(TWILL_TEST_DATA "/literature/small.sch");
  const Project project = parse_literature(text, "small.sch");
  CHECK(project.problem.ops.size() == 6);
  CHECK(smallest_makespan(project, {}, {}).high == 7);
  check(at_makespan(project, 7), "at 7");
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    REQUIRE(at != std::string::npos);
    return other.replace(at, from.size(), to);
  };
  const struct {
    std::string text;
    const char* message;
  } cases[] = {{replaced("4\t2\t0\t0", "4\t2\t1\t0"), "the number of nonrenewable resources"},
               {replaced("[-4]", "-4"), "must stand in brackets"},
               {replaced("[-4]", "[x]"), "the time lag must be"},
               {replaced("1\t1\t2\t3\t5", "1\t2\t2\t3\t5"), "only one mode"},
               {replaced("1\t1\t2\t3\t5", "1\t1\t2\t3\t6"), "a successor must be"},
               {replaced("2\t1\t2\t4\t5", "7\t1\t2\t4\t5"), "the activity's number"},
               {replaced("[-4]", "[600000000]"), "together"},
               {text + "9\n", "must end after the availabilities"},
               {text.substr(0, text.size() - 4), "must go on with the availability"}};
  for (const auto& c : cases) {
    CAPTURE(c.message);
    const InputError error = refusal([&] { parse_literature(c.text, "x.sch"); });
    CHECK_MESSAGE(std::string(error.what()).find(c.message) != std::string::npos, error.what());
  }
}

TEST_CASE("an activity that needs more than there is leaves no schedule") {
  const Project project = parse_literature(
      "1 1 0 0\n0 1 1 1 [0]\n1 1 1 2 [3]\n2 1 0\n0 1 0 0\n1 1 3 4\n2 1 0 0\n3\n", "x.sch");
  CHECK_FALSE(makespan_bound(project));
  CHECK(smallest_makespan(project, {}, {}).none);
}

TEST_CASE("published makespans: what they allow, and what is refused") {
  const auto list = parse_published_list(
      "problem,optimum\nPSP1.SCH,unsat\r\nft06.jss, 55\n\na.sm,..90\nb.sm,80..90\n", "x.csv");
  REQUIRE(list.size() == 4);
  CHECK(list.at("PSP1").allows(0, true));
  CHECK_FALSE(list.at("PSP1").allows(7, false));
  CHECK(list.at("PSP1").exact());
  CHECK(list.at("ft06").allows(55, false));
  CHECK_FALSE(list.at("ft06").allows(54, false));
  CHECK_FALSE(list.at("ft06").allows(0, true));
  CHECK(list.at("ft06").exact());
  CHECK(list.at("a").allows(1, false));
  CHECK_FALSE(list.at("a").allows(91, false));
  CHECK_FALSE(list.at("a").exact());
  CHECK(list.at("b").allows(80, false));
  CHECK_FALSE(list.at("b").allows(79, false));
  for (const char* bad : {"h\na.sm\n", "h\n,3\n", "h\na.sm,0\n", "h\na.sm,4..3\n", "h\na.sm,4..\n",
                          "h\na.sm,many\n", "h\na.sm,3\na.sm,3\n"}) {
    CAPTURE(bad);
    CHECK(refusal([&] { parse_published_list(bad, "x.csv"); }).place().starts_with("line "));
  }
}

}  // namespace makespan_test
