#include "graph/emit/register_pressure.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/emit/gluon_values.hpp"
#include "graph/emit/names.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using program::Program;
using program::Storage;

class Pressure {
 public:
  /// as_written: products end where the text waits for them, not where the program given does.
  Pressure(const Plan& plan, int slot, bool as_written = false)
      : plan_(plan), p_(*plan.given), slot_(slot), as_written_(as_written) {
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      if (p_.ops[at(v)].slot == slot) ops_.push_back(v);
  }

  std::vector<Amount> held() const {
    const auto period = static_cast<int>(ops_.size());
    std::vector<Amount> held(ops_.size(), 0);  // behind each op
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      if (p_.storages[at(s)].kind != Storage::in_registers) continue;
      const int w = writer(s);
      if (w < 0 || p_.ops[at(w)].slot != slot_) continue;
      if (plan_.legal.read_again[at(w)] || in_parts(w)) continue;
      const int first = place(w), end = last_use(s);
      for (int t = first; t < end; ++t) held[at(t % period)] += p_.storages[at(s)].size;
    }
    return held;
  }

  /// The most where a product of Hopper is issued or waited for, and the op before that.
  PressureOfProducts at_products() const {
    const std::vector<Amount> held = this->held();
    PressureOfProducts most;
    for (std::size_t k = 0; k < ops_.size(); ++k)
      if ((wgmma(ops_[k]) || waits_for_product(ops_[(k + 1) % ops_.size()])) &&
          held[k] > most.held) {
        most.held = held[k];
        most.op = ops_[k];
      }
    for (const int v : ops_) {
      most.tiles_stored += stores_tile(v) ? 1 : 0;
      most.vector = std::max(most.vector, column_vector(v));
    }
    return most;
  }

  /// The most that there is while a tile goes from memory to memory: its registers are read by
  /// nobody else. (A chain of values does so in parts.)
  Amount passing() const {
    const std::vector<Amount> held = this->held();
    Amount most = 0;
    for (std::size_t k = 0; k < ops_.size(); ++k)
      for (const int s : p_.ops[at(ops_[k])].writes) {
        if (p_.storages[at(s)].kind != Storage::in_registers ||
            p_.ops[at(ops_[k])].writes.size() < 2)
          continue;
        if (last_use(s) > place(ops_[k]) || in_parts(ops_[k]) ||
            plan_.links.values[at(ops_[k])].size() > 1)
          continue;
        const Amount before = held[(k + held.size() - 1) % held.size()];
        most = std::max(most, before + p_.storages[at(s)].size);
      }
    return most;
  }

  /// The most there is before an op with what it reads from memory, or behind it.
  Amount with_tiles_read() const {
    const std::vector<Amount> held = this->held();
    Amount most = 0;
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      const Amount before = held[(k + held.size() - 1) % held.size()];
      most = std::max({most, held[k], before + registers_read(ops_[k])});
    }
    return most;
  }
  bool reads_tile(int op) const { return registers_read(op) > 0; }
  /// Tiles a period that the slot's threads read from memory.
  int tiles_read() const {
    return static_cast<int>(
        std::count_if(ops_.begin(), ops_.end(), [&](int op) { return reads_tile(op); }));
  }

 private:
  /// Registers of the tiles that an op's threads read from memory, as they lie there.
  Amount registers_read(int op) const {
    constexpr Amount kThreads = 32, kRegister = 4;  // of a warp; bytes
    if (in_parts(op)) return 0;
    std::set<int> from_memory;
    for (const int v : plan_.links.values[at(op)]) {
      const meaning::Value& value = plan_.meaning->values[at(v)];
      if (value.function == meaning::Function::load ||
          (value.function == meaning::Function::product && !plan_.legal.by_warps[at(op)]))
        continue;
      for (const meaning::Operand& one : value.operands) {
        if (one.value < 0 || !plan_.meaning->in_loop(one.value)) continue;
        const int from = plan_.op_of(one.value);
        if (from < 0 || from == op || plan_.meaning->values[at(one.value)].shape.size() != 2)
          continue;
        const auto storages = program::storages_read(p_, op, from, one.distance);
        if (std::none_of(storages.begin(), storages.end(),
                         [&](int s) { return p_.storages[at(s)].kind == Storage::in_registers; }))
          from_memory.insert(one.value);
      }
    }
    Amount sum = 0;
    for (const int v : from_memory) {
      const meaning::Value& value = plan_.meaning->values[at(v)];
      const auto* type = meaning::number_type(value.type);
      sum += meaning::elements(value.shape) * (type == nullptr ? kRegister : type->bytes) /
             (kRegister * kThreads * plan_.warps(slot_));
    }
    return sum;
  }
  /// Is it one of those that have a part of their tile in registers at a time?
  bool in_parts(int op) const {
    for (const std::vector<int>& ops : plan_.legal.fused)
      for (const int one : ops)
        if (plan_.legal.source[at(one)] == op) return true;
    return false;
  }
  /// Of an op among those of iteration 0.
  int place(int op) const {
    const auto index = std::find(ops_.begin(), ops_.end(), op) - ops_.begin();
    return p_.ops[at(op)].stage * static_cast<int>(ops_.size()) + static_cast<int>(index);
  }
  /// The same of an op of the legal program; of a release, of the op behind it.
  int place_as_written(int op) const {
    const Program& p = plan_.legal.program;
    const int stage = p.ops[at(op)].stage;
    for (int v = op; v < static_cast<int>(p.ops.size()); ++v) {
      const int source = plan_.legal.source[at(v)];
      if (p.ops[at(v)].slot != slot_ || source < 0) continue;
      const auto index = std::find(ops_.begin(), ops_.end(), source) - ops_.begin();
      return stage * static_cast<int>(ops_.size()) + static_cast<int>(index);
    }
    return (stage + 1) * static_cast<int>(ops_.size());
  }
  int writer(int storage) const {
    for (const int v : ops_)
      for (const int s : p_.ops[at(v)].writes)
        if (s == storage) return v;
    return -1;
  }
  int last_use(int storage) const {
    const int period = static_cast<int>(ops_.size());
    int last = 0;
    for (const int v : ops_)
      for (const program::Read& read : p_.ops[at(v)].reads)
        if (read.storage == storage) {
          const int until = adds_to(v, storage) ? place(v) : held_until(v);
          last = std::max(last, until + read.distance * period);
        }
    return last;
  }
  /// Is it what a product adds to, and so the place of its result?
  bool adds_to(int op, int storage) const {
    const meaning::Value& value = plan_.meaning->values[at(plan_.links.result[at(op)])];
    if (value.function != meaning::Function::product || value.operands.size() != 3) return false;
    const meaning::Operand& sum = value.operands[2];
    if (sum.value < 0 || !plan_.meaning->in_loop(sum.value) || plan_.op_of(sum.value) < 0)
      return false;
    const auto from = program::storages_read(p_, op, plan_.op_of(sum.value), sum.distance);
    return std::find(from.begin(), from.end(), storage) != from.end();
  }
  /// A product of Hopper reads its registers until it has ended: until its slot waits for it or for
  /// one that it issued later.
  int held_until(int op) const {
    const int here = place(op);
    if (!wgmma(op)) return here;
    const int period = static_cast<int>(ops_.size());
    int first = here + period;
    const Program& p = as_written_ ? plan_.legal.program : p_;
    for (const program::Wait& wait : p.waits) {
      const program::Event& event = p.events[at(wait.event)];
      const int other = as_written_ ? plan_.legal.source[at(event.op)] : event.op;
      if (!event.pending || other < 0 || !wgmma(other) || p_.ops[at(other)].slot != slot_) continue;
      // Waits of periods that are for a product not before this one.
      int then = as_written_ ? place_as_written(wait.before) : place(wait.before);
      int issued = place(other) - wait.offset * period;
      while (issued < here) then += period, issued += period;
      if (then > here) first = std::min(first, then);
    }
    return first;
  }
  bool waits_for_product(int op) const {
    return std::any_of(p_.waits.begin(), p_.waits.end(), [&](const program::Wait& wait) {
      const program::Event& event = p_.events[at(wait.event)];
      return wait.before == op && event.pending && wgmma(event.op);
    });
  }
  /// From registers to shared memory.
  bool stores_tile(int op) const {
    const meaning::Value& value = plan_.meaning->values[at(plan_.links.result[at(op)])];
    const auto& writes = p_.ops[at(op)].writes;
    return value.function != meaning::Function::load && value.shape.size() == 2 &&
           std::any_of(writes.begin(), writes.end(),
                       [&](int s) { return p_.storages[at(s)].kind != Storage::in_registers; });
  }
  /// Registers of a vector along the columns that an op reads from memory: a thread of Hopper has a
  /// quarter of the columns of its rows, one of Blackwell all of its row's.
  Amount column_vector(int op) const {
    const std::int64_t threads_of_row = plan_.legal.target == Target::hopper ? 4 : 1;
    Amount most = 0;
    for (const int v : plan_.links.values[at(op)]) {
      const meaning::Value& value = plan_.meaning->values[at(v)];
      if (value.shape.size() != 2) continue;
      for (const meaning::Operand& one : value.operands) {
        if (one.value < 0 || !one.along_columns) continue;
        const int from = plan_.meaning->in_loop(one.value) ? plan_.op_of(one.value) : -1;
        if (from < 0 || (p_.ops[at(from)].slot == slot_ && !plan_.legal.read_again[at(from)]))
          continue;
        most = std::max(most, value.shape[1] / threads_of_row);
      }
    }
    return most;
  }
  bool wgmma(int op) const {
    return plan_.legal.target == Target::hopper && !plan_.legal.by_warps[at(op)] &&
           plan_.meaning->values[at(plan_.links.result[at(op)])].function ==
               meaning::Function::product;
  }

  const Plan& plan_;
  const Program& p_;
  int slot_;
  bool as_written_;
  std::vector<int> ops_;  ///< of the slot
};

}  // namespace

