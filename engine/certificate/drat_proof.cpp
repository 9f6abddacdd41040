#include "engine/certificate/drat_proof.hpp"

#include <limits>

namespace twill {
namespace {

constexpr std::int64_t kMaxLiteral = std::numeric_limits<int>::max();

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

class TextReader {
 public:
  explicit TextReader(std::string_view bytes) : bytes_(bytes) {}

  DratProof read(std::optional<ProofError>& error) {
    while (skip_to_step()) {
      DratProof::Step step{proof_.literals.size(), 0, line_, bytes_[at_] == 'd'};
      if (step.deletes) {
        ++at_;
        if (at_ < bytes_.size() && !is_space(bytes_[at_])) fail("a blank must follow d");
      }
      while (!error_ && literal()) {
      }
      if (error_) break;
      step.end = proof_.literals.size();
      proof_.steps.push_back(step);
    }
    error = error_;
    return error ? DratProof{} : std::move(proof_);
  }

 private:
  void fail(const std::string& reason) {
    if (!error_) error_ = ProofError{line_, reason};
  }

  // Blanks, empty lines and comments; false at the end of the file.
  bool skip_to_step() {
    while (at_ < bytes_.size()) {
      const char c = bytes_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (is_space(c)) {
        ++at_;
      } else if (c == 'c') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  // The next literal is appended; false at the 0 that ends the clause.
  bool literal() {
    while (at_ < bytes_.size() && is_space(bytes_[at_])) ++at_;
    const bool negative = at_ < bytes_.size() && bytes_[at_] == '-';
    if (negative) ++at_;
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9'; ++at_) {
      value = 10 * value + (bytes_[at_] - '0');
      if (value > kMaxLiteral) fail("a literal must fit 31 bits");
      if (error_) return false;
    }
    const bool ended = at_ == bytes_.size() || is_space(bytes_[at_]) || bytes_[at_] == '\n';
    if (at_ == begin || !ended || (negative && value == 0)) {
      fail("must be literals that end with 0 on the same line");
      return false;
    }
    if (value == 0) return false;
    proof_.literals.push_back(static_cast<int>(negative ? -value : value));
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0, line_ = 1;
  DratProof proof_;
  std::optional<ProofError> error_;
};

DratProof read_binary(std::string_view bytes, std::optional<ProofError>& error) {
  DratProof proof;
  const auto fail = [&](std::size_t place, const char* reason) {
    error = ProofError{place, reason};
    return DratProof{};
  };
  std::size_t at = 0;
  while (at < bytes.size()) {
    DratProof::Step step{proof.literals.size(), 0, at, bytes[at] == 'd'};
    if (bytes[at] != 'a' && bytes[at] != 'd') return fail(at, "a step must begin with a or d");
    ++at;
    for (;;) {
      const std::size_t begin = at;
      std::uint64_t code = 0;
      for (int shift = 0;; shift += 7) {
        if (at == bytes.size()) return fail(begin, "the proof ends inside a step");
        if (shift > 28) return fail(begin, "a literal must fit 31 bits");
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        code |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) break;
      }
      if (code == 0) break;
      const auto variable = static_cast<std::int64_t>(code / 2);
      if (variable == 0 || variable > kMaxLiteral)
        return fail(begin, "a literal must have a variable from 1 on");
      proof.literals.push_back(static_cast<int>(code % 2 == 1 ? -variable : variable));
    }
    step.end = proof.literals.size();
    proof.steps.push_back(step);
  }
  return proof;
}

}  // namespace

DratProof parse_drat(std::string_view bytes, ProofFormat format, std::optional<ProofError>& error) {
  error.reset();
  return format == ProofFormat::text ? TextReader(bytes).read(error) : read_binary(bytes, error);
}

}  // namespace twill
