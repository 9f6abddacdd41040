// Calls of an emitted kernel (ttgir_build.hpp) that act on memory: places, barriers, copies,
// products.
#include <utility>

#include "graph/emit/ttgir_build.hpp"

namespace twill::emit::ws {

// ---- places in memory

Thing Builder::allocated(const Expr& call, bool on_tensor_memory) {
  const Thing element = needed(call, 0, ""), layout = needed(call, 2, "");
  const auto shape = wholes(needed(call, 1, ""));
  if (element.kind != Thing::element || layout.kind != Thing::layout)
    no_text("memory without a type or a layout");
  const Type type{on_tensor_memory ? Type::tensor_memory : Type::shared, element.text, shape, shape,
                  layout.of};
  const int made = m_.value(type);
  act(std::string(on_tensor_memory ? "ttng.tmem_alloc" : "ttg.local_alloc") + " : () -> " +
          type.text(),
      {});
  here->ops.back()->results = {made};
  return Thing::make_value(made);
}

Thing Builder::index_of(const Thing& place, const Thing& index) {
  const Type of = type(place);
  if ((of.kind != Type::shared && of.kind != Type::tensor_memory) || of.shape.size() < 2)
    no_text("a copy of no ring");
  Type to = of;
  to.shape.erase(to.shape.begin());
  to.whole = to.shape;
  const int k = materialize(index);
  return Thing::make_value(
      pure("ttg.memdesc_index $0[$1] : " + of.text() + " -> " + to.text(), {place.id, k}, to));
}

Thing Builder::slice_of(const Thing& place, const Expr& call) {
  const Type of = type(place);
  const std::int64_t begin = whole_argument(call, 0, ""), count = whole_argument(call, 1, "");
  const bool said = argument(call, 2, "dim") != nullptr, shared = of.kind == Type::shared;
  const std::size_t rank = of.shape.size();
  // (What Gluon takes where nothing is said: columns of tensor memory, else rows.)
  const std::int64_t dimension = said ? whole_argument(call, 2, "dim") : shared ? 0 : 1;
  if (rank < 1 || rank > 2 || dimension < 0 || dimension >= static_cast<std::int64_t>(rank) ||
      (dimension == 0 && !shared))
    no_text("a part along rows");
  const auto d = static_cast<std::size_t>(dimension);
  if (begin < 0 || count <= 0 || begin + count > of.shape[d]) no_text("a part beyond the end");
  Type to = of;
  to.shape[d] = count;
  const std::string types = " : " + of.text() + " -> " + to.text();
  if (of.kind == Type::tensor_memory)
    return Thing::make_value(
        pure("ttng.tmem_subslice $0 {offset = " + std::to_string(begin) + " : i32}" + types,
             {place.id}, to));
  if (!shared) no_text("a part of what is no place");
  const std::string first = std::to_string(begin);
  const std::string places = rank == 1 ? first : d == 0 ? first + ", 0" : "0, " + first;
  return Thing::make_value(pure("ttg.memdesc_subslice $0[" + places + "]" + types, {place.id}, to));
}

Thing Builder::turned(const Thing& place) {
  const Type of = type(place);
  if (of.kind != Type::shared || of.layout->kind != Layout::shared || of.shape.size() != 2)
    no_text("the transpose of what is no tile in shared memory");
  Type to = of;
  std::swap(to.shape[0], to.shape[1]);
  std::swap(to.whole[to.whole.size() - 2], to.whole[to.whole.size() - 1]);
  Layout layout = *of.layout;
  layout.transposed = !layout.transposed;
  layout.text = m_.alias(nvmma_text(layout.swizzle, layout.transposed, layout.bits),
                         nvmma_name(layout.swizzle, layout.transposed, layout.bits));
  to.layout = std::make_shared<const Layout>(std::move(layout));
  return Thing::make_value(
      pure("ttg.memdesc_trans $0 {order = array<i32: 1, 0>} : " + of.text() + " -> " + to.text(),
           {place.id}, to));
}

Thing Builder::reinterpreted(const Thing& place, const Expr& call) {
  const Type of = type(place);
  const Thing element = needed(call, 0, ""), layout = needed(call, 2, "");
  const auto shape = wholes(needed(call, 1, ""));
  if ((of.kind != Type::tensor_memory && of.kind != Type::shared) ||
      element.kind != Thing::element || layout.kind != Thing::layout)
    no_text("another view of what is no place");
  const Type to{of.kind, element.text, shape, shape, layout.of};
  if (to.text() == of.text()) return place;
  return Thing::make_value(
      pure("ttg.memdesc_reinterpret $0 : " + of.text() + " -> " + to.text(), {place.id}, to));
}

Thing Builder::method(const Expr& call) {
  const std::string& name = call.parts[0].text;
  const auto ready = ready_.find(call.parts[0].parts.data());
  const Thing self = ready != ready_.end() ? ready->second : evaluate(call.parts[0].parts[0]);
  const Type of = type(self);
  const bool place = of.kind == Type::shared || of.kind == Type::tensor_memory;
  if (name == "index" && place) return index_of(self, needed(call, 0, ""));
  if (name == "slice" && place) return slice_of(self, call);
  if (name == "permute" && place) {
    if (wholes(needed(call, 0, "")) != std::vector<std::int64_t>{1, 0})
      no_text("another order than the transpose");
    return turned(self);
  }
  if (name == "reinterpret") return reinterpreted(self, call);
  if (name == "to") {
    const Thing element = needed(call, 0, "");
    if (element.kind != Thing::element) no_text("a conversion to no type");
    const Expr* bits = argument(call, 9, "bitcast");
    if (bits != nullptr && evaluate(*bits).number != 0) return as_bits(self, element.text);
    return cast(self, element.text);
  }
  if (name == "load" && place) {
    const Thing layout = needed(call, 0, "");
    if (layout.kind != Thing::layout) no_text("a load without a layout");
    const Type to{Type::tensor, of.element, of.shape, of.shape, layout.of};
    return Thing::make_value(
        pure(std::string(of.kind == Type::shared ? "ttg.local_load" : "ttng.tmem_load") +
                 " $0 : " + of.text() + " -> " + to.text(),
             {self.id}, to, Op::reads));
  }
  if (name == "store" && place) {
    const Thing tile = needed(call, 0, "");
    const Type from = type(tile);
    if (from.shape != of.shape || from.element != of.element)
      no_text("a tile of another shape or type is stored");
    if (of.kind == Type::shared)
      act("ttg.local_store $0, $1 : " + from.text() + " -> " + of.text(), {tile.id, self.id});
    else
      act("ttng.tmem_store $0, $1, $2 : " + from.text() + " -> " + of.text(),
          {tile.id, self.id, truth(true)});
    return {};
  }
  no_text("the method " + name);
}

// ---- barriers

bool Builder::barrier_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "mbarrier.allocate_mbarrier") {
    std::vector<std::int64_t> shape{1};
    if (argument(call, 0, "batch") != nullptr)
      shape.insert(shape.begin(), whole_argument(call, 0, "batch"));
    const Type type{
        Type::shared, "i64", shape, shape,
        layout_of(
            Layout::plain_shared,
            m_.alias("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>",
                     "vector"))};
    const int id = m_.value(type);
    act("ttg.local_alloc : () -> " + type.text(), {});
    here->ops.back()->results = {id};
    made = Thing::make_value(id);
    return true;
  }
  if (name == "fence_async_shared") {
    act("ttng.fence_async_shared {bCluster = false}", {});
    return true;
  }
  const bool tensor_core = name == "tcgen05_commit";
  if (!tensor_core && !name.starts_with("mbarrier.")) return false;
  const Thing barrier = needed(call, 0, "");
  const Type of = type(barrier);
  if (of.kind != Type::shared || of.element != "i64" || of.shape.size() != 1)
    no_text("a barrier that is none");
  const std::string type_text = " : " + of.text();
  const auto count = [&] { return std::to_string(whole_argument(call, 1, "count")); };
  if (tensor_core) {
    act("ttng.tc_gen5_commit $0, $1" + type_text, {barrier.id, truth(true)});
  } else if (name == "mbarrier.init") {
    act("ttng.init_barrier $0, " + count() + type_text, {barrier.id});
  } else if (name == "mbarrier.invalidate") {
    act("ttng.inval_barrier $0" + type_text, {barrier.id});
  } else if (name == "mbarrier.arrive") {
    act("ttng.arrive_barrier $0, " + count() + ", $1" + type_text, {barrier.id, truth(true)});
  } else if (name == "mbarrier.expect") {
    const Thing bytes = needed(call, 1, "");
    if (bytes.kind != Thing::whole) no_text("a number of bytes that is computed");
    act("ttng.barrier_expect $0, " + std::to_string(bytes.number) + ", $1" + type_text,
        {barrier.id, truth(true)});
  } else if (name == "mbarrier.wait") {
    const int parity = materialize(needed(call, 1, ""));
    const int wait =
        argument(call, 2, "pred") != nullptr ? materialize(needed(call, 2, "pred")) : truth(true);
    act("ttng.wait_barrier $0, $1, $2" + type_text, {barrier.id, parity, wait});
  } else {
    return false;
  }
  return true;
}

