// The kernels of the literature beside attention and GEMM: their work is what the published shapes
// ask for, they carry what the algorithms carry, and the solver settles them at raw cycles.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/io/builtin.hpp"
#include "graph/lowering/kernel.hpp"
#include "tests/support/streaming.hpp"

namespace literature_kernels_test {

using namespace twill;

namespace {

std::vector<Lowered> on_hopper(const std::string& kernel) {
  return lower(builtin_kernel(kernel, "hopper"), kernel, builtin_machine("hopper"), "hopper",
               test::streaming_loads());
}

Cycle work_of(const Problem& problem, const std::string& unit) {
  Cycle work = 0;
  for (const Op& op : problem.ops)
    for (const Reservation& r : op.reservations)
      if (problem.units[static_cast<std::size_t>(r.unit)].name == unit) work += r.length;
  return work;
}

/// Can `to` be reached from `from` over the edges?
bool reaches(const Problem& problem, int from, int to) {
  std::set<int> seen;
  std::vector<int> open = {from};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const Edge& e : problem.edges) {
      if (e.from != at) continue;
      if (e.to == to) return true;
      if (seen.insert(e.to).second) open.push_back(e.to);
    }
  }
  return false;
}

constexpr std::int64_t kMacs = 2048;  // a cycle, 16 bits, Hopper (its machine file has the source)

}  // namespace

TEST_CASE("tensor core work is that of the published shapes") {
  // Chunkwise linear attention, chunks of C positions, keys of dk, values of dv: scores and what
  // they weigh within the chunk, the state's read and its update.
  const auto chunk = [](std::int64_t c, std::int64_t dk, std::int64_t dv) {
    return c * c * (dk + dv) + 2 * c * dk * dv;
  };
  const auto product = [](std::int64_t m, std::int64_t n, std::int64_t k) { return m * n * k; };
  const struct {
    const char* kernel;
    std::int64_t macs;  ///< as of 16 bits
  } cases[] = {
      // 8 heads x 8 positions against 128 keys, twice, head dimension 128.
      {"hopper-gqa", 2 * product(64, 128, 128)},
      // 64 heads against 64 latent vectors of 512 and rotary parts of 64; the latent once more.
      {"hopper-mla", product(64, 64, 512 + 64) + product(64, 64, 512)},
      {"hopper-retnet", chunk(64, 128, 64)},
      {"hopper-gla", chunk(64, 128, 64)},
      {"hopper-mlstm", chunk(64, 128, 64)},
      // And W S.
      {"hopper-deltanet", chunk(64, 128, 64) + product(64, 128, 64)},
      {"hopper-mlp", 3 * product(128, 64, 128)},
      {"hopper-layer-norm", 0},
      // 8 bits take half as long.
      {"hopper-grouped-gemm", product(128, 128, 128) / 2}};
  for (const auto& c : cases) {
    CAPTURE(c.kernel);
    for (const Lowered& lowered : on_hopper(c.kernel))
      CHECK(work_of(lowered.problem, "TC") == c.macs / kMacs);
  }
}

TEST_CASE("what the algorithms carry from one iteration to the next is carried") {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"hopper-gqa", {"max_m", "fma_l", "pv"}},
      {"hopper-mla", {"max_m", "fma_l", "pv0", "pv1"}},
      {"hopper-retnet", {"kv"}},
      {"hopper-gla", {"kv"}},
      {"hopper-deltanet", {"kv"}},
      {"hopper-mlstm", {"kv", "max_c", "add_n"}},
      {"hopper-mlp", {"y"}},
      {"hopper-layer-norm", {"add_sum", "add_sq"}},
      {"hopper-grouped-gemm", {"fma_acc"}}};
  for (const auto& [kernel, carried] : cases) {
    CAPTURE(kernel);
    const Problem problem = on_hopper(kernel).front().problem;
    for (const char* id : carried) {
      CAPTURE(id);
      const auto op = std::find_if(problem.ops.begin(), problem.ops.end(),
                                   [&](const Op& o) { return o.id == id; });
      REQUIRE(op != problem.ops.end());
      const int v = static_cast<int>(op - problem.ops.begin());
      CHECK(reaches(problem, v, v));
    }
  }
  // The state of a chunk is read before it is updated: both products see the one before.
  for (const char* kernel : {"hopper-retnet", "hopper-gla", "hopper-deltanet", "hopper-mlstm"}) {
    CAPTURE(kernel);
    const Problem problem = on_hopper(kernel).front().problem;
    for (const Edge& e : problem.edges)
      if (problem.ops[static_cast<std::size_t>(e.to)].id == "trunc_state") CHECK(e.distance == 1);
  }
}

TEST_CASE("they cite the papers that they are of") {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"hopper-gqa", {"2305.13245", "2407.21783"}},
      {"hopper-mla", {"2405.04434"}},
      {"hopper-retnet", {"2307.08621"}},
      {"hopper-gla", {"2312.06635"}},
      {"hopper-deltanet", {"2406.06484"}},
      {"hopper-mlstm", {"2405.04517", "2503.14376"}},
      {"hopper-mlp", {"2002.05202"}},
      {"hopper-layer-norm", {"1607.06450"}},
      {"hopper-grouped-gemm", {"2412.19437"}}};
  for (const auto& [kernel, papers] : cases) {
    CAPTURE(kernel);
    const auto file = nlohmann::json::parse(builtin_kernel(kernel, "hopper"));
    const std::string doc = file.at("doc").get<std::string>();
    const std::regex paper("arXiv:([0-9]{4}\\.[0-9]{5})");
    std::vector<std::string> cited;
    for (std::sregex_iterator it(doc.begin(), doc.end(), paper), end; it != end; ++it)
      cited.push_back((*it)[1]);
    CHECK(cited == papers);
  }
}

TEST_CASE("they are settled at raw cycles") {
  for (const char* kernel :
       {"hopper-gqa", "hopper-mla", "hopper-retnet", "hopper-deltanet", "hopper-mlstm",
        "hopper-mlp", "hopper-layer-norm", "hopper-grouped-gemm"}) {
    CAPTURE(kernel);
    const Problem problem = on_hopper(kernel).front().problem;
    const Solution solution = solve(problem);
    CHECK(solution.status == Status::optimal);
    REQUIRE(solution.schedule);
    CHECK_FALSE(verify(problem, *solution.schedule));
    CHECK(solution.schedule->initiation_interval >= work_of(problem, "TC"));
  }
}

}  // namespace literature_kernels_test
