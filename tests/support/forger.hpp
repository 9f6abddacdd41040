// Forgers of certificates. What a check accepts must be true, whoever made the certificate: so the
// tests forger_*_test.cpp make certificates of claims that are known to be false, and each must be
// refused.
//
// TWILL_FORGERIES=N makes those that try random loops try that many (.ci/long), TWILL_FORGERY_SEED
// begins elsewhere.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/certificate/claims.hpp"
#include "engine/certificate/formula_text.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/io/sha256.hpp"
#include "graph/ring_depth.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/number_from.hpp"

namespace twill::test {

/// What a solution of solve() has beside its schedule.
inline Solution said_of(const Problem& problem, Status status, std::optional<Schedule> schedule) {
  Solution s;
  s.problem = problem.name;
  s.status = status;
  s.stages = "complete";
  s.engine = "order";
  if (schedule) {
    s.max_stages = stage_bound(problem, schedule->initiation_interval);
    s.ring_depths = ring_depths(problem, *schedule);
  }
  s.schedule = std::move(schedule);
  return s;
}

/// A refutation that a forger writes by hand.
struct Forged {
  Refutation refutation;
  std::string lemmas = {};  ///< the file
  std::string proof = {};
  std::string refinements = {};  ///< the file; "" = none
};

/// Writes a certificate as if all in it were right: formulas that match their requests (where these
/// can be made), the claims that the check will derive, hashes. Returns the check's verdict.
inline std::string forge(const std::string& directory, const Problem& problem, Solution solution,
                         const std::vector<Forged>& forged) {
  std::filesystem::create_directories(directory + "/proofs");
  Manifest manifest;
  const auto write = [&](const std::string& name, const std::string& bytes, bool listed = true) {
    std::ofstream(directory + "/" + name, std::ios::binary)
        << bytes;  // (write_file() flushes disks)
    if (listed) manifest.files.emplace_back(name, sha256(bytes));
  };
  write("problem.json", problem_text(problem));
  solution.problem_sha256 = manifest.files.back().second;
  write("schedule.json", schedule_text(problem, solution));
  for (const Forged& f : forged) manifest.refutations.push_back(f.refutation);
  manifest.names = refutation_names(manifest.refutations);
  try {  // what cannot be read is made into no formula
    parse_manifest(problem, manifest_text(problem, manifest), "manifest.json");
  } catch (const InputError& error) {
    return error.what();
  }
  // Nor is what a check will not ask for: encoders trust their requests.
  const Claims claims = claims_of(problem, solution, manifest.refutations, manifest.names);
  for (std::size_t i = 0; i < forged.size(); ++i) {
    const std::string base = "proofs/" + manifest.names[i];
    FormulaLimit limit;
    limit.clauses = limit.variables = 100'000;
    try {
      if (!claims.unproved.empty() ||
          std::find(claims.needed.begin(), claims.needed.end(), i) == claims.needed.end())
        throw FormulaTooLarge();
      const EncodedFormula formula = regenerate(problem, forged[i].refutation, limit);
      MemoryCnf lemmas;  // those of this formula
      for (const std::string_view line : lines_of(forged[i].lemmas))
        if (const auto lemma = parse_lemma(line);
            lemma && std::all_of(lemma->literals.begin(), lemma->literals.end(),
                                 [&](int l) { return std::abs(l) <= formula.cnf.variables(); }))
          lemmas.add_clause(lemma->literals);
      write(base + ".cnf", all_text([&](TextWriter& t) { write_formula(t, formula, lemmas); }),
            false);
    } catch (const FormulaTooLarge&) {
      write(base + ".cnf", "p cnf 2000000000 2000000000\n", false);
    }
    write(base + ".drat", forged[i].proof);
    if (forged[i].refutation.by_order()) write(base + ".lemmas", forged[i].lemmas);
    if (!forged[i].refinements.empty()) write(base + ".refinements", forged[i].refinements);
  }
  manifest.claims = claims.claims;
  write("manifest.json", manifest_text(problem, manifest), false);
  return verdict(directory);
}

}  // namespace twill::test
