#include "graph/emit/gluon.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "graph/emit/gluon_file.hpp"
#include "graph/emit/gluon_host.hpp"
#include "graph/emit/gluon_slot.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/emit/kernel_arguments.hpp"
#include "graph/emit/sequence.hpp"
#include "graph/emit/tile_loop.hpp"
#include "graph/emit/user_function.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using program::Refusal;
using program::Storage;

/// One loop's functions: its slots', and the kernel's, or of a sequence what runs this loop and
/// those behind it.
class LoopPrinter {
 public:
  LoopPrinter(GluonFile& file, std::size_t part)
      : file_(file),
        plan_(*file.plans[part]),
        p_(*plan_.given),
        m_(*plan_.meaning),
        needs_(file.needs),
        part_(part) {}

  std::string run() {
    std::vector<SlotText> slots;
    for (const int s : plan_.partitions) slots.push_back(slot_text(plan_, s, needs_));
    if (plan_.tiles())
      for (SlotText& slot : slots)
        slot.body =
            plan_.persistent ? persistent_loop(plan_, slot.body) : user_tile_loop(plan_, slot.body);
    arguments();
    std::string functions;
    for (std::size_t k = 0; k < slots.size(); ++k)
      functions += function(plan_.partitions[k], slots[k]);
    kernel(slots);
    return functions + text_;
  }

 private:
  // ---- names that slots get as arguments

