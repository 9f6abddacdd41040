// True certificates in which fields were changed, and all that follows from them mended: what a
// check still accepts is true (tests/support/forger.hpp).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "graph/io/file.hpp"
#include "graph/restriction.hpp"
#include "tests/support/forger.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace forger_manifests_test {

using namespace twill;
using namespace twill::test;
namespace fs = std::filesystem;

namespace {

Options random_options(Random& random) {
  Options o;
  o.engine = random.percent(40) ? "time_indexed" : "order";
  o.evidence = true;
  o.explain = false;
  if (random.percent(20)) o.stages = std::to_string(random.range(1, 3));
  if (random.percent(15)) o.ii = random.range(1, 9);
  if (random.percent(15)) o.handover = false;
  for (const char* goal :
       {"slots", "2*spills+slots", "lifetime", "crossings", "rings", "registers", "canonical"})
    if (random.percent(15)) o.goals.emplace_back(goal);
  return o;
}

/// The options that a schedule file says it comes from.
Options options_said(const Solution& solution) {
  Options o;
  o.explain = false;
  o.stages = solution.stages;
  for (const auto& [name, value] : solution.options) {
    if (name == "ii") o.ii = std::strtoll(value.c_str(), nullptr, 10);
    if (name == "handover") o.handover = value != "no";
  }
  return o;
}

/// What is false in a solution that a check has accepted; "" = nothing.
std::string falsehood(const Problem& problem, const Solution& said) {
  const Options options = options_said(said);
  const Solution best = solve(problem, options);
  if (said.status == Status::infeasible) return best.schedule ? "there is a schedule" : "";
  if (!said.schedule) return "";
  if (!best.schedule) return "it has a schedule where there is none";
  if (said.ii_lower_bound > best.schedule->initiation_interval) return "a smaller I";
  Options at = options;
  at.ii = said.schedule->initiation_interval;
  const Solution same = solve(problem, at);
  if (!same.schedule || said.length_lower_bound > same.schedule->length) return "a smaller L";
  if (said.schedule->length != same.schedule->length) return "";
  for (const Goal& goal : said.goals) at.goals.push_back(goal.name);
  const Solution goals = solve(problem, at);
  if (goals.goals.size() != said.goals.size()) return "other goals";
  for (std::size_t g = 0; g < said.goals.size(); ++g) {
    if (said.goals[g].lower_bound > goals.goals[g].value) return "less of " + said.goals[g].name;
    if (said.goals[g].value != goals.goals[g].value) return "";
  }
  return "";
}

void change(Solution& s, Random& random) {
  const Cycle by = random.percent(50) ? 1 : -1;
  switch (random.range(0, 8)) {
    case 0: s.ii_lower_bound += by; break;
    case 1: s.length_lower_bound += by; break;
    case 2: s.status = random.percent(50) ? Status::feasible : Status::optimal; break;
    case 3: s.stages = random.percent(50) ? "complete" : std::to_string(random.range(1, 4)); break;
    case 4:
      if (!s.goals.empty()) {
        Goal& goal = s.goals[static_cast<std::size_t>(random.range(0, std::ssize(s.goals) - 1))];
        (random.percent(70) ? goal.lower_bound : goal.value) += by;
      }
      break;
    case 5: s.options.clear(); break;
    case 6: s.options.emplace_back("ii", std::to_string(random.range(1, 9))); break;
    case 7:
      if (s.schedule) {
        for (Cycle& start : s.schedule->start) start += s.schedule->initiation_interval;
        s.schedule->length += s.schedule->initiation_interval;
      }
      break;
    default:
      if (s.schedule) ++s.schedule->initiation_interval;
  }
  std::erase_if(s.options, [](const auto& o) { return o.first == kRestrictionOption; });
  if (const std::string only = restriction_of(s); !only.empty())
    s.options.emplace_back(kRestrictionOption, only);
}

void change(Refutation& r, Random& random, int ops) {
  const Cycle by = random.percent(50) ? 1 : -1;
  auto* o = std::get_if<OrderRequest>(&r.request);
  auto* m = std::get_if<ModuloRequest>(&r.request);
  const int pinned = static_cast<int>(random.range(-1, ops - 1));
  switch (random.range(0, 11)) {
    case 0: r.ii += by; break;
    case 1: r.deadline += by; break;
    case 2: r.deadline = -1; break;
    case 3: r.about = r.about == About::serial ? About::problem : About::serial; break;
    case 4: r.limits.clear(); break;
    case 5:
      if (!r.limits.empty()) r.limits.back().second += by;
      break;
    case 6: (o != nullptr ? o->stages : m->stages) += by; break;
    case 7: (o != nullptr ? o->pinned : m->pinned) = pinned; break;
    case 8: (o != nullptr ? o->ii_low : m->length_low) += by; break;
    case 9: (o != nullptr ? o->ii_high : m->length_high) += by; break;
    case 10:
      if (o != nullptr) o->handover = !o->handover;
      if (m != nullptr) m->handover = !m->handover;
      break;
    default:
      if (o != nullptr) o->exchange.clear();
      if (m != nullptr) m->lifetimes = !m->lifetimes;
  }
  r.ii = std::max<Cycle>(r.ii, 1);
  if (m != nullptr) {
    m->ii = r.ii;
    m->stages = std::max<Cycle>(m->stages, 1);
    m->length_low = std::max<Cycle>(m->length_low, 0);
    m->length_high = std::max<Cycle>(m->length_high, -1);
  } else {
    o->stages = std::max<Cycle>(o->stages, 0);
    o->ii_low = std::max<Cycle>(o->ii_low, 1);
    o->ii_high = std::max<Cycle>(o->ii_high, o->ii_low);
    o->deadline = r.deadline >= 0;
  }
}

}  // namespace

