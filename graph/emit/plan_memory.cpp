#include "graph/emit/plan_memory.hpp"

#include <algorithm>

#include "graph/emit/limits.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using program::Event;
using program::Program;
using program::Refusal;
using program::Storage;

// Of a barrier, with what an allocator may leave free around it.
constexpr Amount kBarrierRoom = 128;
constexpr Amount kLargePeriod = 1'024, kSmallPeriod = 128;

Amount rounded(Amount x, Amount period) {
  return (x + period - 1) / period * period;
}

/// A buffer that is free where the loop has ended, and the columns of it that are in use again.
struct Reused {
  ExtraBuffer buffer;
  std::set<int> users;  ///< slots
  std::int64_t taken = 0;
};

class MemoryPlanner {
 public:
  MemoryPlanner(Plan& plan, Names& names) : plan_(plan), p_(*plan.given), names_(names) {}

  std::optional<Refusal> run() {
    plan_.view_of.assign(p_.storages.size(), -1);
    if (auto no = known_memories()) return *no;
    if (fixed() + room_of_barriers() > kMostShared) overlay();
    Amount shared = fixed();
    if (auto no = stage_stores(shared)) return *no;
    if (const Amount columns = place_products(tensor_columns()); columns > 0) {
      plan_.launch.tmem_columns = 32;
      while (plan_.launch.tmem_columns < columns) plan_.launch.tmem_columns *= 2;
    }
    plan_.launch.barriers = barriers();
    plan_.launch.shared_bytes = shared + plan_.launch.barriers * kBarrierBytes;
    return std::nullopt;
  }

 private:
  bool shared(const Storage& s) const { return s.kind == Storage::in_memory && !plan_.on_tmem(s); }
  std::optional<Refusal> known_memories() const {
    for (const Storage& s : p_.storages)
      if (shared(s) && p_.memories[at(s.memory)].name != "smem")
        return Refusal{"storage", s.name + " lies in memory " + p_.memories[at(s.memory)].name +
                                      ", which the target does not have"};
    return std::nullopt;
  }

  // ---- storages of the loop

  /// Has it a buffer of its own?
  bool own_buffer(int s) const {
    return shared(p_.storages[at(s)]) && plan_.same_place[at(s)] == s && plan_.view_of[at(s)] < 0;
  }
  /// Whose buffer has it?
  int buffer_of(int s) const {
    const int same = plan_.same_place[at(s)];
    return plan_.view_of[at(same)] >= 0 ? plan_.view_of[at(same)] : same;
  }

