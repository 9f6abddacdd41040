#include "engine/certificate/evidence.hpp"

#include <algorithm>
#include <cstdlib>

#include "graph/bounds/serial.hpp"
#include "graph/bounds/whole_time.hpp"
#include "graph/error.hpp"

namespace twill {
namespace {

constexpr std::size_t kFormulasKept = 8;  // more refutations than most certificates have

}  // namespace

ProofFile::ProofFile() : content_(std::make_shared<Content>()) {
  content_->file.reset(::open_memstream(&content_->data, &content_->size));
  if (!content_->file) throw InputError("memory", "proof", "", "cannot be had");
}

ProofFile::Content::~Content() {
  file.reset();  // which gives the memory its last size
  std::free(data);
}

std::string_view ProofFile::bytes() const {
  if (std::fflush(file()) != 0) throw InputError("memory", "proof", "", "is not enough");
  return {content_->data, content_->size};
}

Problem problem_about(const Problem& problem, About about) {
  if (about == About::serial) return serial_problem(problem).problem;
  return about == About::alone ? one_iteration(problem) : problem;
}

void Evidence::keep(Refutation refutation) {
  const auto superfluous = [&](const Refutation& old) {
    if (old.counts != refutation.counts) return false;
    if (!std::equal(old.limits.begin(), old.limits.end(), refutation.limits.begin(),
                    refutation.limits.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first; }))
      return false;
    if (old.about != refutation.about || (old.deadline < 0) != (refutation.deadline < 0))
      return false;
    if (refutation.deadline >= 0)
      return old.ii == refutation.ii && old.deadline <= refutation.deadline;
    return old.ii == refutation.ii ||
           (monotone_ && *monotone_ <= old.ii && old.ii <= refutation.ii);
  };
  std::erase_if(refutations_, superfluous);
  refutations_.push_back(std::move(refutation));
  if (refutations_.size() > kFormulasKept)
    refutations_[refutations_.size() - kFormulasKept - 1].formula.reset();
}

void Evidence::drop_derived() {
  known_.clear();
  for (Refutation& refutation : refutations_) refutation.formula.reset();
}

}  // namespace twill
