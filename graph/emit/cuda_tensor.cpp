// Tensor memory and its products in a slot's function (cuda_slot_printer.hpp).
//
// Fences of tcgen05: fence::after_thread_sync stands between waits and the first access after them,
// fence::before_thread_sync between accesses and the first arrival after them; nowhere else. Loads
// are waited for where they are (legal.hpp), stores before that fence, or before the slot accesses
// the same columns. Tiles that only pass through registers do
// so some columns at a time.
#include <algorithm>

#include "graph/emit/cuda_slot_printer.hpp"

namespace twill::emit {

namespace {

// Columns that are in registers at a time: in the loop, and on their way out.
constexpr std::int64_t kPartColumns = 16;

}  // namespace

void CudaSlotPrinter::end_stores(int depth, int storage) {
  const auto columns = [&](int s) {
    const program::Storage& one = legal_.program.storages[at(s)];
    return std::pair(one.base, one.base + one.size * one.depth);
  };
  const bool due = std::any_of(fences_.stores.begin(), fences_.stores.end(), [&](int s) {
    return storage < 0 || (columns(s).first < columns(storage).second &&
                           columns(storage).first < columns(s).second);
  });
  if (!due) return;
  line(depth, "end_tensor_stores();");
  fences_.stores.clear();
}

void CudaSlotPrinter::fence_before(int depth) {
  end_stores(depth, -1);
  if (fences_.before) line(depth, "tensor_fence_before();");
  fences_.before = false;
}

void CudaSlotPrinter::fence_after(int depth) {
  if (fences_.after) line(depth, "tensor_fence_after();");
  fences_.after = false;
}

void CudaSlotPrinter::load_lanes(int depth, const std::string& name, int storage,
                                 const std::string& at) {
  end_stores(depth, storage);
  fence_after(depth);
  fences_.apart = true;
  line(depth, "start_tensor_load(" + name + ", " + at + ");");
  line(depth, "end_tensor_loads(" + name + ");");
  fences_.before = true;
}

void CudaSlotPrinter::store_lanes(int depth, int storage, const std::string& to,
                                  const std::string& name) {
  end_stores(depth, storage);
  fence_after(depth);
  fences_.apart = true;
  line(depth, "start_tensor_store(" + to + ", " + name + ");");
  fences_.stores.insert(storage);
  fences_.before = true;
}

void CudaSlotPrinter::tensor_product(int depth, int op, const Value& value, Iteration it,
                                     const std::string& a, const std::string& b, std::int64_t k) {
  if (a.empty())
    refuse("operand",
           "the left operand of " + harmless(value.id) + " must lie in shared or tensor memory");
  const std::int64_t columns = value.shape[1];
  const bool half = value.shape[0] == 64 && a.rfind("InLanes", 0) != 0;
  if ((value.shape[0] != 128 && !half) || columns % 16 != 0 || columns > 256)
    refuse("op", "the product " + harmless(value.id) + " is " + std::to_string(value.shape[0]) +
                     " x " + std::to_string(columns) +
                     ": must have 128 rows (64 of a left operand in shared memory), columns by 16, "
                     "at most 256");
  int result = -1;
  for (const int s : p_.ops[at(op)].writes)
    if (plan_.on_tmem(p_.storages[at(s)])) result = s;
  if (result < 0) refuse("storage", harmless(value.id) + " has no place in tensor memory");
  const bool onto = value.operands.size() == 3;
  if (onto) {
    const Source source = values_.resolve(op, value.operands[2]);
    const program::Storage& to = legal_.program.storages[at(result)];
    if (source.kind != Source::memory)
      refuse("operand", harmless(value.id) + " adds to no tensor memory");
    const program::Storage& from = legal_.program.storages[at(source.storage)];
    if (from.memory != to.memory || from.base != to.base || from.size != to.size ||
        from.depth != to.depth || source.distance % to.depth != 0 || source.transposed ||
        source.columns > 0)
      refuse("storage", harmless(value.id) + " adds to " + harmless(from.name) +
                            ", which lies elsewhere than its result");
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {std::string(onto ? "start_tensor_product_onto<" : "start_tensor_product<") +
           element_type(m_.values[at(value.operands[0].value)].type) + ", " +
           std::to_string(columns) + ", " + std::to_string(k) + (half ? ", 64" : "") + ">(" +
           copy_at(result, it) + ", " + a + ", " + b + ");",
       std::to_string(value.shape[0]) + " x " + std::to_string(columns) + " x " +
           std::to_string(k)}};
  for (std::size_t e = 0; e < legal_.program.events.size(); ++e)
    if (!legal_.program.events[e].pending && legal_.program.events[e].op == legal_op(op))
      lines.emplace_back("tensor_commit(" + barrier_at(static_cast<int>(e), it) + ");", "");
  issue(depth, lines);
}

void CudaSlotPrinter::issue(int depth,
                            const std::vector<std::pair<std::string, std::string>>& lines) {
  if (!narrow() && fences_.apart) {
    fence_before(depth);
    line(depth,
         "named_sync(" + std::to_string(slot_ + 1) + ", " +
             std::to_string(128 * c_.warpgroups(slot_)) + ");",
         "all that the slot's warps have read and written");
    fences_.apart = false;
    fences_.after = true;
  }
  fence_after(depth);
  if (!narrow()) line(depth, "if (leads(group)) {");
  for (const auto& [text, comment] : lines) line(depth + (narrow() ? 0 : 1), text, comment);
  if (narrow()) return;
  line(depth, "}");
  line(depth, "__syncwarp();");
}

std::string CudaSlotPrinter::own_part(std::int64_t columns) const {
  const int shares = slot_ == plan_.finish_slot() ? 1 : c_.shares(slot_);
  return shares == 1 ? "" : " + group * " + std::to_string(columns / shares);
}

bool CudaSlotPrinter::copies_lanes(int depth, int op, Iteration it) {
  const std::vector<int>& chain = plan_.links.values[at(op)];
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  if (chain.size() != 1 || value.function != Function::copy || value.type != "f32" ||
      value.operands[0].value < 0 || plan_.registers_of(op) < 0 ||
      p_.ops[at(op)].writes.size() != 1)
    return false;
  const Source source = values_.resolve(op, value.operands[0]);
  if (!on_tmem(source) || source.transposed || source.columns > 0) return false;
  age_variables(depth, op);
  load_lanes(depth, variable(op), source.storage,
             copy_at(source.storage, it + -source.distance) + own_part(value.shape[1]));
  arrive(depth, legal_op(op), it, "arrive");
  return true;
}

const std::vector<int>* CudaSlotPrinter::fused_with(int legal_index) const {
  for (const std::vector<int>& ops : legal_.fused)
    if (std::find(ops.begin(), ops.end(), legal_index) != ops.end()) return &ops;
  return nullptr;
}

bool CudaSlotPrinter::in_parts(int op) const {
  const std::vector<int>& chain = plan_.links.values[at(op)];
  if (!blackwell() || chain.size() < 2 || plan_.tile_written(op) < 0) return false;
  const Value& result = m_.values[at(chain.back())];
  if (result.shape.size() != 2) return false;
  for (const int v : chain) {
    const Value& value = m_.values[at(v)];
    if (!meaning::is_elementwise(value.function) || value.shape != result.shape ||
        value.type != "f32")
      return false;
    for (const Operand& one : value.operands) {
      if (one.value < 0 || m_.values[at(one.value)].shape.size() != 2) continue;
      const Source source = values_.resolve(op, one);
      if (source.kind != Source::chain &&
          (!on_tmem(source) || source.transposed || source.columns > 0))
        return false;
    }
  }
  return true;
}

void CudaSlotPrinter::parts(int depth, const std::vector<int>& ops, Iteration it) {
  std::vector<std::pair<int, int>> chain;  // op and value
  for (const int one : ops) {
    const int op = legal_.source[at(one)];
    for (const int v : plan_.links.values[at(op)]) chain.emplace_back(op, v);
  }
  const auto in_chain = [&](int value) {
    return std::any_of(chain.begin(), chain.end(),
                       [&](const auto& one) { return one.second == value; });
  };
  // Vectors and numbers are read once.
  std::map<std::pair<int, std::size_t>, CudaExpression> others;
  for (const auto& [op, v] : chain)
    for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
      const Operand& one = m_.values[at(v)].operands[k];
      if (one.value < 0 || m_.values[at(one.value)].shape.size() != 2)
        others[{v, k}] = operand(depth, op, one, it, v);
    }
  const std::int64_t all = m_.values[at(chain.back().second)].shape[1];
  const std::int64_t columns = all / c_.shares(slot_);
  const std::int64_t part = columns % kPartColumns == 0 ? kPartColumns : 16;
  const std::string type = "LaneTile<" + std::to_string(part) + ">";
  end_stores(depth, plan_.tile_written(chain.back().first));
  for (const auto& [op, v] : chain)
    for (const Operand& one : m_.values[at(v)].operands)
      if (one.value >= 0 && !in_chain(one.value))
        if (const Source source = values_.resolve(op, one); on_tmem(source))
          end_stores(depth, source.storage);
  fence_after(depth);
  text_ += "#pragma unroll\n";
  line(depth,
       "for (int c = 0; c < " + std::to_string(columns) + "; c += " + std::to_string(part) + ") {");
  std::map<int, std::string> names;  // of tiles that are in registers
  int tiles = 0;
  for (const auto& [op, v] : chain) {
    const Value& value = m_.values[at(v)];
    std::vector<CudaExpression> in;
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      const Operand& one = value.operands[k];
      if (const auto found = others.find({v, k}); found != others.end()) {
        in.push_back(found->second);
        continue;
      }
      if (in_chain(one.value) && one.distance == 0) {
        in.push_back({names.at(one.value)});
        continue;
      }
      const Source source = values_.resolve(op, one);
      if (!on_tmem(source) || source.transposed || source.columns > 0)
        refuse("operand", "a tile of the chain " + harmless(p_.ops[at(op)].id));
      const std::string name = "part" + std::to_string(++tiles);
      line(depth + 1, type + " " + name + ";");
      line(depth + 1, "start_tensor_load(" + name + ", " +
                          copy_at(source.storage, it + -source.distance) + own_part(all) +
                          " + c);");
      line(depth + 1, "end_tensor_loads(" + name + ");");
      in.push_back({name});
    }
    names[v] = evaluate(v, in, "").text;
    if (value.function == Function::copy) continue;
    const std::string name = "part" + std::to_string(++tiles);
    line(depth + 1, "const " + type + " " + name + " = " + names[v] + ";");
    names[v] = name;
  }
  const auto& [last, result] = chain.back();
  line(depth + 1, "start_tensor_store(" + copy_at(plan_.tile_written(last), it) + own_part(all) +
                      " + c, " + names.at(result) + ");");
  line(depth, "}");
  fences_.stores.insert(plan_.tile_written(last));
  fences_.before = fences_.apart = true;
  arrive(depth, ops.back(), it, "arrive");
}