namespace {

bool product_before(const meaning::Meaning& meaning) {
  return std::any_of(
      meaning.values.begin(), meaning.values.begin() + meaning.loop_begin,
      [](const meaning::Value& value) { return value.function == meaning::Function::product; });
}

/// Is a value from before the loop used by others from there alone, or as what is carried?
bool ends_before(const meaning::Meaning& meaning, int value) {
  for (int v = meaning.loop_begin; v < static_cast<int>(meaning.values.size()); ++v)
    for (const meaning::Operand& one : meaning.values[at(v)].operands)
      if (one.value == value) return false;
  return true;
}

}  // namespace

Amount registers_before(const Plan& plan, int slot, bool in_loop) {
  constexpr std::int64_t kThreads = 32, kOfRow = 4;  // a row of wgmma's result has four threads
  std::set<int> all;
  for (int op = 0; op < static_cast<int>(plan.given->ops.size()); ++op)
    if (plan.given->ops[at(op)].slot == slot) all.merge(plan.used_before(op));
  ModuleNeeds needs;
  const ValuePrinter values(plan, slot, needs);
  const std::int64_t warps = plan.warps(slot);
  Amount sum = 0;
  const bool products = in_loop || product_before(*plan.meaning);
  for (const int v : all) {
    const meaning::Value& value = plan.meaning->values[at(v)];
    if (value.shape.empty() || (products && ends_before(*plan.meaning, v)) ||
        (value.function == meaning::Function::load && !plan.from_earlier(value) &&
         plan.handed_tile(value) == nullptr) ||
        plan.carried_in_alone(v))
      continue;
    const Layout layout = values.layout_of(v);
    // (Places are the thread's own and numbers that the compiler knows.)
    if (value.function == meaning::Function::places)
      sum += 1;
    else if (layout.kind == Layout::of_columns)
      sum += value.shape[0] / (plan.legal.target == Target::hopper ? kOfRow : 1);
    else
      sum += std::max<Amount>(1, meaning::elements(value.shape) / (kThreads * warps));
  }
  return sum;
}

