#include "graph/ttgir/without_vector_sums.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostViewsOfSum = 8;  // between a vector and the product

class VectorSums {
 public:
  explicit VectorSums(const Module& module) : m_(module) {
    uses_.assign(m_.values.size(), 0);
    for (const Operation& op : m_.ops)
      for (const int operand : op.operands) ++uses_[at(operand)];
  }

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    for (std::size_t op = 0; op < m_.ops.size(); ++op) {
      const std::string_view name = m_.ops[op].name;
      if (name == "tt.dot" || name == "ttng.warp_group_dot") in_registers(static_cast<int>(op));
      if (name == "ttng.tc_gen5_mma") in_tensor_memory(static_cast<int>(op));
    }
    if (edits_.empty()) return std::nullopt;
    return parsed_edits(m_, std::move(edits_));
  }

 private:
  /// A matrix of f32 that repeats a vector or a number which somebody computes or loads.
  bool repeats(int value) const {
    const Type* const type = m_.type_of(value);
    if (type == nullptr || type->kind != TypeKind::tensor || type->shape.size() != 2 ||
        type->element != "f32")
      return false;
    for (int steps = 0; steps < kMostViewsOfSum; ++steps) {
      const int made = m_.value(value).op;
      if (made == kNone || m_.op(made).operands.size() != 1) return false;
      const Operation& op = m_.op(made);
      if (op.name == "tt.broadcast" || op.name == "tt.splat") return true;
      if (op.name != "ttg.convert_layout") return false;
      value = op.operands[0];
    }
    return false;
  }

  bool is_flag(int value, std::string_view what) const {
    const int made = m_.value(value).op;
    return made != kNone && m_.op(made).name == "arith.constant" && m_.op(made).literal == what;
  }

  // ---- Text: of an op that has a line for itself.

  struct Line {
    std::size_t begin = 0, end = 0;  ///< without the line's end
    std::size_t names = 0;           ///< where the names of its results begin
  };

  /// `names`: how its results are written, with what is between them.
  std::optional<Line> line_of(const Operation& op, const std::string& names) const {
    const std::string_view text = *m_.text;
    Line line;
    const std::size_t before = text.rfind('\n', op.begin);
    line.begin = before == std::string_view::npos ? 0 : before + 1;
    line.end = std::min(text.find('\n', op.end), text.size());
    line.names = text.find_first_not_of(" \t", line.begin);
    if (line.names >= op.begin || op.end > line.end ||
        text.substr(line.names, op.begin - line.names) != names + " = " ||
        text.substr(op.begin, op.end - op.begin).find('\n') != std::string_view::npos)
      return std::nullopt;
    // (Nothing behind it but where it comes from.)
    const std::string_view rest = text.substr(op.end, line.end - op.end);
    const std::size_t first = rest.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return line;
    if (!rest.substr(first).starts_with("loc(")) return std::nullopt;
    int open = 0;
    for (std::size_t k = first; k < rest.size(); ++k) {
      open += rest[k] == '(' ? 1 : rest[k] == ')' ? -1 : 0;
      if (open == 0 && rest[k] == ')')
        return rest.find_first_not_of(" \t\r", k + 1) == std::string_view::npos
                   ? std::optional(line)
                   : std::nullopt;
    }
    return std::nullopt;
  }

  /// Where an op reads a value, if it does so once.
  std::optional<std::size_t> read_at(const Operation& op, const std::string& name) const {
    const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
    std::optional<std::size_t> found;
    for (std::size_t k = text.find(name); k != std::string_view::npos; k = text.find(name, k + 1)) {
      const std::size_t behind = k + name.size();
      if (behind < text.size() && (in_name(text[behind]) || text[behind] == '#')) continue;
      if (found) return std::nullopt;
      found = op.begin + k;
    }
    return found;
  }

  std::string indented(const Line& line) const {
    return m_.text->substr(line.begin, line.names - line.begin);
  }

  /// (Names that no printer makes.)
  static std::string mine(int op) { return "%begun." + std::to_string(op); }

  /// `result`, as the line of an op has it, becomes what is added to.
  void add_behind(int op, const Line& line, const std::string& result, const std::string& sum,
                  std::string_view type) {
    edits_.push_back({line.names, result.size(), mine(op)});
    edits_.push_back({line.end, 0,
                      "\n" + indented(line) + result + " = arith.addf " + mine(op) + ", " + sum +
                          " : " + std::string(type)});
  }

  // ---- Where the product is.

  void in_registers(int index) {
    constexpr std::size_t kFactorsAndSum = 3;
    const Operation& op = m_.op(index);
    if (op.generic || op.results.size() != 1 || op.operands.size() != kFactorsAndSum ||
        !op.regions.empty() || !repeats(op.operands[2]) ||
        m_.attribute(op, "isAsync").starts_with("true"))
      return;
    const std::string result = written_name(m_, op.results[0]),
                      sum = written_name(m_, op.operands[2]);
    const auto line = line_of(op, result);
    const auto read = read_at(op, sum);
    if (!line || !read) return;
    const std::string_view type = m_.type_of(op.operands[2])->text;
    edits_.push_back({line->begin, 0,
                      indented(*line) + mine(index) +
                          ".zero = arith.constant dense<0.000000e+00> : " + std::string(type) +
                          "\n"});
    edits_.push_back({*read, sum.size(), mine(index) + ".zero"});
    add_behind(index, *line, result, sum, type);
  }

  /// What stores the vector, the product that adds to it, and what loads the result, each the only
  /// one that the other tells of its end.
  void in_tensor_memory(int index) {
    const Operation& op = m_.op(index);
    constexpr std::size_t kOperands = 6;  // factors, buffer, who came before, adds?, at all?
    if (op.generic || op.operands.size() != kOperands || op.results.size() != 1 ||
        uses_[at(op.results[0])] != 1 || !is_flag(op.operands[4], "true") ||
        uses_[at(op.operands[3])] != 1)
      return;
    const int stored = m_.value(op.operands[3]).op;
    if (stored == kNone || m_.op(stored).name != "ttng.tmem_store") return;
    const Operation& store = m_.op(stored);
    if (store.generic || store.operands.size() != 4 || store.results.size() != 1 ||
        store.block != op.block || store.operands[1] != op.operands[2] ||
        !is_alone(op.operands[2]) || !is_flag(store.operands[3], "true") ||
        !(repeats(store.operands[0]) || is_tile_of_zeros(m_, store.operands[0])))
      return;
    const int loaded = loads_after(index);
    if (loaded == kNone) return;
    const Operation& load = m_.op(loaded);
    const std::string_view type = m_.type_of(store.operands[0])->text;
    if (m_.type_of(load.results[0]) == nullptr || m_.type_of(load.results[0])->text != type) return;
    const std::string before = written_name(m_, store.operands[2]),
                      told = written_name(m_, store.results[0]),
                      adds = written_name(m_, op.operands[4]),
                      result = written_name(m_, load.results[0]),
                      sum = written_name(m_, store.operands[0]);
    const auto line = line_of(op, written_name(m_, op.results[0]));
    const auto store_line = line_of(store, told);
    const auto load_line = line_of(load, result + ", " + written_name(m_, load.results[1]));
    const auto read = read_at(op, told);
    if (!line || !store_line || !load_line || !read) return;
    const std::string_view text = *m_.text;
    const std::size_t flag = *read + told.size();
    if (text.substr(flag, 3 + adds.size() + 1) != "], " + adds + ",") return;
    const std::size_t next = std::min(store_line->end + 1, text.size());
    edits_.push_back({store_line->begin, next - store_line->begin, ""});
    edits_.push_back(
        {line->begin, 0, indented(*line) + mine(loaded) + ".no = arith.constant false\n"});
    edits_.push_back({*read, told.size(), before});
    edits_.push_back({flag + 3, adds.size(), mine(loaded) + ".no"});
    if (!is_tile_of_zeros(m_, store.operands[0])) add_behind(loaded, *load_line, result, sum, type);
  }

  /// Is it a buffer that three ops name: who stores the vector, adds to it, and loads the result?
  /// (Another product that adds to it, in this iteration or the next, would miss the vector.)
  bool is_alone(int buffer) const {
    const int made = m_.value(buffer).op;
    return made != kNone && m_.op(made).name == "ttng.tmem_alloc" && m_.op(made).operands.empty() &&
           uses_[at(buffer)] == 3;
  }

  /// The load that a product tells of its end; kNone = it is something else.
  int loads_after(int product) {
    if (loads_.empty()) {
      loads_.assign(m_.values.size(), kNone);
      for (std::size_t op = 0; op < m_.ops.size(); ++op)
        if (m_.ops[op].name == "ttng.tmem_load" && m_.ops[op].operands.size() == 2)
          loads_[at(m_.ops[op].operands[1])] = static_cast<int>(op);
    }
    const Operation& op = m_.op(product);
    const int found = loads_[at(op.results[0])];
    if (found == kNone) return kNone;
    const Operation& load = m_.op(found);
    return !load.generic && load.results.size() == 2 && load.block == op.block &&
                   load.operands[0] == op.operands[2]
               ? found
               : kNone;
  }

  const Module& m_;
  std::vector<int> uses_;   ///< of each value, counted
  std::vector<int> loads_;  ///< per value: the load in tensor memory that waits for it
  std::vector<TextEdit> edits_;
};

}  // namespace

std::optional<Module> without_vector_sums(const Module& module) {
  return VectorSums(module).run();
}

}  // namespace twill::ttgir
