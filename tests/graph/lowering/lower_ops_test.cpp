// Lowering of what a kernel says of its ops: chunked chains, aliases, rules, streaming and holds.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "graph/check.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/streaming.hpp"

namespace lower_ops_test {

using namespace twill;
using namespace twill::test;

namespace {

/// "from>to delay distance blocking hold", sorted: edges up to their order.
std::vector<std::string> edge_texts(const Problem& problem) {
  std::vector<std::string> texts;
  for (const Edge& edge : problem.edges) {
    std::ostringstream text;
    text << problem.ops[static_cast<std::size_t>(edge.from)].id << '>'
         << problem.ops[static_cast<std::size_t>(edge.to)].id << ' ' << edge.delay << ' '
         << edge.distance << ' ' << edge.blocking << ' ' << edge.hold;
    texts.push_back(text.str());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

TEST_CASE("chunked chain: one op, one segment per unit from issue, the chunk's registers") {
  const Problem plain = lower_builtin("blackwell-fwd-sub2", "blackwell")[0].problem;
  const Problem problem = lower_builtin("blackwell-fwd-sub2-chunked", "blackwell")[0].problem;
  CHECK(problem.ops.size() == plain.ops.size() - 4);
  const Op& op = find_op(problem, "s0_rescale");
  CHECK(op.kind == "tmem_load+mul+tmem_store");
  // Four chunks of 128 x 32: load 32, multiply 32, store 32; TMEM does 64 for each.
  CHECK(op.cycles == 96 + 3 * 64);
  REQUIRE(op.reservations.size() == 2);
  for (const Reservation& use : op.reservations) {
    const std::string& unit = problem.units[static_cast<std::size_t>(use.unit)].name;
    CHECK((unit == "TMEM" || unit == "ALU"));
    CHECK(use == Reservation{use.unit, 0, unit == "TMEM" ? 256 : 128, 1});
  }
  CHECK(op.registers == 32);
  CHECK(op.spill == 0);
  CHECK(op.width == 4);
  REQUIRE(op.footprints.size() == 1);
  CHECK(problem.memories[static_cast<std::size_t>(op.footprints[0].memory)].name == "tmem");
  CHECK(op.footprints[0].amount == 128);
  CHECK(monotone_in_ii(problem));
  // Edges: the plain graph's, redirected; the two inside each chain are gone.
  std::vector<std::string> wanted;
  for (std::string text : edge_texts(plain)) {
    for (const std::string s : {"s0_", "s1_"}) {
      for (const std::string part : {"tld_acc", "mul_acc", "tst_acc"}) {
        const std::string name = s + part;
        for (std::size_t at; (at = text.find(name)) != std::string::npos;)
          text.replace(at, name.size(), s + "rescale");
      }
      if (text.starts_with(s + "rescale>" + s + "pv")) text = s + "rescale>" + s + "pv 288 0 1 0";
    }
    if (!contains(text, "rescale>s0_rescale") && !contains(text, "rescale>s1_rescale"))
      wanted.push_back(text);
  }
  std::sort(wanted.begin(), wanted.end());
  CHECK(edge_texts(problem) == wanted);
}

TEST_CASE("chunked chain: arithmetic, loop-carried edges, stated delays, chains in registers") {
  const std::string ops = tile_op("r", "read", R"(, "traffic": {"B": 250})") + "," +
                          tile_op("c", "calc") + "," + tile_op("w", "write") + "," +
                          tile_op("x", "calc");
  const std::string edges = edge("r", "c") + "," + edge("c", "w") + "," + edge("w", "x") + "," +
                            edge("x", "r", R"(, "distance": 1)") + "," +
                            edge("w", "r", R"(, "distance": 2)") + "," +
                            edge("c", "x", R"(, "delay": 7, "hold": 3)");
  const auto chunked = [&](const std::string& list, const std::string& size) {
    return lower_text(
        small_kernel(ops, edges, R"(, "chunks": [{"id": "f", "ops": )" + list + size + "}]"),
        kSmallMachine);
  };
  const Lowered lowered = chunked(R"(["r", "c", "w"])", R"(, "columns": 25)");
  const Op& op = lowered.problem.ops[0];
  // 128 x 25 = 3200 elements a chunk: read 32, calc 64 + 3, write 16; A 48, B 67 a chunk.
  CHECK(op.id == "f");
  CHECK(op.cycles == 32 + 67 + 16 + Cycle{3} * 67);
  CHECK(op.reservations ==
        std::vector<Reservation>{{0, 0, Cycle{4} * 48, 1}, {1, 0, Cycle{4} * 67, 1}});
  CHECK(op.registers == 25);
  CHECK(op.footprints == std::vector<Footprint>{{0, 100}});
  // B: 4 * 67 of the chain, 259 of x, and 250 bytes at 100 a cycle.
  REQUIRE(lowered.bandwidth.size() == 1);
  CHECK(lowered.bandwidth[0].cycles == 4 * 67 + 259 + 3);
  CHECK(edge_texts(lowered.problem) ==
        std::vector<std::string>{"f>f 316 2 0 0", "f>x 316 0 0 0", "f>x 7 0 0 3", "x>f 259 1 0 0"});
  CHECK(chunked(R"(["r", "c", "w"])", R"(, "count": 4)").problem == lowered.problem);

  // A chain that ends in registers holds its whole result there, with its spill.
  const Op held = chunked(R"(["r", "c"])", R"(, "columns": 10)").problem.ops[0];
  CHECK(held.registers == 100);
  CHECK(held.spill == 10 + 2 * 400);
  CHECK(held.footprints.empty());

  const auto answer = [&](const std::string& list, const std::string& size) {
    return refusal_text([&] { chunked(list, size); });
  };
  CHECK(contains(answer(R"(["r", "w"])", R"(, "count": 4)"), "must use the op before it"));
  CHECK(contains(answer(R"(["r"])", R"(, "count": 4)"), "at least two ops"));
  CHECK(contains(answer(R"(["r", "c", "r"])", R"(, "count": 4)"), "at most one chunk"));
  CHECK(contains(answer(R"(["r", "c"])", R"(, "count": 3)"), "must divide the tile's 100 columns"));
  CHECK(contains(answer(R"(["r", "c"])", R"(, "count": 4, "columns": 25)"), "exactly one of"));
  CHECK(contains(answer(R"(["r", "c"])", ""), "exactly one of"));
}

TEST_CASE("aliases: a view holds nothing and its consumers keep the source live") {
  const auto problem_of = [](const std::string& first, const std::string& second) {
    const std::string ops = tile_op("s", "read") + "," + tile_op("v", "view", first) + "," +
                            tile_op("u", "view", second) + "," + tile_op("c", "calc");
    const std::string edges = edge("s", "v") + "," + edge("v", "u", R"(, "distance": 1)") + "," +
                              edge("u", "c", R"(, "distance": 2, "hold": 5, "blocking": true)") +
                              "," + edge("v", "c");
    return lower_text(small_kernel(ops, edges), kSmallMachine).problem;
  };
  const std::vector<std::string> own = {"s>v 128 0 0 0", "u>c 0 2 1 5", "v>c 0 0 0 0",
                                        "v>u 0 1 0 0"};
  const Problem repeated = problem_of("", "");
  CHECK(edge_texts(repeated) == own);
  CHECK(find_op(repeated, "v").registers == 100);
  CHECK(find_op(repeated, "v").spill == 10 + 2 * 400);

  // v of s, u of v: both consumers' edges go to s, the distance to u and on to c added.
  const Problem chain = problem_of(R"(, "alias_of": "s")", R"(, "alias_of": "v")");
  std::vector<std::string> wanted = own;
  wanted.insert(wanted.end(), {"s>c 0 0 0 0", "s>c 0 3 0 5"});
  std::sort(wanted.begin(), wanted.end());
  CHECK(edge_texts(chain) == wanted);
  for (const char* id : {"v", "u"}) {
    CHECK(find_op(chain, id).registers == 0);
    CHECK(find_op(chain, id).spill == 0);
    CHECK(find_op(chain, id).cycles == 0);
  }
  CHECK(find_op(chain, "s").registers == 100);

  // Only u is a view: of v, which holds its own copy.
  const Problem half = problem_of("", R"(, "alias_of": "v")");
  wanted = own;
  wanted.emplace_back("v>c 0 3 0 5");
  std::sort(wanted.begin(), wanted.end());
  CHECK(edge_texts(half) == wanted);

  const auto answer = [&](const std::string& first, const std::string& second) {
    return refusal_text([&] { problem_of(first, second); });
  };
  CHECK(contains(answer(R"(, "alias_of": "c")", ""), "exactly one edge to the view, found 0"));
  CHECK(contains(answer(R"(, "alias_of": "s", "registers": 3)", ""), "a view must hold nothing"));
  CHECK(contains(answer("", R"(, "alias_of": "nobody")"), "must be the id of an op"));
  const std::string timed =
      tile_op("s", "read") + "," + tile_op("v", "calc", R"(, "alias_of": "s")");
  CHECK(contains(
      refusal_text([&] { lower_text(small_kernel(timed, edge("s", "v")), kSmallMachine); }),
      "a view must take no time"));
}

TEST_CASE("rules: occupancy, latency, accumulate, rounding, given costs, streaming") {
  const std::string ops =
      tile_op("l", "load", "", "[3]") + "," + tile_op("a", "slow") + "," +
      R"({"id": "g", "cost": {"unit": "B", "cycles": 9, "occupancy": 2, "latency": 40}})" + "," +
      tile_op("r", "load", "", "[3]");
  const std::string edges = edge("l", "a") + "," +
                            edge("a", "a", R"(, "distance": 1, "accumulate": true)") + "," +
                            edge("a", "g", R"(, "distance": 1)") + "," + edge("g", "r");
  const Problem problem = lower_text(small_kernel(ops, edges), kSmallMachine).problem;
  CHECK(edge_texts(problem) ==
        std::vector<std::string>{"a>a 5 1 0 0", "a>g 900 1 0 0", "g>r 40 0 0 0", "l>a 0 0 0 0"});
  CHECK(find_op(problem, "a").cycles == 128);
  CHECK(find_op(problem, "a").reservations == std::vector<Reservation>{{0, 0, 5, 1}});
  CHECK(find_op(problem, "g").cycles == 9);
  CHECK(find_op(problem, "g").reservations == std::vector<Reservation>{{1, 0, 2, 1}});
  CHECK(find_op(problem, "g").kind.empty());
  CHECK(find_op(problem, "l").streaming);
  CHECK(find_op(problem, "l").cycles == 0);
  // r has an input: variable latency, not streaming; 12 bytes at 7 a cycle are 2 cycles.
  CHECK_FALSE(find_op(problem, "r").streaming);
  CHECK(find_op(problem, "r").variable_latency);
  CHECK(find_op(problem, "r").cycles == 2);

  const auto answer = [](const std::string& op) {
    return refusal_text([&] { lower_text(small_kernel(op, ""), kSmallMachine); });
  };
  CHECK(contains(answer(tile_op("x", "exp3")),
                 "k: /ops/0/kind: found \"exp3\": machine \"small\" has no cost rule for it; it "
                 "has: calc, load, read, slow, view, write"));
  CHECK(contains(answer(tile_op("x", "calc", R"(, "result": "tmem")")), "has no such memory"));
  CHECK(contains(answer(R"({"id": "x", "cost": {"unit": "C", "cycles": 1}})"), "has no such unit"));
  CHECK(contains(answer(tile_op("x", "slow", "", "[1, 100]")), "occupancy must not exceed"));
  CHECK(contains(answer(R"({"id": "x", "cost": {"unit": "A", "cycles": 1}, "result": "mem"})"),
                 "a result needs a shape and a type"));
}

TEST_CASE("holds: an MMA keeps what it reads until it ends, but for its accumulator") {
  const auto hold = [](const std::string& kernel, const std::string& machine, bool on,
                       const std::string& from, const std::string& to) {
    const LowerOptions options = streaming_loads(on);
    const Problem p =
        lower(builtin_kernel(kernel), kernel, builtin_machine(machine), machine, options)
            .front()
            .problem;
    const auto is = [&](int v, const std::string& id) {
      return p.ops[static_cast<std::size_t>(v)].id == id;
    };
    Cycle found = -1;
    for (const Edge& e : p.edges)
      if (is(e.from, from) && is(e.to, to)) found = std::max(found, e.hold);
    return found;
  };
  // P in registers, 512 cycles of wgmma; the accumulator is overwritten in place.
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "s0_trunc_p", "s0_pv") == 512);
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "s0_mul_acc", "s0_pv") == 0);
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "s0_exp_p", "s0_trunc_p") == 0);
  CHECK(hold("hopper-fwd-sub2", "hopper", false, "s0_trunc_p", "s0_pv") == 0);
  // K in shared memory, behind the descriptor that transposes it.
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "alloc_k", "s0_qk") == 512);
  CHECK(hold("hopper-fwd-sub2", "hopper", false, "alloc_k", "s0_qk") == -1);
  CHECK(hold("hopper-bwd", "hopper", true, "trunc_p", "dv") == 512);
  CHECK(hold("hopper-bwd", "hopper", true, "trunc_ds", "dk") == 512);
  CHECK(hold("hopper-bwd", "hopper", true, "dv", "dv") == 0);
  CHECK(hold("hopper-bwd", "hopper", true, "st_dq", "red_dq") == 2048);
  // P and the accumulator in tensor memory.
  CHECK(hold("blackwell-fwd-plain", "blackwell", true, "tst_p", "pv") == 512);
  CHECK(hold("blackwell-fwd-plain", "blackwell", true, "tst_acc", "pv") == 0);
  CHECK(hold("blackwell-fwd-plain", "blackwell", true, "alloc_v", "pv") == 512);
}

