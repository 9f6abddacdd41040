#include "graph/program/links.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "graph/index.hpp"
#include "graph/meaning/lone_views.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::program {
namespace {

using meaning::Meaning;
using meaning::Operand;

constexpr Amount kColumnBytes = Amount{128} * 4;
constexpr double kMostLinkedSteps = 1e7;        // of periods that fill and drain, here
constexpr Amount kMostBytes = Amount{1} << 30;  // of a memory, here

class Linker {
 public:
  Linker(const Program& program, Links& links) : p_(program), m_(*program.meaning), links_(links) {}

  std::optional<std::string> run() {
    if (auto no = runners()) return no;
    lone_ = meaning::lone_views(m_, links_.runner);
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      for (const int value : links_.values[at(v)])
        for (const Operand& operand : m_.values[at(value)].operands)
          if (auto no = reach(v, operand, 0)) return no;
      if (auto no = in_place(v)) return no;
    }
    return sizes();
  }

 private:
  std::optional<std::string> runners() {
    std::map<std::string, int> op_of;
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) op_of.emplace(p_.ops[at(v)].id, v);
    links_.values.assign(p_.ops.size(), {});
    links_.result.assign(p_.ops.size(), -1);
    links_.runner.assign(m_.values.size(), -1);
    for (const int value : loop_order(m_)) {
      const meaning::Value& one = m_.values[at(value)];
      const auto found = op_of.find(one.part_of.empty() ? one.id : one.part_of);
      if (found == op_of.end()) {
        if (!one.part_of.empty()) return one.id + " is part of " + one.part_of + ", no op";
        // (A number is loaded by every slot that uses it.)
        if ((one.function == meaning::Function::load && !one.shape.empty()) ||
            one.function == meaning::Function::store)
          return one.id + " moves a tile and is no op of the program";
        continue;
      }
      links_.runner[at(value)] = found->second;
      links_.values[at(found->second)].push_back(value);
      // (Of a chunk all are parts, and the last one is the result.)
      int& result = links_.result[at(found->second)];
      if (result < 0 || !m_.values[at(result)].part_of.empty()) result = value;
    }
    for (std::size_t v = 0; v < p_.ops.size(); ++v)
      if (links_.result[v] < 0) return "nothing says what " + p_.ops[v].id + " computes";
    return std::nullopt;
  }

  /// Is what op v uses in storages that it reads? Through views, whose distances are summed.
  std::optional<std::string> reach(int v, const Operand& operand, int distance) {
    if (operand.value < 0 || !m_.in_loop(operand.value) || lone_[at(operand.value)])
      return std::nullopt;
    const int sum = distance + operand.distance, from = links_.runner[at(operand.value)];
    const std::string& name = m_.values[at(operand.value)].id;
    if (from == v && sum == 0) {
      const auto& chain = links_.values[at(v)];
      return chain.size() > 1 ? std::nullopt
                              : std::optional(p_.ops[at(v)].id + " uses its own result");
    }
    if (from < 0) {
      if (sum > kMaxDistance || !seen_.insert({v, operand.value, sum}).second) return std::nullopt;
      for (const Operand& next : m_.values[at(operand.value)].operands)
        if (auto no = reach(v, next, sum)) return no;
      return std::nullopt;
    }
    if (links_.result[at(from)] != operand.value)
      return p_.ops[at(v)].id + " uses " + name + ", which is within " + p_.ops[at(from)].id;
    if (storages_read(p_, v, from, sum).empty())
      return p_.ops[at(v)].id + " uses " + name + " of " + std::to_string(sum) +
             " iterations before, and reads no storage of it";
    return std::nullopt;
  }

  /// An MMA may write over what it adds to and over nothing else; in tensor memory it does.
  std::optional<std::string> in_place(int v) const {
    const Op& op = p_.ops[at(v)];
    const meaning::Value& value = m_.values[at(links_.result[at(v)])];
    if (value.function != meaning::Function::product ||
        std::any_of(links_.values[at(v)].begin(), links_.values[at(v)].end(), [&](int one) {
          return one != links_.result[at(v)] &&
                 m_.values[at(one)].function != meaning::Function::copy;
        }))
      return std::nullopt;
    std::vector<int> added;
    int distance = 0;
    if (value.operands.size() == 3 && value.operands[2].value >= 0) {
      const Operand& c = value.operands[2];
      const int from = m_.in_loop(c.value) ? links_.runner[at(c.value)] : -1;
      // (A view, or from before the loop, or of its own chain.)
      if (from < 0 || (from == v && c.distance == 0)) return std::nullopt;
      distance = c.distance;
      added = storages_read(p_, v, from, distance);
    }
    for (const int s : op.in_place)
      if (std::find(added.begin(), added.end(), s) == added.end())
        return op.id + " is said to write over " + p_.storages[at(s)].name +
               ", which it does not add to";
    for (const int s : added)
      for (const int t : op.writes) {
        const Storage &from = p_.storages[at(s)], &to = p_.storages[at(t)];
        const auto tensor = [&](const Storage& storage) {
          return storage.kind == Storage::in_memory &&
                 p_.memories[at(storage.memory)].name == kTensorMemory;
        };
        if (tensor(from) && tensor(to) &&
            (from.memory != to.memory || from.base != to.base || from.size != to.size ||
             from.depth != to.depth || distance % to.depth != 0))
          return op.id + " adds to " + from.name + ", which is not where its result " + to.name +
                 " lies";
      }
    return std::nullopt;
  }

  std::optional<std::string> sizes() const {
    if (static_cast<double>(stage_count(p_)) * static_cast<double>(p_.ops.size()) >
        kMostLinkedSteps)
      return "its stages are too many to be executed";
    for (std::size_t v = 0; v < p_.ops.size(); ++v) {
      const meaning::Value& value = m_.values[at(links_.result[v])];
      const Amount bytes = meaning::elements(value.shape) * meaning::number_type(value.type)->bytes;
      for (const int s : p_.ops[v].writes) {
        const Storage& storage = p_.storages[at(s)];
        if (storage.kind != Storage::in_memory) continue;
        if (bytes_of(p_, storage) < bytes)
          return storage.name + " has " + std::to_string(bytes_of(p_, storage)) +
                 " bytes, what lies there " + std::to_string(bytes);
        const Amount step =
            (storage.size + storage.alignment - 1) / storage.alignment * storage.alignment;
        if (storage.base > kMostBytes / kColumnBytes ||
            step > kMostBytes / kColumnBytes / storage.depth)
          return storage.name + " is too large to be executed";
      }
    }
    return std::nullopt;
  }

  const Program& p_;
  const Meaning& m_;
  Links& links_;
  std::vector<bool> lone_;
  std::set<std::tuple<int, int, int>> seen_;
};

}  // namespace

std::vector<int> storages_read(const Program& program, int op, int from, int distance) {
  std::vector<int> all;
  const std::vector<int>& writes = program.ops[at(from)].writes;
  for (const Read& read : program.ops[at(op)].reads)
    if (read.distance == distance &&
        std::find(writes.begin(), writes.end(), read.storage) != writes.end())
      all.push_back(read.storage);
  return all;
}

Amount bytes_of(const Program& program, const Storage& storage) {
  return storage.size *
         (program.memories[at(storage.memory)].name == kTensorMemory ? kColumnBytes : Amount{1});
}

std::optional<std::string> link(const Program& program, Links& links) {
  links = {};
  if (!program.meaning) return "it does not say what its ops compute";
  return Linker(program, links).run();
}

}  // namespace twill::program
