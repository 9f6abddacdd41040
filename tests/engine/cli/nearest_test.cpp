// Words that were mistyped: the number of edits against a search of all words, the choice of names.
#include "engine/cli/nearest.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/support/random_loop.hpp"

namespace nearest_test {

using namespace twill::cli;
using twill::test::Random;

namespace {

/// All words over "ab" and "c" that one edit of `word` makes.
std::set<std::string> one_edit(const std::string& word) {
  std::set<std::string> all;
  for (std::size_t i = 0; i <= word.size(); ++i)
    for (const char c : {'a', 'b', 'c'}) {
      all.insert(word.substr(0, i) + c + word.substr(i));
      if (i < word.size()) all.insert(word.substr(0, i) + c + word.substr(i + 1));
    }
  for (std::size_t i = 0; i < word.size(); ++i) {
    all.insert(word.substr(0, i) + word.substr(i + 1));
    if (i + 1 < word.size()) {
      std::string swapped = word;
      std::swap(swapped[i], swapped[i + 1]);
      all.insert(swapped);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("edits are what a search finds") {
  Random random(5);
  int swaps = 0;
  for (int n = 0; n < 60; ++n) {
    std::string word;
    for (auto letters = random.range(0, 4); letters > 0; --letters)
      word += static_cast<char>('a' + random.range(0, 2));
    // Words at one edit are at distance 1, those at two at no more than 2. (No part is edited
    // twice, so a few of these are at distance 2 by this count and at 3 by no other.)
    CHECK(edits(word, word) == 0);
    const std::set<std::string> near = one_edit(word);
    for (const std::string& one : near) {
      CHECK(edits(word, one) == (one == word ? 0U : 1U));
      CHECK(edits(one, word) == edits(word, one));
      for (const std::string& two : one_edit(one)) {
        const std::size_t count = edits(word, two);
        if (two == word)
          CHECK(count == 0);
        else if (near.contains(two))
          CHECK(count == 1);
        else
          CHECK((count == 2 || count == 3));
        swaps += count == 3 ? 1 : 0;
      }
    }
  }
  CHECK(swaps > 0);  // "ca" -> "ac" -> "abc" edits one part twice
  CHECK(edits("ca", "abc") == 3);
  CHECK(edits("", "abc") == 3);
}

TEST_CASE("the nearest name, or none") {
  const std::vector<std::string> names = {"solve", "show", "hopper", "hopper-fwd-plain"};
  CHECK(nearest("sovle", names) == "solve");
  CHECK(nearest("hoper", names) == "hopper");
  CHECK(nearest("hopper-fwd-plan", names) == "hopper-fwd-plain");
  CHECK(nearest("sho", names) == "show");
  CHECK_FALSE(nearest("xyzzy", names).has_value());
  CHECK_FALSE(nearest("", names).has_value());
  CHECK_FALSE(nearest(std::string(1000, 's'), names).has_value());
  CHECK(meant("sovle", names) == "; did you mean solve?");
  CHECK(meant("quux", names).empty());
  CHECK_FALSE(nearest("solve", {}).has_value());
}

TEST_CASE("words of a command line that are no command or option") {
  CLI::App program("", "twill");
  program.add_flag("--version");
  CLI::App* solve = program.add_subcommand("solve");
  solve->add_option("-o,--output");
  CLI::App* bench = program.add_subcommand("bench");
  bench->require_subcommand(1);
  bench->add_subcommand("scaling")->add_option("--ops");
  const std::vector<std::string> commands = {"solve", "bench"};
  const auto said = [&](const std::vector<const char*>& words) {
    return unknown_word(program, commands, words);
  };
  CHECK(said({"twill", "sovle"}) == "\"sovle\" is no command of twill; did you mean solve?");
  CHECK(said({"twill", "frobnicate"}) == "\"frobnicate\" is no command of twill");
  CHECK(said({"twill", "solve", "k", "--outptu=x"}) ==
        "\"--outptu\" is no option of twill solve; did you mean --output?");
  CHECK(said({"twill", "bench", "scalin"}) ==
        "\"scalin\" is no command of twill bench; did you mean scaling?");
  CHECK(said({"twill", "bench", "scaling", "--opps", "3"}) ==
        "\"--opps\" is no option of twill bench scaling; did you mean --ops?");
  CHECK(said({"twill", "--versoin"}) ==
        "\"--versoin\" is no option of twill; did you mean --version?");
  // Another fault, or none.
  CHECK(said({"twill"}).empty());
  CHECK(said({"twill", "--version"}).empty());
  CHECK(said({"twill", "solve", "k", "--output"}).empty());
  CHECK(said({"twill", "solve", "--", "--outptu"}).empty());
}

}  // namespace nearest_test
