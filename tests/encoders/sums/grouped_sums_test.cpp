// PB(AMO): sums over groups of literals that exclude each other or form a chain. For every partial
// assignment what the encodings claim, their sizes, and their canonical form.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "encoders/choose.hpp"
#include "tests/support/encoding_sizes.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sum_check.hpp"
#include "tests/support/unit_propagation.hpp"

namespace grouped_sums_test {

using namespace twill;
using namespace twill::test;

namespace {

using Group = std::vector<std::int64_t>;  // weights of a group's literals

/// Canonical groups with up to 7 literals in all.
std::vector<Group> random_groups(Random& random, std::size_t most, std::int64_t heaviest) {
  std::vector<Group> groups;
  std::size_t left = static_cast<std::size_t>(random.range(2, static_cast<std::int64_t>(most)));
  while (left > 0) {
    Group group(std::min<std::size_t>(left, static_cast<std::size_t>(random.range(1, 3))));
    for (auto& w : group) w = random.range(1, heaviest);
    std::sort(group.rbegin(), group.rend());
    left -= group.size();
    groups.push_back(group);
  }
  groups.back().back() = 1;
  std::sort(groups.rbegin(), groups.rend());
  return groups;
}

std::int64_t total(const std::vector<Group>& groups) {
  std::int64_t sum = 0;
  for (const Group& g : groups) sum += g.front();
  return sum;
}

GroupedSum sum_of(const std::vector<Group>& groups, const std::vector<Lit>& x, std::int64_t k) {
  GroupedSum sum{{}, k};
  std::size_t next = 0;
  for (const Group& g : groups) {
    std::map<std::int64_t, std::vector<Lit>, std::greater<>> levels;
    for (const std::int64_t w : g) levels[w].push_back(x[next++]);
    sum.groups.emplace_back();
    for (const auto& [weight, literals] : levels) sum.groups.back().push_back({weight, literals});
  }
  return sum;
}

Value value_of(const std::vector<Group>& groups) {
  return [groups](const std::vector<bool>& chosen) {
    std::int64_t sum = 0;
    std::size_t next = 0;
    for (const Group& g : groups) {
      std::int64_t most = 0;
      for (const std::int64_t w : g)
        if (chosen[next++]) most = std::max(most, w);
      sum += most;
    }
    return sum;
  };
}

Size swc_amo_size(const std::vector<Group>& groups, std::int64_t k) {
  const auto g = static_cast<std::int64_t>(groups.size());
  Size size{(g - 1) * k, std::max<std::int64_t>(g - 2, 0) * k};
  for (std::int64_t i = 0; i < g; ++i)
    for (const std::int64_t w : groups[static_cast<std::size_t>(i)])
      size.clauses += (i + 1 < g ? w : 0) + (i > 0 && i + 1 < g ? k - w : 0) + (i > 0);
  return size;
}

Size gte_amo_size(const std::vector<Group>& groups, std::int64_t k) {
  const auto node = [&](auto& self, std::size_t begin, std::size_t end,
                        std::set<std::int64_t>& sums) -> Size {
    if (end - begin == 1) {
      Size size;
      std::map<std::int64_t, std::int64_t> count;
      for (const std::int64_t w : groups[begin]) ++count[w];
      for (const auto& [w, times] : count) {
        sums.insert(w);
        if (times > 1) size = size + Size{1, times};
      }
      return size;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    std::set<std::int64_t> left, right;
    const Size size = self(self, begin, middle, left) + self(self, middle, end, right);
    const auto a = static_cast<std::int64_t>(left.size());
    const auto b = static_cast<std::int64_t>(right.size());
    left.insert(0);
    right.insert(0);
    for (const std::int64_t x : left)
      for (const std::int64_t y : right)
        if (x + y > 0) sums.insert(std::min(x + y, k + 1));
    return size + Size{static_cast<std::int64_t>(sums.size()), a + b + a * b};
  };
  std::set<std::int64_t> sums;
  return node(node, 0, groups.size(), sums) + Size{0, 1};
}

/// By truth tables: per level the different functions of the remaining bound that depend on the
/// level, each with a clause per literal whose child is another one, and one to the child without.
Size bdd_amo_size(const std::vector<Group>& groups, std::int64_t k) {
  // sums[i] = what the groups i, i + 1, ... can add up to.
  std::vector<std::set<std::int64_t>> sums(groups.size() + 1);
  sums.back() = {0};
  for (std::size_t i = groups.size(); i-- > 0;)
    for (const std::int64_t s : sums[i + 1]) {
      sums[i].insert(s);
      for (const std::int64_t w : groups[i]) sums[i].insert(s + w);
    }
  // A function of the groups from i on with a remaining bound, by the assignments that satisfy it.
  const auto function = [&](std::size_t level, std::int64_t bound) {
    std::vector<bool> table;
    const auto visit = [&](auto& self, std::size_t i, std::int64_t left) -> void {
      if (i == groups.size()) {
        table.push_back(left >= 0);
        return;
      }
      self(self, i + 1, left);
      for (const std::int64_t w : groups[i]) self(self, i + 1, left - w);
    };
    visit(visit, level, bound);
    return table;
  };
  const auto constant = [](const std::vector<bool>& table, bool value) {
    return std::all_of(table.begin(), table.end(), [value](bool b) { return b == value; });
  };
  std::set<std::int64_t> bounds = {k};
  Size size{0, 1};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::map<std::vector<bool>, std::int64_t> functions;
    for (const std::int64_t b : bounds) functions.emplace(function(i, b), b);
    std::set<std::int64_t> next;
    for (const auto& [table, b] : functions) {
      if (constant(table, true) || constant(table, false)) continue;
      const auto without = function(i + 1, b);
      std::int64_t others = 0;
      next.insert(b);
      for (const std::int64_t w : groups[i]) {
        others += function(i + 1, b - w) != without;
        next.insert(b - w);
      }
      if (others == 0) continue;
      size = size + Size{1, others + !constant(without, true)};
    }
    bounds = next;
  }
  return size;
}

// A row for each encoding of groups.
const std::map<std::string, Size (*)(const std::vector<Group>&, std::int64_t)> kSizes = {
    {"bdd-amo", bdd_amo_size}, {"swc-amo", swc_amo_size}, {"gte-amo", gte_amo_size}};

std::vector<const EncodingInfo*> grouped_encodings() {
  std::vector<const EncodingInfo*> rows;
  for (const EncodingInfo& row : encoding_table())
    if (row.encode.grouped != nullptr) rows.push_back(&row);
  return rows;
}

}  // namespace

TEST_CASE("PB(AMO): models, arc consistency, size") {
  Random random(31);
  int larger_groups = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<Group> groups =
        random_groups(random, round % 20 == 0 ? 7 : 5, random.percent(30) ? 2 : 7);
    if (groups.front().front() >= total(groups)) continue;
    const std::int64_t k = random.range(groups.front().front(), total(groups) - 1);
    std::size_t n = 0;
    std::string text;
    for (const Group& g : groups) {
      n += g.size();
      larger_groups += g.size() > 1;
      text += " [";
      for (const std::int64_t w : g) text += " " + std::to_string(w);
      text += " ]";
    }
    CAPTURE(text);
    CAPTURE(k);
    for (const EncodingInfo* row : grouped_encodings()) {
      CAPTURE(row->value);
      const SumReport report =
          check_sum(n, value_of(groups), k, [&](Formula& f, const std::vector<Lit>& x) {
            row->encode.grouped(f, sum_of(groups, x, k));
          });
      REQUIRE(report.models);
      REQUIRE(report.sound);
      REQUIRE(report.propagation() == row->propagation);
      REQUIRE(kSizes.contains(row->value));
      CHECK(report.size == kSizes.at(row->value)(groups, k));
    }
  }
  CHECK(larger_groups > 300);
}

