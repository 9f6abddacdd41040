// Symmetries of a loop: sub-tiles that may change places.
//
// A permutation of the ops that keeps every attribute and every edge turns a schedule into another
// one with the same initiation interval, length and sums: op v gets what image[v] had. Names play
// no part, and every permutation that is returned has been checked against the whole problem.
//
// Source: colour refinement and individualisation as in McKay, "Practical graph isomorphism"
// (1981), for involutions only.
#pragma once

#include <span>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Does `image` exchange ops in pairs (image[image[v]] = v) and map the problem onto itself?
bool is_exchange(const Problem& problem, std::span<const int> image);

/// An automorphism that exchanges ops in pairs and leaves the rest where they are: image[v] is v's
/// partner, or v. Empty when there is none but the identity, or none was found in a bounded number
/// of steps. The same problem gives the same answer.
std::vector<int> exchangeable_ops(const Problem& problem);

/// Op `op` and those that it can be exchanged for, one after another: the i-th exchange takes the
/// i-th op to the next one and leaves all others of the chain where they are, so that exchanges of
/// neighbours bring them into any order. Empty where the exchanges do not do that, or are none.
std::vector<int> exchange_chain(const Problem& problem, std::span<const std::vector<int>> exchanges,
                                int op);

/// `first` and further exchanges of such a chain that begins with `op`, as many as are found: of
/// four sub-tiles that are alike, three. `first` alone where it is no exchange of `op`.
std::vector<std::vector<int>> exchanges_from(const Problem& problem, std::vector<int> first,
                                             int op);

}  // namespace twill
