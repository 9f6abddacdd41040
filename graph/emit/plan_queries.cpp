// What printers ask of a plan.
#include <algorithm>

#include "graph/emit/element_text.hpp"
#include "graph/emit/plan.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

using meaning::Function;
using meaning::Operand;
using program::Storage;

Amount bytes_of(const ExtraBuffer& buffer) {
  return meaning::elements(buffer.shape) * meaning::number_type(buffer.type)->bytes;
}

std::string handed_name(const meaning::HandedTile& tile) {
  const std::string wish = tile.name + "_handed";
  return is_plain_name(wish) ? wish
                             : "handed_" + std::to_string(tile.op) + "_" +
                                   std::to_string(tile.result) + "_" + std::to_string(tile.copy);
}

std::string Plan::pointer_name(int tensor) const {
  const int parameter = user == nullptr ? -1 : user->places[at(tensor)].parameter;
  if (parameter >= 0) return parameter_name[at(parameter)];
  return host_name[at(axes.tensor_of[at(tensor)])] + "_ptr";
}

int Plan::warps(int slot) const {
  if (!other_warps.empty()) return other_warps[at(slot)];
  if (slot == finish_slot()) return kWarpgroup;
  // Threads that copy a tile by pointers are many: a warp alone would take long.
  const int width = given->slots[at(slot)].width;
  return width < kWarpgroup && loads_by_elements(slot) ? kWarpgroup : width;
}

bool Plan::loads_by_elements(int slot) const {
  for (std::size_t v = 0; v < given->ops.size(); ++v)
    for (const int one : links.values[v])
      if (given->ops[v].slot == slot &&
          (meaning->values[at(one)].function == Function::load ||
           meaning->values[at(one)].function == Function::store) &&
          by_elements(meaning->values[at(one)].tensor))
        return true;
  if (slot != resident_slot) return false;
  return std::any_of(resident.begin(), resident.end(), [&](const auto& one) {
    return by_elements(meaning->values[at(one.first)].tensor);
  });
}

bool Plan::copied_by_threads(const meaning::Value& value) const {
  return value.function == Function::load && by_elements(value.tensor) &&
         element_copy(*this, value).vector > 0;
}

bool Plan::columns_first(const meaning::Value& value) const {
  if (const auto turned = columns_first_for_tf32(*this, value)) return *turned;
  return value.function == Function::load && by_elements(value.tensor) && value.shape.size() == 2 &&
         element_copy(*this, value).rows;
}

std::set<int> Plan::finishers() const {
  std::set<int> all(after_slot.begin(), after_slot.end());
  all.erase(-1);
  return all;
}

std::set<int> Plan::used_before(int op) const {
  std::set<int> seen;
  std::vector<int> open = links.values[at(op)];
  if (made_factor(op, 0) >= 0 || made_factor(op, 1) >= 0) {
    const std::vector<Operand>& all = meaning->values[at(links.result[at(op)])].operands;
    open.clear();
    for (std::size_t k = 0; k < all.size(); ++k) {
      const int value = all[k].value;
      if (value < 0 || (k < 2 && made_factor(op, k) >= 0)) continue;
      if (meaning->in_loop(value) && op_of(value) >= 0) continue;
      if (seen.insert(value).second) open.push_back(value);
    }
  }
  for (const int v : links.values[at(op)])
    if (const meaning::Initial* first = meaning->initial_of(v);
        first != nullptr && first->what.value >= 0 && !begins_in_kernel(op) &&
        seen.insert(first->what.value).second)
      open.push_back(first->what.value);
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    for (const Operand& one : meaning->values[at(now)].operands) {
      if (one.value < 0 || (meaning->in_loop(one.value) && op_of(one.value) >= 0)) continue;
      if (seen.insert(one.value).second) open.push_back(one.value);
    }
  }
  seen.erase(seen.lower_bound(meaning->loop_begin), seen.end());
  return seen;
}

