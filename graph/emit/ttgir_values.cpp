// Numbers and arithmetic of numbers and tiles (ttgir_build.hpp), as Triton 3.9 spells them. Other
// things that are done with tiles are in ttgir_tiles.cpp.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "graph/emit/ttgir_build.hpp"
#include "graph/index.hpp"
#include "graph/program/loop_view.hpp"

namespace twill::emit::ws {

namespace {

bool is_static(const Thing& one) {
  return one.kind == Thing::whole || one.kind == Thing::real;
}

double size_of(const Thing& one) {
  return one.kind == Thing::whole ? static_cast<double>(one.number) : one.size;
}

bool compares(const std::string& sign) {
  return sign == "<=" || sign == ">=" || sign == "==" || sign == "!=" || sign == ">" || sign == "<";
}

/// Of arith.cmpi (signed) and arith.cmpf (ordered, but != is also of what is no number).
std::string predicate(const std::string& sign, bool floating, bool without_sign = false) {
  const std::string name = sign == "<="   ? "le"
                           : sign == ">=" ? "ge"
                           : sign == "<"  ? "lt"
                           : sign == ">"  ? "gt"
                           : sign == "!=" ? "ne"
                                          : "eq";
  if (floating) return (name == "ne" ? "u" : "o") + name;
  return name == "eq" || name == "ne" ? name : (without_sign ? "u" : "s") + name;
}

/// Of integers, with a sign or without; "" = none.
std::string integer_operation(const std::string& sign, bool without_sign) {
  const std::string kind = without_sign ? "ui" : "si";
  return sign == "+"    ? "addi"
         : sign == "-"  ? "subi"
         : sign == "*"  ? "muli"
         : sign == "&"  ? "andi"
         : sign == "|"  ? "ori"
         : sign == "^"  ? "xori"
         : sign == "<<" ? "shli"
         : sign == ">>" ? "shr" + kind
         : sign == "//" ? "div" + kind
         : sign == "%"  ? "rem" + kind
                        : "";
}

/// What is done bit by bit: of truths, too.
bool bitwise(const std::string& sign) {
  return sign == "&" || sign == "|" || sign == "^";
}

}  // namespace

Thing Thing::make_whole(std::int64_t x) {
  Thing one;
  one.kind = whole;
  one.number = x;
  return one;
}

Thing Thing::make_value(int id) {
  Thing one;
  one.kind = value;
  one.id = id;
  return one;
}

const Type& Builder::type(const Thing& thing) const {
  if (thing.kind != Thing::value) no_text("a number where a value of the kernel is needed");
  return m_[thing.id].type;
}

std::string Builder::number_of(double x, const std::string& element) {
  if (element == "i1") return x != 0 ? "true" : "false";
  if (element[0] == 'i') return std::to_string(static_cast<std::int64_t>(x));
  if (std::isinf(x)) {
    if (element == "f16") return x > 0 ? "0x7C00" : "0xFC00";
    if (element == "bf16") return x > 0 ? "0x7F80" : "0xFF80";
    return x > 0 ? "0x7F800000" : "0xFF800000";
  }
  if (std::isnan(x)) no_text("a number that is none");
  // Rounded to f32 first, as Triton does; the shortest text that is read as the same number.
  const double rounded = static_cast<double>(static_cast<float>(x));
  char text[64];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*e", digits, rounded);
    if (std::strtod(text, nullptr) == rounded) break;
  }
  return text;
}

int Builder::materialize(const Thing& thing) {
  switch (thing.kind) {
    case Thing::whole:
      return m_.constant(*here, {Type::scalar, "i32", {}, {}, {}},
                         number_of(static_cast<double>(thing.number), "i32"));
    case Thing::real:
      return m_.constant(*here, {Type::scalar, "f32", {}, {}, {}}, number_of(thing.size, "f32"));
    case Thing::truth: return truth(thing.number != 0);
    case Thing::value: return thing.id;
    default: no_text("what is no number is used as one");
  }
}

int Builder::truth(bool yes) {
  return m_.constant(*here, {Type::scalar, "i1", {}, {}, {}}, yes ? "true" : "false");
}

int Builder::splat(int value, const Type& type) {
  if (m_[value].constant) return m_.constant(*here, type, *m_[value].constant);
  return pure("tt.splat $0 : " + m_[value].type.text() + " -> " + type.text(), {value}, type);
}

