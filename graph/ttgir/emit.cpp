#include "graph/ttgir/emit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "graph/error.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

/// Where an op of the body goes: the ids of its partitions, its stage, its place in the iteration.
struct Place {
  std::set<int> partitions;
  Cycle stage = 0;
  int cluster = 0;
  bool known = false;
};

class Placer {
 public:
  Placer(const LoweredModule& lowered, const Problem& problem, const Schedule& schedule)
      : l_(lowered), m_(lowered.module), problem_(problem), schedule_(schedule) {
    const int body = m_.regions[at(m_.op(l_.loop.loop).regions[0])].blocks[0];
    body_ = m_.block(body).ops;
    name_nodes();
    number_partitions();
    number_clusters();
    place_nodes();
    place_rest();
  }

  const std::vector<int>& body() const { return body_; }
  const Place& place(int op) const { return places_.at(op); }
  int partitions() const { return static_cast<int>(deepest_.size()); }
  const std::vector<Cycle>& deepest() const { return deepest_; }
  Cycle stages() const { return stage_count(schedule_); }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  /// The op of the problem that each node became: its own or the chain that it is in.
  void name_nodes() {
    for (std::size_t v = 0; v < problem_.ops.size(); ++v) index_.emplace(problem_.ops[v].id, v);
    for (const KernelOp& op : l_.loop.kernel.ops) names_.push_back(op.id);
    for (const Chunk& chunk : l_.loop.kernel.chunks)
      for (const std::size_t k : chunk.ops) names_[k] = chunk.id;
  }

  void number_partitions() {
    std::vector<int> slots;
    for (int w = 0; w < static_cast<int>(problem_.warps.size()); ++w)
      if (std::find(schedule_.warp.begin(), schedule_.warp.end(), w) != schedule_.warp.end())
        slots.push_back(w);
    std::map<int, int> yields;  // of values that ops after the loop read, by slot
    std::map<int, int> stores;  // of accumulators, by slot
    for (std::size_t k = 0; k < l_.loop.nodes.size(); ++k) {
      const OpClass c = class_of(m_.op(l_.loop.nodes[k].op));
      const auto found = index_.find(names_[k]);
      if (found == index_.end()) continue;
      if (c == OpClass::tmem_store) ++stores[schedule_.warp[found->second]];
      if (l_.loop.handed_out.count(k) != 0) ++yields[schedule_.warp[found->second]];
    }
    const auto key = [&](int w) {
      const bool wide = problem_.warps[at(w)].width >= 4;
      return std::tuple(wide, wide ? yields[w] : 0, wide ? stores[w] : 0);
    };
    std::stable_sort(slots.begin(), slots.end(), [&](int a, int b) { return key(a) > key(b); });
    // A default group of fewer than four warps does not exist: then it is empty.
    int next = 0;
    if (!slots.empty() && problem_.warps[at(slots[0])].width < 4) next = 1;
    for (const int w : slots) partition_[w] = next++;
    deepest_.assign(static_cast<std::size_t>(next), 0);
  }

  void number_clusters() {
    std::set<Cycle> rows;
    for (const Cycle start : schedule_.start) rows.insert(start % schedule_.initiation_interval);
    int next = 0;
    for (const Cycle row : rows) cluster_[row] = next++;
  }