// ---- copies

bool Builder::copy_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "gl.allocate_shared_memory" || name == "allocate_tensor_memory") {
    made = allocated(call, name == "allocate_tensor_memory");
    return true;
  }
  if (name == "gl.load") {
    const Thing where = needed(call, 0, "");
    const Type of = type(where);
    Type to = of;
    if (!of.pointer()) no_text("a load from no place");
    to.element = of.element.substr(8, of.element.size() - 9);
    std::vector<int> operands{where.id};
    std::string list = "$0";
    if (argument(call, 9, "mask") != nullptr) {
      operands.push_back(mask_of(call, of));
      list += ", $1";
      if (argument(call, 9, "other") != nullptr) {
        operands.push_back(in_type(needed(call, 9, "other"), to));
        list += ", $2";
      }
    }
    made = Thing::make_value(pure("tt.load " + list + " : " + of.text(), operands, to, Op::reads));
    return true;
  }
  if (name == "gl.atomic_add") {
    const Thing where = needed(call, 0, ""), what = needed(call, 1, "");
    const Type of = type(where), from = type(what);
    if (!of.pointer() || of.element != "!tt.ptr<" + from.element + ">" || of.shape != from.shape)
      no_text("an addition to a place of another type");
    Type truths = from;
    truths.element = "i1";
    const int mask = argument(call, 9, "mask") != nullptr ? mask_of(call, of)
                                                          : m_.constant(*here, truths, "true");
    act(std::string("tt.atomic_rmw ") + (from.floating() ? "fadd" : "add") +
            ", acq_rel, gpu, $0, $1, $2 : (" + of.text() + ", " + from.text() + ", " +
            truths.text() + ") -> " + from.text(),
        {where.id, what.id, mask});
    here->ops.back()->results = {m_.value(from, "added")};
    return true;
  }
  if (name == "gl.store") {
    const Thing where = needed(call, 0, ""), what = needed(call, 1, "");
    const Type of = type(where), from = type(what);
    if (!of.pointer() || of.element != "!tt.ptr<" + from.element + ">" || of.shape != from.shape)
      no_text("a store to a place of another type");
    if (argument(call, 9, "mask") != nullptr)
      act("tt.store $0, $1, $2 : " + of.text(), {where.id, what.id, mask_of(call, of)});
    else
      act("tt.store $0, $1 : " + of.text(), {where.id, what.id});
    return true;
  }
  if (name == "async_copy.async_load") {
    vector_copy(call);
    return true;
  }
  if (name == "async_copy.mbarrier_arrive") {
    const Thing barrier = needed(call, 0, ""), counts = needed(call, 1, "increment_count");
    if (counts.kind != Thing::truth || counts.number != 0) no_text("an arrival that is counted");
    act("ttng.async_copy_mbarrier_arrive $0 {noIncrement} : " + type(barrier).text(), {barrier.id});
    return true;
  }
  if (name == "tma.store_wait") {
    act("ttng.async_tma_store_wait {pendings = " + std::to_string(whole_argument(call, 0, "")) +
            " : i32, read_only}",
        {});
    return true;
  }
  const bool load = name == "tma.async_load", store = name == "tma.async_store",
             adds = name == "tma.async_atomic_add";
  if (!load && !store && !adds) return false;
  const Thing descriptor = needed(call, 0, ""), where = needed(call, 1, "");
  const Type of = type(descriptor);
  if (of.kind != Type::descriptor || where.kind != Thing::several ||
      where.parts.size() != of.shape.size())
    no_text("a bulk copy through no descriptor");
  std::vector<int> operands{descriptor.id};
  std::string list;
  for (const Thing& one : where.parts) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    operands.push_back(materialize(one));
  }
  const auto next = [&](int operand) {
    operands.push_back(operand);
    return "$" + std::to_string(operands.size() - 1);
  };
  if (load) {
    const Thing barrier = needed(call, 2, ""), to = needed(call, 3, "");
    const std::string place = next(to.id), bar = next(barrier.id), always = next(truth(true));
    act("ttng.async_tma_copy_global_to_local $0[" + list + "] " + place + ", " + bar + ", " +
            always + " : " + of.text() + ", " + type(barrier).text() + " -> " + type(to).text(),
        operands);
  } else {
    const Thing from = needed(call, 2, "");
    const std::string place = next(from.id);
    if (store)
      act("ttng.async_tma_copy_local_to_global $0[" + list + "] " + place + " : " + of.text() +
              ", " + type(from).text(),
          operands);
    else
      act("ttng.async_tma_reduce add, $0[" + list + "] " + place + " : " + of.text() + ", " +
              type(from).text(),
          operands);
  }
  return true;
}

