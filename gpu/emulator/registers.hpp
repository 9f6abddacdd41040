// Whose the registers of wgmma are: the thread's own, or lent to multiplications in flight (PTX
// ISA, "wgmma.fence" and "wgmma.wait_group"). While lent, an accumulator or a fragment of A holds a
// mark, and its contents are kept here: a write in between is found when the registers come back, a
// read where the mark turns up in arithmetic (is_lent).
//
// wgmma.fence must lie between every access of the thread and the multiplication. The thread's
// accesses are not seen, their effect is: what changed since the last fence was written after it.
// For that a fence looks at all registers that any thread has lent so far, as places on its own
// stack; so the first thread of a warpgroup is not checked where it first lends a register, and the
// others are. Registers that came back count as accessed, also where they were only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace twill::gpu::emulator {

/// Not a number as fp32, and as two 16-bit elements of either type.
inline constexpr std::uint32_t kLentMark = 0xFFF1FFF1;

/// The mark, or what arithmetic makes of it: the sign may have changed.
constexpr bool is_lent(std::uint32_t bits) {
  return (bits | 0x80000000U) == kLentMark;
}

/// Registers that some thread has lent: words by offset in its stack.
using LentPlaces = std::map<std::size_t, std::size_t>;

/// Those of one thread, whose stack is [stack, stack + bytes). What returns a text returns what is
/// wrong, "" if nothing.
class Registers {
 public:
  void start(char* stack, std::size_t bytes, LentPlaces* known);

  /// wgmma.fence
  void fence();
  /// A multiplication gets `words` registers until multiplication number `until` has ended. Their
  /// contents are at `kept` meanwhile.
  std::string lend(std::uint32_t* registers, std::size_t words, std::int64_t until,
                   std::uint32_t*& kept);
  /// wgmma.wait_group: all multiplications up to number `ended` have ended.
  std::string give_back(std::int64_t ended);

 private:
  struct Lent {
    std::vector<std::uint32_t> kept;
    std::vector<std::uint32_t> at_fence;  ///< contents at the last fence; empty: not looked at
    bool in_flight = false;
    std::int64_t until = 0;
    std::uint64_t back = 0;  ///< fences before they came back
  };

  char* stack_ = nullptr;
  std::size_t bytes_ = 0;
  LentPlaces* known_ = nullptr;
  std::uint64_t fences_ = 0;
  std::map<std::uint32_t*, Lent> lent_;
};

}  // namespace twill::gpu::emulator
