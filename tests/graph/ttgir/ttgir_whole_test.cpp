// Functions around loops that Triton has pipelined (tests/data/lowered: what Triton 3.9 made of the
// module of that name) are had back as they were: executed op by op, the function that is undone
// stores, to the last bit, what the one stores that it was made of. A text in which a number of
// what stands around the loop is another one is refused, or is another function: it never passes
// for the same.
#include <doctest/doctest.h>

#include <cctype>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/tile_numbers.hpp"
#include "graph/ttgir/undo.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_whole_test {

namespace {

using namespace twill;
using namespace twill::ttgir;

struct Pair {
  std::string lowered, original, machine;
  bool fixed = false;  ///< loops of so few iterations that all guards before them hold
};

std::vector<Pair> pairs() {
  const std::string lowered = TWILL_TEST_DATA "/lowered/", plain = TWILL_TEST_DATA "/ttgir/";
  const std::string shipped = test::kTritonFolder;
  std::vector<Pair> all = {
      {shipped + "ampere-gemm-pipelined", shipped + "ampere-gemm-pointers", "ampere"}};
  for (const std::string name :
       {"hopper-attention-forward", "hopper-attention-backward", "hopper-linear-attention"})
    all.push_back({lowered + name, shipped + name, "hopper"});
  // Partitions: what they leave for the function in its results, tensor memory and buffers.
  for (const std::string name :
       {"blackwell-attention-forward", "blackwell-attention-forward-sub2", "blackwell-fused-mlp"})
    all.push_back({lowered + name, shipped + name, "blackwell"});
  // Loops around it: one tile after the other, with and without something that is carried.
  all.push_back({lowered + "hopper-gemm-persistent", shipped + "hopper-gemm-persistent", "hopper"});
  // Loops of a fixed number of iterations.
  all.push_back({lowered + "attention-causal-two-loops-hopper",
                 plain + "attention-causal-two-loops-hopper", "hopper", true});
  all.push_back(
      {lowered + "linear-loss-hopper", lowered + "before/linear-loss-hopper", "hopper", true});
  all.push_back({lowered + "linear-loss-blackwell", lowered + "before/linear-loss-blackwell",
                 "blackwell", true});
  // A number that is loaded in the loop; several loops, with stores between them; a return before
  // the loop; the last iteration in a branch behind it that needs its number.
  for (const std::string name : {"cross-entropy-of-product-hopper", "attention-fp8-hopper"})
    all.push_back({lowered + name, lowered + "before/" + name, "hopper"});
  for (const std::string name : {"attention-backward-two-loops-blackwell", "gemm-swiglu-blackwell",
                                 "linear-attention-backward-blackwell"})
    all.push_back({lowered + name, lowered + "before/" + name, "blackwell"});
  for (const std::string name : {"adapters-hopper", "attention-ragged-hopper"})
    all.push_back({lowered + name, plain + name, "hopper"});
  for (const std::string name : {"nearest-blackwell", "gemm-microscaled-blackwell"})
    all.push_back({lowered + name, plain + name, "blackwell"});
  for (const std::string name : {"attention-pointers-hopper", "gemm-int4-hopper"})
    all.push_back({lowered + name, plain + name, "hopper"});
  for (const std::string name :
       {"gemm-masked-blackwell", "gemm-int8-blackwell", "chunk-of-state-blackwell",
        "attention-pointers-blackwell", "weight-scaled-blackwell"})
    all.push_back({lowered + name, plain + name, "blackwell"});
  return all;
}

LoweredModule read(const std::string& text, const std::string& machine, bool undo_rings) {
  LoopOptions options;
  options.undo_rings = undo_rings;
  return lower_module(text, "module", builtin_machine(machine), machine, options, LowerOptions());
}

using Stored = std::vector<std::vector<MovedTile>>;

/// What each store of a function was given, in their order.
Stored stored(const LoweredModule& module, const meaning::Launch& launch) {
  const auto result = interpret(module.module, module.loop.loop, launch, kRealArgument, 7);
  if (const auto* no = std::get_if<NotInterpreted>(&result)) FAIL(no->why);
  Stored all;
  for (const auto& [op, tiles] : std::get<Interpretation>(result).moved)
    if (class_of(module.module.op(op)) == OpClass::store) all.push_back(tiles);
  return all;
}

/// The last loop undone (of loops in loops the inner one).
Undone undone(const std::string& text) {
  const Module module = parse_module(text, "module");
  int loop = kNone;
  for (std::size_t op = 0; op < module.ops.size(); ++op)
    if (module.ops[op].name == "scf.for") loop = static_cast<int>(op);
  REQUIRE(loop != kNone);
  return undo_schedule(module, loop);
}

TEST_CASE("what is undone stores what the original stores") {
  std::size_t compared = 0, turn = 0;
  for (const Pair& pair : pairs()) {
    CAPTURE(pair.lowered);
    ++turn;
    const LoweredModule original = read(read_file(pair.original + ".ttgir"), pair.machine, false);
    const LoweredModule again = read(read_file(pair.lowered + ".ttgir"), pair.machine, true);
    REQUIRE(again.undone);
    REQUIRE(again.lost == "");
    const auto meaning = meaning_of_loop(original);
    const auto* known = std::get_if<ModuleMeaning>(&meaning);
    REQUIRE(known != nullptr);
    CHECK(std::holds_alternative<ModuleMeaning>(meaning_of_loop(again)));
    for (int n = 0; n <= (test::kSanitized ? 4 : 9); ++n) {
      if ((static_cast<std::size_t>(n) + turn) % test::kShare != 0) continue;
      const auto launch = ragged_launch_of(*known, n);
      if (!launch) continue;
      CAPTURE(n);
      const Stored wanted = stored(original, *launch), found = stored(again, *launch);
      REQUIRE(wanted.size() == found.size());
      for (std::size_t s = 0; s < wanted.size(); ++s) {
        REQUIRE(wanted[s].size() == found[s].size());
        for (std::size_t t = 0; t < wanted[s].size(); ++t) {
          CHECK(wanted[s][t].shape == found[s][t].shape);
          const auto &a = wanted[s][t].data, &b = found[s][t].data;
          const bool same = a.size() == b.size() &&
                            std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
                              return x == y || (std::isnan(x) && std::isnan(y));
                            });
          CHECK(same);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 300 / test::kShare);
}

TEST_CASE("what a function stores before the loop is not lost") {
  const std::string text = read_file(test::kTritonFolder + "ampere-gemm-pipelined.ttgir");
  const std::string store = "tt.store %a_tile_21, %zeros : tensor<128x32x!tt.ptr<f16>, #blocked>\n";
  const std::string zeros =
      "%zeros = arith.constant dense<0.000000e+00> : tensor<128x32xf16, #blocked>\n";
  const std::size_t at = text.rfind('\n', text.find("scf.for")) + 1;
  for (const std::string& added :
       {zeros + store,
        zeros + "scf.for %z = %c0_i32 to %K step %c32_i32 : i32 {\n" + store + "}\n"}) {
    std::string other = text;
    other.insert(at, added);
    const Undone got = undone(other);
    REQUIRE(got.whole);
    const std::size_t loop = got.text.rfind("scf.for"), stored_at = got.text.find("tt.store");
    CHECK(stored_at < loop);
    CHECK(got.text.find("tt.store", loop) != std::string::npos);  // that of the original
  }
  std::string other = text;
  other.insert(at, "acme.twist %K : i32\n");
  const Undone got = undone(other);
  CHECK_FALSE(got.whole);
  CHECK(got.why_alone.why.find("before the loop would be lost") != std::string::npos);
}

TEST_CASE("a view of what is no buffer is no reason to end") {
  // (Found by mutating modules: a shape of one number was taken for one of two.)
  std::string text = read_file(TWILL_TEST_DATA "/lowered/blackwell-attention-forward.ttgir");
  const std::size_t from = text.find("%s_127 = ttg.memdesc_trans %s_126");
  REQUIRE(from != std::string::npos);
  std::string line = text.substr(from, text.find('\n', from) + 1 - from);
  line.replace(line.find("%s_126"), 6, "%s_101");  // an integer of another partition
  line.replace(0, 6, "%odd");
  text.insert(text.rfind('\n', text.rfind("scf.yield")) + 1, line);
  const auto meaning = meaning_of_loop(read(text, "blackwell", true));
  REQUIRE(std::holds_alternative<NoMeaning>(meaning));
  CHECK(std::get<NoMeaning>(meaning).why.find("do not agree") != std::string::npos);
}

TEST_CASE("a branch that long loops do not come to is no reason to leave it out") {
  // (Causal attention: beyond the diagonal's blocks nothing is masked, but there is no iteration
  // there. Once the mask was left out.)
  const std::string name = TWILL_TEST_DATA "/lowered/blackwell-attention-causal.ttgir";
  const LoweredModule again = read(read_file(name), "blackwell", true);
  CHECK(again.undone);
  CHECK(again.lost != "");
  const std::string all = *again.module.text;
  CHECK(all.find("scf.if") != std::string::npos);
}

/// Texts with a change: what became of one in so many of them.
struct Mutants {
  int share, refused = 0, other = 0, asked = 0;

  void operator()(const std::string& mutant, const Undone& whole, const std::string& what) {
    if (asked++ % share != 0) return;
    try {
      const Undone got = undone(mutant);
      if (got.whole) {
        ++other;
        CHECK_MESSAGE(got.text != whole.text, what);
        return;
      }
    } catch (const CannotUndo&) {
    } catch (const InputError&) {
    }
    ++refused;
  }
};

/// Where whole numbers stand as constants before the loop.
std::vector<std::pair<std::size_t, std::size_t>> constants(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const std::size_t loop = text.rfind("scf.for");  // the inner one, or the last partition's
  for (std::size_t at = 0; (at = text.find("arith.constant ", at)) < loop;) {
    at += 15;
    if (text.compare(at, 6, "dense<") == 0) at += 6;
    const std::size_t end = text.find_first_not_of("0123456789", at);
    if (end > at && text.compare(end, 2, ".0") != 0 && text[end] != 'x')
      found.emplace_back(at, end);
  }
  return found;
}

TEST_CASE("another number before the loop is another function, or is refused") {
  Mutants count{test::kShare};
  for (const Pair& pair : pairs()) {
    const std::string text = read_file(pair.lowered + ".ttgir");
    const Undone whole = undone(text);
    REQUIRE(whole.whole);
    for (const auto& [begin, end] : constants(text)) {
      const std::int64_t number = std::stoll(text.substr(begin, end - begin));
      for (const std::int64_t changed : {number + 1, 2 * number + 64}) {
        std::string mutant = text;
        mutant.replace(begin, end - begin, std::to_string(changed));
        count(mutant, whole, pair.lowered + ": " + text.substr(begin - 30, 60));
      }
    }
  }
  MESSAGE(count.refused << " refused, " << count.other << " other functions");
  CHECK(count.refused > 250 / test::kShare);
}

/// %c0_i32 of %c0_i32_58, which is the same constant; else the name.
std::string number_of(const std::string& name) {
  const std::size_t type = name.find("_i32");
  const bool constant = name.size() > 2 && name[1] == 'c' && std::isdigit(name[2]) != 0;
  return constant && type != std::string::npos ? name.substr(0, type + 4) : name;
}

/// Is it made by a comparison, or a mask that keeps all?
bool is_flag(const std::string& text, const std::string& name) {
  return text.find(name + " = arith.cmpi") != std::string::npos ||
         text.find(name + " = arith.constant dense<true>") != std::string::npos;
}

TEST_CASE("operands of what stands before the loop, exchanged with others of their type") {
  // Each copy before the loop gets the pointers, coordinates or flag of another one.
  Mutants count{test::kShare * test::kShare};
  for (const Pair& pair : pairs()) {
    const std::string text = read_file(pair.lowered + ".ttgir");
    const Undone whole = undone(text);
    std::vector<std::size_t> copies;
    const std::size_t loop = text.rfind("scf.for");
    for (const std::string name :
         {"async_copy_global_to_local ", "async_tma_copy_global_to_local "})
      for (std::size_t at = 0; (at = text.find(name, at)) < loop;)
        copies.push_back(at += name.size());
    const auto operands = [&](std::size_t at) {  // %a[%b, %c] %d, %e mask %f
      std::vector<std::pair<std::size_t, std::size_t>> names;
      const std::size_t end = text.find_first_of("{:", at);
      for (std::size_t p = text.find('%', at); p < end; p = text.find('%', p + 1))
        names.emplace_back(p, text.find_first_of(" ,[]", p));
      return names;
    };
    for (const std::size_t a : copies)
      for (const std::size_t b : copies) {
        const auto left = operands(a), right = operands(b);
        if (a == b || left.size() != right.size()) continue;
        for (std::size_t k = 0; k < left.size(); ++k) {
          const std::string mine = text.substr(left[k].first, left[k].second - left[k].first);
          const std::string theirs = text.substr(right[k].first, right[k].second - right[k].first);
          // (Without its guard a copy brings what nobody needs.)
          if (number_of(mine) == number_of(theirs) || theirs == "%true") continue;
          if (pair.fixed && is_flag(text, mine) && is_flag(text, theirs)) continue;
          std::string mutant = text;
          mutant.replace(left[k].first, mine.size(), theirs);
          count(mutant, whole, pair.lowered + ": " + mine + " -> " + theirs);
        }
      }
  }
  MESSAGE(count.refused << " refused, " << count.other << " other functions");
  CHECK(count.refused > 1'000 / count.share);
}

TEST_CASE("numbers of tiles as sums") {
  const Module module = parse_module(
      "module attributes {\"ttg.num-warps\" = 4 : i32} {\n  tt.func public @f(%n: i32) {\n"
      "    %c = arith.constant 0 : i32\n    %s = arith.constant 4 : i32\n"
      "    %four = arith.constant dense<4> : tensor<8xi32>\n"
      "    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
      "    scf.for %i = %c to %n step %s : i32 {\n"
      "      %t = tt.splat %i : i32 -> tensor<8xi32>\n"
      "      %a = arith.addi %t, %r : tensor<8xi32>\n"
      "      %b = arith.addi %a, %four : tensor<8xi32>\n"
      "      %d = tt.expand_dims %b {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>\n"
      "      %e = arith.muli %b, %r : tensor<8xi32>\n"
      "      %f = arith.addi %e, %b : tensor<8xi32>\n"
      "      %g = tt.expand_dims %f {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>\n"
      "      %h = arith.addi %d, %g : tensor<1x8xi32>\n"
      "    }\n    tt.return\n  }\n}\n",
      "module");
  int loop = kNone;
  for (std::size_t op = 0; op < module.ops.size(); ++op)
    if (module.ops[op].name == "scf.for") loop = static_cast<int>(op);
  const Replay replayed = replay(module, loop);
  TileNumbers numbers(module, replayed);
  std::map<std::pair<std::string, std::int64_t>, Linear> of;  // name, iteration
  for (std::size_t e = 0; e < replayed.executions.size(); ++e) {
    const Execution& x = replayed.executions[e];
    for (const int result : module.op(x.op).results) {
      Datum datum;
      datum.made = static_cast<int>(e);
      datum.value = result;
      if (const auto number = numbers.of(datum))
        of[{std::string(module.value(result).name), x.iteration}] = *number;
    }
  }
  const Linear range = of.at({"r", kBefore});
  CHECK(range.terms.size() == 1);
  CHECK(range.constant == 0);
  for (std::int64_t i = 0; i < 5; ++i) {
    CHECK(equal(sum_of(of.at({"a", i}), range, -1), sum_of(Linear(), of.at({"four", kBefore}), i)));
    CHECK(equal(sum_of(of.at({"b", i}), of.at({"a", i}), -1), of.at({"four", kBefore})));
    // In another form a range is another one; the number in each element is the same.
    CHECK(of.at({"d", i}).constant == 4 * i + 4);
    CHECK_FALSE(equal(of.at({"d", i}), of.at({"b", i})));
    CHECK(equal(sum_of(of.at({"d", i + 1}), of.at({"d", i}), -1), of.at({"four", kBefore})));
    // A product of tiles is known by itself alone: each iteration's is another one.
    CHECK_FALSE(equal(of.at({"e", i}), of.at({"e", i + 1})));
  }
}

}  // namespace

}  // namespace ttgir_whole_test
