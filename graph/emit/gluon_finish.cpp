// What a slot does after its loop (gluon_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

namespace {

// Columns of a tile in tensor memory on its way out, at a time.
constexpr std::int64_t kOutChunk = 32;

}  // namespace

void SlotPrinter::after() {
  std::vector<int> stores;
  for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
    if (plan_.after_slot[at(v)] == slot_) stores.push_back(v);
  if (slot_ < plan_.finish_slot()) {
    bool said = false;
    for (const auto& [v, one] : plan_.final_hand_over) {
      if (p_.ops[at(plan_.op_of(v))].slot != slot_) continue;
      if (!said) line(1, "# after the loop");
      said = true;
      line(1, use(one.name) + ".store(" +
                  values_.in_a_buffer(m_.values[at(v)], variable(plan_.op_of(v))) + ")");
    }
    if (plan_.done_needed[at(slot_)]) {
      line(1, "# all that this slot does has ended");
      tell(plan_.done[at(slot_)], "");
    }
  }
  if (!stores.empty()) {
    line(1, "# after the loop");
    wait_for_others(stores);
    wait_for_resident(stores);
    std::set<int> written;
    for (const int v : stores) final_value(v, written);
  }
  end_of_tile();
}

void SlotPrinter::tell(const std::string& barrier, const std::string& comment) {
  const bool products = !hopper() && plan_.commits_products(slot_);
  if (products) needs_.tcgen05_commit = true;
  line(1, (products ? "tcgen05_commit(" + use(barrier) + ")"
                    : "mbarrier.arrive(" + use(barrier) + ", count=1)") +
              comment);
}

void SlotPrinter::end_of_tile() {
  if (!plan_.tiles()) return;
  if (!plan_.resident.empty() && plan_.resident_users().contains(slot_))
    tell(plan_.resident_free, plan_.resident_readers().contains(slot_)
                                  ? "  # the tiles from before the loop have been read"
                                  : "  # what left through their buffers has left");
  const std::set<int> finishers = plan_.finishers();
  const auto& done = plan_.done_needed;
  if (!finishers.contains(slot_) || std::find(done.begin(), done.end(), true) == done.end()) return;
  const bool first_of_them = slot_ == *finishers.begin();
  if (!first_of_them && runs_ahead())
    wait_turn_before(plan_.tile_free, "no tile ahead: the barrier counts each slot once a tile");
  if (!plan_.tile_read.empty())
    line(1, first_of_them ? "mbarrier.wait(" + use(plan_.tile_read) + ", " + turn_parity() +
                                ")  # the others have read what begins anew"
                          : "mbarrier.arrive(" + use(plan_.tile_read) + ", count=1)");
  if (first_of_them)
    for (const int s : plan_.restored) {
      const int value = plan_.links.result[at(writer(s))];
      const meaning::Initial* first = m_.initial_of(value);
      if (first == nullptr || first->what.value >= 0 ||
          (plan_.user != nullptr && !first->what.constant.empty()))
        refuse("operand", m_.values[at(value)].id + " has no number as initial value");
      use("n");
      const Value& tile = m_.values[at(value)];
      for (int d = 1; d <= plan_.carried(s); ++d) {
        if (plan_.on_tmem(p_.storages[at(s)]) && tile.shape[1] % kOutChunk == 0) {
          Layout part = values_.layout_of(value);
          part.columns = kOutChunk;
          line(1, "zero = gl.full([" + std::to_string(tile.shape[0]) + ", " +
                      std::to_string(kOutChunk) + "], " + number_text(first->what.number) + ", " +
                      gluon_type(tile.type) + ", " + values_.text_of(part) +
                      ")  # what the next tile begins with");
          for (std::int64_t c = 0; c < tile.shape[1]; c += kOutChunk)
            line(1, copy_of(s, {Iteration::end, -d}) + ".slice(" + std::to_string(c) + ", " +
                        std::to_string(kOutChunk) + ").store(zero)");
          continue;
        }
        line(1, copy_of(s, {Iteration::end, -d}) + ".store(" +
                    values_.filled(value, first->what.number) +
                    ")  # what the next tile begins with");
      }
      if (!plan_.on_tmem(p_.storages[at(s)]) && m_.values[at(value)].shape.size() == 2) {
        needs_.fence = true;
        line(1, "fence_async_shared()  # ordinary writes, perhaps read by the asynchronous proxy");
      }
    }
  line(1, "mbarrier.arrive(" + use(plan_.tile_free) + ", count=1)");
}

