// Control and memory (interpreter.hpp).
#include "graph/ttgir/interpret.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/random.hpp"
#include "graph/ttgir/interpreter.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/successors.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kMostExecuted = 10'000'000;  // ops
constexpr std::int64_t kMostHeld = 1 << 24;         // elements of a tile
constexpr double kAnything = 997;                   // what a load without `other` has outside

}  // namespace

Interpreter::Interpreter(const Module& module, int loop, const meaning::Launch& launch, double real,
                         std::uint64_t seed)
    : m_(module), loop_(loop), launch_(launch), real_(real), seed_(seed) {
  function_ = loop_;
  while (function_ != kNone && !m_.op(function_).name.ends_with(".func"))
    function_ = m_.parent(function_);
}

Interpretation Interpreter::run() {
  if (function_ == kNone) refuse(loop_, "it is in no function");
  const Operation& whole = m_.op(function_);
  if (whole.regions.empty() || m_.regions[at(whole.regions[0])].blocks.empty())
    refuse(function_, "it has no text");
  const Block& entry = m_.block(m_.regions[at(whole.regions[0])].blocks[0]);
  for (std::size_t k = 0; k < entry.arguments.size(); ++k) {
    const int argument = entry.arguments[k];
    const Type& t = type(function_, argument);
    Held held;
    if (t.kind == TypeKind::descriptor || t.is_pointer()) {
      held.base = static_cast<int>(k);
      held.whole = {0};
    } else if (t.element.starts_with('i') || t.element == "index") {
      held.whole = {launch_.arguments.at(k)};
    } else {
      held.real = {real_};
    }
    values_[argument] = std::move(held);
  }
  function();
  return std::move(out_);
}

void Interpreter::refuse(int op, const std::string& why) const {
  const Operation& o = m_.op(op);
  throw NotInterpreted{op, std::string(o.name) + " of line " + std::to_string(o.line) + ": " + why};
}

