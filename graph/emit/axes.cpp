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
    if (auto no = not_written()) return *no;
    for (int v = 0; v < static_cast<int>(m_.values.size()); ++v) value(v);
    for (const meaning::Initial& one : m_.initial)
      if (one.what.value >= 0) same(one.value, one.what, false);
    merge_parts();
    find_loop();
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

  /// What no text has code for yet.
  std::optional<Refusal> not_written() const {
    std::set<std::string> names;
    for (const meaning::Value& value : m_.values) names.insert(value.id);
    for (const meaning::Value& value : m_.values) {
      const auto no = [&](const std::string& what) { return Refusal{"op", value.id + " " + what}; };
      if (names.contains(value.part_of)) return no("is a step of " + value.part_of);
      if (value.function == Function::beside) return no("makes a matrix of vectors");
      if (value.function == Function::lower && value.operands.size() == 2)
        return no("has something else than 0 above the diagonal");
      if (meaning::reduces_rows(value.function) && value.shape.empty())
        return no("reduces a vector");
      for (const Operand& one : value.operands) {
        if (one.value < 0) continue;
        const meaning::Value& of = m_.values[at(one.value)];
        if (one.rows > 0 && (one.first_row > 0 || one.rows < of.shape[0]))
          return no("takes a part of the rows of " + of.id);
        if (one.row < 0 && one.column < 0) continue;
        if (!picks_row(value, one)) return no("takes one row or column of " + of.id);
      }
    }
    return std::nullopt;
  }

  /// A row of a tile of the loop, element by element: the one pick that a text has.
  bool picks_row(const meaning::Value& value, const Operand& one) const {
    const bool looped = m_.in_loop(static_cast<int>(&value - m_.values.data()));
    return looped && m_.in_loop(one.value) && one.row >= 0 && one.column < 0 && one.columns == 0 &&
           one.rows == 0 && !one.transposed && value.shape.size() == 1 && !one.along_columns &&
           meaning::is_elementwise(value.function);
  }

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
    } else if (one.row >= 0 && given == 2 && rank == 1) {
      unite(node(v, 0), node(one.value, 1));
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
        // (Of a part of a tile's columns are all there, in one block of the grid.)
        if (in[1].columns > 0 && !in[1].transposed) {
          uncut_.push_back(node(v, 1));
          uncut_.push_back(node(in[1].value, 1));
        }
        if (seen(in[0], 1) >= 0 && seen(in[1], 0) >= 0) unite(seen(in[0], 1), seen(in[1], 0));
        // (What is stored as it is may be summed over blocks by adding.)
        if (in.size() == 3 || !only_stored(v, 0))
          for (const int one : {seen(in[0], 1), seen(in[1], 0)})
            if (one >= 0) summed_.push_back(one);
        if (in.size() == 3 && in[2].value >= 0) same(v, in[2], false);
        break;
      case Function::row_max:
      case Function::row_min:
      case Function::row_product:
      case Function::row_sum:
        if (seen(in[0], 0) >= 0) unite(node(v, 0), seen(in[0], 0));
        if (seen(in[0], 1) >= 0) summed_.push_back(seen(in[0], 1));
        break;
      default:
        for (const Operand& one : in)
          if (one.value >= 0) same(v, one, true);
    }
  }

  /// Is a value used for nothing but stores of f32, one an iteration, perhaps through copies?
  bool only_stored(int v, int steps) const {
    bool some = false;
    for (int u = m_.loop_begin; u < static_cast<int>(m_.values.size()); ++u)
      for (const Operand& one : m_.values[at(u)].operands) {
        if (one.value != v) continue;
        const meaning::Value& user = m_.values[at(u)];
        some = true;
        if (!m_.in_loop(u) || user.type != "f32" || one.columns > 0 || one.transposed) return false;
        if (user.function == Function::store && one.distance == 0) continue;
        if (user.function != Function::copy || steps > 20 || !only_stored(u, steps + 1))
          return false;
      }
    return some;
  }

  /// s0_X, s1_X, ... of one shape and type, all of them with a tile an iteration or none: parts of
  /// X.
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
        if (tensor.name.starts_with("s0_")) {
          const std::string name = tensor.name.substr(3);
          for (int k = 1;; ++k) {
            const int part = find("s" + std::to_string(k) + "_" + name);
            if (part < 0 || m_.tensors[at(part)].shape != tensor.shape ||
                m_.tensors[at(part)].type != tensor.type || m_.is_output(part) != output ||
                m_.streams(part) != m_.streams(t))
              break;
            host.parts.push_back(part);
          }
          if ((host.parts.size() > 1 || find("s1_" + name) < 0) && find(name) < 0)
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

  bool is_vector(const HostTensor& host) const {
    return m_.tensors[at(host.parts.front())].shape.size() == 1;
  }
  bool some_matrix() const {
    return std::any_of(axes_.tensors.begin(), axes_.tensors.end(), [&](const HostTensor& host) {
      return m_.streams(host.parts.front()) && !is_vector(host);
    });
  }

  /// Roots of the axes along which tiles follow each other.
  void find_loop() {
    std::optional<std::set<int>> common;
    const auto roots = [&](const HostTensor& host) {
      std::set<int> all;
      const int t = host.parts.front();
      for (int d = 0; d < static_cast<int>(m_.tensors[at(t)].shape.size()); ++d)
        all.insert(root(tensor_node(t, d)));
      return all;
    };
    for (const HostTensor& host : axes_.tensors) {
      if (!m_.streams(host.parts.front()) || (some_matrix() && is_vector(host))) continue;
      std::set<int> now;
      for (const int one : roots(host))
        if (!common || common->contains(one)) now.insert(one);
      common = now;
    }
    if (!common) return;
    for (const HostTensor& host : axes_.tensors)
      if (!m_.streams(host.parts.front()))
        for (const int one : roots(host)) common->erase(one);
    if (common->size() == 1) {
      loop_ = *common;
      for (const HostTensor& host : axes_.tensors)
        if (m_.streams(host.parts.front()) && is_vector(host) &&
            !loop_.contains(root(tensor_node(host.parts.front(), 0))))
          stepped_.insert(host.parts.front());
      return;
    }
    for (const HostTensor& host : axes_.tensors)
      if (m_.streams(host.parts.front())) loop_.insert(root(tensor_node(host.parts.front(), 0)));
  }

  std::optional<Refusal> number_axes() {
    std::map<std::pair<int, int>, int> axis_of;
    for (HostTensor& host : axes_.tensors) {
      const meaning::Tensor& tensor = m_.tensors[at(host.parts.front())];
      for (int d = 0; d < static_cast<int>(tensor.shape.size()); ++d) {
        const int node_root = root(tensor_node(host.parts.front(), d));
        // (Of a tensor with one tile alone it is an axis by itself.)
        const bool alone = loop_.contains(node_root) && !m_.streams(host.parts.front());
        const auto [found, first] = axis_of.try_emplace({node_root, alone ? 1 + d : 0},
                                                        static_cast<int>(axes_.axes.size()));
        const std::int64_t tile =
            tensor.shape[at(d)] * (d == 0 ? static_cast<std::int64_t>(host.parts.size()) : 1);
        if (first) axes_.axes.push_back({alone ? Axis::whole : Axis::block, tile});
        if (first && loop_.contains(node_root) && !alone) loops_.insert(found->second);
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
    for (HostTensor& host : axes_.tensors) {
      if (!stepped_.contains(host.parts.front())) continue;
      if (host.parts.size() > 1)
        return Refusal{"tensors", "vectors of " + host.name + " have parts in every iteration"};
      if (steps_ < 0) {
        steps_ = static_cast<int>(axes_.axes.size());
        axes_.axes.push_back({Axis::loop, 1});
      }
      host.steps = steps_;
    }
    summed_.insert(summed_.end(), uncut_.begin(), uncut_.end());
    for (const int one : summed_)
      if (const auto found = axis_of.find({root(one), 0}); found != axis_of.end())
        axes_.axes[at(found->second)].kind = Axis::whole;
    return std::nullopt;
  }

  std::optional<Refusal> kinds() {
    if (loops_.empty()) return Refusal{"tensors", "no tensor has a tile an iteration"};
    for (const HostTensor& host : axes_.tensors)
      if (m_.streams(host.parts.front()) && host.steps < 0 &&
          std::count_if(host.axes.begin(), host.axes.end(),
                        [&](int axis) { return loops_.contains(axis); }) != 1)
        return Refusal{"tensors",
                       "no one axis is common to the tensors with a tile an iteration and "
                       "to no other, and tiles of " +
                           host.name +
                           " cannot follow each other along rows: how they lie in memory is not "
                           "known"};
    for (const int axis : loops_) axes_.axes[at(axis)].kind = Axis::loop;
    for (int a = 0; a < static_cast<int>(axes_.axes.size()); ++a)
      if (axes_.axes[at(a)].kind == Axis::block) axes_.blocks.push_back(a);
    if (axes_.blocks.size() > 2)
      return Refusal{"tensors", std::to_string(axes_.blocks.size()) +
                                    " axes are cut into blocks; the grid has room for two"};
    for (HostTensor& host : axes_.tensors)
      for (const int block : axes_.blocks)
        if (host.output && m_.streams(host.parts.front()) &&
            std::find(host.axes.begin(), host.axes.end(), block) == host.axes.end())
          host.added = true;
    for (const HostTensor& host : axes_.tensors)
      if (host.added && host.type != "f32")
        return Refusal{"tensors", "tiles of " + host.name +
                                      " are stored by several programs of the grid, which would "
                                      "have to add them in f32"};
    return std::nullopt;
  }

  const Meaning& m_;
  Axes axes_;
  std::vector<int> parent_, summed_;
  std::vector<int> uncut_;  ///< nodes of axes of which parts are taken
  std::set<int> loop_;      ///< roots of axes along which tiles follow each other
  std::set<int> loops_;     ///< those axes
  std::set<int> stepped_;   ///< tensors of which an iteration takes a vector
  int steps_ = -1;          ///< their axis
};

}  // namespace

std::variant<Axes, Refusal> tensor_axes(const Meaning& meaning) {
  return Unifier(meaning).run();
}

}  // namespace twill::emit
