// Products that end before the next one is issued: one wait more, for the newest instance that has
// been issued by then.
#include "graph/program/early_ends.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/include/twill_emit.hpp"
#include "graph/program/judge.hpp"

namespace early_ends_test {

using namespace twill;
using program::Program;
using program::Wait;

namespace {

Program program_of_kernel(const std::string& kernel, const std::string& machine) {
  ProgramOptions options;
  options.search.conflict_limit = 5'000;
  ProgramResult result = best_program(program_source(kernel, machine, {}), options, {});
  REQUIRE(result.made);
  return result.made->program;
}

std::vector<std::string> names(const Program& p, const std::vector<int>& ops) {
  std::vector<std::string> all;
  for (const int op : ops) all.push_back(p.ops[static_cast<std::size_t>(op)].id);
  return all;
}

/// The waits that `more` has and `p` has not.
std::vector<Wait> added(const Program& p, const Program& more) {
  std::vector<Wait> all;
  for (const Wait& one : more.waits) {
    const auto& event = more.events[static_cast<std::size_t>(one.event)];
    const bool known = std::any_of(p.waits.begin(), p.waits.end(), [&](const Wait& other) {
      const auto& seen = p.events[static_cast<std::size_t>(other.event)];
      return other.before == one.before && other.offset == one.offset && seen.op == event.op &&
             seen.pending == event.pending;
    });
    if (!known) all.push_back(one);
  }
  return all;
}

/// Iteration of `op` that was issued last before iteration i of `next`, by going through the
/// periods.
int newest_before(const Program& p, int op, int next, int i) {
  int newest = -1;
  for (int period = 0;; ++period)
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      const int iteration = period - p.ops[static_cast<std::size_t>(v)].stage;
      if (v == next && iteration == i) return newest;
      if (v == op) newest = iteration;
    }
}

}  // namespace

TEST_CASE("which products read registers until they end") {
  const Program forward = program_of_kernel("hopper-fwd-plain", "hopper");
  CHECK(names(forward, program::products_of_registers(forward)) == std::vector<std::string>{"pv"});
  const Program backward = program_of_kernel("hopper-bwd", "hopper");
  CHECK(names(backward, program::products_of_registers(backward)) ==
        std::vector<std::string>{"dv", "dk"});
  // All factors in memory.
  CHECK(program::products_of_registers(program_of_kernel("gemm", "hopper")).empty());
  CHECK(program::products_of_registers(program_of_kernel("blackwell-fwd-plain", "blackwell"))
            .empty());
}

TEST_CASE("a product that ends early is waited for before the next of its slot's queue") {
  int ended = 0;
  for (const std::string kernel : {"hopper-fwd-plain", "hopper-fwd-sub2", "hopper-bwd"}) {
    const Program p = program_of_kernel(kernel, "hopper");
    for (const int op : program::products_of_registers(p)) {
      CAPTURE(kernel + " " + p.ops[static_cast<std::size_t>(op)].id);
      const auto early = program::ended_early(p, op);
      if (!early) continue;
      ++ended;
      CHECK(!program::judge(*early));
      const std::vector<Wait> more = added(p, *early);
      REQUIRE(more.size() == 1);
      const Wait& wait = more.front();
      const auto& event = early->events[static_cast<std::size_t>(wait.event)];
      CHECK(event.pending);
      CHECK(event.op == op);
      const auto& at = p.ops[static_cast<std::size_t>(wait.before)];
      CHECK(at.slot == p.ops[static_cast<std::size_t>(op)].slot);
      CHECK(at.queue == p.ops[static_cast<std::size_t>(op)].queue);
      CHECK(newest_before(p, op, wait.before, 10) == 10 - wait.offset);
      // Nothing of the queue is issued between the two.
      for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
        const auto& other = p.ops[static_cast<std::size_t>(v)];
        if (v == op || v == wait.before || other.slot != at.slot || other.queue != at.queue)
          continue;
        CHECK((op < wait.before) == (v < op || v > wait.before));
      }
      CHECK(!program::ended_early(*early, op));
      // The waits of each op lie together, as programs have them.
      CHECK(std::is_sorted(early->waits.begin(), early->waits.end(),
                           [](const Wait& a, const Wait& b) { return a.before < b.before; }));
    }
  }
  CHECK(ended >= 2);
}

}  // namespace early_ends_test
