#include "graph/emit/gluon_host.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Refusal;

// The same in every file; what differs is in the tables before it.
constexpr const char* kSizes = R"(
def launch(inputs):
    """Runs the kernel on `inputs` (name -> tensor) and returns its outputs in the order of TENSORS."""
    import torch
    first = inputs[next(iter(inputs))]
    lead = first.shape[:first.dim() - len(TENSORS[next(iter(inputs))][0])]  # batch dimensions, if any
    sizes = {}
    for name, (axes, kind, is_output) in TENSORS.items():
        if is_output:
            continue
        tensor = inputs[name]
        if tensor.dtype != getattr(torch, kind) or not tensor.is_cuda or not tensor.is_contiguous():
            raise ValueError(f"{name} must be a contiguous {kind} tensor on the GPU")
        if tensor.shape[:tensor.dim() - len(axes)] != lead:
            raise ValueError(f"{name} has other batch dimensions than {next(iter(inputs))}")
        for axis, size in zip(axes, tensor.shape[tensor.dim() - len(axes):]):
            if sizes.setdefault(axis, size) != size:
                raise ValueError(f"{name} has {size} elements along an axis of which another tensor has {sizes[axis]}")
    for axis, (kind, tile) in AXES.items():
        if kind == "whole":
            sizes.setdefault(axis, tile)  # (of an output alone)
        if sizes[axis] % tile != 0 or (kind == "whole" and sizes[axis] != tile):
            raise ValueError(f"a size of {sizes[axis]}: must be {'' if kind == 'whole' else 'a multiple of '}{tile}")
    batch = math.prod(lead)
    counts = {sizes[axis] // tile for axis, (kind, tile) in AXES.items() if kind == "loop"}
    if len(counts) != 1:
        raise ValueError(f"tensors with {sorted(counts)} tiles: the loop has one trip count")
    n = counts.pop()
)";

// And what Gluon does with the sizes.
constexpr const char* kLaunch =
    R"(    make = {name: torch.zeros if name in ADDED else torch.empty for name in TENSORS}
    outputs = {name: make[name](*lead, *(sizes[axis] for axis in axes), dtype=getattr(torch, kind), device=first.device)
               for name, (axes, kind, is_output) in TENSORS.items() if is_output}
    arguments = []
    for name, (axes, kind, _) in TENSORS.items():
        tensor = outputs[name] if name in outputs else inputs[name]
        if name not in BLOCKS:
            arguments.append(tensor)
            continue
        flat = tensor.view(math.prod(tensor.shape[:-1]), tensor.shape[-1])
        if flat.numel() == 0:  # no tile of it is loaded; a descriptor wants one
            flat = torch.empty(BLOCKS[name], dtype=tensor.dtype, device=first.device)
        arguments.append(TensorDescriptor.from_tensor(flat, BLOCKS[name], gl.NVMMASharedLayout.get_default_for(BLOCKS[name], getattr(gl, kind))))
    arguments += [sizes[axes[0 if name in BLOCKS else -1]] for name, (axes, _, _) in TENSORS.items()]
    blocks = [sizes[axis] // tile for axis, (kind, tile) in AXES.items() if kind == "block"] + [1, 1]
)";

constexpr const char* kGrid = R"(    if batch * blocks[0] * blocks[1] > 0:
        kernel[(blocks[0], blocks[1], batch)](*arguments, n, n if n < DEPTH else -1, num_warps=WARPS)
)";

// Where a program does tile after tile.
constexpr const char* kPersistentGrid = R"(    tiles = batch * blocks[0] * blocks[1]
    if tiles > 0:
        programs = min(tiles, PROGRAMS or torch.cuda.get_device_properties(first.device).multi_processor_count)
        kernel[(programs,)](*arguments, n, blocks[0], blocks[1], tiles, n if n < DEPTH else -1, num_warps=WARPS)
)";

constexpr const char* kReturn = R"(    return tuple(outputs.values())
)";

constexpr const char* kCheck = R"(