  void arguments() {
    const auto add = [&](const std::string& name) {
      if (std::find(arguments_.begin(), arguments_.end(), name) == arguments_.end())
        arguments_.push_back(name);
    };
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t)
      add(plan_.host_name[t] + plan_.suffix(static_cast<int>(t)));
    for (const std::string& one : plan_.buffer)
      if (!one.empty()) add(one);
    for (const auto& [v, one] : plan_.resident) add(one.name);
    for (const auto& [v, one] : plan_.staging) add(one.name);
    for (const auto& [v, one] : plan_.final_hand_over) add(one.name);
    for (const auto& [tile, one] : plan_.handed) add(one.name);
    for (const auto& [v, one] : plan_.made) add(one.name);
    for (const auto& [v, product] : plan_.outside) {
      for (const auto& one : product.factor)
        if (one) add(one->name);
      if (product.sum.empty()) continue;
      add(product.sum);
      add(product.ended);
    }
    for (const std::string& one : plan_.barrier)
      if (!one.empty()) add(one);
    add(plan_.resident_barrier);
    for (const std::string& one : plan_.done) add(one);
    if (plan_.tiles()) {
      // Each slot computes for itself what differs from tile to tile.
      add(plan_.resident_free);
      add(plan_.tile_free);
      if (!plan_.tile_read.empty()) add(plan_.tile_read);
      for (const std::string& one : plan_.parameter_name)
        if (!one.empty()) add(one);
      if (plan_.persistent) {
        for (const std::string& one : plan_.host_name) add(one + "_rows");
        add("n");
        for (const char* const one : kBlockCounts) add(one);
      }
      add("TRIPS");
      return;
    }
    for (std::size_t t = 0; t < plan_.tensor_name.size(); ++t) add(plan_.tensor_name[t] + "_row");
    for (const std::string& one : plan_.host_name) add(one + "_column");
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t)
      if (plan_.axes.tensors[t].steps >= 0) add(plan_.host_name[t] + "_rows");
    const auto parameters = [&] {
      for (const std::string& one : plan_.parameter_name)
        if (!one.empty()) add(one);
    };
    if (plan_.by_elements()) parameters();
    if (plan_.user != nullptr) {
      for (const std::string& one : plan_.tensor_name) add(one + "_column");
      for (const std::string& one : plan_.constant) add(one);
      for (const auto& [one, index] : plan_.places) add(one);
      parameters();
    }
    add("n");
    add("TRIPS");
  }

  bool is_constant(const std::string& name) const {
    return std::find(plan_.constant.begin(), plan_.constant.end(), name) != plan_.constant.end();
  }

  std::vector<std::string> used(const SlotText& slot) const {
    std::vector<std::string> all;
    for (const std::string& one : arguments_) {
      const bool said = plan_.tiles() || (plan_.user != nullptr && is_constant(one));
      if ((!plan_.tiles() && slot.used.contains(one)) || (said && mentions(slot.body, one)))
        all.push_back(one);
    }
    return all;
  }

  std::string function(int s, const SlotText& slot) const {
    std::string list;
    for (const std::string& one : used(slot))
      list += (list.empty() ? "" : ", ") + one + (one == "TRIPS" ? ": gl.constexpr" : "");
    std::string doc;
    if (s < plan_.finish_slot())
      doc = "    # " + std::to_string(plan_.warps(s)) + (plan_.warps(s) == 1 ? " warp" : " warps") +
            ", " + std::to_string(p_.slots[at(s)].registers) + " registers a thread for tiles\n";
    return "\n\n@gluon.jit\ndef " + plan_.slot_name[at(s)] + "(" + list + "):\n" + doc +
           (slot.body.empty() ? "    pass  # nobody needs what it would make\n" : slot.body);
  }

  // ---- the kernel

  /// columns_first: columns of the tile follow each other, not rows.
  std::string shared_layout(const std::vector<std::int64_t>& shape, const std::string& type,
                            bool columns_first) {
    std::string name = shared_layout_name(shape, type, columns_first);
    file_.shared_layouts[name] = "gl.NVMMASharedLayout.get_default_for([" +
                                 std::to_string(shape[0]) + ", " + std::to_string(shape[1]) +
                                 "], " + gluon_type(type) +
                                 (columns_first ? ", transposed=True)" : ")");
    return name;
  }

  void allocate(const std::string& name, const std::vector<std::int64_t>& shape,
                const std::string& type, int depth, const std::string& comment,
                bool columns_first = false) {
    if (gluon_type(type).empty()) throw Refusal{"type", "a buffer has elements of type " + type};
    std::string list = depth > 1 ? std::to_string(depth) : "";
    for (const std::int64_t extent : shape)
      list += (list.empty() ? "" : ", ") + std::to_string(extent);
    line(1, name + " = gl.allocate_shared_memory(" + gluon_type(type) + ", [" + list + "], " +
                (shape.size() == 2 ? shared_layout(shape, type, columns_first) : "VECTOR") + ")" +
                comment);
  }

  void kernel(const std::vector<SlotText>& slots) {
    line(0, "");
    line(0, "");
    line(0, "@gluon.jit");
    if (plan_.user != nullptr) {
      std::string bodies;
      for (const SlotText& slot : slots) bodies += slot.body;
      const std::string begins = initial_tiles(plan_, plan_.partitions[0], needs_);
      bodies += begins;
      text_ += part_ == 0 ? user_kernel_head(plan_, bodies) : part_head(bodies);
      if (part_ == 0) handed_buffers();
      under("# Rings: iteration k has copy k mod R.", [&] { buffers(); });
      initial();
      if (!begins.empty()) {
        line(1, "# What is carried into iteration 0, and factors, made before the slots begin.");
        for (const auto& [v, product] : plan_.outside)
          if (product.in_kernel && !product.ended.empty()) single(product.ended, 1);
        text_ += begins;
      }
      under("# Barriers: iteration k has barrier k mod R and waits for parity (k / R) mod 2.",
            [&] { barriers(); });
      partitions(slots);
      if (part_ + 1 < file_.plans.size()) next_loop();
      return;
    }
    std::string list;
    for (std::size_t t = 0; t < plan_.host_name.size(); ++t)
      list += plan_.host_name[t] + (plan_.axes.tensors[t].axes.size() == 1 ? "_ptr, " : "_desc, ");
    for (const std::string& one : plan_.host_name) list += one + "_rows, ";
    list += "n, ";
    for (const char* const one : kBlockCounts)
      if (plan_.persistent) list += std::string(one) + ", ";
    line(0, "def kernel(" + list + "TRIPS: gl.constexpr):");
    if (!plan_.persistent) {
      line(1, "block_0 = gl.program_id(0)");
      line(1, "block_1 = gl.program_id(1)");
      line(1, "batch = gl.program_id(2)");
      for (const KernelNumber& one : block_places(plan_)) line(1, one.name + " = " + one.value);
    }
    under("# Rings: iteration k has copy k mod R.", [&] { buffers(); });
    initial();
    under("# Barriers: iteration k has barrier k mod R and waits for parity (k / R) mod 2.",
          [&] { barriers(); });
    partitions(slots);
  }

  /// A comment and what it stands over, if that is something.
  template <class Lines>
  void under(const std::string& comment, Lines&& lines) {
    const std::size_t begin = text_.size();
    line(1, comment);
    const std::size_t after = text_.size();
    lines();
    if (text_.size() == after) text_.resize(begin);
  }

  void buffers() {
    for (const bool views : {false, true})
      for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
        const Storage& storage = p_.storages[at(s)];
        if (storage.kind != Storage::in_memory || plan_.on_tmem(storage) ||
            plan_.same_place[at(s)] != s || (plan_.view_of[at(s)] >= 0) != views)
          continue;
        const meaning::Value& value = plan_.value_of(s);
        const std::string ring = storage.depth > 1 ? "R = " + std::to_string(storage.depth) : "";
        if (views)
          view(s, value, ring);
        else
          allocate(plan_.buffer[at(s)],
                   value.shape.empty() ? std::vector<std::int64_t>{1} : value.shape, value.type,
                   storage.depth, ring.empty() ? "" : "  # " + ring, plan_.columns_first(value));
      }
    for (const auto& [v, one] : plan_.resident)
      allocate(one.name, one.shape, one.type, 1, "", plan_.columns_first(m_.values[at(v)]));
    std::set<std::string> named(plan_.buffer.begin(), plan_.buffer.end());
    for (const auto& [v, one] : plan_.resident) named.insert(one.name);
    for (const auto& [v, one] : plan_.staging)
      if (named.insert(one.name).second)
        allocate(one.name, one.shape, one.type, 1, "  # on its way out");
    for (const auto& [v, one] : plan_.final_hand_over)
      allocate(one.name, one.shape, one.type, 1, "  # for another slot, after the loop");
    for (const auto& [v, one] : plan_.made)
      allocate(one.name, one.shape, one.type, 1, "  # made before the slots begin");
    for (const auto& [v, product] : plan_.outside)
      for (const auto& one : product.factor)
        if (one)
          allocate(
              one->name, one->shape, one->type, 1,
              m_.in_loop(v) ? "  # of a product in a branch" : "  # of a product outside the loop");
    tensor_memory();
  }

  /// At the beginning of another buffer, whose use ends before this one's begins.
  void view(int s, const meaning::Value& value, const std::string& ring) {
    needs_.shared_views = true;
    const int depth = p_.storages[at(s)].depth;
    line(1, plan_.buffer[at(s)] + " = " + plan_.buffer[at(plan_.view_of[at(s)])] + ".reinterpret(" +
                gluon_type(value.type) + ", [" + (depth > 1 ? std::to_string(depth) + ", " : "") +
                std::to_string(value.shape[0]) + ", " + std::to_string(value.shape[1]) + "], " +
                shared_layout(value.shape, value.type, plan_.columns_first(value)) + ")" +
                (ring.empty() ? "" : "  # " + ring));
  }

  void tensor_memory() {
    const Amount columns = plan_.launch.tmem_columns;
    if (columns == 0) return;
    const auto layout = [](std::int64_t m, std::int64_t n) {
      return "TensorMemoryLayout([" + std::to_string(m) + ", " + std::to_string(n) +
             "], col_stride=1)";
    };
    line(1, "tensor_memory = allocate_tensor_memory(gl.float32, [128, " + std::to_string(columns) +
                "], " + layout(128, std::min<Amount>(columns, 128)) + ")");
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const Storage& storage = plan_.legal.program.storages[at(s)];  // (with accumulators joined)
      if (storage.kind != Storage::in_memory || !plan_.on_tmem(storage)) continue;
      const meaning::Value& value = plan_.value_of(s);
      const int bytes = meaning::number_type(value.type)->bytes;
      if (value.shape.size() != 2 || (value.shape[0] != 128 && value.shape[0] != 64) ||
          value.shape[1] > 256 || gluon_type(value.type).empty() ||
          value.shape[1] * bytes != storage.size * 4)
        throw Refusal{"storage", storage.name +
                                     " does not fill its columns of tensor memory as a "
                                     "tile of 128 rows, or of 64 in f32"};
      const Amount stride =
          (storage.size + storage.alignment - 1) / storage.alignment * storage.alignment;
      if (storage.depth > 1 && stride != storage.size)
        throw Refusal{"storage", storage.name + " has gaps between its copies"};
      const std::string rows =
          std::to_string(value.shape[0]) + ", " + std::to_string(value.shape[1]);
      if (storage.depth == 1 && value.shape[0] == 128) {
        // (Triton 3.8 takes a part of a view, and no view of a part.)
        line(1, plan_.buffer[at(s)] + " = tensor_memory.reinterpret(" + gluon_type(value.type) +
                    ", [128, " + std::to_string(columns * 4 / bytes) + "], " +
                    layout(128, value.shape[1]) + ").slice(" +
                    std::to_string(storage.base * 4 / bytes) + ", " +
                    std::to_string(value.shape[1]) + ")");
        continue;
      }
      // (Triton's slices are as wide as powers of two; a ring of three copies is in one of four.)
      const auto wide = static_cast<Amount>(
          std::bit_ceil(static_cast<std::uint64_t>(storage.size * storage.depth)));
      if (storage.base + wide > columns)
        throw Refusal{"storage", storage.name + " has no slice of tensor memory around its copies"};
      needs_.tmem_parts = true;
      line(1, plan_.buffer[at(s)] + " = tensor_memory.slice(" + std::to_string(storage.base) +
                  ", " + std::to_string(wide) + ").reinterpret(" + gluon_type(value.type) + ", [" +
                  (storage.depth > 1 ? std::to_string(storage.depth) + ", " : "") + rows + "], " +
                  layout(value.shape[0], value.shape[1]) + ")");
    }
    for (const auto& [v, product] : plan_.outside) {
      if (product.sum.empty()) continue;
      needs_.tmem_parts = true;
      const auto& shape = m_.values[at(v)].shape;
      line(1, product.sum + " = tensor_memory.slice(" + std::to_string(product.base) + ", " +
                  std::to_string(shape[1]) + ").reinterpret(gl.float32, [" +
                  std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "], " +
                  layout(shape[0], shape[1]) + ")");
    }
  }

  /// What carried results have from before the loop, where they lie in memory.
  void initial() {
    const ValuePrinter values(plan_, plan_.partitions[0], needs_);
    bool said = false;
    std::set<std::pair<Amount, std::string>> written;
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const Storage& storage = p_.storages[at(s)];
      if (storage.kind != Storage::in_memory) continue;
      const int carried = plan_.carried(s);
      if (carried == 0) continue;
      int value = -1;
      for (std::size_t op = 0; op < p_.ops.size(); ++op)
        for (const int w : p_.ops[op].writes)
          if (w == s) value = plan_.links.result[op];
      const meaning::Initial* first = m_.initial_of(value);
      if (first == nullptr)
        throw Refusal{"operand", m_.values[at(value)].id + " is carried and has no initial value"};
      if (plan_.begins_in_kernel(plan_.op_of(value))) continue;
      const ExtraBuffer* const handed =
          first->what.value < 0 ? nullptr : plan_.handed_in(first->what.value);
      if (first->what.value >= 0 &&
          (handed == nullptr || handed->type != m_.values[at(value)].type))
        throw Refusal{"operand",
                      m_.values[at(value)].id + " begins with a value from before the loop"};
      if (!said) line(1, "# What is carried into iteration 0.");
      said = true;
      for (int d = 1; d <= carried; ++d) {
        const std::string to =
            plan_.buffer[at(s)] + ring_index({Iteration::begin, -d}, storage.depth);
        if (handed != nullptr)
          carried_in(values, value, to, *handed, plan_.on_tmem(storage));
        else
          line(1, to + ".store(" +
                      values.in_a_buffer(m_.values[at(value)],
                                         values.filled_first(value, first->what, false)) +
                      ")");
      }
      if (!plan_.on_tmem(storage) && m_.values[at(value)].shape.size() == 2)
        line(1, "fence_async_shared()  # ordinary writes, perhaps read by the asynchronous proxy");
    }
  }

  /// A tile that a loop before has handed on, to where this one carries it.
  void carried_in(const ValuePrinter& values, int value, const std::string& to,
                  const ExtraBuffer& from, bool tmem) {
    constexpr std::int64_t kColumns = 32;  // at a time
    Layout layout = values.layout_of(value);
    const auto& shape = m_.values[at(value)].shape;
    if (!tmem || shape.size() != 2 || shape[1] % kColumns != 0 || shape[1] == kColumns) {
      line(1, to + ".store(" + from.name + ".load(" + values.text_of(layout) + "))");
      return;
    }
    layout.columns = kColumns;
    for (std::int64_t c = 0; c < shape[1]; c += kColumns) {
      const std::string cut = ".slice(" + std::to_string(c) + ", " + std::to_string(kColumns);
      line(1, to + cut + ").store(" + from.name + cut + ", dim=1).load(" + values.text_of(layout) +
                  "))");
    }
  }

  void barrier(const std::string& name, int phases, int count) {
    all_barriers_.emplace_back(name, phases);
    line(1, name + " = mbarrier.allocate_mbarrier(batch=" + std::to_string(phases) + ")");
    if (phases == 1) {
      line(1, "mbarrier.init(" + name + ".index(0), count=" + std::to_string(count) + ")");
    } else {
      line(1, "for ring_k in gl.static_range(" + std::to_string(phases) + "):");
      line(2, "mbarrier.init(" + name + ".index(ring_k), count=" + std::to_string(count) + ")");
    }
  }

  void single(const std::string& name, int count) {
    all_barriers_.emplace_back(name, 0);
    line(1, name + " = mbarrier.allocate_mbarrier()");
    line(1, "mbarrier.init(" + name + ", count=" + std::to_string(count) + ")");
  }

  /// cp.async of a vector: every thread of the slot arrives.
  int arrivals(const program::Event& event) const {
    const int source = plan_.legal.source[at(event.op)];
    if (source < 0) return event.arrivals;
    const meaning::Value& value = m_.values[at(plan_.links.result[at(source)])];
    const bool vector = value.function == meaning::Function::load && value.shape.size() == 1;
    const bool threads = plan_.by_elements(value.tensor) ? plan_.copied_by_threads(value) : vector;
    return threads ? 32 * plan_.warps(p_.ops[at(source)].slot) : event.arrivals;
  }

  void barriers() {
    const auto& events = plan_.legal.program.events;
    for (std::size_t e = 0; e < events.size(); ++e)
      if (!events[e].pending) barrier(plan_.barrier[e], events[e].phases, arrivals(events[e]));
    int residents = 0;
    for (const auto& [v, one] : plan_.resident)
      residents +=
          plan_.copied_by_threads(m_.values[at(v)]) ? 32 * plan_.warps(plan_.resident_slot) : 1;
    if (!plan_.resident.empty()) single(plan_.resident_barrier, residents);
    if (plan_.tiles() && !plan_.resident.empty())
      single(plan_.resident_free, static_cast<int>(plan_.resident_users().size()));
    if (plan_.tiles() && !plan_.finishers().empty())
      single(plan_.tile_free, static_cast<int>(plan_.finishers().size()));
    if (!plan_.tile_read.empty())
      single(plan_.tile_read, static_cast<int>(plan_.finishers().size()) - 1);
    for (std::size_t s = 0; s < plan_.done_needed.size(); ++s)
      if (plan_.done_needed[s]) single(plan_.done[s], 1);
    for (const auto& [v, product] : plan_.outside)
      if (!product.in_kernel && !product.ended.empty()) single(product.ended, 1);
  }

  void partitions(const std::vector<SlotText>& slots) {
    const auto name = [&](std::size_t k) { return plan_.slot_name[at(plan_.partitions[k])]; };
    const auto list = [&](std::size_t k) {
      std::string all;
      for (const std::string& one : used(slots[k])) all += (all.empty() ? "" : ", ") + one;
      return all;
    };
    const auto call = [&](std::size_t k) {
      return "(" + name(k) + ", (" + list(k) + (used(slots[k]).size() == 1 ? ",))" : "))");
    };
    if (slots.size() == 1 && plan_.idle.empty()) {  // (Triton refuses a default partition alone)
      line(1, name(0) + "(" + list(0) + ")");
      return;
    }
    line(1, "gl.warp_specialize([");
    std::string warps, registers;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      line(2, call(k) + ",");
      if (k == 0) continue;
      const Partition& one = plan_.launch.workers[k - 1];
      warps += (warps.empty() ? "" : ", ") + std::to_string(one.warps);
      registers += (registers.empty() ? "" : ", ") + std::to_string(one.registers);
    }
    for (const Partition& one : plan_.idle) {
      line(2, "(slot_idle, ()),");
      warps += (warps.empty() ? "" : ", ") + std::to_string(one.warps);
      registers += (registers.empty() ? "" : ", ") + std::to_string(one.registers);
    }
    line(1, "], [" + warps + "], [" + registers + "])  # warps and registers of all but the first");
  }

  // ---- several loops

  /// Of all that this loop or one behind it uses.
  std::map<std::string, ExtraBuffer> handed_from(std::size_t part) const {
    std::map<std::string, ExtraBuffer> all;
    for (std::size_t k = part; k < file_.plans.size(); ++k)
      for (const auto& [tile, one] : file_.plans[k]->handed) all.emplace(one.name, one);
    return all;
  }

  void handed_buffers() {
    const auto all = handed_from(0);
    if (!all.empty()) line(1, "# What a loop hands to those behind it.");
    for (const auto& [name, one] : all) allocate(name, one.shape, one.type, 1, "");
  }

  std::string part_head(const std::string& bodies) const {
    std::string list;
    for (const std::string& one : plan_.parameter_name)
      if (!one.empty()) list += (list.empty() ? "" : ", ") + one;
    for (const auto& [name, one] : handed_from(part_)) list += (list.empty() ? "" : ", ") + name;
    return "def loop_" + std::to_string(part_ + 1) + "(" + list + "):\n" +
           user_kernel_numbers(plan_, bodies, false);
  }

  /// The barriers of this one keep their memory until the last loop has ended: who waits for none
  /// of their phases any more does not know that all arrivals have come.
  void next_loop() {
    const Plan& next = *file_.plans[part_ + 1];
    std::string list;
    for (std::size_t k = 0; k < plan_.parameter_name.size(); ++k)
      if (!next.parameter_name[k].empty())
        list += (list.empty() ? "" : ", ") + plan_.parameter_name[k];
    for (const auto& [name, one] : handed_from(part_ + 1))
      list += (list.empty() ? "" : ", ") + name;
    line(1, "# All slots have ended.");
    line(1, "loop_" + std::to_string(part_ + 2) + "(" + list + ")");
    line(1, "# Their memory is theirs until here.");
    for (const auto& [name, phases] : all_barriers_) {
      if (phases <= 1) {
        line(1, "mbarrier.invalidate(" + name + (phases == 1 ? ".index(0)" : "") + ")");
        continue;
      }
      line(1, "for ring_k in gl.static_range(" + std::to_string(phases) + "):");
      line(2, "mbarrier.invalidate(" + name + ".index(ring_k))");
    }
  }

  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(4 * at(depth), ' ') + text + "\n";
  }

  GluonFile& file_;
  const Plan& plan_;
  const program::Program& p_;
  const meaning::Meaning& m_;
  ModuleNeeds& needs_;
  std::size_t part_;
  std::vector<std::string> arguments_;
  std::vector<std::pair<std::string, int>> all_barriers_;  ///< phases; 0 = it is no array
  std::string text_;
};

