// What an op of a module reads, by its meaning, has an edge in the problem that is solved, or one
// that others imply: else a best schedule has no program.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "graph/index.hpp"
#include "graph/ttgir/meaning.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_meaning_edges_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

constexpr Cycle kUnreached = std::numeric_limits<Cycle>::min();

/// The longest delays of paths from an op, by op and the sum of distances.
std::map<std::pair<int, int>, Cycle> delays_from(const Problem& problem, int from, int most) {
  std::map<std::pair<int, int>, Cycle> longest = {{{from, 0}, 0}};
  for (bool longer = true; longer;) {
    longer = false;
    for (const Edge& e : problem.edges)
      for (int d = 0; d + e.distance <= most; ++d) {
        const auto at = longest.find({e.from, d});
        if (at == longest.end()) continue;
        const Cycle delay = at->second + e.delay;
        auto& known = longest.try_emplace({e.to, d + e.distance}, kUnreached).first->second;
        if (delay > known) known = delay, longer = true;
      }
  }
  return longest;
}

/// Edges that the program needs and that nothing in the problem implies.
std::string lacking(const Problem& problem, const Problem& needed) {
  std::string all;
  for (const Edge& e : needed.edges) {
    if (e.from == e.to) continue;  // (kept for behind the loop by who makes it)
    const bool there =
        std::any_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& one) {
          return one.from == e.from && one.to == e.to && one.distance == e.distance;
        });
    if (there) continue;
    const auto longest = delays_from(problem, e.from, e.distance);
    const auto found = longest.find({e.to, e.distance});
    if (found == longest.end() || found->second < e.delay)
      all += " " + problem.ops[at(e.from)].id + " -> " + problem.ops[at(e.to)].id + " at " +
             std::to_string(e.distance) + ";";
  }
  return all;
}

/// Of a module's first loop, layout by layout; how many could be compared.
int compare(const std::string& text, const std::string& name, const LoopOptions& options) {
  try {
    const std::string machine = machine_of_target(text, name, options);
    const LoweredModule lowered =
        lower_module(text, name, builtin_machine(machine), machine, options, {});
    const auto meaning = meaning_of_loop(lowered);
    if (!std::holds_alternative<ModuleMeaning>(meaning)) return 0;
    for (const Lowered& layout : lowered.problems)
      CHECK(lacking(layout.problem, program_problem(lowered, std::get<ModuleMeaning>(meaning),
                                                    layout.problem)) == "");
    return static_cast<int>(lowered.problems.size());
  } catch (const InputError&) {  // (another machine's, or refused: not this test's business)
    return 0;
  }
}

}  // namespace

TEST_CASE("what an op reads is an edge of the problem, or implied by others") {
  int compared = 0;
  std::vector<std::filesystem::path> files;
  for (const std::string folder : {TWILL_TEST_DATA "/ttgir/", test::kTritonFolder.c_str()})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".ttgir") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string name = file.stem().string(), text = read_file(file.string());
    CAPTURE(name);
    for (const int subtile : {1, 2})
      for (const bool rewritten : {false, true}) {
        if (test::kSanitized && (subtile > 1 || rewritten)) continue;
        CAPTURE(subtile);
        CAPTURE(rewritten);
        LoopOptions options;
        options.subtile = subtile;
        options.undo_rings = rewritten;
        compared += compare(text, name, options);
      }
  }
  CHECK(compared > (test::kSanitized ? 300 : 1'500));
}

TEST_CASE(
    "numbers of reductions take a register, and what is computed of others with them reads these") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/row-rewritten-hopper.ttgir");
  const LoweredModule lowered =
      lower_module(text, "m", builtin_machine("hopper"), "hopper", {}, {});
  const auto& kernel = lowered.loop.kernel;
  std::vector<std::size_t> numbers;
  for (std::size_t v = 0; v < kernel.ops.size(); ++v)
    if (lowered.module.op(lowered.loop.nodes[v].op).name == "tt.reduce") {
      CAPTURE(kernel.ops[v].id);
      CHECK(kernel.ops[v].registers == 1);
      CHECK(kernel.ops[v].result == "registers");
      numbers.push_back(v);
    }
  REQUIRE(numbers.size() == 2);  // the largest so far, and the sum, which takes its factor of two
  std::vector<int> distances;
  for (const KernelEdge& edge : kernel.edges)
    if (edge.from == numbers[0] && edge.to == numbers[1]) distances.push_back(edge.distance);
  std::sort(distances.begin(), distances.end());
  CHECK(distances == std::vector<int>{0, 1});
}

TEST_CASE("a view of what the loop carries is one of who makes it, later in the text") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/gates-multiplied-hopper.ttgir");
  const LoweredModule lowered =
      lower_module(text, "m", builtin_machine("hopper"), "hopper", {}, {});
  const auto& kernel = lowered.loop.kernel;
  int views = 0;
  for (const KernelOp& op : kernel.ops)
    if (op.id.starts_with("expand_dims")) {
      REQUIRE(op.alias_of);
      CHECK(kernel.ops[*op.alias_of].id.starts_with("so_far"));
      ++views;
    }
  CHECK(views == 1);
  // Its reader keeps the number of the iteration before.
  const Problem& problem = lowered.problems.at(0).problem;
  CHECK(std::any_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
    return problem.ops[at(e.from)].id.starts_with("so_far") &&
           problem.ops[at(e.to)].id.starts_with("mulf") && e.distance == 1;
  }));
}

}  // namespace ttgir_meaning_edges_test