// Parts of lanes hold fp32 alone.
std::vector<int> CudaSlotPrinter::tile_chain(int store) const {
  std::vector<int> chain = plan_.final_chain(store, slot_, kPartColumns);
  if (chain.empty()) return chain;
  for (const Operand& one : m_.values[at(chain.front())].operands)
    if (one.value >= 0 && m_.values[at(one.value)].shape.size() == 2 &&
        m_.values[at(one.value)].type != "f32")
      return {};
  return chain;
}

void CudaSlotPrinter::final_parts(const std::vector<int>& chain, const std::string& buffer,
                                  std::set<int>& written) {
  const int store = chain.back();
  std::map<std::pair<int, std::size_t>, CudaExpression> others;
  int from = -1;
  for (const int v : chain)
    for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
      const Operand& one = m_.values[at(v)].operands[k];
      if (one.value < 0 || m_.values[at(one.value)].shape.size() != 2)
        others[{v, k}] = final_operand(v, one, written);
      else if (v == chain.front())
        from = plan_.kept_in_memory(plan_.op_of(one.value));
    }
  end_stores(1, from);
  fence_after(1);
  text_ += "#pragma unroll\n";
  const std::int64_t all = m_.values[at(store)].shape[1];
  const std::int64_t columns = all / (slot_ == plan_.finish_slot() ? 1 : c_.shares(slot_));
  line(1, "for (int c = 0; c < " + std::to_string(columns) +
              "; c += " + std::to_string(kPartColumns) + ") {");
  line(2, "LaneTile<" + std::to_string(kPartColumns) + "> part;");
  const int copies = p_.storages[at(from)].depth;
  line(2, "start_tensor_load(part, " + copy_at(from, {Iteration::end, copies - 1}) + own_part(all) +
              " + c);");
  line(2, "end_tensor_loads(part);");
  CudaExpression last{"part"};
  for (const int v : chain) {
    const Value& value = m_.values[at(v)];
    std::vector<CudaExpression> in;
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      const auto found = others.find({v, k});
      in.push_back(found != others.end() ? found->second : last);
    }
    last = evaluate(v, in, "");
    // (What is rounded is no tile of fp32 any more: it stands where it is used.)
    if (v == store || value.type != "f32" || last.text == "part") continue;
    line(2, "part = " + last.text + ";");
    last = {"part"};
  }
  line(2, "store_part(" + buffer + ", c" + own_part(all) + ", " + last.text + ");");
  line(1, "}");
  fences_.before = true;
}

void CudaSlotPrinter::bulk_store(const Value& value, const std::string& buffer) {
  const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])];
  const CudaCoordinates where = cuda_coordinates(c_, value.tensor, "");
  line(1, "fence_async_shared();", "ordinary writes, read by the bulk store");
  const int shares = slot_ == plan_.finish_slot() ? 1 : c_.shares(slot_);
  line(1, "named_sync(" + std::to_string(slot_ + 1) + ", " + std::to_string(128 * shares) +
              ");");  // 0 is __syncthreads's
  line(1, shares == 1 ? "if (threadIdx.x % 128 == 0) {" : "if (leads(group)) {");
  line(2, "tma_store_start(&g." + host + "_map, " + buffer + ", " + where.row + ", (" +
              where.column + ") / 64, 0, place.batch);");
  line(2, "bulk_wait_read();");
  line(1, "}");
}

}  // namespace twill::emit
