// The meaning of the built-in kernels is right: the interpreter of loops against formulas that are
// written here by hand and know nothing of tiles, running maxima or rescaling.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "graph/lower.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/meaning/reference.hpp"

namespace reference_test {

using namespace twill;
using meaning::Meaning;
using meaning::Numbers;
using meaning::TensorTiles;

namespace {

using Matrix = std::vector<std::vector<double>>;

struct Run {
  Meaning meaning;
  TensorTiles inputs;
  std::vector<std::vector<meaning::Bounded>> outputs;
  int n = 0;

  std::size_t tensor(const std::string& name) const {
    for (std::size_t t = 0; t < meaning.tensors.size(); ++t)
      if (meaning.tensors[t].name == name) return t;
    FAIL("no tensor " << name);
    return 0;
  }
  /// All tiles below each other; a vector is one column.
  Matrix input(const std::string& name) const { return below(inputs[tensor(name)]); }
  Matrix output(const std::string& name) const {
    std::vector<Numbers> tiles;
    for (const auto& one : outputs[tensor(name)]) tiles.push_back(one.value);
    return below(tiles);
  }
  static Matrix below(const std::vector<Numbers>& tiles) {
    Matrix all;
    for (const Numbers& tile : tiles) {
      const std::size_t columns =
          tile.shape.size() == 2 ? static_cast<std::size_t>(tile.shape[1]) : 1;
      for (std::size_t k = 0; k < tile.data.size(); ++k) {
        if (k % columns == 0) all.emplace_back();
        all.back().push_back(tile.data[k]);
      }
    }
    return all;
  }
};

/// A kernel's name, behind it values of its parameters: "k a=1 b=2".
Run run(const std::string& what, int n, const std::function<void(Run&)>& change = {}) {
  Run r;
  std::istringstream words(what);
  std::string kernel, word;
  words >> kernel;
  ParameterValues values;
  while (words >> word) {
    const std::size_t middle = word.find('=');
    values.emplace_back(word.substr(0, middle), word.substr(middle + 1));
  }
  r.meaning = *meaning_of_kernel(builtin_kernel(kernel), kernel, values);
  r.n = n;
  r.inputs = meaning::seeded_inputs(r.meaning, n, 11);
  if (change) change(r);
  r.outputs = meaning::reference(r.meaning, n, r.inputs);
  return r;
}

void same(const Matrix& a, const Matrix& b, double tolerance = 1e-9) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t r = 0; r < a.size(); ++r) {
    REQUIRE(a[r].size() == b[r].size());
    for (std::size_t c = 0; c < a[r].size(); ++c) {
      if (a[r][c] == b[r][c]) continue;  // infinite, too
      const double error = std::abs(a[r][c] - b[r][c]);
      if (!(error <= worst)) worst = error;
    }
  }
  CHECK(worst <= tolerance);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

/// softmax(scale Q K^T + mask) V and the natural logarithm of the sums; no key: 0 and -inf.
std::pair<Matrix, Matrix> attention(const Matrix& q, const Matrix& k, const Matrix& v, double scale,
                                    std::size_t columns,
                                    const std::function<bool(std::size_t, std::size_t)>& sees) {
  Matrix o(q.size(), std::vector<double>(columns, 0.0)), lse(q.size());
  for (std::size_t r = 0; r < q.size(); ++r) {
    double sum = 0;
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (!sees(r, j)) continue;
      const double p = std::exp(scale * dot(q[r], k[j]));
      sum += p;
      for (std::size_t c = 0; c < columns; ++c) o[r][c] += p * v[j][c];
    }
    if (sum > 0)
      for (double& x : o[r]) x /= sum;
    lse[r].push_back(std::log(sum));
  }
  return {o, lse};
}

const auto kAll = [](std::size_t, std::size_t) { return true; };

}  // namespace

