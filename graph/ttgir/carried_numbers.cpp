// Numbers that a loop carries and no reduction keeps (carried_numbers.hpp).
#include "graph/ttgir/carried_numbers.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "graph/index.hpp"
#include "graph/ttgir/absorbed_numbers.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMostCarried = 1'000;  // of a loop; others are no ops

class Finder {
 public:
  Finder(const Module& module, int loop, int body, const std::vector<bool>& replicated)
      : m_(module), loop_(loop), body_(body), replicated_(replicated) {
    for (std::size_t op = 0; op < m_.ops.size(); ++op)
      for (const int value : m_.ops[op].operands) users_[value].push_back(static_cast<int>(op));
  }

  std::set<int> run() const {
    std::set<int> found;
    const auto& ops = m_.block(body_).ops;
    if (ops.empty() || m_.op(ops.back()).name != "scf.yield") return found;
    const auto& next = m_.op(ops.back()).operands;
    const auto& variables = m_.block(body_).arguments;
    if (next.size() > kMostCarried) return found;
    const AbsorbedNumbers absorbed = absorbed_numbers(
        m_, body_, [this](int op) { return !replicated_[at(op)]; }, [](int) { return false; });
    for (std::size_t k = 0; k < next.size() && k + 1 < variables.size(); ++k) {
      const int last = m_.value(next[k]).op;
      const bool integer = is_number(next[k], "i32");
      if ((!integer && !is_number(next[k], "f32")) || last == kNone || m_.op(last).block != body_ ||
          !replicated_[at(last)] || !computes(last) || (integer && steps(last, variables[k + 1])))
        continue;
      const Chain chain = chain_of(last);
      const auto& results = m_.op(loop_).results;
      const bool used_behind = k < results.size() && users_.contains(results[k]);
      // (An integer that only the loop uses may be a place.)
      if (integer ? used_behind
                  : (used_behind || chain.read.contains(variables[k + 1])) &&
                        !absorbed.into.contains(last))
        found.insert(last);
    }
    return found;
  }

 private:
  /// What a number is made of in its iteration.
  struct Chain {
    std::set<int> ops;   ///< that every slot would compute
    std::set<int> read;  ///< values
  };

  bool is_number(int value, std::string_view element) const {
    const Type* type = m_.type_of(value);
    return type != nullptr && type->kind == TypeKind::scalar && !type->is_pointer() &&
           type->element == element;
  }

  /// Does it add to a variable what is the same in all iterations? (Places do, and they are known.)
  bool steps(int index, int variable) const {
    const Operation& op = m_.op(index);
    return (op.name == "arith.addi" || op.name == "arith.subi") &&
           std::find(op.operands.begin(), op.operands.end(), variable) != op.operands.end() &&
           std::all_of(op.operands.begin(), op.operands.end(), [&](int operand) {
             const Value& v = m_.value(operand);
             return operand == variable ||
                    (v.op == kNone ? v.block != body_ : m_.op(v.op).block != body_);
           });
  }

  /// An op that makes one number: by arithmetic, or by a branch between two.
  bool computes(int index) const {
    const Operation& op = m_.op(index);
    return op.results.size() == 1 && (class_of(op) == OpClass::elementwise || op.name == "scf.if");
  }

  void reads_of(int index, std::set<int>& all) const {
    const Operation& op = m_.op(index);
    all.insert(op.operands.begin(), op.operands.end());
    for (const int region : op.regions)
      for (const int block : m_.regions[at(region)].blocks)
        for (const int inner : m_.block(block).ops) reads_of(inner, all);
  }

  Chain chain_of(int last) const {
    Chain chain;
    chain.ops.insert(last);
    std::vector<int> open = {last};
    while (!open.empty()) {
      std::set<int> reads;
      reads_of(open.back(), reads);
      open.pop_back();
      for (const int value : reads) {
        chain.read.insert(value);
        const int made = m_.value(value).op;
        if (made != kNone && m_.op(made).block == body_ && replicated_[at(made)] &&
            chain.ops.insert(made).second)
          open.push_back(made);
      }
    }
    return chain;
  }

  const Module& m_;
  const int loop_, body_;
  const std::vector<bool>& replicated_;
  std::map<int, std::vector<int>> users_;
};

}  // namespace

std::set<int> ops_of_carried_numbers(const Module& module, int loop, int body,
                                     const std::vector<bool>& replicated) {
  return Finder(module, loop, body, replicated).run();
}

}  // namespace twill::ttgir
