// Register tiles (ttgir_build.hpp): reductions, scans, layouts, types, as Triton 3.9 spells them.
#include <string>
#include <utility>

#include "graph/emit/ttgir_build.hpp"
#include "graph/index.hpp"

namespace twill::emit::ws {

namespace {

/// What joins two elements of a reduction or a scan: of f32 as it is called, of i32 its like; "" =
/// none.
std::string joining(const std::string& of_reals, const std::string& element) {
  if (element == "f32") return of_reals;
  if (element != "i32") return "";
  return of_reals == "addf"      ? "addi"
         : of_reals == "minnumf" ? "minsi"
         : of_reals == "maxnumf" ? "maxsi"
                                 : "";
}

}  // namespace

Thing Builder::reduced(const Expr& call, std::string combine) {
  if (combine.empty()) {  // (of gl.reduce the text names a function)
    const Expr* function = argument(call, 2, "combine_fn");
    if (function == nullptr || function->text != "multiply_up")
      no_text("a reduction with another function than a product");
    combine = "mulf";
  }
  const Thing from = needed(call, 0, "");
  const std::int64_t axis = whole_argument(call, 1, "axis");
  const Type of = type(from);
  const bool vector = of.shape.size() == 1;  // (of which a number is left)
  if (of.kind != Type::tensor || (!vector && of.shape.size() != 2) || axis < 0 ||
      axis > (vector ? 0 : 1) || (of.element != "f32" && (of.element != "i32" || of.without_sign)))
    no_text("a reduction of what is no f32 tile");
  const std::string& number = of.element;
  const std::string joined = joining(combine, number);
  if (joined.empty()) no_text("a product of " + number);
  const std::string along = std::to_string(axis);
  Type to{Type::scalar, of.element, {}, {}, {}};
  if (!vector) {
    to = of;
    to.shape = to.whole = {of.shape[at(static_cast<int>(1 - axis))]};
    auto layout = std::make_shared<Layout>();
    layout->kind = Layout::slice;
    layout->parent = of.layout;
    layout->dimension = static_cast<int>(axis);
    layout->text = "#ttg.slice<{dim = " + along + ", parent = " + of.layout->text + "}>";
    to.layout = layout;
  }
  return Thing::make_value(pure(
      "\"tt.reduce\"($0) <{axis = " + along + " : i32}> ({\n^bb0(%left: " + number +
          ", %right: " + number + "):\n  %joined = arith." + joined + " %left, %right : " + number +
          "\n  tt.reduce.return %joined : " + number + "\n}) : (" + of.text() + ") -> " + to.text(),
      {from.id}, to));
}

Thing Builder::scanned(const Expr& call) {
  const Thing from = needed(call, 0, "");
  const std::int64_t axis = whole_argument(call, 1, "axis");
  const Type of = type(from);
  if (of.kind != Type::tensor || axis < 0 || axis >= static_cast<std::int64_t>(of.shape.size()) ||
      of.without_sign)
    no_text("a scan of what is no tile");
  const Expr* function = argument(call, 2, "combine_fn");
  const Expr* reverse = argument(call, 9, "reverse");
  const std::string name = function == nullptr ? "" : function->text;
  const std::string joined = joining(name == "add_up"         ? "addf"
                                     : name == "keep_larger"  ? "maxnumf"
                                     : name == "keep_smaller" ? "minnumf"
                                     : name == "multiply_up"  ? "mulf"
                                                              : "",
                                     of.element);
  if (joined.empty()) no_text("a scan of " + of.element + " with the function " + name);
  return Thing::make_value(
      pure("\"tt.scan\"($0) <{axis = " + std::to_string(axis) + " : i32, reverse = " +
               (reverse != nullptr && evaluate(*reverse).number != 0 ? "true" : "false") +
               "}> ({\n^bb0(%left: " + of.element + ", %right: " + of.element +
               "):\n  %joined = arith." + joined + " %left, %right : " + of.element +
               "\n  tt.scan.return %joined : " + of.element + "\n}) : (" + of.text() + ") -> " +
               of.text(),
           {from.id}, of));
}

Thing Builder::converted(const Thing& from, const LayoutRef& to) {
  const Type of = type(from);
  if (of.kind != Type::tensor) no_text("a layout for what is no tile");
  if (of.layout->text == to->text && !m_[from.id].constant) return from;
  Type type = of;
  type.layout = to;
  // (Of a constant, too: no pass of Gluon's makes a constant of it.)
  return Thing::make_value(
      pure("ttg.convert_layout $0 : " + of.text() + " -> " + type.text(), {from.id}, type));
}

Thing Builder::transposed(const Expr& call) {
  const Thing from = needed(call, 0, "");
  const Type of = type(from);
  if (wholes(needed(call, 1, "")) != std::vector<std::int64_t>{1, 0})
    no_text("another order than the transpose");
  if (of.kind != Type::tensor || of.shape.size() != 2 || of.layout->instruction.size() != 3 ||
      of.layout->warps.size() != 2 || of.layout->warps[1] != 1 ||
      of.shape[0] != 16 * of.layout->warps[0] || of.shape[1] != of.layout->instruction[1] ||
      (of.shape[1] & (of.shape[1] - 1)) != 0)
    no_text("the transpose of what is not the result of one wgmma");
  // Of a result of wgmma (PTX ISA, "Register Fragments for wgmma"): a thread has two neighbours of
  // a row, the same eight rows below, and that again every eight columns; four threads share a row,
  // eight rows a warp. Warps have 16 rows each. Here rows are columns.
  std::string registers = "[1, 0], [0, 8]", warps;
  for (std::int64_t column = 8; column < of.shape[1]; column *= 2)
    registers += ", [" + std::to_string(column) + ", 0]";
  for (std::int64_t row = 16; row < of.shape[0]; row *= 2)
    warps += (warps.empty() ? "[0, " : ", [0, ") + std::to_string(row) + "]";
  Type to = of;
  std::swap(to.shape[0], to.shape[1]);
  to.whole = to.shape;
  auto layout = std::make_shared<Layout>();
  layout->text = m_.alias("#ttg.linear<{register = [" + registers +
                              "], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [" +
                              warps + "], block = []}>",
                          "turned_" + shape_text(to.shape, "x"));
  to.layout = layout;
  return Thing::make_value(pure(
      "tt.trans $0 {order = array<i32: 1, 0>} : " + of.text() + " -> " + to.text(), {from.id}, to));
}

Thing Builder::wide(const Thing& from) {
  if (from.kind == Thing::whole)
    return Thing::make_value(
        m_.constant(*here, {Type::scalar, "i64", {}, {}, {}}, std::to_string(from.number)));
  const Type of = type(from);
  if (of.element == "i64") return from;
  if (of.element != "i32") no_text("numbers of type " + of.element + " in 64 bits");
  Type to = of;
  to.element = "i64";
  return Thing::make_value(
      pure("arith.extsi $0 : " + of.text() + " to " + to.text(), {from.id}, to));
}

Thing Builder::cast(const Thing& from, const std::string& element) {
  const Type of = type(from);
  if (of.element == element) return from;
  Type to = of;
  to.element = element;
  const auto half = [](const std::string& type) { return type == "f16" || type == "bf16"; };
  const auto eighth = [](const std::string& type) { return type.starts_with("f8"); };
  std::string name;
  if (of.element == "f32")
    name = half(element) ? "truncf" : element == "i32" || element == "i8" ? "fptosi" : "";
  if (element == "f32" && half(of.element)) name = "extf";
  if (element == "f32" && (of.element == "i32" || of.element == "i8")) name = "sitofp";
  if ((element == "i32" || element == "i64") && of.element == "i1") name = "extui";
  if (element == "i32" && of.element == "i8") name = "extsi";
  if (element == "i8" && of.element == "i32") name = "trunci";
  if (element == "i32" && of.element == "i64") name = "trunci";
  if (of.element == "f32" && eighth(element))
    return Thing::make_value(
        pure("tt.fp_to_fp $0, rounding = rtne : " + of.text() + " -> " + to.text(), {from.id}, to));
  if (eighth(of.element) && element == "f32")
    return Thing::make_value(
        pure("tt.fp_to_fp $0 : " + of.text() + " -> " + to.text(), {from.id}, to));
  if (name.empty()) no_text("numbers of type " + of.element + " as " + element);
  return Thing::make_value(
      pure("arith." + name + " $0 : " + of.text() + " to " + to.text(), {from.id}, to));
}

Thing Builder::as_bits(const Thing& from, const std::string& element) {
  const Type of = type(from);
  Type to = of;
  to.without_sign = element == "u32";
  to.element = to.without_sign ? "i32" : element;
  const auto is_32 = [](const std::string& one) { return one == "i32" || one == "f32"; };
  if (!is_32(of.element) || !is_32(to.element))
    no_text("the bits of " + of.element + " as those of " + element);
  if (of.element == to.element && of.without_sign == to.without_sign) return from;
  return Thing::make_value(
      pure("tt.bitcast $0 : " + of.text() + " -> " + to.text(), {from.id}, to));
}

Thing Builder::full(const Expr& call) {
  const std::vector<std::int64_t> shape = wholes(needed(call, 0, ""));
  const Thing number = needed(call, 1, ""), element = needed(call, 2, ""),
              layout = needed(call, 3, "");
  if (element.kind != Thing::element || layout.kind != Thing::layout)
    no_text("a tile without a type or a layout");
  const Type type{Type::tensor, element.text, shape, shape, layout.of};
  return Thing::make_value(in_type(number, type));
}

Thing Builder::range(const Expr& call) {
  const std::int64_t begin = whole_argument(call, 0, ""), end = whole_argument(call, 1, "");
  const Thing layout = needed(call, 2, "layout");
  if (layout.kind != Thing::layout || end <= begin) no_text("a range without a layout");
  const std::vector<std::int64_t> shape{end - begin};
  const Type type{Type::tensor, "i32", shape, shape, layout.of};
  return Thing::make_value(pure("tt.make_range {end = " + std::to_string(end) + " : i32, start = " +
                                    std::to_string(begin) + " : i32} : " + type.text(),
                                {}, type));
}

Thing Builder::histogram(const Expr& call) {
  const Thing of = needed(call, 0, ""), layout = needed(call, 9, "layout");
  const std::vector<std::int64_t> bins{whole_argument(call, 1, "")};
  if (of.kind != Thing::value || layout.kind != Thing::layout) no_text("a count of no vector");
  const Type to{Type::tensor, "i32", bins, bins, layout.of};
  return Thing::make_value(
      pure("tt.histogram $0 : " + type(of).text() + " -> " + to.text(), {of.id}, to));
}

Thing Builder::asm_elementwise(const Expr& call) {
  const Thing code = needed(call, 0, ""), constraints = needed(call, 1, ""),
              list = needed(call, 2, "");
  const Thing is_pure = needed(call, 4, "is_pure");
  if (code.kind != Thing::quoted || constraints.kind != Thing::quoted ||
      list.kind != Thing::several || list.parts.size() != 1 || is_pure.kind != Thing::truth ||
      is_pure.number != 0 || whole_argument(call, 5, "pack") != 1)
    no_text("instructions of another form");
  std::string instruction;
  for (const char c : code.text) instruction += c == '$' ? std::string("$$") : std::string(1, c);
  const Thing from = list.parts[0];
  const Type of = type(from);
  Op& op = append(Op::plain);
  op.text = "tt.elementwise_inline_asm \"" + instruction + "\" {constraints = \"" +
            constraints.text + "\", packed_element = 1 : i32, pure = false} $0 : " + of.text() +
            " -> " + of.text();
  op.operands = {from.id};
  const int made = m_.value(of);
  op.results = {made};
  return Thing::make_value(made);
}

}  // namespace twill::emit::ws
