// Masks that compare places, and places themselves, as Gluon (meaning/bounds.hpp). A thread knows
// the places of its elements: nothing is read.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/emit/register_tile.hpp"
#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/integers.hpp"

namespace twill::emit {
namespace {

using meaning::Bound;
using meaning::Operand;
using meaning::Value;
using program::Refusal;

std::string whole_text(double x) {
  return std::to_string(static_cast<std::int64_t>(x));
}

/// The least integer of 32 bits: what it is from 0 is none.
constexpr double kLeast = std::numeric_limits<std::int32_t>::min();

/// How often an iteration may be counted in with no thought of 32 bits.
constexpr double kLargeFactor = 1 << 20;

/// A sum of whole multiples.
class LinearTerms {
 public:
  void add(double factor, const std::string& what) {
    if (factor == 0) return;
    const double size = std::abs(factor);
    if (factor == kLeast)
      terms_.emplace_back(false, what + " * " + whole_text(factor));
    else
      terms_.emplace_back(factor < 0, what + (size == 1 ? "" : " * " + whole_text(size)));
  }
  void add(double number) {
    if (number == kLeast)
      terms_.emplace_back(false, whole_text(number));
    else if (number != 0)
      terms_.emplace_back(number < 0, whole_text(std::abs(number)));
  }
  bool empty() const { return terms_.empty(); }
  /// Of it, or of what it is from 0; what is added stands first.
  std::string text(bool negated = false) const {
    std::string all;
    for (const bool minus : {false, true})
      for (const auto& [negative, term] : terms_)
        if ((negative != negated) == minus)
          all += (all.empty() ? (minus ? "0 - " : "") : (minus ? " - " : " + ")) + term;
    return all.empty() ? "0" : all;
  }

 private:
  std::vector<std::pair<bool, std::string>> terms_;  ///< is it subtracted?
};

}  // namespace

std::int64_t ValuePrinter::own_bits(const Value& value, const Layout& layout) const {
  if (value.shape.size() != 2 || layout.kind != Layout::matrix || layout.turned) return 0;
  const auto tile =
      register_tile(plan_.legal.target, layout.rows, layout.columns, plan_.warps(slot_));
  return tile ? column_bits_of_threads(*tile) : 0;
}

std::string ValuePrinter::compared_columns(const std::string& columns, bool at_least,
                                           const std::string& limit, std::int64_t own) const {
  // (A number that is known beforehand, as in the first iterations, is compared with as it is.)
  const bool known = limit.find_first_not_of("0123456789+-*() ") == std::string::npos;
  if (own == 0 || known) return columns + (at_least ? " >= " : " <= ") + limit;
  (at_least ? needs_.at_least : needs_.at_most) = true;
  return (at_least ? "at_least(" : "at_most(") + columns + ", " + limit + ", " +
         std::to_string(own) + ")";
}

ValuePrinter::Places ValuePrinter::places_of(const Value& value, const Layout& layout,
                                             bool repeated) const {
  const auto along = [&](Layout::Kind kind, std::int64_t extent) {
    std::string text = "gl.arange(0, " + std::to_string(extent) +
                       ", layout=" + text_of({kind, layout.rows, layout.columns}) + ")";
    // What is the same in every iteration would be held in registers over the loop.
    if (!repeated) return text;
    needs_.anew = true;
    return "anew(" + text + ")";
  };
  if (value.shape.size() == 2)
    return {along(Layout::of_rows, value.shape[0]) + "[:, None]",
            along(Layout::of_columns, value.shape[1]) + "[None, :]"};
  if (value.shape.size() == 1) return {along(layout.kind, value.shape[0]), "0"};
  return {"0", "0"};
}

std::string ValuePrinter::linear(const Value& value, std::size_t first, const Places& places,
                                 const std::string& iteration, bool compared) const {
  for (std::size_t k = 0; k < meaning::kBoundNumbers; ++k) {
    const Operand& one = value.operands[first + k];
    // Of a module's parameter the launch alone knows the number, of a kernel file's constant the
    // file.
    const bool parameter = k == 3 && !one.constant.empty() && plan_.user != nullptr;
    if (one.value >= 0 || (!one.constant.empty() && k != 3) ||
        (!parameter && one.number != std::trunc(one.number)))
      throw unknown_factor(value);
  }
  const auto number = [&](std::size_t k) { return value.operands[first + k].number; };
  if (number(2) != 0 && iteration.empty())
    throw Refusal{"op", value.id + " has places that change from iteration to iteration, outside"};
  // Numbers go with the rows, of which a thread has few.
  LinearTerms rows, columns;
  rows.add(number(0), places.row);
  columns.add(number(1), places.column);
  const Operand& begin = value.operands[first + 3];
  if (!begin.constant.empty() && plan_.user != nullptr)
    rows.add(1, this->number(begin).text);
  else
    rows.add(begin.number);
  // (A product of Python's numbers has more than 32 bits.)
  const bool large = !compared && std::abs(number(2)) >= kLargeFactor;
  const bool known = iteration.find_first_not_of("0123456789") == std::string::npos;
  if (large && known && !iteration.empty()) {
    const std::int64_t all = std::stoll(iteration) * static_cast<std::int64_t>(number(2));
    rows.add(static_cast<double>(meaning::wrapped(all, 32)));
  } else if (iteration != "0") {
    const std::string of = large ? "gl.to_tensor(" + iteration + ")" : iteration;
    rows.add(number(2), large || of.find(' ') == std::string::npos ? of : "(" + of + ")");
  }
  if (!compared) return columns.empty() ? rows.text() : columns.text() + " + (" + rows.text() + ")";
  if (places.own != 0 && std::abs(number(1)) == 1)
    return compared_columns(places.column, number(1) > 0, rows.text(number(1) > 0), places.own);
  return number(1) > 0 ? columns.text() + " >= " + rows.text(true)
                       : rows.text() + " >= " + columns.text(true);
}

std::string ValuePrinter::kept(const Value& value, const Layout& layout,
                               const std::string& iteration) const {
  const std::vector<Bound> bounds = meaning::bounds_of(value);
  const std::int64_t own = own_bits(value, layout);
  std::string all;
  for (std::size_t k = 0; k < bounds.size(); ++k) {
    // Of columns apart from what is a thread's own the rows alone are the same in every iteration.
    const bool repeated = !iteration.empty() && bounds[k].per_iteration == 0;
    const bool apart = own != 0 && (!repeated || bounds[k].rows != 0);
    Places places = places_of(value, layout, repeated);
    if (apart) places = {places.row, places_of(value, layout, false).column, own};
    const std::string one = linear(
        value,
        static_cast<std::size_t>(meaning::first_bound(value.function)) + k * meaning::kBoundNumbers,
        places, iteration, true);
    const bool called = one.starts_with("at_");
    const std::string term = called ? one : "(" + one + ")";
    all += bounds.size() == 1 ? one : (all.empty() ? "" : " & ") + term;
  }
  return all;
}

Expression ValuePrinter::places(const Value& value, const Layout& layout,
                                const std::string& iteration) const {
  const bool changes = value.operands[2].number != 0;
  const Places where = places_of(value, layout, !iteration.empty() && !changes);
  const std::string text = linear(value, 0, where, iteration, false);
  // (A number that is known while the text is compiled would be divided as Python does.)
  return {value.shape.empty() ? "gl.to_tensor(" + text + ")" : text, layout, value.type};
}

}  // namespace twill::emit