TEST_CASE("attention forward is softmax(scale Q K^T) V") {
  for (const char* const kernel :
       {"hopper-fwd-plain", "hopper-fwd-sub2", "hopper-fwd-sub2-m128", "blackwell-fwd-plain",
        "blackwell-fwd-sub2", "blackwell-fwd-sub2-chunked"})
    for (const int n : {0, 1, 3}) {
      CAPTURE(kernel);
      CAPTURE(n);
      const Run r = run(kernel, n);
      const bool sub = std::string(kernel).find("sub2") != std::string::npos;
      for (const std::string& part :
           sub ? std::vector<std::string>{"s0_", "s1_"} : std::vector<std::string>{""}) {
        const auto [o, lse] = attention(r.input(part + "Q"), r.input("K"), r.input("V"),
                                        1 / std::sqrt(128.0), 128, kAll);
        same(r.output(part + "O"), o);
        same(r.output(part + "LSE"), lse);
      }
      if (n == 0) {
        const Matrix lse = r.output(sub ? "s0_LSE" : "LSE"), o = r.output(sub ? "s1_O" : "O");
        CHECK(lse[0][0] == -std::numeric_limits<double>::infinity());
        CHECK(o[0][0] == 0);
      }
    }
}

TEST_CASE("grouped-query attention is causal by position") {
  for (const int n : {0, 1, 4, 6}) {
    const Run r = run("hopper-gqa", n);
    const auto [o, lse] =
        attention(r.input("Q"), r.input("K"), r.input("V"), 1 / std::sqrt(128.0), 128,
                  [](std::size_t row, std::size_t key) { return key <= 444 + row / 8; });
    same(r.output("O"), o);
    same(r.output("LSE"), lse);
  }
}

TEST_CASE("latent attention reads keys and values from one tile") {
  for (const int n : {0, 1, 3}) {
    const Run r = run("hopper-mla", n);
    Matrix q = r.input("Q_c"), k = r.input("C");
    const Matrix rope = r.input("Q_r"), keys = r.input("R"), values = k;
    for (std::size_t i = 0; i < q.size(); ++i)
      q[i].insert(q[i].end(), rope[i].begin(), rope[i].end());
    for (std::size_t i = 0; i < k.size(); ++i)
      k[i].insert(k[i].end(), keys[i].begin(), keys[i].end());
    const auto [o, lse] = attention(q, k, values, 1 / std::sqrt(192.0), 512, kAll);
    Matrix left = r.output("O0");
    const Matrix right = r.output("O1");
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i].insert(left[i].end(), right[i].begin(), right[i].end());
    same(left, o);
    same(r.output("LSE"), lse);
  }
}

TEST_CASE("attention backward is the derivative of softmax(scale Q K^T) V") {
  for (const char* const kernel : {"hopper-bwd", "hopper-bwd-q64", "hopper-bwd-q80",
                                   "hopper-bwd-sub2", "blackwell-bwd", "blackwell-bwd-sub2"})
    for (const int n : {0, 1, 2}) {
      CAPTURE(kernel);
      CAPTURE(n);
      const bool sub = std::string(kernel).find("sub2") != std::string::npos;
      const std::vector<std::string> parts =
          sub ? std::vector<std::string>{"s0_", "s1_"} : std::vector<std::string>{""};
      const double scale = 1 / std::sqrt(128.0);
      // The forward pass over these 128 keys alone gives LSE and Delta.
      const Run r = run(kernel, n, [&](Run& made) {
        const Matrix k = made.input("K"), v = made.input("V");
        for (const std::string& part : parts) {
          const auto [o, lse] = attention(made.input(part + "Q"), k, v, scale, 128, kAll);
          const Matrix gradient = made.input(part + "dO");
          auto &m = made.inputs[made.tensor(part + "LSE")],
               &d = made.inputs[made.tensor(part + "Delta")];
          const std::size_t rows = m.empty() ? 1 : m[0].data.size();
          for (std::size_t row = 0; row < o.size(); ++row) {
            m[row / rows].data[row % rows] = lse[row][0] / std::log(2.0);
            d[row / rows].data[row % rows] = dot(o[row], gradient[row]);
          }
        }
      });
      const Matrix k = r.input("K"), v = r.input("V");
      Matrix dk(k.size(), std::vector<double>(128, 0.0)), dv = dk;
      for (const std::string& part : parts) {
        const Matrix q = r.input(part + "Q"), gradient = r.input(part + "dO");
        const auto [o, lse] = attention(q, k, v, scale, 128, kAll);
        Matrix dq(q.size(), std::vector<double>(128, 0.0));
        for (std::size_t i = 0; i < q.size(); ++i)
          for (std::size_t j = 0; j < k.size(); ++j) {
            // d softmax: p_j (dp_j - sum of p dp), and that sum is o . do.
            const double p = std::exp(scale * dot(q[i], k[j]) - lse[i][0]);
            const double ds = p * (dot(gradient[i], v[j]) - dot(gradient[i], o[i]));
            for (std::size_t c = 0; c < 128; ++c) {
              dv[j][c] += p * gradient[i][c];
              dk[j][c] += scale * ds * q[i][c];
              dq[i][c] += ds * k[j][c];  // its factor is applied later
            }
          }
        same(r.output(part + "dQ"), dq);
      }
      same(r.output("dK"), dk);
      same(r.output("dV"), dv);
    }
}

