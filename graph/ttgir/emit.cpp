#include "graph/ttgir/emit.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>

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

class Annotator {
 public:
  Annotator(Editor& editor, const Module& module, const Placer& placer)
      : editor_(editor), m_(module), placer_(placer) {}

  /// An op and all ops in its regions; with results and regions, also one set per result.
  void annotate(int op, const std::set<int>& partitions) const {
    editor_.set(op, "ttg.partition", id_array(partitions));
    if (m_.op(op).regions.empty()) return;
    if (!m_.op(op).results.empty()) {
      const std::vector<std::set<int>>* made = placer_.outputs_within(op);
      editor_.set(
          op, "ttg.partition.outputs",
          id_arrays(made != nullptr ? *made : std::vector(m_.op(op).results.size(), partitions)));
    }
    for (const int region : m_.op(op).regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : m_.block(block).ops) {
          const std::set<int>* own = placer_.partitions_within(inner);
          annotate(inner, own != nullptr ? *own : partitions);
        }
    terminate(op, partitions);
  }

  /// Triton's passes read the partitions of a terminator, which is not printed where it has nothing
  /// to yield.
  void terminate(int op, const std::set<int>& partitions) const {
    if (!m_.op(op).name.starts_with("scf.")) return;
    for (const int region : m_.op(op).regions) {
      const std::vector<int>& blocks = m_.regions[static_cast<std::size_t>(region)].blocks;
      if (blocks.empty()) continue;
      const std::vector<int>& ops = m_.block(blocks.back()).ops;
      if (ops.empty() || class_of(m_.op(ops.back())) != OpClass::terminator)
        editor_.terminate(region, "ttg.partition", id_array(partitions));
    }
  }

 private:
  Editor& editor_;
  const Module& m_;
  const Placer& placer_;
};

/// Ops after the loop, in its block, that do not make what the block's terminator hands on: the
/// next trip of a loop around this one is not the default group's.
std::vector<int> epilogue(const Module& m, int loop) {
  const std::vector<int>& ops = m.block(m.op(loop).block).ops;
  std::unordered_set<int> handed_on;
  std::vector<int> after;
  for (auto it = ops.rbegin(); it != ops.rend() && *it != loop; ++it) {
    const Operation& op = m.op(*it);
    if (class_of(op) == OpClass::terminator || handed_on.count(*it) != 0) {
      for (const int value : op.operands)
        if (const int made = m.value(value).op; made != kNone) handed_on.insert(made);
    } else {
      after.push_back(*it);
    }
  }
  return after;
}

/// One set of partitions for each of the loop's results.
std::vector<std::set<int>> outputs_of(const Module& m, const Placer& placer) {
  std::vector<std::set<int>> outputs;
  for (const int op : placer.body()) {
    if (class_of(m.op(op)) != OpClass::terminator) continue;
    for (const int value : m.op(op).operands) {
      const int made = m.value(value).op;
      const bool body = made != kNone && m.op(made).block == m.op(op).block;
      outputs.push_back(body ? placer.place(made).partitions : std::set<int>{0});
    }
  }
  return outputs;
}