int Builder::mask_of(const Expr& call, const Type& places) {
  const Thing mask = needed(call, 9, "mask");
  const Type of = type(mask);
  if (of.element != "i1" || (of.kind != Type::scalar && of.kind != places.kind))
    no_text("a mask that is none");
  if (of.kind == Type::scalar && places.kind == Type::tensor) {  // (for all elements)
    Type truths = places;
    truths.element = "i1";
    return splat(mask.id, truths);
  }
  if (of.kind == Type::tensor && of.layout->text != places.layout->text)
    no_text("a mask of another layout than its places");
  return of.kind == Type::tensor ? broadcast(mask.id, places.shape) : mask.id;
}

void Builder::vector_copy(const Expr& call) {
  const Thing to = needed(call, 0, ""), from = needed(call, 1, "");
  const Type place = type(to), of = type(from);
  if (place.kind != Type::shared || !of.pointer()) no_text("a copy between other places");
  std::string short_type = place.text();
  short_type.erase(0, std::string("!ttg.memdesc").size());
  const int token = m_.value({Type::scalar, "!ttg.async.token", {}, {}, {}}, "copied");
  if (argument(call, 9, "mask") != nullptr)
    act("ttg.async_copy_global_to_local $0, $1 mask $2 : " + of.text() + " -> " + short_type,
        {from.id, to.id, mask_of(call, of)});
  else
    act("ttg.async_copy_global_to_local $0, $1 : " + of.text() + " -> " + short_type,
        {from.id, to.id});
  here->ops.back()->results = {token};
}

