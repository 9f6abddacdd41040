// Reductions and running sums (meaning_builder.hpp).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

void MeaningBuilder::reduction(int index, meaning::Value& value, Where where, int copy,
                               int dimension) {
  const Operation& op = m_.op(index);
  const bool scan = op.name == "tt.scan";
  if ((!scan && op.name != "tt.reduce") || op.operands.size() != 1 || op.regions.size() != 1)
    refuse(index, "of reductions only tt.reduce and tt.scan of one tile are known");
  const Region& region = m_.regions[at(op.regions[0])];
  const Block& block = m_.block(region.blocks.at(0));
  if (region.blocks.size() != 1 || block.ops.size() != 2 || block.arguments.size() != 2)
    refuse(index, "it reduces with more than one operation");
  const Operation &combine = m_.op(block.ops[0]), &end = m_.op(block.ops[1]);
  const bool both =
      combine.operands.size() == 2 &&
      ((combine.operands[0] == block.arguments[0] && combine.operands[1] == block.arguments[1]) ||
       (combine.operands[0] == block.arguments[1] && combine.operands[1] == block.arguments[0]));
  if (!both || combine.results.size() != 1 || end.operands != combine.results)
    refuse(index, "it reduces with another operation");
  if (combine.name == "arith.addf")
    value.function = scan ? Function::running_sum : Function::row_sum;
  else if (scan)
    refuse(index, "it scans with " + std::string(combine.name));
  else if (combine.name == "arith.maxnumf" || combine.name == "arith.maximumf")
    value.function = Function::row_max;
  else
    refuse(index, "it reduces with " + std::string(combine.name));
  const int axis = axis_of(m_, op);
  int tile = op.operands[0];
  // Of a vector in another order it is the same.
  while (m_.value(tile).op != kNone && m_.op(m_.value(tile).op).name == "tt.reshape" &&
         type(tile).shape.size() == 1 &&
         type(m_.op(m_.value(tile).op).operands[0]).shape == type(tile).shape)
    tile = m_.op(m_.value(tile).op).operands[0];
  if (scan) return running_sum(index, value, where, copy, dimension);
  // A vector becomes a number; a matrix with one row or column is none.
  const bool of_vector = type(tile).shape.size() == 1 && value.shape.empty();
  if (!of_vector && (type(tile).shape.size() != 2 || value.shape.size() != 1))
    refuse(index, "it reduces a tile that is no matrix");
  int cut = where == Where::loop ? split_.of(tile) : dimension;
  if (where != Where::loop && cut >= axis && cut >= 0) ++cut;
  if (cut == axis) refuse(index, "it reduces over sub-tiles");
  Seen seen = source(index, tile, where, copy, cut);
  if (seen.vector != of_vector || seen.operand.value < 0)
    refuse(index, "it reduces a repeated vector");
  if (axis == 0 && !of_vector) seen.operand.transposed = !seen.operand.transposed;
  value.operands = {seen.operand};
}

/// Of a vector, or along one dimension of a matrix, in the order of places.
void MeaningBuilder::running_sum(int index, meaning::Value& value, Where where, int copy,
                                 int dimension) {
  const Operation& op = m_.op(index);
  if (m_.attribute(op, "reverse").find("true") != std::string_view::npos)
    refuse(index, "it scans from the end");
  const int axis = axis_of(m_, op), tile = op.operands[0];
  const int cut = where == Where::loop ? split_.of(tile) : dimension;
  if (cut == axis) refuse(index, "it scans over sub-tiles");
  const Seen seen = source(index, tile, where, copy, cut);
  if (seen.operand.value < 0 || seen.vector != (type(tile).shape.size() == 1))
    refuse(index, "it scans a repeated vector");
  value.operands = {seen.operand};
  if (seen.vector) return;
  // Along the columns of a matrix.
  Operand columns;
  columns.number = 1;
  if (axis == 1) value.operands.push_back(columns);
}

}  // namespace twill::ttgir