int Plan::made_factor(int op, std::size_t k) const {
  constexpr int kMostViews = 100;
  const meaning::Value& product = meaning->values[at(links.result[at(op)])];
  if (user == nullptr || tiles() || product.function != Function::product ||
      legal.by_warps[at(op)] || (legal.target == Target::hopper && k == 0))
    return -1;
  Operand one = product.operands[k];
  for (int steps = 0; one.value >= meaning->loop_begin; ++steps) {
    const meaning::Value& view = meaning->values[at(one.value)];
    if (steps == kMostViews || !meaning->in_loop(one.value) || op_of(one.value) >= 0 ||
        (view.function != Function::copy && view.function != Function::transpose))
      return -1;
    one = view.operands[0];
  }
  if (one.value < 0) return -1;
  const meaning::Value& from = meaning->values[at(one.value)];
  const bool loaded =
      from.function == Function::load && !from_earlier(from) && handed_tile(from) == nullptr;
  return loaded || from.shape.size() != 2 ? -1 : one.value;
}

bool Plan::begins_in_kernel(int op) const {
  if (user == nullptr || tiles() || registers_of(op) >= 0 || kept_in_memory(op) < 0) return false;
  const meaning::Initial* first = meaning->initial_of(links.result[at(op)]);
  return first != nullptr && first->what.value >= 0 && handed_in(first->what.value) == nullptr;
}

Operand Plan::factor(int product, std::size_t k) const {
  Operand one = meaning->values[at(product)].operands[k];
  while (one.value >= 0 && !meaning->in_loop(one.value) && !one.is_part()) {
    const meaning::Value& copy = meaning->values[at(one.value)];
    if (copy.function != Function::copy || copy.operands[0].value < 0) break;
    const Operand& from = copy.operands[0];
    const meaning::Value& whole = meaning->values[at(from.value)];
    if (from.is_part() || whole.type != copy.type || whole.shape.size() != 2) break;
    const bool transposed = one.transposed != from.transposed;
    one = from;
    one.transposed = transposed;
  }
  return one;
}

std::set<int> Plan::used_behind(int value) const {
  std::set<int> seen, early;
  std::vector<int> open = {value};
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    for (const Operand& one : meaning->values[at(now)].operands)
      if (one.value >= 0 && !meaning->in_loop(one.value) && seen.insert(one.value).second)
        open.push_back(one.value);
  }
  for (const int v : seen)
    if (v < meaning->loop_begin) early.insert(v);
  return early;
}

std::set<int> Plan::resident_readers() const {
  std::set<int> slots;
  for (std::size_t op = 0; op < given->ops.size(); ++op)
    for (const int v : used_before(static_cast<int>(op)))
      if (resident.contains(v)) slots.insert(given->ops[op].slot);
  return slots;
}

std::set<int> Plan::resident_users() const {
  std::set<int> slots = resident_readers();
  for (const auto& [v, out] : staging)
    for (const auto& [q, tile] : resident)
      if (out.name == tile.name) slots.insert(after_slot[at(v)]);
  return slots;
}

const ExtraBuffer* Plan::handed_in(int value) const {
  while (value >= 0) {
    const meaning::Value& one = meaning->values[at(value)];
    if (const ExtraBuffer* const found = handed_tile(one)) return found;
    if (one.function != Function::copy || value >= meaning->loop_begin) return nullptr;
    const Operand& from = one.operands[0];
    if (from.value < 0 || from.transposed || from.is_part() ||
        meaning->values[at(from.value)].type != one.type ||
        meaning->values[at(from.value)].shape != one.shape)
      return nullptr;
    value = from.value;
  }
  return nullptr;
}

bool Plan::carried_in_alone(int value) const {
  if (handed_in(value) == nullptr) return false;
  for (int v = 0; v < static_cast<int>(meaning->values.size()); ++v)
    for (const Operand& one : meaning->values[at(v)].operands)
      if (one.value == value &&
          (v >= meaning->loop_begin || handed_in(v) == nullptr || !carried_in_alone(v)))
        return false;
  return true;
}

bool Plan::unused(int value) const {
  if (meaning->values[at(value)].tensor >= 0) return false;
  // (Its op may store something else, too.)
  if (const int op = meaning->in_loop(value) ? links.runner[at(value)] : -1;
      op >= 0 && std::any_of(links.values[at(op)].begin(), links.values[at(op)].end(), [&](int v) {
        return meaning->values[at(v)].function == Function::store;
      }))
    return false;
  for (int v = 0; v < static_cast<int>(meaning->values.size()); ++v)
    for (const Operand& one : meaning->values[at(v)].operands)
      if (one.value == value && v != value) return false;
  return true;
}

bool Plan::on_tmem(const Storage& storage) const {
  return storage.kind == Storage::in_memory && given->memories[at(storage.memory)].name == "tmem";
}

