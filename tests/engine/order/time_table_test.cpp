// Time-tables against enumeration: whatever is told, what they imply and what they refuse is a
// clause that all starts within the capacities keep; complete starts are refused exactly where they
// are too much; and after a way back they say what they said before.
#include "engine/order/time_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random_loop.hpp"

namespace time_table_test {

using namespace twill;
using order::StartLiterals;
using order::TimeTable;
using test::Random;

namespace {

struct Drawn {
  Problem problem;
  std::vector<StartLiterals> starts;
  int variables = 0;
};

Drawn draw(Random& random) {
  Drawn d;
  const auto units = random.range(1, 2);
  for (int u = 0; u < static_cast<int>(units); ++u)
    d.problem.units.push_back({"U" + std::to_string(u), random.range(1, 4)});
  const auto ops = random.range(2, 4);
  for (int v = 0; v < static_cast<int>(ops); ++v) {
    Op op;
    op.id = std::to_string(v);
    op.cycles = 3;
    for (int u = 0; u < static_cast<int>(units); ++u)
      for (int part = 0; part < 2; ++part)  // now and then two parts of one unit
        if (random.percent(part == 0 ? 80 : 20))
          op.reservations.push_back(
              {u, part == 0 ? random.range(0, 1) : 3, part == 0 ? random.range(1, 3) : 1,
               random.range(1, d.problem.units[static_cast<std::size_t>(u)].capacity)});
    d.problem.ops.push_back(op);
    StartLiterals s;
    s.earliest = random.range(0, 2);
    s.latest = s.earliest + random.range(0, 4);
    s.first = d.variables + 1;
    d.variables += static_cast<int>(s.latest - s.earliest);
    d.starts.push_back(s);
  }
  return d;
}

bool fits(const Drawn& d, const std::vector<Cycle>& start) {
  for (std::size_t unit = 0; unit < d.problem.units.size(); ++unit)
    for (Cycle t = 0; t < 20; ++t) {
      Amount sum = 0;
      for (std::size_t v = 0; v < start.size(); ++v)
        for (const Reservation& r : d.problem.ops[v].reservations)
          if (r.unit == static_cast<int>(unit) && start[v] + r.offset <= t &&
              t < start[v] + r.offset + r.length)
            sum += r.amount;
      if (sum > d.problem.units[unit].capacity) return false;
    }
  return true;
}

bool holds(const Drawn& d, int literal, const std::vector<Cycle>& start) {
  const int variable = literal < 0 ? -literal : literal;
  for (std::size_t v = 0; v < start.size(); ++v) {
    const StartLiterals& s = d.starts[v];
    const Cycle t = s.earliest + 1 + (variable - s.first);
    if (variable >= s.first && t <= s.latest) return (start[v] >= t) == (literal > 0);
  }
  FAIL("no such variable");
  return false;
}

std::vector<std::vector<Cycle>> all_that_fit(const Drawn& d) {
  std::vector<std::vector<Cycle>> all;
  std::vector<Cycle> start;
  for (const StartLiterals& s : d.starts) start.push_back(s.earliest);
  for (;;) {
    if (fits(d, start)) all.push_back(start);
    std::size_t v = 0;
    while (v < start.size() && start[v] == d.starts[v].latest) {
      start[v] = d.starts[v].earliest;
      ++v;
    }
    if (v == start.size()) return all;
    ++start[v];
  }
}

/// A searcher without clauses but those between literals of one op.
struct Told {
  explicit Told(const Drawn& d) : drawn(d), truth(static_cast<std::size_t>(d.variables) + 1, 0) {}