  void place_nodes() {
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const NodeInfo& info = l_.loop.nodes[k];
      const auto found = index_.find(names_[k]);
      if (found == index_.end()) continue;
      const Cycle start = schedule_.start[found->second];
      const int partition = partition_.at(schedule_.warp[found->second]);
      Place& place = places_[info.op];
      // Of an op's two halves the one at global memory counts.
      if (place.known && !info.part.empty()) continue;
      place = Place();
      place.known = true;
      place.partitions = {partition};
      place.stage = start / schedule_.initiation_interval;
      place.cluster = cluster_.at(start % schedule_.initiation_interval);
      if (l_.loop.kernel.ops[k].alias_of) views_.insert(info.op);
    }
  }

  /// Ops that are no nodes, and views, go where they are used: latest ops first, so that users are
  /// known. What nobody uses goes to the default group.
  void place_rest() {
    std::unordered_map<int, std::vector<int>> users;  // op -> ops of the body
    for (const int top : body_) {
      const auto visit = [&](const auto& self, int op) -> void {
        for (const int value : m_.op(op).operands)
          if (const int made = m_.value(value).op; made != kNone) users[made].push_back(top);
        for (const int region : m_.op(op).regions)
          for (const int block : m_.regions[at(region)].blocks)
            for (const int inner : m_.block(block).ops) self(self, inner);
      };
      visit(visit, top);
    }
    for (auto it = body_.rbegin(); it != body_.rend(); ++it) {
      const Operation& op = m_.op(*it);
      if (class_of(op) == OpClass::terminator) continue;
      Place& place = places_[*it];
      const bool view = views_.count(*it) != 0;
      const bool of_load = op.name == "ttg.local_alloc";  // stays with the load that fills it
      if (place.known && !view) continue;
      std::set<int> partitions;
      bool first = !place.known;
      for (const int user : users[*it]) {
        if (user == *it || class_of(m_.op(user)) == OpClass::terminator) continue;
        const Place& there = places_[user];
        partitions.insert(there.partitions.begin(), there.partitions.end());
        if (view) continue;
        if (first ||
            std::pair(there.stage, there.cluster) < std::pair(place.stage, place.cluster)) {
          place.stage = there.stage;
          place.cluster = there.cluster;
          first = false;
        }
      }
      if (view && of_load) {
        const int load = m_.value(op.operands[0]).op;
        partitions = places_[load].partitions;
      }
      if (partitions.empty()) partitions = place.partitions;
      if (partitions.empty()) partitions = {0};
      place.partitions = partitions;
      place.known = true;
    }
    for (const int op : body_) {
      if (class_of(m_.op(op)) == OpClass::terminator) continue;
      const Place& place = places_[op];
      for (const int partition : place.partitions)
        deepest_[at(partition)] = std::max(deepest_[at(partition)], place.stage);
    }
  }

  const LoweredModule& l_;
  const Module& m_;
  const Problem& problem_;
  const Schedule& schedule_;
  std::vector<int> body_;
  std::vector<std::string> names_;                      // per node
  std::unordered_map<std::string, std::size_t> index_;  // op of the problem by name
  std::map<int, int> partition_;                        // slot -> partition
  std::map<Cycle, int> cluster_;                        // start modulo I -> cluster
  std::unordered_map<int, Place> places_;
  std::set<int> views_;
  std::vector<Cycle> deepest_;
};

std::string id_array(const std::set<int>& ids) {
  std::string text = "array<i32: ";
  bool first = true;
  for (const int id : ids) {
    text += (first ? "" : ", ") + std::to_string(id);
    first = false;
  }
  return text + ">";
}

/// An op and all ops in its regions get the same partitions; with results and regions, also one set
/// per result.
void annotate(Editor& editor, const Module& m, int op, const std::set<int>& partitions) {
  editor.set(op, "ttg.partition", id_array(partitions));
  if (!m.op(op).regions.empty()) {
    std::string outputs;
    for (std::size_t k = 0; k < m.op(op).results.size(); ++k)
      outputs += (k == 0 ? "" : ", ") + id_array(partitions);
    if (!outputs.empty()) editor.set(op, "ttg.partition.outputs", "[" + outputs + "]");
  }
  for (const int region : m.op(op).regions)
    for (const int block : m.regions[static_cast<std::size_t>(region)].blocks)
      for (const int inner : m.block(block).ops) annotate(editor, m, inner, partitions);
}

}  // namespace