const Held& Interpreter::get(int op, int value) const {
  const auto found = values_.find(value);
  if (found == values_.end()) refuse(op, "%" + std::string(m_.value(value).name) + " is not known");
  return found->second;
}
const Held& Interpreter::operand(int op, std::size_t k) const {
  if (k >= m_.op(op).operands.size()) refuse(op, "an operand is missing");
  return get(op, m_.op(op).operands[k]);
}
void Interpreter::set(int op, Held held, std::size_t result) {
  if (result >= m_.op(op).results.size()) refuse(op, "a result is missing");
  values_[m_.op(op).results[result]] = std::move(held);
}
const Type& Interpreter::type(int op, int value) const {
  const Type* t = m_.type_of(value);
  if (t == nullptr) refuse(op, "a type is missing");
  if (t->elements() > kMostHeld) refuse(op, "a tile is too large");
  return *t;
}
std::int64_t Interpreter::integer(int op, int value) const {
  const Held& held = get(op, value);
  if (held.whole.size() != 1) refuse(op, "an integer is missing");
  return held.whole[0];
}
std::int64_t Interpreter::count(const std::vector<std::int64_t>& shape) {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}
std::int64_t Interpreter::attribute(int op, std::string_view name) const {
  const std::string_view text = m_.attribute(m_.op(op), name);
  std::int64_t x = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), x).ec != std::errc())
    refuse(op, std::string(name) + " is missing");
  return x;
}
std::string_view Interpreter::text_behind_name(int op) const {
  const Operation& o = m_.op(op);
  std::string_view text = std::string_view(*m_.text).substr(o.begin, o.end - o.begin);
  text.remove_prefix(std::min(text.size(), o.name.size()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

int Interpreter::block_of(int op, std::size_t region) const {
  const Operation& o = m_.op(op);
  if (region >= o.regions.size() || m_.regions[at(o.regions[region])].blocks.size() != 1)
    refuse(op, "a region of one block is missing");
  return m_.regions[at(o.regions[region])].blocks[0];
}

/// From block to block, until one returns.
void Interpreter::function() {
  const std::vector<int>& blocks = m_.regions[at(m_.op(function_).regions[0])].blocks;
  for (int now = blocks[0]; now != kNone;) {
    block(now);
    if (m_.block(now).ops.empty()) return;
    now = successor(m_.block(now).ops.back());
  }
}

/// The block that a function's op goes on to; kNone = it returns.
int Interpreter::successor(int op) const {
  const auto found = successors(m_, op);
  if (const auto* why = std::get_if<std::string>(&found)) refuse(op, *why);
  const auto& blocks = std::get<std::vector<int>>(found);
  if (blocks.size() != 2) return blocks.empty() ? kNone : blocks[0];
  return blocks[integer(op, m_.op(op).operands.at(0)) == 0 ? 1 : 0];
}

void Interpreter::block(int index) {
  for (const int op : m_.block(index).ops) execute(op);
}

void Interpreter::execute(int op) {
  if (++steps_ > kMostExecuted) refuse(op, "too much is executed");
  const Operation& o = m_.op(op);
  const std::string_view name = o.name;
  if (name == "scf.yield" || name == "tt.return" || name == "cf.br" || name == "cf.cond_br") return;
  if (name == "scf.for") return loop(op);
  if (name == "scf.if") return branch(op);
  if (name == "tt.load" || name == "tt.descriptor_load") return load(op);
  if (name == "tt.store" || name == "tt.descriptor_store" || name == "tt.descriptor_reduce")
    return store(op);
  if (name == "tt.atomic_rmw" &&
      (text_behind_name(op).starts_with("fadd,") || text_behind_name(op).starts_with("add,")))
    return store(op);
  if (buffers(op) || tiles(op)) return;
  refuse(op, "it is not executed here");
}

std::vector<Held> Interpreter::yielded(int index) const {
  std::vector<Held> all;
  if (m_.block(index).ops.empty()) return all;
  const int last = m_.block(index).ops.back();
  if (m_.op(last).name != "scf.yield") return all;
  for (const int value : m_.op(last).operands) {
    const auto found = values_.find(value);  // (tokens are nothing)
    all.push_back(found == values_.end() ? Held{} : found->second);
  }
  return all;
}

void Interpreter::loop(int op) {
  const Operation& o = m_.op(op);
  const std::int64_t first = integer(op, o.operands.at(0)), end = integer(op, o.operands.at(1)),
                     step = integer(op, o.operands.at(2));
  if (step <= 0) refuse(op, "its step is not positive");
  const int body = block_of(op, 0);
  std::vector<Held> carried;
  for (std::size_t k = 3; k < o.operands.size(); ++k) {
    const auto found = values_.find(o.operands[k]);
    carried.push_back(found == values_.end() ? Held{} : found->second);
  }
  bool around = false;  // the loop
  for (int up = m_.parent(loop_); up != kNone; up = m_.parent(up)) around = around || up == op;
  if (op == loop_) note_buffers();
  for (std::int64_t i = first; i < end; i += step) {
    const std::vector<int>& arguments = m_.block(body).arguments;
    Held variable;
    variable.whole = {i};
    values_[arguments.at(0)] = std::move(variable);
    for (std::size_t k = 0; k < carried.size(); ++k) {
      values_[arguments.at(k + 1)] = carried[k];
      if (around && (!carried[k].real.empty() || !carried[k].whole.empty()) && carried[k].base < 0)
        out_.made[{op, kCarriedBy + static_cast<int>(k)}].push_back(
            {carried[k].shape, numbers(carried[k])});
    }
    block(body);
    if (!carried.empty()) carried = yielded(body);
  }
  for (std::size_t k = 0; k < o.results.size(); ++k) made(op, carried.at(k), k);
}

/// What is in the buffers that have been allocated where the loop begins.
void Interpreter::note_buffers() {
  for (const auto& [value, held] : values_) {
    const int made = m_.value(value).op;
    if (!held.buffer || made == kNone) continue;
    const OpClass c = class_of(m_.op(made));
    if (c != OpClass::tmem_alloc && c != OpClass::local_alloc) continue;
    const Held now = read(held);
    out_.made[{made, kAtEntry}].push_back({now.shape, numbers(now)});
  }
}

void Interpreter::branch(int op) {
  const Operation& o = m_.op(op);
  const bool taken = integer(op, o.operands.at(0)) != 0;
  const std::size_t region = taken ? 0 : 1;
  // What a branch of the loop's body does not store is noted as 0, as what a mask leaves out.
  const std::size_t other = 1 - region;
  if (m_.parent(op) == loop_ && other < o.regions.size())
    for (const int skipped : m_.block(block_of(op, other)).ops) {
      if (m_.op(skipped).name != "tt.descriptor_store") continue;
      Held none;
      none.shape = type(skipped, m_.op(skipped).operands.back()).shape;
      none.real.assign(static_cast<std::size_t>(count(none.shape)), 0.0);
      note(skipped, none);
    }
  bool looped = false;
  for (int around = op; around != kNone; around = m_.parent(around))
    looped = looped || around == loop_;
  if (!looped && other < o.regions.size()) note_skipped(block_of(op, other));
  if (region >= o.regions.size()) return;
  const int body = block_of(op, region);
  block(body);
  if (o.results.empty()) return;
  std::vector<Held> all = yielded(body);
  for (std::size_t k = 0; k < o.results.size(); ++k) made(op, std::move(all.at(k)), k);
}

/// What a branch outside the loop does not load or store is noted as 0, too.
void Interpreter::note_skipped(int index) {
  for (const int op : m_.block(index).ops) {
    const Operation& o = m_.op(op);
    if (o.name == "scf.if")
      for (std::size_t r = 0; r < o.regions.size(); ++r) note_skipped(block_of(op, r));
    if ((o.name != "tt.store" && o.name != "tt.load") || o.operands.empty()) continue;
    const bool loads = o.name == "tt.load";
    const int tile = loads ? o.results.at(0) : o.operands.at(1);
    Held none;
    none.shape = type(op, tile).shape;
    none.real.assign(static_cast<std::size_t>(count(none.shape)), 0.0);
    note(op, none);
    if (o.operands.size() > (loads ? 1U : 2U)) out_.brought[op].push_back({none.shape, none.real});
  }
}

/// The number that an element of memory has.
double Interpreter::element(int base, const std::string& type, std::int64_t a,
                            std::int64_t b) const {
  const meaning::NumberType* as = meaning::number_type(type);
  if (as == nullptr || as->precision == 0)
    throw NotInterpreted{function_, "memory of type " + type};
  SplitMix64 random(seed_ ^ (static_cast<std::uint64_t>(base + 1) * 0x9e3779b97f4a7c15U) ^
                    (static_cast<std::uint64_t>(a) * 0xbf58476d1ce4e5b9U) ^
                    (static_cast<std::uint64_t>(b) * 0x94d049bb133111ebU));
  random.next();
  const double share = static_cast<double>(random.next() >> 11) * 0x1p-53;
  return meaning::rounded(*as, -2 + 4 * share);
}

/// The integer that an element of memory has.
std::int64_t Interpreter::whole_element(int base, std::int64_t place, int bits, bool any) const {
  const auto given = launch_.memory.find({base, place});
  if (given != launch_.memory.end()) return given->second;
  SplitMix64 random(seed_ ^ (static_cast<std::uint64_t>(base + 1) * 0x9e3779b97f4a7c15U) ^
                    (static_cast<std::uint64_t>(place) * 0xbf58476d1ce4e5b9U));
  random.next();
  // (Of places and lengths, small ones; of a byte any. Products of bytes may leave f16: with an odd
  // seed, small ones there, too.)
  if (bits == 8) {
    const std::int64_t byte = static_cast<std::int64_t>(random.next() >> 56) - 128;
    return any || seed_ % 2 == 0 ? byte : byte >> 5;
  }
  if (any && bits == 32) return static_cast<std::int32_t>(random.next() >> 32);
  return static_cast<std::int64_t>(random.next() >> 58);
}

/// Is what an op makes taken apart bit by bit, perhaps after it has been through a buffer?
bool Interpreter::is_of_bits(int op) {
  const auto known = of_bits_.find(op);
  if (known != of_bits_.end()) return known->second;
  of_bits_[op] = false;  // (no op is made of itself)
  bool found = false;
  for (std::size_t k = 0; k < m_.ops.size() && !found; ++k) {
    const Operation& user = m_.ops[k];
    for (const int operand : user.operands) {
      if (m_.value(operand).op != op) continue;
      const bool moved = user.name == "ttg.local_alloc" || user.name == "ttg.local_load";
      found = found || user.name == "arith.shrsi" || user.name == "arith.shrui" ||
              user.name == "arith.shli" || user.name == "arith.xori" ||
              (moved && is_of_bits(static_cast<int>(k)));
    }
  }
  return of_bits_[op] = found;
}

void Interpreter::note(int op, const Held& tile) {
  out_.moved[op].push_back({tile.shape, numbers(tile)});
}

void Interpreter::made(int op, Held held, std::size_t result) {
  if (!held.real.empty())
    out_.made[{op, static_cast<int>(result)}].push_back({held.shape, held.real});
  else if (!held.whole.empty() && held.base < 0)
    out_.made[{op, static_cast<int>(result)}].push_back({held.shape, numbers(held)});
  set(op, std::move(held), result);
}

Held Interpreter::descriptor_tile(int op, int descriptor, const std::vector<std::int64_t>& begin,
                                  const std::vector<std::int64_t>& shape) const {
  const Held& where = get(op, descriptor);
  if (where.base < 0 || begin.size() < 2 || shape.size() != begin.size())
    refuse(op, "only tiles of two dimensions and more behind an argument are moved here");
  if (stored_.contains(where.base) || stored_at_.contains(where.base))
    refuse(op, "it loads from where the program stores");
  constexpr std::int64_t kApart = 1'000'003;  // of places along the leading dimensions
  Held tile;
  tile.shape = shape;
  const std::string number = type(op, descriptor).number();
  std::vector<std::int64_t> place(shape.size(), 0);
  for (std::int64_t e = 0; e < count(shape); ++e) {
    std::int64_t leading = 0;
    for (std::size_t d = 0; d + 1 < shape.size(); ++d)
      leading = leading * kApart + begin[d] + place[d];
    tile.real.push_back(element(where.base, number, leading, begin.back() + place.back()));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++place[d] < shape[d]) break;
      place[d] = 0;
    }
  }
  return tile;
}

/// Of what pointers lead to and a mask lets through: has the program stored there?
bool Interpreter::meets_stored(const Held& from, const Held* mask) const {
  if (stored_.contains(from.base)) return true;
  const auto found = stored_at_.find(from.base);
  if (found == stored_at_.end()) return false;
  for (std::size_t k = 0; k < from.whole.size(); ++k)
    if ((mask == nullptr || mask->whole.at(mask->whole.size() == 1 ? 0 : k) != 0) &&
        found->second.contains(from.whole[k]))
      return true;
  return false;
}

/// Are the bytes that an op makes scales of a product?
bool Interpreter::is_of_scales(int op) {
  const auto known = of_scales_.find(op);
  if (known != of_scales_.end()) return known->second;
  bool& found = of_scales_[op];
  std::set<int> values(m_.op(op).results.begin(), m_.op(op).results.end());
  for (std::size_t before = 0; before != values.size();) {
    before = values.size();
    for (const Operation& user : m_.ops)
      for (const int operand : user.operands) {
        if (!values.contains(operand)) continue;
        found = found || user.name == "ttng.tc_gen5_mma_scaled";
        const OpClass c = class_of(user);
        if (c == OpClass::layout || c == OpClass::view || c == OpClass::tmem_alloc ||
            c == OpClass::local_alloc)
          values.insert(user.results.begin(), user.results.end());
      }
  }
  return found;
}

void Interpreter::load(int op) {
  const Operation& o = m_.op(op);
  const Type& result = type(op, o.results.at(0));
  if (o.name == "tt.descriptor_load") {
    std::vector<std::int64_t> begin;
    for (std::size_t k = 1; k < o.operands.size(); ++k) begin.push_back(integer(op, o.operands[k]));
    Held tile = descriptor_tile(op, o.operands.at(0), begin, result.shape);
    note(op, tile);
    return set(op, std::move(tile));
  }
  const Held& from = operand(op, 0);
  if (from.base < 0) refuse(op, "it loads from what is no argument");
  const Held* mask = o.operands.size() > 1 ? &operand(op, 1) : nullptr;
  if (meets_stored(from, mask)) refuse(op, "it loads from where the program stores");
  const Held* other = o.operands.size() > 2 ? &operand(op, 2) : nullptr;
  Held tile;
  tile.shape = result.shape;
  if (result.element == "i8" || result.element == "i32" || result.element == "i64") {
    Held memory = tile;
    for (std::size_t k = 0; k < from.whole.size(); ++k) {
      const bool there = mask == nullptr || mask->whole.at(mask->whole.size() == 1 ? 0 : k) != 0;
      std::int64_t x = whole_element(from.base, from.whole[k], result.bits, is_of_bits(op));
      // (Not so far apart that sums leave f16: from 2^-3 to 2^4, as a byte with a sign.)
      if (result.bits == 8 && is_of_scales(op)) x = (x & 7) < 4 ? 124 + (x & 7) : (x & 7) - 132;
      memory.real.push_back(static_cast<double>(x));
      tile.whole.push_back(there              ? x
                           : other != nullptr ? other->whole.at(other->whole.size() == 1 ? 0 : k)
                                              : 0);
    }
    note(op, memory);
    if (mask != nullptr) out_.brought[op].push_back({tile.shape, numbers(tile)});
    return set(op, std::move(tile));
  }
  // Noted is what lies there, also where the mask lets nothing through.
  Held memory = tile;
  for (const std::int64_t place : from.whole)
    memory.real.push_back(element(from.base, result.number(), place, -1));
  for (std::size_t k = 0; k < from.whole.size(); ++k) {
    const bool there = mask == nullptr || mask->whole.at(mask->whole.size() == 1 ? 0 : k) != 0;
    if (there)
      tile.real.push_back(memory.real[k]);
    else if (other != nullptr)
      tile.real.push_back(other->real.at(other->real.size() == 1 ? 0 : k));
    else
      tile.real.push_back(kAnything);  // (a module whose results depend on it has no meaning)
  }
  note(op, memory);
  if (mask != nullptr) out_.brought[op].push_back({tile.shape, tile.real});
  set(op, std::move(tile));
}

void Interpreter::store(int op) {
  const Operation& o = m_.op(op);
  // A descriptor's tile is the last operand, a pointer's the second.
  const bool descriptor = o.name.starts_with("tt.descriptor");
  const Held& where = operand(op, 0);
  if (where.base < 0) refuse(op, "it stores to what is no argument");
  int tile = kNone;
  for (const int value : o.operands)
    if (type(op, value).kind == TypeKind::tensor && !type(op, value).is_pointer() &&
        type(op, value).element != "i1" && (descriptor || tile == kNone))
      tile = value;
  if (tile == kNone && !descriptor && o.operands.size() > 1) tile = o.operands[1];  // a number
  if (tile == kNone) refuse(op, "it stores no tile");
  Held stored = get(op, tile);
  if (descriptor) stored_.insert(where.base);
  // What a mask leaves out is noted as 0.
  if (!descriptor && o.operands.size() > 2) {
    out_.brought[op].push_back({stored.shape, numbers(stored)});
    const Held& mask = operand(op, 2);
    for (std::size_t k = 0; k < stored.real.size(); ++k)
      if (mask.whole.at(mask.whole.size() == 1 ? 0 : k) == 0) stored.real[k] = 0;
    for (std::size_t k = 0; k < stored.whole.size(); ++k)
      if (mask.whole.at(mask.whole.size() == 1 ? 0 : k) == 0) stored.whole[k] = 0;
  }
  if (!descriptor) {
    const Held* mask = o.operands.size() > 2 ? &operand(op, 2) : nullptr;
    std::set<std::int64_t>& places = stored_at_[where.base];
    for (std::size_t k = 0; k < where.whole.size(); ++k)
      if (mask == nullptr || mask->whole.at(mask->whole.size() == 1 ? 0 : k) != 0)
        places.insert(where.whole[k]);
  }
  note(op, stored);
}

std::variant<Interpretation, NotInterpreted> interpret(const Module& module, int loop,
                                                       const meaning::Launch& launch, double real,
                                                       std::uint64_t seed) {
  try {
    return Interpreter(module, loop, launch, real, seed).run();
  } catch (const NotInterpreted& no) {
    return no;
  } catch (const std::out_of_range&) {
    return NotInterpreted{loop, "an op of the function has not the operands that it should have"};
  }
}

}  // namespace twill::ttgir