TEST_CASE("matrix products") {
  const Run g = run("gemm", 3);
  const auto &a = g.inputs[g.tensor("A")], &b = g.inputs[g.tensor("B")];
  Matrix c(128, std::vector<double>(128, 0.0));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t r = 0; r < 128; ++r)
      for (std::size_t s = 0; s < 128; ++s)
        for (std::size_t k = 0; k < 64; ++k)
          c[r][s] += a[i].data[r * 64 + k] * b[i].data[s * 64 + k];
  same(g.output("C"), c);

  const Run f = run("hopper-grouped-gemm", 2);
  const auto &fa = f.inputs[f.tensor("A")], &fb = f.inputs[f.tensor("B")],
             &fs = f.inputs[f.tensor("S")];
  for (auto& row : c) row.assign(128, 0.0);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t r = 0; r < 128; ++r)
      for (std::size_t s = 0; s < 128; ++s)
        for (std::size_t k = 0; k < 128; ++k)
          c[r][s] += fa[i].data[r * 128 + k] * fb[i].data[s * 128 + k] * fs[i].data[r] / 128;
  same(f.output("C"), c);
}

TEST_CASE("layer norm's sums and the gated feed-forward layer") {
  const Run l = run("hopper-layer-norm", 3);
  Matrix sum(64, {0.0}), squares = sum;
  for (const Numbers& tile : l.inputs[l.tensor("X")])
    for (std::size_t k = 0; k < tile.data.size(); ++k) {
      sum[k / 256][0] += tile.data[k];
      squares[k / 256][0] += tile.data[k] * tile.data[k];
    }
  same(l.output("Sum"), sum);
  same(l.output("Squares"), squares);

  const Run m = run("hopper-mlp", 2);
  const Matrix x = m.input("X");
  Matrix y(128, std::vector<double>(128, 0.0));
  for (std::size_t i = 0; i < 2; ++i) {
    const auto &w1 = m.inputs[m.tensor("W1")][i].data, &w3 = m.inputs[m.tensor("W3")][i].data,
               &w2 = m.inputs[m.tensor("W2")][i].data;
    for (std::size_t r = 0; r < 128; ++r)
      for (std::size_t h = 0; h < 64; ++h) {
        double a = 0, b = 0;
        for (std::size_t k = 0; k < 128; ++k) {
          a += x[r][k] * w1[k * 64 + h];
          b += x[r][k] * w3[k * 64 + h];
        }
        const double unit = a / (1 + std::exp(-a)) * b;
        for (std::size_t c = 0; c < 128; ++c) y[r][c] += unit * w2[h * 128 + c];
      }
  }
  same(m.output("Y"), y);
}

