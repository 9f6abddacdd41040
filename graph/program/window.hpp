// What has surely happened before what, when a program of n iterations runs with given waits: for
// derive() alone. It uses that the schedule's issue order satisfies every wait.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "graph/program/orders.hpp"

namespace twill::program {

class Window {
 public:
  /// All `waits` at every iteration at which both of their ops are there; up to `most` iterations.
  /// The draft must outlive it.
  Window(const Draft& draft, const std::vector<Order>& waits, int most);

  /// From now on it is about 0 .. n-1, n <= most.
  void run(int n);

  int iterations() const { return n_; }
  bool exists(std::int64_t iteration) const { return iteration >= 0 && iteration < n_; }

  /// Has `op` of iteration i surely ended before `then` of iteration j is issued, but for the waits
  /// that are made directly on it?
  bool ended_otherwise(int op, std::int64_t i, int then, std::int64_t j) const;
  /// Has it ended before the waits of `then` begin?
  bool ended_before_waits(int op, std::int64_t i, int then, std::int64_t j) const;
  /// Has `op` of iteration j surely ended when `first` of iteration i has?
  bool ended_with(int first, std::int64_t i, int op, std::int64_t j) const;
  /// Is `op` of iteration i issued before `then` of iteration j ends?
  bool issued(int op, std::int64_t i, int then, std::int64_t j) const;

 private:
  using Word = std::uint64_t;
  /// By the order of the schedule's issues: what is before one has a smaller number.
  std::size_t instance(int op, std::int64_t i) const {
    return place_[static_cast<std::size_t>(i) * ops_ + static_cast<std::size_t>(op)];
  }
  bool bit(const std::vector<Word>& rows, std::size_t row, std::size_t column) const {
    return (rows[row * words_ + column / 64] >> (column % 64) & 1) != 0;
  }
  /// Adds what is before `other`, and it, to a row.
  void join(std::vector<Word>& to, std::size_t row, const std::vector<Word>& from,
            std::size_t other) const;

  const Draft& draft_;
  int n_ = 0;
  std::size_t ops_, words_ = 0;
  std::vector<std::vector<Order>> waits_of_;  ///< per op that waits
  /// Time, rank, op and iteration of all instances, in the order of the schedule's issues.
  std::vector<std::tuple<Cycle, int, int, int>> line_;
  std::vector<std::size_t> place_;  ///< per iteration and op
  // Per instance, bits of instances: 2 x = x is issued, 2 x + 1 = x has ended.
  std::vector<Word> before_;  ///< before its waits begin
  std::vector<Word> issue_;   ///< before its issue, that included
  std::vector<Word> end_;     ///< before its end, that included
};

}  // namespace twill::program
