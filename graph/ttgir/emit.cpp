#include "graph/ttgir/emit.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "graph/error.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/placer.hpp"
#include "graph/ttgir/scheduled.hpp"

namespace twill::ttgir {
namespace {

std::string id_array(const std::set<int>& ids) {
  std::string text = "array<i32: ";
  bool first = true;
  for (const int id : ids) {
    text += (first ? "" : ", ") + std::to_string(id);
    first = false;
  }
  return text + ">";
}

std::string id_arrays(const std::vector<std::set<int>>& sets) {
  std::string text;
  for (const std::set<int>& ids : sets) text += (text.empty() ? "" : ", ") + id_array(ids);
  return "[" + text + "]";
}

/// The first of these ops, or of those in their regions, that is of a kind; kNone where none is.
int first_named(const Module& m, const std::vector<int>& ops,
                const std::function<bool(const Operation&)>& is) {
  for (const int index : ops) {
    if (is(m.op(index))) return index;
    for (const int region : m.op(index).regions)
      for (const int block : m.regions[static_cast<std::size_t>(region)].blocks)
        if (const int found = first_named(m, m.block(block).ops, is); found != kNone) return found;
  }
  return kNone;
}

bool has(const Module& m, int op, std::string_view name) {
  bool found = false;
  m.attribute(m.op(op), name, &found);
  return found;
}

bool is_used_outside(const Module& m, int value, int loop) {
  return std::any_of(m.ops.begin(), m.ops.end(), [&](const Operation& op) {
    return op.block != kNone && op.block != loop &&
           std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  });
}

/// Why Triton would not take the schedule's partitions.
struct NoPartitions {
  std::string why;         ///< "" = it does
  bool by_triton = false;  ///< where the module asks for it, Triton can make its own
};

/// Tried with Triton 3.7 to 3.9, and read in its passes: with one partition there is nothing to be
/// specialised; before cuda:90 there is no such pass; that for Hopper divides tiles among tasks of
/// its own and takes no partitions (nor modules of other than four warps). Of ops with regions only
/// loops, branches and reductions of one tile are written into partitions, and no branch can say
/// where the buffer of tensor memory is wanted that it hands on. A number (no tile) that is read
/// after the loop, and a tile that is a variable of the loop, come from the default group.
NoPartitions why_no_partitions(const LoweredModule& lowered, const Placer& placer) {
  const Module& m = lowered.module;
  const int root = placer.root();
  const auto line = [&](int op) { return "line " + std::to_string(m.op(op).line); };
  std::set<int> used;
  for (const int op : placer.body())
    if (const int own = placer.own_partition(op); own >= 0) used.insert(own);
  if (used.size() < 2) return {"the schedule uses one partition"};
  if (lowered.loop.target != 0 && lowered.loop.target < 90)
    return {"Triton has no warp specialisation for cuda:" + std::to_string(lowered.loop.target)};
  if (lowered.loop.target >= 90 && lowered.loop.target < 100)
    return {"Triton's warp specialisation for Hopper makes tasks of its own"};
  const std::vector<int>& body =
      m.block(m.regions[static_cast<std::size_t>(m.op(root).regions[0])].blocks[0]).ops;
  const int whole = first_named(m, body, [&](const Operation& op) {
    const bool token = std::any_of(op.results.begin(), op.results.end(), [&](int value) {
      const Type* type = m.type_of(value);
      return type != nullptr && type->kind == TypeKind::token;
    });
    if (op.regions.empty() || op.name == "scf.for") return false;
    return op.name == "scf.if" ? token : op.name != "tt.reduce" || op.results.size() > 1;
  });
  if (whole != kNone)
    return {"Triton puts no " + std::string(m.op(whole).name) + " as that of " + line(whole) +
                " into partitions that are given",
            true};
  const std::vector<std::set<int>> outputs = placer.demand().outputs(root);
  const std::vector<int>& results = m.op(root).results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Type* type = m.type_of(results[k]);
    if ((type != nullptr && type->kind == TypeKind::token) || !is_used_outside(m, results[k], root))
      continue;
    const std::vector<int>& values = m.op(body.back()).operands;
    const bool tile = type != nullptr && type->kind == TypeKind::tensor && !type->is_pointer();
    if (tile && k < values.size() && m.value(values[k]).op != kNone) continue;
    if (outputs[k].count(0) != 0 && placer.keeps_default()) continue;
    return {"%" + std::string(m.value(results[k]).name) + "#" + std::to_string(k) +
                ", which is used after the loop, comes from another partition than the default one",
            true};
  }
  return {};
}

/// Partitions on every op of the region, and what its loops need for them.
class Annotator {
 public:
  Annotator(Editor& editor, const Module& module, const Placer& placer)
      : editor_(editor), m_(module), demand_(placer.demand()) {}

