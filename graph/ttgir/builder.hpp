// Builds a LoopKernel (loop_kernel.hpp): nodes, then edges, then what is resident. Private to
// graph/ttgir/.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/ttgir/buffers.hpp"
#include "graph/ttgir/loop_kernel.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/sources.hpp"
#include "graph/ttgir/split.hpp"

namespace twill::ttgir {

class Builder {
 public:
  Builder(const Module& module, const Machine& machine, const LoopOptions& options, int loop,
          int nesting);
  LoopKernel run();

 private:
  void build();
  // Nodes: nodes.cpp.
  void add_nodes(int block);
  void add_op(int index);
  std::vector<std::string> kinds_of_read(const Type& tile) const;
  bool is_shared_out(const Type& tile) const;
  std::int64_t copies_held(const Type& tile) const;
  void add_load(int index, int copy);
  void add_store(int index, int copy);
  void add_product(int index, int copy);
  void add_alloc(int index, int copy);
  void add_control(int index, int copy);
  void add_number(int index);
  bool shows_joined(const Operation& op) const;
  void add_compute(int index, int copy);
  void views_of_later();
  void add_direct_store(int index, int copy);
  bool fills_resident(int tile) const;
  bool alias_of_load(const Operation& op) const;
  bool is_view(const Operation& op) const;
  bool is_fresh_writer(int index) const;

  /// A node for an op; `part` is appended to its name. Prices it by the first kind that the machine
  /// has a rule for.
  std::size_t add_node(int index, int copy, const std::string& part,
                       const std::vector<std::string>& kinds);
  std::string name_of(const Operation& op, int copy, const std::string& part);
  void results_at(int index, int copy, std::size_t node);
  KernelOp& at(std::size_t node) { return out_.kernel.ops[node]; }
  void set_tile(std::size_t node, const std::vector<std::int64_t>& shape, const Type& type);
  void set_registers(std::size_t node, int value);
  void add_traffic(std::size_t node, std::int64_t bytes);
  void apply_profile();

  // Edges: edges.cpp.
  void add_edges();
  void add_uses(int index);
  void set_flag_registers(std::size_t node);
  void add_buffer_edges(const Buffer& buffer);
  void connect(const Access& from, const Access& to, int distance, bool liveness_only);
  bool is_value(const Buffer& buffer);
  bool follows(int from, int to);
  std::string ring_text(const Buffer& buffer, int reader) const;
  void add_edge(std::size_t from, std::size_t to, int distance, bool accumulate = false,
                bool liveness_only = false);
  void release_readers();  // release.cpp
  bool is_async(std::size_t node) const;
  bool blocks(std::size_t from, std::size_t to) const;
  void add_holds();

  // A loop whose inner loop has its ops beside it: nest.cpp.
  int edge_distance(const Source& source, std::size_t to) const;
  void add_run_edges(const Buffer& buffer);
  [[noreturn]] void refuse_run(int op, const std::string& what) const;

  // What is there for the whole loop: resident.cpp.
  void add_residents();
  bool is_cheap(int value, int depth);
  int repeated(int value) const;

  // Chains that stream over a tile: chains.cpp.
  void find_chunks();
  void note_results();

  // Integers that are computed element by element: integer_chains.cpp.
  std::vector<bool> of_integers() const;
  void find_integer_chains();

  // An inner loop or a branch as one op: reduce.cpp.
  GivenCost reduce_loop(int index);
  GivenCost reduce_branches(int index, int copy);
  std::int64_t trips_of(const Operation& op);
  Cycle product(const Operation& op, Cycle cycles, std::int64_t trips) const;

  int copies_of(const Operation& op) const;
  int width_of(int copies) const;
  bool has_unit(std::string_view name) const;
  bool has_memory(std::string_view name) const;
  const Type& type(int value) const { return *m_.type_of(value); }
  bool is_tile(int value, TypeKind kind) const {
    const Type* t = m_.type_of(value);
    return t != nullptr && t->kind == kind;
  }
  std::span<const int> users(int value) const {
    const std::size_t v = static_cast<std::size_t>(value);
    return std::span(users_).subspan(users_begin_[v], users_begin_[v + 1] - users_begin_[v]);
  }
  void warn(const std::string& text);

  const Module& m_;
  const Machine& machine_;
  const LoopOptions& options_;
  const int loop_, nesting_;
  Split split_;
  Sources sources_;
  std::vector<bool> replicated_;
  std::set<int> numbers_;  ///< ops that make numbers which the loop keeps (carried_numbers.hpp)
  std::vector<Buffer> buffers_;
  std::unordered_map<int, std::size_t> buffer_at_;           // by root value
  std::unordered_map<const Type*, std::int64_t> registers_;  // a thread, per type
  std::unordered_map<const Type*, std::optional<std::int64_t>>
      elements_;                                // the same, known layouts
  std::unordered_set<int> cheap_;               // values that a slot makes itself
  std::unordered_map<int, GivenCost> reduced_;  // inner loops and branches, by op
  /// Ops of the module that use a value: users_[users_begin_[value]] up to the next value's.
  std::vector<int> users_;
  std::vector<std::size_t> users_begin_;
  LoopKernel out_;
  /// Per op and copy: the node that takes its operands, and the one that gives its results.
  std::map<std::pair<int, int>, std::size_t> first_, last_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> edge_index_;
  /// By nodes: is what one hands to the other only what a product in registers adds to?
  std::map<std::pair<std::size_t, std::size_t>, bool> only_added_to_;
  /// Per edge of the kernel: does it order accesses of a buffer and hand no value on?
  std::vector<bool> orders_;
  std::vector<std::vector<std::size_t>> value_users_;  ///< per node, before buffers' edges
  std::map<std::size_t, std::vector<bool>> reached_;   ///< per node that fills a ring: from there
  std::int64_t ring_steps_ = 0;
  bool ordering_ = false;                       ///< edges that are added now do
  std::unordered_map<std::string, int> names_;  ///< of ops, with the next number to append
};

/// An error that names an op of the kernel by its JSON pointer, with the op's place in the module.
InputError placed(const InputError& error, const Module& module,
                  const std::vector<NodeInfo>& nodes);

/// The one loop with tiles in a loop's body; throws InputError where a nest cannot have it:
/// nest.cpp.
int inner_of_nest(const Module& module, int loop);

/// Throws InputError where a loop's inner loops and branches would take long: reduce.cpp.
void check_reductions(const Module& module, int loop);

}  // namespace twill::ttgir