TEST_CASE("whatever is changed in a true certificate, what is accepted is true") {
  const std::uint64_t loops = number_from("TWILL_FORGERIES", 150 / kShare);
  const std::uint64_t first = number_from("TWILL_FORGERY_SEED", 1);
  constexpr int kForgeries = 20;
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = first; seed < first + loops; ++seed) {
    CAPTURE(seed);
    Random random(seed ^ 0x5eed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    knobs.multi_segment = random.percent(30);
    knobs.max_channels = seed % 3 == 0 ? 2 : 0;
    knobs.flight = seed % 2 == 0;
    Problem problem = random.percent(30) ? ring_loop(seed, knobs) : random_loop(seed, knobs);
    const int w = static_cast<int>(random.range(0, std::ssize(problem.warps) - 1));
    if (random.percent(15) && slot_allowed(problem, 0, w))
      problem.pins.push_back({Pin::on_slot, 0, w, -1, -1});
    const Solution honest = solve(problem, random_options(random));
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, honest);
    REQUIRE(verdict(directory / "c") == "accepted");
    const std::string path = directory / "c/manifest.json";
    const Manifest manifest = parse_manifest(problem, read_file(path), path);
    const auto bytes = [&](std::size_t i, const char* ending) {
      const std::string name = directory / ("c/proofs/" + manifest.names[i] + ending);
      return fs::exists(name) ? read_file(name) : "";
    };
    std::vector<Forged> proofs;
    for (std::size_t i = 0; i < manifest.names.size(); ++i) {
      proofs.push_back({manifest.refutations[i], bytes(i, ".lemmas"), bytes(i, ".drat"),
                        bytes(i, ".refinements")});
      for (const std::string_view line : lines_of(proofs.back().refinements))
        proofs.back().refutation.refinements.push_back(*parse_refinement(problem, line));
    }
    for (int n = 0; n < kForgeries; ++n) {
      std::vector<Forged> forged = proofs;
      Solution liar = honest;
      liar.evidence.reset();
      for (auto changes = random.range(1, 3); changes > 0; --changes) {
        if (forged.empty() || random.percent(40)) {
          change(liar, random);
          continue;
        }
        const auto i = random.range(0, std::ssize(forged) - 1);
        if (random.percent(10))
          forged.erase(forged.begin() + i);
        else
          change(forged[static_cast<std::size_t>(i)].refutation, random,
                 static_cast<int>(problem.ops.size()));
      }
      const std::string copy = directory / ("f" + std::to_string(n));
      const std::string said = forge(copy, problem, liar, forged);
      fs::remove_all(copy);
      CAPTURE(n);
      (said == "accepted" ? accepted : refused) += 1;
      if (said == "accepted") CHECK(falsehood(problem, liar) == "");
    }
  }
  MESSAGE("changed certificates accepted: ", accepted, ", refused: ", refused);
  CHECK(accepted > static_cast<int>(loops / 4));
  CHECK(refused > static_cast<int>(4 * loops));
}

}  // namespace forger_manifests_test