  /// A loop whose ops are placed one by one.
  void annotate_loop(int loop) {
    const std::set<int>& all = demand_.partitions(loop);
    for (const int op : body(loop)) {
      if (class_of(m_.op(op)) == OpClass::terminator)
        editor_.set(op, "ttg.partition", id_array(all));
      else if (demand_.is_opened(op))
        annotate_loop(op);
      else
        annotate(op, demand_.partitions(op));
    }
    terminate(loop, all);
    editor_.set(loop, "ttg.partition", id_array(all));
    const std::vector<std::set<int>> outputs = demand_.outputs(loop);
    if (!outputs.empty()) editor_.set(loop, "ttg.partition.outputs", id_arrays(outputs));
  }

 private:
  const std::vector<int>& body(int loop) const {
    return m_.block(m_.regions[static_cast<std::size_t>(m_.op(loop).regions[0])].blocks[0]).ops;
  }

  /// An op and all ops in its regions; with results and regions, also one set per result.
  void annotate(int op, const std::set<int>& partitions) {
    editor_.set(op, "ttg.partition", id_array(partitions));
    if (m_.op(op).regions.empty()) return;
    if (const std::size_t results = m_.op(op).results.size(); results > 0)
      editor_.set(op, "ttg.partition.outputs", id_arrays(std::vector(results, partitions)));
    for (const int region : m_.op(op).regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : m_.block(block).ops) annotate(inner, partitions);
    terminate(op, partitions);
  }

  /// Triton's passes read the partitions of a terminator, which is not printed where it has nothing
  /// to yield.
  void terminate(int op, const std::set<int>& partitions) {
    if (!m_.op(op).name.starts_with("scf.")) return;
    for (const int region : m_.op(op).regions) {
      const std::vector<int>& blocks = m_.regions[static_cast<std::size_t>(region)].blocks;
      if (blocks.empty()) continue;
      const std::vector<int>& ops = m_.block(blocks.back()).ops;
      if (ops.empty() || class_of(m_.op(ops.back())) != OpClass::terminator)
        editor_.terminate(region, "ttg.partition", id_array(partitions));
    }
  }