TEST_CASE("retention and the delta rule by chunks") {
  const Run r = run("hopper-retnet", 3);
  Matrix state(128, std::vector<double>(64, 0.0)), o;
  const Matrix d = r.input("D"), x = r.input("X"), w = r.input("W");
  const Matrix q = r.input("Q"), k = r.input("K"), v = r.input("V");
  const auto chunk = [](const Matrix& all, std::size_t i, std::size_t row) -> const auto& {
    return all[64 * i + row];
  };
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t row = 0; row < 64; ++row) {
      o.emplace_back(64, 0.0);
      for (std::size_t c = 0; c < 64; ++c) {
        for (std::size_t h = 0; h < 128; ++h)
          o.back()[c] += x[row][0] * chunk(q, i, row)[h] * state[h][c];
        for (std::size_t j = 0; j < 64; ++j)
          o.back()[c] += d[row][j] * dot(chunk(q, i, row), chunk(k, i, j)) * chunk(v, i, j)[c];
      }
    }
    for (std::size_t h = 0; h < 128; ++h)
      for (std::size_t c = 0; c < 64; ++c) {
        state[h][c] *= 0.6;
        for (std::size_t j = 0; j < 64; ++j)
          state[h][c] += chunk(k, i, j)[h] * w[j][0] * chunk(v, i, j)[c];
      }
  }
  same(r.output("O"), o);
  same(r.output("S"), state);

  const Run t = run("hopper-deltanet", 3);
  for (auto& row : state) row.assign(64, 0.0);
  o.clear();
  const Matrix tq = t.input("Q"), tk = t.input("K"), tu = t.input("U"), tw = t.input("W");
  for (std::size_t i = 0; i < 3; ++i) {
    Matrix fresh(64, std::vector<double>(64, 0.0));
    for (std::size_t j = 0; j < 64; ++j)
      for (std::size_t c = 0; c < 64; ++c) {
        fresh[j][c] = chunk(tu, i, j)[c];
        for (std::size_t h = 0; h < 128; ++h) fresh[j][c] -= chunk(tw, i, j)[h] * state[h][c];
      }
    for (std::size_t row = 0; row < 64; ++row) {
      o.emplace_back(64, 0.0);
      for (std::size_t c = 0; c < 64; ++c) {
        for (std::size_t h = 0; h < 128; ++h) o.back()[c] += chunk(tq, i, row)[h] * state[h][c];
        for (std::size_t j = 0; j <= row; ++j)
          o.back()[c] += dot(chunk(tq, i, row), chunk(tk, i, j)) * fresh[j][c];
      }
    }
    for (std::size_t h = 0; h < 128; ++h)
      for (std::size_t c = 0; c < 64; ++c)
        for (std::size_t j = 0; j < 64; ++j) state[h][c] += chunk(tk, i, j)[h] * fresh[j][c];
  }
  same(t.output("O"), o);
  same(t.output("S"), state);
}

TEST_CASE("gated linear attention by chunks is its recurrence, position by position") {
  const Run r = run("hopper-gla", 3);
  const Matrix q = r.input("Q"), k = r.input("K"), v = r.input("V"), b = r.input("B");
  Matrix state(128, std::vector<double>(64, 0.0)), o;
  for (std::size_t t = 0; t < q.size(); ++t) {
    o.emplace_back(64, 0.0);
    for (std::size_t h = 0; h < 128; ++h) {
      // B sums the gates from the chunk's beginning on: one position's is a difference.
      const double gate = std::exp2(b[t][h] - (t % 64 == 0 ? 0 : b[t - 1][h]));
      for (std::size_t c = 0; c < 64; ++c) {
        state[h][c] = gate * state[h][c] + k[t][h] * v[t][c];
        o.back()[c] += q[t][h] * state[h][c];
      }
    }
  }
  same(r.output("O"), o);
  same(r.output("S"), state);
}

