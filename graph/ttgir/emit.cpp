#include "graph/ttgir/emit.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/error.hpp"
#include "graph/ttgir/buffers.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_limits.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/partition_tags.hpp"
#include "graph/ttgir/placer.hpp"
#include "graph/ttgir/region_memory.hpp"
#include "graph/ttgir/scheduled.hpp"
#include "graph/ttgir/turns.hpp"
#include "graph/ttgir/type.hpp"
#include "graph/ttgir/within.hpp"

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

bool has(const Module& m, int op, std::string_view name) {
  bool found = false;
  m.attribute(m.op(op), name, &found);
  return found;
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
  // (Of a region Triton looks for it here, whichever of its loops says so.)
  const std::vector<int>& region = placer.demand().ops();
  if (std::any_of(region.begin(), region.end(), [&](int op) {
        return is_tensor_memory_mma(m.op(op)) && disallows_second_accumulator(m, op);
      }))
    editor.set(root, "tt.disallow_acc_multi_buffer", "");
  // (By these names Triton knows ops of stores, which it repeats nowhere, and ops whose partition
  // is theirs and not their users'.)
  for (const int op : not_repeated(m, placer.demand())) editor.set(op, "store", "");
  for (const int op : not_followed(m, placer.demand(), placer.own())) editor.set(op, "data", "");
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
  // (In a partition Triton's pipeliner fails on one that is waited for behind the loop alone,
  // beside others of earlier stages.)
  const auto is_read = [&](int buffer) {
    return std::any_of(placer.body().begin(), placer.body().end(), [&](int op) {
      return class_of(m.op(op)) == OpClass::tmem_load && tensor_memory_of(m, m.op(op)) == buffer;
    });
  };
  const auto is_of_first_stage = [&](int product) {
    return std::none_of(placer.body().begin(), placer.body().end(), [&](int op) {
      return is_tensor_memory_mma(m.op(op)) && placer.place(op).stage < placer.place(product).stage;
    });
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
    if (!partitioned || (pointers && (is_read(tiles[2]) || is_of_first_stage(op))))
      editor.set(op, "tt.self_latency", "1 : i32");
  }
}

/// The deepest stage that the loop is said to have. Triton's pipeliner gives a descriptor that is
/// made in the loop as many places in global memory: none in a loop of one stage, and with fewer
/// than these two more it is made anew while a copy of an earlier iteration reads it. (A load is
/// waited for in the last stage, a store in the iteration after its own; loop variables keep one
/// for later iterations.)
Cycle deepest_stage(const Module& m, const Placer& placer) {
  const Cycle deepest = placer.stages() - 1;
  if (!makes_descriptors(m, placer.body())) return deepest;
  return deepest + 2 + carried_descriptors(m, placer.body());
}

/// Triton takes 32767 bits where a layout says no width, and its pipeliner fails on the buffers
/// that it then makes for the stages.
void refuse_without_width(const Module& m, const std::vector<int>& body) {
  for (const int op : body)
    for (const int value : m.op(op).results)
      if (const Type* type = m.type_of(value);
          type != nullptr && type->encoding.starts_with("#ttg.nvmma_shared") &&
          layout_field(type->encoding, "elementBitWidth").empty())
        throw InputError(m.source, Module::place(m.op(op)), std::string(type->encoding),
                         "must say its elementBitWidth, or Triton's pipeliner fails on the stages "
                         "(--emit pipelined has the schedule)");
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
  refuse_without_width(lowered.module, placer.body());
  const int root = placer.root();
  NoPartitions no = why_no_partitions(lowered, placer);
  const auto depth = [&] { return std::max<Cycle>(2, fitting_depth(lowered, placer)); };
  std::string turns;
  if (no.why.empty() && !placer.opens_loops()) {
    placer.issue_ahead(true);
    const Settled settled = settle_turns(lowered, problem, placer, depth());
    turns = settled.said;
    // (What is issued ahead takes buffers.)
    no = {settled.ends ? why_too_large(lowered, placer) : turns, true};
    if (!no.why.empty()) placer.keep_text_order({});  // (That is one for partitions.)
  }
  const bool partitioned = no.why.empty();
  const bool asked = has(m, root, "tt.warp_specialize");
  const bool by_triton = asked && no.by_triton;
  // What Triton adds to this loop for one in it gets no stage, so then none is handed over.
  const int pipelined = partitioned ? kNone : pipelined_by_triton(m, placer.body());
  // (Triton gives a descriptor of a loop in it one place for all that loop's iterations.)
  const int describing = partitioned ? kNone : makes_descriptors_within(m, placer.body());
  const bool staged =
      partitioned ? !placer.opens_loops() : pipelined == kNone && describing == kNone;
  if (partitioned != staged) placer.issue_ahead(partitioned || by_triton);
  if (staged && !partitioned) placer.gather_products();
  std::vector<std::string> said = placer.remarks(partitioned);
  if (partitioned && !turns.empty()) said.push_back(Module::place(m.op(loop)) + ": " + turns);
  if (partitioned && !asked)
    said.push_back(Module::place(m.op(root)) +
                   ": the loop gets tt.warp_specialize: its schedule uses several partitions");
  if (pipelined != kNone)
    said.push_back(Module::place(m.op(loop)) +
                   ": no stages are handed over: Triton pipelines the loop of line " +
                   std::to_string(m.op(pipelined).line) +
                   " in it, and does so to one of the two (--emit pipelined has the schedule, "
                   "--loop the one within)");
  else if (describing != kNone)
    said.push_back(
        Module::place(m.op(loop)) + ": no stages are handed over: the loop of line " +
        std::to_string(m.op(describing).line) +
        " in it makes descriptors, and in a loop with stages Triton has one place for "
        "all of its iterations, while copies read it (--emit pipelined has the schedule, "
        "--loop the one within)");
  if (!partitioned)
    said.push_back(Module::place(m.op(loop)) +
                   (staged ? ": stages and order alone are handed over, " : ": ") +
                   (by_triton ? "partitions are Triton's own"
                    : asked   ? "and tt.warp_specialize is taken off"
                              : "no partitions") +
                   ": " + no.why + " (--emit pipelined has the slots)");
  if (remarks != nullptr) *remarks = said;
  Editor editor(m);
  remove_schedule(editor, m, loop);
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
  // (The rings of a region all have as many buffers as the launch has stages: see finishing.py.)
  const bool rings = partitioned || by_triton;
  const Cycle buffers = rings ? depth() : std::max<Cycle>(2, placer.stages());
  if (staged || partitioned) editor.set(loop, "tt.num_stages", std::to_string(buffers) + " : i32");
  if (rings) editor.set(root, "tt.num_stages", std::to_string(buffers) + " : i32");
  if (staged)
    editor.set(loop, "tt.scheduled_max_stage", std::to_string(deepest_stage(m, placer)) + " : i32");
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
