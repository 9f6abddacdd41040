// Which stores stand behind a loop, some in a branch (meaning_builder.hpp).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/branch_condition.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/sequence.hpp"

namespace twill::ttgir {

using meaning::Index;

void MeaningBuilder::stores_after() {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  // Of a sequence each loop has what stands between it and the next one.
  for (auto op = ops.begin(); op != loop && (!in_sequence() || loop_ == sequence_.front()); ++op)
    if (class_of(m_.op(*op)) == OpClass::store && stored_later(*op)) store_after(*op);
  bool here = true;
  for (auto op = loop + 1; op != ops.end(); ++op) {
    here = here && std::find(sequence_.begin(), sequence_.end(), *op) == sequence_.end();
    const bool stores = class_of(m_.op(*op)) == OpClass::store;
    if (in_sequence() && stores)
      if (const int done = done_by_earlier(m_, sequence_, *op); done != kNone || !here) {
        if (done == loop_) store_made_here(*op);
        continue;
      }
    if (!here) continue;
    if (m_.op(*op).name == "scf.if" || branch_condition(m_, *op) != kNone) stores_in_branch(*op);
    if (stores) store_made_here(*op);
  }
}

void MeaningBuilder::store_made_here(int index) {
  const Operation& store = m_.op(index);
  if (worked_on_here(index))
    store_after(index);
  else if (kernel_.incomplete.empty())
    kernel_.incomplete = std::string(store.name) + " of line " + std::to_string(store.line) +
                         " stores what another loop or a branch makes";
}

/// A branch behind the loop that does nothing but store, or nothing: its condition is a bound of
/// each of its stores. (One that makes something is read by who uses it.)
void MeaningBuilder::stores_in_branch(int index) {
  const Operation& branch = m_.op(index);
  const auto ops_of = [&](int region) {
    std::vector<int> ops;
    for (const int block : m_.regions[at(region)].blocks)
      ops.insert(ops.end(), m_.block(block).ops.begin(), m_.block(block).ops.end());
    return ops;
  };
  for (std::size_t side = 0; side < branch.regions.size(); ++side)
    for (const int op : ops_of(branch.regions[side])) {
      if ((m_.op(op).name == "scf.if" || branch_condition(m_, op) != kNone) &&
          branch_behind(op) != kNone) {
        stores_in_branch(op);
        continue;
      }
      if (class_of(m_.op(op)) != OpClass::store) continue;
      if (branch_behind(op) != kNone)
        store_made_here(op);
      else if (kernel_.incomplete.empty())
        kernel_.incomplete = std::string(m_.op(op).name) + " of line " +
                             std::to_string(m_.op(op).line) + " is in a branch that is not read";
    }
}

/// The branch in the loop's block, behind the loop, that an op stands in: one that makes nothing
/// and each side of which is entered where half-planes say so, as are those in it. kNone = it
/// stands in none.
int MeaningBuilder::branch_behind(int op) const {
  if (!conditions_behind(op)) return kNone;
  int branch = op;
  while (m_.op(branch).block != m_.op(loop_).block) branch = m_.parent(branch);
  return branch;
}

/// What must hold where an op of such a branch is executed; nullopt = it stands in none.
std::optional<std::vector<MeaningBuilder::HalfPlane>> MeaningBuilder::conditions_behind(
    int op) const {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  std::vector<HalfPlane> all;
  int inside = op;
  while (m_.op(inside).block != m_.op(loop_).block) {
    const int branch = m_.parent(inside);
    const int condition = branch == kNone ? kNone : branch_condition(m_, branch);
    auto planes = condition == kNone ? std::nullopt : half_planes(condition);
    if (!planes) return std::nullopt;
    const auto& sides = m_.op(branch).regions;
    const int side = m_.block(m_.op(inside).block).region;
    if (m_.regions[at(side)].blocks.size() != 1) return std::nullopt;
    if (side != sides[0]) {
      // Where one does not hold; of several it is not known which.
      if (planes->size() != 1) return std::nullopt;
      HalfPlane& one = planes->front();
      one = {-one.row, -one.column, Index::make(Index::sub, Index::whole(-1), one.rest)};
    }
    all.insert(all.end(), planes->begin(), planes->end());
    inside = branch;
  }
  if (inside == op) return std::nullopt;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  if (inside == loop_ || std::find(loop, ops.end(), inside) == ops.end()) return std::nullopt;
  return all;
}

}  // namespace twill::ttgir
