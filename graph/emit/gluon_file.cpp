#include "graph/emit/gluon_file.hpp"

#include "graph/emit/about.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/emit/limits.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

class GluonFilePrinter {
 public:
  explicit GluonFilePrinter(const GluonFile& file) : file_(file) {}

  std::string about(const EmitOptions& options) {
    const std::size_t count = file_.plans.size();
    for (std::size_t k = 0; k < count; ++k) {
      const Plan& plan = *file_.plans[k];
      EmitOptions of_loop = options;
      of_loop.user = plan.user;
      if (count > 1)
        line(0, "Loop " + std::to_string(k + 1) + " of " + std::to_string(count) +
                    ", which run one behind the other:");
      text_ += about_program(*plan.given, of_loop);
      if (k == 0) explanation();
      facts(plan);
    }
    return std::move(text_);
  }

  std::string head(const std::string& about) {
    text_ = "\"\"\"" + about;
    line(0,
         "This text is yours: Twill's license does not extend to what it writes, put it under any "
         "license you");
    if (first().user != nullptr)
      line(0, "like. Needs Triton " + oldest() +
                  " or newer. Called as the function was that it stands for, on its grid.");
    else
      line(0, "like. Needs Triton " + oldest() +
                  " or newer and PyTorch; `python FILE` checks and times it.");
    line(0, "\"\"\"");
    if (first().user == nullptr) {
      line(0, "import itertools");
      line(0, "import math");
    }
    line(0, "import sys");
    line(0, "");
    line(0, "try:");
    line(1, "import triton");
    line(1, "from triton.experimental import gluon");
    line(1, "from triton.experimental.gluon import language as gl");
    line(1, "from triton.experimental.gluon.nvidia.hopper import TensorDescriptor");
    const std::string from = "from triton.experimental.gluon.language.nvidia.";
    if (hopper()) {
      line(
          1,
          from +
              "hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait" +
              (file_.needs.wgmma_init ? ", warpgroup_mma_init" : ""));
    } else {
      line(1, from +
                  "blackwell import (TensorMemoryLayout, allocate_tensor_memory, mbarrier, "
                  "tcgen05_commit, tcgen05_mma,");
      line(1,
           "                                                                 "
           "tensor_memory_descriptor, tma)");
      line(1, from + "hopper import fence_async_shared");
    }
    if (file_.needs.async_copy || file_.needs.warp_products)
      line(1, from + "ampere import " + (file_.needs.async_copy ? "async_copy" : "") +
                  (file_.needs.async_copy && file_.needs.warp_products ? ", " : "") +
                  (file_.needs.warp_products ? "mma_v2" : ""));
    bridge();
    line(0, "except ImportError as missing:");
    line(1, "if __name__ != \"__main__\":");
    line(2, "raise");
    line(1, "print(f\"Triton " + oldest() +
                " or newer with Gluon is needed: {missing}\", file=sys.stderr)");
    line(1, "sys.exit(2)");
    line(0, "");
    return std::move(text_);
  }

  std::string definitions() {
    const meaning::Meaning& meaning = *first().meaning;
    for (std::size_t k = 0; k < meaning.constants.size() && first().user == nullptr; ++k)
      line(0, first().constant[k] + ": gl.constexpr = gl.constexpr(" +
                  number_text(meaning.constants[k].second) + ")");
    if (file_.needs.anew) anew();
    if (file_.needs.at_most)
      columns_compared("at_most",
                       "<=", "gl.maximum(limit, -1) - (columns & own) >= (columns & (-1 - own))");
    if (file_.needs.at_least)
      columns_compared("at_least",
                       ">=", "(columns & (-1 - own)) >= gl.maximum(limit, 0) - (columns & own)");
    if (file_.needs.twice) twice();
    if (file_.needs.running_sum) scan_function("add_up", "a + b", "running sums");
    if (file_.needs.running_max) scan_function("keep_larger", "gl.maximum(a, b)", "running maxima");
    if (file_.needs.running_min)
      scan_function("keep_smaller", "gl.minimum(a, b)", "running minima");
    if (file_.needs.product) scan_function("multiply_up", "a * b", "products");
    for (const std::string& name : file_.needs.row_places) text_ += place_definition(name);
    if (!file_.needs.tiles.empty()) line(0, "# Register layouts of tiles.");
    for (const auto& [m, n, warps, depth] : file_.needs.tiles)
      line(0, tile_name(m, n, warps, depth) + ": gl.constexpr = gl.constexpr(" +
                  tile_layout(first().legal.target, m, n, warps,
                              depth != 0 ? depth : file_.needs.product_depth,
                              file_.needs.warp_products) +
                  ")");
    for (const auto& [name, value] : file_.shared_layouts)
      line(0, name + ": gl.constexpr = gl.constexpr(" + value + ")");
    line(0, "VECTOR: gl.constexpr = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))");
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(4 * at(depth), ' ') + text + "\n";
  }
  const Plan& first() const { return *file_.plans.front(); }
  bool hopper() const { return first().legal.target == Target::hopper; }