  /// Without tiles on their way out.
  Amount fixed() const {
    Amount all = 0;
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const Storage& storage = p_.storages[at(s)];
      if (!own_buffer(s)) continue;
      const Amount size = storage.size * storage.depth;
      all = storage.size >= kLargePeriod ? rounded(all + size, kLargePeriod)
                                         : all + rounded(size, kSmallPeriod);
    }
    for (const auto& [v, one] : plan_.resident) all = rounded(all + bytes_of(one), kLargePeriod);
    for (const auto& [v, one] : plan_.final_hand_over) all += rounded(bytes_of(one), kSmallPeriod);
    for (const auto& [tile, one] : plan_.handed) all = rounded(all + bytes_of(one), kLargePeriod);
    for (const auto& [v, one] : plan_.made) all = rounded(all + bytes_of(one), kLargePeriod);
    for (const auto& [v, product] : plan_.outside)
      for (const auto& one : product.factor)
        if (one) all = rounded(all + bytes_of(*one), kLargePeriod);
    return all;
  }

  /// Storages that begin where a larger one does become views of it, copies and all.
  void overlay() {
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      if (!own_buffer(s) || !whole_periods(s)) continue;
      int most = -1;
      for (const int t : p_.storages[at(s)].shares) {
        if (!own_buffer(t) || !whole_periods(t) ||
            p_.storages[at(t)].base != p_.storages[at(s)].base || total(t) < total(s) ||
            (total(t) == total(s) && t > s) || has_view(s))
          continue;
        if (most < 0 || total(t) > total(most)) most = t;
      }
      plan_.view_of[at(s)] = most;
    }
  }
  Amount total(int s) const { return p_.storages[at(s)].size * p_.storages[at(s)].depth; }
  bool whole_periods(int s) const {
    return p_.storages[at(s)].size % kLargePeriod == 0 && plan_.value_of(s).shape.size() == 2;
  }
  bool has_view(int s) const {
    return std::find(plan_.view_of.begin(), plan_.view_of.end(), s) != plan_.view_of.end();
  }

  // ---- barriers and tensor memory

  int barriers() const {
    int all = plan_.resident.empty() ? 0 : 1;
    if (plan_.tiles()) all += plan_.tile_read.empty() ? 2 : 3;
    for (const Event& event : plan_.legal.program.events) all += event.pending ? 0 : event.phases;
    for (const bool needed : plan_.done_needed) all += needed ? 1 : 0;
    for (const auto& [v, product] : plan_.outside) all += product.ended.empty() ? 0 : 1;
    return all;
  }
  Amount room_of_barriers() const {
    return (static_cast<Amount>(barriers()) + static_cast<Amount>(p_.slots.size()) + 1) *
           kBarrierRoom;
  }
  Amount tensor_columns() const {
    Amount columns = 0;
    for (const Storage& s : p_.storages) {
      if (!plan_.on_tmem(s)) continue;
      const Amount stride = rounded(s.size, s.alignment);
      columns = std::max(columns, s.base + stride * (s.depth - 1) + s.size);
    }
    return columns;
  }

  /// Results of products outside the loop lie behind the loop's columns; returns their end.
  Amount place_products(Amount columns) {
    constexpr Amount kColumns = 32;
    for (auto& [v, product] : plan_.outside) {
      if (product.sum.empty()) continue;
      product.base = rounded(columns, kColumns);
      columns = product.base + plan_.meaning->values[at(v)].shape[1];
    }
    return columns;
  }

  // ---- tiles on their way out

  /// Tiles on their way out get a buffer; where there is no room, that of a tile from before the
  /// loop or of the loop, once all slots that use it have ended.
  std::optional<Refusal> stage_stores(Amount& shared) {
    const meaning::Meaning& m = *plan_.meaning;
    for (std::size_t op = 0; op < p_.ops.size(); ++op) {
      const int v = plan_.links.result[op];
      if (!stores_tile(v) || p_.ops[op].ending == program::Ending::transaction) continue;
      own_staging(v);
      shared = rounded(shared + bytes_of(plan_.staging[v]), kLargePeriod);
    }
    Amount all = 0;
    for (int v = m.after_begin; v < static_cast<int>(m.values.size()); ++v)
      if (stores_tile(v))
        all += meaning::elements(m.values[at(v)].shape) *
               meaning::number_type(m.values[at(v)].type)->bytes;
    const bool room = shared + all + room_of_barriers() <= kMostShared;
    std::vector<Reused> reused;
    if (!room) reused = reusable();
    for (int v = m.after_begin; v < static_cast<int>(m.values.size()); ++v) {
      if (!stores_tile(v)) continue;
      if (room)
        own_staging(v);
      else if (auto no = reuse(v, reused))
        return *no;
    }
    if (room) shared += all;
    return std::nullopt;
  }

  bool stores_tile(int v) const {
    const meaning::Value& value = plan_.meaning->values[at(v)];
    return value.function == Function::store && value.shape.size() == 2 &&
           !plan_.by_elements(value.tensor) && plan_.handed_tile(value) == nullptr;
  }
  void own_staging(int v) {
    const meaning::Value& value = plan_.meaning->values[at(v)];
    plan_.staging[v] = {names_.make(plan_.variable[at(v)] + "_smem", "buffer"), value.shape,
                        value.type, true};
  }

  std::optional<Refusal> reuse(int v, std::vector<Reused>& reused) {
    const meaning::Value& value = plan_.meaning->values[at(v)];
    const auto found = std::find_if(reused.begin(), reused.end(), [&](const Reused& one) {
      return one.buffer.type == value.type && one.buffer.shape[0] == value.shape[0] &&
             one.taken + value.shape[1] <= one.buffer.shape[1];
    });
    if (found == reused.end())
      return no_shared_memory("no room in shared memory for the tile of " + value.id +
                              " on its way out");
    ExtraBuffer& made = plan_.staging[v] = found->buffer;
    if (found->buffer.shape[1] != value.shape[1]) {
      made.first_column = found->taken;
      made.whole_columns = found->buffer.shape[1];
      made.shape = value.shape;
    }
    found->taken += value.shape[1];
    for (const int s : found->users)
      if (s != plan_.after_slot[at(v)] || plan_.commits_products(s))
        plan_.done_needed[at(s)] = true;
    plan_.staging_users[v] = found->users;
    return std::nullopt;
  }

  /// Tiles from before the loop first, then those of the loop. (Where there is a next tile, other
  /// slots have gone on to fill those.)
  std::vector<Reused> reusable() const {
    std::vector<Reused> all;
    for (const auto& [q, one] : plan_.resident)
      if (!plan_.columns_first(plan_.meaning->values[at(q)]) && !used_outside(q))
        all.push_back({one, readers_before(q)});
    if (plan_.tiles()) return all;
    const std::set<int> kept = plan_.final_storages();
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
      const meaning::Value& value = plan_.value_of(s);
      if (!own_buffer(s) || value.shape.size() != 2 || plan_.columns_first(value) ||
          std::any_of(kept.begin(), kept.end(), [&](int t) { return buffer_of(t) == s; }))
        continue;
      all.push_back(
          {{plan_.buffer[at(s)], value.shape, value.type, true, p_.storages[at(s)].depth > 1},
           users(s)});
    }
    return all;
  }

  /// Does a product outside the loop, or what follows the loop, use a tile from before it?
  bool used_outside(int q) const {
    const auto& values = plan_.meaning->values;
    for (int v = 0; v < static_cast<int>(values.size()); ++v)
      if ((plan_.outside.contains(v) || v >= plan_.meaning->after_begin) &&
          plan_.used_behind(v).contains(q))
        return true;
    return false;
  }

  /// Slots whose ops use a buffer of the loop. (Who reads a tile that was loaded has waited for
  /// the load.)
  std::set<int> users(int s) const {
    const auto here = [&](int t) { return buffer_of(t) == s; };
    std::set<int> slots;
    for (const program::Op& op : p_.ops)
      if ((op.ending != program::Ending::transaction &&
           std::any_of(op.writes.begin(), op.writes.end(), here)) ||
          std::any_of(op.reads.begin(), op.reads.end(),
                      [&](const program::Read& read) { return here(read.storage); }))
        slots.insert(op.slot);
    return slots;
  }

  /// Slots whose ops read a value from before the loop, through views.
  std::set<int> readers_before(int q) const {
    std::set<int> slots;
    for (std::size_t op = 0; op < p_.ops.size(); ++op)
      for (const int v : plan_.links.values[op])
        if (reads_before(v, q, 0)) slots.insert(p_.ops[op].slot);
    return slots;
  }
  bool reads_before(int v, int q, int steps) const {
    for (const Operand& one : plan_.meaning->values[at(v)].operands) {
      if (one.value == q) return true;
      if (one.value >= 0 && steps < 100 && plan_.meaning->in_loop(one.value) &&
          plan_.op_of(one.value) < 0 && reads_before(one.value, q, steps + 1))
        return true;
    }
    return false;
  }

  Plan& plan_;
  const Program& p_;
  Names& names_;
};

}  // namespace

std::optional<Refusal> plan_memory(Plan& plan, Names& names) {
  return MemoryPlanner(plan, names).run();
}

}  // namespace twill::emit