int Builder::broadcast(int value, const std::vector<std::int64_t>& shape) {
  const Type from = m_[value].type;
  if (from.shape == shape) return value;
  Type to = from;
  to.shape = to.whole = shape;
  if (from.shape.size() != shape.size()) no_text("tiles of different ranks meet");
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (from.shape[d] != shape[d] && from.shape[d] != 1) no_text("tiles of different shapes meet");
  if (m_[value].constant) return m_.constant(*here, to, *m_[value].constant);
  return pure("tt.broadcast $0 : " + from.text() + " -> " + to.text(), {value}, to);
}

int Builder::in_type(const Thing& thing, const Type& type) {
  if (is_static(thing)) {
    if (thing.kind == Thing::real && !type.floating()) no_text("a real number among integers");
    return m_.constant(*here, type, number_of(size_of(thing), type.element));
  }
  const Type from = this->type(thing);
  if (from.kind == Type::scalar && type.kind == Type::tensor) {
    Type to = type;
    to.element = from.element;
    return splat(thing.id, to);
  }
  return type.kind == Type::tensor ? broadcast(thing.id, type.shape) : thing.id;
}

Thing Builder::folded(const std::string& sign, const Thing& a, const Thing& b) const {
  if (a.kind == Thing::whole && b.kind == Thing::whole) {
    const std::int64_t x = a.number, y = b.number;
    if (sign == "+") return Thing::make_whole(x + y);
    if (sign == "-") return Thing::make_whole(x - y);
    if (sign == "*") return Thing::make_whole(x * y);
    if (sign == "&") return Thing::make_whole(x & y);
    if (sign == "|") return Thing::make_whole(x | y);
    if (sign == "^") return Thing::make_whole(x ^ y);
    if ((sign == "//" || sign == "%") && y > 0) {
      const std::int64_t rest = ((x % y) + y) % y;
      return Thing::make_whole(sign == "%" ? rest : (x - rest) / y);
    }
    if (compares(sign)) {
      Thing one;
      one.kind = Thing::truth;
      one.number = sign == "<="   ? x <= y
                   : sign == ">=" ? x >= y
                   : sign == "<"  ? x < y
                   : sign == ">"  ? x > y
                   : sign == "!=" ? x != y
                                  : x == y;
      return one;
    }
  }
  Thing one;
  one.kind = Thing::real;
  const double x = size_of(a), y = size_of(b);
  if (sign == "+")
    one.size = x + y;
  else if (sign == "-")
    one.size = x - y;
  else if (sign == "*")
    one.size = x * y;
  else if (sign == "/" && y != 0)
    one.size = x / y;
  else
    no_text("numbers with " + sign + " between them");
  return one;
}

Thing Builder::integer(const std::string& sign, const Thing& a, const Thing& b) {
  // Sums with whole numbers: one addition or subtraction from the value that they begin with.
  const bool sum = (sign == "+" || sign == "-") && b.kind == Thing::whole;
  if (sum) {
    int base = a.id;
    std::int64_t offset = sign == "+" ? b.number : -b.number;
    bool adds = sign == "+";
    if (m_[a.id].base >= 0) {
      base = m_[a.id].base;
      offset += m_[a.id].offset;
      adds = offset > 0;
    }
    if (offset == 0) return Thing::make_value(base);
    const std::int64_t amount = adds ? offset : -offset;
    const int c = in_type(Thing::make_whole(amount), m_[base].type);
    const int made =
        pure(std::string(adds ? "arith.addi" : "arith.subi") + " $0, $1 : " + m_[base].type.element,
             {base, c}, m_[base].type);
    m_[made].base = base;
    m_[made].offset = offset;
    return Thing::make_value(made);
  }
  if (b.kind == Thing::whole && b.number == 1 && (sign == "*" || sign == "//")) return a;
  if (b.kind == Thing::whole && b.number == 0 && sign == "*") return Thing::make_whole(0);
  if (b.kind == Thing::whole && b.number == 1 && sign == "%") return Thing::make_whole(0);
  if (sign == "*" && b.kind == Thing::whole) return product(a.id, b.number);
  const Type of = a.kind == Thing::value ? type(a) : type(b);
  const bool values = a.kind == Thing::value && b.kind == Thing::value;
  if (sign == "-" && values) {  // of what it is itself, or of a part of a sum
    if (a.id == b.id) return Thing::make_whole(0);
    const auto [first, second] = m_[a.id].sum_of;
    if (first == b.id || second == b.id) return Thing::make_value(first == b.id ? second : first);
  }
  const std::string operation = integer_operation(sign, of.without_sign);
  if (operation.empty()) no_text("integers with " + sign + " between them");
  const int x = in_type(a, of), y = in_type(b, of);
  const int made = pure("arith." + operation + " $0, $1 : " + of.element, {x, y}, of);
  if (sign == "+" && values) m_[made].sum_of = {x, y};
  return Thing::make_value(made);
}

