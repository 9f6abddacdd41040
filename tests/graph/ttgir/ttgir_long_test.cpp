// A module of 5,000 lines is read and lowered: what comes out grows with every copy of the loop's
// body by the same ops and edges, none of which is lost or added because the module is long.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "tests/support/ttgir_files.hpp"

namespace ttgir_long_test {

using namespace twill;

namespace {

/// The attention loop with its body so many times, one after the other.
std::string long_module(std::size_t copies) {
  const std::string text = test::module_text("blackwell-attention-forward");
  const std::size_t head = text.find('\n', text.find("scf.for")) + 1;
  const std::size_t tail = text.rfind('\n', text.find("scf.yield")) + 1;
  const std::string body = text.substr(head, tail - head);
  const std::string names[] = {"m_8",   "l_9",    "s_10",   "acc_11", "q_1", "base",
                               "start", "c0_i32", "true",   "false",  "p",   "m_new",
                               "s",     "acc",    "k_desc", "v_desc"};
  std::string bodies = body;
  for (std::size_t copy = 1; copy < copies; ++copy) {
    // Values of the copy get names of their own; what comes from outside keeps its name.
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t percent = body.find('%', at);
      bodies += body.substr(at, percent - at);
      if (percent == std::string::npos) break;
      std::size_t end = percent + 1;
      while (end < body.size() &&
             (std::isalnum(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_'))
        ++end;
      const std::string name = body.substr(percent + 1, end - percent - 1);
      const bool outside = std::find(std::begin(names), std::end(names), name) != std::end(names);
      bodies += "%" + name + (outside ? "" : "_c" + std::to_string(copy));
      at = end;
    }
  }
  return text.substr(0, head) + bodies + text.substr(tail);
}

/// What a module is lowered to, by kind of op and, as "a -> b", of edge.
std::map<std::string, int> counts(std::size_t copies) {
  const std::string text = long_module(copies);
  const Kernel kernel =
      ttgir::lower_module(text, "long", builtin_machine("blackwell"), "blackwell", {}, {})
          .loop.kernel;
  std::map<std::string, int> count;
  for (const KernelOp& op : kernel.ops) ++count[op.kind];
  for (const KernelEdge& e : kernel.edges)
    ++count[kernel.ops[e.from].kind + " -> " + kernel.ops[e.to].kind];
  count["lines"] = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  count["ops"] = static_cast<int>(kernel.ops.size());
  return count;
}

}  // namespace

TEST_CASE("5,000 lines are read and lowered as one copy after the other") {
  constexpr int kCopies = 140;
  // From the third copy on each is between two others.
  std::map<std::string, int> three = counts(3), four = counts(4), many = counts(kCopies);
  CHECK(many["lines"] >= 5000);
  CHECK(many["ops"] > 2500);
  CHECK(many.size() == four.size());
  for (const auto& [what, count] : many) {
    CAPTURE(what);
    CHECK(count == four[what] + (kCopies - 4) * (four[what] - three[what]));
  }
}

}  // namespace ttgir_long_test
