// The DRAT checker: hand-made proofs, CaDiCaL's proofs, proofs with pieces changed, and bytes that
// are no proofs. What it accepts is compared with enumeration: it may never accept a proof of a
// formula that has a model.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/budget.hpp"
#include "engine/cadical.hpp"
#include "engine/certificate/drat.hpp"
#include "graph/io/file.hpp"
#include "graph/random.hpp"
#include "tests/support/temporary_directory.hpp"

namespace drat_test {

using namespace twill;
using namespace twill::test;

namespace {

using Clauses = std::vector<std::vector<int>>;

std::vector<int> flat(const Clauses& clauses) {
  std::vector<int> all;
  for (const auto& c : clauses) {
    all.insert(all.end(), c.begin(), c.end());
    all.push_back(0);
  }
  return all;
}

DratVerdict check_text(const Clauses& formula, const std::string& proof) {
  return check_drat(flat(formula), proof, ProofFormat::text);
}

/// n + 1 pigeons in n holes.
Clauses pigeonhole(int n) {
  const auto in = [n](int pigeon, int hole) { return pigeon * n + hole + 1; };
  Clauses clauses;
  for (int p = 0; p <= n; ++p) {
    clauses.emplace_back();
    for (int h = 0; h < n; ++h) clauses.back().push_back(in(p, h));
  }
  for (int h = 0; h < n; ++h)
    for (int p = 0; p <= n; ++p)
      for (int q = 0; q < p; ++q) clauses.push_back({-in(p, h), -in(q, h)});
  return clauses;
}

Clauses random_formula(SplitMix64& random, int variables, int clauses, int size) {
  Clauses all;
  for (int c = 0; c < clauses; ++c) {
    all.emplace_back();
    for (int i = 0; i < size; ++i) {
      const int v = static_cast<int>(random.range(1, variables));
      all.back().push_back(random.next() % 2 == 0 ? v : -v);
    }
  }
  return all;
}

bool has_model(const Clauses& clauses, int variables) {
  for (unsigned model = 0; model < 1U << variables; ++model) {
    const auto holds = [&](int l) {
      return (model >> (std::abs(l) - 1) & 1U) == (l > 0 ? 1U : 0U);
    };
    if (std::all_of(clauses.begin(), clauses.end(),
                    [&](const auto& c) { return std::any_of(c.begin(), c.end(), holds); }))
      return true;
  }
  return false;
}

/// CaDiCaL's proof, or "" when there is a model.
std::string proof_of(const Clauses& clauses, bool binary) {
  const TemporaryDirectory directory;
  Budget budget(std::stop_token{}, 0, 0, 0);
  SatSolver solver(budget, 0);
  solver.begin_proof(directory / "proof", binary);
  for (const auto& c : clauses) solver.add_clause(c);
  const Verdict answer = solver.solve();
  solver.end_proof();
  return answer == Verdict::unsat ? read_file(directory / "proof") : "";
}

/// What CaDiCaL learns in search alone, or "" when there is a model.
std::string learned_proof_of(const Clauses& clauses) {
  std::string proof;
  Budget budget(std::stop_token{}, 0, 0, 0);
  SatSolver solver(budget, 0);
  solver.no_inprocessing();
  solver.note_learned(proof);
  for (const auto& c : clauses) solver.add_clause(c);
  return solver.solve() == Verdict::unsat ? proof : "";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

const Clauses kXor = {{1, 2}, {1, -2}, {-1, 2}, {-1, -2}};

}  // namespace

TEST_CASE("a refutation by unit propagation alone needs no proof") {
  CHECK(check_text({{1}, {-1}}, "").accepted);
  CHECK(check_text({{}}, "").accepted);
  CHECK(check_text({{1}, {-1, 2}, {-2}}, "c nothing\n").accepted);
  const DratVerdict open = check_text({{1, 2}}, "");
  CHECK_FALSE(open.accepted);
  CHECK(open.reason == "the proof ends without a refutation");
}

TEST_CASE("implied clauses") {
  const DratVerdict verdict = check_text(kXor, "1 0\n0\n");
  CHECK(verdict.accepted);
  CHECK(verdict.checked == 1);
  CHECK_FALSE(check_text(kXor, "").accepted);
  CHECK_FALSE(check_text({{1, 2}, {1, -2}, {-1, 2}}, "1 0\n0\n").accepted);
  CHECK_FALSE(check_text({{1, 2}, {1, -2}}, "0\n").accepted);
  // A clause that is false must follow, wherever it stands.
  const DratVerdict wrong = check_text({{1, 2, 3}, {-1, 2}}, "2 0\n-2 0\n0\n");
  CHECK_FALSE(wrong.accepted);
  CHECK(wrong.place == 2);
  CHECK(wrong.reason == "a clause of 1 literals is neither RUP nor RAT on its first");
  // What the refutation does not need is not checked.
  CHECK(check_text(kXor, "3 0\n1 0\n0\n").accepted);
}

TEST_CASE("deletions") {
  CHECK(check_text(kXor, "1 0\nd 1 2 0\nd -2 1 0\n0\n").accepted);
  CHECK_FALSE(check_text(kXor, "d 1 2 0\n1 0\n0\n").accepted);
  const DratVerdict absent = check_text(kXor, "d 1 3 0\n1 0\n");
  CHECK_FALSE(absent.accepted);
  CHECK(absent.reason == "deletes a clause that is not there");
  CHECK(absent.place == 1);
  CHECK_FALSE(check_text(kXor, "d 1 2 0\nd 1 2 0\n1 0\n").accepted);  // only once there
  // The reason of a literal stays.
  CHECK(check_text({{1}, {-1, 2}, {-2, 3, 4}, {-2, 3, -4}, {-3, 4}, {-3, -4}},
                   "d 1 0\nd 2 -1 0\n3 0\n0\n")
            .accepted);
}

TEST_CASE("clauses that are only RAT") {
  // No model with 2, and 2 follows by cases over 3; (1) follows from nothing, but every resolvent
  // on 1 does, so that it may be added, and the refutation goes through it.
  const Clauses cases = {{-2, 4, 5}, {-2, 4, -5}, {-2, -4, 5}, {-2, -4, -5}, {-6}, {-1, 2}, {2, 3}};
  Clauses formula = cases;
  formula.push_back({2, -3});
  const DratVerdict verdict = check_text(formula, "1 0\n4 0\n0\n");
  CHECK(verdict.accepted);
  CHECK(verdict.checked == 2);
  // With a model (not 2, 3), the resolvent does not follow.
  const DratVerdict wrong = check_text(cases, "1 0\n4 0\n0\n");
  CHECK_FALSE(wrong.accepted);
  CHECK(wrong.place == 1);
  // The pivot is the first literal: on 6 the clause is no RAT.
  CHECK(check_text(formula, "1 6 0\n4 0\n0\n").accepted);
  const DratVerdict pivot = check_text(formula, "6 1 0\n4 0\n0\n");
  CHECK_FALSE(pivot.accepted);
  CHECK(pivot.place == 1);
  // A new variable defined, 7 = 1 and 2 (Tseitin 1968).
  CHECK(check_text(kXor, "7 -1 -2 0\n-7 1 0\n-7 2 0\n-7 0\n-1 0\n0\n").accepted);
}

TEST_CASE("CaDiCaL's refutations are accepted, in text and binary") {
  for (const int n : {2, 4, 6, 7}) {
    CAPTURE(n);
    const Clauses formula = pigeonhole(n);
    const std::string text = proof_of(formula, false), binary = proof_of(formula, true);
    REQUIRE_FALSE(text.empty());
    const DratVerdict verdict = check_text(formula, text);
    CHECK(verdict.accepted);
    CHECK(verdict.reason == "");
    const std::string learned = learned_proof_of(formula);
    CHECK(check_drat(flat(formula), binary, ProofFormat::binary).accepted);
    if (SatSolver::learned_is_proof())
      CHECK(check_drat(flat(formula), learned, ProofFormat::binary).accepted);
    // One clause less is satisfiable: no proof can be accepted.
    for (std::size_t i = 0; i < formula.size(); i += 7) {
      Clauses fewer = formula;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_FALSE(check_drat(flat(fewer), binary, ProofFormat::binary).accepted);
      CHECK_FALSE(check_drat(flat(fewer), learned, ProofFormat::binary).accepted);
    }
  }
  SplitMix64 random(7);
  int refuted = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const int variables = 30 + 3 * round;
    const Clauses formula = random_formula(random, variables, variables * 46 / 10, 3);
    const std::string proof = proof_of(formula, true);
    if (proof.empty()) continue;
    ++refuted;
    const DratVerdict verdict = check_drat(flat(formula), proof, ProofFormat::binary);
    CHECK(verdict.accepted);
    CHECK(verdict.reason == "");
    CHECK(verdict.checked <= verdict.steps);
    if (!SatSolver::learned_is_proof()) continue;
    // Additions alone, all of what CaDiCaL learned.
    const DratVerdict learned =
        check_drat(flat(formula), learned_proof_of(formula), ProofFormat::binary);
    CHECK(learned.accepted);
    CHECK(learned.reason == "");
  }
  CHECK(refuted > 30);
}

TEST_CASE("proofs with pieces changed never prove what is false") {
  SplitMix64 random(11);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    const int variables = 9;
    Clauses formula = random_formula(random, variables, 45, 3);
    std::string proof = proof_of(formula, false);
    if (proof.empty()) continue;
    std::vector<std::string> lines = lines_of(proof);
    for (int change = 0; change < 6; ++change) {
      std::vector<std::string> edited = lines;
      const auto at =
          static_cast<std::size_t>(random.range(0, static_cast<std::int64_t>(edited.size()) - 1));
      Clauses changed = formula;
      switch (change) {
        case 0: edited.erase(edited.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: edited[at] = std::to_string(random.range(1, variables)) + " " + edited[at]; break;
        case 2: edited[at].insert(0, edited[at].front() == 'd' ? "" : "d "); break;
        case 3: {  // a literal less: a stronger clause
          const std::size_t space = edited[at].find(' ');
          if (space != std::string::npos && edited[at].front() != 'd')
            edited[at].erase(0, space + 1);
          break;
        }
        case 4: std::swap(edited[at], edited[0]); break;
        default: changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at % changed.size()));
      }
      const bool good = check_text(changed, joined(edited)).accepted;
      ++(good ? accepted : refused);
      if (good) CHECK_FALSE(has_model(changed, variables));
    }
  }
  CHECK(accepted > 50);
  CHECK(refused > 50);
}

