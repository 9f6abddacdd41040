// Words that names in emitted CUDA C++ must not be.
#pragma once

#include <set>
#include <string>

namespace twill::emit {

/// C++'s own, macros of its library and CUDA's, and what the emitted file and the headers that it
/// includes use, for Blackwell or for Hopper.
std::set<std::string> cuda_words(bool blackwell);

}  // namespace twill::emit