Amount register_pressure(const Plan& plan, int slot) {
  const Pressure pressure(plan, slot);
  const std::vector<Amount> held = pressure.held();
  const Amount most = held.empty() ? 0 : *std::max_element(held.begin(), held.end());
  return std::max(most, pressure.passing()) + registers_before(plan, slot);
}

Amount summed_pressure(const Plan& plan, int slot) {
  const std::vector<Amount> held = Pressure(plan, slot).held();
  return std::accumulate(held.begin(), held.end(), Amount{0});
}

Amount registers_needed(const Plan& plan, int slot) {
  constexpr Amount kAddresses = 4, kElse = 20;
  const Pressure pressure(plan, slot, true);
  const PressureOfProducts products = pressure.at_products();
  return std::max(pressure.with_tiles_read(), pressure.passing()) + registers_before(plan, slot) +
         products.vector + kAddresses * (products.tiles_stored + pressure.tiles_read()) + kElse;
}

PressureOfProducts pressure_of_products(const Plan& plan, int slot) {
  return Pressure(plan, slot).at_products();
}

std::optional<std::string> why_serialised(const Plan& plan, int slot, int registers) {
  constexpr Amount kAddresses = 4, kElse = 8;
  const PressureOfProducts most = pressure_of_products(plan, slot);
  const Amount addresses = kAddresses * most.tiles_stored;
  if (most.op < 0 || most.held + addresses + most.vector + kElse <= registers) return std::nullopt;
  return "slot " + harmless(plan.given->slots[at(slot)].name) + " holds " +
         std::to_string(most.held) + " registers a thread behind " +
         harmless(plan.given->ops[at(most.op)].id) + " and " + std::to_string(addresses) +
         " of addresses of tiles that it stores" +
         (most.vector > 0 ? ", " + std::to_string(most.vector) + " of a vector along columns"
                          : "") +
         "; with " + std::to_string(kElse) + " for all else that is more than " +
         std::to_string(registers) +
         ", and ptxas would end each product before the next is issued (C7512)";
}

