// The problem that a loop's program is derived from (meaning.hpp).
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "graph/index.hpp"
#include "graph/meaning/lone_views.hpp"
#include "graph/ttgir/buffers.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/type.hpp"
#include "graph/unroll.hpp"

namespace twill::ttgir {
namespace {

using meaning::Meaning;
using meaning::Operand;

constexpr std::int64_t kLanes = 128, kColumnBits = 32;

/// From, to, distance: ops of the problem.
using Arc = std::tuple<int, int, int>;

class ProgramProblem {
 public:
  ProgramProblem(const LoweredModule& lowered, const ModuleMeaning& of, const Problem& problem)
      : l_(lowered), m_(of.meaning), copies_(of.kernel.unrolled), given_(problem), made_(problem) {
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
      op_of_.emplace(problem.ops[at(v)].id, v);
    std::vector<int> runners(m_.values.size(), -1);
    for (int v = m_.loop_begin; v < m_.after_begin; ++v) runners[at(v)] = runner(v);
    lone_ = meaning::lone_views(m_, runners);
  }

  Problem run() {
    edges();
    writers();
    residents();
    return std::move(made_);
  }

 private:
  /// What a value or an op of the module's loop is called in a copy of an unrolled one.
  std::string named(const std::string& name, int copy) const {
    return copies_ == 1 ? name : copy_name(name, copy);
  }

  int runner(int value) const {
    const meaning::Value& one = m_.values[at(value)];
    const auto found = op_of_.find(one.part_of.empty() ? one.id : one.part_of);
    return found == op_of_.end() ? -1 : found->second;
  }

  /// Those that hand data on, and those of views. What only orders accesses to a buffer follows
  /// from where results lie: the program's own business.
  void edges() {
    std::set<Arc> data, added_to;
    for (int v = m_.loop_begin; v < m_.after_begin; ++v)
      for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
        const int to = runner(v);
        if (to < 0) continue;
        for (const auto& [from, distance] : makers(m_.values[at(v)].operands[k])) {
          if (from == to && distance == 0) continue;
          data.insert({from, to, distance});
          if (m_.values[at(v)].function == meaning::Function::product && k == 2)
            added_to.insert({from, to, distance});
        }
      }
    std::set<int> views;
    for (const auto& op : l_.loop.kernel.ops)
      for (int copy = 0; copy < copies_ && op.alias_of; ++copy)
        if (const auto found = op_of_.find(named(op.id, copy)); found != op_of_.end())
          views.insert(found->second);
    made_.edges.clear();
    for (const Edge& e : given_.edges)
      if (data.contains({e.from, e.to, e.distance}) || views.contains(e.from) ||
          (views.contains(e.to) && !is_release(e.from)))
        made_.edges.push_back(e);
    // What a product adds to is its own from its issue on: nobody has to keep it.
    for (Edge& e : made_.edges)
      if (added_to.contains({e.from, e.to, e.distance})) e.hold = 0;
    // An order that others imply is left out of the problem: the data are handed on all the same.
    for (const Arc& arc : data) {
      const auto& [from, to, distance] = arc;
      if (reached(views, from, to, distance)) continue;
      Edge edge;
      edge.from = from;
      edge.to = to;
      edge.distance = distance;
      edge.delay = made_.ops[at(from)].cycles;
      made_.edges.push_back(edge);
    }
  }

  /// The ops that make what an operand is, and how many iterations before: through values that no
  /// op runs.
  std::set<std::pair<int, int>> makers(const Operand& operand) const {
    std::set<std::pair<int, int>> found, known;
    std::vector<std::pair<const Operand*, int>> work = {{&operand, 0}};
    while (!work.empty()) {
      const auto [one, before] = work.back();
      work.pop_back();
      const int distance = before + one->distance;
      if (one->value < 0 || !m_.in_loop(one->value) || lone_[at(one->value)] ||
          distance > kMaxDistance)
        continue;
      if (const int from = runner(one->value); from >= 0)
        found.emplace(from, distance);
      else if (known.emplace(one->value, distance).second)
        for (const Operand& next : m_.values[at(one->value)].operands)
          work.emplace_back(&next, distance);
    }
    return found;
  }

  bool is_release(int v) const { return given_.ops[at(v)].kind == "release"; }

