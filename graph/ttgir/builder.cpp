#include "graph/ttgir/builder.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include "graph/error.hpp"
#include "graph/ttgir/carried_numbers.hpp"
#include "graph/ttgir/index_ops.hpp"
#include "graph/ttgir/scheduled.hpp"
#include "graph/ttgir/warp_counts.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMaxWarps = 64;
constexpr int kMaxBlocks = 1024;  // of a cluster

int number_after(std::string_view text, std::string_view key, int otherwise) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return otherwise;
  text.remove_prefix(at + key.size());
  while (!text.empty() && (text.front() < '0' || text.front() > '9')) text.remove_prefix(1);
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// A number that the function or module around a loop has as an attribute.
int number_of(const Module& module, int loop, const char* name, int otherwise, int most) {
  const auto [text, at] = module.inherited(loop, name);
  if (at == kNone) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number =
      error == std::errc() && (end == text.data() + text.size() || *end == ' ' || *end == ':');
  if (!number || value < 1 || value > most)
    throw InputError(module.source, Module::place(module.op(at)),
                     std::string(name) + " = " + std::string(text.substr(0, 40)),
                     "must be a number from 1 to " + std::to_string(most));
  return value;
}

/// 4 warps, Triton's default, where none says.
int warps_of(const Module& module, int loop) {
  return number_of(module, loop, "ttg.num-warps", 4, kMaxWarps);
}

/// A module's tiles are those of a whole cluster; a machine is one SM.
void refuse_clusters(const Module& module, int loop) {
  const int blocks = number_of(module, loop, "ttg.num-ctas", 1, kMaxBlocks);
  if (blocks > 1)
    throw InputError(module.source,
                     Module::place(module.op(module.inherited(loop, "ttg.num-ctas").second)),
                     "ttg.num-ctas = " + std::to_string(blocks),
                     "must be 1: the tiles of a cluster are shared out over its SMs, and a machine "
                     "here is one SM");
}

/// No tile says how threads hold it.
bool has_no_layouts(const Module& module) {
  return std::none_of(module.types.begin(), module.types.end(), [](const Type& type) {
    return (type.kind == TypeKind::tensor || type.kind == TypeKind::memdesc) &&
           !type.encoding.empty();
  });
}

/// Compute capability / 10 that a machine stands for, by what it has: tensor memory, a slot for ops
/// of variable latency.
int family_of(const Machine& machine) {
  for (const MachineMemory& memory : machine.memories)
    if (memory.name == "tmem") return 10;
  for (const Layout& layout : machine.layouts)
    for (const WarpSlot& slot : layout.slots)
      if (slot.variable_latency) return 9;
  return 8;
}

}  // namespace

Builder::Builder(const Module& module, const Machine& machine, const LoopOptions& options, int loop,
                 int nesting)
    : m_(module),
      machine_(machine),
      options_(options),
      loop_(loop),
      nesting_(nesting),
      split_(split_loop(module, loop, nesting == 0 ? options.subtile : 1)),
      sources_(module, loop, nesting == 0 && options.nest ? inner_of_nest(module, loop) : kNone),
      users_begin_(module.values.size() + 1) {
  replicated_ = replicated_ops(module, {sources_.body()});
  if (nesting_ == 0 && split_.factor == 1 && !options.nest)
    numbers_ = ops_of_carried_numbers(module, loop, sources_.body(), replicated_);
  for (const int op : numbers_) replicated_[static_cast<std::size_t>(op)] = false;
  buffers_ = buffers_of(module, sources_, loop);
  for (const Operation& op : m_.ops)
    for (const int value : op.operands) ++users_begin_[static_cast<std::size_t>(value) + 1];
  std::partial_sum(users_begin_.begin(), users_begin_.end(), users_begin_.begin());
  users_.resize(users_begin_.back());
  std::vector<std::size_t> at(users_begin_.begin(), users_begin_.end() - 1);
  for (std::size_t i = 0; i < m_.ops.size(); ++i)
    for (const int value : m_.ops[i].operands)
      users_[at[static_cast<std::size_t>(value)]++] = static_cast<int>(i);
}

/// What the loop hands to the ops after it.
void Builder::note_results() {
  const Operation& loop = m_.op(loop_);
  const auto& body = m_.block(sources_.body()).ops;
  if (body.empty()) return;
  const Operation& yield = m_.op(body.back());
  for (std::size_t k = 0; k < loop.results.size() && k < yield.operands.size(); ++k) {
    if (users(loop.results[k]).empty() || !is_tile(loop.results[k], TypeKind::tensor)) continue;
    for (const Source& source : sources_.of(yield.operands[k], 0))
      out_.handed_out.insert(source.node);
  }
}

