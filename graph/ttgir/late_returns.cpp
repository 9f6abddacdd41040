#include "graph/ttgir/late_returns.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/pure_ops.hpp"
#include "graph/ttgir/successors.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostReturns = 4;                     // that store, one behind the other
constexpr std::size_t kMostAsked = 500;             // values that a condition is made of
constexpr std::size_t kMostMovedOps = 200;          // of a block that returns
constexpr std::size_t kMostGuarded = 64;            // loads and stores behind the branch
constexpr int kMostCompared = 4'000;                // ops, of places and masks
constexpr std::size_t kLongestOp = 4'096;           // bytes of one that is compared or moved
constexpr int kMostPlaceDepth = 40, kMostNots = 6;  // of what a place or a condition is made of

class LateReturns {
 public:
  LateReturns(const Module& module, int round) : m_(module), round_(round) {}

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    for (std::size_t op = 0; op < m_.ops.size(); ++op)
      if (m_.ops[op].name == "tt.func" && m_.ops[op].regions.size() == 1 &&
          read(m_.regions[at(m_.ops[op].regions[0])].blocks)) {
        write();
        return failed_ ? std::nullopt : parsed_edits(m_, std::move(edits_));
      }
    return std::nullopt;
  }

 private:
  // ---- Which block.

  /// The last block of the function that stores and returns before a loop.
  bool read(const std::vector<int>& blocks) {
    if (blocks.size() < 3) return false;
    std::map<int, std::vector<int>> next;
    std::map<int, int> entered;
    for (const int block : blocks) {
      if (m_.block(block).ops.empty()) return false;
      const auto to = successors(m_, m_.block(block).ops.back());
      const auto* const list = std::get_if<std::vector<int>>(&to);
      if (list == nullptr) return false;
      next[block] = *list;
      for (const int one : *list) ++entered[one];
    }
    entry_ = blocks.front();
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      if (next[*block].size() != 2 || !note_asked(m_.op(m_.block(*block).ops.back()))) continue;
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        const int early = next[*block][side], on = next[*block][1 - side];
        if (early == on || !stores_and_returns(early) || entered[early] != 1) continue;
        // On to the loop, whatever happens.
        guarded_.clear();
        int now = on;
        while (entered[now] == 1 && guarded_.size() <= blocks.size()) {
          guarded_.push_back(now);
          if (has_loop(now) || next[now].size() != 1) break;
          now = next[now][0];
        }
        if (guarded_.empty() || !has_loop(guarded_.back())) continue;
        const int last = guarded_.back();
        const bool ends = next[last].empty() || (next[last].size() == 1 && returns(next[last][0]));
        if (!ends || !can_be_guarded()) continue;
        branch_ = m_.block(*block).ops.back();
        early_ = early;
        where_true_ = side == 0;
        return true;
      }
    }
    return false;
  }

  /// What the condition of a branch is made of. false = of too much.
  bool note_asked(const Operation& branch) {
    asked_.clear();
    if (branch.operands.empty()) return false;
    std::vector<int> open = {branch.operands[0]};
    while (!open.empty()) {
      const int now = open.back();
      open.pop_back();
      if (!asked_.insert(now).second) continue;
      if (asked_.size() > kMostAsked) return false;
      const int made = m_.value(now).op;
      if (made == kNone) continue;
      if (!m_.op(made).regions.empty()) return false;
      open.insert(open.end(), m_.op(made).operands.begin(), m_.op(made).operands.end());
    }
    return true;
  }

  bool returns(int block) const {
    const Block& one = m_.block(block);
    return one.ops.size() == 1 && m_.op(one.ops[0]).name == "tt.return" &&
           m_.op(one.ops[0]).operands.empty();
  }

  bool has_loop(int block) const {
    const auto& ops = m_.block(block).ops;
    return std::any_of(ops.begin(), ops.end(), [&](int op) { return m_.op(op).name == "scf.for"; });
  }

  bool is_plain_store(const Operation& op) const {
    return op.name == "tt.store" && !op.generic && op.operands.size() >= 2 &&
           op.operands.size() <= 3 && !pointed_mask(op.operands[0]).empty();
  }

  /// Nothing but tiles and numbers that are made of what is there, stores of them, and the return.
  bool stores_and_returns(int block) const {
    const Block& one = m_.block(block);
    if (one.ops.size() > kMostMovedOps || !one.arguments.empty() || one.label.empty()) return false;
    const Operation& last = m_.op(one.ops.back());
    if (last.name != "tt.return" || !last.operands.empty()) return false;
    bool stores = false;
    for (std::size_t k = 0; k + 1 < one.ops.size(); ++k) {
      const Operation& op = m_.op(one.ops[k]);
      if (op.end - op.begin > kLongestOp) return false;
      stores = stores || op.name == "tt.store";
      if (op.name == "tt.store" ? !is_plain_store(op) : !is_harmless(op)) return false;
    }
    return stores;
  }

  bool is_harmless(const Operation& op) const { return only_computes(op) && divides_rightly(op); }

  /// Of a division of integers: is it by a number that is not 0, or by an argument that does not
  /// say whether the function returns? (Another number may be 0 where it returns, and what is
  /// divided by 0 tells a compiler that it does not return. An argument is taken to be none.)
  bool divides_rightly(const Operation& op) const {
    if (!divides_integers(op)) return true;
    if (op.operands.size() != 2) return false;
    const int by = repeated_value(m_, op.operands[1]);
    if (m_.value(by).block == entry_ && m_.value(by).op == kNone) return !asked_.contains(by);
    return is_over_zero(m_, by);
  }

  /// What stands behind the branch: loops, which can run 0 times, loads and stores, which get
  /// masks, and what does nothing but compute.
  bool can_be_guarded() {
    loops_.clear();
    moves_.clear();
    for (const int block : guarded_)
      for (const int index : m_.block(block).ops)
        if (!can_be_guarded(index)) return false;
    return moves_.size() <= kMostGuarded && loops_.size() <= kMostGuarded;
  }

  bool can_be_guarded(int index) {
    const Operation& op = m_.op(index);
    if (op.name == "scf.for") {
      loops_.push_back(index);
      return !op.generic && op.operands.size() >= 3 && op.regions.size() == 1 &&
             divides_rightly_within(op);
    }
    switch (class_of(op)) {
      case OpClass::load:
        if (op.name == "tt.descriptor_load") return true;  // (Outside of it there is 0.)
        moves_.push_back(index);
        return op.name == "tt.load" && !op.generic && op.results.size() == 1 &&
               !op.operands.empty() && op.operands.size() <= 3 &&
               m_.type_of(op.results[0]) != nullptr &&
               m_.type_of(op.results[0])->kind == TypeKind::tensor &&
               !pointed_mask(op.operands[0]).empty();
      case OpClass::store: moves_.push_back(index); return is_plain_store(op);
      case OpClass::elementwise:
        // (A text of the user's may do more than its result says.)
        return op.regions.empty() && divides_rightly(op) &&
               op.name != "tt.elementwise_inline_asm" &&
               (op.name != "tt.extern_elementwise" ||
                m_.attribute(op, "pure").find("true") != std::string_view::npos);
      case OpClass::replicated: return op.name != "tt.call" && op.regions.empty();
      case OpClass::mma:
      case OpClass::reduction:
      case OpClass::layout:
      case OpClass::view:
      case OpClass::tmem_load:
      case OpClass::tmem_store:
      case OpClass::tmem_alloc:
      case OpClass::local_load:
      case OpClass::local_store:
      case OpClass::local_alloc:
      case OpClass::transparent:
      case OpClass::terminator: return true;
      default: return false;
    }
  }

  /// (What a loop computes with the same numbers each time is computed before it.)
  bool divides_rightly_within(const Operation& loop) const {
    std::vector<int> open = loop.regions;
    while (!open.empty()) {
      const Region& region = m_.regions[at(open.back())];
      open.pop_back();
      for (const int block : region.blocks)
        for (const int index : m_.block(block).ops) {
          const Operation& op = m_.op(index);
          if (!divides_rightly(op) || op.name == "tt.call") return false;
          open.insert(open.end(), op.regions.begin(), op.regions.end());
        }
    }
    return true;
  }

  /// The type of the mask of what lies behind pointers; "" = they are no pointers.
  std::string pointed_mask(int pointers) const {
    const Type* const type = m_.type_of(pointers);
    return type == nullptr || !type->is_pointer() ? "" : mask_type(*type);
  }

  // ---- Are two values the same?

  bool same(int a, int b, int depth = 0) {
    if (a == b) return true;
    const int one = m_.value(a).op, other = m_.value(b).op;
    if (one == kNone || other == kNone || depth > kMostPlaceDepth || ++compared_ > kMostCompared)
      return false;
    const Operation &x = m_.op(one), &y = m_.op(other);
    if (x.name != y.name || x.operands.size() != y.operands.size() || !is_harmless(x) ||
        !is_harmless(y) || x.end - x.begin > kLongestOp || y.end - y.begin > kLongestOp ||
        shape_of(m_, one, x.operands) != shape_of(m_, other, y.operands))
      return false;
    // (Operands that are one value twice have one name.)
    for (std::size_t k = 0; k < x.operands.size(); ++k)
      if (!same(x.operands[k], y.operands[k], depth + 1)) return false;
    return true;
  }

  /// The store behind the loops, in their block, to the same places under the same mask; behind
  /// those that have been found, so that stores keep their order.
  int counterpart(const Operation& early) {
    const auto& ops = m_.block(guarded_.back()).ops;
    auto one = std::find(ops.begin(), ops.end(), loops_.back());
    if (!chosen_.empty()) one = std::find(one, ops.end(), chosen_.back().first);
    for (++one; one != ops.end(); ++one) {
      const Operation& op = m_.op(*one);
      if (op.name != "tt.store" || op.operands.size() != early.operands.size()) continue;
      const Type *a = m_.type_of(op.operands[1]), *b = m_.type_of(early.operands[1]);
      if (a != nullptr && b != nullptr && a->text == b->text && a->kind == TypeKind::tensor &&
          same(op.operands[0], early.operands[0]) &&
          (op.operands.size() == 2 || same(op.operands[2], early.operands[2])))
        return *one;
    }
    return kNone;
  }

  // ---- The text.

  std::size_t line_of(int op) {
    const auto begin = line_begin(m_, op);
    failed_ = failed_ || !begin;
    return begin.value_or(0);
  }

  /// (Names that no printer makes.)
  std::string fresh() { return "%late." + std::to_string(round_) + "." + std::to_string(names_++); }

  /// What holds where a condition does not: comparisons the other way, where it is made of them.
  std::string opposite(int condition, std::string& lines, int depth = 0) {
    const int made = m_.value(condition).op;
    const Operation* const op = made == kNone ? nullptr : &m_.op(made);
    const auto asked =
        op != nullptr && op->name == "arith.cmpi" ? predicate(m_, *op) : std::nullopt;
    if (asked && op->operands.size() == 2 && m_.type_of(op->operands[0]) != nullptr) {
      static constexpr std::string_view kOpposite[] = {"ne", "eq", "sge", "sgt", "sle", "slt"};
      std::string name = fresh();
      lines += name + " = arith.cmpi " + std::string(kOpposite[at(static_cast<int>(*asked))]) +
               ", " + written_name(m_, op->operands[0]) + ", " + written_name(m_, op->operands[1]) +
               " : " + std::string(m_.type_of(op->operands[0])->text) + "\n";
      return name;
    }
    if (op != nullptr && depth < kMostNots && op->operands.size() == 2 &&
        (op->name == "arith.andi" || op->name == "arith.ori")) {
      const std::string a = opposite(op->operands[0], lines, depth + 1);
      const std::string b = opposite(op->operands[1], lines, depth + 1);
      std::string name = fresh();
      lines += name + " = arith." + (op->name == "arith.andi" ? "ori " : "andi ") + a + ", " + b +
               " : i1\n";
      return name;
    }
    const std::string yes = fresh();
    std::string name = fresh();
    lines += yes + " = arith.constant true\n" + name + " = arith.xori " +
             written_name(m_, condition) + ", " + yes + " : i1\n";
    return name;
  }

  /// A flag as a mask of a tile (of a number: itself).
  std::string repeated(const std::string& flag, const std::string& type, std::string& lines) {
    if (type == "i1") return flag;
    std::string name = fresh();
    lines += name + " = tt.splat " + flag + " : i1 -> " + type + "\n";
    return name;
  }

  /// A load or store whose operands are named one behind the other gets others.
  void rename_operands(int index, const std::vector<std::string>& names) {
    const Operation& op = m_.op(index);
    std::string before = std::string(op.name) + " ", after = before;
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      before += (k == 0 ? "" : ", ") + written_name(m_, op.operands[k]);
    for (std::size_t k = 0; k < names.size(); ++k) after += (k == 0 ? "" : ", ") + names[k];
    const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
    if (!text.starts_with(before) || (text.size() > before.size() && in_name(text[before.size()])))
      failed_ = true;
    else
      edits_.push_back({op.begin, before.size(), after});
  }

  /// Likewise under a further condition.
  void guard(int index, const std::string& flag) {
    const Operation& op = m_.op(index);
    const std::string type = pointed_mask(op.operands[0]);
    const std::size_t place = op.name == "tt.store" ? 2 : 1;  // of its mask
    std::string lines;
    std::string mask = repeated(flag, type, lines);
    std::vector<std::string> names;
    for (const int operand : op.operands) names.push_back(written_name(m_, operand));
    if (names.size() > place) {
      const std::string both = fresh();
      lines += both + " = arith.andi " + names[place] + ", " + mask + " : " + type + "\n";
      names[place] = both;
    } else {
      names.push_back(mask);
    }
    edits_.push_back({line_of(index), 0, lines});
    rename_operands(index, names);
  }

  void write() {
    const Operation& branch = m_.op(branch_);
    const Block& early = m_.block(early_);
    if (branch.operands.empty() || branch.generic) {
      failed_ = true;
      return;
    }
    // Where it returned, and where it goes on.
    std::string lines = "\n";
    const std::string asked = written_name(m_, branch.operands[0]);
    const std::string other = opposite(branch.operands[0], lines);
    const std::string& where = where_true_ ? asked : other;
    const std::string& on = where_true_ ? other : asked;
    edits_.push_back({branch.begin, branch.end - branch.begin,
                      lines + "cf.br " + std::string(m_.block(guarded_.front()).label)});
    // The block goes; what it computes stands behind the loops.
    cut(early);
    std::string moved, kept;
    for (std::size_t k = 0; k + 1 < early.ops.size(); ++k) {
      const Operation& op = m_.op(early.ops[k]);
      if (op.name != "tt.store")
        moved += written_name(m_, op.results[0]) + " = " + op_text(m_, early.ops[k], {}) + "\n";
    }
    for (std::size_t k = 0; k + 1 < early.ops.size(); ++k) {
      const Operation& op = m_.op(early.ops[k]);
      if (op.name != "tt.store") continue;
      const int same_place = counterpart(op);
      if (same_place == kNone)
        kept += masked(early.ops[k], where);
      else if (kept.empty())
        chosen_.emplace_back(same_place, op.operands[1]);
      else
        failed_ = true;  // (It would come before what it comes behind.)
    }
    const auto& ops = m_.block(guarded_.back()).ops;
    const auto last = std::find(ops.begin(), ops.end(), loops_.back());
    edits_.push_back({line_of(*(last + 1)), 0, moved});
    for (const auto& [store, given] : chosen_) choose(store, given, where, on);
    for (const int one : moves_)
      if (std::none_of(chosen_.begin(), chosen_.end(),
                       [&](const auto& choice) { return choice.first == one; }))
        guard(one, on);
    for (const int loop : loops_) end_at_once(loop);
    edits_.push_back({line_of(ops.back()), 0, kept});
  }

  /// From its label to the next one, or to the end of the function.
  void cut(const Block& early) {
    const auto label = [&](const Block& block) {
      return static_cast<std::size_t>(block.label.data() - m_.text->data());
    };
    const Region& region = m_.regions[at(early.region)];
    const auto here = std::find(region.blocks.begin(), region.blocks.end(), early_);
    const std::size_t begin = label(early);
    const std::size_t end = here + 1 == region.blocks.end() ? region.end : label(m_.block(here[1]));
    if (here == region.blocks.begin() || end <= begin || (*m_.text)[begin] != '^')
      failed_ = true;
    else
      edits_.push_back({begin, end - begin, ""});
  }

  /// A store of the block under the block's condition, as text.
  std::string masked(int index, const std::string& flag) {
    const Operation& op = m_.op(index);
    const std::string type = pointed_mask(op.operands[0]);
    std::string lines;
    std::string mask = repeated(flag, type, lines);
    if (op.operands.size() > 2) {
      const std::string both = fresh();
      lines += both + " = arith.andi " + written_name(m_, op.operands[2]) + ", " + mask + " : " +
               type + "\n";
      mask = both;
    }
    return lines + "tt.store " + written_name(m_, op.operands[0]) + ", " +
           written_name(m_, op.operands[1]) + ", " + mask + " : " +
           std::string(m_.type_of(op.operands[0])->text) + "\n";
  }

  /// (Of a mask that several conditions are enough for, what each of them excludes is read.)
  void choose(int store, int given, const std::string& where, const std::string& on) {
    const Operation& op = m_.op(store);
    const int made = m_.value(m_.op(branch_).operands[0]).op;
    const bool turned =
        made != kNone && m_.op(made).name == (where_true_ ? "arith.ori" : "arith.andi");
    std::string lines;
    const std::string type = pointed_mask(op.operands[0]), early = written_name(m_, given),
                      late = written_name(m_, op.operands[1]);
    const std::string flag = repeated(turned ? on : where, type, lines), name = fresh();
    lines += name + " = arith.select " + flag + ", " + (turned ? late : early) + ", " +
             (turned ? early : late) + " : " + type + ", " + std::string(m_.type_of(given)->text) +
             "\n";
    edits_.push_back({line_of(store), 0, lines});
    std::vector<std::string> names;
    for (const int operand : op.operands) names.push_back(written_name(m_, operand));
    names[1] = name;
    rename_operands(store, names);
  }

  /// One number where a condition is `truth`, else another: choices by one comparison each.
  std::string chosen_number(int condition, bool truth, const std::string& one,
                            const std::string& other, const std::string& type, std::string& lines,
                            int depth = 0) {
    const int made = m_.value(condition).op;
    const Operation* const op = made == kNone ? nullptr : &m_.op(made);
    if (op != nullptr && depth < kMostNots && op->operands.size() == 2 &&
        (op->name == "arith.andi" || op->name == "arith.ori")) {
      const std::string second =
          chosen_number(op->operands[1], truth, one, other, type, lines, depth + 1);
      const bool both = (op->name == "arith.andi") == truth;
      return chosen_number(op->operands[0], truth, both ? second : one, both ? other : second, type,
                           lines, depth + 1);
    }
    std::string name = fresh();
    lines += name + " = arith.select " + written_name(m_, condition) + ", " +
             (truth ? one : other) + ", " + (truth ? other : one) + " : " + type + "\n";
    return name;
  }

  /// A loop whose end is its beginning where the function returned.
  void end_at_once(int loop) {
    const Operation& op = m_.op(loop);
    const std::string first = written_name(m_, op.operands[0]),
                      end = written_name(m_, op.operands[1]),
                      bounds = " = " + first + " to " + end + " step ";
    const std::size_t found = m_.text->find(bounds, op.begin);
    const Type* const type = m_.type_of(op.operands[1]);
    if (found == std::string::npos || found >= op.end || type == nullptr ||
        m_.text->find('\n', op.begin) < found) {
      failed_ = true;
      return;
    }
    std::string lines;
    const std::string name = chosen_number(m_.op(branch_).operands[0], where_true_, first, end,
                                           std::string(type->text), lines);
    edits_.push_back({line_of(loop), 0, lines});
    edits_.push_back({found, bounds.size(), " = " + first + " to " + name + " step "});
  }

  const Module& m_;
  const int round_;
  int branch_ = kNone, early_ = kNone, entry_ = kNone;
  std::set<int> asked_;                      ///< what the branch's condition is made of
  bool where_true_ = false;                  ///< is the condition true where it returns?
  std::vector<int> guarded_;                 ///< blocks on to the loops' one, which is the last
  std::vector<int> loops_, moves_;           ///< in them; loads and stores
  std::vector<std::pair<int, int>> chosen_;  ///< stores, and what else they store
  std::vector<TextEdit> edits_;
  int compared_ = 0, names_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Module> with_late_returns(const Module& module) {
  std::optional<Module> made;
  for (int round = 0; round < kMostReturns; ++round) {
    auto next = LateReturns(made ? *made : module, round).run();
    if (!next) break;
    made = std::move(next);
  }
  return made;
}

}  // namespace twill::ttgir