  bool reached(const std::set<int>& views, int from, int to, int distance) const {
    std::set<std::pair<int, int>> known;
    std::vector<std::pair<int, int>> work = {{from, 0}};
    while (!work.empty()) {
      const auto [now, sum] = work.back();
      work.pop_back();
      for (const Edge& e : made_.edges) {
        if (e.from != now || sum + e.distance > distance) continue;
        if (e.to == to && sum + e.distance == distance) return true;
        if (views.contains(e.to) && known.emplace(e.to, sum + e.distance).second)
          work.emplace_back(e.to, sum + e.distance);
      }
    }
    return false;
  }

  const Type* buffer_of(const Operation& op) const {
    int tiles = 0;
    const int which = class_of(op) == OpClass::mma ? 3 : op.name == "ttng.tmem_copy" ? 2 : 1;
    for (const int operand : op.operands) {
      const Type* t = l_.module.type_of(operand);
      if (t != nullptr && t->kind == TypeKind::memdesc && ++tiles == which) return t;
    }
    return nullptr;
  }

  /// Who writes into a buffer and holds nothing in the problem, since the buffer is there anyway.
  void writers() {
    const LoopKernel& k = l_.loop;
    for (int v = m_.loop_begin; v < m_.after_begin; ++v) {
      const meaning::Value& value = m_.values[at(v)];
      const int here = runner(v);
      if (here < 0 || !made_.ops[at(here)].footprints.empty()) continue;
      const int copy = (v - m_.loop_begin) / ((m_.after_begin - m_.loop_begin) / copies_);
      for (std::size_t n = 0; n < k.nodes.size(); ++n) {
        if (named(k.kernel.ops[n].id, copy) != value.id) continue;
        const Operation& op = l_.module.op(k.nodes[n].op);
        const OpClass c = class_of(op);
        if (c != OpClass::tmem_store && c != OpClass::local_store && c != OpClass::copy &&
            !(c == OpClass::mma && is_tensor_memory_mma(op)))
          continue;
        // Of a chain the last one's result is there for others.
        if (!value.part_of.empty() &&
            k.kernel.chunks.end() != std::find_if(k.kernel.chunks.begin(), k.kernel.chunks.end(),
                                                  [&](const Chunk& chunk) {
                                                    return named(chunk.id, copy) == value.part_of &&
                                                           chunk.ops.back() != n;
                                                  }))
          continue;
        const Type* buffer = buffer_of(op);
        if (buffer == nullptr) continue;
        const int bits = buffer->bits;
        Amount amount = meaning::elements(value.shape) * bits / 8;
        if (buffer->tensor_memory) {
          const std::int64_t rows = value.shape.size() == 2 ? value.shape[0] : 1;
          amount = (value.shape.back() * bits + kColumnBits - 1) / kColumnBits *
                   ((rows + kLanes - 1) / kLanes);
        }
        const int memory = memory_of(*buffer);
        if (memory >= 0 && amount > 0) made_.ops[at(here)].footprints = {{memory, amount}};
      }
    }
  }

  int memory_of(const Type& buffer) const {
    for (std::size_t k = 0; k < made_.memories.size(); ++k)
      if (made_.memories[k].name == (buffer.tensor_memory ? "tmem" : "smem"))
        return static_cast<int>(k);
    return -1;
  }

  /// What was taken from a memory for buffers that are written in the loop is the writers' now.
  void residents() {
    const Sources sources(l_.module, l_.loop.loop);
    for (const Buffer& buffer : buffers_of(l_.module, sources, l_.loop.loop)) {
      if (!buffer.outside || buffer.fresh || !buffer.written) continue;
      const Type* type = l_.module.type_of(buffer.root);
      if (type == nullptr || type->kind != TypeKind::memdesc) continue;
      const int memory = memory_of(*type);
      if (memory >= 0)
        made_.memories[at(memory)].capacity +=
            type->tensor_memory ? buffer_columns(*type) : buffer_bytes(*type);
    }
  }

  const LoweredModule& l_;
  const Meaning& m_;
  const int copies_;
  const Problem& given_;
  Problem made_;
  std::map<std::string, int> op_of_;
  std::vector<bool> lone_;  ///< per value of the meaning: no op is needed for it
};

}  // namespace

Problem program_problem(const LoweredModule& lowered, const ModuleMeaning& of,
                        const Problem& problem) {
  return ProgramProblem(lowered, of, problem).run();
}

}  // namespace twill::ttgir
