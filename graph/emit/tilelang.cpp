#include "graph/emit/tilelang.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "graph/emit/about.hpp"
#include "graph/emit/gluon_host.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/emit/limits.hpp"
#include "graph/emit/names.hpp"
#include "graph/emit/plan.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Value;
using program::Program;
using program::Refusal;
using program::Storage;

[[noreturn]] void refuse(const std::string& rule, const std::string& text) {
  throw Refusal{rule, text};
}

// What launch() does when it knows the sizes (gluon_host.hpp).
constexpr const char* kTileLaunch =
    R"(    blocks = [sizes[axis] // tile for axis, (kind, tile) in AXES.items() if kind == "block"] + [1, 1]
    outputs = {name: torch.empty(*lead, *(sizes[axis] for axis in axes), dtype=getattr(torch, kind), device=first.device)
               for name, (axes, kind, is_output) in TENSORS.items() if is_output}
    if n == 0:  # no product writes the accumulator
        for output, value in zip(outputs.values(), reference(inputs)):
            output.copy_(value)
    elif batch * blocks[0] * blocks[1] > 0:
        flat = [(outputs[name] if name in outputs else inputs[name]) for name in TENSORS]
        compiled(batch, blocks[0], blocks[1], n)(*(tensor.view(-1, tensor.shape[-1]) for tensor in flat))
    return tuple(outputs.values())
)";

/// A ring between two roles.
struct Pipeline {
  int storage = 0;
  int producer = 0, consumer = 0;  ///< slots
  int writer = 0;                  ///< op
  int first = 0, last = 0;         ///< ops that read it
};

class TileLangPrinter {
 public:
  TileLangPrinter(const Plan& plan, const EmitOptions& options)
      : plan_(plan), p_(*plan.given), m_(*plan.meaning), options_(options) {}

  std::string run() {
    orders();
    pipelines();
    ops();
    after();
    roles();
    head();
    kernel();
    std::string host = host_text(plan_, kTileLaunch);
    const std::string timer = "triton.testing.do_bench";
    host.replace(host.find(timer), timer.size(), "do_bench");
    return text_ + host;
  }

