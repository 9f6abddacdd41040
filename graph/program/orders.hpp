// The orders that a placed program has to keep.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program/storages.hpp"

namespace twill::program {

/// Op `first` of iteration i - offset has ended before `then` of iteration i begins, for every i
/// for which both are there.
struct Order {
  int first = 0;
  int then = 0;
  std::int64_t offset = 0;
  Need need = Need::raw;
  int storage = 0;
};

/// All of them but those that the code of one slot keeps by itself: reads after writes (RAW),
/// writes after reads (WAR) and after writes (WAW) of a copy, writes at a place that another
/// storage has used (overlay). Sorted, each pair of ops and offset once, with its first need. The
/// schedule's issue order satisfies each.
std::vector<Order> orders_of(const Draft& draft);

}  // namespace twill::program
