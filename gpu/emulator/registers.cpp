#include "gpu/emulator/registers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twill::gpu::emulator {

namespace {

// The kernel has floats there, or pairs of 16-bit elements: bytes are copied.
std::vector<std::uint32_t> contents(const std::uint32_t* registers, std::size_t words) {
  std::vector<std::uint32_t> x(words);
  std::memcpy(x.data(), registers, words * sizeof(std::uint32_t));
  return x;
}
void set(std::uint32_t* registers, const std::vector<std::uint32_t>& x) {
  std::memcpy(registers, x.data(), x.size() * sizeof(std::uint32_t));
}

}  // namespace

void Registers::start(char* stack, std::size_t bytes, LentPlaces* known) {
  stack_ = stack;
  bytes_ = bytes;
  known_ = known;
}

void Registers::fence() {
  ++fences_;
  for (const auto& [offset, words] : *known_) {
    Lent& lent = lent_[reinterpret_cast<std::uint32_t*>(stack_ + offset)];
    if (!lent.in_flight) lent.kept.resize(words);
  }
  for (auto& [at, lent] : lent_)
    if (!lent.in_flight) lent.at_fence = contents(at, lent.kept.size());
}

std::string Registers::lend(std::uint32_t* registers, std::size_t words, std::int64_t until,
                            std::uint32_t*& kept) {
  Lent& lent = lent_[registers];
  if (lent.in_flight) {
    if (lent.kept.size() != words) return "a wgmma on registers in flight in another shape";
    lent.until = std::max(lent.until, until);
    kept = lent.kept.data();
    return "";
  }
  if (fences_ == 0 || lent.back == fences_)
    return "a wgmma without wgmma.fence after its registers were the thread's";
  std::vector<std::uint32_t> now = contents(registers, words);
  if (std::find(now.begin(), now.end(), kLentMark) != now.end())
    return "a wgmma on a part of registers that are in flight";
  if (lent.at_fence.size() == words && lent.at_fence != now)
    return "registers of a wgmma are written after wgmma.fence";
  lent.kept = std::move(now);
  set(registers, std::vector<std::uint32_t>(words, kLentMark));
  lent.in_flight = true;
  lent.until = until;
  kept = lent.kept.data();
  const char* const at = reinterpret_cast<char*>(registers);
  if (at >= stack_ && at < stack_ + bytes_)
    known_->insert_or_assign(static_cast<std::size_t>(at - stack_), words);
  return "";
}

std::string Registers::give_back(std::int64_t ended) {
  std::string wrong;
  for (auto& [at, lent] : lent_) {
    if (!lent.in_flight || lent.until > ended) continue;
    if (contents(at, lent.kept.size()) != std::vector<std::uint32_t>(lent.kept.size(), kLentMark))
      wrong = "registers of a wgmma are written while it is in flight";
    set(at, lent.kept);
    lent.in_flight = false;
    lent.at_fence.clear();
    lent.back = fences_;
  }
  return wrong;
}

}  // namespace twill::gpu::emulator
