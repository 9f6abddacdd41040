#include "graph/ttgir/loads_ahead.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
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
      if (!is_load(op) && !only_computes(op) && !reduces && class_of(op) != OpClass::mma &&
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
          (!can_be_masked(op) && !only_computes(op) && op.name != "ttg.local_alloc"))
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
           !mask_type(*type).empty() && !nothing_of(*type).empty();
  }

  bool only_computes(const Operation& op) const {
    static constexpr std::string_view kMakes[] = {
        "tt.splat",  "tt.broadcast",      "tt.expand_dims",    "tt.make_range",
        "tt.addptr", "tt.get_program_id", "ttg.convert_layout"};
    if (op.results.size() != 1 || !op.regions.empty() || op.generic) return false;
    if (op.name.starts_with("arith.") && op.name.ends_with("i") &&
        (op.name.find("div") != std::string_view::npos ||
         op.name.find("rem") != std::string_view::npos)) {
      const auto by = op.operands.size() == 2 ? constant_integer(m_, op.operands[1]) : std::nullopt;
      return by && *by > 0;
    }
    return op.name.starts_with("arith.") || op.name.starts_with("math.") ||
           std::find(std::begin(kMakes), std::end(kMakes), op.name) != std::end(kMakes);
  }

  // ---- The text.

  /// The type of a tile with another element; "" = it is in no known form.
  static std::string mask_type(const Type& type) {
    const std::size_t element = type.text.find("x" + std::string(type.element));
    if (element == std::string_view::npos) return "";
    return std::string(type.text.substr(0, element + 1)) + "i1" +
           std::string(type.text.substr(element + 1 + type.element.size()));
  }

  /// The number 0 of a tile's elements, as arith.constant has it; "" = it is not known.
  static std::string nothing_of(const Type& type) {
    if (type.element.starts_with('f') || type.element == "bf16") return "dense<0.000000e+00>";
    return type.element == "i32" || type.element == "i8" || type.element == "i16" ? "dense<0>" : "";
  }

  /// (Names that no printer makes.)
  std::string fresh() { return "%ahead." + std::to_string(names_++); }

  /// Where the line of an op begins, which has nothing before it but the names of its results.
  std::size_t line_of(int op) {
    const std::size_t end = m_.text->rfind('\n', m_.op(op).begin);
    const std::size_t begin = end == std::string::npos ? 0 : end + 1;
    for (std::size_t k = begin; k < m_.op(op).begin; ++k)
      if (!in_name((*m_.text)[k]) &&
          std::string_view(" \t%=,:#").find((*m_.text)[k]) == std::string_view::npos)
        failed_ = true;
    return begin;
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
    const std::string as_mask = mask_type(type);
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
