#include "graph/emit/cuda_host.hpp"

#include <algorithm>
#include <cmath>

#include "graph/emit/cuda_words.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Refusal;

class CudaHostPrinter {
 public:
  explicit CudaHostPrinter(const CudaPlan& c)
      : plan_(c.plan), m_(*c.plan.meaning), blackwell_(c.blackwell()) {}

  std::string tables() {
    line(1, "// Rows and columns: what one tile has (whole), a tile an iteration (loop), a tile a");
    line(1, "// block of the grid (block).");
    line(1, "static constexpr TensorInfo kTensors[] = {");
    for (std::size_t t = 0; t < plan_.axes.tensors.size(); ++t) {
      const HostTensor& host = plan_.axes.tensors[t];
      const meaning::Tensor& tensor = m_.tensors[at(host.parts.front())];
      if (host.type != "f16" && host.type != "bf16" && host.type != "f32" &&
          (host.type != "f8" || blackwell_ || host.output))
        throw Refusal{"type", "a tensor is of type " + harmless(host.type)};
      std::string axes = host.steps >= 0 ? axis(host.steps) : "";
      for (const int a : host.axes) axes += (axes.empty() ? "" : ", ") + axis(a);
      line(2, "{\"" + plan_.host_name[t] + "\", Number::" + host.type + ", " +
                  (host.output ? "true" : "false") + ", " +
                  std::to_string(host.axes.size() + (host.steps >= 0 ? 1 : 0)) + ", {" + axes +
                  "}, " + std::to_string(host.parts.size()) + ", " + number_text(tensor.low) +
                  ", " + number_text(tensor.high) +
                  (host.steps >= 0 ? ", false, true"
                   : host.added    ? ", true"
                                   : "") +
                  "},");
    }
    line(1, "};");
    line(1, "static constexpr int kBlockAxes = " + std::to_string(plan_.axes.blocks.size()) + ";");
    return std::move(text_);
  }