bool is_used(const Module& m, int value) {
  return std::any_of(m.ops.begin(), m.ops.end(), [&](const Operation& op) {
    return std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  });
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

/// The op that a product's operand comes from, behind buffers, views, layouts and conversions.
int origin(const Module& m, int value) {
  constexpr int kSteps = 64;
  int made = m.value(value).op;
  for (int step = 0; step < kSteps && made != kNone; ++step) {
    const Operation& op = m.op(made);
    const OpClass c = class_of(op);
    const bool hands_on = c == OpClass::view || c == OpClass::layout || c == OpClass::local_alloc ||
                          c == OpClass::local_load || c == OpClass::tmem_alloc ||
                          (c == OpClass::elementwise && op.operands.size() == 1);
    if (!hands_on || op.operands.empty()) return made;
    made = m.value(op.operands[0]).op;
  }
  return made;
}

/// Why Triton would not take the schedule's partitions; "" when it does.
///
/// Tried with Triton 3.9: with one partition nothing is to be specialised and the passes break;
/// before cuda:90 there is no such pass; loads through pointers beside products fail ("unsupported
/// load type for producer commit" on Hopper, masks of one bit on Blackwell); what another partition
/// than the default one yields is not handed to the ops after the loop, and a loop among these
/// would go to the default group with all that it does.
std::string why_stages_alone(const LoweredModule& lowered, const Placer& placer) {
  const Module& m = lowered.module;
  const int loop = lowered.loop.loop;
  bool asked = false;
  m.attribute(m.op(loop), "tt.warp_specialize", &asked);
  std::set<int> used;
  for (const int op : placer.body())
    if (class_of(m.op(op)) != OpClass::terminator)
      used.insert(placer.place(op).partitions.begin(), placer.place(op).partitions.end());
  if (used.size() < 2) return "the schedule uses one partition";
  if (lowered.loop.target != 0 && lowered.loop.target < 90)
    return "Triton has no warp specialisation for cuda:" + std::to_string(lowered.loop.target);
  const auto line = [&](int op) { return "line " + std::to_string(m.op(op).line); };
  const auto through_pointers = [&](const Operation& op) {
    const Type* type = op.results.empty() ? nullptr : m.type_of(op.results[0]);
    return op.name == "tt.load" && type != nullptr && type->kind == TypeKind::tensor;
  };
  const int load = first_named(m, placer.body(), through_pointers);
  const int product = first_named(m, placer.body(),
                                  [](const Operation& op) { return class_of(op) == OpClass::mma; });
  const bool hopper = lowered.loop.target >= 90 && lowered.loop.target < 100;
  if (load != kNone && (hopper || (product != kNone && !asked)))
    return "Triton hands on no loads through pointers (" + line(load) + ")";
  const int fed = first_named(m, placer.body(), [&](const Operation& op) {
    return class_of(op) == OpClass::mma &&
           std::any_of(op.operands.begin(), op.operands.end(), [&](int value) {
             const int made = origin(m, value);
             return made != kNone && through_pointers(m.op(made));
           });
  });
  if (fed != kNone)
    return "Triton hands on no loads through pointers to a product (" + line(fed) + ")";
  const std::vector<std::set<int>> outputs = outputs_of(m, placer);
  for (std::size_t k = 0; k < outputs.size() && k < m.op(loop).results.size(); ++k) {
    const int value = m.op(loop).results[k];
    const Type* type = m.type_of(value);
    if (type != nullptr && type->kind == TypeKind::token) continue;
    if (outputs[k].count(0) == 0 && is_used(m, value))
      return "%" + std::string(m.value(value).name) + "#" + std::to_string(k) +
             ", which is used after the loop, comes from another partition than the default one";
  }
  const std::vector<int>& beside = m.block(m.op(loop).block).ops;
  const auto behind = std::find(beside.begin(), beside.end(), loop) + 1;
  const int later = first_named(m, {behind, beside.end()}, [](const Operation& op) {
    return op.name == "scf.for" || op.name == "scf.while";
  });
  if (later != kNone)
    return "the loop of " + line(later) + " comes after it and would be the default group's";
  return "";
}

/// Partitions on every op of the loop and of what comes after it, and what the loop needs for them.
void hand_over_partitions(Editor& editor, const Module& m, const Placer& placer, int loop) {
  const Annotator annotator(editor, m, placer);
  std::set<int> all;
  for (int p = 0; p < placer.partitions(); ++p) all.insert(p);
  for (const int op : placer.body()) {
    if (class_of(m.op(op)) == OpClass::terminator)
      editor.set(op, "ttg.partition", id_array(all));
    else
      annotator.annotate(op, placer.place(op).partitions);
  }
  annotator.terminate(loop, all);
  editor.set(loop, "tt.warp_specialize", "");
  editor.set(loop, "ttg.partition", id_array(all));
  std::string stages;
  for (const Cycle deepest : placer.deepest())
    stages += (stages.empty() ? "" : ", ") + std::to_string(deepest) + " : i32";
  const std::vector<std::set<int>> outputs = outputs_of(m, placer);
  if (!outputs.empty()) editor.set(loop, "ttg.partition.outputs", id_arrays(outputs));
  editor.set(loop, "ttg.partition.stages", "[" + stages + "]");
  editor.set(loop, "ttg.warp_specialize.tag", "0 : i32");
  // They belong to the default group; Triton 3.9 looks for the region's tag on them.
  for (const int op : epilogue(m, loop)) {
    annotator.annotate(op, {0});
    editor.set(op, "ttg.warp_specialize.tag", "0 : i32");
  }
}

}  // namespace

void check_emit(const Module& m, int loop) {
  for (int at = m.parent(loop); at != kNone; at = m.parent(at)) {
    bool found = false;
    m.attribute(m.op(at), "tt.warp_specialize", &found);
    if (found)
      throw InputError(
          m.source, Module::place(m.op(loop)),
          "a loop under the tt.warp_specialize of line " + std::to_string(m.op(at).line),
          "Triton partitions the outer loop with all that is in it: emit that one "
          "(--loop, see --list-loops), or this one as pipelined (--emit pipelined)");
  }
}

std::string emit_ttgir(const LoweredModule& lowered, const Problem& problem,
                       const Schedule& schedule, std::vector<std::string>* remarks) {
  const Module& m = lowered.module;
  const int loop = lowered.loop.loop;
  if (lowered.options.subtile > 1)
    throw InputError("command line", "--emit", "ttgir",
                     "a sub-tiled loop has ops that the module has not: emit it as pipelined");
  check_emit(m, loop);
  const Placer placer(lowered, problem, schedule);
  std::vector<std::string> said;
  const std::string alone = why_stages_alone(lowered, placer);
  bool asked = false;
  m.attribute(m.op(loop), "tt.warp_specialize", &asked);
  if (alone.empty()) {
    said = placer.remarks();
  } else {
    said.push_back(Module::place(m.op(loop)) + ": stages and order alone are handed over, " +
                   (asked ? "and tt.warp_specialize is taken off" : "no partitions") + ": " +
                   alone + " (--emit pipelined has the slots)");
  }
  if (remarks != nullptr) *remarks = said;
  Editor editor(m);
  remove_schedule(editor, m, loop);
  for (const int op : placer.body()) {
    if (class_of(m.op(op)) == OpClass::terminator) continue;
    const Place& place = placer.place(op);
    editor.set(op, "loop.stage", std::to_string(place.stage) + " : i32");
    editor.set(op, "loop.cluster", std::to_string(place.cluster) + " : i32");
  }
  if (alone.empty())
    hand_over_partitions(editor, m, placer, loop);
  else
    editor.remove(loop, "tt.warp_specialize");
  editor.set(loop, "tt.num_stages", std::to_string(std::max<Cycle>(2, placer.stages())) + " : i32");
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
