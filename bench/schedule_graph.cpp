#include "bench/schedule_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "bench/joint_problem.hpp"
#include "graph/check.hpp"
#include "graph/index.hpp"
#include "graph/io/json_reader.hpp"

namespace twill::bench {
namespace {

constexpr Amount kSharedMemory = 232'448, kTensorMemory = 262'144;  // bytes

struct Node {
  std::string pipeline;
  Cycle latency = 0;
  bool inner_loop = false;
  /// Does it only show a buffer?
  bool view() const { return pipeline == "NONE" && !inner_loop; }
  std::optional<std::int64_t> buffer;  ///< that it defines
};

class LoopReader {
 public:
  LoopReader(const JsonValue& root, const JsonValue& loop, const Occupancies* occupancies)
      : occupancies_(occupancies),
        loop_(loop),
        scheduled_(loop.has("schedule_loop")),
        body_(scheduled_ ? loop.at("schedule_loop") : loop),
        graph_(body_.at(scheduled_ ? "graph" : "ddg")) {
    Amount shared = kSharedMemory, tensor = kTensorMemory;
    if (const auto config = root.find("config")) {
      shared = config->integer_or("smem_budget_bytes", shared, 0, kMaxAmount);
      tensor = config->integer_or("tmem_budget_bytes", tensor, 0, kMaxAmount);
    }
    read_.problem.memories = {{"smem", shared}, {"tmem", tensor}};
    read_.problem.name = root.at("kernel").at("name").text() + "-loop" +
                         std::to_string(loop.at("loop_id").integer(0, kMaxOps));
  }

  GraphLoop run(const std::string& source) {
    slots();
    nodes();
    edges();
    if (const auto buffers = body_.find("buffers"))
      for (const JsonValue& buffer : buffers->elements_up_to(kMaxOps)) hold(buffer);
    if (const auto bound = body_.find("min_ii"))
      read_.stated_bound = bound->integer(0, kMaxInterval);
    check(read_.problem, source);
    if (scheduled_) {
      schedule_.initiation_interval = body_.at("II").integer(1, kMaxInterval);
      schedule_.length = schedule_length(read_.problem, schedule_.start);
      read_.schedule = std::move(schedule_);
    }
    return std::move(read_);
  }

  bool empty() const { return graph_.at("nodes").elements().empty(); }

 private:
  void slots() {
    const auto groups = loop_.find("warp_groups");
    for (const JsonValue& group : groups ? groups->elements() : std::vector<JsonValue>{}) {
      const std::int64_t id = group.at("id").integer(0, kMaxSlots);
      if (!group_.emplace(id, std::ssize(read_.problem.warps)).second)
        group.at("id").fail("groups must be unique");
      read_.problem.warps.push_back(
          {"wg" + std::to_string(id), group.at("num_warps").small(1, kMaxWidth), 0, false});
    }
  }

  /// The slot of a node's group; one of its own for nodes that have none (-1) or are in several
  /// (-2).
  int slot_of(const JsonValue& node) {
    const std::int64_t group = node.integer_or("warp_group", -1, -2, kMaxSlots);
    const auto found = group_.find(group);
    if (found != group_.end()) return static_cast<int>(found->second);
    if (group >= 0) node.at("warp_group").fail("must be a group of the loop");
    if (any_ < 0) {
      any_ = static_cast<int>(read_.problem.warps.size());
      read_.problem.warps.push_back({"any", kAnyWarps, 0, false});
    }
    return any_;
  }

  int unit_of(const std::string& pipeline) {
    std::vector<Unit>& units = read_.problem.units;
    const auto found = std::ranges::find(units, pipeline, &Unit::name);
    if (found != units.end()) return static_cast<int>(found - units.begin());
    units.push_back({pipeline, 1});
    return static_cast<int>(units.size()) - 1;
  }

