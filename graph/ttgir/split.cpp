#include "graph/ttgir/split.hpp"

#include <charconv>
#include <optional>
#include <unordered_map>

#include "graph/error.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kMinRows = 64;  // of a product on the Tensor Core of Hopper and Blackwell

constexpr int kMaxSeeds = 256;  // products to start from

struct Refusal {
  int op = kNone;
  std::string reason;
};

/// "array<i32: 1, 0>" -> {1, 0}.
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> values;
  std::size_t at = text.find(':');
  while (at != std::string_view::npos) {
    text.remove_prefix(at + 1);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    int value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc())
      values.push_back(value);
    at = text.find(',');
  }
  return values;
}

class Splitter {
 public:
  Splitter(const Module& module, int loop, int factor)
      : m_(module), loop_(loop), users_(module.values.size()), inside_(module.ops.size(), false) {
    split_.factor = factor;
    for (const int region : m_.op(loop).regions) collect(region);
    const Block& body =
        m_.block(m_.regions[static_cast<std::size_t>(m_.op(loop).regions[0])].blocks[0]);
    if (body.ops.empty()) return;
    yield_ = body.ops.back();
    const Operation& yield = m_.op(yield_);
    for (std::size_t k = 0; k < yield.operands.size() && k + 1 < body.arguments.size(); ++k) {
      carried_.emplace(yield.operands[k], body.arguments[k + 1]);
      carried_.emplace(body.arguments[k + 1], yield.operands[k]);
    }
  }

  std::optional<Refusal> try_from(int value) {
    split_.dimension.assign(m_.values.size(), -1);
    refusal_.reset();
    work_.clear();
    set(value, 0, m_.value(value).op);
    while (!work_.empty() && !refusal_) {
      const int next = work_.back();
      work_.pop_back();
      const Value& v = m_.value(next);
      if (v.op != kNone && inside_[static_cast<std::size_t>(v.op)]) apply(v.op);
      for (const int user : users_[static_cast<std::size_t>(next)])
        if (!refusal_) apply(user);
      carry(next);
    }
    return refusal_;
  }

  const std::vector<int>& ops() const { return ops_; }
  Split take() { return std::move(split_); }

 private:
  void collect(int region) {
    for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
      for (const int op : m_.block(block).ops) {
        ops_.push_back(op);
        inside_[static_cast<std::size_t>(op)] = true;
        for (const int value : m_.op(op).operands)
          users_[static_cast<std::size_t>(value)].push_back(op);
        if (class_of(m_.op(op)) == OpClass::reduction) continue;
        for (const int inner : m_.op(op).regions) collect(inner);
      }
  }

  void refuse(int op, const std::string& reason) {
    if (!refusal_) refusal_ = Refusal{op, reason};
  }

  bool is_tile(int value) const {
    const Type* type = m_.type_of(value);
    return type != nullptr && (type->kind == TypeKind::tensor || type->kind == TypeKind::memdesc);
  }
  std::size_t rank(int value) const {
    const Type* type = m_.type_of(value);
    return type == nullptr ? 0 : type->shape.size();
  }

  void set(int value, int dimension, int because) {
    if (!is_tile(value) || refusal_) return;
    int& now = split_.dimension[static_cast<std::size_t>(value)];
    if (now == dimension) return;
    if (now != -1) return refuse(because, "a value would be split along two dimensions");
    const auto& shape = m_.type_of(value)->shape;
    if (dimension < 0 || dimension >= static_cast<int>(shape.size()) ||
        shape[static_cast<std::size_t>(dimension)] % split_.factor != 0)
      return refuse(because, "an extent is not a multiple of " + std::to_string(split_.factor));
    now = dimension;
    work_.push_back(value);
  }

  /// Loop variables: argument <-> what is yielded for it.
  void carry(int value) {
    const auto [begin, end] = carried_.equal_range(value);
    for (auto at = begin; at != end; ++at) set(at->second, split_.of(value), yield_);
  }

