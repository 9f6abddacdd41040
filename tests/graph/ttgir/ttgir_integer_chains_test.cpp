// Integers that are computed element by element to one result are one op: beside a walk that takes
// each op away and asks what still leads out, on random loops; words of 64 bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "graph/lowering/costed_loop.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/words.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_integer_chains_test {

using namespace twill;

namespace {

constexpr std::size_t kFewest = 12;  // ops of a chain

const std::string kTile = "tensor<32x32xi32, #l>", kReal = "tensor<32x32xf32, #l>";
const std::string kPointers = "tensor<32x32x!tt.ptr<i32>, #l>";

/// A loop of ops on tiles: of each op the two tiles that it reads (-1 = the loaded one, -2 = one
/// from before), and which are stored.
struct Loop {
  struct Step {
    int a = -1, b = -1;
    bool stored = false, real = false;  ///< real: what it makes is converted to one and back
  };
  std::vector<Step> steps;

  std::string text() const {
    std::string text =
        "#l = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
        "order = [1, 0]}>\n"
        "module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = 4 : i32, "
        "ttg.target = \"cuda:90\", \"ttg.threads-per-warp\" = 32 : i32} {\n"
        "  tt.func public @f(%p: " +
        kPointers + ", %o: " + kPointers + ", %k: " + kTile +
        ", %n: i32) {\n    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
        "    scf.for %i = %c0 to %n step %c1  : i32 {\n      %x = tt.load %p : " +
        kPointers + "\n";
    const auto name = [](int v) {
      return v == -1 ? std::string("%x") : v == -2 ? std::string("%k") : "%v" + std::to_string(v);
    };
    for (std::size_t v = 0; v < steps.size(); ++v) {
      const Step& step = steps[v];
      const std::string made = std::to_string(v);
      text += "      %" + std::string(step.real ? "w" : "v") + made + " = arith.xori " +
              name(step.a) + ", " + name(step.b) + " : " + kTile + "\n";
      if (step.real)
        text += "      %r" + made + " = arith.sitofp %w" + made + " : " + kTile + " to " + kReal +
                "\n      %v" + made + " = arith.fptosi %r" + made + " : " + kReal + " to " + kTile +
                "\n";
      if (step.stored) text += "      tt.store %o, %v" + made + " : " + kPointers + "\n";
    }
    return text + "    }\n    tt.return\n  }\n}\n";
  }
};

ttgir::LoweredModule lowered(const std::string& text) {
  return ttgir::lower_module(text, "module", builtin_machine("hopper"), "hopper", {},
                             test::streaming_loads());
}

/// The chains of a module, by the names of their ops.
std::set<std::set<std::string>> found(const std::string& text) {
  std::set<std::set<std::string>> all;
  const Kernel kernel = lowered(text).loop.kernel;
  for (const Chunk& chunk : kernel.chunks) {
    std::set<std::string> ops;
    for (const std::size_t v : chunk.ops) ops.insert(kernel.ops[v].id);
    all.insert(ops);
  }
  return all;
}

std::string listed(const std::set<std::set<std::string>>& chains) {
  std::string text;
  for (const auto& chain : chains) {
    for (const std::string& op : chain) text += op + " ";
    text += "; ";
  }
  return text;
}

/// The same by definition: an op is of the chain of the last op that all its ways out lead through.
std::set<std::set<std::string>> expected(const Loop& loop) {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> users;
  std::vector<bool> out;
  std::vector<std::size_t> made(loop.steps.size());  // node of what a step makes
  const auto add = [&](const std::string& name) {
    names.push_back(name);
    users.emplace_back();
    out.push_back(false);
    return names.size() - 1;
  };
  for (std::size_t v = 0; v < loop.steps.size(); ++v) {
    const Loop::Step& step = loop.steps[v];
    const std::string number = std::to_string(v);
    const std::size_t first = add((step.real ? "w" : "v") + number);
    for (const int from : {step.a, step.b})
      if (from >= 0) users[made[static_cast<std::size_t>(from)]].push_back(first);
    made[v] = first;
    if (!step.real) continue;
    const std::size_t real = add("r" + number), back = add("v" + number);
    users[first].push_back(real);
    users[real].push_back(back);
    made[v] = back;
  }
  for (std::size_t v = 0; v < loop.steps.size(); ++v) out[made[v]] = loop.steps[v].stored;
  const auto leads_out = [&](std::size_t from, std::size_t without) {
    std::vector<bool> reached(names.size(), false);  // (users come behind)
    reached[from] = true;
    for (std::size_t v = from; v < names.size(); ++v) {
      if (!reached[v] || v == without) continue;
      if (out[v]) return true;
      for (const std::size_t user : users[v]) reached[user] = true;
    }
    return false;
  };
  std::vector<std::set<std::string>> of(names.size());
  for (std::size_t v = 0; v < names.size(); ++v) {
    std::size_t last = v;
    for (std::size_t r = v; r < names.size(); ++r)
      if (!leads_out(v, r)) last = r;
    of[last].insert(names[v]);
  }
  std::set<std::set<std::string>> all;
  for (const auto& ops : of)
    if (ops.size() >= kFewest) all.insert(ops);
  return all;
}

}  // namespace

