#include "graph/emit/cuda_plan.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "graph/emit/cuda_tiles.hpp"
#include "graph/emit/cuda_words.hpp"
#include "graph/emit/limits.hpp"
#include "graph/emit/register_pressure.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Program;
using program::Refusal;
using program::Storage;

constexpr Amount kSwizzlePeriod = 1'024;
constexpr int kNamedBarriers = 16;
constexpr int kTensorColumns = 512;
// What a thread that issues loads and products has: addresses, and descriptors of a few products.
constexpr int kIssuersRegisters = 48;

std::string camel(const std::string& name) {
  std::string text = "k";
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    const auto u = static_cast<unsigned char>(c);
    text += static_cast<char>(upper ? std::toupper(u) : std::tolower(u));
    upper = false;
  }
  return text;
}

class CudaPlanner {
 public:
  CudaPlanner(Plan plan, const EmitOptions& options)
      : options_(options), names_(cuda_words(plan.legal.target == Target::blackwell)) {
    c_.plan = std::move(plan);
  }

  std::variant<CudaPlan, Refusal> run() {
    name();
    try {
      c_.blackwell() ? slots_on_blackwell() : slots();
      c_.blackwell() ? warpgroups_on_blackwell() : warpgroups();
      check_cuda_tiles(c_);
      memory();
      if (!c_.blackwell()) check_products();
    } catch (const Refusal& no) {
      return no;
    }
    c_.by_lanes.assign(m().values.size(), false);
    if (!c_.blackwell()) lanes();
    return std::move(c_);
  }

 private:
  [[noreturn]] static void refuse(const std::string& rule, const std::string& text) {
    throw Refusal{rule, text};
  }
  const Program& p() const { return *c_.plan.given; }
  const meaning::Meaning& m() const { return *c_.plan.meaning; }

  // ---- names

