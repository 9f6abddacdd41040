// Tiles in another form as Gluon expressions: reshapes, permutations, joins, splits. The layouts in
// between are those that Gluon makes of each; what it splits has a layout in which a thread has
// both parts.
#include <algorithm>

#include "graph/emit/gluon_slot.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"
#include "graph/meaning/rearranged.hpp"

namespace twill::emit {

using meaning::Digit;
using program::Refusal;

namespace {

bool is_power(std::int64_t x) {
  return x > 0 && (x & (x - 1)) == 0;
}

std::string list_text(const std::vector<std::int64_t>& all, const char* open, const char* close) {
  std::string text;
  for (const std::int64_t one : all) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return open + text + (all.size() == 1 && *open == '(' ? "," : "") + close;
}

/// A dimension of what is rearranged: a digit of the result, or one place of two.
struct Dimension {
  std::int64_t extent = 1;
  int digit = -1;
  int place = 0;
};

/// A text that is made step by step, with its dimensions.
struct Shaped {
  std::string text;
  std::vector<std::int64_t> shape;
  std::string before = "", reshaped = "";

  void reshape(const std::vector<std::int64_t>& to) {
    if (to == shape) return;
    if (text != reshaped) before = text;  // (Of two in a row the second is enough.)
    text = reshaped = "gl.reshape(" + before + ", " + list_text(to, "[", "]") + ")";
    shape = to;
  }
  void permute(const std::vector<std::int64_t>& order) {
    std::vector<std::int64_t> to;
    for (const std::int64_t d : order) to.push_back(shape[static_cast<std::size_t>(d)]);
    shape = to;
    if (!std::is_sorted(order.begin(), order.end()))
      text = "gl.permute(" + text + ", " + list_text(order, "(", ")") + ")";
  }
};

/// Digits whose extents are powers of two; none of them goes over the end of a tile.
std::vector<Digit> whole_digits(const std::vector<Digit>& given, std::int64_t each) {
  std::vector<Digit> all;
  for (const Digit& digit : given) {
    if (digit.extent == 1) continue;
    if (digit.step > 0 && digit.step < each && digit.extent * digit.step > each) {
      all.push_back({digit.extent * digit.step / each, each});
      all.push_back({each / digit.step, digit.step});
    } else {
      all.push_back(digit);
    }
  }
  return all;
}

/// What is rearranged, as dimensions in its own order; empty = the digits are no part of it.
std::vector<Dimension> dimensions_of(const std::vector<Digit>& digits, std::int64_t first,
                                     std::int64_t all) {
  std::vector<int> sorted;
  for (int k = 0; k < static_cast<int>(digits.size()); ++k)
    if (digits[at(k)].step > 0) sorted.push_back(k);
  std::sort(sorted.begin(), sorted.end(),
            [&](int a, int b) { return digits[at(a)].step > digits[at(b)].step; });
  std::vector<Dimension> dimensions;
  std::int64_t rest = all;
  const auto leave_out = [&](std::int64_t below) {
    for (; rest > below; rest /= 2)
      dimensions.push_back({2, -1, static_cast<int>(first / (rest / 2) % 2)});
  };
  for (const int k : sorted) {
    const Digit& digit = digits[at(k)];
    if (!is_power(digit.extent) || !is_power(digit.step) || digit.extent * digit.step > rest)
      return {};
    leave_out(digit.extent * digit.step);
    if (first / digit.step % digit.extent != 0) return {};  // (it would carry)
    dimensions.push_back({digit.extent, k, 0});
    rest = digit.step;
  }
  leave_out(1);
  return dimensions;
}

}  // namespace

Expression ValuePrinter::rearranged(const meaning::Value& value, const std::vector<Expression>& in,
                                    const Layout& layout) const {
  const auto refuse = [&](const std::string& why) { throw Refusal{"op", value.id + " " + why}; };
  const meaning::Rearrangement how = meaning::rearrangement_of(value);
  const auto shape_of = [&](std::size_t k) {
    return plan_.meaning->values[at(value.operands[k].value)].shape;
  };
  const std::int64_t each = meaning::elements(shape_of(0));
  for (std::size_t k = 0; k < how.tiles; ++k)
    if (in[k].type != value.type || in[k].layout.kind == Layout::none || in[k].layout.turned ||
        shape_of(k) != shape_of(0))
      refuse("rearranges what is no whole tile of its type");
  const std::vector<Digit> digits = whole_digits(how.digits, each);
  const auto tiles = static_cast<std::int64_t>(how.tiles);
  std::vector<Dimension> from = dimensions_of(digits, how.first, each * tiles);
  if (!is_power(each) || from.empty()) refuse("rearranges a tile in pieces that have no text");

  // The tiles, of two the one that is meant, or both behind each other.
  const Dimension which = tiles == 2 ? from.front() : Dimension{};
  if (tiles == 2) from.erase(from.begin());
  std::vector<std::int64_t> extents;
  for (const Dimension& one : from) extents.push_back(one.extent);
  Shaped made{in[at(which.place)].text, shape_of(0)};
  made.reshape(extents);
  if (which.digit >= 0) {
    Shaped other{converted(in[1], in[0].layout), shape_of(0)};
    other.reshape(extents);
    made.text = "gl.join(" + made.text + ", " + other.text + ")";
    made.shape.push_back(2);
    from.push_back(which);
  }

  // What is left out behind what is kept, in the result's order.
  std::vector<std::int64_t> order, kept;
  std::int64_t elements = 1;
  for (int k = 0; k < static_cast<int>(digits.size()); ++k)
    for (std::size_t d = 0; d < from.size(); ++d)
      if (from[d].digit == k) {
        order.push_back(static_cast<std::int64_t>(d));
        kept.push_back(digits[at(k)].extent);
        elements *= digits[at(k)].extent;
      }
  std::vector<int> places;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d].digit < 0) {
      order.push_back(static_cast<std::int64_t>(d));
      places.push_back(from[d].place);
    }
  made.permute(order);
  for (; !places.empty(); places.pop_back()) {
    const std::int64_t rest = elements << (places.size() - 1);
    made.reshape({rest, 2});
    made.text = "gl.split(gl.convert_layout(" + made.text +
                ", gl.BlockedLayout([1, 2], [32, 1], [" + std::to_string(plan_.warps(slot_)) +
                ", 1], [1, 0])))[" + std::to_string(places.back()) + "]";
    made.shape = {rest};
  }

  // What is repeated.
  std::int64_t repeats = 0;
  for (const Digit& digit : digits)
    if (digit.step == 0) {
      if (!is_power(digit.extent)) refuse("repeats a tile by no power of two");
      for (std::int64_t times = 1; times < digit.extent; times *= 2) ++repeats;
    }
  if (repeats > 0) {
    needs_.twice = true;
    made.reshape(kept);
    for (std::int64_t k = 0; k < repeats; ++k) {
      made.text = "beside_itself(" + made.text + ")";
      made.shape.push_back(2);
    }
    auto next = static_cast<std::int64_t>(kept.size());
    std::int64_t own = 0;
    order.clear();
    for (const Digit& digit : digits) {
      if (digit.step > 0) order.push_back(own++);
      for (std::int64_t times = 1; digit.step == 0 && times < digit.extent; times *= 2)
        order.push_back(next++);
    }
    made.permute(order);
  }
  made.reshape(value.shape);
  return {"gl.convert_layout(" + made.text + ", " + text_of(layout) + ")", layout, value.type};
}

}  // namespace twill::emit