TEST_CASE("mLSTM by chunks is its recurrence, without any stabiliser") {
  for (const int n : {0, 1, 4}) {
    const Run r = run("hopper-mlstm", n);
    const Matrix q = r.input("Q"), k = r.input("K"), v = r.input("V"), g = r.input("G");
    Matrix state(128, std::vector<double>(64, 0.0)), h;
    std::vector<double> sum(128, 0.0);
    for (std::size_t t = 0; t < q.size(); ++t) {
      const double forget = std::exp2(g[t][0] - (t % 64 == 0 ? 0 : g[t - 1][0]));
      const double input = std::exp2(g[t][1]);
      std::vector<double> row(64, 0.0);
      for (std::size_t d = 0; d < 128; ++d) {
        sum[d] = forget * sum[d] + input * k[t][d];
        for (std::size_t c = 0; c < 64; ++c) {
          state[d][c] = forget * state[d][c] + input * k[t][d] * v[t][c];
          row[c] += q[t][d] * state[d][c];
        }
      }
      const double norm = std::max(std::abs(dot(sum, q[t])), 1.0);
      for (double& x : row) x /= norm;
      h.push_back(row);
    }
    same(r.output("H"), h);
    // What is carried is less by 2 to the maximum.
    const Matrix top = r.output("M"), carried = r.output("S"), sums = r.output("N");
    for (std::size_t d = 0; n > 0 && d < 128; ++d) {
      const double scale = std::exp2(top[0][0]);
      CHECK(sums[d][0] * scale == doctest::Approx(sum[d]));
      for (std::size_t c = 0; c < 64; ++c)
        if (std::abs(carried[d][c] * scale - state[d][c]) > 1e-9) FAIL("state " << d << " " << c);
    }
  }
}

TEST_CASE("kernels with parameters compute the same at any values") {
  for (const char* const values :
       {"hopper-forward-tiles", "hopper-forward-tiles rows=192 subtiles=3 keys=80 hdim=64",
        "hopper-forward-tiles rows=64 subtiles=1 keys=176 T=bf16",
        "blackwell-forward-tiles rows=128 subtiles=1 keys=96 chunk=64 hdim=64",
        "blackwell-forward-tiles rows=256 subtiles=2"}) {
    CAPTURE(values);
    const Run r = run(values, 2);
    const Matrix k = r.input("K");
    const auto hdim = k.front().size();
    int parts = 0;
    for (const auto& tensor : r.meaning.tensors) parts += tensor.name.ends_with("_Q") ? 1 : 0;
    for (int s = 0; s < parts; ++s) {
      const std::string part = "s" + std::to_string(s) + "_";
      const auto [o, lse] = attention(r.input(part + "Q"), k, r.input("V"),
                                      1 / std::sqrt(static_cast<double>(hdim)), hdim, kAll);
      same(r.output(part + "O"), o);
      same(r.output(part + "LSE"), lse);
    }
  }
  // C's parts below each other are A B^T, whatever the sub-tiles.
  for (const char* const values : {"hopper-gemm-tiles m=192 subtiles=3 n=96 k=32",
                                   "blackwell-gemm-tiles m=256 subtiles=2 n=64 k=64"}) {
    const Run r = run(values, 3);
    const auto &a = r.inputs[r.tensor("A")], &b = r.inputs[r.tensor("B")];
    const auto rows = static_cast<std::size_t>(a[0].shape[0]),
               columns = static_cast<std::size_t>(b[0].shape[0]),
               depth = static_cast<std::size_t>(a[0].shape[1]);
    Matrix c(rows, std::vector<double>(columns, 0.0)), made;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t x = 0; x < rows; ++x)
        for (std::size_t y = 0; y < columns; ++y)
          for (std::size_t z = 0; z < depth; ++z)
            c[x][y] += a[i].data[x * depth + z] * b[i].data[y * depth + z];
    for (int s = 0; made.size() < rows; ++s)
      for (const auto& row : r.output("s" + std::to_string(s) + "_C")) made.push_back(row);
    same(made, c);
  }
  // At the plain kernel's values the plain kernel's numbers, tensor by tensor.
  struct Same {
    const char *tiles, *plain;
  };
  for (const Same& one :
       {Same{"hopper-backward-tiles", "hopper-bwd"},
        Same{"blackwell-backward-tiles", "blackwell-bwd-sub2"},
        Same{"hopper-mlp-tiles", "hopper-mlp"}, Same{"hopper-retnet-tiles", "hopper-retnet"},
        Same{"hopper-grouped-gemm-tiles", "hopper-grouped-gemm"}}) {
    CAPTURE(one.tiles);
    const Run plain = run(one.plain, 2);
    const Run tiles = run(one.tiles, 2, [&](Run& made) {
      for (std::size_t t = 0; t < made.meaning.tensors.size(); ++t)
        if (!made.inputs[t].empty())
          made.inputs[t] = plain.inputs[plain.tensor(made.meaning.tensors[t].name)];
    });
    for (std::size_t t = 0; t < tiles.meaning.tensors.size(); ++t)
      if (tiles.meaning.is_output(static_cast<int>(t)))
        same(tiles.output(tiles.meaning.tensors[t].name),
             plain.output(tiles.meaning.tensors[t].name));
  }
}