  static bool lower(const std::string& name) {
    return !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
             return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
           });
  }
  void rename(std::string& name, const char* fallback, const std::vector<std::string>& suffixes) {
    if (!name.empty()) name = names_.make(lower(name) ? name : "", fallback, suffixes);
  }
  void rename_constant(std::string& name, const char* fallback) {
    if (name.empty()) return;
    const auto found = constants_.find(name);
    if (found == constants_.end())
      name = constants_[name] =
          names_.make(camel(name), fallback,
                      c_.blackwell() ? std::vector<std::string>{"Bytes", "Columns"}
                                     : std::vector<std::string>{"Bytes"});
    else
      name = found->second;
  }

  void name() {
    Plan& plan = c_.plan;
    rename(plan.function, "run", {});
    for (std::string& one : plan.slot_name) rename(one, "slot", {});
    for (std::string& one : plan.variable)
      rename(one, "value", {"_prev", "_prev2", "_prev3", "_past", "_read", "_read2"});
    for (std::string& one : plan.constant) rename_constant(one, "kConstant");
    for (std::string& one : plan.buffer) rename_constant(one, "kBuffer");
    for (std::string& one : plan.barrier) rename_constant(one, "kBarrier");
    for (std::string& one : plan.done) rename_constant(one, "kDone");
    rename_constant(plan.resident_barrier, "kResident");
    for (auto* const extra : {&plan.resident, &plan.staging, &plan.final_hand_over})
      for (auto& [v, one] : *extra) rename_constant(one.name, "kExtra");
    // A tensor's name has a suffix wherever it is used.
    for (std::string& one : plan.host_name)
      one = names_.make(one, "tensor", {"_map", "_data", "_rows"});
  }

  // ---- slots

  /// Is it a load by TMA into shared memory?
  bool loads(int op) const {
    return m().values[at(c_.plan.links.result[at(op)])].function == Function::load;
  }
  bool copies_in_bulk(int op) const {
    return loads(op) || p().ops[at(op)].ending == program::Ending::transaction;
  }

  void slots() {
    c_.one_thread.assign(p().slots.size() + 1, false);
    for (std::size_t s = 0; s < p().slots.size(); ++s) c_.one_thread[s] = p().slots[s].width < 4;
    for (const int s : c_.plan.partitions) {
      if (s == c_.plan.finish_slot())
        refuse("op", "no slot has in registers what is computed after the loop");
      const program::Slot& slot = p().slots[at(s)];
      const std::string name = harmless(slot.name);
      if (slot.width >= 4 && slot.width % 4 != 0)
        refuse("limits", "slot " + name + " has " + std::to_string(slot.width) +
                             " warps: a slot that computes has whole warpgroups");
      for (int v = 0; v < static_cast<int>(p().ops.size()); ++v) {
        if (p().ops[at(v)].slot != s || copies_in_bulk(v) != (slot.width >= 4)) continue;
        if (slot.width >= 4)
          refuse("op", harmless(p().ops[at(v)].id) + (loads(v) ? " loads" : " stores") +
                           " on slot " + name +
                           ", which computes: one thread issues copies, on a slot of their own");
        refuse("op", harmless(p().ops[at(v)].id) + " is no bulk copy, and slot " + name + " has " +
                         std::to_string(slot.width) + " warps: a warpgroup has four");
      }
    }
  }

  /// A slot that copies in bulk and issues products is one thread's; one that computes has a row a
  /// thread, and one thread of it issues its products.
  void slots_on_blackwell() {
    c_.one_thread.assign(p().slots.size() + 1, false);
    const std::set<int> finishers = c_.plan.finishers();
    for (const int s : c_.plan.partitions) {
      if (s == c_.plan.finish_slot()) continue;
      const std::string name = harmless(p().slots[at(s)].name);
      std::string copied, computed;
      for (int v = 0; v < static_cast<int>(p().ops.size()); ++v) {
        if (p().ops[at(v)].slot != s) continue;
        if (copies_in_bulk(v))
          copied = harmless(p().ops[at(v)].id);
        else if (!c_.issued(v))
          computed = harmless(p().ops[at(v)].id);
      }
      c_.one_thread[at(s)] = computed.empty();
      if (c_.plan.commits_products(s)) c_.plan.done_needed[at(s)] = true;
      if (computed.empty() && finishers.contains(s))
        refuse("op", "slot " + name + ", of which one thread works, is to compute after the loop");
      if (computed.empty()) continue;
      if (!copied.empty())
        refuse("op", copied + " is on slot " + name +
                         ", which computes: one thread issues copies, on a slot of their own");
      if (p().slots[at(s)].width % 4 != 0)
        refuse("op", computed + " is on slot " + name + " of " +
                         std::to_string(p().slots[at(s)].width) +
                         " warps: tensor memory gives a row to each thread of four");
    }
  }

  /// Registers: what Gluon's partitions would ask for (plan.cpp); those that ask for most share
  /// what is left.
  void warpgroups_on_blackwell() {
    place_narrow_slots();
    for (Warpgroup& one : c_.groups) one.registers = kIssuersRegisters;
    const Launch& launch = c_.plan.launch;
    int most = 0;
    for (std::size_t k = 0; k < c_.plan.partitions.size(); ++k) {
      const int s = c_.plan.partitions[k];
      if (c_.narrow(s)) continue;
      const int registers = k == 0 ? launch.first.registers : launch.workers[k - 1].registers;
      for (int part = 0; part < c_.warpgroups(s); ++part)
        c_.groups.push_back({{s}, part, registers});
      most = std::max(most, registers);
    }
    check_threads();
    if (most == 0) refuse("op", "no slot of a warpgroup computes");
    const int all = static_cast<int>(c_.groups.size());
    const int given = kRegisterFile / c_.threads() / kRegisterStep * kRegisterStep;
    if (given > kMostRegisters) {
      for (Warpgroup& one : c_.groups) one.registers = 0;
      return;
    }
    const auto sum = [&] {
      int registers = 0;
      for (const Warpgroup& one : c_.groups) registers += one.registers;
      return registers;
    };
    // Where that is too much, issuers get what their programs ask for.
    for (Warpgroup& one : c_.groups)
      if (sum() > given * all && c_.narrow(one.slots.front())) one.registers = asked(one);
    if (sum() > given * all)
      refuse("limits", "slots need " + std::to_string(sum()) + " registers, a thread of each, of " +
                           std::to_string(given * all) + " that a block of " +
                           std::to_string(c_.threads()) + " threads has");
    c_.splits_registers = true;
    // What is left goes to slots that hold tiles, as many registers for each.
    for (bool more = true; more;) {
      more = false;
      for (const int s : c_.plan.partitions) {
        const std::vector<Warpgroup> kept = c_.groups;
        bool raised = false;
        for (Warpgroup& one : c_.groups)
          if (one.slots.front() == s && !c_.narrow(s) && one.registers >= kHoldsTiles &&
              one.registers + kRegisterStep <= kMostRegisters) {
            one.registers += kRegisterStep;
            raised = true;
          }
        if (sum() > given * all)
          c_.groups = kept;
        else
          more |= raised;
      }
    }
  }

  int asked(const Warpgroup& group) const {
    Amount most = kLeastRegisters;
    for (const int s : group.slots)
      most = std::max(most, p().slots[at(s)].registers + options_.resident_registers);
    return static_cast<int>(std::min<Amount>(
        (most + kRegisterStep - 1) / kRegisterStep * kRegisterStep, kIssuersRegisters));
  }

  void place_narrow_slots() {
    int room = 0;
    for (const int s : c_.plan.partitions) {
      if (!c_.narrow(s)) continue;
      const int width = c_.warps(s);
      if (room < width) {
        c_.groups.emplace_back();
        room = 4;
      }
      c_.groups.back().slots.push_back(s);
      room -= width;
    }
  }
  void check_threads() const {
    if (c_.threads() > kMostThreads)
      refuse("limits", std::to_string(c_.threads()) + " threads: a block has at most 1024");
    const int after = c_.blackwell() ? 1 : 0;  // the slot that follows the loop has one, too
    if (static_cast<int>(p().slots.size()) + 1 + after > kNamedBarriers)
      refuse("limits", "more than 15 slots: a block has 16 named barriers");
  }

  void warpgroups() {
    place_narrow_slots();
    const int loaders = static_cast<int>(c_.groups.size());
    Amount need = 0;
    for (const int s : c_.plan.partitions) {
      if (c_.narrow(s)) continue;
      for (int k = 0; k < c_.warpgroups(s); ++k) c_.groups.push_back({{s}, k, 0});
      need = std::max(need, p().slots[at(s)].registers + options_.resident_registers);
    }
    check_threads();
    const int all = static_cast<int>(c_.groups.size()), wide = all - loaders;
    if (wide == 0) refuse("op", "no slot of a warpgroup computes");
    // What the launch gives a thread, and what is left to those that compute.
    const int given = kRegisterFile / c_.threads() / kRegisterStep * kRegisterStep;
    need = std::min<Amount>((need + kRegisterStep - 1) / kRegisterStep * kRegisterStep,
                            kMostRegisters);
    if (given > kMostRegisters) return;  // as much as setmaxnreg could give
    const int each =
        std::min((given * all - kLeastRegisters * loaders) / wide / kRegisterStep * kRegisterStep,
                 kMostRegisters);
    if (each < need)
      refuse("limits", std::to_string(wide) + " warpgroups that compute have " +
                           std::to_string(each) + " registers a thread of a block's 65,536, and " +
                           std::to_string(need) + " are needed");
    c_.splits_registers = loaders > 0;
    for (Warpgroup& one : c_.groups)
      if (c_.splits_registers)
        one.registers = c_.narrow(one.slots.front()) ? kLeastRegisters : each;
  }

  void check_products() const {
    for (const Warpgroup& one : c_.groups) {
      const int s = one.slots.front();
      if (c_.narrow(s)) continue;
      const int registers = one.registers > 0 ? one.registers : kMostRegisters;
      if (const auto why = why_serialised(c_.plan, s, registers)) refuse("limits", *why);
    }
  }

  // ---- memory

  static Amount bytes(const std::vector<std::int64_t>& shape, const std::string& type) {
    return meaning::elements(shape) * meaning::number_type(type)->bytes;
  }
  static std::string shape_text(const std::vector<std::int64_t>& shape, const std::string& type) {
    std::string text;
    for (const std::int64_t extent : shape) text += "[" + std::to_string(extent) + "]";
    return text + " " + type;
  }
  void add(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& type,
           int copies, const std::string& comment) {
    for (const SharedPlace& one : c_.buffers)
      if (one.name == name) return;
    const Amount size = bytes(shape, type);
    const Amount period = size >= kSwizzlePeriod ? kSwizzlePeriod : 128;
    if (copies > 1 && size % period != 0)
      refuse("storage", name + " has copies of " + std::to_string(size) + " bytes in a ring");
    offset_ = (offset_ + period - 1) / period * period;
    c_.buffers.push_back({name, offset_, size, copies, shape_text(shape, type) + comment, 0});
    offset_ += size * copies;
  }
  void add_barrier(const std::string& name, int phases, int arrivals, const std::string& comment) {
    c_.barriers.push_back({name, 0, kBarrier, phases, comment, arrivals});
  }

  void memory() {
    const Plan& plan = c_.plan;
    // Whole periods of the swizzle first.
    for (const bool large : {true, false})
      for (int s = 0; s < static_cast<int>(p().storages.size()); ++s) {
        const Storage& storage = p().storages[at(s)];
        if (storage.kind != Storage::in_memory || plan.same_place[at(s)] != s ||
            plan.on_tmem(storage) || plan.view_of[at(s)] >= 0)
          continue;
        const Value& value = plan.value_of(s);
        if ((bytes(value.shape, value.type) >= kSwizzlePeriod) == large)
          add(plan.buffer[at(s)], value.shape, value.type, storage.depth, "");
      }
    for (int s = 0; s < static_cast<int>(p().storages.size()); ++s)
      if (plan.view_of[at(s)] >= 0 && plan.same_place[at(s)] == s) {
        const Value& value = plan.value_of(s);
        c_.buffers.push_back({plan.buffer[at(s)],
                              c_.place(plan.buffer[at(plan.view_of[at(s)])]).offset,
                              bytes(value.shape, value.type), p().storages[at(s)].depth,
                              shape_text(value.shape, value.type) + ", where another begins", 0});
      }
    for (const auto& [v, one] : plan.resident)
      add(one.name, one.shape, one.type, 1, ", stays for the whole loop");
    for (const auto& [v, one] : plan.staging)
      add(one.name, one.shape, one.type, 1, ", on its way out");
    for (int v = m().loop_begin; v < m().after_begin; ++v)
      for (const Operand& one : m().values[at(v)].operands)
        if (one.row >= 0) {
          const Value& tile = m().values[at(one.value)];
          if (tile.type != "f32" || tile.shape.size() != 2)
            refuse("operand", harmless(m().values[at(v)].id) + " takes a row of a tile of " +
                                  harmless(tile.type));
          c_.row_buffer[v] = names_.make(camel(plan.variable[at(v)]) + "Row", "kRow", {"Bytes"});
          add(c_.row_buffer[v], {tile.shape[1]}, tile.type, 2, ", a row for all warps of a slot");
        }
    for (const auto& [v, one] : plan.final_hand_over)
      add(one.name, one.shape, one.type, 1, ", for another slot after the loop");
    const auto& events = plan.legal.program.events;
    for (std::size_t e = 0; e < events.size(); ++e) {
      if (events[e].pending) continue;
      const int slot = plan.legal.program.ops[at(events[e].op)].slot;
      const int source = plan.legal.source[at(events[e].op)];
      const bool one = c_.narrow(slot) || (source >= 0 && c_.issued(source));
      const int warps = one ? 1 : plan.warps(slot);
      add_barrier(plan.barrier[e], events[e].phases, events[e].arrivals * warps,
                  warps == 1 ? "" : "a warp each");
    }
    if (!plan.resident.empty())
      add_barrier(plan.resident_barrier, 1, static_cast<int>(plan.resident.size()), "");
    for (std::size_t s = 0; s < plan.done_needed.size(); ++s)
      if (plan.done_needed[s])
        add_barrier(plan.done[s], 1, arrivals_at_end(static_cast<int>(s)), "at the end");
    offset_ = (offset_ + 15) / 16 * 16;
    for (SharedPlace& one : c_.barriers) {
      one.offset = offset_;
      offset_ += one.bytes * one.copies;
    }
    if (c_.blackwell()) tensor_memory();
    c_.shared_bytes = offset_ + kSwizzlePeriod;
    if (c_.shared_bytes > kMostShared)
      throw no_shared_memory(std::to_string(c_.shared_bytes) +
                             " bytes of shared memory with barriers and what alignment may cost: a "
                             "block has at most 232448");
  }

  /// A slot that computes and issues products tells both.
  int arrivals_at_end(int slot) const {
    if (c_.narrow(slot)) return 1;
    const bool commits = slot != c_.plan.finish_slot() && c_.plan.commits_products(slot);
    return c_.plan.warps(slot) + (c_.blackwell() && commits ? 1 : 0);
  }

  void tensor_memory() {
    const Plan& plan = c_.plan;
    for (int s = 0; s < static_cast<int>(p().storages.size()); ++s) {
      const Storage& storage = plan.legal.program.storages[at(s)];  // (with accumulators joined)
      if (storage.kind != Storage::in_memory || !plan.on_tmem(storage)) continue;
      const Value& value = plan.value_of(s);
      c_.tensors.push_back({plan.buffer[at(s)], storage.base, storage.size, storage.depth,
                            shape_text(value.shape, value.type), 0});
    }
    const Amount columns = plan.launch.tmem_columns;
    if (columns < 32 || columns > kTensorColumns || (columns & (columns - 1)) != 0)
      refuse("limits", std::to_string(columns) +
                           " columns of tensor memory: must be a power of two of 32 to 512");
    c_.tensor_address = {names_.make("kTensorMemory", "kTensorMemory", {}), offset_, 16, 1, "", 0};
    offset_ += c_.tensor_address.bytes;
  }

  // ---- sums by lanes

  /// The largest set of vectors such that each is linear in its members: sums over a row may stay
  /// sums over a lane's elements until they are used otherwise.
  void lanes() {
    for (int v = m().loop_begin; v < m().after_begin; ++v) {
      const Value& value = m().values[at(v)];
      const meaning::Initial* first = m().initial_of(v);
      c_.by_lanes[at(v)] =
          value.shape.size() == 1 && value.type == "f32" && c_.plan.op_of(v) >= 0 &&
          (first == nullptr || (first->what.value < 0 && first->what.number == 0)) &&
          (value.function == Function::row_sum || value.function == Function::add ||
           value.function == Function::mul || value.function == Function::mul_add);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int v = m().loop_begin; v < m().after_begin; ++v)
        if (c_.by_lanes[at(v)] && !linear(v)) {
          c_.by_lanes[at(v)] = false;
          changed = true;
        }
    }
  }
  bool linear(int v) const {
    const Value& value = m().values[at(v)];
    const auto part = [&](std::size_t k) {
      const Operand& one = value.operands[k];
      return one.value >= 0 && c_.by_lanes[at(one.value)] &&
             p().ops[at(c_.plan.op_of(one.value))].slot == p().ops[at(c_.plan.op_of(v))].slot;
    };
    switch (value.function) {
      case Function::row_sum: return true;
      case Function::add: return part(0) && part(1);
      case Function::mul: return part(0) != part(1);
      case Function::mul_add: return part(0) != part(1) && part(2);
      default: return false;
    }
  }

  static constexpr Amount kBarrier = 8;
  const EmitOptions& options_;
  Names names_;
  std::map<std::string, std::string> constants_;
  Amount offset_ = 0;
  CudaPlan c_;
};

}  // namespace