InputError placed(const InputError& error, const Module& module,
                  const std::vector<NodeInfo>& nodes) {
  constexpr std::string_view kOps = "/ops/";
  if (error.file() != module.source || !error.place().starts_with(kOps)) return error;
  std::size_t node = nodes.size();
  const char* const end = error.place().data() + error.place().size();
  std::from_chars(error.place().data() + kOps.size(), end, node);
  if (node >= nodes.size()) return error;
  const Operation& op = module.op(nodes[node].op);
  return {module.source, Module::place(op) + " (" + std::string(op.name) + ")", error.value(),
          error.rule()};
}

LoopKernel Builder::run() {
  try {
    build();
  } catch (const AlreadyLowered&) {
    throw;
  } catch (const InputError& error) {
    throw placed(error, m_, out_.nodes);
  }
  return std::move(out_);
}

void Builder::build() {
  out_.loop = loop_;
  out_.kernel.source = m_.source;
  refuse_clusters(m_, loop_);
  out_.warps = warps_of(m_, loop_);
  out_.kernel.ops.reserve(sources_.ops().size());
  out_.nodes.reserve(sources_.ops().size());
  out_.inner = sources_.inner_loop();
  if (out_.inner != kNone) out_.inner_trips = trips_of(m_.op(out_.inner));
  if (nesting_ == 0 && has_no_layouts(m_) && m_.inherited(loop_, "ttg.num-warps").second == kNone)
    warn(
        "the module has no layouts and no ttg.num-warps: it is TTIR, from before Triton chooses "
        "how "
        "tiles are held and loaded. It is taken for one of 4 warps; its TTGIR says more "
        "(compile.py "
        "emit of graph/kernels/triton, or the ttgir of triton.compile)");
  for (const int op : sources_.ops()) add_op(op);
  views_of_later();
  apply_profile();
  if (out_.kernel.ops.empty())
    throw InputError(m_.source, Module::place(m_.op(loop_)), "a loop without tile operations",
                     "there is nothing to schedule");
  add_edges();
  add_residents();
  find_chunks();
  note_results();
  find_integer_chains();
}

LoopKernel lower_one_loop(const Module& module, const Machine& machine, const LoopOptions& options,
                          int loop, int nesting) {
  return Builder(module, machine, options, loop, nesting).run();
}

LoopKernel lower_loop(const Module& module, const Machine& machine, const LoopOptions& options) {
  const std::vector<LoopInfo> loops = list_loops(module);
  std::size_t chosen = choose_loop(module, loops, options.loop);
  if (options.nest && options.subtile > 1)
    throw InputError("command line", "--subtile", std::to_string(options.subtile),
                     "a loop with an inner loop is not split: must be 1");
  if (options.nest && !options.loop && loops[chosen].innermost) {  // the loop around it
    const auto around = std::find_if(loops.begin(), loops.end(), [&](const LoopInfo& info) {
      return info.op == module.parent(loops[chosen].op);
    });
    if (around == loops.end())
      throw InputError(module.source, Module::place(module.op(loops[chosen].op)),
                       "a loop that is not directly in the body of another",
                       "a nest is an scf.for directly in an scf.for: --loop chooses the outer one");
    chosen = static_cast<std::size_t>(around - loops.begin());
  }
  check_warp_counts(module, loops[chosen].op);
  const bool annotated = refuse_scheduled(module, loops[chosen].op);
  check_reductions(module, loops[chosen].op);
  LoopKernel result = lower_one_loop(module, machine, options, loops[chosen].op, 0);
  result.kernel.name = loops[chosen].function.empty() ? "loop" : loops[chosen].function;
  if (options.loop || chosen != 0) result.kernel.name += "." + std::to_string(chosen);
  if (options.subtile > 1) result.kernel.name += "-sub" + std::to_string(options.subtile);
  if (annotated)
    result.warnings.insert(result.warnings.begin(),
                           "the stages and partitions that the loop's ops have are set aside");
  const std::string_view on = module.inherited(loops[chosen].op, "ttg.target").first;
  const int target = result.target = number_after(on, "cuda:", 0);
  const int family = family_of(machine);
  if (target != 0 && target / 10 != family)
    result.warnings.insert(result.warnings.begin(),
                           "the module was made for cuda:" + std::to_string(target) + ", machine " +
                               machine.name + " is of another kind");
  return result;
}

}  // namespace twill::ttgir
