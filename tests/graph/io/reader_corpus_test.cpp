// The fuzzers' corpora of all readers but TTGIR's (ttgir_hostile_test): every file, and some
// mutations of each, are read or refused. The long runs are those of fuzz/README.md.
#include <doctest/doctest.h>

#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/readers.hpp"

namespace reader_corpus_test {

using namespace twill::fuzz;

TEST_CASE("every reader answers its corpus and mutations of it") {
  const std::string root = TWILL_TEST_DATA "/../..";
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    const bool certificate = std::string(reader.name) == "certificate";
    const std::vector<std::string> seeds = seeds_of(reader, root);
    REQUIRE(!seeds.empty());
    int accepted = 0;
    for (const std::string& seed : seeds) {
      bool yes = false;
      CHECK_NOTHROW(yes = reader.accepts(seed));
      accepted += yes;
    }
    CHECK(accepted > 0);
    Random random(1);
    for (int n = 0; n < (certificate ? 20 : 300); ++n) {
      const std::string& one = seeds[random() % seeds.size()];
      if (one.size() > 20'000 && !certificate) continue;
      const std::string& other = seeds[random() % seeds.size()];
      const std::string changed = certificate   ? mutate_certificate(one, random)
                                  : reader.json ? mutate_json(one, other, random)
                                                : mutate_text(one, random);
      CAPTURE(changed);
      CHECK_NOTHROW(reader.accepts(changed));
    }
  }
}

}  // namespace reader_corpus_test