TEST_CASE("PB(AMO): single literals give the encodings without groups, groups save") {
  Random random(32);
  for (int round = 0; round < 100; ++round) {
    Weights weights(static_cast<std::size_t>(random.range(3, 10)));
    for (auto& w : weights) w = random.range(1, 9);
    weights.back() = 1;
    std::sort(weights.rbegin(), weights.rend());
    std::vector<Group> groups;
    for (const std::int64_t w : weights) groups.push_back({w});
    const std::int64_t k = random.range(weights.front(), total(groups) - 1);
    CHECK(bdd_amo_size(groups, k) == bdd_size(weights, k));
    CHECK(gte_amo_size(groups, k) == gte_size(weights, k));
    CHECK(swc_amo_size(groups, k) == swc_size(weights, k));
  }
  // Six starts each of four ops, one unit of two: 24 literals.
  const std::vector<Group> ops(4, Group(6, 1));
  CHECK(gte_amo_size(ops, 2).variables < gte_size(Weights(24, 1), 2).variables / 5);
  CHECK(swc_amo_size(ops, 2).variables < swc_size(Weights(24, 1), 2).variables / 5);
}

namespace {

/// Assignments of inputs 1 .. 5 that `emit` allows.
std::set<int> models_of(const std::function<void(Formula&)>& emit) {
  MemoryCnf cnf;
  Formula f(cnf);
  for (int i = 0; i < 5; ++i) f.fresh();
  emit(f);
  std::set<int> models;
  for (int assignment = 0; assignment < 32; ++assignment) {
    std::vector<Lit> assumed;
    for (int i = 0; i < 5; ++i)
      assumed.push_back(assignment >> i & 1 ? Lit::of(i + 1) : ~Lit::of(i + 1));
    if (satisfiable(cnf, assumed)) models.insert(assignment);
  }
  return models;
}

}  // namespace

