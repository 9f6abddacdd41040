// A loop whose inner loop has its ops beside the outer ones, for rule 12 (LoopOptions::nest; see
// builder.hpp and ../nested/nested_loop.hpp, which says what edges between the two levels mean).
// What an inner op hands to the next run of the inner loop has no place there: it is refused, but
// for a buffer that an op of the outer loop reads or writes between two runs.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "graph/error.hpp"
#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/loops.hpp"

namespace twill::ttgir {

std::vector<int> inner_ops(const LoopKernel& loop, const Problem& problem) {
  std::set<std::string> names;
  for (std::size_t v = 0; v < loop.nodes.size(); ++v)
    if (loop.nodes[v].inner) names.insert(loop.kernel.ops[v].id);
  for (const Chunk& chunk : loop.kernel.chunks)
    if (loop.nodes[chunk.ops.front()].inner) names.insert(chunk.id);
  std::vector<int> ops;
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (names.count(problem.ops[v].id) != 0) ops.push_back(static_cast<int>(v));
  return ops;
}

namespace {

bool conflict_of(const Access& a, const Access& b) {
  return a.writes || b.writes;
}

}  // namespace

int inner_of_nest(const Module& module, int loop) {
  int inner = kNone;
  for (const LoopInfo& info : list_loops(module)) {
    if (module.parent(info.op) != loop || !info.tiles) continue;
    if (inner != kNone)
      throw InputError(module.source, Module::place(module.op(info.op)), "a second inner loop",
                       "a nest must have one inner loop with tiles: the other is at " +
                           Module::place(module.op(inner)));
    inner = info.op;
  }
  if (inner == kNone)
    throw InputError(module.source, Module::place(module.op(loop)), "a loop without an inner one",
                     "a nest must have an inner loop with tiles directly in its body");
  for (const int value : module.op(inner).results) {
    const Type* type = module.type_of(value);
    if (type != nullptr && type->kind == TypeKind::memdesc)
      throw InputError(module.source, Module::place(module.op(inner)),
                       "%" + std::string(module.value(value).name),
                       "an inner loop of a nest must not hand buffers on by its variables");
  }
  return inner;
}

void Builder::refuse_run(int op, const std::string& what) const {
  throw InputError(m_.source, Module::place(m_.op(op)), std::string(m_.op(op).name),
                   what + ": a run of the inner loop must not depend on the run before");
}

/// Of an edge to a node: in inner iterations between inner nodes, else in outer ones.
int Builder::edge_distance(const Source& source, std::size_t to) const {
  const bool from_inner = out_.nodes[source.node].inner, to_inner = out_.nodes[to].inner;
  if (from_inner && to_inner) {
    if (source.distance > 0) refuse_run(out_.nodes[to].op, "what it reads is of an earlier run");
    return source.inner;
  }
  if (from_inner && source.inner > 0)
    refuse_run(out_.nodes[to].op, "what it reads is not of the last iteration of a run");
  return source.distance;
}

/// Orders of inner accesses from one inner iteration to the next.
void Builder::add_run_edges(const Buffer& buffer) {
  std::vector<Access> list;
  for (const Access& access : buffer.accesses)
    if (access.inner) list.push_back(access);
  const bool fresh = !list.empty() && list.front().writes && !list.front().reads_on;
  if (list.empty() || (!buffer.outside_inner && !(buffer.single && fresh)) ||
      std::none_of(list.begin(), list.end(), [](const Access& a) { return a.writes; }))
    return;
  const bool alone = list.size() == buffer.accesses.size();
  if (std::any_of(list.begin(), list.end(), [](const Access& a) { return a.ring; }))
    refuse_run(list.front().op, "it uses a ring of buffers from outside of the inner loop");
  if (alone && fresh && !buffer.single) return;  // a value of each inner iteration
  if (alone && !fresh)
    refuse_run(list.front().op,
               "its buffer keeps from run to run what no outer op reads or writes");
  for (std::size_t i = list.size(); i-- > 0;) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (conflict_of(list[i], list[j])) connect(list[i], list[j], 1, false);
      if (list[j].writes) break;
    }
    if (list[i].writes) break;
  }
}

}  // namespace twill::ttgir