std::string emit_ttgir(const LoweredModule& lowered, const Problem& problem,
                       const Schedule& schedule) {
  const Module& m = lowered.module;
  if (lowered.options.subtile > 1)
    throw InputError("command line", "--emit", "ttgir",
                     "a sub-tiled loop has ops that the module has not: emit it as pipelined");
  const Placer placer(lowered, problem, schedule);
  Editor editor(m);
  std::set<int> all;
  for (int p = 0; p < placer.partitions(); ++p) all.insert(p);
  std::vector<std::set<int>> outputs;
  for (const int op : placer.body()) {
    if (class_of(m.op(op)) == OpClass::terminator) {
      editor.set(op, "ttg.partition", id_array(all));
      for (const int value : m.op(op).operands) {
        const int made = m.value(value).op;
        const bool body = made != kNone && m.op(made).block == m.op(op).block;
        outputs.push_back(body ? placer.place(made).partitions : std::set<int>{0});
      }
      continue;
    }
    const Place& place = placer.place(op);
    editor.set(op, "loop.stage", std::to_string(place.stage) + " : i32");
    editor.set(op, "loop.cluster", std::to_string(place.cluster) + " : i32");
    annotate(editor, m, op, place.partitions);
  }
  const int loop = lowered.loop.loop;
  editor.set(loop, "tt.warp_specialize", "");
  editor.set(loop, "ttg.partition", id_array(all));
  std::string stages, results;
  for (const Cycle deepest : placer.deepest())
    stages += (stages.empty() ? "" : ", ") + std::to_string(deepest) + " : i32";
  for (const std::set<int>& ids : outputs) results += (results.empty() ? "" : ", ") + id_array(ids);
  if (!results.empty()) editor.set(loop, "ttg.partition.outputs", "[" + results + "]");
  editor.set(loop, "ttg.partition.stages", "[" + stages + "]");
  editor.set(loop, "ttg.warp_specialize.tag", "0 : i32");
  editor.set(loop, "tt.num_stages", std::to_string(std::max<Cycle>(2, placer.stages())) + " : i32");
  editor.set(loop, "tt.scheduled_max_stage", std::to_string(placer.stages() - 1) + " : i32");
  // Ops after the loop belong to the default group; Triton 3.9 looks for the region's tag on them.
  bool after = false;
  for (const int op : m.block(m.op(loop).block).ops) {
    if (after && class_of(m.op(op)) != OpClass::terminator) {
      annotate(editor, m, op, {0});
      editor.set(op, "ttg.warp_specialize.tag", "0 : i32");
    }
    after = after || op == loop;
  }
  return editor.text();
}

std::string emit_pipelined(const LoweredModule& lowered, const Problem& problem,
                           const Solution& solution) {
  const Schedule& schedule = *solution.schedule;
  const Cycle interval = schedule.initiation_interval;
  std::unordered_map<std::string, const Operation*> ops;
  for (std::size_t k = 0; k < lowered.loop.nodes.size(); ++k)
    ops.emplace(lowered.loop.kernel.ops[k].id, &lowered.module.op(lowered.loop.nodes[k].op));
  std::string text = "// " + problem.name + ": I = " + std::to_string(interval) +
                     ", L = " + std::to_string(schedule.length) + ", " +
                     std::to_string(stage_count(schedule)) + " stages, " +
                     to_string(solution.status) + "\n";
  text +=
      "// An iteration starts every I cycles; in the steady state, at iteration i, an op of "
      "stage s works on\n// iteration i - s. In the prologue (i < stages - 1) and in the "
      "epilogue ops of missing iterations are left out.\n";
  std::size_t width = 0;
  for (const Op& op : problem.ops) width = std::max(width, op.id.size());
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    std::vector<std::size_t> mine;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      if (schedule.warp[v] == static_cast<int>(w)) mine.push_back(v);
    if (mine.empty()) continue;
    std::stable_sort(mine.begin(), mine.end(), [&](std::size_t a, std::size_t b) {
      return schedule.start[a] % interval < schedule.start[b] % interval;
    });
    const WarpSlot& slot = problem.warps[w];
    text += "slot " + slot.name + " warps(" + std::to_string(slot.width) + ") registers(" +
            std::to_string(slot.registers) + ") {\n";
    for (const std::size_t v : mine) {
      const Op& op = problem.ops[v];
      const auto found = ops.find(op.id);
      const Cycle row = schedule.start[v] % interval;
      text += "  " + op.id + std::string(width - op.id.size(), ' ') + "  cycle(" +
              std::to_string(row) + ") stage(" + std::to_string(schedule.start[v] / interval) +
              ") start(" + std::to_string(schedule.start[v]) + ") cycles(" +
              std::to_string(op.cycles) + ")";
      for (const Edge& edge : problem.edges)
        if (edge.to == static_cast<int>(v) && edge.blocking)
          text += " wait(" + problem.ops[static_cast<std::size_t>(edge.from)].id +
                  (edge.distance > 0 ? "[i-" + std::to_string(edge.distance) + "]" : "") + ")";
      if (const auto ring = solution.ring_depths.find(op.id); ring != solution.ring_depths.end())
        text += " ring(" + std::to_string(ring->second) + ")";
      text += "  // ";
      if (found != ops.end())
        text += std::string(found->second->name) + ", line " + std::to_string(found->second->line);
      else
        text += op.kind;
      text += "\n";
    }
    text += "}\n";
  }
  return text;
}

}  // namespace twill::ttgir
