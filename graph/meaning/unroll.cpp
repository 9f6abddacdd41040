#include "graph/meaning/unroll.hpp"

#include <limits>
#include <set>
#include <string>

#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/unroll.hpp"

namespace twill::meaning {
namespace {

Operand whole_number(double number) {
  Operand one;
  one.number = number;
  return one;
}

class Unroller {
 public:
  Unroller(const Meaning& old, int copies, std::vector<MovedConstant>* moved)
      : old_(old), copies_(copies), loop_(old.after_begin - old.loop_begin), moved_(moved) {}

  Meaning run() {
    check_names();
    result_.constants = old_.constants;
    tensors();
    for (int v = 0; v < old_.loop_begin; ++v) outside(v);
    result_.loop_begin = old_.loop_begin;
    for (int k = 0; k < copies_; ++k)
      for (int v = old_.loop_begin; v < old_.after_begin; ++v) inside(v, k);
    result_.after_begin = old_.loop_begin + copies_ * loop_;
    for (int v = old_.after_begin; v < static_cast<int>(old_.values.size()); ++v) outside(v);
    initial();
    return std::move(result_);
  }

 private:
  /// Names of what is outside the loop stay, and must not be those of copies.
  void check_names() {
    std::set<std::string>& taken = taken_;
    for (const auto& [name, value] : old_.constants) taken.insert(name);
    for (int v = 0; v < static_cast<int>(old_.values.size()); ++v)
      if (!old_.in_loop(v)) taken.insert(old_.values[at(v)].id);
    for (int t = 0; t < static_cast<int>(old_.tensors.size()); ++t)
      if (!old_.streams(t)) taken.insert(old_.tensors[at(t)].name);
    const auto check = [&](const std::string& name) {
      if (!taken.insert(name).second)
        throw InputError("kernel", "unroll", name, "is a copy's name, and something else's");
    };
    for (int k = 0; k < copies_; ++k) {
      for (int v = old_.loop_begin; v < old_.after_begin; ++v)
        check(copy_name(old_.values[at(v)].id, k));
      for (int t = 0; t < static_cast<int>(old_.tensors.size()); ++t)
        if (old_.streams(t)) check(tile_name(old_.tensors[at(t)].name, k));
    }
  }

  static std::string tile_name(const std::string& tensor, int k) {
    return "s" + std::to_string(k) + "_" + tensor;
  }

  void tensors() {
    for (int t = 0; t < static_cast<int>(old_.tensors.size()); ++t) {
      const Tensor& tensor = old_.tensors[at(t)];
      first_of_.push_back(static_cast<int>(result_.tensors.size()));
      if (!old_.streams(t)) {
        result_.tensors.push_back(tensor);
        continue;
      }
      for (int k = 0; k < copies_; ++k) {
        Tensor copy = tensor;
        copy.name = tile_name(tensor.name, k);
        result_.tensors.push_back(std::move(copy));
      }
    }
  }

  /// The value that copy k of one of the loop is; those outside the loop keep their order.
  int renamed(int v, int k) const {
    if (v < 0 || v < old_.loop_begin) return v;
    if (old_.in_loop(v)) return v + k * loop_;
    return v + (copies_ - 1) * loop_;
  }

  void outside(int v) {
    Value value = old_.values[at(v)];
    if (value.tensor >= 0) value.tensor = first_of_[at(value.tensor)];
    for (Operand& operand : value.operands) operand.value = renamed(operand.value, copies_ - 1);
    result_.values.push_back(std::move(value));
  }

