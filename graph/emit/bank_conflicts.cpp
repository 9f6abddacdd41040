#include "graph/emit/bank_conflicts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "graph/index.hpp"
#include "graph/program/links.hpp"

namespace twill::emit {
namespace {

using program::Program;
using program::Storage;

constexpr int kWarpLanes = 32;
constexpr std::int64_t kBanks = 32, kWord = 4, kPiece = 16, kRow = 128;

/// Bytes of an element in shared memory; 0 = it is not of a known type.
int bytes_of(const std::string& type) {
  if (type == "f32") return 4;
  if (type == "f16" || type == "bf16") return 2;
  return type == "f8" ? 1 : 0;
}

/// Per lane, the bytes in shared memory of its registers.
using Lanes = std::array<std::vector<std::int64_t>, kWarpLanes>;

/// How many registers, a power of two, one instruction of every lane can move.
std::size_t side_by_side(const Lanes& lanes, int bytes) {
  std::size_t width = 1;
  while (width * 2 * static_cast<std::size_t>(bytes) <= kPiece &&
         lanes[0].size() % (width * 2) == 0) {
    const std::size_t wider = width * 2;
    for (const auto& lane : lanes)
      for (std::size_t r = 0; r < lane.size(); ++r) {
        const std::size_t first = r / wider * wider;
        if (lane[first] % static_cast<std::int64_t>(wider * static_cast<std::size_t>(bytes)) != 0 ||
            lane[r] != lane[first] + static_cast<std::int64_t>(r - first) * bytes)
          return width;
      }
    width = wider;
  }
  return width;
}

/// Of lanes first .. last - 1, each `bytes` bytes from its register `r` on.
std::int64_t passes(const Lanes& lanes, std::size_t r, int first, int last, std::int64_t bytes) {
  std::array<std::set<std::int64_t>, kBanks> words;
  for (int lane = first; lane < last; ++lane) {
    const std::int64_t from = lanes[at(lane)][r];
    for (std::int64_t word = from / kWord; word * kWord < from + bytes; ++word)
      words[static_cast<std::size_t>(word % kBanks)].insert(word);
  }
  std::size_t most = 0;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return static_cast<std::int64_t>(most);
}

}  // namespace

std::int64_t swizzled_byte(std::int64_t rows, std::int64_t columns, int bytes, std::int64_t row,
                           std::int64_t column) {
  std::int64_t swizzle = kRow;
  while (swizzle > kPiece && columns * bytes % swizzle != 0) swizzle /= 2;
  const std::int64_t width = std::max(swizzle, kPiece);
  if (swizzle == kPiece) return (row * columns + column) * bytes;  // no pieces to exchange
  const std::int64_t in_row = column * bytes, block = in_row / width;
  const std::int64_t pieces = width / kPiece, piece = in_row % width / kPiece;
  const std::int64_t turned = piece ^ (row / (kRow / width) % pieces);
  return (block * rows + row) * width + turned * kPiece + in_row % kPiece;
}

Wavefronts wavefronts(const RegisterTile& tile, int bytes) {
  Wavefronts all;
  for (int warp = 0; warp < tile.warps; ++warp) {
    Lanes lanes;
    for (int lane = 0; lane < kWarpLanes; ++lane)
      for (const auto& [row, column] : elements(tile, warp, lane))
        lanes[at(lane)].push_back(swizzled_byte(tile.rows, tile.columns, bytes, row, column));
    const std::size_t width = side_by_side(lanes, bytes);
    const std::int64_t moved = static_cast<std::int64_t>(width) * bytes;
    const int together = static_cast<int>(kWarpLanes / std::max<std::int64_t>(1, moved / kWord));
    for (std::size_t r = 0; r < lanes[0].size(); r += width)
      for (int first = 0; first < kWarpLanes; first += together) {
        all.taken += passes(lanes, r, first, first + together, moved);
        ++all.least;
      }
  }
  return all;
}

std::vector<HandOverAccess> hand_over_accesses(const Program& p) {
  std::vector<HandOverAccess> all;
  program::Links links;
  if (!p.meaning || program::link(p, links)) return all;
  const bool tensor_memory =
      std::any_of(p.memories.begin(), p.memories.end(),
                  [](const program::Memory& one) { return one.name == program::kTensorMemory; });
  for (const program::Channel& channel : program::channels(p)) {
    const Storage& storage = p.storages[at(channel.storage)];
    if (storage.kind != Storage::in_memory ||
        p.memories[at(storage.memory)].name != program::kBarrierMemory)
      continue;
    const meaning::Value& value = p.meaning->values[at(links.result[at(channel.producer)])];
    const int bytes = bytes_of(value.type);
    if (value.shape.size() != 2 || bytes == 0) continue;
    const auto add = [&](int op, bool writes) {
      if (p.ops[at(op)].async_proxy) return;
      const std::optional<RegisterTile> tile =
          register_tile(tensor_memory ? Target::blackwell : Target::hopper, value.shape[0],
                        value.shape[1], p.slots[at(p.ops[at(op)].slot)].width);
      if (tile) all.push_back({channel.storage, op, writes, wavefronts(*tile, bytes)});
    };
    add(channel.producer, true);
    for (const int op : channel.consumers) add(op, false);
  }
  return all;
}

std::string to_text(const Wavefronts& wavefronts) {
  if (wavefronts.taken == wavefronts.least) return "no bank conflicts";
  return "bank conflicts (" + std::to_string(wavefronts.taken) + " wavefronts, " +
         std::to_string(wavefronts.least) + " without)";
}

}  // namespace twill::emit
