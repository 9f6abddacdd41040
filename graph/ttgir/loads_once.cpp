#include "graph/ttgir/loads_once.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/pointer_roots.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostAlike = 20'000;    // values compared, of all loads
constexpr int kMostAlikeDepth = 64;   // from a pointer to what it is made of
constexpr std::size_t kMostOpen = 8;  // loads that later ones are compared with

class LoadsOnce {
 public:
  explicit LoadsOnce(const Module& module) : m_(module) {}

  std::optional<Module> run() {
    if (!m_.gaps.empty() || !stores_by_pointers()) return std::nullopt;
    for (const Block& block : m_.blocks) read(block);
    if (edits_.empty()) return std::nullopt;
    return parsed_edits(m_, std::move(edits_));
  }

 private:
  bool stores_by_pointers() const {
    return std::any_of(m_.ops.begin(), m_.ops.end(),
                       [](const Operation& op) { return op.name == "tt.store"; });
  }

  void read(const Block& block) {
    std::vector<int> open;  // loads since something may have been stored
    for (const int index : block.ops) {
      const Operation& op = m_.op(index);
      if (is_load(op)) {
        const auto same = std::find_if(open.begin(), open.end(),
                                       [&](int one) { return loads_the_same(one, index); });
        if (same != open.end() && is_stored_to(index))
          edits_.push_back({op.begin, op.end - op.begin,
                            "ttg.convert_layout " + written_name(m_, m_.op(*same).results[0]) +
                                " : " + std::string(m_.type_of(m_.op(*same).results[0])->text) +
                                " -> " + std::string(m_.type_of(op.results[0])->text)});
        else if (open.size() < kMostOpen)
          open.push_back(index);
      } else if (!keeps_memory(op)) {
        open.clear();
      }
    }
  }

  bool is_load(const Operation& op) const {
    if (op.name != "tt.load" || op.generic || op.results.size() != 1 || op.operands.empty() ||
        op.operands.size() > 3 || m_.attribute(op, "isVolatile").starts_with("true"))
      return false;
    const Type *made = m_.type_of(op.results[0]), *from = m_.type_of(op.operands[0]);
    return made != nullptr && from != nullptr && made->kind == TypeKind::tensor &&
           from->is_pointer();
  }

  static bool keeps_memory(const Operation& op) {
    if (!op.regions.empty() && op.name != "tt.reduce" && op.name != "tt.scan") return false;
    switch (class_of(op)) {
      case OpClass::elementwise: return op.name != "tt.elementwise_inline_asm";
      case OpClass::replicated: return op.name != "tt.call";
      case OpClass::load:
      case OpClass::reduction:
      case OpClass::layout:
      case OpClass::view:
      case OpClass::mma:
      case OpClass::tmem_load:
      case OpClass::tmem_store:
      case OpClass::tmem_alloc:
      case OpClass::local_load:
      case OpClass::local_store:
      case OpClass::local_alloc: return true;
      default: return false;
    }
  }

  bool loads_the_same(int one, int other) {
    const Operation &a = m_.op(one), &b = m_.op(other);
    if (a.operands.size() != b.operands.size()) return false;
    for (std::size_t k = 0; k < a.operands.size(); ++k)
      if (!alike(a.operands[k], b.operands[k])) return false;
    return same_form(*m_.type_of(a.results[0]), *m_.type_of(b.results[0]));
  }

  static bool same_form(const Type& a, const Type& b) {
    return a.kind == b.kind && a.shape == b.shape && a.element == b.element && a.bits == b.bits;
  }

  /// Is the loaded argument one that the function stores to?
  bool is_stored_to(int load) {
    int function = load;
    while (function != kNone && m_.op(function).name != "tt.func") function = m_.parent(function);
    if (function == kNone || m_.op(function).regions.empty()) return false;
    const auto& blocks = m_.regions[at(m_.op(function).regions[0])].blocks;
    if (blocks.empty()) return false;
    int pointer = m_.op(load).operands[0];
    for (int depth = 0; depth < kMostAlikeDepth; ++depth) {
      const Value& v = m_.value(pointer);
      if (v.op == kNone) {
        if (v.block != blocks[0]) return false;
        const auto [known, fresh] = stored_.try_emplace({function, v.index}, false);
        if (fresh) known->second = !never_stored(m_, function, v.index);
        return known->second;
      }
      const Operation& op = m_.op(v.op);
      if (op.operands.empty() || !looks_through(op.name)) return false;
      pointer = op.operands[0];
    }
    return false;
  }

  static bool looks_through(std::string_view name) {
    static constexpr std::string_view kViews[] = {"tt.splat", "tt.broadcast", "tt.expand_dims",
                                                  "tt.addptr", "ttg.convert_layout"};
    return std::find(std::begin(kViews), std::end(kViews), name) != std::end(kViews);
  }

  /// Are two values the same, whatever layouts they have?
  bool alike(int a, int b, int depth = 0) {
    a = without_layout(a);
    b = without_layout(b);
    if (a == b) return true;
    const int one = m_.value(a).op, other = m_.value(b).op;
    const Type *first = m_.type_of(a), *second = m_.type_of(b);
    if (one == kNone || other == kNone || depth > kMostAlikeDepth || ++compared_ > kMostAlike ||
        first == nullptr || second == nullptr || first->kind != TypeKind::tensor ||
        !same_form(*first, *second))
      return false;
    const Operation &x = m_.op(one), &y = m_.op(other);
    if (x.name != y.name || x.operands.size() != y.operands.size() || x.results.size() != 1 ||
        y.results.size() != 1 || x.literal != y.literal || !makes_places(x) || !makes_places(y) ||
        !same_attributes(x, y))
      return false;
    if (x.name == "arith.cmpi" && (!predicate(m_, x) || predicate(m_, x) != predicate(m_, y)))
      return false;
    for (std::size_t k = 0; k < x.operands.size(); ++k)
      if (!alike(x.operands[k], y.operands[k], depth + 1)) return false;
    return true;
  }

  int without_layout(int value) const {
    for (int depth = 0; depth < kMostAlikeDepth; ++depth) {
      const int made = m_.value(value).op;
      if (made == kNone || m_.op(made).name != "ttg.convert_layout" ||
          m_.op(made).operands.size() != 1)
        break;
      value = m_.op(made).operands[0];
    }
    return value;
  }

  static bool makes_places(const Operation& op) {
    static constexpr std::string_view kMakes[] = {
        "arith.constant", "arith.addi",  "arith.subi",  "arith.muli",   "arith.divsi",
        "arith.remsi",    "arith.minsi", "arith.maxsi", "arith.andi",   "arith.ori",
        "arith.cmpi",     "arith.extsi", "tt.splat",    "tt.broadcast", "tt.expand_dims",
        "tt.make_range",  "tt.addptr"};
    return !op.generic && op.regions.empty() && op.properties.empty() &&
           std::find(std::begin(kMakes), std::end(kMakes), op.name) != std::end(kMakes);
  }

  static bool same_attributes(const Operation& a, const Operation& b) {
    return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
                      b.attributes.end(), [](const Attribute& one, const Attribute& other) {
                        return one.name == other.name && one.value == other.value;
                      });
  }

  const Module& m_;
  std::map<std::pair<int, int>, bool> stored_;  ///< by function and argument
  std::vector<TextEdit> edits_;
  int compared_ = 0;
};

}  // namespace

std::optional<Module> with_loads_once(const Module& module) {
  return LoadsOnce(module).run();
}

}  // namespace twill::ttgir
