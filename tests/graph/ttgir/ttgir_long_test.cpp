// A module of 5,000 lines is read and lowered; how long it takes is said, not judged: the machine
// may be busy.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string>

#include "tests/support/ttgir_files.hpp"

using namespace twill;

namespace {

/// One loop of `count` iterations of the attention loop's body, one after the other.
std::string long_module(std::size_t lines) {
  const std::string text = test::module_text("blackwell-attention-forward");
  const std::size_t head = text.find('\n', text.find("scf.for")) + 1;
  const std::size_t tail = text.rfind('\n', text.find("scf.yield")) + 1;
  const std::string body = text.substr(head, tail - head);
  const std::string names[] = {"m_8",   "l_9",    "s_10",   "acc_11", "q_1", "base",
                               "start", "c0_i32", "true",   "false",  "p",   "m_new",
                               "s",     "acc",    "k_desc", "v_desc"};
  const std::size_t each = static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n'));
  std::string bodies = body;
  for (std::size_t copy = 1; copy * each < lines; ++copy) {
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

}  // namespace

TEST_CASE("5,000 lines are read and lowered") {
  const std::string text = long_module(5000);
  CHECK(std::count(text.begin(), text.end(), '\n') >= 5000);
  const std::string machine = builtin_machine("blackwell");
  double best = 1e9;
  std::size_t ops = 0;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t begin = std::clock();
    const auto lowered = ttgir::lower_module(text, "long", machine, "blackwell", {}, {});
    best = std::min(best, 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    ops = lowered.loop.kernel.ops.size();
  }
  MESSAGE(best << " ms of processor time, " << ops << " nodes");
  CHECK(ops > 2500);
}
