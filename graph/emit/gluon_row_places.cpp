// Where in a row its largest or smallest number is: the smallest place of those that are equal to
// it. (Of a row with what is no number it is the last one.)
#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"

namespace twill::emit {

std::string place_definition(const std::string& name) {
  const bool down = name.ends_with("_down"), all = name.ends_with("_all");
  const std::string axis = down || all ? "axis=0" : "axis=1";
  const std::string most = (name.starts_with("place_of_max") ? "gl.max(x, " : "gl.min(x, ") + axis +
                           ")" +
                           (all    ? ""
                            : down ? "[None, :]"
                                   : "[:, None]");
  return "\n@gluon.jit\ndef " + name +
         "(x, places, last):\n    return gl.min(gl.where(x == " + most + ", places, last), " +
         axis + ")\n\n\n";
}

Expression ValuePrinter::row_place(const meaning::Value& value, const Expression& of,
                                   const Layout& layout) const {
  const bool matrix = of.layout.kind == Layout::matrix;
  if (of.layout.turned || of.layout.kind == Layout::none || value.type != "i32")
    throw program::Refusal{"operand", value.id + " reduces what is no tile"};
  const std::vector<std::int64_t>& shape = plan_.meaning->values[at(value.operands[0].value)].shape;
  if (matrix && (shape.size() != 2 || of.layout.rows != shape[0] || of.layout.columns != shape[1]))
    throw program::Refusal{"operand", value.id + " finds a place in a part of a tile"};
  const bool down = matrix && value.operands[0].transposed;
  const std::string name = std::string(meaning::name_of(value.function)) + (!matrix ? "_all"
                                                                            : down  ? "_down"
                                                                                    : "");
  const std::int64_t extent = !matrix || down ? shape[0] : shape[1];
  // The places lie as the numbers beside them do.
  Layout beside = of.layout;
  if (matrix) beside.kind = down ? Layout::of_rows : Layout::of_columns;
  const std::string places = "gl.arange(0, " + std::to_string(extent) +
                             ", layout=" + text_of(beside) + ")" +
                             (!matrix ? ""
                              : down  ? "[:, None]"
                                      : "[None, :]");
  Layout left{Layout::none, 0, 0};
  if (matrix)
    left = {down ? Layout::of_columns : Layout::of_rows, of.layout.rows, of.layout.columns};
  needs_.row_places.insert(name);
  // (Of integers as they are: not all of them are numbers of f32.)
  const std::string cast = of.type == "f32" || of.type == "i32" ? ""
                           : of.type == "i8"                    ? ".to(gl.int32)"
                                                                : ".to(gl.float32)";
  const Expression made{
      name + "(" + of.text + cast + ", " + places + ", " + std::to_string(extent - 1) + ")", left,
      value.type};
  return {converted(made, layout), layout, value.type};
}

}  // namespace twill::emit
