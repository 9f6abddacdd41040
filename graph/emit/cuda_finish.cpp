// What a slot does after its loop (cuda_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/cuda_slot_printer.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

void CudaSlotPrinter::after() {
  std::vector<int> stores;
  for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
    if (plan_.after_slot[at(v)] == slot_) stores.push_back(v);
  bool said = false;
  for (const auto& [v, one] : plan_.final_hand_over) {
    const int op = plan_.op_of(v);
    if (p_.ops[at(op)].slot != slot_) continue;
    if (!said) line(1, "", "After the loop.");
    said = true;
    const std::string& name = variable(op);
    line(1, "store_rows(" + shared(one.name) + ", group, " +
                (c_.by_lanes[at(v)] ? "over_lanes(" + name + ")" : name) + ");");
  }
  if (plan_.done_needed[at(slot_)]) {
    const std::string barrier = shared(plan_.done[at(slot_)]);
    fence_before(1);
    const bool commits = plan_.commits_products(slot_);
    line(1,
         (!narrow() ? "arrive("
          : commits ? "tensor_commit("
                    : "barrier_arrive(") +
             barrier + ");",
         "all that this slot does has ended");
    if (!narrow() && commits) line(1, "if (leads(group)) tensor_commit(" + barrier + ");");
  }
  const bool sends = std::any_of(p_.ops.begin(), p_.ops.end(), [&](const program::Op& op) {
    return op.slot == slot_ && !narrow() &&
           plan_.staging.contains(plan_.links.result[at(static_cast<int>(&op - p_.ops.data()))]);
  });
  if (sends)
    line(1, "if (threadIdx.x % 128 == 0) bulk_wait_read();", "the last stores of the loop");
  if (stores.empty()) return;
  line(1, "", "After the loop.");
  wait_for_others();
  std::set<int> written;
  for (const int v : stores) final_value(v, written);
}

std::set<int> CudaSlotPrinter::awaited(int slot) const {
  std::set<int> slots;
  for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
    if (plan_.after_slot[at(v)] == slot) plan_.awaited_by(v, slots);
  return slots;
}

void CudaSlotPrinter::wait_for_others() {
  std::set<int> slots = awaited(slot_);
  // Tensor memory is given back when all products have ended: somebody has waited for that.
  const std::set<int> finishers = plan_.finishers();
  for (int s = 0; blackwell() && s < plan_.finish_slot(); ++s)
    if (plan_.commits_products(s) && slot_ == *finishers.begin() &&
        std::none_of(finishers.begin(), finishers.end(),
                     [&](int one) { return awaited(one).contains(s); }))
      slots.insert(s);
  // Without iterations a commit tells nothing of what its slot has waited for.
  const bool over_resident =
      std::any_of(plan_.staging.begin(), plan_.staging.end(), [&](const auto& staged) {
        return plan_.after_slot[at(staged.first)] == slot_ &&
               std::any_of(plan_.resident.begin(), plan_.resident.end(),
                           [&](const auto& one) { return one.second.name == staged.second.name; });
      });
  if (blackwell() && over_resident)
    line(1, "wait_for<1>(" + shared(plan_.resident_barrier) + ", 0);",
         "the tiles from before the loop, in whose place results go out");
  for (const int s : slots)
    if (s != slot_ ||
        (blackwell() && !narrow() && slot_ != plan_.finish_slot() && plan_.commits_products(s)))
      line(1, "wait_for<1>(" + shared(plan_.done[at(s)]) + ", 0);",
           "what " + plan_.slot_name[at(s)] + " has made is there");
}

CudaExpression CudaSlotPrinter::final_operand(int v, const Operand& one, std::set<int>& written) {
  if (one.value < 0) return number(one);
  if (one.transposed || one.columns > 0 || one.along_columns)
    refuse("operand",
           "a part of a result is used after the loop by " + harmless(m_.values[at(v)].id));
  if (!m_.in_loop(one.value)) {
    if (one.value < m_.loop_begin)
      refuse("operand", "a tile from before the loop is used after it");
    final_value(one.value, written);
    return {plan_.variable[at(one.value)]};
  }
  const Value& what = m_.values[at(one.value)];
  const int op = plan_.op_of(one.value);
  const std::string& name = variable(op);
  if (p_.ops[at(op)].slot == slot_ && plan_.registers_of(op) >= 0) {
    if (c_.by_lanes[at(one.value)] && reduced_.insert(name).second)
      line(1, name + " = over_lanes(" + name + ");");
    return {name};
  }
  std::string from;
  if (const auto last = plan_.final_hand_over.find(one.value);
      last != plan_.final_hand_over.end()) {
    from = shared(last->second.name);
  } else {
    const int s = plan_.kept_in_memory(op);
    if (s < 0) refuse("storage", harmless(what.id) + " is not there after the loop");
    // Without iterations it is what was there before the first.
    const int depth = p_.storages[at(s)].depth;
    from = copy_at(s, {Iteration::end, depth - 1});
  }
  const int kept = plan_.kept_in_memory(op);
  const bool lanes = kept >= 0 && !plan_.final_hand_over.contains(one.value) &&
                     plan_.on_tmem(p_.storages[at(kept)]);
  if (!lanes && c_.warpgroups(p_.ops[at(op)].slot) != c_.warpgroups(slot_))
    refuse("storage", harmless(what.id) + " is handed to a slot of another number of warps");
  const std::string read = name + "_read";
  if (reduced_.insert(read).second) {
    declare(read, type_of(one.value));
    if (lanes) {
      load_lanes(1, read, kept, from + own_part(what.shape[1]));
      return {read};
    }
    line(1, std::string(what.shape.size() == 1 ? "load_rows(" : "load_fragments(") + read + ", " +
                from + ", group);");
  }
  return {read};
}