 private:
  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(4 * at(depth), ' ') + text + "\n";
  }
  const Value& value_of(int op) const { return m_.values[at(plan_.links.result[at(op)])]; }
  const std::string& variable(int op) const {
    return plan_.variable[at(plan_.links.result[at(op)])];
  }
  bool is_product(int op) const { return value_of(op).function == Function::product; }
  /// Does `op` add to what it wrote an iteration before, in its place?
  bool accumulates(int op) const { return is_product(op) && value_of(op).operands.size() == 3; }

  // ---- what schedules of TileLang cannot say

  void orders() const {
    for (const program::Wait& wait : p_.waits) {
      const int here = wait.before, there = p_.events[at(wait.event)].op;
      if (p_.ops[at(here)].slot == p_.ops[at(there)].slot) continue;
      if (wait.need == program::Need::turn)
        refuse("tilelang", p_.ops[at(here)].id + " waits for its turn after " +
                               p_.ops[at(there)].id +
                               ": roles of TileLang wait for data and room alone");
      if (wait.need == program::Need::overlay)
        refuse("tilelang", p_.storages[at(wait.storage)].name +
                               " lies where another buffer does: pipelines of TileLang share none");
    }
    if (plan_.legal.target == Target::hopper)
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
        if (is_product(v))
          refuse("tilelang", "the product " + p_.ops[at(v)].id +
                                 " is in flight while its slot goes on: T.gemm of TileLang waits "
                                 "for it on Hopper");
  }

  void pipelines() {
    const std::vector<int> writers = program::writers(p_);
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const Storage& storage = p_.storages[at(s)];
      const int writer = writers[at(s)], producer = p_.ops[at(writer)].slot;
      std::vector<int> readers;
      std::set<int> slots;
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
        for (const program::Read& read : p_.ops[at(v)].reads) {
          if (read.storage != s || (v == writer && accumulates(v) && read.distance == 1)) continue;
          if (read.distance != 0 && storage.kind == Storage::in_memory)
            refuse("tilelang", storage.name +
                                   " is read in a later iteration: buffers of a pipeline of "
                                   "TileLang hold what is of their own");
          readers.push_back(v);
          slots.insert(p_.ops[at(v)].slot);
        }
      if (storage.kind == Storage::order && !slots.empty() && slots != std::set<int>{producer})
        refuse("tilelang", storage.name + " is an order without data between two slots");
      if (storage.kind != Storage::in_memory) continue;
      if (!storage.shares.empty())
        refuse("tilelang",
               storage.name + " lies where another buffer does: pipelines of TileLang share none");
      if (readers.empty()) continue;
      if (slots.size() > 1 || slots.contains(producer))
        refuse("tilelang", storage.name +
                               " has readers on more slots than one other: a pipeline of TileLang "
                               "lies between two roles");
      if (p_.ops[at(readers.front())].stage != p_.ops[at(readers.back())].stage)
        refuse("tilelang",
               storage.name + " is read in two stages: TileLang keeps a buffer for one");
      pipelines_.push_back({s, producer, *slots.begin(), writer, readers.front(), readers.back()});
    }
  }

  /// That all of the loop is loads of matrices and products in tensor memory.
  void ops() const {
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      const Value& value = value_of(v);
      const bool load = value.function == Function::load && value.shape.size() == 2;
      if ((!load && !is_product(v)) || plan_.links.values[at(v)].size() != 1)
        refuse("op", p_.ops[at(v)].id +
                         ": of a loop, loads of tiles and products are written in "
                         "TileLang");
    }
    if (m_.loop_begin > 0)
      refuse("op", "what is computed before the loop is not written in TileLang yet");
    if (!plan_.user && plan_.axes.blocks.size() > 2)
      refuse("tensors", "tensors are cut into more than two blocks");
    for (const HostTensor& host : plan_.axes.tensors)
      if (host.axes.size() != 2 || host.steps >= 0 || host.added)
        refuse("tensors", host.name + " is no matrix that each block has a tile of");
  }

  /// Accumulators that are stored after the loop, as they are.
  void after() {
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v) {
      const Value& value = m_.values[at(v)];
      const meaning::Operand& what = value.operands.front();
      const int op = what.value >= 0 && m_.in_loop(what.value) ? plan_.op_of(what.value) : -1;
      if (value.function != Function::store || op < 0 || !is_product(op) || what.transposed ||
          what.columns > 0)
        refuse("op", value.id + ": after the loop, products are stored in TileLang as they are");
      if (p_.ops[at(op)].slot == plan_.after_slot[at(v)])
        refuse("op", value.id + " is stored by the slot that issues its product");
      stores_.emplace_back(v, op);
    }
  }

  // ---- roles

  void roles() {
    std::vector<int> slots = plan_.partitions;
    // Those of whole warpgroups come first, so that each begins with one.
    std::stable_partition(slots.begin(), slots.end(),
                          [&](int s) { return plan_.warps(s) % kWarpgroup == 0; });
    int warp = 0;
    for (const int s : slots) {
      roles_[s] = {warp, warp + plan_.warps(s)};
      order_.push_back(s);
      warp += plan_.warps(s);
    }
    warps_ = (warp + kWarpgroup - 1) / kWarpgroup * kWarpgroup;
    if (32 * warps_ > kMostThreads)
      refuse("limits", std::to_string(32 * warps_) + " threads of " + std::to_string(kMostThreads));
    // (setmaxnreg would move registers between warpgroups. No kernel that comes so far needs it.)
    const int at_launch = kRegisterFile / (32 * warps_) / kRegisterStep * kRegisterStep;
    int most = plan_.launch.first.registers;
    for (const Partition& one : plan_.launch.workers) most = std::max(most, one.registers);
    if (most > at_launch)
      refuse("limits", std::to_string(most) + " registers a thread, " + std::to_string(at_launch) +
                           " at launch: TileLang's roles keep those");
    if (plan_.launch.shared_bytes > kMostShared)
      throw no_shared_memory(std::to_string(plan_.launch.shared_bytes) +
                             " bytes of shared memory of " + std::to_string(kMostShared));
    if (plan_.launch.tmem_columns > 512)
      refuse("limits", std::to_string(plan_.launch.tmem_columns) + " columns of tensor memory");
  }

  std::string schedule_of(int slot) const {
    std::string list;
    const auto add = [&](const std::string& one) { list += (list.empty() ? "" : ", ") + one; };
    const auto sync = [&](const char* what, const Pipeline& one, int op) {
      int least = p_.ops[at(op)].stage;
      for (const program::Op& other : p_.ops)
        if (other.slot == slot) least = std::min(least, other.stage);
      const int stage = p_.ops[at(op)].stage - least;
      add(std::string("T.WSSync.") + what + "(\"" + plan_.buffer[at(one.storage)] + "\"" +
          (stage > 0 ? ", stage=" + std::to_string(stage) : "") + ")");
    };
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      if (p_.ops[at(v)].slot != slot) continue;
      for (const Pipeline& one : pipelines_) {
        if (one.consumer == slot && one.first == v) sync("consumer_wait", one, v);
        if (one.writer == v) sync("producer_acquire", one, v);
      }
      add("\"" + variable(v) + "\"");
      for (const Pipeline& one : pipelines_) {
        if (one.consumer == slot && one.last == v) sync("consumer_release", one, v);
        if (one.writer == v) sync("producer_commit", one, v);
      }
    }
    return list;
  }

  /// What a slot does around the loop: it hands over accumulators, or takes them.
  std::string around_loop(int slot) const {
    const bool loops = slot < static_cast<int>(p_.slots.size()) && !schedule_of(slot).empty();
    std::vector<std::string> before, behind;
    for (const auto& [v, op] : stores_) {
      const std::string tile = "(\"" + accumulator(op) + "\")";
      if (p_.ops[at(op)].slot == slot) {
        before.push_back("T.WSSync.producer_acquire" + tile);
        behind.push_back("T.WSSync.producer_commit" + tile);
      }
      if (plan_.after_slot[at(v)] == slot) {
        behind.push_back("T.WSSync.consumer_wait" + tile);
        behind.push_back("\"take_" + variable(op) + "\"");
        behind.push_back("T.WSSync.consumer_release" + tile);
        behind.push_back("\"" + plan_.variable[at(v)] + "\"");
      }
    }
    if (loops) before.emplace_back("\"loop\"");
    before.insert(before.end(), behind.begin(), behind.end());
    std::string list;
    for (const std::string& one : before) list += (list.empty() ? "" : ", ") + one;
    return list;
  }

  /// The buffer of what a product adds to.
  const std::string& accumulator(int op) const {
    for (const int s : p_.ops[at(op)].writes)
      if (p_.storages[at(s)].kind == Storage::in_memory) return plan_.buffer[at(s)];
    refuse("storage", value_of(op).id + " has no place in tensor memory");
  }

  // ---- the text

  void head() {
    text_ += "\"\"\"" + about_program(p_, options_);
    line(0,
         "The tiles are written one after the other; which role does what, in which order and "
         "stage, with how");
    line(0, "many copies of each buffer, is in the WSSchedule. TileLang makes the barriers of it.");
    line(0, "");
    line(0,
         "This text is yours: Twill's license does not extend to what it writes, put it under "
         "any license you");
    line(0, "like. Needs TileLang " + std::string(kTileLang) +
                " or newer and PyTorch; `python FILE` checks and times it.");
    line(0, "\"\"\"");
    line(0, "import functools");
    line(0, "import itertools");
    line(0, "import math");
    line(0, "import sys");
    line(0, "");
    line(0, "try:");
    line(1, "import tilelang");
    line(1, "import tilelang.language as T");
    line(1, "from tilelang.profiler import do_bench");
    line(1, "if not hasattr(T, \"annotate_ws_schedule\"):");
    line(2, "raise ImportError(\"this one has no T.annotate_ws_schedule\")");
    line(0, "except ImportError as missing:");
    line(1, "if __name__ != \"__main__\":");
    line(2, "raise");
    line(1, "print(f\"TileLang " + std::string(kTileLang) +
                " or newer is needed: {missing}\", file=sys.stderr)");
    line(1, "sys.exit(2)");
    line(0, "");
    line(0, "");
  }

  /// Tiles along an axis, of the whole batch's part.
  std::string count(int axis) const {
    const Axis& one = plan_.axes.axes[at(axis)];
    if (one.kind == Axis::whole) return "1";
    return one.kind == Axis::loop ? "n" : "blocks_" + std::to_string(block_of(axis));
  }
  int block_of(int axis) const {
    const auto& all = plan_.axes.blocks;
    return static_cast<int>(std::find(all.begin(), all.end(), axis) - all.begin());
  }
  std::string extent(int axis) const {
    const std::string tile = std::to_string(plan_.axes.axes[at(axis)].tile), tiles = count(axis);
    return tiles == "1" ? tile : tiles + " * " + tile;
  }
  /// A tile's rows and columns in its flat tensor, both of them from where to where.
  std::string place(int tensor) const {
    const HostTensor& host = plan_.axes.tensors[at(plan_.axes.tensor_of[at(tensor)])];
    std::string list;
    for (int d = 0; d < 2; ++d) {
      const Axis& axis = plan_.axes.axes[at(host.axes[at(d)])];
      std::string begin = d == 0 ? "batch * " + parenthesised(extent(host.axes[at(d)])) : "";
      std::string own = axis.kind == Axis::whole ? ""
                        : axis.kind == Axis::loop
                            ? "i * " + std::to_string(axis.tile)
                            : "block_" + std::to_string(block_of(host.axes[at(d)])) + " * " +
                                  std::to_string(axis.tile);
      if (!own.empty()) begin += (begin.empty() ? "" : " + ") + own;
      const std::int64_t part =
          d == 0 ? plan_.axes.part_of[at(tensor)] * m_.tensors[at(tensor)].shape[0] : 0;
      if (part > 0) begin += (begin.empty() ? "" : " + ") + std::to_string(part);
      list += (list.empty() ? "" : ", ") + (begin.empty() ? std::string("0") : begin);
    }
    return "[" + list + "]";
  }
  static std::string parenthesised(const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  }
  std::string host(int tensor) const {
    return plan_.host_name[at(plan_.axes.tensor_of[at(tensor)])];
  }
  static std::string type(const std::string& name) {
    if (name == "f16") return "\"float16\"";
    if (name == "bf16") return "\"bfloat16\"";
    if (name == "f32") return "\"float32\"";
    refuse("type", "a tile is of type " + name);
  }
  static std::string shape(const std::vector<std::int64_t>& all) {
    std::string list;
    for (const std::int64_t one : all) list += (list.empty() ? "" : ", ") + std::to_string(one);
    return "(" + list + ")";
  }

  void kernel() {
    line(0, "def build(batches, blocks_0, blocks_1, n):");
    line(1, "\"\"\"The kernel for so many blocks and iterations.\"\"\"");
    line(1, "@T.prim_func");
    std::string list;
    for (std::size_t t = 0; t < plan_.axes.tensors.size(); ++t) {
      const HostTensor& one = plan_.axes.tensors[t];
      list += (list.empty() ? "" : ", ") + plan_.host_name[t] + ": T.Tensor((batches * " +
              extent(one.axes[0]) + ", " + extent(one.axes[1]) + "), " + type(one.type) + ")";
    }
    line(1, "def kernel(" + list + "):");
    line(2, "with T.Kernel(blocks_0, blocks_1, batches, threads=" + std::to_string(32 * warps_) +
                ") as (block_0, block_1, batch):");
    buffers();
    schedule();
    line(3, "");
    line(3, "for i in T.serial(n, annotations={T.WSID: \"loop\"}):");
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) op(v);
    for (const auto& [v, op] : stores_) {
      const std::string id = "annotations={T.WSID: \"";
      line(3, "T.copy(" + accumulator(op) + ", " + variable(op) + ", " + id + "take_" +
                  variable(op) + "\"})");
      line(3, "T.copy(" + variable(op) + ", " + host(m_.values[at(v)].tensor) +
                  place(m_.values[at(v)].tensor) + ", " + id + plan_.variable[at(v)] + "\"})");
    }
    line(1, "return kernel");
    line(0, "");
    line(0, "");
    line(0, "@functools.lru_cache(maxsize=None)");
    line(0, "def compiled(batches, blocks_0, blocks_1, n):");
    line(1, "return tilelang.compile(build(batches, blocks_0, blocks_1, n), target=\"cuda\")");
    line(0, "");
  }

  void buffers() {
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const Storage& storage = p_.storages[at(s)];
      if (storage.kind != Storage::in_memory) continue;
      const Value& value = plan_.value_of(s);
      if (value.shape.size() != 2) refuse("storage", storage.name + " is no matrix");
      line(3, plan_.buffer[at(s)] + " = T.alloc_" + (plan_.on_tmem(storage) ? "tmem(" : "shared(") +
                  shape(value.shape) + ", " + type(value.type) + ")");
    }
    for (const auto& [v, op] : stores_)
      line(3, variable(op) + " = T.alloc_fragment(" + shape(value_of(op).shape) + ", " +
                  type(value_of(op).type) + ")");
  }

  void schedule() {
    line(3, "T.annotate_ws_schedule(T.WSSchedule(");
    line(4, "num_warps=" + std::to_string(warps_) + ",");
    line(4, "roles=[");
    for (const int s : order_)
      line(5, "T.WSRole(\"" + plan_.slot_name[at(s)] +
                  "\", warps_lo=" + std::to_string(roles_.at(s).first) +
                  ", warps_hi=" + std::to_string(roles_.at(s).second) + "),");
    line(4, "],");
    line(4, "pipelines=[");
    for (const Pipeline& one : pipelines_)
      line(5, "T.WSPipeline(\"" + plan_.buffer[at(one.storage)] + "\", [" +
                  plan_.buffer[at(one.storage)] +
                  "], depth=" + std::to_string(p_.storages[at(one.storage)].depth) + "),");
    for (const auto& [v, op] : stores_)
      line(5, "T.WSPipeline(\"" + accumulator(op) + "\", [" + accumulator(op) + "], depth=1),");
    line(4, "],");
    line(4, "scopes=[");
    line(5, "T.WSScope(\"loop\", {");
    for (const int s : order_)
      if (s < static_cast<int>(p_.slots.size()) && !schedule_of(s).empty())
        line(6, "\"" + plan_.slot_name[at(s)] + "\": [" + schedule_of(s) + "],");
    line(5, "}),");
    line(5, "T.WSScope(T.WSScope.ROOT, {");
    for (const int s : order_)
      line(6, "\"" + plan_.slot_name[at(s)] + "\": [" + around_loop(s) + "],");
    line(5, "}),");
    line(4, "],");
    line(3, "))");
  }

  void op(int v) {
    const Value& value = value_of(v);
    const std::string id = ", annotations={T.WSID: \"" + variable(v) + "\"})";
    if (value.function == Function::load) {
      for (const int s : p_.ops[at(v)].writes)
        if (p_.storages[at(s)].kind == Storage::in_memory)
          line(4, "T.copy(" + host(value.tensor) + place(value.tensor) + ", " +
                      plan_.buffer[at(s)] + id);
      return;
    }
    ModuleNeeds needs;
    const ValuePrinter values(plan_, p_.ops[at(v)].slot, needs);
    std::string text = "T.gemm(", turned;
    for (std::size_t k = 0; k < 2; ++k) {
      const Source from = values.resolve(v, value.operands[k]);
      if (from.kind != Source::memory || from.columns > 0 || from.distance != 0)
        refuse("operand", "an operand of " + value.id + " is no whole buffer of its iteration");
      text += plan_.buffer[at(from.storage)] + ", ";
      if (from.transposed) turned += std::string(", transpose_") + (k == 0 ? "A" : "B") + "=True";
    }
    std::string clear = "True";
    if (accumulates(v)) {
      const meaning::Initial* first = m_.initial_of(plan_.links.result[at(v)]);
      const Source from = values.resolve(v, value.operands[2]);
      if (from.op != v || from.distance != 1 || first == nullptr || first->what.value >= 0 ||
          first->what.number != 0)
        refuse("operand",
               value.id + " adds to something else than its own sum, which begins with 0");
      clear = "i == 0";
    }
    line(4, text + accumulator(v) + turned + ", clear_accum=" + clear + id);
  }

  const Plan& plan_;
  const Program& p_;
  const meaning::Meaning& m_;
  const EmitOptions& options_;
  std::vector<Pipeline> pipelines_;
  std::vector<std::pair<int, int>> stores_;   ///< after the loop, and the op whose result it is
  std::map<int, std::pair<int, int>> roles_;  ///< per slot, its first warp and the one behind
  std::vector<int> order_;                    ///< slots by their warps
  int warps_ = 0;                             ///< of the block, whole warpgroups
  std::string text_;
};

}  // namespace

std::variant<std::string, Refusal> emit_tilelang(const program::Program& program,
                                                 const EmitOptions& options) {
  if (options.user != nullptr)
    return Refusal{"target", "a module's own function is not written in TileLang"};
  EmitOptions own = options;
  own.as_triton = false;
  auto plan = make_plan(program, own);
  if (auto* no = std::get_if<Refusal>(&plan)) return *no;
  try {
    return TileLangPrinter(std::get<Plan>(plan), own).run();
  } catch (const Refusal& no) {
    return no;
  }
}

}  // namespace twill::emit
