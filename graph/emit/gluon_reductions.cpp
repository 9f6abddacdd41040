// Sums, products and extremes of rows, of columns and of vectors, and running ones: of integers as
// i32, of all other numbers in f32.
#include <algorithm>

#include "graph/emit/gluon_slot.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"

namespace twill::emit {

using meaning::Function;
using program::Refusal;

namespace {

struct Counted {
  std::string text, type;
};

/// An operand as it is added up or compared.
Counted counted(const meaning::Value& value, const Expression& of) {
  const std::string type = value.type == "i32" || value.type == "i8" ? "i32" : "f32";
  const std::string cast = type == "i32" ? ".to(gl.int32)" : ".to(gl.float32)";
  return {of.text + (of.type == type ? "" : cast), type};
}

/// In which Triton scans a tile: neighbours of a row first; "" = none is known.
std::string scan_layout(std::int64_t m, std::int64_t n, int warps) {
  constexpr std::int64_t kTogether = 4, kThreads = 32;
  const auto power = [](std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; };
  if (!power(m) || !power(n) || !power(warps)) return "";
  const std::int64_t across = std::clamp<std::int64_t>(n / kTogether, 1, kThreads);
  return "gl.BlockedLayout([1, " + std::to_string(std::min(kTogether, n)) + "], [" +
         std::to_string(kThreads / across) + ", " + std::to_string(across) + "], [" +
         std::to_string(warps) + ", 1], [1, 0])";
}

}  // namespace

Expression ValuePrinter::reduced(const meaning::Value& value, const Expression& of,
                                 const Layout& layout) const {
  const Counted in = counted(value, of);
  const bool matrix = of.layout.kind == Layout::matrix;
  if (of.layout.turned || of.layout.kind == Layout::none)
    throw Refusal{"operand", value.id + " reduces what is no tile"};
  const bool down = !matrix || value.operands[0].transposed;
  Layout left{Layout::none, 0, 0};
  if (matrix)
    left = {down ? Layout::of_columns : Layout::of_rows, of.layout.rows, of.layout.columns};
  const std::string with = value.function == Function::row_max   ? "gl.max("
                           : value.function == Function::row_min ? "gl.min("
                                                                 : "gl.sum(";
  if (value.function == Function::row_product) {
    needs_.product = true;
    const std::string along = down ? ", 0, multiply_up)" : ", 1, multiply_up)";
    return {converted({"gl.reduce(" + in.text + along, left, in.type}, layout), layout, in.type};
  }
  const Expression made{with + in.text + (down ? ", axis=0)" : ", axis=1)"), left, in.type};
  return {converted(made, layout), layout, in.type};
}

Expression ValuePrinter::running(const meaning::Value& value, const Expression& of,
                                 const Layout& layout) const {
  const int warps = plan_.warps(slot_);
  if (of.layout.kind == Layout::none || of.layout.turned || of.layout != layout)
    throw Refusal{"operand", value.id + " is a running sum of what is no tile of its layout"};
  const bool vector = value.shape.size() == 1;
  const std::string scanned = vector ? lone_vector_layout(value.shape[0], warps)
                                     : scan_layout(value.shape[0], value.shape[1], warps);
  if (scanned.empty() || (vector && (value.shape[0] & (value.shape[0] - 1)) != 0))
    throw Refusal{"op", value.id + " is a running sum of a tile that has no layout for it"};
  const bool most = value.function == Function::running_max;
  const bool least = value.function == Function::running_min;
  const bool product = value.function == Function::running_product;
  (most      ? needs_.running_max
   : least   ? needs_.running_min
   : product ? needs_.product
             : needs_.running_sum) = true;
  const std::string by = most      ? "keep_larger"
                         : least   ? "keep_smaller"
                         : product ? "multiply_up"
                                   : "add_up";
  const Counted in = counted(value, of);
  const std::string axis = !vector && meaning::runs_along_rows(value) ? "1" : "0";
  const bool lone = layout.kind == Layout::alone;
  const std::string tile = lone ? in.text : "gl.convert_layout(" + in.text + ", " + scanned + ")";
  const std::string made = "gl.associative_scan(" + tile + ", " + (lone ? "0" : axis) + ", " + by +
                           (meaning::runs_from_end(value) ? ", reverse=True)" : ")");
  return {lone ? made : "gl.convert_layout(" + made + ", " + text_of(layout) + ")", layout,
          in.type};
}

}  // namespace twill::emit
