#include "bench/joint_problem.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "graph/check.hpp"
#include "graph/index.hpp"

namespace twill::bench {
namespace {

class Reader {
 public:
  explicit Reader(const JsonValue& root) : root_(root) {}

  GraphLoop run(const std::string& source) {
    Problem& problem = read_.problem;
    problem.name = std::filesystem::path(source).stem().string();
    problem.memories = {{"smem", root_.at("smem_budget").integer(0, kMaxAmount)},
                        {"tmem", root_.at("tmem_col_limit").integer(0, kMaxAmount)}};
    problem.warps = {{"any", kAnyWarps, 0, false}};
    for (const JsonValue& node : root_.at("nodes").elements_up_to(kMaxOps)) add_node(node);
    for (const JsonValue& edge : root_.at("edges").elements_up_to(kMaxEdges)) add_edge(edge);
    for (const JsonValue& buffer : root_.at("buffers").elements_up_to(kMaxOps)) add_buffer(buffer);
    read_.asked = true;
    read_.stated_bound = root_.at("min_ii").integer(1, kMaxInterval);
    check(problem, source);
    return std::move(read_);
  }

 private:
  int unit_of(const std::string& pipeline) {
    std::vector<Unit>& units = read_.problem.units;
    const auto unit = std::ranges::find(units, pipeline, &Unit::name) - units.begin();
    if (unit == std::ssize(units)) units.push_back({pipeline, 1});
    return static_cast<int>(unit);
  }

  void add_node(const JsonValue& node) {
    const std::int64_t id = node.at("id").integer(0, kMaxOps);
    if (!index_.emplace(id, static_cast<int>(read_.problem.ops.size())).second)
      node.at("id").fail("nodes must be unique");
    Op op;
    op.id = "N" + std::to_string(id);
    op.kind = node.at("pipeline").text();
    const Cycle duration = node.at("duration").integer(0, kMaxCycles);
    if (op.kind != "NONE") {
      op.cycles = std::max<Cycle>(1, duration);
      const int unit = unit_of(op.kind);
      op.reservations.push_back({unit, 0, op.cycles, 1});
    }
    streams_.push_back(node.boolean_or("streaming", false));
    read_.problem.ops.push_back(std::move(op));
  }

  int node_of(const JsonValue& id) const {
    const auto found = index_.find(id.integer(0, kMaxOps));
    if (found == index_.end()) id.fail("must be the id of a node");
    return found->second;
  }

  void add_edge(const JsonValue& value) {
    Edge edge;
    edge.from = node_of(value.at("src"));
    edge.to = node_of(value.at("dst"));
    edge.delay = value.at("latency").integer(0, kMaxCycles);
    edge.distance = value.at("distance").small(0, kMaxDistance);
    if (root_.boolean_or("streaming_vl", false) && streams_[at(edge.from)]) edge.delay = 0;
    read_.problem.edges.push_back(edge);
  }

  void add_buffer(const JsonValue& buffer) {
    const int holder = node_of(buffer.at("alloc_node"));
    const int memory = static_cast<int>(buffer.at("kind").choice({"smem", "tmem"}));
    const Amount amount =
        buffer.at(memory == 0 ? "size_bytes" : "tmem_cols").integer(0, kMaxAmount);
    std::vector<Footprint>& held = read_.problem.ops[at(holder)].footprints;
    const auto same = std::ranges::find(held, memory, &Footprint::memory);
    if (same == held.end())
      held.push_back({memory, amount});
    else if (kMaxAmount - same->amount < amount)
      buffer.fail("buffers of one node must hold at most " + std::to_string(kMaxAmount));
    else
      same->amount += amount;
    for (const JsonValue& consumer : buffer.at("consumers").elements_up_to(kMaxOps)) {
      const int user = node_of(consumer);
      if (user != holder) read_.problem.edges.push_back({holder, user, 0, 0, false, 1});
    }
  }

  const JsonValue& root_;
  GraphLoop read_;
  std::map<std::int64_t, int> index_;  // by the file's ids
  std::vector<bool> streams_;
};

}  // namespace

bool is_joint_problem(const JsonValue& root) {
  const auto version = root.is_object() ? root.find("version") : std::nullopt;
  return version && version->is_string() && version->text().starts_with("joint-solver-");
}

GraphLoop parse_joint_problem(const JsonValue& root, const std::string& source) {
  if (root.at("version").text() == "joint-solver-0.2")
    root.at("version").fail(
        "must be joint-solver-0.1: the second stage asks for warp groups at a given interval, and "
        "for a place of the instructions of each hand-over, which a problem cannot say");
  root.at("version").choice({"joint-solver-0.1"});
  if (const auto kinds = root.find("relax_keep_kinds"))
    kinds->fail("must not be there: a relaxation is another problem");
  return Reader(root).run(source);
}

Schedule parse_joint_solution(std::string_view text, const std::string& source,
                              const Problem& problem) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  root.at("version").choice({"joint-solver-0.1"});
  if (root.at("status").text() != "ok") root.at("status").fail("must be ok: there is no schedule");
  if (const auto relaxed = root.find("relaxation"))
    relaxed->fail("must not be there: it is the schedule of another problem");
  Schedule schedule;
  schedule.initiation_interval = root.at("ii").integer(1, kMaxInterval);
  schedule.start.assign(problem.ops.size(), -1);
  schedule.warp.assign(problem.ops.size(), 0);
  const JsonValue cycles = root.at("cycles");
  for (const auto& [name, cycle] : cycles.members_up_to(kMaxOps)) {
    const auto op = std::ranges::find(problem.ops, "N" + name, &Op::id);
    if (op == problem.ops.end()) cycle.fail("must be of a node of the problem");
    schedule.start[static_cast<std::size_t>(op - problem.ops.begin())] =
        cycle.integer(0, kMaxStart);
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (schedule.start[v] < 0) cycles.fail("must have node " + problem.ops[v].id.substr(1));
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

}  // namespace twill::bench