TEST_CASE("random steps never refute what has a model") {
  SplitMix64 random(5);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    const int variables = static_cast<int>(random.range(2, 4));
    const Clauses formula = random_formula(random, variables, 3 * variables, 2);
    std::string proof;
    for (int step = 0; step < 6; ++step) {
      Clauses one = random_formula(random, variables + 1, 1, static_cast<int>(random.range(1, 2)));
      if (random.next() % 4 == 0) one = {formula[random.next() % formula.size()]};
      if (random.next() % 4 == 0) proof += "d ";
      for (const int l : one[0]) proof += std::to_string(l) + " ";
      proof += "0\n";
    }
    const bool good = check_text(formula, proof).accepted;
    accepted += good ? 1 : 0;
    if (good) CHECK_FALSE(has_model(formula, variables));
  }
  CHECK(accepted > 100);
}

TEST_CASE("bytes that are no proof are refused with their place") {
  const auto refusal = [](const std::string& bytes, ProofFormat format) {
    const DratVerdict v = check_drat(flat(kXor), bytes, format);
    CHECK_FALSE(v.accepted);
    return std::to_string(v.place) + ": " + v.reason;
  };
  using enum ProofFormat;
  CHECK(refusal("1 0\n1 x 0\n", text) == "2: must be literals that end with 0 on the same line");
  CHECK(refusal("1 2\n0\n", text) == "1: must be literals that end with 0 on the same line");
  CHECK(refusal("1 -0\n", text) == "1: must be literals that end with 0 on the same line");
  CHECK(refusal("1 2147483648 0\n", text) == "1: a literal must fit 31 bits");
  CHECK(refusal("dx 1 0\n", text) == "1: a blank must follow d");
  CHECK(refusal("x", binary) == "0: a step must begin with a or d");
  CHECK(refusal("a\x02", binary) == "2: the proof ends inside a step");
  CHECK(refusal(std::string("a\xff\xff\xff\xff\xff\xff\0", 8), binary) ==
        "1: a literal must fit 31 bits");
  CHECK(refusal(std::string("a\x01\0", 3), binary) ==
        "1: a literal must have a variable from 1 on");
  CHECK_FALSE(check_drat(std::vector<int>{1, 0, -1}, "", text).accepted);  // formula cut short

  // Damaged proofs of a formula with a model: whatever the bytes, no refutation.
  const Clauses good = pigeonhole(4);
  Clauses model = good;
  model.pop_back();
  const std::string text_proof = proof_of(good, false), binary_proof = proof_of(good, true);
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = round % 2 == 0 ? text_proof : binary_proof;
    for (std::size_t edits = 1 + random() % 4; edits > 0 && !damaged.empty(); --edits) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0: damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8); break;
        case 1: damaged.erase(at, 1 + random() % 20); break;
        default: damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
      }
    }
    CHECK_FALSE(check_drat(flat(model), damaged, round % 2 == 0 ? text : binary).accepted);
  }
}

}  // namespace drat_test