  void nodes() {
    for (const JsonValue& value : graph_.at("nodes").elements_up_to(kMaxOps)) {
      const std::int64_t id = value.at("id").integer(0, kMaxOps);
      if (!index_.emplace(id, std::ssize(nodes_)).second)
        value.at("id").fail("nodes must be unique");
      Node node;
      node.pipeline = value.text_or("pipeline", "NONE");
      node.latency = value.integer_or("latency", 0, 0, kMaxCycles);
      Op op;
      op.id = "N" + std::to_string(id);
      op.kind = value.text_or("op_kind", "");
      op.width = value.small_or("min_warps", 1, 1, kAnyWarps);
      const Cycle times = value.integer_or("frequency_multiplier", 1, 1, 1'000);
      if (node.pipeline != "NONE") {
        op.cycles = std::max<Cycle>(1, times * taken_by(value, kMaxCycles / times));
        op.reservations.push_back({unit_of(node.pipeline), 0, op.cycles, 1});
      }
      const int v = static_cast<int>(nodes_.size());
      node.inner_loop = value.has("child_pipeline_id") || value.boolean_or("is_super_node", false);
      if (node.inner_loop) read_.problem.edges.push_back({v, v, node.latency, 1});
      if (const auto buffer = value.find("produces_buffer"); buffer && buffer->is_number())
        node.buffer = buffer->integer(0, kMaxOps);
      read_.problem.ops.push_back(std::move(op));
      nodes_.push_back(std::move(node));
      const int slot = slot_of(value);
      if (!scheduled_) continue;
      schedule_.start.push_back(value.at("schedule").at("cycle").integer(0, kMaxStart));
      schedule_.warp.push_back(slot);
    }
  }

  /// For how long a node takes its pipeline.
  Cycle taken_by(const JsonValue& node, Cycle most) const {
    if (occupancies_ == nullptr)
      return node.integer_or(node.has("occupancy") ? "occupancy" : "self_latency", 0, 0, most);
    const auto found = occupancies_->find(
        {loop_.at("loop_id").integer(0, kMaxOps), node.at("id").integer(0, kMaxOps)});
    if (found == occupancies_->end() || found->second.op_kind != node.text_or("op_kind", ""))
      node.fail("must be a node of the dependence graph too, of the same op_kind");
    return std::min(found->second.cycles, most);
  }

  int node_of(const JsonValue& id) const {
    const auto found = index_.find(id.integer(0, kMaxOps));
    if (found == index_.end()) id.fail("must be the id of a node");
    return static_cast<int>(found->second);
  }

  void edges() {
    for (const JsonValue& value : graph_.at("edges").elements_up_to(kMaxEdges)) {
      Edge edge;
      edge.from = node_of(value.at("src"));
      edge.to = node_of(value.at("dst"));
      edge.delay = value.at("latency").integer(0, kMaxCycles);
      edge.distance = value.at("distance").small(0, kMaxDistance);
      read_.problem.edges.push_back(edge);
    }
    data_ = read_.problem.edges.size();
  }

  /// A buffer of a memory, on the op from whose issue on it is taken.
  void hold(const JsonValue& buffer) {
    const std::string& kind = buffer.at("kind").text();
    if (kind != "smem" && kind != "tmem") return;
    const std::int64_t id = buffer.at("id").integer(0, kMaxOps);
    const auto defines = std::ranges::find(nodes_, std::optional(id), &Node::buffer);
    if (defines == nodes_.end()) return;  // of a hand-over, which the problem leaves out
    const int definer = static_cast<int>(defines - nodes_.begin());
    const int holder = filled_by(definer);
    const Amount bytes = buffer.at("size_bytes").integer(0, kMaxAmount);
    std::vector<Footprint>& held = read_.problem.ops[at(holder)].footprints;
    const int memory = kind == "smem" ? 0 : 1;
    const auto same = std::ranges::find(held, memory, &Footprint::memory);
    if (same == held.end())
      held.push_back({memory, bytes});
    else
      same->amount += bytes;
    std::set<std::pair<int, int>> seen;
    until_used(holder, definer, 0, seen);
  }

  /// The load whose one use is this buffer: it writes into it.
  int filled_by(int definer) const {
    int load = -1;
    for (std::size_t e = 0; e < data_; ++e) {
      const Edge& edge = read_.problem.edges[e];
      if (edge.to != definer || edge.distance != 0) continue;
      if (nodes_[at(edge.from)].pipeline != "TMA" || load >= 0) return definer;
      load = edge.from;
    }
    return load >= 0 ? load : definer;
  }

  /// Edges to those that use the buffer, past ops that only show it.
  void until_used(int holder, int from, int distance, std::set<std::pair<int, int>>& seen) {
    for (std::size_t e = 0; e < data_; ++e) {
      const Edge edge = read_.problem.edges[e];
      const int turns = distance + edge.distance;
      if (edge.from != from || edge.to == holder || turns > std::ssize(nodes_) ||
          !seen.emplace(edge.to, turns).second)
        continue;
      if (nodes_[at(edge.to)].view())
        until_used(holder, edge.to, turns, seen);
      else
        read_.problem.edges.push_back(
            {holder, edge.to, 0, turns, false, nodes_[at(edge.to)].latency});
    }
  }

  const Occupancies* occupancies_;
  JsonValue loop_;
  bool scheduled_;
  JsonValue body_, graph_;
  GraphLoop read_;
  Schedule schedule_;
  std::vector<Node> nodes_;
  std::map<std::int64_t, std::ptrdiff_t> index_, group_;  // by the file's ids
  std::size_t data_ = 0;                                  // so many edges are the file's own
  int any_ = -1;
};

}  // namespace

Occupancies parse_occupancies(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  document.root().at("schema_version").choice({"ddg-0.1"});
  Occupancies all;
  for (const JsonValue& loop : document.root().at("loops").elements_up_to(kMaxOps))
    for (const JsonValue& node : loop.at("ddg").at("nodes").elements_up_to(kMaxOps))
      all[{loop.at("loop_id").integer(0, kMaxOps), node.at("id").integer(0, kMaxOps)}] = {
          node.text_or("op_kind", ""), node.at("occupancy").integer(0, kMaxCycles)};
  return all;
}

std::vector<GraphLoop> parse_schedule_graph(std::string_view text, const std::string& source,
                                            const Occupancies* occupancies) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  if (is_joint_problem(root)) return {parse_joint_problem(root, source)};
  root.at("schema_version").choice({"0.1", "ddg-0.1"});
  std::vector<GraphLoop> loops;
  for (const JsonValue& loop : root.at("loops").elements_up_to(kMaxOps)) {
    LoopReader reader(root, loop, occupancies);
    if (!reader.empty()) loops.push_back(reader.run(source));
  }
  return loops;
}

}  // namespace twill::bench
