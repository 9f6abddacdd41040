#include "engine/certificate/evidence.hpp"

#include <algorithm>

#include "graph/error.hpp"

namespace twill {

ProofFile::ProofFile() : content_(new Content{{std::tmpfile(), std::fclose}, {}}) {
  if (!content_->file) throw InputError("temporary file", "proof", "", "cannot be created");
}

void ProofFile::to_memory() const {
  content_->bytes = bytes();
  content_->file.reset();
}

std::string ProofFile::bytes() const {
  if (!content_->file) return content_->bytes;
  std::fflush(file());
  std::string all;
  const long size = std::fseek(file(), 0, SEEK_END) == 0 ? std::ftell(file()) : -1;
  if (size >= 0) all.resize(static_cast<std::size_t>(size));
  std::rewind(file());
  if (size < 0 || std::ferror(file()) ||
      std::fread(all.data(), 1, all.size(), file()) != all.size())
    throw InputError("temporary file", "proof", "", "cannot be read back");
  return all;
}

void Evidence::keep(Refutation refutation) {
  const auto superfluous = [&](const Refutation& old) {
    if (old.counts != refutation.counts) return false;
    if (!std::equal(old.limits.begin(), old.limits.end(), refutation.limits.begin(),
                    refutation.limits.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first; }))
      return false;
    if (old.serial != refutation.serial || (old.deadline < 0) != (refutation.deadline < 0))
      return false;
    if (refutation.deadline >= 0)
      return old.ii == refutation.ii && old.deadline <= refutation.deadline;
    return old.ii == refutation.ii ||
           (monotone_ && *monotone_ <= old.ii && old.ii <= refutation.ii);
  };
  std::erase_if(refutations_, superfluous);
  refutations_.push_back(std::move(refutation));
}

}  // namespace twill