/// Can its code come to the end of a tile before others have ended the tile before? Not where the
/// tile began with a wait for them, here or in a slot whose end it waits for.
bool SlotPrinter::runs_ahead() const {
  std::set<int> awaited;
  for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
    if (plan_.after_slot[at(v)] == slot_) plan_.awaited_by(v, awaited);
  awaited.insert(slot_);
  return std::none_of(awaited.begin(), awaited.end(),
                      [&](int s) { return static_cast<bool>(plan_.done_needed[at(s)]); });
}

void SlotPrinter::wait_for_others(const std::vector<int>& stores) {
  std::set<int> slots;
  for (const int v : stores) plan_.awaited_by(v, slots);
  if (plan_.tiles() && slot_ == *plan_.finishers().begin())
    for (int s = 0; s < plan_.finish_slot(); ++s)
      if (plan_.done_needed[at(s)]) slots.insert(s);
  // Its own products are in flight, too, where its code ends.
  if (plan_.commits_products(slot_)) slots.insert(slot_);
  for (const int s : slots)
    if (s != slot_ || plan_.commits_products(slot_))
      line(1, "mbarrier.wait(" + use(plan_.done[at(s)]) + ", " + turn_parity() + ")  # what " +
                  plan_.slot_name[at(s)] + " has made is there");
}

Expression SlotPrinter::final_operand(int v, const Operand& one, std::set<int>& written) {
  if (one.value < 0) return values_.number(one);
  const Function user = m_.values[at(v)].function;
  const bool down = one.transposed && meaning::reduces_rows(user);
  if ((one.transposed && !down) || one.is_part())
    refuse("operand", "a part of a result is used after the loop by " + m_.values[at(v)].id);
  if (!m_.in_loop(one.value)) {
    if (one.value < m_.loop_begin) {
      if (plan_.resident.contains(one.value) &&
          std::none_of(plan_.outside.begin(), plan_.outside.end(),
                       [&](const auto& product) { return !m_.in_loop(product.first); }))
        refuse("operand", "a tile from before the loop is used after it");
      return early(one.value);
    }
    final_value(one.value, written);
    return {plan_.variable[at(one.value)], values_.layout_of(one.value),
            m_.values[at(one.value)].type};
  }
  const Layout layout = values_.layout_of(one.value);
  const std::string& type = m_.values[at(one.value)].type;
  const int op = plan_.op_of(one.value);
  if (p_.ops[at(op)].slot == slot_ && plan_.registers_of(op) >= 0) {
    if (layout.depth == 0) return {variable(op), layout, type};
    Layout usual = layout;
    usual.depth = 0;
    return {"gl.convert_layout(" + variable(op) + ", " + values_.text_of(usual) + ")", usual, type};
  }
  std::string from;
  if (const auto last = plan_.final_hand_over.find(one.value);
      last != plan_.final_hand_over.end()) {
    from = use(last->second.name);
  } else {
    const int s = plan_.kept_in_memory(op);
    if (s < 0) refuse("storage", m_.values[at(one.value)].id + " is not there after the loop");
    from = plan_.on_tmem(p_.storages[at(s)]) ? to_load(s, {Iteration::end, -1}, "", layout.columns)
                                             : copy_of(s, {Iteration::end, -1});
  }
  const bool number = m_.values[at(one.value)].shape.empty();
  const std::string load =
      number ? values_.number_in(from) : from + ".load(" + values_.text_of(layout) + ")";
  if (m_.values[at(one.value)].shape.size() > 1) return {load, layout, type};
  // A vector is loaded once, whoever uses it. (A tile would take registers until its last use.)
  const std::string& name = plan_.variable[at(one.value)];
  if (written.insert(one.value).second) line(1, name + " = " + load);
  return {name, layout, type};
}

void SlotPrinter::final_chunks(const std::vector<int>& chain, const std::string& buffer,
                               std::set<int>& written) {
  const int store = chain.back();
  std::map<std::pair<int, std::size_t>, Expression> others;
  for (const int v : chain)
    for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
      const Operand& one = m_.values[at(v)].operands[k];
      if (one.value < 0 || m_.values[at(one.value)].shape.size() != 2)
        others[{v, k}] = final_operand(v, one, written);
    }
  const std::int64_t columns = m_.values[at(store)].shape[1];
  const std::string cut = for_parts(1, columns, kOutChunk);
  const int depth = columns > kOutChunk ? 2 : 1;
  Expression last;
  for (const int v : chain) {
    const Value& value = m_.values[at(v)];
    Layout layout = values_.layout_of(v);
    layout.columns = kOutChunk;
    std::vector<Expression> in;
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      if (const auto found = others.find({v, k}); found != others.end()) {
        in.push_back(found->second);
      } else if (v != chain.front()) {
        in.push_back({"part", layout, last.type});
      } else {
        const int from = value.operands[k].value;
        in.push_back({to_load(plan_.kept_in_memory(plan_.op_of(from)), {Iteration::end, -1}, cut,
                              kOutChunk) +
                          ".load(" + values_.text_of(layout) + ")",
                      layout, m_.values[at(from)].type});
      }
    }
    last = values_.evaluate(v, in, layout, "");
    if (v != store && last.text != "part") line(depth, "part = " + last.text);
  }
  if (buffer.empty()) {
    store_elements(depth, m_.values[at(store)], last, columns > kOutChunk ? "column" : "");
    return;
  }
  line(depth, buffer + cut.substr(0, cut.size() - 1) + ", dim=1).store(" + last.text + ")");
}