TEST_CASE("grouped terms: the same models as the plain sum wherever the groups are as declared") {
  Random random(33);
  int compared = 0;
  for (int round = 0; round < 1500; ++round) {
    CAPTURE(round);
    // Inputs 1 .. 5 are dealt out to groups of either kind; a few constants and repeats.
    std::vector<TermGroup> groups(1);
    for (int x = 1; x <= 5; ++x) {
      if (random.percent(50)) groups.emplace_back();
      TermGroup& group = groups.back();
      if (group.terms.empty() && random.percent(50)) group.kind = TermGroup::Kind::chain;
      Term term{random.range(0, 6), Lit::of(x)};
      if (random.percent(8))
        term.literal = Lit::constant(group.terms.empty() && random.percent(50));
      group.terms.push_back(term);
      if (random.percent(10) && group.kind == TermGroup::Kind::exclusive)
        group.terms.push_back({random.range(1, 3), term.literal});
    }
    const std::int64_t bound = random.range(-1, 14);
    const auto declared = [&](int assignment) {
      const auto holds = [&](Lit l) {
        return l.is_constant() ? l.is_true() : (assignment >> (l.dimacs() - 1) & 1) == 1;
      };
      for (const TermGroup& g : groups) {
        std::set<Lit> true_ones;
        bool before = true;
        for (const Term& t : g.terms) {
          if (g.kind == TermGroup::Kind::chain && holds(t.literal) && !before) return false;
          before = holds(t.literal);
          if (holds(t.literal)) true_ones.insert(t.literal);
        }
        if (g.kind == TermGroup::Kind::exclusive && true_ones.size() > 1) return false;
      }
      return true;
    };
    const auto plain = models_of([&](Formula& f) { at_most_sum(f, {}, groups, bound); });
    for (const EncodingInfo* row : grouped_encodings()) {
      CAPTURE(row->value);
      EncodingChoice choice;
      choice.pb = row;
      const auto grouped = models_of([&](Formula& f) { at_most_sum(f, choice, groups, bound); });
      for (int assignment = 0; assignment < 32; ++assignment) {
        if (declared(assignment)) {
          REQUIRE(plain.contains(assignment) == grouped.contains(assignment));
          ++compared;
        }
        // A literal that is true without need never makes more room.
        for (int x = 0; x < 5; ++x)
          if (grouped.contains(assignment | 1 << x)) REQUIRE(grouped.contains(assignment));
      }
    }
  }
  CHECK(compared > 20'000);
}

}  // namespace grouped_sums_test
