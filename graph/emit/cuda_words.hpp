// Words of emitted CUDA C++: those that names must not be, and those of functions.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/meaning/meaning.hpp"

namespace twill::emit {

/// C++'s own, macros of its library and CUDA's, and what the emitted file and the headers that it
/// includes use, for Blackwell or for Hopper.
std::set<std::string> cuda_words(bool blackwell);

/// The function of one number that the headers (registers.cuh, reference.hpp) have for it; "" =
/// they have none of this name.
std::string_view cuda_function(meaning::Function function);

}  // namespace twill::emit
