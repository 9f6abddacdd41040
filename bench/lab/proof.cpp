#include "bench/lab/proof.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "engine/certificate/drat.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

std::vector<int> clauses_of(std::string_view dimacs, const std::string& file) {
  std::vector<int> clauses;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < dimacs.size();) {
    const std::size_t end = std::min(dimacs.find('\n', begin), dimacs.size());
    const std::string_view line = dimacs.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || line[0] == 'c' || line[0] == 'p') continue;
    const char *at = line.data(), *const last = line.data() + line.size();
    while (at < last) {
      if (*at == ' ') {
        ++at;
        continue;
      }
      int literal = 0;
      const auto [next, error] = std::from_chars(at, last, literal);
      if (error != std::errc())
        throw InputError(file, "line " + std::to_string(number), quote(line),
                         "must be a clause of DIMACS CNF");
      clauses.push_back(literal);
      at = next;
    }
  }
  if (!clauses.empty() && clauses.back() != 0)
    throw InputError(file, "end", "a clause", "must be ended by 0");
  return clauses;
}

}  // namespace

std::string proof_refusal(std::string_view dimacs, const std::string& file,
                          std::string_view proof) {
  // Every clause of the binary form ends with the byte 0, which text never has.
  const bool binary = proof.find('\0') != std::string_view::npos;
  const DratVerdict verdict =
      check_drat(clauses_of(dimacs, file), proof, binary ? ProofFormat::binary : ProofFormat::text);
  return verdict.accepted ? "" : verdict.reason;
}

}  // namespace twill::bench