bool reads_tile(const Plan& plan, int slot, int op) {
  return Pressure(plan, slot).reads_tile(op);
}

namespace {
constexpr Amount kWorthIt = 32;
/// A slot of two beside a loader has 232 registers a thread. Slots that hold more than this spilled
/// where the loop began with two row vectors more than elsewhere (ptxas 13.4).
constexpr Amount kNearlyAll = 196;

/// Registers a thread that another place for the loop's beginning has to save.
Amount least_saving(const Plan& plan, const std::vector<Amount>& held) {
  return plan.legal.target == Target::hopper &&
                 *std::max_element(held.begin(), held.end()) > kNearlyAll
             ? 1
             : kWorthIt;
}
}  // namespace

std::vector<bool> light_cuts(const Plan& plan, int slot) {
  const std::vector<Amount> held = Pressure(plan, slot).held();
  const std::vector<Item> items = cut_code(plan.legal.program, slot, 0).items;
  std::vector<bool> light;
  if (held.empty()) return std::vector<bool>(items.size(), true);
  const Amount least = *std::min_element(held.begin(), held.end());
  std::size_t op = held.size() - 1;  // the one before the item
  std::size_t next = 0;
  for (const Item& one : items) {
    light.push_back(held[op] < least + kWorthIt);
    if (one.is_wait || plan.legal.release_of[at(one.index)] >= 0) continue;
    op = next++;
  }
  return light;
}

int cut_of_slot(const Plan& plan, int slot) {
  const std::vector<Amount> held = Pressure(plan, slot).held();
  const auto least = std::min_element(held.begin(), held.end());
  if (held.empty() || held.back() < *least + least_saving(plan, held)) return 0;
  const std::vector<Item> items = cut_code(plan.legal.program, slot, 0).items;
  int op = 0, item = 0;
  for (const Item& one : items) {
    ++item;
    if (one.is_wait || plan.legal.release_of[at(one.index)] >= 0) continue;
    if (op++ == static_cast<int>(least - held.begin())) break;
  }
  return item == static_cast<int>(items.size()) ? 0 : item;
}

}  // namespace twill::emit