TEST_CASE("what stands for -infinity is 0 in a softmax, however far it may be off") {
  // Maxima begin with it, as in many a kernel.
  Run r = run("hopper-fwd-plain", 2);
  int changed = 0;
  for (meaning::Initial& initial : r.meaning.initial)
    if (initial.what.value < 0 && std::isinf(initial.what.number)) {
      initial.what.number = -1e30;
      ++changed;
    }
  CHECK(changed == 1);
  const auto begun = meaning::reference(r.meaning, 2, r.inputs);
  const std::size_t o = r.tensor("O");
  same(Run::below({begun[o][0].value}), Run::below({r.outputs[o][0].value}), 1e-12);
  for (const double e : begun[o][0].error.data) CHECK(e < 0.1);
}

TEST_CASE("seeded inputs are the same for a seed, other for another, and of their type") {
  const Meaning m = *meaning_of_kernel(builtin_kernel("gemm"), "gemm", {});
  CHECK(meaning::seeded_inputs(m, 2, 5) == meaning::seeded_inputs(m, 2, 5));
  CHECK(meaning::seeded_inputs(m, 2, 5) != meaning::seeded_inputs(m, 2, 6));
  // More iterations bring more tiles, not others.
  CHECK(meaning::seeded_inputs(m, 3, 5)[0][1] == meaning::seeded_inputs(m, 2, 5)[0][1]);
}

TEST_CASE("a number that is none is wrong, but where the reference may have none and has none") {
  Run r = run("gemm", 1);
  std::size_t t = 0;
  while (!r.meaning.is_output(static_cast<int>(t))) ++t;
  TensorTiles outputs(r.meaning.tensors.size());
  outputs[t].push_back(r.outputs[t][0].value);
  const auto counts = [&](bool may_be_none) {
    const auto one = meaning::compare_with(r.meaning, r.outputs, outputs, may_be_none).at(0);
    return std::pair(one.wrong, one.no_number);
  };
  using Counts = std::pair<std::int64_t, std::int64_t>;
  const double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(counts(true) == Counts{0, 0});
  outputs[t][0].data[3] = none;  // in the outputs alone
  CHECK(counts(true) == Counts{1, 0});
  r.outputs[t][0].value.data[3] = none;  // in both
  CHECK(counts(true) == Counts{0, 1});
  CHECK(counts(false) == Counts{1, 0});
  outputs[t][0].data[3] = 1;  // in the reference alone
  CHECK(counts(true) == Counts{1, 0});
  // Of what may leave the range of a type nothing is known, whatever comes out.
  r.outputs[t][0].value.data[3] = 1;
  const auto unknown = [&] {
    const auto one = meaning::compare_with(r.meaning, r.outputs, outputs).at(0);
    return std::pair(one.wrong, one.unbounded);
  };
  CHECK(unknown() == Counts{0, 0});
  r.outputs[t][0].error.data[3] = std::numeric_limits<double>::infinity();
  for (const double x : {1.0, 2.0, none}) {
    outputs[t][0].data[3] = x;
    CHECK(unknown() == Counts{1, 1});
  }
  outputs[t][0].data[4] = none;  // and one that is wrong
  CHECK(unknown() == Counts{2, 1});
  outputs[t].clear();  // nothing there
  CHECK(counts(true).second == 0);
  CHECK(unknown().second == 0);
}

}  // namespace reference_test
