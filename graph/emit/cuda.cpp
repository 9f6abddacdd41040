#include "graph/emit/cuda.hpp"

#include <algorithm>

#include "graph/emit/about.hpp"
#include "graph/emit/cuda_host.hpp"
#include "graph/emit/cuda_plan.hpp"
#include "graph/emit/cuda_slot.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using program::Refusal;
using program::Storage;

class FilePrinter {
 public:
  FilePrinter(const CudaPlan& c, const EmitOptions& options)
      : c_(c), plan_(c.plan), p_(*c.plan.given), m_(*c.plan.meaning), options_(options) {}

  std::string run() {
    arguments();
    for (const int s : plan_.partitions) slot(s);
    kernel();
    const std::string code = std::move(text_);
    text_.clear();
    head();
    constants(code);
    return text_ + code + cuda_host_text(c_);
  }

 private:
  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(2 * at(depth), ' ') + text + "\n";
  }

  void head() {
    line(0, "// " + harmless(p_.problem) + " on " + harmless(options_.machine) +
                ", written by Twill " + harmless(options_.version) + ".");
    line(0, "//");
    line(0, "// Schedule: " + status_of(p_) + ", one iteration every I = " +
                std::to_string(p_.initiation_interval) + " cycles of the machine file");
    line(0, "// (" + proved_of(p_) + "), " + std::to_string(program::stage_count(p_)) + " stages.");
    line(0, "// Problem: sha256 " + harmless(p_.problem_sha256) + ".");
    line(0, "//");
    line(0,
         "// The program of slots, rings, barriers and waits below was judged free of races, "
         "deadlocks and");
    line(0,
         "// phase overruns for every trip count n >= 0. x_prev is x of the iteration before; a "
         "wait says");
    line(0,
         "// the order that needs it (RAW, WAR, WAW, overlay, turn) and the op and iteration that "
         "it waits");
    line(0, c_.blackwell()
                ? "// for. A product runs until the tensor_commit after it arrives."
                : "// for. A product runs from start_product to the end_products that covers it.");
    line(0, "//");
    line(0, "// " + std::to_string(c_.threads()) + " threads: " + registers() + ".");
    line(0, "// Shared memory: " + std::to_string(c_.shared_bytes) + " bytes." + tensor_memory());
    line(0, "//");
    line(0,
         "// This text is yours: Twill's license does not extend to what it writes, put it under "
         "any license");
    line(0, "// you like. It includes Twill's headers gpu/" +
                std::string(c_.blackwell() ? "blackwell" : "hopper") +
                "/slots. TWILL is the root of its "
                "source:");
    line(0,
         c_.blackwell()
             ? "//   nvcc -std=c++20 -O3 -gencode arch=compute_100a,code=sm_100a -I TWILL FILE.cu"
             : "//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I TWILL FILE.cu");
    line(0, "//     TWILL/gpu/hopper/tensor_map.cpp TWILL/gpu/api/error.cpp");
    line(0, "// checks and times it. Without a GPU, on Twill's emulator:");
    line(0, "//   g++ -std=c++20 -O2 -DTWILL_GPU_EMULATED -I TWILL -I CUDA/include -x c++ FILE.cu");
    line(0, "//     TWILL/gpu/emulator/*.cpp");
    const auto include = [&](const char* file) {
      line(0, "#include \"gpu/" + std::string(file) + "\"");
    };
    if (c_.blackwell()) {
      include("blackwell/slots/exchange.cuh");
      include("blackwell/slots/registers.cuh");
      include("blackwell/slots/tensor.cuh");
      include("hopper/slots/check.hpp");
      include("hopper/slots/host.hpp");
      include("hopper/slots/rings.cuh");
    } else {
      include("hopper/slots/check.hpp");
      include("hopper/slots/exchange.cuh");
      include("hopper/slots/host.hpp");
      include("hopper/slots/products.cuh");
      include("hopper/slots/registers.cuh");
      include("hopper/slots/rings.cuh");
    }
    line(0, "");
    line(0, "namespace emitted {");
    line(0, "");
    line(0, "using namespace twill::gpu;");
  }

  std::string tensor_memory() const {
    if (!c_.blackwell()) return "";
    return " Tensor memory: " + std::to_string(plan_.launch.tmem_columns) + " columns.";
  }

  std::string registers() const {
    std::string text;
    for (std::size_t k = 0; k < c_.groups.size(); ++k) {
      const Warpgroup& one = c_.groups[k];
      std::string names;
      for (const int s : one.slots)
        names += (names.empty() ? "" : " and ") + plan_.slot_name[at(s)];
      text += (text.empty() ? "" : ", ") + names;
      if (one.registers > 0) text += " " + std::to_string(one.registers);
    }
    return text + (c_.splits_registers ? " registers a thread" : "");
  }

  void constants(const std::string& code) {
    line(0, "");
    for (std::size_t k = 0; k < m_.constants.size(); ++k)
      if (code.find(plan_.constant[k]) != std::string::npos)
        line(0, "__device__ constexpr float " + plan_.constant[k] + " = " +
                    float_text(m_.constants[k].second) + ";");
    line(0, "");
    line(0, "// Shared memory. Rings: iteration k has copy k mod R.");
    for (const SharedPlace& one : c_.buffers) {
      const std::string bytes = code.find(one.name + "Bytes") == std::string::npos
                                    ? ""
                                    : ", " + one.name + "Bytes = " + std::to_string(one.bytes);
      line(0, "// " + (one.copies > 1 ? "R = " + std::to_string(one.copies) + ", " : "") +
                  one.comment);
      line(0, "constexpr std::uint32_t " + one.name + " = " + std::to_string(one.offset) + bytes +
                  ";");
    }
    if (c_.blackwell()) {
      line(0,
           "// Tensor memory, 128 lanes: columns behind the address that lies in shared memory.");
      for (const SharedPlace& one : c_.tensors) {
        const bool used = code.find(one.name + "Columns") != std::string::npos;
        line(0, "// " + (one.copies > 1 ? "R = " + std::to_string(one.copies) + ", " : "") +
                    one.comment);
        line(0, "constexpr std::uint32_t " + one.name + " = " + std::to_string(one.offset) +
                    (used ? ", " + one.name + "Columns = " + std::to_string(one.bytes) : "") + ";");
      }
      line(0, "constexpr std::uint32_t " + c_.tensor_address.name + " = " +
                  std::to_string(c_.tensor_address.offset) + ";  // its address, in shared memory");
    }
    line(0, "// Barriers: iteration k has barrier k mod R and waits for parity (k / R) mod 2.");
    for (const SharedPlace& one : c_.barriers)
      line(0, "constexpr std::uint32_t " + one.name + " = " + std::to_string(one.offset) +
                  ";  // " + (one.copies > 1 ? "R = " + std::to_string(one.copies) + ", " : "") +
                  std::to_string(one.arrivals) + (one.arrivals == 1 ? " arrival" : " arrivals") +
                  (one.comment.empty() ? "" : ", " + one.comment));
  }

  void arguments() {
    line(0, "");
    line(0, "struct Arguments {");
    std::string maps;
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t)
      if (plan_.axes.tensors[t].axes.size() == 2)
        maps += (maps.empty() ? "" : ", ") + plan_.host_name[t] + "_map";
    if (!maps.empty()) line(1, "CUtensorMap " + maps + ";");
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t)
      if (plan_.axes.tensors[t].axes.size() == 1) {
        line(1, "float* " + plan_.host_name[t] + "_data;");
        line(1, "int " + plan_.host_name[t] + "_rows;");
      }
    line(1, "int n;  ///< trip count of the loop");
    line(1, "int blocks_0, blocks_1;");
    line(0, "};");
    line(0, "");
    line(0, "/// A block's place in the grid.");
    line(0, "struct Place {");
    line(1, "int block_0, block_1, batch;");
    line(0, "};");
  }

  void slot(int s) {
    const int warps = c_.warps(s);
    line(0, "");
    line(0, "/// " + std::to_string(warps) + (warps == 1 ? " warp" : " warps") +
                (c_.narrow(s)               ? ", of which one thread works."
                 : s == plan_.finish_slot() ? ", for what follows the loop."
                                            : ", " + std::to_string(p_.slots[at(s)].registers) +
                                                  " registers a thread for tiles."));
    line(0, "__device__ __forceinline__ void " + plan_.slot_name[at(s)] +
                "(const Arguments& g, std::uint32_t shared,");
    line(0, "    " + std::string(c_.blackwell() ? "[[maybe_unused]] TensorAddress tmem, " : "") +
                "[[maybe_unused]] const Place& place," + (c_.blackwell() ? "\n    " : " ") +
                "[[maybe_unused]] int group) {");
    line(1, "[[maybe_unused]] const int n = g.n;");
    text_ += cuda_slot_text(c_, s);
    line(0, "}");
  }

  void kernel() {
    line(0, "");
    line(0, "struct Kernel {");
    line(1, "using Arguments = emitted::Arguments;");
    line(1, "static constexpr int kThreads = " + std::to_string(c_.threads()) + ";");
    line(1, "static constexpr int kSharedBytes = " + std::to_string(c_.shared_bytes) +
                ";  // with what alignment may cost");
    if (c_.blackwell())
      line(1, "static constexpr int kCapability = 10;  // of the GPU that it runs on");
    text_ += cuda_tables(c_);
    line(1, "static void run(void* const* data, const Sizes& sizes, cudaStream_t stream);");
    line(1,
         "static void reference(const reference::Load& load, const reference::Store& store, int "
         "n);");
    line(0, "");
    line(1, "/// One block of the grid; `shared` is 1024-byte aligned.");
    line(
        1,
        "static __device__ __forceinline__ void block(const Arguments& g, std::uint32_t shared) {");
    line(2, "const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 32), 0);");
    line(2, "if (threadIdx.x == 0) {");
    for (const SharedPlace& one : c_.barriers) {
      const std::string arrivals = std::to_string(one.arrivals);
      if (one.copies == 1)
        line(3, "barrier_init(shared + " + one.name + ", " + arrivals + ");");
      else
        line(3, "for (int k = 0; k < " + std::to_string(one.copies) +
                    "; ++k) barrier_init(shared + " + one.name + " + k * kBarrierBytes, " +
                    arrivals + ");");
    }
    line(3, "barrier_init_fence();");
    line(2, "}");
    if (c_.blackwell()) {
      line(2, "if (warp == 0) {");
      line(3, "tensor_allocate(shared + " + c_.tensor_address.name + ", " +
                  std::to_string(plan_.launch.tmem_columns) + ");");
      line(3, "tensor_relinquish();");
      line(2, "}");
    }
    initial(false);
    meet();
    if (c_.blackwell()) {
      line(2, "const TensorAddress tmem = load_shared(shared + " + c_.tensor_address.name + ");");
      initial(true);
    }
    line(2, "const int block = static_cast<int>(blockIdx.x);");
    line(2, "const Place place{block % g.blocks_0, block / g.blocks_0 % g.blocks_1,");
    line(2, "                  block / (g.blocks_0 * g.blocks_1)};");
    for (std::size_t k = 0; k < c_.groups.size(); ++k)
      if (c_.groups[k].part == 0) group(k);
    line(2, "}");
    if (c_.blackwell()) {
      meet();
      // (Anew: else it would be kept through all that the slots do.)
      line(2, "if (__shfl_sync(~0u, static_cast<int>(threadIdx.x / 32), 0) == 0) {");
      line(3, "tensor_fence_after();");
      line(3, "tensor_free(tmem, " + std::to_string(plan_.launch.tmem_columns) + ");");
      line(2, "}");
    }
    line(1, "}");
    line(0, "};");
  }

  /// All threads of the block; with fence::after_thread_sync where it is accessed, tensor memory,
  /// too, is then as they left it.
  void meet() {
    if (c_.blackwell()) line(2, "tensor_fence_before();");
    line(2, "__syncthreads();");
  }

  /// All warpgroups of a slot, or one of narrow slots, from number k on.
  void group(std::size_t k) {
    const Warpgroup& one = c_.groups[k];
    const bool narrow = c_.narrow(one.slots.front());
    const int parts = narrow ? 1 : c_.warpgroups(one.slots.front());
    const std::size_t next = k + at(parts);
    const std::string end = std::to_string(4 * next);
    line(2, next == c_.groups.size()
                ? (k == 0 ? "{" : "} else {")
                : (k == 0 ? "if (warp < " : "} else if (warp < ") + end + ") {");
    const int launch = 65'536 / c_.threads() / 8 * 8;
    if (one.registers > 0)
      line(3, std::string(one.registers > launch ? "raise" : "lower") + "_registers<" +
                  std::to_string(one.registers) + ">();");
    int warp = static_cast<int>(4 * k);
    for (const int s : one.slots) {
      const std::string call =
          plan_.slot_name[at(s)] +
          (c_.blackwell() ? "(g, shared, tmem, place, " : "(g, shared, place, ");
      if (narrow)
        line(3, "if (warp == " + std::to_string(warp) + " && elect_one()) " + call + "0);");
      else
        line(3, call + (parts == 1 ? "0" : "warp / 4 - " + std::to_string(k)) + ");");
      warp += c_.warps(s);
    }
    if (narrow) line(3, "__syncwarp();");
  }

  /// What carried results have from before the loop, where they lie in memory: tensor memory, or
  /// shared.
  void initial(bool tensor) {
    bool said = false;
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const Storage& storage = p_.storages[at(s)];
      if (storage.kind != Storage::in_memory || plan_.on_tmem(storage) != tensor) continue;
      const int carried = plan_.carried(s);
      if (carried == 0) continue;
      int value = -1;
      for (std::size_t op = 0; op < p_.ops.size(); ++op)
        for (const int w : p_.ops[op].writes)
          if (w == s) value = plan_.links.result[op];
      const meaning::Initial* first = value < 0 ? nullptr : m_.initial_of(value);
      if (first == nullptr || first->what.value >= 0)
        throw Refusal{"operand", "what is carried in " + harmless(storage.name) +
                                     " does not begin with a number"};
      if (m_.values[at(value)].type != "f32")
        throw Refusal{"type", "what is carried in " + harmless(storage.name) + " must be f32"};
      if (!said) line(2, "// What is carried into iteration 0.");
      if (!said && tensor) {
        line(2, "if (warp < 4) {");
        line(3, "tensor_fence_after();");
      }
      said = true;
      const SharedPlace& place = c_.place(plan_.buffer[at(s)]);
      for (int d = 1; d <= std::min(carried, storage.depth); ++d) {
        const int copy = ring_place(-d, storage.depth).copy;
        if (tensor) {
          line(3, "fill_tensor(tmem + " + place.name +
                      (copy > 0 ? " + " + std::to_string(copy * place.bytes) : "") + ", " +
                      std::to_string(place.bytes) + ", " + float_text(first->what.number) + ");");
          continue;
        }
        line(2, "fill_shared(shared + " + place.name +
                    (copy > 0 ? " + " + std::to_string(copy) + " * " + place.name + "Bytes" : "") +
                    ", " + std::to_string(place.bytes / 4) + ", bits_of(" +
                    float_text(first->what.number) + "), kThreads);");
      }
    }
    if (!said || !tensor) return;
    line(3, "end_tensor_stores();");
    line(2, "}");
    meet();
  }

  const CudaPlan& c_;
  const Plan& plan_;
  const program::Program& p_;
  const meaning::Meaning& m_;
  const EmitOptions& options_;
  std::string text_;
};

}  // namespace

std::variant<std::string, Refusal> emit_cuda(const program::Program& program,
                                             const EmitOptions& options) {
  if (options.user != nullptr)
    return Refusal{"target", "a module's own function is written for Gluon alone"};
  auto plan = make_cuda_plan(program, options);
  if (auto* no = std::get_if<Refusal>(&plan)) return *no;
  try {
    return FilePrinter(std::get<CudaPlan>(plan), options).run();
  } catch (const Refusal& no) {
    return no;
  }
}

}  // namespace twill::emit