  void apply(int index) {
    const Operation& op = m_.op(index);
    std::vector<int> tiles;
    for (const int value : op.operands)
      if (is_tile(value)) tiles.push_back(value);
    for (const int value : op.results)
      if (is_tile(value)) tiles.push_back(value);
    switch (class_of(op)) {
      case OpClass::mma: return product(index, op);
      case OpClass::reduction: return reduce(index, op);
      case OpClass::view: return view(index, op);
      case OpClass::load: {
        for (const int value : op.results) same(index, {value});
        if (op.name == "tt.load") same(index, tiles);
        return;
      }
      case OpClass::control: return control(index, op);
      case OpClass::terminator: return yield(index, op);
      case OpClass::replicated: return;
      case OpClass::layout:
        if (op.name != "ttg.convert_layout" && any(tiles))
          refuse(index, "it moves elements across the split");
        return same(index, tiles);
      case OpClass::unknown:
        if (any(tiles)) refuse(index, "an op that is not known cannot be split");
        return;
      default: return same(index, tiles);
    }
  }

  bool any(const std::vector<int>& values) const {
    for (const int value : values)
      if (split_.of(value) >= 0) return true;
    return false;
  }

  /// All of one shape: one dimension for all.
  void same(int index, const std::vector<int>& values) {
    for (const int value : values) {
      if (split_.of(value) < 0) continue;
      const int dimension = split_.of(value);
      for (const int other : values) {
        if (rank(other) != rank(value)) return refuse(index, "its tiles have different ranks");
        set(other, dimension, index);
      }
      return;
    }
  }

  void product(int index, const Operation& op) {
    std::vector<int> tiles;
    for (const int value : op.operands)
      if (is_tile(value)) tiles.push_back(value);
    if (tiles.size() < 3) return;
    std::vector<int> results = {tiles[2]};
    for (const int value : op.results)
      if (is_tile(value)) results.push_back(value);
    const int a = tiles[0], b = tiles[1];
    if (rank(a) < 2 || rank(b) < 2)
      return refuse(index, "its tiles have fewer than two dimensions");
    if (split_.of(a) == 1 || split_.of(b) == 0)
      return refuse(index, "the product sums over the split dimension and would need a combiner");
    if (tiles.size() > 3 && any(tiles)) return refuse(index, "a scaled product cannot be split");
    same(index, results);
    if (split_.of(a) == 0)
      for (const int value : results) set(value, 0, index);
    if (split_.of(b) == 1)
      for (const int value : results) set(value, 1, index);
    if (split_.of(results[0]) == 0) {
      set(a, 0, index);
      if (m_.type_of(a)->shape[0] / split_.factor < kMinRows)
        refuse(index, "a product needs " + std::to_string(kMinRows) + " rows");
      if (split_.of(b) >= 0) refuse(index, "both operands would be split");
    }
    if (split_.of(results[0]) == 1) {
      set(b, 1, index);
      if (split_.of(a) >= 0) refuse(index, "both operands would be split");
    }
  }

  void reduce(int index, const Operation& op) {
    if (op.operands.empty() || op.results.empty() || op.name == "tt.histogram") return;
    const int axis = axis_of(m_, op);
    same(index, op.operands);
    const bool scan = op.name != "tt.reduce";
    const int in = split_.of(op.operands[0]);
    if (in >= 0) {
      if (in == axis)
        return refuse(index, "it reduces over the split dimension and would need a combiner");
      for (const int value : op.results) set(value, scan || in < axis ? in : in - 1, index);
    }
    for (const int value : op.results) {
      const int out = split_.of(value);
      if (out < 0) continue;
      for (const int operand : op.operands) set(operand, scan || out < axis ? out : out + 1, index);
    }
  }

