#include "graph/emit/plan_products.hpp"

#include <algorithm>
#include <string>

#include "graph/emit/limits.hpp"
#include "graph/emit/register_tile.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Refusal;

class OutsidePlanner {
 public:
  OutsidePlanner(Plan& plan, Names& names)
      : plan_(plan),
        m_(*plan.meaning),
        names_(names),
        hopper_(plan.legal.target == Target::hopper) {}

  std::optional<Refusal> run() {
    for (int v = 0; v < static_cast<int>(m_.values.size()); ++v) {
      const Value& value = m_.values[at(v)];
      if (value.function != Function::product || m_.in_loop(v)) continue;
      if (auto no = one_product(v, value)) return no;
    }
    for (int op = 0; op < static_cast<int>(plan_.given->ops.size()) && !hopper_; ++op)
      for (const int v : plan_.links.values[at(op)])
        if (v != plan_.links.result[at(op)] && m_.values[at(v)].function == Function::product)
          if (auto no = within(op, v)) return no;
    for (int op = 0; op < static_cast<int>(plan_.given->ops.size()); ++op)
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
        if (const int v = plan_.made_factor(op, k); v >= 0 && !plan_.made.contains(v))
          plan_.made[v] = {names_.make(plan_.variable[at(v)] + "_smem", "buffer"),
                           m_.values[at(v)].shape, m_.values[at(v)].type, true};
    return std::nullopt;
  }

 private:
  static Refusal no(const char* rule, const Value& value, const std::string& why) {
    return {rule, "the product " + value.id + ", outside the loop, " + why};
  }

  std::optional<Refusal> one_product(int v, const Value& value) {
    const std::set<int> slots = users(v);
    const bool in_kernel = needed_in_kernel(v);
    if (slots.empty() && !in_kernel) return std::nullopt;
    if (slots.size() + (in_kernel ? 1 : 0) > 1)
      return no("op", value, "is needed by several slots");
    const int warps = in_kernel ? kWarpgroup : plan_.warps(*slots.begin());
    if (warps < kWarpgroup)
      return no("op", value, "is needed by a slot of " + std::to_string(warps) + " warps");
    if (auto bad = types(v, value)) return bad;
    const auto tile = register_tile(plan_.legal.target, value.shape[0], value.shape[1], warps);
    if (!tile || (hopper_ && tile->form != RegisterTile::accumulators))
      return no("op", value,
                "has a tile of " + std::to_string(value.shape[0]) + " x " +
                    std::to_string(value.shape[1]) + ", for which no register layout is known");
    if (auto bad = registers(v, value, warps)) return bad;
    ProductOutside made;
    made.in_kernel = in_kernel;
    const std::string& name = plan_.variable[at(v)];
    for (std::size_t k = 0; k < 2; ++k) {
      const Operand one = plan_.factor(v, k);
      if (plan_.resident.contains(one.value) || (hopper_ && k == 0 && !one.transposed)) continue;
      const Value& from = m_.values[at(one.value)];
      made.factor[k] = {names_.make(name + (k == 0 ? "_left_smem" : "_right_smem"), "buffer"),
                        from.shape, from.type, true};
    }
    if (!hopper_) {
      if (value.shape[0] != 64 && value.shape[0] != 128)
        return no("op", value, "has " + std::to_string(value.shape[0]) + " rows");
      made.sum = names_.make(name + "_tmem", "buffer");
      made.ended = names_.make(name + "_ended", "barrier");
    }
    plan_.outside[v] = std::move(made);
    return std::nullopt;
  }

  /// In a branch of the loop, on Blackwell: its sum has columns of its own, its left factor a
  /// buffer that the slot's warps write in every iteration. (So they meet before one of them issues
  /// it, and have read the sum before.)
  std::optional<Refusal> within(int op, int v) {
    const Value& value = m_.values[at(v)];
    const auto refused = [&](const char* rule, const std::string& why) {
      return Refusal{rule, "the product " + value.id + ", in a branch of the loop, " + why};
    };
    const int warps = plan_.warps(plan_.given->ops[at(op)].slot);
    if (plan_.tiles() || !plan_.counter.empty())
      return refused("op", "is in a loop over tiles, or in one whose iterations are counted");
    if (warps < kWarpgroup)
      return refused("op", "is in a slot of " + std::to_string(warps) + " warps");
    if ((value.shape[0] != 64 && value.shape[0] != 128) ||
        !register_tile(plan_.legal.target, value.shape[0], value.shape[1], warps))
      return refused("op", "has a tile of " + std::to_string(value.shape[0]) + " x " +
                               std::to_string(value.shape[1]) +
                               ", for which no register layout is known");
    const Operand left = value.operands[0];
    const std::vector<int>& chain = plan_.links.values[at(op)];
    if (std::find(chain.begin(), chain.end(), left.value) == chain.end() || left.transposed ||
        left.is_part())
      return refused("operand", "has a left factor that its slot does not make for it");
    const Value& from = m_.values[at(left.value)];
    const std::string& name = plan_.variable[at(v)];
    ProductOutside made;
    made.factor[0] = {names_.make(name + "_left_smem", "buffer"), from.shape, from.type, true};
    made.sum = names_.make(name + "_tmem", "buffer");
    made.ended = names_.make(name + "_ended", "barrier");
    plan_.outside[v] = std::move(made);
    return std::nullopt;
  }