TEST_CASE("chains of integers are what leads to one result, in random loops") {
  int chains = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    test::Random random(seed);
    Loop loop;
    const int steps = test::pick(random, 8, 24);
    for (int v = 0; v < steps; ++v) {
      Loop::Step step;
      // (Near ones: else much is used far away.)
      step.a = std::max(-2, test::pick(random, v - 4, v - 1));
      step.b = std::max(-2, test::pick(random, v - 2, v - 1));
      step.stored = v == steps - 1 || test::pick(random, 0, 19) == 0;
      step.real = test::pick(random, 0, 5) == 0;
      loop.steps.push_back(step);
    }
    for (int v = 0; v < steps; ++v)  // (what nobody needs is left out of modules)
      if (std::none_of(loop.steps.begin(), loop.steps.end(),
                       [&](const Loop::Step& step) { return step.a == v || step.b == v; }))
        loop.steps[static_cast<std::size_t>(v)].stored = true;
    CAPTURE(seed);
    const auto want = expected(loop);
    CHECK(listed(found(loop.text())) == listed(want));
    chains += static_cast<int>(want.size());
    without += want.empty() ? 1 : 0;
  }
  CHECK(chains > 50);
  CHECK(without > 50);
}

TEST_CASE("random numbers of dropout are one op that takes as long as its parts") {
  for (const std::string machine : {"hopper", "blackwell"}) {
    CAPTURE(machine);
    const std::string text =
        read_file(TWILL_TEST_DATA "/ttgir/scores-dropped-" + machine + ".ttgir");
    const auto made = ttgir::lower_module(text, "module", builtin_machine(machine), machine, {},
                                          test::streaming_loads());
    const Kernel& kernel = made.loop.kernel;
    const auto chain =
        std::find_if(kernel.chunks.begin(), kernel.chunks.end(),
                     [](const Chunk& chunk) { return chunk.id.ends_with(".chain"); });
    REQUIRE(chain != kernel.chunks.end());
    CHECK(chain->ops.size() > 60);
    const auto& ops = made.problems.front().problem.ops;
    const auto op =
        std::find_if(ops.begin(), ops.end(), [&](const Op& one) { return one.id == chain->id; });
    REQUIRE(op != ops.end());
    Cycle all = 0;
    for (const std::size_t v : chain->ops) all += cost_op(kernel, made.machine, v).op.cycles;
    CHECK(op->cycles == all);
    // A tile of 64 x 64 on four warps, once.
    CHECK(op->registers == 32);
  }
}

TEST_CASE("words that are left of numbers of 64 bits") {
  const auto left = [](const std::string& lines) {
    const auto module = ttgir::parse_module(
        "module {\n  tt.func public @f(%x: i32, %y: i64) {\n"
        "    %c32 = arith.constant 32 : i64\n    %c31 = arith.constant 31 : i64\n"
        "    %word = arith.constant 4294967295 : i64\n    %part = arith.constant 65535 : i64\n"
        "    %upper = arith.constant -4294967296 : i64\n"
        "    %number = arith.constant -8589934589 : i64\n"
        "    %sx = arith.extsi %x : i32 to i64\n    %ux = arith.extui %x : i32 to i64\n" +
            lines + "    tt.return\n  }\n}\n",
        "module");
    for (int op = 0; op < static_cast<int>(module.ops.size()); ++op)
      if (module.op(op).name == "arith.trunci") {
        const auto word = ttgir::word_left(module, op);
        if (!word) return std::string("unknown");
        if (word->value == ttgir::kNone) return std::to_string(word->number);
        return (word->sign ? "sign of " : "") + std::string(module.value(word->value).name);
      }
    return std::string("nothing");
  };
  const auto cut = [](const std::string& of) {
    return "    %r = arith.trunci %" + of + " : i64 to i32\n";
  };
  const auto with = [](const std::string& name, const std::string& op, const std::string& of,
                       const std::string& by) {
    return "    %" + name + " = arith." + op + " %" + of + ", %" + by + " : i64\n";
  };
  CHECK(left(cut("sx")) == "x");
  CHECK(left(cut("ux")) == "x");
  CHECK(left(with("m", "andi", "sx", "word") + cut("m")) == "x");
  CHECK(left(with("m", "andi", "sx", "part") + cut("m")) == "unknown");
  CHECK(left(with("m", "andi", "sx", "upper") + cut("m")) == "0");
  CHECK(left(with("h", "shrui", "sx", "c32") + cut("h")) == "sign of x");
  CHECK(left(with("h", "shrui", "ux", "c32") + cut("h")) == "0");
  CHECK(left(with("h", "shrui", "sx", "c31") + cut("h")) == "unknown");
  CHECK(left(with("h", "shrui", "sx", "c32") + with("m", "andi", "h", "word") + cut("m")) ==
        "sign of x");
  CHECK(left(with("h", "shrui", "sx", "c32") + with("g", "shrui", "h", "c32") + cut("g")) == "0");
  CHECK(left(cut("number")) == "3");
  CHECK(left(with("h", "shrui", "number", "c32") + cut("h")) == "-2");
  CHECK(left(cut("y")) == "unknown");
}

}  // namespace ttgir_integer_chains_test