std::string element_type(const std::string& type) {
  return type == "f16" ? "Element::f16" : type == "bf16" ? "Element::bf16" : "";
}

std::string product_element(const std::string& type, bool blackwell) {
  return type == "f8" && !blackwell ? "Element::f8" : element_type(type);
}

std::string float_text(double x) {
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x > 0 ? "INFINITY" : "-INFINITY";
  return number_text(x) + "f";
}

bool CudaPlan::issued(int op) const {
  const Function function = plan.meaning->values[at(plan.links.result[at(op)])].function;
  return function == Function::load ||
         plan.given->ops[at(op)].ending == program::Ending::transaction ||
         (blackwell() && function == Function::product);
}

const SharedPlace& CudaPlan::place(const std::string& name) const {
  for (const auto* const all : {&buffers, &barriers, &tensors})
    for (const SharedPlace& one : *all)
      if (one.name == name) return one;
  throw Refusal{"storage", "no place in shared memory is called " + name};
}

std::variant<CudaPlan, Refusal> make_cuda_plan(const Program& program, const EmitOptions& options) {
  const auto planned = [&](int resident) -> std::variant<CudaPlan, Refusal> {
    EmitOptions own = options;
    own.as_triton = false;
    own.resident_registers = resident;
    auto plan = make_plan(program, own);
    if (auto* no = std::get_if<Refusal>(&plan)) return *no;
    for (const Value& value : std::get<Plan>(plan).meaning->values)
      for (const meaning::Operand& one : value.operands)
        if (one.row >= 0 && std::get<Plan>(plan).legal.target == Target::blackwell)
          return Refusal{"op", value.id + " takes a row of a tile"};
    return CudaPlanner(std::move(std::get<Plan>(plan)), own).run();
  };
  auto plan = planned(options.resident_registers);
  const auto* no = std::get_if<Refusal>(&plan);
  if (no == nullptr || no->rule != "limits" || options.resident_registers <= kLeastResident)
    return plan;
  auto again = planned(kLeastResident);
  no = std::get_if<Refusal>(&again);
  return no == nullptr || no->rule != "limits" ? std::move(again) : std::move(plan);
}

}  // namespace twill::emit
