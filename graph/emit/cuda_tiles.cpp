#include "graph/emit/cuda_tiles.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "graph/emit/limits.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Storage;

constexpr int kMostBoxRows = 256;
constexpr int kLanes = 128;  // of tensor memory

[[noreturn]] void refuse_tile(const std::string& rule, const std::string& text) {
  throw program::Refusal{rule, text};
}

class CudaTiles {
 public:
  explicit CudaTiles(const CudaPlan& cuda) : c_(cuda) {}

  void check() const {
    const Plan& plan = c_.plan;
    for (const HostTensor& host : plan.axes.tensors)
      if (host.steps >= 0 && (c_.blackwell() || host.output))
        refuse_tile("tensors",
                    harmless(host.name) + " has a vector an iteration along an axis of its own");
    for (const auto& [v, one] : plan.resident) copied(one.name, one.shape, one.type);
    for (const auto& [v, one] : plan.staging) {
      if (one.type == "f8") refuse_tile("type", one.name + " is of type f8 on its way out");
      copied(one.name, one.shape, one.type);
      if (one.shape[0] % 64 != 0) refuse_tile("storage", one.name + " has rows that are not by 64");
    }
    for (int op = 0; op < static_cast<int>(p().ops.size()); ++op) {
      for (const int s : p().ops[at(op)].writes)
        if (p().storages[at(s)].kind == Storage::in_memory) written(op, s);
      if (!c_.narrow(p().ops[at(op)].slot) && !plan.legal.read_again[at(op)])
        for (const int v : plan.links.values[at(op)]) rows(v, p().ops[at(op)].slot);
    }
    for (int v = m().after_begin; v < static_cast<int>(m().values.size()); ++v)
      if (plan.after_slot[at(v)] >= 0) rows(v, plan.after_slot[at(v)]);
  }

 private:
  const program::Program& p() const { return *c_.plan.given; }
  const meaning::Meaning& m() const { return *c_.plan.meaning; }

  /// A tile that TMA copies, in swizzled panels of 128 bytes a row; on Blackwell those of 16-bit
  /// elements alone.
  void copied(const std::string& what, const std::vector<std::int64_t>& shape,
              const std::string& type) const {
    const bool half = !element_type(type).empty();
    if (!half && (c_.blackwell() || (type != "f32" && type != "f8")))
      refuse_tile("type",
                  what + " is of type " + harmless(type) + " in shared memory: must be 16-bit");
    constexpr Amount kPanelBytes = 128;
    const Amount columns = kPanelBytes / meaning::number_type(type)->bytes;
    if (shape.size() != 2 || shape[1] % columns != 0 || shape[0] % 8 != 0 ||
        shape[0] > kMostBoxRows)
      refuse_tile("storage", what + " must be a matrix of columns by " + std::to_string(columns) +
                                 ", rows by 8 and at most 256 rows");
  }

  /// What an op writes to memory.
  void written(int op, int storage) const {
    const Value& value = m().values[at(c_.plan.links.result[at(op)])];
    const bool loaded = value.function == Function::load;
    if (c_.plan.on_tmem(p().storages[at(storage)])) {
      lanes(value, c_.plan.legal.program.storages[at(storage)]);
    } else if (loaded && value.shape.size() == 1) {
      if (value.type != "f32" || value.shape[0] % 4 != 0)
        refuse_tile("storage", harmless(value.id) + " must be a vector of f32 by four elements");
    } else if (loaded || !element_type(value.type).empty()) {
      copied(harmless(value.id), value.shape, value.type);
    } else if (value.type != "f32" || value.shape.empty()) {
      refuse_tile("storage",
                  harmless(value.id) +
                      " is a number or of another type than f32, f16 and bf16 in shared memory");
    }
  }

