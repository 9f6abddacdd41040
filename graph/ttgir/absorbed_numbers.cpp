#include "graph/ttgir/absorbed_numbers.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kMostAbsorbing = 1'000'000;  // of hostile loops; real ones take thousands

class Absorber {
 public:
  Absorber(const Module& module, int body, const std::function<bool(int)>& is_node,
           const std::function<bool(int)>& is_cut)
      : m_(module), body_(body), is_node_(is_node), is_cut_(is_cut) {
    for (const int op : m_.block(body_).ops) place_.emplace(op, static_cast<int>(place_.size()));
    for (std::size_t op = 0; op < m_.ops.size(); ++op)
      for (const int value : m_.ops[op].operands) users_[value].push_back(static_cast<int>(op));
  }

  AbsorbedNumbers run() {
    const auto& ops = m_.block(body_).ops;
    if (ops.empty() || m_.op(ops.back()).name != "scf.yield") return {};
    for (const int next : m_.op(ops.back()).operands) {
      const int last = m_.value(next).op;
      if (last == kNone || !is_real(next) || !place_.contains(last) || is_node_(last) ||
          found_.into.contains(last))
        continue;
      const std::vector<int> makers = makers_of(last);
      for (auto one = makers.rbegin(); one != makers.rend(); ++one) {
        if (!may_absorb(*one)) continue;
        const auto behind = behind_of(*one, last, makers);
        if (!behind) continue;
        for (const int op : *behind) found_.into[op] = *one;
        found_.behind[*one] = *behind;
        break;
      }
    }
    return found_;
  }

 private:
  bool is_real(int value) const {
    const Type* type = m_.type_of(value);
    if (type == nullptr || type->kind != TypeKind::scalar) return false;
    const auto* number = meaning::number_type(type->element);
    return number != nullptr && number->precision > 0;
  }

  bool may_absorb(int op) const {
    const Operation& o = m_.op(op);
    return class_of(o) == OpClass::reduction && is_node_(op) && !is_cut_(op) &&
           !found_.behind.contains(op) && o.results.size() == 1 && is_real(o.results[0]);
  }

  /// What a number is made of in its iteration, in the order of the text.
  std::vector<int> makers_of(int last) {
    std::set<int> all = {last};
    std::vector<int> open = {last};
    while (!open.empty() && ++steps_ < kMostAbsorbing) {
      const int op = open.back();
      open.pop_back();
      if (is_node_(op)) continue;
      for (const int operand : m_.op(op).operands) {
        const int from = m_.value(operand).op;
        if (from != kNone && place_.contains(from) && is_real(operand) && all.insert(from).second)
          open.push_back(from);
      }
    }
    std::vector<int> ordered(all.begin(), all.end());
    std::sort(ordered.begin(), ordered.end(),
              [&](int a, int b) { return place_.at(a) < place_.at(b); });
    return ordered;
  }

  /// The ops from a reduction on to `last`, where nothing else uses what is made between them.
  std::optional<std::vector<int>> behind_of(int reduction, int last,
                                            const std::vector<int>& makers) {
    std::set<int> behind = {reduction};
    std::vector<int> all;
    for (const int op : makers) {
      if (++steps_ >= kMostAbsorbing) return std::nullopt;
      if (is_node_(op)) continue;
      const auto& operands = m_.op(op).operands;
      if (std::any_of(operands.begin(), operands.end(),
                      [&](int operand) { return behind.contains(m_.value(operand).op); })) {
        behind.insert(op);
        all.push_back(op);
      }
    }
    if (all.empty() || all.back() != last) return std::nullopt;
    for (const int op : behind) {
      if (op != reduction && (found_.into.contains(op) || m_.op(op).results.size() != 1))
        return std::nullopt;
      if (op == last) continue;
      const auto users = users_.find(m_.op(op).results[0]);
      if (users == users_.end()) continue;
      for (const int user : users->second)
        if (++steps_ >= kMostAbsorbing || !behind.contains(user)) return std::nullopt;
    }
    return all;
  }

  const Module& m_;
  const int body_;
  const std::function<bool(int)>&is_node_, &is_cut_;
  std::map<int, int> place_;               ///< of the body's ops, in the text
  std::map<int, std::vector<int>> users_;  ///< by value
  AbsorbedNumbers found_;
  std::int64_t steps_ = 0;
};

}  // namespace

AbsorbedNumbers absorbed_numbers(const Module& module, int body,
                                 const std::function<bool(int)>& is_node,
                                 const std::function<bool(int)>& is_cut) {
  return Absorber(module, body, is_node, is_cut).run();
}

}  // namespace twill::ttgir
