#include "graph/ttgir/loads_ahead.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/pure_ops.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMostInFront = 200;     // ops of a side that go in front of the branch
constexpr std::size_t kLongestAhead = 4'096;  // bytes of one of these

class LoadsAhead {
 public:
  explicit LoadsAhead(const Module& module) : m_(module) {}

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    for (const auto& value : m_.values) ++named_[value.name];
    for (std::size_t op = 0; op < m_.ops.size(); ++op) read(static_cast<int>(op));
    if (edits_.empty() || failed_) return std::nullopt;
    return parsed_edits(m_, std::move(edits_));
  }

 private:
  void read(int branch) {
    const Operation& op = m_.op(branch);
    const int loop = m_.parent(branch);
    if (op.name != "scf.if" || op.generic || op.operands.size() != 1 || loop == kNone ||
        m_.op(loop).name != "scf.for")
      return;
    const Type* const flag = m_.type_of(op.operands[0]);
    if (flag == nullptr || flag->kind != TypeKind::scalar || flag->element != "i1") return;
    std::string lines, mask = written_name(m_, op.operands[0]);
    bool any = false;
    for (std::size_t side = 0; side < op.regions.size() && side < 2; ++side) {
      const auto& blocks = m_.regions[at(op.regions[side])].blocks;
      if (blocks.size() != 1 || !m_.block(blocks[0]).label.empty()) continue;
      const std::vector<int> ahead = needed(m_.block(blocks[0]), branch);
      if (ahead.empty()) continue;
      if (side == 1) {
        const std::string yes = fresh(), no = fresh();
        lines += yes + " = arith.constant true\n" + no + " = arith.xori " + mask + ", " + yes +
                 " : i1\n";
        mask = no;
      }
      move(m_.block(blocks[0]), ahead, mask, lines);
      any = true;
    }
    if (any) edits_.push_back({line_of(branch), 0, lines});
  }

  /// The loads of a side with all in it that they are made of, in their order; none where one of
  /// them cannot be done where the side is not taken.
  std::vector<int> needed(const Block& side, int branch) const {
    std::set<int> wanted;
    for (const int index : side.ops) {
      const Operation& op = m_.op(index);
      const bool reduces = op.name == "tt.reduce" || op.name == "tt.scan";
      if (!op.regions.empty() && !reduces) return {};
      if (is_load(op)) wanted.insert(index);
      // (What it stores may be loaded behind that.)
      if (!is_load(op) && !is_harmless(op) && !reduces && class_of(op) != OpClass::mma &&
          op.name != "ttg.local_alloc" && op.name != "scf.yield")
        break;
    }
    if (wanted.empty()) return {};
    for (auto op = side.ops.rbegin(); op != side.ops.rend(); ++op) {
      if (!wanted.contains(*op)) continue;
      for (const int operand : m_.op(*op).operands)
        if (!is_there_before(m_, operand, branch)) wanted.insert(m_.value(operand).op);
    }
    // A load's tile goes to shared memory where it is loaded.
    for (const int index : side.ops) {
      const Operation& op = m_.op(index);
      if (op.name == "ttg.local_alloc" && op.operands.size() == 1 && op.results.size() == 1 &&
          wanted.contains(m_.value(op.operands[0]).op))
        wanted.insert(index);
    }
    std::vector<int> all;
    for (const int index : side.ops) {
      if (!wanted.contains(index)) continue;
      const Operation& op = m_.op(index);
      if (op.end - op.begin > kLongestAhead ||
          (!can_be_masked(op) && !is_harmless(op) && op.name != "ttg.local_alloc"))
        return {};
      all.push_back(index);
    }
    return all.size() > kMostInFront || wanted.size() != all.size() ? std::vector<int>{} : all;
  }

  static bool is_load(const Operation& op) { return op.name == "tt.load"; }

  bool can_be_masked(const Operation& op) const {
    if (!is_load(op) || op.generic || op.results.size() != 1 || op.operands.empty() ||
        op.operands.size() > 3 ||
        m_.attribute(op, "isVolatile").find("true") != std::string_view::npos)
      return false;
    const Type *const type = m_.type_of(op.results[0]), *const from = m_.type_of(op.operands[0]);
    return type != nullptr && type->kind == TypeKind::tensor && !type->is_pointer() &&
           from != nullptr && from->is_pointer() && from->kind == TypeKind::tensor &&
           !mask_type(*from).empty() && !nothing_of(*type).empty();
  }

  bool is_harmless(const Operation& op) const {
    return only_computes(op) && !op.generic &&
           (!divides_integers(op) || (op.operands.size() == 2 && is_over_zero(m_, op.operands[1])));
  }

  // ---- The text.

  /// The number 0 of a tile's elements, as arith.constant has it; "" = it is not known.
  static std::string nothing_of(const Type& type) {
    if (type.element.starts_with('f') || type.element == "bf16") return "dense<0.000000e+00>";
    return type.element == "i32" || type.element == "i8" || type.element == "i16" ? "dense<0>" : "";
  }

  /// (Names that no printer makes.)
  std::string fresh() { return "%ahead." + std::to_string(names_++); }

  std::size_t line_of(int op) {
    const auto begin = line_begin(m_, op);
    failed_ = failed_ || !begin;
    return begin.value_or(0);
  }

  void move(const Block& side, const std::vector<int>& ahead, const std::string& mask,
            std::string& lines) {
    std::map<int, std::string> names;  // of values that have others now
    for (const int index : ahead) {
      const Operation& op = m_.op(index);
      const int result = op.results[0];
      const std::string made =
          can_be_masked(op) ? masked(op, names, mask, lines) : op_text(m_, index, names);
      // (In another region a value may have the same name.)
      std::string name = "%" + std::string(m_.value(result).name);
      if (named_.at(m_.value(result).name) > 1) {
        name += ".ahead." + std::to_string(names_++);
        names[result] = name;
      }
      lines += name + " = " + made + "\n";
      const std::size_t begin = line_of(index);
      edits_.push_back({begin, op.end - begin, ""});
    }
    for (const int index : side.ops) {
      const Operation& op = m_.op(index);
      if (std::find(ahead.begin(), ahead.end(), index) != ahead.end()) continue;
      if (std::any_of(op.operands.begin(), op.operands.end(),
                      [&](int operand) { return names.contains(operand); }))
        edits_.push_back({op.begin, op.end - op.begin, op_text(m_, index, names)});
    }
  }

  /// The text of a load where the condition is a mask, too.
  std::string masked(const Operation& op, const std::map<int, std::string>& names,
                     const std::string& flag, std::string& lines) {
    const Type& type = *m_.type_of(op.results[0]);
    const auto name_of = [&](int value) {
      const auto found = names.find(value);
      return found == names.end() ? written_name(m_, value) : found->second;
    };
    const std::string as_mask = mask_type(*m_.type_of(op.operands[0]));
    std::string mask = fresh();
    lines += mask + " = tt.splat " + flag + " : i1 -> " + as_mask + "\n";
    if (op.operands.size() > 1) {
      const std::string both = fresh();
      lines +=
          both + " = arith.andi " + name_of(op.operands[1]) + ", " + mask + " : " + as_mask + "\n";
      mask = both;
    }
    std::string other;
    if (op.operands.size() > 2) {
      other = name_of(op.operands[2]);
    } else {
      other = fresh();
      lines +=
          other + " = arith.constant " + nothing_of(type) + " : " + std::string(type.text) + "\n";
    }
    return "tt.load " + name_of(op.operands[0]) + ", " + mask + ", " + other + " : " +
           std::string(m_.type_of(op.operands[0])->text);
  }

  const Module& m_;
  std::map<std::string_view, int> named_;  ///< values by name
  std::vector<TextEdit> edits_;
  int names_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Module> with_loads_ahead(const Module& module) {
  return LoadsAhead(module).run();
}

}  // namespace twill::ttgir