  /// With what follows of the same op, nearest first; nothing where it is known.
  std::vector<int> tell(int literal) {
    std::vector<int> told;
    const int step = literal > 0 ? -1 : 1;
    for (const StartLiterals& s : drawn.starts) {
      const int end = s.first + static_cast<int>(s.latest - s.earliest);
      const int variable = literal < 0 ? -literal : literal;
      if (variable < s.first || variable >= end) continue;
      for (int v = variable; v >= s.first && v < end; v += step) {
        signed char& known = truth[static_cast<std::size_t>(v)];
        if (known != 0) break;
        known = literal > 0 ? 1 : -1;
        told.push_back(literal > 0 ? v : -v);
      }
    }
    return told;
  }
  bool is_false(int literal) const {
    return truth[static_cast<std::size_t>(literal < 0 ? -literal : literal)] ==
           (literal > 0 ? -1 : 1);
  }
  bool is_true(int literal) const { return is_false(-literal); }
  const Drawn& drawn;
  std::vector<signed char> truth;
};

using Implieds = std::vector<std::vector<int>>;  // clauses; the first literal is what is implied

struct Counts {
  int implied = 0, refused = 0, complete = 0;
};

/// Tells the table literals, and what it implies, until nothing follows. False = refused.
bool settle(const Drawn& d, TimeTable& table, Told& told, std::vector<int> literals,
            const std::vector<std::vector<Cycle>>& all, Implieds& found, Counts& counts) {
  const auto is_valid = [&](std::vector<int> clause) {
    for (const std::vector<Cycle>& start : all)
      if (std::none_of(clause.begin(), clause.end(), [&](int l) { return holds(d, l, start); }))
        return false;
    return true;
  };
  for (;;) {
    std::vector<int> next;
    for (const int l : literals)
      if (!table.assign(l)) {
        const std::vector<int> lemma(table.lemma().begin(), table.lemma().end());
        for (const int other : lemma) CHECK(told.is_false(other));
        CHECK(is_valid(lemma));
        ++counts.refused;
        return false;
      }
    std::vector<SearchBound::Implied> implied;
    table.propagate(implied);
    for (const SearchBound::Implied& i : implied) {
      if (i.literal != 0 && told.is_true(i.literal)) continue;
      std::vector<int> clause;
      if (i.literal != 0) clause.push_back(i.literal);
      for (const int other : table.explain(i.record)) {
        CHECK(told.is_false(other));
        clause.push_back(other);
      }
      CHECK(is_valid(clause));
      found.push_back(clause);
      ++counts.implied;
      if (i.literal == 0 || told.is_false(i.literal)) {
        ++counts.refused;
        return false;
      }
      for (const int l : told.tell(i.literal)) next.push_back(l);
    }
    if (next.empty()) return true;
    literals = next;
  }
}

}  // namespace

TEST_CASE("what a time-table implies and refuses holds for all starts within the capacities") {
  Random random(20261129);
  Counts counts;
  int ways_back = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const Drawn d = draw(random);
    const auto all = all_that_fit(d);
    TimeTable table(d.problem, d.starts);
    Told told(d);
    Implieds first;
    if (!table.reset(1, 0)) {
      CHECK(all.empty());
      CHECK(table.lemma().empty());
      continue;
    }
    if (!settle(d, table, told, {}, all, first, counts)) {
      CHECK(all.empty());
      continue;
    }
    struct Level {
      std::vector<signed char> truth;
      int decided;
      Implieds found;
    };
    std::vector<Level> levels;
    const auto decide = [&](int literal, Implieds& found) {
      table.mark();
      return settle(d, table, told, told.tell(literal), all, found, counts);
    };
    for (int step = 0; step < 40; ++step) {
      std::vector<int> open;
      for (int v = 1; v <= d.variables; ++v)
        if (told.truth[static_cast<std::size_t>(v)] == 0) open.push_back(v);
      bool refused = false;
      if (open.empty()) {
        std::vector<Cycle> start;
        for (const StartLiterals& s : d.starts) {
          Cycle t = s.earliest;
          while (t < s.latest && told.is_true(s.at_least(t + 1))) ++t;
          start.push_back(t);
        }
        CHECK(fits(d, start));  // nothing was refused
        ++counts.complete;
        refused = true;
      } else {
        const int v =
            open[static_cast<std::size_t>(random.range(0, static_cast<Cycle>(open.size()) - 1))];
        levels.push_back({told.truth, random.percent(50) ? v : -v, {}});
        refused = !decide(levels.back().decided, levels.back().found);
      }
      if (!refused && !random.percent(10)) continue;
      if (levels.empty()) break;
      // Back by some levels; the first that is undone is decided again, and all is as it was.
      const auto to =
          static_cast<std::size_t>(random.range(0, static_cast<Cycle>(levels.size()) - 1));
      const Level again = levels[to];
      levels.resize(to);
      told.truth = again.truth;
      table.undo(to);
      Implieds found;
      decide(again.decided, found);
      CHECK(found == again.found);
      ++ways_back;
      told.truth = again.truth;
      table.undo(to);
    }
  }
  CHECK(counts.implied > 5000);
  CHECK(counts.refused > 1000);
  CHECK(counts.complete > 1000);
  CHECK(ways_back > 3000);
}

}  // namespace time_table_test
