#include "graph/emit/axes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Meaning;
using meaning::Operand;
using program::Refusal;

class Unifier {
 public:
  explicit Unifier(const Meaning& meaning) : m_(meaning) {
    parent_.resize(2 * (m_.values.size() + m_.tensors.size()));
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  std::variant<Axes, Refusal> run() {
    for (int v = 0; v < static_cast<int>(m_.values.size()); ++v) value(v);
    for (const meaning::Initial& one : m_.initial)
      if (one.what.value >= 0) same(one.value, one.what, false);
    merge_parts();
    if (auto no = number_axes()) return *no;
    if (auto no = kinds()) return *no;
    return std::move(axes_);
  }

 private:
  int node(int v, int d) const { return 2 * v + d; }
  int tensor_node(int t, int d) const { return 2 * (static_cast<int>(m_.values.size()) + t) + d; }
  int root(int k) {
    while (parent_[at(k)] != k) k = parent_[at(k)] = parent_[at(parent_[at(k)])];
    return k;
  }
  void unite(int a, int b) { parent_[at(root(a))] = root(b); }

  /// Dimension d of an operand; -1 = a part of one, which is no whole axis.
  int seen(const Operand& one, int d) const {
    const int shown = one.transposed ? 1 - d : d;
    if (one.columns > 0 && shown == 1) return -1;
    return node(one.value, shown);
  }
  void same(int v, const Operand& one, bool broadcast) {
    const std::size_t rank = m_.values[at(v)].shape.size();
    const std::size_t given = m_.values[at(one.value)].shape.size();
    if (given == rank) {
      for (int d = 0; d < static_cast<int>(rank); ++d)
        if (seen(one, d) >= 0) unite(node(v, d), seen(one, d));
    } else if (broadcast && given == 1 && rank == 2) {
      unite(node(v, one.along_columns ? 1 : 0), node(one.value, 0));
    }
  }

  void value(int v) {
    const meaning::Value& value = m_.values[at(v)];
    const std::vector<Operand>& in = value.operands;
    if (value.tensor >= 0)
      for (int d = 0; d < static_cast<int>(value.shape.size()); ++d)
        unite(node(v, d), tensor_node(value.tensor, d));
    switch (value.function) {
      case Function::load: break;
      case Function::transpose:
        if (in[0].value >= 0)
          for (int d = 0; d < 2; ++d)
            if (seen(in[0], 1 - d) >= 0) unite(node(v, d), seen(in[0], 1 - d));
        break;
      case Function::product:
        if (seen(in[0], 0) >= 0) unite(node(v, 0), seen(in[0], 0));
        if (seen(in[1], 1) >= 0) unite(node(v, 1), seen(in[1], 1));
        if (seen(in[0], 1) >= 0 && seen(in[1], 0) >= 0) unite(seen(in[0], 1), seen(in[1], 0));
        for (const int one : {seen(in[0], 1), seen(in[1], 0)})
          if (one >= 0) summed_.push_back(one);
        if (in.size() == 3 && in[2].value >= 0) same(v, in[2], false);
        break;
      case Function::row_max:
      case Function::row_sum:
        if (seen(in[0], 0) >= 0) unite(node(v, 0), seen(in[0], 0));
        if (seen(in[0], 1) >= 0) summed_.push_back(seen(in[0], 1));
        break;
      default:
        for (const Operand& one : in)
          if (one.value >= 0) same(v, one, true);
    }
  }

  /// s0_X, s1_X, ... of one shape and type, all outside the loop: parts of X.
  void merge_parts() {
    const int count = static_cast<int>(m_.tensors.size());
    axes_.tensor_of.assign(m_.tensors.size(), -1);
    axes_.part_of.assign(m_.tensors.size(), 0);
    const auto find = [&](const std::string& name) {
      for (int t = 0; t < count; ++t)
        if (m_.tensors[at(t)].name == name) return t;
      return -1;
    };
    for (const bool output : {false, true})
      for (int t = 0; t < count; ++t) {
        const meaning::Tensor& tensor = m_.tensors[at(t)];
        if (axes_.tensor_of[at(t)] >= 0 || m_.is_output(t) != output) continue;
        HostTensor host{tensor.name, {t}, {}, tensor.type, output};
        if (tensor.name.starts_with("s0_") && !m_.streams(t)) {
          const std::string name = tensor.name.substr(3);
          for (int k = 1;; ++k) {
            const int part = find("s" + std::to_string(k) + "_" + name);
            if (part < 0 || m_.tensors[at(part)].shape != tensor.shape ||
                m_.tensors[at(part)].type != tensor.type || m_.is_output(part) != output ||
                m_.streams(part))
              break;
            host.parts.push_back(part);
          }
          if (host.parts.size() > 1 && find(name) < 0)
            host.name = name;
          else
            host.parts.resize(1);
        }
        for (std::size_t k = 0; k < host.parts.size(); ++k) {
          axes_.tensor_of[at(host.parts[k])] = static_cast<int>(axes_.tensors.size());
          axes_.part_of[at(host.parts[k])] = static_cast<int>(k);
          for (int d = 0; k > 0 && d < static_cast<int>(tensor.shape.size()); ++d)
            unite(tensor_node(host.parts[k], d), tensor_node(host.parts[0], d));
        }
        axes_.tensors.push_back(std::move(host));
      }
  }

  std::optional<Refusal> number_axes() {
    std::map<int, int> axis_of;
    for (HostTensor& host : axes_.tensors) {
      const meaning::Tensor& tensor = m_.tensors[at(host.parts.front())];
      for (int d = 0; d < static_cast<int>(tensor.shape.size()); ++d) {
        const auto [found, first] = axis_of.try_emplace(root(tensor_node(host.parts.front(), d)),
                                                        static_cast<int>(axes_.axes.size()));
        const std::int64_t tile =
            tensor.shape[at(d)] * (d == 0 ? static_cast<std::int64_t>(host.parts.size()) : 1);
        if (first) axes_.axes.push_back({Axis::block, tile});
        if (axes_.axes[at(found->second)].tile != tile)
          return Refusal{"tensors", "tensor " + host.name + " has tiles of " +
                                        std::to_string(tile) +
                                        " along an axis of which another has " +
                                        std::to_string(axes_.axes[at(found->second)].tile)};
        if (std::find(host.axes.begin(), host.axes.end(), found->second) != host.axes.end())
          return Refusal{"tensors", "both dimensions of tensor " + host.name + " are one axis"};
        host.axes.push_back(found->second);
      }
    }
    for (const int one : summed_)
      if (const auto found = axis_of.find(root(one)); found != axis_of.end())
        axes_.axes[at(found->second)].kind = Axis::whole;
    return std::nullopt;
  }

  std::optional<Refusal> kinds() {
    std::optional<std::set<int>> common;
    for (const HostTensor& host : axes_.tensors) {
      if (!m_.streams(host.parts.front())) continue;
      std::set<int> now;
      for (const int axis : host.axes)
        if (!common || common->contains(axis)) now.insert(axis);
      common = now;
    }
    if (!common) return Refusal{"tensors", "no tensor has a tile an iteration"};
    for (const HostTensor& host : axes_.tensors)
      if (!m_.streams(host.parts.front()))
        for (const int axis : host.axes) common->erase(axis);
    if (common->size() != 1)
      return Refusal{"tensors",
                     "no one axis is common to the tensors with a tile an iteration and "
                     "to no other: how their tiles lie in memory is not known"};
    axes_.axes[at(*common->begin())].kind = Axis::loop;
    for (int a = 0; a < static_cast<int>(axes_.axes.size()); ++a)
      if (axes_.axes[at(a)].kind == Axis::block) axes_.blocks.push_back(a);
    if (axes_.blocks.size() > 2)
      return Refusal{"tensors", std::to_string(axes_.blocks.size()) +
                                    " axes are cut into blocks; the grid has room for two"};
    return std::nullopt;
  }

  const Meaning& m_;
  Axes axes_;
  std::vector<int> parent_, summed_;
};

}  // namespace

std::variant<Axes, Refusal> tensor_axes(const Meaning& meaning) {
  return Unifier(meaning).run();
}

}  // namespace twill::emit
