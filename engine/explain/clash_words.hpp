// A clash in the words of whoever wrote the loop.
#pragma once

#include <vector>

#include "engine/explain/clash.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// "registers of softmax0 at residues 12-15: s0_exp_p 128 + s0_sub_s 128 = 256 > 168", a reason
/// each; values that alone are too much for a slot share one, and dependences that follow each
/// other are one chain, "S -1-> P -1-> O". The residues are those at which the part is broken by
/// the schedule that keeps the others; row 0 is the issue of the op whose row the search fixed
/// (rotation_pivot()), or cycle 0 where ops are pinned to cycles. First what has too little room,
/// or who waits, then what forces that.
std::vector<Reason> words(const Problem& problem, const std::vector<order::Clashing>& clash);

/// Every unit, memory and slot that values or ops take of: a clash, with what forces it, whenever
/// there is one.
std::vector<Reason> everything(const Problem& problem);

}  // namespace twill