std::string CudaSlotPrinter::staged(int store) const {
  const ExtraBuffer& one = plan_.staging.at(store);
  const Amount first = one.first_column * one.shape[0] * meaning::number_type(one.type)->bytes;
  return shared(one.name) + (first > 0 ? " + " + std::to_string(first) : "");
}

void CudaSlotPrinter::final_value(int v, std::set<int>& written) {
  if (!written.insert(v).second) return;
  const Value& value = m_.values[at(v)];
  if (value.function == Function::store && value.shape.size() == 2)
    if (const std::vector<int> chain = tile_chain(v); !chain.empty()) {
      final_parts(chain, staged(v), written);
      bulk_store(value, staged(v));
      return;
    }
  std::vector<CudaExpression> in;
  for (const Operand& one : value.operands) in.push_back(final_operand(v, one, written));
  const CudaExpression result = evaluate(v, in, "");
  if (value.function != Function::store) {
    declare(plan_.variable[at(v)], type_of(v));
    line(1, plan_.variable[at(v)] + " = " + result.text + ";");
    return;
  }
  const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])];
  const CudaCoordinates where = cuda_coordinates(c_, value.tensor, "");
  if (value.shape.size() == 1) {
    if (value.type != "f32") refuse("type", "the vector " + harmless(value.id) + " must be f32");
    line(1, "write_rows(g." + host + "_data + std::int64_t{place.batch} * g." + host + "_rows + " +
                where.row + ", group, " + result.text + ");");
    return;
  }
  if (value.shape.size() != 2) refuse("op", harmless(value.id) + " stores a number");
  const std::string buffer = staged(v);
  if (blackwell()) {
    line(1, "store_operand<128>(" + buffer + ", group, " + result.text + ");");
    bulk_store(value, buffer);
    return;
  }
  // (What other slots did with it they have told, and each thread has waited for that.)
  const auto users = plan_.staging_users.find(v);
  if (users != plan_.staging_users.end() && users->second.contains(slot_))
    line(1,
         "named_sync(" + std::to_string(slot_ + 1) + ", " +
             std::to_string(c_.warpgroups(slot_) * 128) + ");",
         "no warp of the slot reads it any more");
  send(1, value, buffer, result.text, where, true);
}

void CudaSlotPrinter::send(int depth, const Value& value, const std::string& buffer,
                           const std::string& what, const CudaCoordinates& where, bool last) {
  const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])];
  const int groups = c_.warpgroups(slot_), blocks = blocks_of(value);
  const bool floats = value.type == "f32";
  const Amount block = 64 * value.shape[1] * meaning::number_type(value.type)->bytes;
  const std::string barrier = std::to_string(slot_ + 1);  // 0 is __syncthreads's
  const std::string sync = "named_sync(" + barrier + ", " + std::to_string(groups * 128) + ");";
  if (!floats && c_.shares(slot_, value) > 1)
    refuse("storage", harmless(value.id) + " is stored by warpgroups that share out its columns");
  if (!last) line(depth, sync);
  if (floats)
    panels(depth, value, buffer, what);
  else
    line(depth, "store_tile(" + buffer + ", group, " + what + ");");
  line(depth, "fence_async_shared();", "ordinary writes, read by the bulk store");
  line(depth, sync);
  if (floats) {  // (Panels have all rows of the tile.)
    line(depth,
         "if (threadIdx.x % 128 == 0" + std::string(groups > 1 ? " && group == 0" : "") + ") {");
    line(depth + 1, "tma_store_start(&g." + host + "_map, " + buffer + ", " + where.row + ", (" +
                        where.column + ") / 32, 0, place.batch);");
  } else {
    line(depth, "if (threadIdx.x % 128 == 0) {");
    for (int b = 0; b < blocks; ++b) {
      std::string first = groups > 1 ? "group * " + std::to_string(blocks) : "";
      if (b > 0) first += (first.empty() ? "" : " + ") + std::to_string(b);
      const auto times = [&](Amount x) {
        return first.empty() ? std::string()
               : first.find(" + ") == std::string::npos
                   ? " + " + first + " * " + std::to_string(x)
                   : " + (" + first + ") * " + std::to_string(x);
      };
      line(depth + 1, "tma_store_start(&g." + host + "_map, " + buffer + times(block) + ", " +
                          where.row + times(64) + ", (" + where.column +
                          ") / 64, 0, place.batch);");
    }
  }
  if (last) line(depth + 1, "bulk_wait_read();");
  line(depth, "}");
}

}  // namespace twill::emit