/// The file of one plan or, of a sequence of loops, of several.
GluonKernel written(const std::vector<const Plan*>& plans, const EmitOptions& options) {
  GluonFile file;
  file.plans = plans;
  const Plan& first = *plans.front();
  // What calls a loop stands behind it.
  std::string functions;
  GluonKernel made;
  if (std::any_of(plans.begin(), plans.end(), [](const Plan* one) { return !one->idle.empty(); }))
    functions = "\n\n@gluon.jit\ndef slot_idle():\n    pass  # all loops have as many warps\n";
  for (std::size_t part = plans.size(); part-- > 0;) {
    LoopPrinter printer(file, part);
    functions += printer.run();
  }
  made.arguments = kernel_arguments(plans);
  const std::string defined = gluon_definitions(file);
  made.about = gluon_about(file, options);
  made.text = gluon_head(file, made.about) + defined;
  if (!first.branches_on_trips())
    made.text +=
        "DEPTH = " + std::to_string(first.depth) +
        "  # iterations in flight beside the newest: with fewer, TRIPS says how many there "
        "are\n";
  made.text += functions + (first.user != nullptr ? user_launcher(plans) : host_text(first));
  made.launch = first.launch;
  for (const Plan* const one : plans) made.registers_short += one->registers_short;
  made.target = first.legal.target;
  made.code = defined + functions;
  made.depth = first.branches_on_trips() ? 0 : first.depth;
  return made;
}

}  // namespace

