#include "graph/ttgir/loops.hpp"

#include <algorithm>
#include <tuple>

#include "graph/error.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

/// @f of the custom syntax, sym_name = "f" of the generic one.
std::string function_name(const Module& module, const Operation& op) {
  if (!op.symbol.empty()) return std::string(op.symbol);
  const std::string_view name = module.attribute(op, "sym_name");
  return name.size() < 2 ? "" : std::string(name.substr(1, name.size() - 2));
}

constexpr std::int64_t kMaxMacs = 1'000'000'000'000'000'000;  // counts no further

class Lister {
 public:
  explicit Lister(const Module& module) : m_(module) {}

  std::vector<LoopInfo> run() {
    for (std::size_t i = 0; i < m_.ops.size(); ++i)
      if (m_.parent(static_cast<int>(i)) == kNone) visit(static_cast<int>(i), {}, {});
    for (std::size_t l = 0; l < loops_.size(); ++l)
      for (const std::size_t around : around_[l])
        loops_[around].innermost = loops_[around].innermost && !loops_[l].tiles;
    return std::move(loops_);
  }

 private:
  void visit(int index, std::vector<std::size_t> around, const std::string& function) {
    const Operation& op = m_.op(index);
    const std::string name = op.name.ends_with(".func") ? function_name(m_, op) : function;
    for (const std::size_t l : around) ++loops_[l].ops;
    if (const auto product = product_of(m_, op))
      for (const std::size_t l : around)
        loops_[l].macs = std::min(loops_[l].macs + product->macs(), kMaxMacs);
    if (has_tiles(op))
      for (const std::size_t l : around) {
        loops_[l].tiles = true;
        ++loops_[l].tile_ops;
      }
    if (op.name == "scf.for") {
      around_.push_back(around);
      LoopInfo info;
      info.op = index;
      info.function = name;
      info.depth = static_cast<int>(around.size());
      bool found = false;
      m_.attribute(op, "tt.warp_specialize", &found);
      info.warp_specialize = found;
      around.push_back(loops_.size());
      loops_.push_back(info);
    }
    for (const int region : op.regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : m_.block(block).ops) visit(inner, around, name);
  }

  bool has_tiles(const Operation& op) const {
    const auto is_tile = [&](int value) {
      const Type* type = m_.type_of(value);
      return type != nullptr && (type->kind == TypeKind::tensor || type->kind == TypeKind::memdesc);
    };
    return std::any_of(op.results.begin(), op.results.end(), is_tile) ||
           std::any_of(op.operands.begin(), op.operands.end(), is_tile);
  }

  const Module& m_;
  std::vector<LoopInfo> loops_;
  std::vector<std::vector<std::size_t>> around_;  // per loop, the loops that it is in
};

}  // namespace

std::optional<Product> product_of(const Module& module, const Operation& op) {
  if (class_of(op) != OpClass::mma) return std::nullopt;
  std::vector<const Type*> tiles;
  for (const int value : op.operands) {
    const Type* type = module.type_of(value);
    if (type != nullptr && (type->kind == TypeKind::tensor || type->kind == TypeKind::memdesc))
      tiles.push_back(type);
  }
  if (tiles.size() < 2 || tiles[0]->shape.size() < 2 || tiles[1]->shape.size() < 2)
    return std::nullopt;
  const auto& a = tiles[0]->shape;
  const auto& b = tiles[1]->shape;
  Product product{a[a.size() - 2], b.back(), a.back()};
  const bool sums = tiles.size() > 2 && !tiles[2]->shape.empty();
  for (const std::int64_t extent :
       {product.m, product.n, product.k, sums ? tiles[2]->shape.back() : 0})
    if (extent > kMaxExtent)
      throw InputError(module.source, Module::place(op), std::to_string(extent),
                       "an extent of a product is at most " + std::to_string(kMaxExtent));
  return product;
}

int function_of(const Module& module, int op) {
  int function = op;
  for (int around = module.parent(op); around != kNone; around = module.parent(around))
    if (module.op(around).name.ends_with(".func")) function = around;
  return function;
}

std::vector<LoopInfo> list_loops(const Module& module) {
  return Lister(module).run();
}

std::size_t choose_loop(const Module& module, const std::vector<LoopInfo>& loops,
                        std::optional<int> number) {
  if (loops.empty()) {
    for (const Operation& op : module.ops)
      if (op.name == "scf.while")
        throw InputError(module.source, Module::place(op), "scf.while and no scf.for",
                         "must have a counted loop: where this one ends is known only when an "
                         "iteration has been executed, so that none can begin before");
    throw InputError(module.source, "line 1, column 1", "no scf.for", "must have a loop");
  }
  if (number) {
    if (*number < 0 || static_cast<std::size_t>(*number) >= loops.size())
      throw InputError(
          "command line", "--loop", std::to_string(*number),
          "must be a loop from 0 to " + std::to_string(loops.size() - 1) + " (see --list-loops)");
    return static_cast<std::size_t>(*number);
  }
  std::size_t best = 0;
  const auto key = [&](std::size_t l) {
    return std::tuple(loops[l].tiles, loops[l].warp_specialize,
                      loops[l].innermost || loops[l].warp_specialize, loops[l].macs,
                      loops[l].tile_ops);
  };
  for (std::size_t l = 1; l < loops.size(); ++l)
    if (key(l) > key(best)) best = l;
  return best;
}

}  // namespace twill::ttgir