  void inside(int v, int k) {
    Value value = old_.values[at(v)];
    value.id = copy_name(value.id, k);
    if (!value.part_of.empty()) value.part_of = copy_name(value.part_of, k);
    if (value.tensor >= 0) value.tensor = first_of_[at(value.tensor)] + k;
    for (Operand& operand : value.operands) {
      if (operand.value < 0) continue;
      if (!old_.in_loop(operand.value)) continue;
      // Iteration copies * i + k - d is copy (k - d) mod copies, so many iterations back.
      const int behind = k - operand.distance;
      const int back = behind >= 0 ? 0 : (-behind + copies_ - 1) / copies_;
      operand.value = renamed(operand.value, behind + back * copies_);
      operand.distance = back;
    }
    if (value.function == Function::causal) value = bounded(std::move(value));
    if (value.function == Function::places)
      move_by(value, 0, k);
    else if (const int first = first_bound(value.function); first >= 0)
      for (std::size_t b = at(first); b + kBoundNumbers <= value.operands.size();
           b += kBoundNumbers)
        move_by(value, b, k);
    result_.values.push_back(std::move(value));
  }

  /// The same mask by a bound: i columns + c <= first + r / group, in whole numbers, is
  /// r - group c - group columns i + group first >= 0.
  static Value bounded(Value value) {
    const auto columns = static_cast<double>(value.shape.back());
    Operand first = value.operands.size() > 1 ? value.operands[1] : whole_number(0);
    const double group = value.operands.size() > 2 ? value.operands[2].number : 1;
    if (group != 1) first = whole_number(group * first.number);
    value.function = Function::within;
    value.operands = {value.operands[0],
                      whole_number(-std::numeric_limits<double>::infinity()),
                      whole_number(1),
                      whole_number(-group),
                      whole_number(-group * columns),
                      first};
    return value;
  }

  /// Four numbers from operand `begin` on, the third of which is what is added an iteration and the
  /// fourth what there is at first.
  void move_by(Value& value, std::size_t begin, int k) {
    const Operand step = value.operands[begin + 2], first = value.operands[begin + 3];
    value.operands[begin + 2] = moved(whole_number(0), step, copies_);
    value.operands[begin + 3] = moved(first, step, k);
  }

  /// first + factor * step.
  Operand moved(const Operand& first, const Operand& step, int factor) {
    if (factor == 0) return first;
    const double number = first.number + factor * step.number;
    if (moved_ == nullptr || (first.constant.empty() && step.constant.empty()))
      return whole_number(number);
    Operand made = whole_number(number);
    for (std::size_t c = 0; c < moved_->size(); ++c)
      if ((*moved_)[c].first == first && (*moved_)[c].step == step && (*moved_)[c].factor == factor)
        made.constant = result_.constants[old_.constants.size() + c].first;
    if (!made.constant.empty()) return made;
    const std::string wish = (first.constant.empty() ? step : first).constant + "_moved";
    made.constant = wish;
    for (int n = 1; !taken_.insert(made.constant).second; ++n)
      made.constant = wish + "_" + std::to_string(n);
    result_.constants.emplace_back(made.constant, number);
    moved_->push_back({first, step, factor});
    return made;
  }

  /// Of the copies that somebody reads of an earlier iteration, or after the loop.
  void initial() {
    const auto& values = result_.values;
    std::vector<bool> carried(values.size(), false);
    for (int v = result_.loop_begin; v < static_cast<int>(values.size()); ++v)
      for (const Operand& operand : values[at(v)].operands)
        if (operand.value >= 0 && result_.in_loop(operand.value) &&
            (operand.distance > 0 || v >= result_.after_begin))
          carried[at(operand.value)] = true;
    for (const Initial& one : old_.initial)
      for (int k = 0; k < copies_; ++k) {
        const int copy = renamed(one.value, k);
        if (!carried[at(copy)]) continue;
        Initial next = one;
        next.value = copy;
        result_.initial.push_back(std::move(next));
      }
  }

  const Meaning& old_;
  const int copies_, loop_;
  std::vector<MovedConstant>* const moved_;
  Meaning result_;
  std::set<std::string> taken_;  ///< names of the result
  std::vector<int> first_of_;
};

}  // namespace

Meaning unrolled(const Meaning& meaning, int copies, std::vector<MovedConstant>* moved) {
  return copies == 1 ? meaning : Unroller(meaning, copies, moved).run();
}

}  // namespace twill::meaning
