// Damaged files: whatever the bytes, a reader returns or throws InputError, and what it returns is
// written and read back unchanged.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <vector>

#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"
#include "tests/support/file_samples.hpp"

namespace file_mutation_test {

using namespace twill;

namespace {

/// One to four random edits: a byte, a token, a cut, a copied or a removed piece.
std::string damaged(std::string text, std::mt19937& random) {
  static const std::vector<std::string> kTokens = {"0",
                                                   "-1",
                                                   "1e9",
                                                   "1.0",
                                                   "99999999999999999999",
                                                   "null",
                                                   "true",
                                                   "false",
                                                   "\"\"",
                                                   "{}",
                                                   "[]",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"",
                                                   "\\",
                                                   "\\u00",
                                                   "\xff",
                                                   "\u20ac",
                                                   "[[0,1,1]]",
                                                   "\n",
                                                   "2",
                                                   "1000000000",
                                                   "\"S\"",
                                                   "\"ld\"",
                                                   std::string(1, '\0')};
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size()), length = 1 + below(40);
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(below(256)); break;
      case 1: text.insert(at, kTokens[below(kTokens.size())]); break;
      case 2: text.insert(below(text.size()), text.substr(at, length)); break;
      case 3: text.erase(at, length); break;
      case 4: {  // another value for a number: these files often stay well formed
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit != text.npos) text.replace(digit, 1, kTokens[below(kTokens.size())]);
        break;
      }
      default:
        if (below(8) == 0) text.resize(at);
    }
  }
  return text;
}

struct Tally {
  int accepted = 0, refused = 0;
};

/// Runs `read_and_write` on `count` damaged versions of `text`; it returns the text written for
/// what was read.
template <class ReadAndWrite>
Tally damage(const std::string& text, int count, unsigned seed, ReadAndWrite&& read_and_write) {
  std::mt19937 random(seed);
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const std::string bytes = damaged(text, random);
    try {
      const std::string written = read_and_write(bytes);
      ++tally.accepted;
      REQUIRE_MESSAGE(read_and_write(written) == written, bytes);
    } catch (const InputError& error) {
      ++tally.refused;
      const std::string message = error.what();
      REQUIRE(!error.rule().empty());
      REQUIRE(message.find("damaged: ") == 0);
      REQUIRE_MESSAGE(message.find('\n') == message.npos, message);
      REQUIRE(valid_utf8(message));
    } catch (const std::exception& error) {
      FAIL("threw " << error.what() << " on " << quote(bytes));
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("damaged problem files") {
  const auto read_and_write = [](const std::string& bytes) {
    return problem_text(parse_problem(bytes, "damaged"));
  };
  std::vector<std::string> texts = {test::kProblemText};
  for (const auto& entry : std::filesystem::directory_iterator(TWILL_TEST_DATA "/examples"))
    if (entry.path().string().find(".problem.json") != std::string::npos)
      texts.push_back(read_file(entry.path().string()));
  REQUIRE(texts.size() == 8);
  Tally all;
  unsigned seed = 1;
  for (const std::string& text : texts) {
    const Tally tally = damage(text, 2500, seed++, read_and_write);
    all.accepted += tally.accepted;
    all.refused += tally.refused;
  }
  MESSAGE("accepted " << all.accepted << ", refused " << all.refused);
  CHECK(all.accepted > 500);
  CHECK(all.refused > 5000);
}

TEST_CASE("damaged schedule files") {
  const Problem problem = parse_problem(test::kProblemText);
  const Tally tally = damage(test::kScheduleText, 10'000, 99, [&](const std::string& bytes) {
    return schedule_text(problem, parse_schedule(problem, bytes, "damaged"));
  });
  MESSAGE("accepted " << tally.accepted << ", refused " << tally.refused);
  CHECK(tally.accepted > 250);
  CHECK(tally.refused > 2500);
}

TEST_CASE("every truncation of a problem and of a schedule file is refused") {
  const Problem problem = parse_problem(test::kProblemText);
  // The last byte is the newline after the file's value.
  for (std::size_t length = 0; length + 1 < test::kProblemText.size(); ++length)
    REQUIRE_THROWS_AS(parse_problem(test::kProblemText.substr(0, length)), InputError);
  for (std::size_t length = 0; length + 1 < test::kScheduleText.size(); ++length)
    REQUIRE_THROWS_AS(parse_schedule(problem, test::kScheduleText.substr(0, length)), InputError);
}

}  // namespace file_mutation_test