  void explanation() {
    line(0,
         "The program of slots, rings, barriers and waits below was judged free of races, "
         "deadlocks and");
    line(0,
         "phase overruns for every trip count n >= 0. x_prev is x of the iteration before; a wait "
         "says the order");
    line(
        0,
        "that needs it (RAW, WAR, WAW, overlay, turn) and the op and iteration that it waits for.");
    line(0, "");
  }

  void facts(const Plan& plan) {
    line(0, "Registers a thread: " + registers(plan) + ".");
    line(0, "Shared memory: " + std::to_string(plan.launch.shared_bytes) + " bytes" +
                (plan.launch.tmem_columns > 0
                     ? "; tensor memory: " + std::to_string(plan.launch.tmem_columns) + " columns"
                     : "") +
                "; " + std::to_string(plan.launch.barriers) + " barriers.");
    line(0, "");
  }

  /// The oldest Triton that has what the text uses (tests/emit/emit_compile_test.py compiles with
  /// each).
  std::string oldest() const {
    const bool scans = file_.needs.running_sum || file_.needs.running_max ||
                       file_.needs.running_min || file_.needs.product;
    return file_.needs.bulk_add || scans ? "3.8" : "3.7";
  }

  /// What older versions call otherwise, where the text uses it.
  void bridge() {
    line(1, "# Triton 3.7 and 3.8 have some of it under other names.");
    line(1, "if not hasattr(tma, \"async_load\"):");
    line(2,
         "tma.async_load, tma.async_store = tma.async_copy_global_to_shared, "
         "tma.async_copy_shared_to_global");
    if (file_.needs.async_copy) {
      line(1, "if not hasattr(async_copy, \"async_load\"):");
      line(2, "async_copy.async_load = async_copy.async_copy_global_to_shared");
    }
    if (!hopper()) {
      line(1, "if not hasattr(tensor_memory_descriptor, \"reinterpret\"):");
      line(2, "tensor_memory_descriptor.reinterpret = tensor_memory_descriptor._reinterpret");
    }
    if (file_.needs.shared_views) {
      line(1, "if not hasattr(gl.shared_memory_descriptor, \"reinterpret\"):");
      line(2, "gl.shared_memory_descriptor.reinterpret = gl.shared_memory_descriptor._reinterpret");
    }
    if (file_.needs.tmem_parts) {
      line(1, "if triton.__version__.startswith(\"3.8\"):");
      line(
          2,
          "raise ImportError(\"Triton 3.8 has no rings and no tiles of 64 rows in a part of tensor "
          "memory\")");
    }
    if (file_.needs.bulk_add) {
      line(1, "if not hasattr(tma, \"async_atomic_add\"):");
      line(2,
           "raise ImportError(\"this one has no additions in memory by bulk copies "
           "(tma.async_atomic_add)\")");
    }
  }

  void anew() {
    line(0, "");
    line(0, "@gluon.jit");
    line(0, "def anew(x):");
    line(1, "# x, computed in every iteration: a mask that is kept takes a register an element.");
    line(1,
         "return gl.inline_asm_elementwise(\"mov.b32 $0, $1;\", \"=r,r\", [x], gl.int32, "
         "is_pure=False, pack=1)");
    line(0, "");
    line(0, "");
  }

  /// (A limit below all columns is as good as any other such, and what is taken from it does not
  /// leave 32 bits.)
  void columns_compared(const std::string& name, const std::string& sign, const std::string& how) {
    line(0, "");
    line(0, "@gluon.jit");
    line(0, "def " + name + "(columns, limit, own: gl.constexpr):");
    line(1, "# columns " + sign +
                " limit. The bits `own` of a column differ from thread to thread; the others are "
                "numbers that the");
    line(1,
         "# compiler knows. Compared as a whole, all of a thread's columns would be held in "
         "registers over the loop.");
    line(1, "return " + how);
    line(0, "");
    line(0, "");
  }

  void twice() {
    line(0, "");
    line(0, "@gluon.jit");
    line(0, "def beside_itself(x):  # repeats it, as the last dimension");
    line(1, "return gl.join(x, x)");
    line(0, "");
    line(0, "");
  }

  void scan_function(const std::string& name, const std::string& both, const std::string& what) {
    line(0, "");
    line(0, "@gluon.jit");
    line(0, "def " + name + "(a, b):  # for " + what);
    line(1, "return " + both);
    line(0, "");
    line(0, "");
  }

  static std::string registers(const Plan& plan) {
    const LaunchFacts facts = launch_facts(plan.launch);
    std::string text =
        plan.slot_name[at(plan.partitions[0])] + " " +
        std::to_string(facts.first_registers > 0 ? facts.first_registers : facts.registers);
    for (std::size_t k = 0; k < facts.workers.size(); ++k)
      text += ", " + plan.slot_name[at(plan.partitions[k + 1])] + " " +
              std::to_string(facts.workers[k]);
    return text + " (" + std::to_string(facts.threads) + " threads)";
  }

  const GluonFile& file_;
  std::string text_;
};

}  // namespace

std::string gluon_about(const GluonFile& file, const EmitOptions& options) {
  return GluonFilePrinter(file).about(options);
}

std::string gluon_head(const GluonFile& file, const std::string& about) {
  return GluonFilePrinter(file).head(about);
}

std::string gluon_definitions(const GluonFile& file) {
  return GluonFilePrinter(file).definitions();
}

}  // namespace twill::emit