  Editor& editor_;
  const Module& m_;
  const Demand& demand_;
};

void hand_over_partitions(Editor& editor, const Module& m, const Placer& placer) {
  const int root = placer.root();
  Annotator(editor, m, placer).annotate_loop(root);
  for (const int op : placer.demand().ops()) editor.remove(op, "tt.warp_specialize");
  editor.set(root, "tt.warp_specialize", "");
  // (By these names Triton knows ops of stores, which it repeats nowhere, and ops whose partition
  // is theirs and not their users'.)
  for (const int op : placer.not_repeated()) editor.set(op, "store", "");
  for (const int op : placer.not_followed()) editor.set(op, "data", "");
  std::string stages;
  for (const Cycle deepest : placer.deepest())
    stages += (stages.empty() ? "" : ", ") + std::to_string(deepest) + " : i32";
  editor.set(root, "ttg.partition.stages", "[" + stages + "]");
  editor.set(root, "ttg.warp_specialize.tag", "0 : i32");
}

/// Products in tensor memory that Triton should let run on: what it waits for is then what reads
/// their result, or their next run, not each product where it stands. It wants to know who fills
/// their operands: who does is outside the loop, or an allocation with a value in it.
void let_products_run(Editor& editor, const LoweredModule& lowered, const Placer& placer,
                      bool partitioned) {
  const Module& m = lowered.module;
  const auto outside = [&](int value) {
    const int made = m.value(value).op;
    return made == kNone ? m.value(value).block != m.op(placer.body().front()).block
                         : m.op(made).block != m.op(placer.body().front()).block;
  };
  bool pointers = false;
  const auto is_known = [&](int value) {
    constexpr int kSteps = 64;
    for (int step = 0; step < kSteps && !outside(value); ++step) {
      const int made = m.value(value).op;
      if (made == kNone) return false;
      const Operation& op = m.op(made);
      if (op.operands.empty()) return false;
      if (op.name == "ttg.local_alloc" || op.name == "ttng.tmem_alloc") {
        pointers = pointers || is_pointer_load(m, m.value(op.operands[0]).op);
        return true;
      }
      if (op.name != "ttg.memdesc_trans" && op.name != "ttg.memdesc_reshape") return false;
      value = op.operands[0];
    }
    return true;
  };
  for (const int op : placer.body()) {
    if (m.op(op).name != "ttng.tc_gen5_mma" || m.op(op).operands.size() < 3) continue;
    std::vector<int> tiles;
    for (const int value : m.op(op).operands)
      if (const Type* type = m.type_of(value); type != nullptr && type->kind == TypeKind::memdesc)
        tiles.push_back(value);
    pointers = false;
    if (tiles.size() != 3 || !is_known(tiles[0]) || !is_known(tiles[1])) continue;
    const int accumulator = m.value(tiles[2]).op;
    if (accumulator == kNone || m.op(accumulator).name != "ttng.tmem_alloc" || !outside(tiles[2]))
      continue;
    // Between partitions it is the hand-over that waits.
    if (!partitioned || pointers) editor.set(op, "tt.self_latency", "1 : i32");
  }
}

}  // namespace

std::string emit_ttgir(const LoweredModule& lowered, const Problem& problem,
                       const Schedule& schedule, std::vector<std::string>* remarks) {
  const Module& m = lowered.module;
  const int loop = lowered.loop.loop;
  if (lowered.options.subtile > 1)
    throw InputError("command line", "--emit", "ttgir",
                     "a sub-tiled loop has ops that the module has not: emit it as pipelined");
  Placer placer(lowered, problem, schedule);
  const int root = placer.root();
  const NoPartitions no = why_no_partitions(lowered, placer);
  const bool partitioned = no.why.empty();
  const bool asked = has(m, root, "tt.warp_specialize");
  const bool by_triton = asked && no.by_triton;
  placer.issue_ahead(partitioned || by_triton);
  std::vector<std::string> said = placer.remarks(partitioned);
  if (partitioned && !asked)
    said.push_back(Module::place(m.op(root)) +
                   ": the loop gets tt.warp_specialize: its schedule uses several partitions");
  if (!partitioned)
    said.push_back(Module::place(m.op(loop)) + ": stages and order alone are handed over, " +
                   (by_triton ? "partitions are Triton's own"
                    : asked   ? "and tt.warp_specialize is taken off"
                              : "no partitions") +
                   ": " + no.why + " (--emit pipelined has the slots)");
  if (remarks != nullptr) *remarks = said;
  Editor editor(m);
  remove_schedule(editor, m, loop);
  // (In partitions, what Triton adds to a loop with loops in it gets no stage.)
  const bool staged = !partitioned || !placer.opens_loops();
  for (const int op : placer.body()) {
    if (class_of(m.op(op)) == OpClass::terminator || !staged) continue;
    const Place& place = placer.place(op);
    editor.set(op, "loop.stage", std::to_string(place.stage) + " : i32");
    editor.set(op, "loop.cluster", std::to_string(place.cluster) + " : i32");
  }
  let_products_run(editor, lowered, placer, partitioned || by_triton);
  if (partitioned)
    hand_over_partitions(editor, m, placer);
  else if (!by_triton)
    editor.remove(root, "tt.warp_specialize");
  const Cycle buffers =
      partitioned || by_triton ? placer.ring_depth() : std::max<Cycle>(2, placer.stages());
  editor.set(loop, "tt.num_stages", std::to_string(buffers) + " : i32");
  if (staged)
    editor.set(loop, "tt.scheduled_max_stage", std::to_string(placer.stages() - 1) + " : i32");
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