bool Plan::commits_products(int slot) const {
  if (legal.target != Target::blackwell || slot == finish_slot()) return false;
  for (std::size_t v = 0; v < given->ops.size(); ++v)
    if (given->ops[v].slot == slot && !legal.by_warps[v] &&
        meaning->values[at(links.result[v])].function == Function::product)
      return true;
  return false;
}

const meaning::Value& Plan::value_of(int storage) const {
  for (std::size_t op = 0; op < given->ops.size(); ++op)
    for (const int s : given->ops[op].writes)
      if (s == storage) return meaning->values[at(links.result[op])];
  return meaning->values.front();  // a storage without writer is refused by the judge
}

int Plan::carried(int storage) const {
  int most = 0;
  for (const program::Op& op : given->ops)
    for (const program::Read& read : op.reads)
      if (read.storage == storage) most = std::max(most, read.distance);
  return most;
}

bool Plan::in_registers(int storage) const {
  const Storage& one = given->storages[at(storage)];
  return one.kind == Storage::in_registers ||
         (one.kind == Storage::order && value_of(storage).shape.empty());
}

int Plan::registers_of(int op) const {
  for (const int s : given->ops[at(op)].writes)
    if (in_registers(s)) return s;
  return -1;
}

int Plan::kept_in_memory(int op) const {
  for (const int s : given->ops[at(op)].writes)
    if (given->storages[at(s)].kind == Storage::in_memory && carried(s) > 0) return s;
  return -1;
}

void Plan::final_values(int value, std::set<int>& all) const {
  // (Each value once: results are used many times.)
  std::vector<int> open = {value};
  std::set<int> seen = {value};
  while (!open.empty()) {
    const int reader = open.back();
    open.pop_back();
    for (const Operand& one : meaning->values[at(reader)].operands) {
      if (one.value < 0 || one.value < meaning->loop_begin) continue;
      if (meaning->in_loop(one.value))
        all.insert(one.value);
      else if (seen.insert(one.value).second)
        open.push_back(one.value);
    }
  }
}

void Plan::awaited_by(int v, std::set<int>& slots) const {
  std::set<int> needed;
  final_values(v, needed);
  for (const int one : needed) slots.insert(given->ops[at(op_of(one))].slot);
  if (const auto users = staging_users.find(v); users != staging_users.end())
    slots.insert(users->second.begin(), users->second.end());
}

std::set<int> Plan::final_storages() const {
  std::set<int> kept;
  for (int v = meaning->after_begin; v < static_cast<int>(meaning->values.size()); ++v) {
    std::set<int> needed;
    final_values(v, needed);
    for (const int one : needed)
      if (const int s = kept_in_memory(op_of(one)); s >= 0) kept.insert(s);
  }
  return kept;
}

int Plan::tile_written(int op) const {
  int tile = -1;
  for (const int s : given->ops[at(op)].writes) {
    const bool tmem = on_tmem(given->storages[at(s)]);
    if (tmem && tile >= 0) return -1;
    if (tmem) tile = s;
    for (const program::Op& reader : given->ops)
      for (const program::Read& read : reader.reads)
        if (!tmem && read.storage == s) return -1;
  }
  return tile;
}

std::vector<int> Plan::final_chain(int store, int slot, std::int64_t columns) const {
  std::vector<int> chain;
  for (int now = store;;) {
    const meaning::Value& value = meaning->values[at(now)];
    if (!meaning::is_elementwise(value.function) && value.function != Function::store) return {};
    if (value.function == Function::store && value.operands.size() == 2) return {};  // (with flags)
    chain.insert(chain.begin(), now);
    int next = -1;
    for (const Operand& one : value.operands) {
      if (one.along_columns) return {};  // (Of a vector along columns nobody has a part.)
      if (one.value < 0 || meaning->values[at(one.value)].shape.size() != 2) continue;
      if (next >= 0 || one.transposed || one.columns > 0 || one.value < meaning->loop_begin)
        return {};
      next = one.value;
    }
    if (next < 0) return {};
    if (meaning->in_loop(next)) {
      const int op = op_of(next), s = kept_in_memory(op);
      const bool here = given->ops[at(op)].slot == slot && registers_of(op) >= 0;
      const bool in_parts = s >= 0 && !here && on_tmem(given->storages[at(s)]) &&
                            meaning->values[at(store)].shape[1] % columns == 0;
      return in_parts ? chain : std::vector<int>{};
    }
    now = next;
  }
}

}  // namespace twill::emit