TEST_CASE("pins of a kernel file: on the layouts that have their slots") {
  const std::string with = R"("version": 4, "pins": [{"op": "s0_rescale", "warp": "correction"},
      {"op": "s1_rescale", "same_warp_as": "s0_rescale"}, {"op": "s0_qk", "not_warp": "softmax1"},
      {"op": "s0_qk", "cycle": 0}],)";
  std::string text = builtin_kernel("blackwell-fwd-sub2-chunked");
  const std::string version = "\"version\": 4,";
  REQUIRE(text.find(version) != std::string::npos);
  text.replace(text.find(version), version.size(), with);
  const auto lowered = [&](const LowerOptions& options = {}) {
    return lower(text, "k", builtin_machine("blackwell"), "m", options);
  };
  REQUIRE(lowered().size() == 1);
  CHECK(lowered()[0].layout == "softmax-correction");
  const Problem problem = lowered()[0].problem;
  std::vector<std::string> pins;
  for (const Pin& pin : problem.pins) pins.push_back(pin_text(problem, pin));
  CHECK(pins == std::vector<std::string>{"pin of s0_rescale to correction",
                                         "s1_rescale on the slot of s0_rescale",
                                         "s0_qk not on softmax1", "s0_qk at cycle 0"});
  Problem without = problem;
  without.pins.clear();
  LowerOptions options;
  options.layout = "softmax-correction";
  CHECK(without == lower_builtin("blackwell-fwd-sub2-chunked", "blackwell", options)[0].problem);
  options.layout = "8+4";
  CHECK(contains(refusal_text([&] { lowered(options); }),
                 "op \"s0_rescale\" is pinned to \"correction\", which it has not"));
  options = {};
  options.normalize = 300;
  CHECK(contains(refusal_text([&] { lowered(options); }), "/pins/3/cycle"));
  // A load's slot takes nothing else.
  text.replace(text.find("\"correction\""), 12, "\"load\"");
  CHECK(contains(refusal_text([&] { lowered(); }), "too narrow or of another latency class"));
}

}  // namespace lower_ops_test
