// The executor: every built-in kernel with a meaning gives what its loop gives, in every order that
// is tried; programs that were made wrong give a wrong number, a hang or an overrun.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/program.hpp"
#include "graph/io/builtin.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/program/execute.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/links.hpp"
#include "graph/program/program_io.hpp"
#include "graph/program/replay.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace program_execute_test {

using namespace twill;
using meaning::Meaning;
using program::Course;
using program::Execution;
using program::Pace;
using program::Program;
using test::kShare;

namespace {

struct Made {
  std::string name;  ///< kernel on machine, reading
  Program program;
};

/// Tiles an eighth as long: what is wrong shows as well, in a five-hundredth of the time. A copy
/// in memory is still spread over all of its bytes.
Meaning shrunk(Meaning m) {
  // (Two columns stay two.)
  const auto less = [](std::vector<std::int64_t>& shape) {
    for (std::int64_t& extent : shape) extent = extent < 8 ? extent : extent / 8;
  };
  for (auto& tensor : m.tensors) less(tensor.shape);
  for (auto& value : m.values) {
    less(value.tile);
    less(value.shape);
    for (auto& operand : value.operands) {
      operand.first_column /= 8;
      operand.columns /= 8;
      operand.first_row /= 8;
      operand.rows /= 8;
      operand.row = operand.row < 0 ? -1 : operand.row / 8;
    }
  }
  return m;
}

/// Kernels with a meaning on their machines in both readings, as solve() schedules them.
const std::vector<Made>& programs() {
  static const std::vector<Made> all = [] {
    std::vector<Made> made;
    int seen = 0;
    for (const BuiltinFile& file : builtin_files()) {
      if (file.folder != "kernels") continue;
      const std::string kernel(file.name);
      // (Kernels with parameters as they are by default.)
      const auto meaning = meaning_of_kernel(std::string(file.text), kernel, {});
      if (!meaning) continue;
      for (const std::string machine : {"hopper", "blackwell"}) {
        if (kernel != "gemm" && !kernel.starts_with(machine)) continue;
        for (const Reading reading : {Reading::machine, Reading::paper}) {
          LowerOptions options;
          options.reading = reading;
          if (seen++ % kShare != 0) continue;
          const auto layouts =
              lower(std::string(file.text), kernel, builtin_machine(machine), machine, options);
          const LayoutsSolution best = solve_layouts(layouts, {});
          if (!best.solution().schedule) continue;
          auto one = solve_program(best.layout().problem, best.solution());
          Made next{kernel + (reading == Reading::paper ? " (paper)" : ""), {}};
          if (std::holds_alternative<program::Refusal>(one.program)) continue;  // counted below
          next.program = std::get<Program>(std::move(one.program));
          next.program.problem_sha256 = std::string(64, '0');
          next.program.status = "feasible";
          next.program.meaning = meaning;
          made.push_back(std::move(next));
        }
      }
    }
    return made;
  }();
  return all;
}

/// "" = right; else what is wrong.
std::string shown(const Program& p, int n, const meaning::TensorTiles& inputs,
                  const std::vector<std::vector<meaning::Bounded>>& right, const Course& course) {
  const Execution run = program::execute(p, n, inputs, course);
  if (!run.fault.empty()) return run.fault;
  return meaning::all_right(meaning::compare_with(*p.meaning, right, run.outputs)) ? "" : "number";
}

}  // namespace

TEST_CASE("every kernel with a meaning has a program that can be executed") {
  std::map<std::string, int> kernels;
  for (const Made& made : programs()) {
    CAPTURE(made.name);
    program::Links links;
    const auto no = program::link(made.program, links);
    CAPTURE(no.value_or(""));
    CHECK(!no);
    CHECK(!program::judge(made.program));
    // The file says all of it.
    const std::string text = program::program_text(made.program);
    CHECK(program::parse_program(text, "f") == made.program);
    ++kernels[made.program.problem];
  }
  if (kShare > 1) return;
  // Every kernel with a meaning, in both readings; gemm on two machines.
  CHECK(kernels.size() >= 31);
  CHECK(programs().size() == 2 * (kernels.size() + 1));
}