namespace {

std::variant<std::vector<Plan>, Refusal> plans_together(const std::vector<SequencePart>& parts,
                                                        const EmitOptions& options) {
  std::vector<Plan> made;
  for (const SequencePart& part : parts) {
    EmitOptions of_part = options;
    of_part.user = part.user;
    auto plan = make_plan(*part.program, of_part);
    if (auto* no = std::get_if<Refusal>(&plan)) return *no;
    made.push_back(std::move(std::get<Plan>(plan)));
  }
  if (auto no = fit_together(made)) return *no;
  return made;
}

}  // namespace

std::variant<GluonKernel, Refusal> emit_gluon(const std::vector<SequencePart>& parts,
                                              const EmitOptions& options) {
  auto planned = plans_together(parts, options);
  for (const int resident : fewer_resident(options)) {
    const auto* no = std::get_if<Refusal>(&planned);
    if (no == nullptr || no->rule != "limits" || no->needs_shared) break;
    EmitOptions less = options;
    less.resident_registers = resident;
    if (auto again = plans_together(parts, less); !std::holds_alternative<Refusal>(again))
      planned = std::move(again);
  }
  if (auto* no = std::get_if<Refusal>(&planned)) return *no;
  const auto& made = std::get<std::vector<Plan>>(planned);
  std::vector<const Plan*> plans;
  for (const Plan& plan : made) plans.push_back(&plan);
  try {
    return written(plans, options);
  } catch (const Refusal& no) {
    return no;
  }
}

std::variant<GluonKernel, Refusal> emit_gluon(const program::Program& program,
                                              const EmitOptions& options) {
  auto plan = make_plan(program, options);
  if (auto* no = std::get_if<Refusal>(&plan)) return *no;
  try {
    return written({&std::get<Plan>(plan)}, options);
  } catch (const Refusal& no) {
    return no;
  }
}

}  // namespace twill::emit