/// Of a product with a known factor one product is made, as Triton's passes do.
Thing Builder::product(int value, std::int64_t factor) {
  if (m_[value].multiplied >= 0) {
    factor *= m_[value].factor;
    value = m_[value].multiplied;
  }
  const Type of = m_[value].type;
  const int c = in_type(Thing::make_whole(factor), of);
  const int made = pure("arith.muli $0, $1 : " + of.element, {value, c}, of);
  m_[made].multiplied = value;
  m_[made].factor = factor;
  return Thing::make_value(made);
}

Thing Builder::binary(const std::string& sign, Thing a, Thing b) {
  if (is_static(a) && is_static(b)) return folded(sign, a, b);
  for (const Thing* one : {&a, &b})
    if (one->kind != Thing::value && !is_static(*one)) no_text("what is no number, with " + sign);
  // What commutes has its number second.
  if (is_static(a) && (sign == "+" || sign == "*" || bitwise(sign))) std::swap(a, b);
  // Beside a real number a whole one is real, too.
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (other->kind == Thing::real && one->kind == Thing::value && type(*one).element == "i32")
      *one = cast(*one, "f32");
  const Type left = a.kind == Thing::value ? type(a) : type(b);
  const Type right = b.kind == Thing::value ? type(b) : left;
  if (left.pointer() && a.kind == Thing::value) {
    if (sign != "+" || (b.kind == Thing::value && right.pointer()))
      no_text("arithmetic of places in memory");
    // A place, then one for each element.
    Type to = left;
    if (b.kind == Thing::value && right.kind == Type::tensor && left.kind == Type::scalar) {
      to = right;
      to.element = left.element;
    }
    if (b.kind == Thing::whole && b.number == 0) return a;
    int place = to.kind == Type::tensor && left.kind == Type::scalar ? splat(a.id, to) : a.id;
    int by = b.kind == Thing::value ? b.id : materialize(b);
    if (left.kind == Type::tensor && right.kind == Type::tensor) {
      if (left.layout->text != right.layout->text || left.shape.size() != right.shape.size())
        no_text("places of different layouts meet");
      for (std::size_t d = 0; d < to.shape.size(); ++d)
        to.shape[d] = std::max(left.shape[d], right.shape[d]);
      to.whole = to.shape;
      place = broadcast(place, to.shape);
      by = broadcast(by, to.shape);
    }
    if (m_[by].type.kind != to.kind) no_text("a place for each element and one step for all");
    return Thing::make_value(
        pure("tt.addptr $0, $1 : " + to.text() + ", " + m_[by].type.text(), {place, by}, to));
  }
  const bool floating =
      (a.kind == Thing::value && left.floating()) || (b.kind == Thing::value && right.floating());
  const bool scalars = left.kind == Type::scalar && right.kind == Type::scalar;
  const bool truths = bitwise(sign) && left.element == "i1" && right.element == "i1";
  // Beside an integer a truth is one, too: 0 or 1.
  if (!floating && !truths && (left.element == "i1" || right.element == "i1")) {
    const std::string whole = left.element == "i1" ? right.element : left.element;
    const auto counted = [&](const Thing& one) {
      const bool is_truth = one.kind == Thing::value && type(one).element == "i1";
      return is_truth ? cast(one, whole == "i1" ? "i32" : whole) : one;
    };
    return binary(sign, counted(a), counted(b));
  }
  if (left.without_sign != right.without_sign) no_text("integers with a sign beside others");
  if (!floating && !truths && left.element != right.element &&
      (left.element == "i32" || left.element == "i64") &&
      (right.element == "i32" || right.element == "i64"))
    return binary(sign, wide(a), wide(b));
  if (!floating && !truths &&
      ((left.element != "i32" && left.element != "i64") || left.element != right.element))
    no_text("integers of other types than i32 and i64");
  if (floating && a.kind == Thing::value && b.kind == Thing::value &&
      left.element != right.element) {
    // (An argument of the launch, say.)
    const auto whole_of = [](const Type& of, const Type& other) {
      return of.kind == Type::scalar && of.element == "i32" && other.element == "f32";
    };
    const auto real = [&](const Thing& one, const Type& of, const Type& other) {
      if (!whole_of(of, other)) return one;
      Type to = of;
      to.element = "f32";
      return Thing::make_value(pure("arith.sitofp $0 : i32 to f32", {one.id}, to));
    };
    if (!whole_of(left, right) && !whole_of(right, left))
      no_text("numbers of different types meet");
    return binary(sign, real(a, left, right), real(b, right, left));
  }
  if (!floating && scalars && !compares(sign)) return integer(sign, a, b);
  // In one shape.
  Type common = left.kind == Type::tensor ? left : right;
  if (floating)
    common.element = a.kind == Thing::value && left.floating() ? left.element : right.element;
  if (left.kind == Type::tensor && right.kind == Type::tensor && a.kind == Thing::value &&
      b.kind == Thing::value) {
    if (left.layout->text != right.layout->text) no_text("tiles of different layouts meet");
    if (left.shape.size() != right.shape.size()) no_text("tiles of different ranks meet");
    for (std::size_t d = 0; d < common.shape.size(); ++d)
      common.shape[d] = std::max(left.shape[d], right.shape[d]);
    common.whole = common.shape;
  }
  const int x = in_type(a, common), y = in_type(b, common);
  if (!floating && sign == "+")  // of nothing
    for (const auto& [zero, other] : {std::pair(x, y), std::pair(y, x)})
      if (m_[zero].constant == "0") return Thing::make_value(other);
  if (compares(sign)) {
    Type compared = common;
    compared.element = "i1";
    return Thing::make_value(pure(std::string(floating ? "arith.cmpf " : "arith.cmpi ") +
                                      predicate(sign, floating, common.without_sign) +
                                      ", $0, $1 : " + common.text(),
                                  {x, y}, compared));
  }
  std::string operation;
  if (floating)
    operation = sign == "+"   ? "addf"
                : sign == "-" ? "subf"
                : sign == "*" ? "mulf"
                : sign == "/" ? "divf"
                              : "";
  else
    operation = integer_operation(sign, common.without_sign);
  if (operation.empty()) no_text("tiles with " + sign + " between them");
  return Thing::make_value(
      pure("arith." + operation + " $0, $1 : " + common.text(), {x, y}, common));
}