  /// A tile in tensor memory: a row a lane, its columns without gaps.
  static void lanes(const Value& value, const Storage& storage) {
    const int bytes = meaning::number_type(value.type)->bytes;
    // (Of the result of a product of 64 rows each warp has 16.)
    const bool half = value.shape.size() == 2 && value.shape[0] == kLanes / 2 &&
                      value.function == Function::product;
    if (value.shape.size() != 2 || (value.shape[0] != kLanes && !half) ||
        value.shape[1] % 16 != 0 || (value.type != "f32" && element_type(value.type).empty()) ||
        value.shape[1] * bytes != storage.size * 4)
      refuse_tile("storage",
                  harmless(value.id) +
                      " does not fill its columns of tensor memory as a tile of 128 rows of "
                      "f32, f16 or bf16, columns by 16");
    if (storage.depth > 1 && storage.size % storage.alignment != 0)
      refuse_tile("storage", harmless(value.id) + " has gaps between its copies in tensor memory");
  }

  /// Is it, or a copy of it, the result of a product of 64 rows on Blackwell that only leaves again
  /// by a bulk addition? Nothing else knows where such rows lie.
  bool half_rows(int v) const {
    const Value& value = m().values[at(v)];
    if (value.shape.size() != 2 || value.shape[0] != kLanes / 2 || value.type != "f32" ||
        !m().in_loop(v) ||
        (value.function != Function::copy && value.function != Function::product))
      return false;
    if (value.function == Function::copy &&
        (value.operands[0].value < 0 || value.operands[0].transposed ||
         value.operands[0].is_part() || !half_rows(value.operands[0].value)))
      return false;
    const auto& all = m().values;
    for (int u = 0; u < static_cast<int>(all.size()); ++u)
      for (const Operand& one : all[at(u)].operands)
        if (one.value == v && (!m().in_loop(u) || (all[at(u)].function != Function::copy &&
                                                   all[at(u)].function != Function::store)))
          return false;
    return true;
  }

  /// A tile or a vector that a slot's threads have in registers.
  void rows(int v, int slot) const {
    const Value& value = m().values[at(v)];
    if (c_.blackwell()) {
      if (!value.shape.empty() && value.shape[0] != kLanes && !half_rows(v))
        refuse_tile("op", harmless(value.id) + " has " + std::to_string(value.shape[0]) +
                              " rows: tensor memory has 128 lanes, a row each");
      const int shares = slot == c_.plan.finish_slot() ? 1 : c_.shares(slot);
      if (shares > 1 && value.shape.size() == 1)
        refuse_tile("op", "the vector " + harmless(value.id) + " is on a slot of " +
                              std::to_string(shares) + " warpgroups, which share out columns");
      if (value.shape.size() == 2 && value.shape[1] % (std::int64_t{16} * shares) != 0)
        refuse_tile("op", harmless(value.id) + " has " + std::to_string(value.shape[1]) +
                              " columns: each of " + std::to_string(shares) +
                              " warpgroups has as many, by 16");
      return;
    }
    const int across = c_.shares(slot, value);
    if (across > 1 && value.shape[0] % 64 == 0) {
      if (across != c_.warpgroups(slot) || value.shape[1] % (std::int64_t{64} * across) != 0)
        refuse_tile("op",
                    harmless(value.id) + " is " + std::to_string(value.shape[0]) + " x " +
                        std::to_string(value.shape[1]) + " on " +
                        std::to_string(c_.warpgroups(slot)) +
                        " warpgroups: those that share out columns get a multiple of 64 each");
      return;
    }
    if (!value.shape.empty() && value.shape[0] % (std::int64_t{64} * c_.warpgroups(slot)) != 0)
      refuse_tile("op", harmless(value.id) + " has " + std::to_string(value.shape[0]) +
                            " rows on " + std::to_string(c_.warpgroups(slot)) +
                            " warpgroups: each computes blocks of 64");
  }

  const CudaPlan& c_;
};

}  // namespace

void check_cuda_tiles(const CudaPlan& cuda) {
  CudaTiles(cuda).check();
}

}  // namespace twill::emit