std::string SlotPrinter::staged(int store) {
  const ExtraBuffer& one = plan_.staging.at(store);
  return use(one.name) + (one.of_ring ? ".index(0)" : "") +
         (one.part() ? ".slice(" + std::to_string(one.first_column) + ", " +
                           std::to_string(one.shape[1]) + ", dim=1)"
                     : "");
}

void SlotPrinter::bulk_store(const Value& value, const std::string& buffer) {
  needs_.fence = true;
  line(1, "fence_async_shared()  # ordinary writes, read by the bulk store");
  needs_.bulk_add |= plan_.adds(value.tensor);
  line(1, std::string(plan_.adds(value.tensor) ? "tma.async_atomic_add(" : "tma.async_store(") +
              use(host(value.tensor) + "_desc") + ", " + coordinates(value.tensor, "") + ", " +
              buffer + ")");
  line(1, "tma.store_wait(0)");
}

void SlotPrinter::final_value(int v, std::set<int>& written) {
  if (!written.insert(v).second) return;
  const Value& value = m_.values[at(v)];
  const ExtraBuffer* const handed = plan_.handed_tile(value);
  if (value.function == Function::store && value.shape.size() == 2)
    if (const std::vector<int> chain = plan_.final_chain(v, slot_, kOutChunk); !chain.empty()) {
      if (plan_.by_elements(value.tensor)) {
        final_chunks(chain, "", written);
        return;
      }
      if (handed != nullptr) {
        final_chunks(chain, use(handed->name), written);
        return;
      }
      const std::string buffer = staged(v);
      final_chunks(chain, buffer, written);
      bulk_store(value, buffer);
      return;
    }
  std::vector<Expression> in;
  if (value.function == Function::product) {
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      Operand one = k < 2 ? plan_.factor(v, k) : value.operands[k];
      one.transposed = false;
      in.push_back(final_operand(v, one, written));
    }
    outside_product(v, in);
    return;
  }
  for (const Operand& one : value.operands) in.push_back(final_operand(v, one, written));
  const Expression result = values_.evaluate(v, in, values_.layout_of(v), "");
  if (value.function != Function::store) {
    line(1, plan_.variable[at(v)] + " = " + result.text);
    return;
  }
  if (handed != nullptr) {
    line(1, use(handed->name) + ".store(" + values_.in_a_buffer(value, result.text) + ")");
    return;
  }
  if (plan_.by_elements(value.tensor)) {
    const bool flags = value.operands.size() == 2;
    store_elements(1, value, result, "", "", "", flags ? flag_of(value, result, in[1]) : "");
    return;
  }
  if (value.shape.empty()) {
    write_number(1, value, result.text, "",
                 value.operands.size() == 2 ? flag_of_number(value, in[1]) : "");
    return;
  }
  const std::string& tensor = plan_.tensor_name[at(value.tensor)];
  if (plan_.user != nullptr && value.shape.size() == 1) {
    const std::string where = coordinates(value.tensor, "");
    line(1, "gl.store(" + use(host(value.tensor) + "_ptr") + " + " +
                where.substr(1, where.size() - 2) + " + gl.arange(0, " +
                std::to_string(value.shape[0]) +
                ", layout=" + values_.text_of(values_.layout_of(v)) + "), " + result.text + ")");
    return;
  }
  if (value.shape.size() == 1) {
    line(1, "gl.store(" + use(host(value.tensor) + "_ptr") + " + " + use(tensor + "_row") +
                " + gl.arange(0, " + std::to_string(value.shape[0]) +
                ", layout=" + values_.text_of(values_.layout_of(v)) + "), " + result.text + ")");
    return;
  }
  const std::string buffer = staged(v);
  line(1, buffer + ".store(" + result.text + ")");
  bulk_store(value, buffer);
}

}  // namespace twill::emit
