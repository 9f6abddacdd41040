#include "graph/emit/plan_check.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Meaning;
using meaning::Operand;
using meaning::Value;
using program::Refusal;

class Checker {
 public:
  Checker(const Plan& plan, const EmitOptions& options)
      : plan_(plan), m_(*plan.meaning), triton_(options.as_triton) {
    for (const Value& value : m_.values) ids_.insert(value.id);
  }

  std::optional<Refusal> run() const {
    for (int v = 0; v < static_cast<int>(m_.values.size()); ++v) {
      if (plan_.user != nullptr)
        if (auto no = of_function(v)) return no;
      const Value& value = m_.values[at(v)];
      const bool integers = meaning::is_of_integers(value.function);
      if ((integers && (!triton_ || (value.type != "i32" && !keeps_low_bits(value)))) ||
          (meaning::is_comparison(value.function) && !triton_) ||
          meaning::finds_place(value.function) ||
          (meaning::gives_place(value.function) && !triton_) || value.function == Function::scaled)
        return Refusal{"op", value.id + " computes " + std::string(name_of(value.function)) +
                                 ": no text is written for it yet"};
      if (value.function == Function::store && value.operands.size() == 2 && !flagged(value))
        return Refusal{"op", value.id + " stores in some iterations alone: no text is written"};
      if (value.function == Function::store && m_.in_loop(v) && value.shape.empty() &&
          (!triton_ || plan_.user == nullptr))
        return Refusal{"op", value.id + " moves a number: no text is written for it"};
      if (value.function == Function::within && value.operands[0].value < 0 &&
          value.operands[1].value < 0 && value.operands[0] == value.operands[1] &&
          (!triton_ || value.shape.empty() || !value.operands[0].constant.empty()))
        return Refusal{"op", value.id + " is one number everywhere: no text is written for it yet"};
      if (value.shape.empty() &&
          !(value.function == Function::places && m_.in_loop(v) && triton_ &&
            plan_.user != nullptr) &&
          (value.function == Function::places || value.function == Function::within))
        return Refusal{"op", value.id +
                                 " is a number that the iteration decides: no text is written for "
                                 "it yet"};
      if (meaning::runs(value.function) && !triton_)
        return Refusal{"op", value.id + " is a running sum: no text is written for it"};
      const bool of_whole = value.type == "i32" || value.type == "i8";
      if (value.function == Function::rearranged && !triton_)
        return Refusal{"op", value.id + " is a tile in another form: no text is written for it"};
      if ((value.function == Function::bits ||
           (of_whole && meaning::reduces_rows(value.function))) &&
          !triton_)
        return Refusal{"op", value.id + " computes " + std::string(name_of(value.function)) +
                                 " of integers: no text is written for it"};
      if (value.function == Function::places && !triton_)
        return Refusal{"op", value.id + " is a tile of places: no text is written for it yet"};
      if (!meaning::bounds_of(value).empty() &&
          ((value.function != Function::within && !plan_.by_elements(value.tensor) &&
            !(value.function == Function::store && value.shape.empty() && plan_.user != nullptr)) ||
           !triton_))
        return Refusal{"op", value.id +
                                 " has bounds (a mask that compares places): no text is "
                                 "written for them yet"};
    }
    return std::nullopt;
  }

 private:
  /// Is it a store by pointers of the elements that a tile of flags lets through?
  bool flagged(const Value& value) const {
    const int flag = value.operands[1].value;
    // (Of a number one flag.)
    if (value.shape.empty() && flag >= 0)
      return triton_ && plan_.user != nullptr && m_.values[at(flag)].shape.empty();
    return triton_ && plan_.user != nullptr && plan_.by_elements(value.tensor) && flag >= 0 &&
           !m_.values[at(flag)].shape.empty();
  }
  /// Integers of 8 bits that are the lowest bits of what is computed in 32.
  static bool keeps_low_bits(const Value& value) {
    return value.type == "i8" && value.function != Function::int_div &&
           value.function != Function::int_rem && value.function != Function::mul_high;
  }

  /// Of a value of a user's function.
  std::optional<Refusal> of_function(int v) const {
    const Value& value = m_.values[at(v)];
    const bool cut = value.type == "tf32" && value.function == Function::copy;
    if (ids_.contains(value.part_of) && (!triton_ || (with_product(v) && !cut)))
      return Refusal{"op", value.id + " is a step of " + value.part_of};
    if (!triton_ && (value.type == "i8" || value.type == "f8e5m2"))
      return Refusal{"type", value.id + " is of type " + value.type};
    if (value.shape.empty())
      if (auto no = number(v)) return no;
    if (!covered(value))
      return Refusal{"op", value.id + (value.shape.size() == 2
                                           ? " makes a matrix of vectors: no text is written for it"
                                           : " makes a vector of numbers: no text is written")};
    if (!triton_ && value.function == Function::copy && value.operands[0].value >= 0 &&
        value.type != "i32" && m_.values[at(value.operands[0].value)].type == "i32")
      return Refusal{"op", value.id + " makes real numbers of integers: no text is written"};
    if (value.function == Function::product && !m_.in_loop(v) &&
        (!triton_ || plan_.tiles() || !plan_.counter.empty()))
      return Refusal{"op", value.id + " is a product outside the loop"};
    return std::nullopt;
  }

  std::optional<Refusal> number(int v) const {
    const Value& value = m_.values[at(v)];
    if (value.tensor >= 0) {
      const bool known = value.type == "f32" || value.type == "f16" || value.type == "bf16" ||
                         value.type == "i32" ||
                         (value.type == "i8" && value.function == Function::load);
      const bool adds = value.function == Function::store && plan_.adds(value.tensor) &&
                        value.type != "f32" && value.type != "i32";
      if (!triton_ || plan_.persistent || !known || adds)
        return Refusal{"op", value.id + " moves a number: no text is written for it"};
      return std::nullopt;
    }
    const bool reduces = meaning::reduces_rows(value.function);
    if ((!triton_ || plan_.persistent) && (reduces || v >= m_.after_begin))
      return Refusal{"op", value.id + " makes a number of a vector: no text is written for it"};
    if ((!triton_ || plan_.persistent) && m_.in_loop(v))
      return Refusal{"op", value.id +
                               " is a number that is computed in the loop: no text is "
                               "written for it"};
    return std::nullopt;
  }

  /// Is it a step of a product?
  bool with_product(int v) const {
    const std::string& op = m_.values[at(v)].part_of;
    return std::any_of(m_.values.begin(), m_.values.end(), [&](const Value& one) {
      return one.function == Function::product && one.id == op;
    });
  }

  /// Do the operands of what is computed element by element have all of its elements between them?
  bool covered(const Value& value) const {
    if (!meaning::is_elementwise(value.function) || value.shape.empty()) return true;
    bool rows = false, columns = false;
    for (const Operand& one : value.operands) {
      if (one.value < 0) continue;
      const std::size_t rank =
          one.row >= 0 || one.column >= 0 ? std::size_t{1} : m_.values[at(one.value)].shape.size();
      if (rank == value.shape.size()) return true;
      if (rank == 1) (one.along_columns ? columns : rows) = true;
    }
    return triton_ && value.shape.size() == 2 && rows && columns;
  }

  const Plan& plan_;
  const Meaning& m_;
  bool triton_;
  std::set<std::string> ids_;
};

}  // namespace

std::optional<Refusal> no_text_for(const Plan& plan, const EmitOptions& options) {
  return Checker(plan, options).run();
}

}  // namespace twill::emit
