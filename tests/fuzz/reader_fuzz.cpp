// libFuzzer target: any bytes to one of the readers (readers.cpp), JSON mutated as a tree.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   mkdir found; TWILL_READER=problem build/fuzz/tests/reader_fuzz found tests/fuzz/problem
//   -dict=tests/fuzz/json.dict -timeout=5 -rss_limit_mb=1024 -max_total_time=600
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/readers.hpp"

namespace {

const twill::fuzz::Reader& chosen() {
  static const twill::fuzz::Reader& reader = [] {
    const char* name = std::getenv("TWILL_READER");
    return std::ref(twill::fuzz::reader(name == nullptr ? "problem" : name));
  }();
  return reader;
}

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().accepts(view(data, size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  twill::fuzz::Random random(seed);
  const bool certificate = std::strcmp(chosen().name, "certificate") == 0;
  if ((!chosen().json && !certificate) || random() % 5 == 0)
    return LLVMFuzzerMutate(data, size, most);
  const std::string_view text = view(data, size);
  const std::string changed = certificate ? twill::fuzz::mutate_certificate(text, random)
                                          : twill::fuzz::mutate_json(text, text, random);
  if (changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