def reference(inputs):
    """The same in double precision on the CPU, block by block; slow."""
    import torch
    name = next(iter(inputs))
    lead = inputs[name].shape[:inputs[name].dim() - len(TENSORS[name][0])]
    batch = math.prod(lead)
    sizes = {axis: tile for axis, (kind, tile) in AXES.items() if kind == "whole"}
    sizes.update({axis: size for tensor, x in inputs.items()
                  for axis, size in zip(TENSORS[tensor][0], x.shape[x.dim() - len(TENSORS[tensor][0]):])})
    n = next(sizes[axis] // tile for axis, (kind, tile) in AXES.items() if kind == "loop")
    flat = {tensor: x.cpu().double().reshape(batch, *x.shape[x.dim() - len(TENSORS[tensor][0]):]) for tensor, x in inputs.items()}
    flat.update({tensor: torch.full([batch] + [sizes[axis] for axis in axes], 0.0 if tensor in ADDED else float("nan"),
                                    dtype=torch.float64)
                 for tensor, (axes, _, is_output) in TENSORS.items() if is_output})
    cut = [axis for axis, (kind, _) in AXES.items() if kind == "block"]
    for b in range(batch):
        for block in itertools.product(*(range(sizes[axis] // AXES[axis][1]) for axis in cut)):
            def place(tensor, part, parts, i):
                where = []
                for d, axis in enumerate(TENSORS[tensor][0]):
                    kind, tile = AXES[axis]
                    begin = {"block": lambda: block[cut.index(axis)], "loop": lambda: i, "whole": lambda: 0}[kind]() * tile
                    rows = tile // parts if d == 0 else tile
                    where.append(slice(begin + (part * rows if d == 0 else 0), begin + (part * rows if d == 0 else 0) + rows))
                return (b, *where)

            def load(tensor, part, parts, i):
                x = flat[tensor][place(tensor, part, parts, i)]
                return x if tensor in BLOCKS else x.reshape(-1)

            def store(tensor, part, parts, i, value):
                where = place(tensor, part, parts, i)
                flat[tensor][where] = flat[tensor][where] + value if tensor in ADDED else value

            reference_block(torch, load, store, n)
    return tuple(flat[tensor].reshape(*lead, *flat[tensor].shape[1:]) for tensor, (_, _, is_output) in TENSORS.items() if is_output)


def random_inputs(lead, blocks, n):
    import torch
    size = {axis: tile * {"whole": 1, "block": blocks, "loop": n}[kind] for axis, (kind, tile) in AXES.items()}
    torch.manual_seed(0)
    return {tensor: torch.randn(*lead, *(size[axis] for axis in axes), device="cuda").to(getattr(torch, kind))
            for tensor, (axes, kind, is_output) in TENSORS.items() if not is_output}


def main():
    try:
        import torch
    except ImportError:
        print("torch is not installed: the kernel is compiled, checked and timed through it", file=sys.stderr)
        return 2
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != CAPABILITY:
        print(f"no GPU of compute capability {CAPABILITY}.x here: nothing was run")
        return 0
    wrong = False
    for n in (0, 1, 2, 3, 7):
        inputs = random_inputs((2,), 2, n)
        for name, got, want in zip(OUTPUTS, launch(inputs), reference(inputs)):
            got = got.cpu()
            same = (got.double() == want) | (got.isnan() & want.isnan())
            error = float(torch.where(same, 0.0, (got.double() - want).abs()).max()) if got.numel() else 0.0
            finite = want[want.isfinite()].abs()
            allowed = 2e-2 * max(1.0, float(finite.max()) if finite.numel() else 1.0)
            wrong |= not error <= allowed
            print(f"n = {n}: {name}: largest error {error:.2e}, {'right' if error <= allowed else 'WRONG'}")
    if not wrong:
        inputs = random_inputs((64,), 16, 64)
        time = triton.testing.do_bench(lambda: launch(inputs))
        print(f"64 iterations, 64 x 16 blocks: {time:.3f} ms with the host's work")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
)";

std::string torch_type(const std::string& type) {
  if (type == "f32") return "float32";
  if (type == "f16") return "float16";
  if (type == "bf16") return "bfloat16";
  if (type == "f8") return "float8_e4m3fn";
  throw Refusal{"type", "a tensor is of type " + type};
}

class HostPrinter {
 public:
  HostPrinter(const Plan& plan, const char* launch)
      : plan_(plan), m_(*plan.meaning), launch_(launch) {}

  std::string run() {
    tables();
    text_ += launch();
    function();
    reference();
    text_ += check();
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(4 * at(depth), ' ') + text + "\n";
  }
  static std::string axis(int k) { return "\"axis_" + std::to_string(k) + "\""; }

  /// Gluon has other names than PyTorch for numbers of 8 bits.
  std::string launch() const {
    if (launch_ != nullptr) return std::string(kSizes) + launch_;
    std::string text = std::string(kSizes) + kLaunch;
    text += plan_.persistent ? kPersistentGrid : kGrid;
    text += kReturn;
    const std::string same = "getattr(gl, kind)";
    if (std::any_of(m_.tensors.begin(), m_.tensors.end(),
                    [](const meaning::Tensor& one) { return one.type == "f8"; }))
      text.replace(text.find(same), same.size(),
                   R"(getattr(gl, {"float8_e4m3fn": "float8e4nv"}.get(kind, kind)))");
    return text;
  }

  /// Of programs that do block after block there are fewer than blocks while they are checked.
  std::string check() const {
    std::string text = kCheck;
    if (!plan_.persistent) return text;
    const auto before = [&](const std::string& here, const std::string& added) {
      text.insert(text.find(here), added);
    };
    before("    wrong = False\n    for n in (0, 1",
           "    global PROGRAMS\n    PROGRAMS = 3  # each does several blocks\n");
    before("        inputs = random_inputs((64,)", "        PROGRAMS = None\n");
    return text;
  }

  void tables() {
    line(0, "");
    line(0, "");
    line(
        0,
        "# Axes of the tensors: what one run of the kernel (\"block\", \"whole\") or one iteration "
        "(\"loop\") covers.");
    std::string all;
    const char* const kinds[] = {"whole", "loop", "block"};
    for (std::size_t k = 0; k < plan_.axes.axes.size(); ++k) {
      const Axis& one = plan_.axes.axes[k];
      all += (all.empty() ? "" : ", ") + axis(static_cast<int>(k)) + ": (\"" +
             kinds[static_cast<std::size_t>(one.kind)] + "\", " + std::to_string(one.tile) + ")";
    }
    line(0, "AXES = {" + all + "}");
    line(0, "# Per tensor its axes after batch dimensions, its type, and whether it is an output.");
    line(0, "TENSORS = {");
    std::string blocks, outputs, added;
    for (std::size_t t = 0; t < plan_.axes.tensors.size(); ++t) {
      const HostTensor& host = plan_.axes.tensors[t];
      const std::string name = "\"" + plan_.host_name[t] + "\"";
      std::string list;
      if (host.steps >= 0) list += axis(host.steps) + ", ";
      for (const int a : host.axes) list += axis(a) + ", ";
      line(1, name + ": ((" + list.substr(0, list.size() - 1) + "), \"" + torch_type(host.type) +
                  "\", " + (host.output ? "True" : "False") + "),");
      const auto& shape = m_.tensors[at(host.parts.front())].shape;
      if (shape.size() == 2)
        blocks += (blocks.empty() ? "" : ", ") + name + ": [" + std::to_string(shape[0]) + ", " +
                  std::to_string(shape[1]) + "]";
      if (host.output) outputs += (outputs.empty() ? "" : ", ") + name;
      if (host.added) added += (added.empty() ? "" : ", ") + name;
    }
    line(0, "}");
    line(0, "OUTPUTS = [" + outputs + "]");
    line(0, "ADDED = [" + added + "]  # to whose tiles several programs of the grid add");
    line(0, "BLOCKS = {" + blocks + "}  # tiles of the bulk copies");
    if (plan_.persistent) line(0, "PROGRAMS = None  # of the grid; None = one a multiprocessor");
    line(0, "WARPS = " + std::to_string(plan_.launch.first.warps) + "  # of the default partition");
    line(0, "CAPABILITY = " + std::string(plan_.legal.target == Target::hopper ? "9" : "10"));
    line(0, "");
  }

  void function() {
    std::vector<std::string> inputs;
    for (const bool streams : {false, true})
      for (std::size_t t = 0; t < plan_.axes.tensors.size(); ++t) {
        const HostTensor& host = plan_.axes.tensors[t];
        if (!host.output && m_.streams(host.parts.front()) == streams)
          inputs.push_back(plan_.host_name[t]);
      }
    std::string list, table, outputs;
    for (const std::string& one : inputs) {
      list += (list.empty() ? "" : ", ") + one;
      table += (table.empty() ? "" : ", ") + ("\"" + one + "\": ") + one;
    }
    for (std::size_t t = 0; t < plan_.axes.tensors.size(); ++t)
      if (plan_.axes.tensors[t].output)
        outputs += (outputs.empty() ? "" : ", ") + plan_.host_name[t];
    line(0, "");
    line(0, "");
    line(0, "def " + plan_.function + "(" + list + "):");
    line(1,
         "\"\"\"Returns (" + outputs + "). Axes as in TENSORS, after any batch dimensions.\"\"\"");
    line(1, "return launch({" + table + "})");
  }

  // ---- the reference

  std::string seen(const Operand& one, std::string text) const {
    if (one.columns > 0)
      text += "[:, " + std::to_string(one.first_column) + ":" +
              std::to_string(one.first_column + one.columns) + "]";
    return one.transposed ? text + ".T" : text;
  }

  std::string operand(const Value& value, std::size_t k, bool after) const {
    const Operand& one = value.operands[k];
    if (one.value < 0) return number_text(one.number);
    std::string text = plan_.variable[at(one.value)];
    if (m_.in_loop(one.value) && one.distance > 0)
      text += "_past[-" + std::to_string(one.distance) + "]";
    if (after && m_.in_loop(one.value) && m_.initial_of(one.value) != nullptr) text += "_past[-1]";
    text = seen(one, text);
    if (one.row >= 0) text += "[" + std::to_string(one.row) + "]";
    const std::size_t rank = m_.values[at(one.value)].shape.size();
    if (rank == 1 && value.shape.size() == 2 &&
        (meaning::is_elementwise(value.function) || value.function == Function::within))
      text += one.along_columns ? "[None, :]" : "[:, None]";
    return text;
  }

  /// Four numbers by row, column and iteration and at the beginning (meaning/bounds.hpp), of every
  /// element.
  static std::string linear(const Value& value, std::size_t first, const std::string& i) {
    const auto times = [&](std::size_t k, const std::string& what) {
      return number_text(value.operands[first + k].number) + " * " + what;
    };
    const auto along = [&](std::size_t d) {
      return "torch.arange(" + std::to_string(value.shape[d]) + ", dtype=torch.float64)";
    };
    const bool matrix = value.shape.size() == 2;
    return times(0, along(0) + (matrix ? "[:, None]" : "")) +
           (matrix ? " + " + times(1, along(1) + "[None, :]") : "") + " + " + times(2, i) + " + " +
           number_text(value.operands[first + 3].number);
  }

  std::string part(int tensor) const {
    const int host = plan_.axes.tensor_of[at(tensor)];
    return "\"" + plan_.host_name[at(host)] + "\", " +
           std::to_string(plan_.axes.part_of[at(tensor)]) + ", " +
           std::to_string(plan_.axes.tensors[at(host)].parts.size());
  }

  void statement(int depth, int v, bool after) {
    const Value& value = m_.values[at(v)];
    const std::string& name = plan_.variable[at(v)];
    const auto x = [&](std::size_t k) { return operand(value, k, after); };
    const std::string i = m_.in_loop(v) ? "i" : "0";
    std::string text;
    switch (value.function) {
      case Function::load: text = "load(" + part(value.tensor) + ", " + i + ")"; break;
      case Function::store:
        line(depth, "store(" + part(value.tensor) + ", " + i + ", " + x(0) + ")");
        text = x(0);
        break;
      case Function::copy: text = x(0); break;
      case Function::transpose: text = x(0) + ".T"; break;
      case Function::product:
        text = x(0) + " @ " + x(1) + (value.operands.size() == 3 ? " + " + x(2) : "");
        break;
      case Function::add: text = x(0) + " + " + x(1); break;
      case Function::sub: text = x(0) + " - " + x(1); break;
      case Function::mul: text = x(0) + " * " + x(1); break;
      case Function::div: text = x(0) + " / " + x(1); break;
      case Function::mul_add: text = x(0) + " * " + x(1) + " + " + x(2); break;
      case Function::mul_sub: text = x(0) + " * " + x(1) + " - " + x(2); break;
      case Function::max:
        text = "torch.maximum(" + tensor(value, 0, after) + ", " + tensor(value, 1, after) + ")";
        break;
      case Function::exp2:
        text = "torch.exp2(" + x(0) + (value.operands.size() == 2 ? " * " + x(1) : "") + ")";
        break;
      case Function::log2: text = "torch.log2(" + x(0) + ")"; break;
      case Function::reciprocal: text = "1.0 / " + x(0); break;
      case Function::min:
        text = "torch.minimum(" + tensor(value, 0, after) + ", " + tensor(value, 1, after) + ")";
        break;
      case Function::abs:
      case Function::sqrt:
      case Function::rsqrt:
      case Function::log:
      case Function::sin:
      case Function::cos:
      case Function::erf:
      case Function::floor:
      case Function::ceil:
        text = "torch." + std::string(meaning::name_of(value.function)) + "(" +
               tensor(value, 0, after) + ")";
        break;
      case Function::toward_zero: text = "torch.trunc(" + tensor(value, 0, after) + ")"; break;
      case Function::select:
        text = "torch.where(" + x(0) + " > 0, " + tensor(value, 1, after) + ", " +
               tensor(value, 2, after) + ")";
        break;
      case Function::row_max: text = x(0) + ".amax(dim=1)"; break;
      case Function::row_min: text = x(0) + ".amin(dim=1)"; break;
      case Function::row_sum: text = x(0) + ".sum(dim=1)"; break;
      case Function::row_product: text = x(0) + ".prod(dim=1)"; break;
      case Function::running_sum:
      case Function::running_max:
      case Function::running_product:
      case Function::running_min: {
        const std::string dim = meaning::runs_along_rows(value) ? "1" : "0";
        const bool back = meaning::runs_from_end(value);
        const bool extreme =
            value.function == Function::running_max || value.function == Function::running_min;
        text = x(0) + (back ? ".flip(" + dim + ")" : "") +
               (value.function == Function::running_sum       ? ".cumsum(dim="
                : value.function == Function::running_product ? ".cumprod(dim="
                : value.function == Function::running_max     ? ".cummax(dim="
                                                              : ".cummin(dim=") +
               dim + ")" + (extreme ? ".values" : "") + (back ? ".flip(" + dim + ")" : "");
        break;
      }
      case Function::lower: text = "torch.tril(" + x(0) + ")"; break;
      case Function::within: {
        std::string kept;
        for (std::size_t k = 2; k < value.operands.size(); k += meaning::kBoundNumbers)
          kept += (kept.empty() ? "(" : " & (") + linear(value, k, i) + " >= 0)";
        text = "torch.where(" + kept + ", " + tensor(value, 0, after) + ", " +
               tensor(value, 1, after) + ")";
        break;
      }
      case Function::places: text = linear(value, 0, i); break;
      default: break;  // axes.cpp and plan_check.cpp refuse the others
      case Function::causal:
        text = "torch.where((i * " + std::to_string(value.shape[1]) + " + torch.arange(" +
               std::to_string(value.shape[1]) + "))[None, :] <= " + x(1) + " + torch.arange(" +
               std::to_string(value.shape[0]) + ")[:, None] // " + x(2) + ", " + x(0) +
               ", float(\"-inf\"))";
        break;
    }
    line(depth, name + " = " + text);
  }
  /// An operand where torch wants a tensor and takes no number.
  std::string tensor(const Value& value, std::size_t k, bool after) const {
    const std::string text = operand(value, k, after);
    return value.operands[k].value >= 0 ? text : "torch.tensor(" + text + ", dtype=torch.float64)";
  }

  void reference() {
    line(0, "");
    line(0, "");
    line(0, "def reference_block(torch, load, store, n):");
    line(1,
         "\"\"\"What one run of the kernel computes, in double precision, as its file says "
         "it.\"\"\"");
    for (int v = 0; v < m_.loop_begin; ++v) statement(1, v, false);
    std::vector<int> carried;
    for (const meaning::Initial& one : m_.initial) {
      const Value& value = m_.values[at(one.value)];
      std::string shape;
      for (const std::int64_t extent : value.shape)
        shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
      const std::string what = one.what.value >= 0
                                   ? plan_.variable[at(one.what.value)]
                                   : "torch.full((" + shape + (shape.empty() ? "" : ",") + "), " +
                                         number_text(one.what.number) + ", dtype=torch.float64)";
      int most = 1;
      for (const Value& other : m_.values)
        for (const Operand& operand : other.operands)
          if (operand.value == one.value) most = std::max(most, operand.distance);
      line(1, plan_.variable[at(one.value)] + "_past = [" + what + "] * " + std::to_string(most));
      carried.push_back(one.value);
    }
    line(1, "for i in range(n):");
    for (const int v : meaning::loop_order(m_)) statement(2, v, false);
    for (const int v : carried)
      line(2, plan_.variable[at(v)] + "_past.append(" + plan_.variable[at(v)] + ")");
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v) statement(1, v, true);
  }

  const Plan& plan_;
  const meaning::Meaning& m_;
  const char* launch_;
  std::string text_;
};

}  // namespace

std::string host_text(const Plan& plan, const char* launch) {
  return HostPrinter(plan, launch).run();
}

}  // namespace twill::emit