Thing Builder::negated(const Thing& one) {
  Thing made = one;
  if (one.kind == Thing::whole) {
    made.number = -one.number;
    return made;
  }
  if (one.kind == Thing::real) {
    made.size = -one.size;
    return made;
  }
  const Type of = type(one);
  if (!of.floating()) no_text("a negated integer");
  return Thing::make_value(pure("arith.negf $0 : " + of.text(), {one.id}, of));
}

Thing Builder::widened(const Expr& item) {
  if (item.parts.size() != 3) no_text("an item with other indices than [:, None] and [None, :]");
  const Thing from = evaluate(item.parts[0]);
  const bool rows = item.parts[1].is_name(":") && item.parts[2].is_name("None");
  const bool columns = item.parts[1].is_name("None") && item.parts[2].is_name(":");
  if (!rows && !columns) no_text("an item with other indices than [:, None] and [None, :]");
  const Type of = type(from);
  const int axis = rows ? 1 : 0;
  if (of.kind != Type::tensor || of.shape.size() != 1 || of.layout->kind != Layout::slice ||
      of.layout->dimension != axis)
    no_text("a vector is widened along another dimension than its layout lacks");
  Type to = of;
  to.layout = of.layout->parent;
  to.shape.insert(to.shape.begin() + axis, 1);
  to.whole = to.shape;
  if (m_[from.id].constant) return Thing::make_value(m_.constant(*here, to, *m_[from.id].constant));
  return Thing::make_value(pure("tt.expand_dims $0 {axis = " + std::to_string(axis) +
                                    " : i32} : " + of.text() + " -> " + to.text(),
                                {from.id}, to));
}

