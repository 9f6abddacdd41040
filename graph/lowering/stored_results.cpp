#include "graph/lowering/stored_results.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "graph/index.hpp"
#include "graph/io/json_text.hpp"

namespace twill {
namespace {

constexpr const char* kKind = "local_alloc";  // registers to shared memory, as kernel files say it
constexpr const char* kSuffix = "_stored";
constexpr std::string_view kChannel = "SMEM";  // what passes through shared memory, likewise

[[noreturn]] void refuse(const std::string& name, const std::string& rule) {
  throw InputError("options", "stored", quote(name), rule);
}

/// A value of the loop more, behind those of the ops: what comes after moves up by one.
void insert_value(meaning::Meaning& meaning, int place, meaning::Value value) {
  const auto moved = [&](meaning::Operand& operand) {
    if (operand.value >= place) ++operand.value;
  };
  for (meaning::Value& one : meaning.values)
    for (meaning::Operand& operand : one.operands) moved(operand);
  for (meaning::Initial& one : meaning.initial) {
    if (one.value >= place) ++one.value;
    moved(one.what);
  }
  meaning.values.insert(meaning.values.begin() + place, std::move(value));
  ++meaning.after_begin;
}

std::size_t op_named(const Kernel& kernel, const std::string& name) {
  const auto found = std::find_if(kernel.ops.begin(), kernel.ops.end(),
                                  [&](const KernelOp& op) { return op.id == name; });
  if (found == kernel.ops.end()) refuse(name, "must be an op of the kernel");
  return static_cast<std::size_t>(found - kernel.ops.begin());
}

class Store {
 public:
  Store(Kernel& kernel, std::size_t op)
      : kernel_(kernel),
        meaning_(*kernel.meaning),
        op_(op),
        value_(meaning_.loop_begin + static_cast<int>(op)),
        name_(kernel.ops[op].id) {}

  /// Why it cannot be stored; "" = it can.
  std::string no() const {
    const KernelOp& op = kernel_.ops[op_];
    if (in_chunk(op_)) return "must not be of a chunk";
    const meaning::Value& made = meaning_.values[at(value_)];
    if (op.alias_of || !op.tile || made.shape.size() != 2) return "must be a matrix";
    if (in_memory(op_)) return "lies in memory already: nothing is to store";
    for (const KernelOp& other : kernel_.ops)
      if (other.id == name_ + kSuffix) return "has " + quote(other.id) + " already";
    for (const KernelEdge& edge : kernel_.edges)
      if (is_read(edge)) return "";
    return "no matrix product reads it as a factor";
  }

  void run() {
    const KernelOp& op = kernel_.ops[op_];
    const meaning::Value& made = meaning_.values[at(value_)];
    KernelOp stored;
    stored.id = name_ + kSuffix;
    stored.kind = kKind;
    stored.tile = Tile{made.shape, op.tile->type, op.tile->type};
    stored.width = op.width;
    add(std::move(stored), made.type);
  }

 private:
  /// A tile that was loaded, or stored already; a copy or a view of one, too.
  bool in_memory(std::size_t op, int steps = 0) const {
    const meaning::Value& made = meaning_.values[at(meaning_.loop_begin) + op];
    if (kernel_.ops[op].kind == kKind || made.function == meaning::Function::load) return true;
    if (made.function != meaning::Function::copy && made.function != meaning::Function::transpose)
      return false;
    const int source = made.operands[0].value - meaning_.loop_begin;
    return steps < static_cast<int>(kernel_.ops.size()) && source >= 0 &&
           at(source) < kernel_.ops.size() && in_memory(at(source), steps + 1);
  }

  bool in_chunk(std::size_t op) const {
    return std::any_of(kernel_.chunks.begin(), kernel_.chunks.end(), [&](const Chunk& chunk) {
      return std::find(chunk.ops.begin(), chunk.ops.end(), op) != chunk.ops.end();
    });
  }

  /// By a matrix product that has it as a factor. (What it adds to is in registers, or in tensor
  /// memory.)
  bool is_read(const KernelEdge& edge) const {
    if (edge.from != op_ || edge.order || in_chunk(edge.to)) return false;
    const meaning::Value& reader = meaning_.values[at(meaning_.loop_begin) + edge.to];
    return reader.function == meaning::Function::product &&
           std::none_of(reader.operands.begin() + 2, reader.operands.end(),
                        [&](const meaning::Operand& added) { return added.value == value_; });
  }

  void add(KernelOp stored, const std::string& type) {
    const std::size_t place = kernel_.ops.size();
    const std::int64_t bytes =
        stored.tile->shape[0] * stored.tile->shape[1] * element_bits(stored.tile->type) / 8;
    std::set<std::size_t> readers;
    bool carried = false;
    for (KernelEdge& edge : kernel_.edges) {
      if (!is_read(edge)) continue;
      readers.insert(edge.to);
      carried = carried || edge.distance > 0;
      edge.from = place;
      edge.blocking = true;
      edge.delay.reset();
    }
    for (const std::size_t reader : readers)
      for (auto& [channel, moved] : kernel_.ops[reader].traffic)
        if (channel == kChannel) moved += bytes;
    KernelEdge edge;
    edge.from = op_;
    edge.to = place;
    kernel_.edges.push_back(edge);
    add_meaning(stored, type, readers, static_cast<int>(place), carried);
    kernel_.ops.push_back(std::move(stored));
  }

  void add_meaning(const KernelOp& stored, const std::string& type,
                   const std::set<std::size_t>& readers, int place, bool carried) {
    const int value = meaning_.loop_begin + place;
    meaning::Value copy;
    copy.id = stored.id;
    copy.tile = copy.shape = stored.tile->shape;
    copy.type = type;
    copy.function = meaning::Function::copy;
    meaning::Operand source;
    source.value = value_;
    copy.operands = {source};
    insert_value(meaning_, value, std::move(copy));
    bool still_carried = false;  // the result itself, by another reader
    for (int v = meaning_.loop_begin; v < meaning_.after_begin; ++v) {
      meaning::Value& user = meaning_.values[at(v)];
      const bool reads = std::any_of(readers.begin(), readers.end(), [&](std::size_t reader) {
        const std::string& id = kernel_.ops[reader].id;
        return user.part_of == id || (user.part_of.empty() && user.id == id);
      });
      for (meaning::Operand& operand : user.operands) {
        if (operand.value != value_) continue;
        if (reads)
          operand.value = value;
        else
          still_carried = still_carried || operand.distance > 0;
      }
    }
    if (!carried) return;
    for (std::size_t k = 0; k < meaning_.initial.size(); ++k) {
      if (meaning_.initial[k].value != value_) continue;
      meaning::Initial same = meaning_.initial[k];
      same.value = value;
      if (still_carried)
        meaning_.initial.push_back(same);
      else
        meaning_.initial[k] = same;
      return;
    }
  }

  Kernel& kernel_;
  meaning::Meaning& meaning_;
  std::size_t op_;
  int value_;
  std::string name_;
};

}  // namespace

void store_results(Kernel& kernel, const std::vector<std::string>& names) {
  if (names.empty()) return;
  if (!kernel.meaning)
    refuse(names.front(), "the kernel does not say what its ops compute, so not what reads it");
  for (const std::string& name : names) {
    Store store(kernel, op_named(kernel, name));
    if (const std::string no = store.no(); !no.empty()) refuse(name, no);
    store.run();
  }
}

}  // namespace twill