  std::optional<Refusal> types(int v, const Value& value) const {
    if (value.type != "f32") return no("type", value, "is of type " + value.type);
    const int left = plan_.factor(v, 0).value;
    const std::string first = left < 0 ? "" : m_.values[at(left)].type;
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      const Operand one = k < 2 ? plan_.factor(v, k) : value.operands[k];
      if (one.value < 0 || one.is_part()) return no("operand", value, "uses a part of a tile");
      const Value& from = m_.values[at(one.value)];
      if (k == 2 ? from.type != "f32" || one.transposed
                 : from.type != first || (first != "f16" && first != "bf16"))
        return no("type", value, "has operands of other types than one of 16 bits");
    }
    return std::nullopt;
  }

  /// Behind the loop a product of Hopper has a tile of registers beside what the loop has left;
  /// where that is more than there are, ptxas would end each product of the loop before the next
  /// one.
  std::optional<Refusal> registers(int v, const Value& value, int warps) const {
    constexpr Amount kThreads = 32, kElse = 16;
    if (!hopper_ || v < m_.after_begin) return std::nullopt;
    std::set<int> made;
    for (int other = m_.after_begin; other < static_cast<int>(m_.values.size()); ++other)
      plan_.final_values(other, made);
    Amount held = value.operands.size() > 2 ? 0 : meaning::elements(value.shape);
    for (const int one : made)
      if (m_.values[at(one)].shape.size() == 2) held += meaning::elements(m_.values[at(one)].shape);
    held /= kThreads * warps;
    if (held + kElse <= kMostRegisters) return std::nullopt;
    return no("limits", value,
              "has " + std::to_string(held) +
                  " registers a thread with what the loop has left, which is too many");
  }

  /// Slots whose text has it.
  std::set<int> users(int v) const {
    std::set<int> slots;
    for (int op = 0; op < static_cast<int>(plan_.given->ops.size()); ++op)
      if (v < m_.loop_begin && plan_.used_before(op).contains(v))
        slots.insert(plan_.given->ops[at(op)].slot);
    for (int store = m_.after_begin; store < static_cast<int>(m_.values.size()); ++store)
      if (plan_.after_slot[at(store)] >= 0 && uses(store, v))
        slots.insert(plan_.after_slot[at(store)]);
    return slots;
  }
  /// Does what the loop carries in memory begin with it, or a factor of the loop's that is
  /// computed?
  bool needed_in_kernel(int v) const {
    for (int op = 0; op < static_cast<int>(plan_.given->ops.size()); ++op)
      if (plan_.begins_in_kernel(op) &&
          uses(m_.initial_of(plan_.links.result[at(op)])->what.value, v))
        return true;
    for (int op = 0; op < static_cast<int>(plan_.given->ops.size()); ++op)
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
        if (const int made = plan_.made_factor(op, k); made >= 0 && uses(made, v)) return true;
    return false;
  }
  bool uses(int user, int v) const {
    std::set<int> seen = {user};
    std::vector<int> open = {user};
    while (!open.empty()) {
      const int now = open.back();
      open.pop_back();
      if (now == v) return true;
      for (const Operand& one : m_.values[at(now)].operands)
        if (one.value >= 0 && !m_.in_loop(one.value) && seen.insert(one.value).second)
          open.push_back(one.value);
    }
    return false;
  }

  Plan& plan_;
  const meaning::Meaning& m_;
  Names& names_;
  bool hopper_;
};

}  // namespace

std::optional<Refusal> plan_products(Plan& plan, Names& names) {
  return OutsidePlanner(plan, names).run();
}

}  // namespace twill::emit