Thing Builder::elementwise(const std::string& operation, std::vector<Thing> all) {
  Type common;
  bool found = false;
  for (const Thing& one : all) {
    if (one.kind != Thing::value) continue;
    const Type of = type(one);
    const bool larger = operation.starts_with("arith.max") || operation.starts_with("arith.min");
    const bool whole = (of.element == "i32" && (operation == "tt.mulhiui" || larger)) ||
                       (of.element == "i64" && larger);
    if (!of.floating() && !whole) no_text(operation + " of integers");
    if (found && of.kind == Type::tensor && common.kind == Type::tensor) {
      if (of.layout->text != common.layout->text || of.shape.size() != common.shape.size())
        no_text("tiles of different layouts meet");
      for (std::size_t d = 0; d < of.shape.size(); ++d)
        common.shape[d] = std::max(common.shape[d], of.shape[d]);
      common.whole = common.shape;
    } else if (!found || of.kind == Type::tensor) {
      common = of;
    }
    found = true;
  }
  if (!found) no_text(operation + " of numbers that are known");
  std::string list;
  std::vector<int> operands;
  for (const Thing& one : all) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    operands.push_back(in_type(one, common));
    if (m_[operands.back()].type.element != common.element)
      no_text("numbers of different types meet");
  }
  return Thing::make_value(pure(operation + " " + list + " : " + common.text(), operands, common));
}

Thing Builder::largest(const Expr& call, bool most) {
  Thing a = needed(call, 0, ""), b = needed(call, 1, "");
  if (is_static(a) && !is_static(b)) std::swap(a, b);
  if (a.kind != Thing::value) no_text("the larger of numbers that are known");
  if (type(a).floating()) {
    if (b.kind == Thing::value && m_[a.id].constant && !m_[b.id].constant) std::swap(a, b);
    return elementwise(most ? "arith.maxnumf" : "arith.minnumf", {a, b});
  }
  if (b.kind == Thing::value && type(b).element != type(a).element)
    std::tie(a, b) = std::pair(wide(a), wide(b));
  const Type of = type(a);
  if (of.element != "i32" && of.element != "i64")
    no_text("the larger of integers of type " + of.element);
  if (b.kind == Thing::value && type(b).without_sign != of.without_sign)
    no_text("the larger of integers with and without a sign");
  const std::string operation =
      std::string("arith.") + (most ? "max" : "min") + (of.without_sign ? "ui" : "si");
  if (of.kind == Type::tensor || (b.kind == Thing::value && type(b).kind == Type::tensor))
    return elementwise(operation, {a, b});
  const int other = in_type(b, of);
  return Thing::make_value(pure(operation + " $0, $1 : " + of.element, {a.id, other}, of));
}

Thing Builder::chosen_number(int condition, const Thing& yes, const Thing& no) {
  const Thing& made = yes.kind == Thing::value ? yes : no;
  if (made.kind != Thing::value || m_[condition].type.element != "i1")
    no_text("a choice of numbers that are known");
  const Type common = type(made);
  const int a = in_type(yes, common), b = in_type(no, common);
  if (m_[a].type.element != common.element || m_[b].type.element != common.element)
    no_text("numbers of different types meet");
  return Thing::make_value(
      pure("arith.select $0, $1, $2 : " + common.text(), {condition, a, b}, common));
}

Thing Builder::chosen(const Expr& call) {
  const Thing which = needed(call, 0, ""), yes = needed(call, 1, ""), no = needed(call, 2, "");
  if (which.kind != Thing::value) no_text("a choice by what is known");
  Type truths = type(which);
  const bool one = truths.kind == Type::scalar;  // (for all elements)
  for (const Thing* side : {&yes, &no})
    if (truths.kind == Type::scalar && side->kind == Thing::value) truths = type(*side);
  if (truths.kind != Type::tensor) return chosen_number(which.id, yes, no);
  Type common = truths;
  common.element = "f32";
  for (const Thing* side : {&yes, &no})
    if (side->kind == Thing::value) {
      const Type of = type(*side);
      common.element = of.element;
      if (of.kind == Type::scalar) continue;  // (one number for all elements)
      if (of.kind != Type::tensor || of.layout->text != truths.layout->text)
        no_text("tiles of different layouts meet");
      for (std::size_t d = 0; d < common.shape.size(); ++d)
        common.shape[d] = std::max(common.shape[d], of.shape[d]);
    }
  common.whole = common.shape;
  Type flags = common;
  flags.element = "i1";
  const int condition = one ? splat(which.id, flags) : broadcast(which.id, common.shape);
  const int a = in_type(yes, common), b = in_type(no, common);
  return Thing::make_value(
      pure("arith.select $0, $1, $2 : " + m_[condition].type.text() + ", " + common.text(),
           {condition, a, b}, common));
}

}  // namespace twill::emit::ws