  std::string run() {
    function();
    line(0, "");
    line(0,
         "inline void Kernel::run(void* const* data, const Sizes& sizes, cudaStream_t stream) {");
    std::string list;
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t)
      list += (floats(t) ? "static_cast<float*>(data[" : "data[") + std::to_string(t) +
              (floats(t) ? "]), " : "], ");
    line(1,
         plan_.function + "(" + list + "sizes.batch, sizes.n, sizes.blocks[0], sizes.blocks[1],");
    line(1, std::string(plan_.function.size() + 1, ' ') + "stream);");
    line(0, "}");
    reference();
    line(0, "");
    line(0, "}  // namespace emitted");
    line(0, "");
    line(0, "/// Checks the kernel beside its reference and times it, where there is a GPU.");
    line(0, "int main(int argc, char** argv) {");
    line(1, "return twill::gpu::check_and_time<emitted::Kernel>(argc, argv);");
    line(0, "}");
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(2 * at(depth), ' ') + text + "\n";
  }
  bool vector(std::size_t tensor) const { return plan_.axes.tensors[tensor].axes.size() == 1; }

  /// Is it a matrix of fp32 elements, which TMA copies by panels of 32 columns?
  bool panels(std::size_t tensor) const {
    const HostTensor& host = plan_.axes.tensors[tensor];
    return !blackwell_ && !vector(tensor) && host.type == "f32" &&
           m_.tensors[at(host.parts.front())].shape[1] % 32 == 0;
  }
  bool floats(std::size_t tensor) const {
    return vector(tensor) || plan_.axes.tensors[tensor].added || panels(tensor);
  }

  std::string axis(int a) const {
    const Axis& one = plan_.axes.axes[at(a)];
    const char* const kinds[] = {"whole", "loop", "block"};
    int dimension = 0;
    if (one.kind == Axis::block)
      dimension =
          static_cast<int>(std::find(plan_.axes.blocks.begin(), plan_.axes.blocks.end(), a) -
                           plan_.axes.blocks.begin());
    return std::string("{AxisInfo::") + kinds[static_cast<std::size_t>(one.kind)] + ", " +
           std::to_string(one.tile) + ", " + std::to_string(dimension) + "}";
  }
  std::string extent(int a) const {
    const Axis& one = plan_.axes.axes[at(a)];
    std::string tile = std::to_string(one.tile);
    if (one.kind == Axis::whole) return tile;
    if (one.kind == Axis::loop) return "n * " + tile;
    const auto k = std::find(plan_.axes.blocks.begin(), plan_.axes.blocks.end(), a) -
                   plan_.axes.blocks.begin();
    return "blocks_" + std::to_string(k) + " * " + tile;
  }

  void function() {
    line(0, "");
    line(0,
         "/// Pointers to device memory; tensors are contiguous [batch][rows][columns], their "
         "sizes as in");
    line(0,
         "/// Kernel::kTensors with a loop of n iterations and blocks_0 x blocks_1 blocks a batch. "
         "Throws");
    line(0, "/// twill::gpu::Refusal where CUDA refuses.");
    std::string list;
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t) {
      const bool output = plan_.axes.tensors[t].output;
      list += floats(t) ? "float* " : output ? "void* " : "const void* ";
      list += plan_.host_name[t] + "_data, ";
    }
    line(0, "inline void " + plan_.function + "(" + list);
    line(2, "int batch, int n, int blocks_0, int blocks_1, cudaStream_t stream) {");
    line(1, "Arguments g{};");
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t) {
      const HostTensor& host = plan_.axes.tensors[t];
      const std::string& name = plan_.host_name[t];
      if (vector(t)) {
        if (host.type != "f32") throw Refusal{"type", "a vector of a tensor must be f32"};
        line(1, "g." + name + "_data = " + name + "_data;");
        line(1, "g." + name + "_rows = " + extent(host.axes[0]) + ";");
        continue;
      }
      const meaning::Tensor& tensor = m_.tensors[at(host.parts.front())];
      if ((host.added && tensor.shape[1] % 32 == 0) || panels(t)) {
        line(1, "g." + name + "_map = float_map(" + name + "_data, batch, " + extent(host.axes[0]) +
                    ", " + extent(host.axes[1]) + ", " + std::to_string(tensor.shape[0]) + ", " +
                    std::to_string(tensor.shape[1]) + ");");
        continue;
      }
      if (host.type == "f8") {
        line(1, "g." + name + "_map = byte_map(" + name + "_data, batch, " + extent(host.axes[0]) +
                    ", " + extent(host.axes[1]) + ", " + std::to_string(tensor.shape[0]) + ", " +
                    std::to_string(tensor.shape[1]) + ");");
        continue;
      }
      if (element_type(host.type).empty())
        throw Refusal{"type",
                      "a matrix of a tensor is " + harmless(host.type) + ": must be f16 or bf16"};
      const std::int64_t rows = host.output && !blackwell_ ? 64 : tensor.shape[0];
      line(1, "g." + name + "_map = matrix_map(" + name + "_data, batch, " + extent(host.axes[0]) +
                  ", " + extent(host.axes[1]) + ", " + element_type(host.type) + ", " +
                  std::to_string(rows) + ", " + std::to_string(tensor.shape[1]) + ");");
    }
    line(1, "g.n = n;");
    line(1, "g.blocks_0 = blocks_0;");
    line(1, "g.blocks_1 = blocks_1;");
    line(1, "launch<Kernel>(g, blocks_0 * blocks_1 * batch, stream);");
    line(0, "}");
  }

  // ---- the reference

  std::string operand(const Value& value, std::size_t k, bool after) const {
    const Operand& one = value.operands[k];
    if (one.value < 0) return "Array(" + double_text(one.number) + ")";
    std::string text = plan_.variable[at(one.value)];
    if (m_.in_loop(one.value) && one.distance > 0)
      text += "_past.end()[-" + std::to_string(one.distance) + "]";
    if (after && m_.in_loop(one.value) && m_.initial_of(one.value) != nullptr)
      text += "_past.back()";
    if (one.columns > 0)
      text = "columns(" + text + ", " + std::to_string(one.first_column) + ", " +
             std::to_string(one.columns) + ")";
    if (one.row >= 0) text = "picked_row(" + text + ", " + std::to_string(one.row) + ")";
    if (one.along_columns) text = "across(" + text + ", " + std::to_string(value.shape[0]) + ")";
    return one.transposed ? "transposed(" + text + ")" : text;
  }
  static std::string double_text(double x) {
    return std::isinf(x)   ? (x > 0 ? "INFINITY" : "-INFINITY")
           : std::isnan(x) ? "NAN"
                           : number_text(x);
  }
  std::string part(int tensor) const {
    return std::to_string(plan_.axes.tensor_of[at(tensor)]) + ", " +
           std::to_string(plan_.axes.part_of[at(tensor)]);
  }

  void statement(int depth, int v, bool after) {
    const Value& value = m_.values[at(v)];
    const auto x = [&](std::size_t k) { return operand(value, k, after); };
    const std::string i = m_.in_loop(v) ? "i" : "0";
    const auto whole = [&](std::size_t k) {
      const Operand& one = value.operands[k];
      if (one.value >= 0 || !(std::fabs(one.number) < 1e9))
        throw Refusal{"op", harmless(value.id) + " is a causal mask of numbers that are not whole"};
      return std::to_string(static_cast<int>(one.number));
    };
    std::string text;
    switch (value.function) {
      case Function::load: text = "load(" + part(value.tensor) + ", " + i + ")"; break;
      case Function::store:
        line(depth, "store(" + part(value.tensor) + ", " + i + ", " + x(0) + ");");
        return;
      case Function::copy: text = x(0); break;
      case Function::transpose: text = "transposed(" + x(0) + ")"; break;
      case Function::product:
        text = "product(" + x(0) + ", " + x(1) + ")" +
               (value.operands.size() == 3 ? " + " + x(2) : "");
        break;
      case Function::add: text = x(0) + " + " + x(1); break;
      case Function::sub: text = x(0) + " - " + x(1); break;
      case Function::mul: text = x(0) + " * " + x(1); break;
      case Function::div: text = x(0) + " / " + x(1); break;
      case Function::mul_add: text = x(0) + " * " + x(1) + " + " + x(2); break;
      case Function::mul_sub: text = x(0) + " * " + x(1) + " - " + x(2); break;
      case Function::max: text = "larger(" + x(0) + ", " + x(1) + ")"; break;
      case Function::exp2:
        text = "power_of_2(" + x(0) + (value.operands.size() == 2 ? " * " + x(1) : "") + ")";
        break;
      case Function::log2: text = "binary_logarithm(" + x(0) + ")"; break;
      case Function::reciprocal: text = "Array(1.0) / " + x(0); break;
      case Function::select:
        text = "where_positive(" + x(0) + ", " + x(1) + ", " + x(2) + ")";
        break;
      case Function::row_max: text = "max_of_rows(" + x(0) + ")"; break;
      case Function::row_min: text = "min_of_rows(" + x(0) + ")"; break;
      case Function::row_sum: text = "sum_of_rows(" + x(0) + ")"; break;
      case Function::lower: text = "masked(" + x(0) + ", 0, 0, 1, 0)"; break;
      case Function::min: text = "smaller(" + x(0) + ", " + x(1) + ")"; break;
      case Function::abs:
      case Function::sqrt:
      case Function::rsqrt:
      case Function::log:
      case Function::sin:
      case Function::cos:
      case Function::erf:
      case Function::floor:
      case Function::ceil:
      case Function::toward_zero:
        text = std::string(cuda_function(value.function)) + "(" + x(0) + ")";
        break;
      default: break;  // plan_check.cpp refuses the others
      case Function::causal:
        text = "masked(" + x(0) + ", " + i + " * " + std::to_string(value.shape[1]) + ", " +
               whole(1) + ", " + whole(2) + ", -INFINITY)";
        break;
    }
    line(depth, "const Array " + plan_.variable[at(v)] + " = " + text + ";");
  }

  void reference() {
    line(0, "");
    line(0,
         "inline void Kernel::reference(const reference::Load& load, const reference::Store& "
         "store,");
    line(0, "                              int n) {");
    line(1, "using namespace twill::gpu::reference;");
    for (int v = 0; v < m_.loop_begin; ++v) statement(1, v, false);
    for (const meaning::Initial& one : m_.initial) {
      const Value& value = m_.values[at(one.value)];
      std::string what;
      if (one.what.value >= 0) {
        what = plan_.variable[at(one.what.value)];
      } else {
        const auto extent_of = [&](std::size_t d) {
          return std::to_string(d < value.shape.size() ? value.shape[d] : 1);
        };
        what = "Array(" + std::to_string(value.shape.size()) + ", " + extent_of(0) + ", " +
               extent_of(1) + ", " + double_text(one.what.number) + ")";
      }
      int most = 1;
      for (const Value& other : m_.values)
        for (const Operand& operand : other.operands)
          if (operand.value == one.value) most = std::max(most, operand.distance);
      line(1, "std::vector<Array> " + plan_.variable[at(one.value)] + "_past(" +
                  std::to_string(most) + ", " + what + ");");
    }
    line(1, "for (int i = 0; i < n; ++i) {");
    for (const int v : meaning::loop_order(m_)) statement(2, v, false);
    for (const meaning::Initial& one : m_.initial)
      line(2, plan_.variable[at(one.value)] + "_past.push_back(" + plan_.variable[at(one.value)] +
                  ");");
    line(1, "}");
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v) statement(1, v, true);
    line(0, "}");
  }

  const Plan& plan_;
  const meaning::Meaning& m_;
  bool blackwell_;
  std::string text_;
};

}  // namespace

std::string cuda_tables(const CudaPlan& plan) {
  return CudaHostPrinter(plan).tables();
}

std::string cuda_host_text(const CudaPlan& plan) {
  return CudaHostPrinter(plan).run();
}

}  // namespace twill::emit