// ---- products

bool Builder::product_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "warpgroup_mma")
    made = wgmma(call);
  else if (name == "warpgroup_mma_wait")
    made = wgmma_wait(call);
  else if (name == "warpgroup_mma_init")
    made = needed(call, 0, "");
  else if (name == "tcgen05_mma")
    tcgen05(call);
  else if (name == "mma_v2")
    made = by_warps(call);
  else
    return false;
  return true;
}

/// mma.sync, which has ended where it stands.
Thing Builder::by_warps(const Expr& call) {
  const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), sum = needed(call, 2, "");
  const Type to = type(sum);
  Op& op = append(Op::plain);
  op.text = "tt.dot $0, $1, $2, inputPrecision = tf32 : " + type(a).text() + " * " +
            type(b).text() + " -> " + to.text();
  op.operands = {a.id, b.id, sum.id};
  const int made = m_.value(to);
  op.results = {made};
  return Thing::make_value(made);
}

Thing Builder::wgmma(const Expr& call) {
  const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), sum = needed(call, 2, "");
  const Expr* adds = argument(call, 3, "use_acc");
  const Thing async = needed(call, 9, "is_async");
  if (async.kind != Thing::truth || async.number == 0)
    no_text("a product that is waited for at once");
  const int use = adds != nullptr ? materialize(needed(call, 3, "use_acc")) : truth(true);
  const Type to = type(sum);
  Op& op = append(Op::plain);
  // (Of 8 bits: no sums are added in full precision in between, as Gluon has it.)
  const std::string sums =
      type(a).element.starts_with("f8") ? ", maxNumImpreciseAcc = 1073741824 : i32" : "";
  op.text = "ttng.warp_group_dot $0, $1, $2, $3 {inputPrecision = 0 : i32, isAsync = true" + sums +
            "} : " + type(a).text() + " * " + type(b).text() + " -> " + to.text();
  op.operands = {a.id, b.id, sum.id, use};
  const int made = m_.value(to);
  op.results = {made};
  return Thing::make_value(made);
}