  void view(int index, const Operation& op) {
    if (op.operands.empty() || op.results.empty() || !is_tile(op.operands[0])) return;
    const int from = op.operands[0], to = op.results[0];
    const int in = split_.of(from), out = split_.of(to);
    if (in < 0 && out < 0) return;
    const bool same_rank = is_tile(to) && rank(from) == rank(to);
    if (op.name == "tt.expand_dims") {
      const int axis = axis_of(m_, op);
      if (in >= 0) set(to, in < axis ? in : in + 1, index);
      if (out == axis) return refuse(index, "the split dimension has one row");
      if (out >= 0) set(from, out < axis ? out : out - 1, index);
    } else if (op.name == "tt.broadcast" && same_rank) {
      if (in >= 0) set(to, in, index);
      // A row repeated along the split dimension is shared.
      if (out >= 0 && m_.type_of(from)->shape[static_cast<std::size_t>(out)] != 1)
        set(from, out, index);
    } else if (op.name == "tt.trans" || op.name == "ttg.memdesc_trans") {
      const std::vector<int> order = numbers_in(m_.attribute(op, "order"));
      for (int k = 0; k < static_cast<int>(order.size()); ++k) {
        if (in >= 0 && order[static_cast<std::size_t>(k)] == in) set(to, k, index);
        if (out == k) set(from, order[static_cast<std::size_t>(k)], index);
      }
    } else if (op.name == "ttg.memdesc_index") {
      if (in == 0) return refuse(index, "a ring of buffers cannot be split");
      if (in > 0) set(to, in - 1, index);
      if (out >= 0) set(from, out + 1, index);
    } else if (op.name == "arith.bitcast" || op.name == "tt.bitcast") {
      same(index, {from, to});
    } else {
      refuse(index, "it rearranges elements across the split");
    }
  }

  /// What a branch yields is split as the scf.if's result is.
  void control(int index, const Operation& op) {
    if (op.name != "scf.if") {
      for (const int value : op.results)
        if (split_.of(value) >= 0) refuse(index, "an inner loop cannot be split");
      return;
    }
    for (const int region : op.regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks) {
        if (m_.block(block).ops.empty()) continue;
        const Operation& last = m_.op(m_.block(block).ops.back());
        for (std::size_t k = 0; k < op.results.size() && k < last.operands.size(); ++k)
          if (split_.of(op.results[k]) >= 0) set(last.operands[k], split_.of(op.results[k]), index);
      }
  }

  void yield(int index, const Operation& op) {
    const int parent = m_.parent(index);
    if (parent == loop_ || parent == kNone) return;
    if (m_.op(parent).name == "scf.for") {
      if (any(op.operands)) refuse(parent, "an inner loop cannot be split");
      return;
    }
    const Operation& around = m_.op(parent);
    for (std::size_t k = 0; k < op.operands.size() && k < around.results.size(); ++k)
      if (split_.of(op.operands[k]) >= 0) set(around.results[k], split_.of(op.operands[k]), index);
  }

  const Module& m_;
  const int loop_;
  Split split_;
  std::vector<std::vector<int>> users_;
  std::vector<bool> inside_;
  std::vector<int> ops_, work_;
  std::unordered_multimap<int, int> carried_;  // loop variable <-> what is yielded for it
  int yield_ = kNone;
  std::optional<Refusal> refusal_;
};

}  // namespace

std::vector<std::int64_t> Split::shape(const Module& module, int value) const {
  std::vector<std::int64_t> extents = module.type_of(value)->shape;
  if (const int d = of(value); d >= 0) extents[static_cast<std::size_t>(d)] /= factor;
  return extents;
}

Split split_loop(const Module& module, int loop, int factor) {
  Split none;
  none.factor = 1;
  if (factor == 1) return none;
  Splitter splitter(module, loop, factor);
  std::optional<Refusal> first;
  int seeds = 0;
  for (const int index : splitter.ops()) {
    const Operation& op = module.op(index);
    if (class_of(op) != OpClass::mma) continue;
    // Seed: the rows of its result, which in tensor memory is its third tile.
    int seed = op.results.empty() ? kNone : op.results[0];
    if (is_tensor_memory_mma(op) && op.operands.size() > 2) seed = op.operands[2];
    if (seed == kNone) continue;
    if (++seeds > kMaxSeeds) break;
    const auto refusal = splitter.try_from(seed);
    if (!refusal) return splitter.take();
    if (!first) first = refusal;
  }
  if (!first)
    throw InputError(module.source, Module::place(module.op(loop)), "a loop without products",
                     "sub-tiling splits along M of a product");
  const Operation& op = module.op(first->op);
  throw InputError(
      module.source, Module::place(op), std::string(op.name),
      "the loop cannot be sub-tiled " + std::to_string(factor) + " ways along M: " + first->reason);
}

}  // namespace twill::ttgir