TEST_CASE("full tiles: equal to the loop within the bound of the types") {
  double largest = 0;
  for (const Made& made : programs()) {
    CAPTURE(made.name);
    const int n = 3;
    const auto inputs = meaning::seeded_inputs(*made.program.meaning, n, 3);
    const auto right = meaning::reference(*made.program.meaning, n, inputs);
    const Execution run = program::execute(made.program, n, inputs, {Pace::late, 0, {}});
    CAPTURE(run.text);
    CHECK(run.fault == "");
    for (const auto& one : meaning::compare_with(*made.program.meaning, right, run.outputs)) {
      CAPTURE(one.tensor);
      CAPTURE(one.largest_error);
      CAPTURE(one.bound);
      CHECK(one.wrong == 0);
      largest = std::max(largest, one.largest_share);
    }
  }
  // The bound is no empty one: something comes near to it.
  CHECK(largest > 0.1);
  CHECK(largest <= 1);
}

TEST_CASE("n from 0 to 9: late, eager and random orders") {
  int runs = 0;
  for (const Made& made : programs()) {
    Program p = made.program;
    p.meaning = shrunk(*p.meaning);
    for (int n = 0; n <= 9; ++n) {
      const auto inputs = meaning::seeded_inputs(*p.meaning, n, static_cast<std::uint64_t>(n));
      const auto right = meaning::reference(*p.meaning, n, inputs);
      for (std::uint64_t seed = 0; seed < 4; ++seed)
        for (const Pace pace : {Pace::late, Pace::eager, Pace::random}) {
          const std::string wrong = shown(p, n, inputs, right, {pace, seed, {}});
          if (!wrong.empty()) {
            CAPTURE(made.name);
            CAPTURE(n);
            CAPTURE(seed);
            CAPTURE(static_cast<int>(pace));
            FAIL_CHECK(wrong);
          }
          ++runs;
        }
    }
  }
  MESSAGE(programs().size() << " programs, " << runs << " runs");
  CHECK(runs >= 3'000 / kShare);
}

namespace {

int least_n(const Program& p, program::Fault& fault) {
  const int most = program::enough_iterations(p).value_or(12);
  for (int n = 1; n <= most; ++n)
    if (auto found = program::judge(p, n)) {
      fault = *found;
      return n;
    }
  return 0;
}

}  // namespace

TEST_CASE("a wait less: the judge refuses it, and the executor shows it") {
  int mutants = 0, refused = 0, by_order = 0, by_replay = 0;
  std::map<std::string, int> as, hidden;
  std::vector<std::string> left;
  for (const Made& made : programs()) {
    Program whole = made.program;
    whole.meaning = shrunk(*whole.meaning);
    for (std::size_t w = 0; w < whole.waits.size(); ++w) {
      Program p = whole;
      p.waits.erase(p.waits.begin() + static_cast<std::ptrdiff_t>(w));
      ++mutants;
      program::Fault fault;
      const int first = least_n(p, fault);
      if (first == 0) continue;
      ++refused;
      // Two iterations more than the fault needs, that what is wrong can be read.
      std::string found;
      for (int n = first; n <= first + 2 && found.empty(); ++n) {
        const auto inputs = meaning::seeded_inputs(*p.meaning, n, 17);
        const auto right = meaning::reference(*p.meaning, n, inputs);
        for (std::uint64_t seed = 0; seed < 3 && found.empty(); ++seed)
          for (const Pace pace : {Pace::late, Pace::random, Pace::eager})
            if (found.empty()) found = shown(p, n, inputs, right, {pace, seed, {}});
      }
      if (!found.empty()) ++by_order;
      for (int later = 0; later <= 4 && found.empty(); ++later) {
        const int n = first + later + 2;
        std::vector<program::Fault> faults{fault};
        if (const auto again = program::judge(p, n)) faults.push_back(*again);
        const auto inputs =
            meaning::seeded_inputs(*p.meaning, n, 17 + static_cast<std::uint64_t>(later));
        const auto right = meaning::reference(*p.meaning, n, inputs);
        for (const program::Fault& one : faults)
          for (const Course& course : program::replay(p, one, later))
            if (found.empty()) found = shown(p, n, inputs, right, course);
        if (!found.empty()) ++by_replay;
      }
      if (!found.empty()) {
        ++as[found];
        continue;
      }
      ++hidden[fault.rule];
      const auto& wait = whole.waits[w];
      left.push_back(
          made.name + ": " + whole.ops[static_cast<std::size_t>(wait.before)].id + " for " +
          whole.ops[static_cast<std::size_t>(whole.events[static_cast<std::size_t>(wait.event)].op)]
              .id +
          " offset " + std::to_string(wait.offset) + " " + program::to_string(wait.need) + ": " +
          fault.text);
    }
  }
  std::string text = std::to_string(mutants) + " waits removed, " + std::to_string(refused) +
                     " refused by the judge; shown by an order " + std::to_string(by_order) +
                     ", by its witness " + std::to_string(by_replay) + ";";
  for (const auto& [what, count] : as) text += " " + what + " " + std::to_string(count);
  text += "; not shown";
  for (const auto& [rule, count] : hidden) text += " " + rule + " " + std::to_string(count);
  for (const std::string& one : left) text += "\n" + one;
  MESSAGE(text);
  CHECK(refused == mutants);
  CHECK(by_order + by_replay == refused);
}

namespace {

/// Storages name again what they share addresses with, events the bytes that they bring.
void settle(Program& p) {
  const auto end_of = [](const program::Storage& s) {
    return s.base + (s.size + s.alignment - 1) / s.alignment * s.alignment * (s.depth - 1) + s.size;
  };
  for (std::size_t a = 0; a < p.storages.size(); ++a) {
    p.storages[a].shares.clear();
    for (std::size_t b = 0; b < p.storages.size(); ++b) {
      const program::Storage &s = p.storages[a], &t = p.storages[b];
      if (a != b && s.kind == program::Storage::in_memory &&
          t.kind == program::Storage::in_memory && s.memory == t.memory && s.base < end_of(t) &&
          t.base < end_of(s))
        p.storages[a].shares.push_back(static_cast<int>(b));
    }
  }
  std::stable_sort(p.waits.begin(), p.waits.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
}

/// One random change; false = there was nothing to change so.
bool change(Program& p, test::Random& random) {
  const auto any = [&](std::size_t count) {
    return static_cast<std::size_t>(random.range(0, static_cast<std::int64_t>(count) - 1));
  };
  switch (random.range(0, 6)) {
    case 0:
      if (p.waits.empty()) return false;
      p.waits.erase(p.waits.begin() + static_cast<std::ptrdiff_t>(any(p.waits.size())));
      return true;
    case 1: {
      if (p.waits.empty()) return false;
      int& offset = p.waits[any(p.waits.size())].offset;
      offset += random.percent(50) ? 1 : -1;
      return true;
    }
    case 2: {
      auto& storage = p.storages[any(p.storages.size())];
      storage.depth += random.percent(50) || storage.depth == 1 ? 1 : -1;
      return true;
    }
    case 3: {
      if (p.events.empty()) return false;
      auto& event = p.events[any(p.events.size())];
      if (event.pending) return false;
      event.phases += random.percent(50) || event.phases == 1 ? 1 : -1;
      return true;
    }
    case 4: {
      const int v = static_cast<int>(any(p.ops.size()));
      const auto k = static_cast<std::size_t>(v);
      if (k + 1 == p.ops.size() || p.ops[k].slot != p.ops[k + 1].slot) return false;
      std::swap(p.ops[k], p.ops[k + 1]);
      const auto other = [&](int op) { return op == v ? v + 1 : op == v + 1 ? v : op; };
      for (auto& event : p.events) event.op = other(event.op);
      for (auto& wait : p.waits) wait.before = other(wait.before);
      return true;
    }
    case 5: {
      auto& op = p.ops[any(p.ops.size())];
      op.stage += random.percent(50) || op.stage == 0 ? 1 : -1;
      return true;
    }
    default: {
      auto& storage = p.storages[any(p.storages.size())];
      if (storage.kind != program::Storage::in_memory) return false;
      storage.base +=
          random.percent(50) || storage.base < storage.size ? storage.size : -storage.size;
      storage.base -= storage.base % storage.alignment;
      return true;
    }
  }
}

}  // namespace

TEST_CASE("programs changed at random: what the judge accepts is never wrong") {
  test::Random random(26);
  int accepted = 0, refused = 0, shown_wrong = 0, runs = 0;
  for (const Made& made : programs()) {
    Program whole = made.program;
    whole.meaning = shrunk(*whole.meaning);
    for (int k = 0; k < 16; ++k) {
      Program p = whole;
      if (!change(p, random)) continue;
      settle(p);
      program::Links links;
      if (program::link(p, links)) continue;
      const auto fault = program::judge(p);
      if (fault && fault->rule != "deadlock" && fault->rule != "race" && fault->rule != "version" &&
          fault->rule != "phase")
        continue;  // wrong as it stands
      ++(fault ? refused : accepted);
      bool wrong = false;
      for (const int n : {1, 2, 5, 7}) {
        const auto inputs = meaning::seeded_inputs(*p.meaning, n, 5);
        const auto right = meaning::reference(*p.meaning, n, inputs);
        for (std::uint64_t seed = 0; seed < 2; ++seed)
          for (const Pace pace : {Pace::late, Pace::eager, Pace::random}) {
            if (wrong) continue;
            const std::string what = shown(p, n, inputs, right, {pace, seed, {}});
            ++runs;
            wrong = !what.empty();
            if (!wrong || fault) continue;
            CAPTURE(made.name);
            CAPTURE(n);
            CAPTURE(program::program_text(p));
            FAIL_CHECK("accepted by the judge: " << what);
          }
      }
      if (fault && wrong) ++shown_wrong;
    }
  }
  MESSAGE("accepted " << accepted << ", refused " << refused << ", of these shown by an order "
                      << shown_wrong << "; " << runs << " runs");
  CHECK(accepted >= 50 / kShare);
  CHECK(refused >= 100 / kShare);
  CHECK(shown_wrong * 2 > refused);
}

TEST_CASE("a fence less: the judge refuses it, and an asynchronous unit reads what is not there") {
  int mutants = 0;
  for (const Made& made : programs()) {
    Program whole = made.program;
    whole.meaning = shrunk(*whole.meaning);
    const int n = program::stage_count(whole) + 2;
    const auto inputs = meaning::seeded_inputs(*whole.meaning, n, 5);
    const auto right = meaning::reference(*whole.meaning, n, inputs);
    CHECK(shown(whole, n, inputs, right, {Pace::late, 0, {}}) == "");
    for (auto& op : whole.ops) {
      if (!op.fence) continue;
      CAPTURE(made.name);
      CAPTURE(op.id);
      op.fence = false;
      const auto fault = program::judge(whole);
      REQUIRE(fault);
      CHECK(fault->rule == "fence");
      CHECK(fault->witness.front() == op.id + "[0]");
      CHECK(shown(whole, n, inputs, right, {Pace::late, 0, {}}) != "");
      CHECK(shown(whole, n, inputs, right, {Pace::eager, 0, {}}) == "");  // luck
      op.fence = true;
      ++mutants;
    }
  }
  MESSAGE(mutants << " fences");
  CHECK(mutants > 30 / kShare);
}

}  // namespace program_execute_test
