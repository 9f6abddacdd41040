// The watches of a clause-learning solver: one list a literal, most of them short, all in a few
// large blocks. A list that outgrows its place moves to one twice as large; places are kept and
// used again, by size.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace twill {

struct Watch {
  int blocker;  ///< another literal of the clause; nothing to do while it is true
  int clause;   ///< its place, or kBinary where the blocker is all the rest of it
  static constexpr int kBinary = -1;
};

class WatchLists {
 public:
  void add_list() { lists_.emplace_back(); }
  void reserve(std::size_t lists) { lists_.reserve(lists); }
  std::size_t size() const { return lists_.size(); }

  /// Stays where it is until something is pushed to this very list.
  std::span<Watch> operator[](std::size_t list) { return {lists_[list].begin, lists_[list].size}; }
  std::span<const Watch> operator[](std::size_t list) const {
    return {lists_[list].begin, lists_[list].size};
  }

  void push(std::size_t list, Watch watch) {
    List& l = lists_[list];
    assert(l.size <= l.capacity && (l.capacity == 0 || std::has_single_bit(l.capacity)));
    if (l.size == l.capacity) grow(l);
    l.begin[l.size++] = watch;
  }
  /// Keeps the first `size`, which there must be.
  void shorten(std::size_t list, std::size_t size) {
    assert(size <= lists_[list].size);
    lists_[list].size = static_cast<std::uint32_t>(size);
  }

 private:
  struct List {
    Watch* begin = nullptr;
    std::uint32_t size = 0, capacity = 0;
  };
  static constexpr std::size_t kFirst = 2, kBlock = 8192;  // watches

  void grow(List& list) {
    const std::size_t capacity = list.capacity == 0 ? kFirst : 2 * std::size_t{list.capacity};
    Watch* const place = find_place(capacity);
    for (std::uint32_t i = 0; i < list.size; ++i) place[i] = list.begin[i];
    if (list.capacity > 0) places_of(list.capacity).push_back(list.begin);
    list.begin = place;
    list.capacity = static_cast<std::uint32_t>(capacity);
  }
  Watch* find_place(std::size_t capacity) {
    if (std::vector<Watch*>& places = places_of(capacity); !places.empty()) {
      Watch* const place = places.back();
      places.pop_back();
      return place;
    }
    if (left_ < capacity) {  // what is left of the block is given up
      left_ = capacity > kBlock ? capacity : kBlock;
      blocks_.push_back(std::make_unique_for_overwrite<Watch[]>(left_));
      next_ = blocks_.back().get();
    }
    assert(next_ != nullptr && left_ >= capacity);
    Watch* const place = next_;
    next_ += capacity;
    left_ -= capacity;
    return place;
  }
  std::vector<Watch*>& places_of(std::size_t capacity) {
    assert(std::has_single_bit(capacity));
    const auto power = static_cast<std::size_t>(std::countr_zero(capacity));
    if (places_.size() <= power) places_.resize(power + 1);
    return places_[power];
  }

  std::vector<List> lists_;
  std::vector<std::unique_ptr<Watch[]>> blocks_;
  Watch* next_ = nullptr;
  std::size_t left_ = 0;
  std::vector<std::vector<Watch*>> places_;  // given up, by the power of two
};

}  // namespace twill
