// Integers of 32 bits, as Triton computes with them: modulo 2 to the power of 32, division towards
// 0, shifts to the right with the sign. Those of 8 bits are computed in 32, whose lowest are kept.
#include <array>
#include <cmath>
#include <limits>

#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"

namespace twill::emit {

namespace {

constexpr const char* kTo8Bits = ".to(gl.int8)";

}  // namespace

std::optional<std::string> whole_text(const meaning::Operand& one) {
  if (!one.constant.empty() || one.number != std::nearbyint(one.number) ||
      one.number < std::numeric_limits<std::int32_t>::min() ||
      one.number > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return std::to_string(static_cast<std::int64_t>(one.number));
}

Expression ValuePrinter::of_integers(const meaning::Value& value, const std::vector<Expression>& in,
                                     const Layout& layout) const {
  using meaning::Function;
  const auto refuse = [&](const std::string& what) {
    throw program::Refusal{"op", value.id + " " + what + ": no text is written for it"};
  };
  if (value.type != "i32" && value.type != "i8") refuse("makes integers of type " + value.type);
  const bool numbers = in[0].type.empty() && in[1].type.empty();
  if (numbers && value.operands[0].constant.empty() && value.operands[1].constant.empty())
    refuse("is made of two numbers");
  std::array<std::string, 2> text;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!in[k].type.empty()) {
      if (in[k].type != "i32" && in[k].type != "i8")
        refuse("is made of integers of type " + in[k].type);
      text[k] = placed(value, k, in[k], layout) + (in[k].type == "i8" ? ".to(gl.int32)" : "");
      continue;
    }
    // (An integer of the launch may be a constant of Python's.)
    if (!value.operands[k].constant.empty() && plan_.user != nullptr) {
      const bool made = k == 0 || (numbers && value.operands[0].constant.empty());
      text[k] = made ? "gl.to_tensor(" + in[k].text + ")" : in[k].text;
      continue;
    }
    const auto number = whole_text(value.operands[k]);
    if (!number) refuse("is made of an integer with no whole number of 32 bits");
    text[k] = *number;
  }
  // (Of 8 bits, too, in 32, of which the lowest are left.)
  const bool narrow = value.type == "i8";
  const auto with = [&](const char* sign) {
    return Expression{"(" + text[0] + " " + sign + " " + text[1] + ")" + (narrow ? kTo8Bits : ""),
                      layout, value.type};
  };
  switch (value.function) {
    case Function::int_add: return with("+");
    case Function::int_sub: return with("-");
    case Function::int_mul: return with("*");
    case Function::int_div: return with("//");
    case Function::int_rem: return with("%");
    case Function::bit_and: return with("&");
    case Function::bit_or: return with("|");
    case Function::bit_xor: return with("^");
    case Function::shift_left: return with("<<");
    case Function::shift_right: return with(">>");
    case Function::shift_right_logical: {
      if (in[0].type.empty()) refuse("shifts a number");
      if (narrow) {  // (what 32 bits have of them, without the copies of the sign)
        text[0] = "(" + text[0] + " & 255)";
        return with(">>");
      }
      // (Without sign, then with one again.)
      const std::string by =
          in[1].type.empty() ? text[1] : text[1] + ".to(gl.uint32, bitcast=True)";
      return {
          "(" + text[0] + ".to(gl.uint32, bitcast=True) >> " + by + ").to(gl.int32, bitcast=True)",
          layout, value.type};
    }
    case Function::mul_high:
      if (narrow) refuse("is the upper half of integers of 8 bits");
      return {"gl.umulhi(" + text[0] + ", " + text[1] + ")", layout, value.type};
    default: break;
  }
  refuse("computes " + std::string(name_of(value.function)));
  return {};
}

bool ValuePrinter::is_whole(const meaning::Value& value, const std::vector<Expression>& in) const {
  using meaning::Function;
  if (value.type != "i32" && value.type != "i8") return false;
  const auto whole = [&](const Expression& one) {
    return one.type == value.type || one.type.empty();
  };
  switch (value.function) {
    case Function::copy: {
      if (in[0].type == "i8") return value.type == "i32";
      // (A number that is whole already: Triton cuts off what is behind the point.)
      const int of = value.operands[0].value;
      return in[0].type == "f32" && of >= 0 &&
             plan_.meaning->values[at(of)].function == Function::toward_zero;
    }
    case Function::max:
    case Function::min: return whole(in[0]) && whole(in[1]);
    case Function::select: return whole(in[1]) && whole(in[2]);
    default: return false;
  }
}

Expression ValuePrinter::whole(const meaning::Value& value, const std::vector<Expression>& in,
                               const Layout& layout) const {
  using meaning::Function;
  const auto x = [&](std::size_t k) {
    if (!in[k].type.empty()) return placed(value, k, in[k], layout);
    // (An integer of the launch may be a constant of Python's.)
    if (!value.operands[k].constant.empty() && plan_.user != nullptr)
      return "gl.to_tensor(" + in[k].text + ")";
    const auto number = whole_text(value.operands[k]);
    if (!number)
      throw program::Refusal{"op", value.id + " is made of an integer with no whole number"};
    return *number;
  };
  const bool narrow = value.type == "i8";
  const std::string cut = narrow ? kTo8Bits : "";
  if (value.function == Function::copy)
    return {x(0) + (narrow ? kTo8Bits : ".to(gl.int32)"), layout, value.type};
  if (value.function == Function::select)
    return {
        "gl.where(" + placed(value, 0, in[0], layout) + " > 0, " + x(1) + ", " + x(2) + ")" + cut,
        layout, value.type};
  return {std::string(value.function == Function::max ? "gl.maximum(" : "gl.minimum(") + x(0) +
              ", " + x(1) + ")" + cut,
          layout, value.type};
}

}  // namespace twill::emit