Thing Builder::wgmma_wait(const Expr& call) {
  const std::int64_t pending = whole_argument(call, 0, "");
  const Thing all = needed(call, 9, "deps");
  if (all.kind != Thing::several || all.parts.empty()) no_text("a wait for no product");
  std::string list, types;
  std::vector<int> operands, results;
  Thing made;
  made.kind = Thing::several;
  for (const Thing& one : all.parts) {
    const Type of = type(one);
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    types += (types.empty() ? "" : ", ") + of.text();
    operands.push_back(one.id);
    results.push_back(m_.value(of));
    made.parts.push_back(Thing::make_value(results.back()));
  }
  act("ttng.warp_group_dot_wait " + list + " {pendings = " + std::to_string(pending) +
          " : i32} : " + types,
      operands);
  here->ops.back()->results = results;
  return results.size() == 1 ? made.parts[0] : made;
}

void Builder::tcgen05(const Expr& call) {
  const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), to = needed(call, 2, "");
  const Thing barriers = needed(call, 9, "mbarriers"), adds = needed(call, 3, "use_acc");
  if (barriers.kind != Thing::several) no_text("a product that is waited for at once");
  const int use = materialize(adds);
  std::vector<int> operands{a.id, b.id, to.id, use, truth(true)};
  std::string list, types = type(a).text() + ", " + type(b).text() + ", " + type(to).text();
  for (const Thing& one : barriers.parts) {
    list += ", $" + std::to_string(operands.size()) + "[$4]";
    types += ", " + type(one).text();
    operands.push_back(one.id);
  }
  const int token = m_.value({Type::scalar, "!ttg.async.token", {}, {}, {}}, "issued");
  act("ttng.tc_gen5_mma $0, $1, $2[], $3, $4" + list + " {is_async} : " + types, operands);
  here->ops.back()->results = {token};
}

}  // namespace twill::emit::ws
