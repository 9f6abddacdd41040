// The valid files of sample_texts.hpp, and the refusal that a reader ends with.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "graph/error.hpp"
#include "tests/support/sample_texts.hpp"

namespace twill::test {

/// What `read` is refused with. Fails the test when nothing is thrown; other exceptions pass.
template <class Read>
InputError refusal(Read&& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error;
  }
  FAIL_CHECK("was accepted");
  return InputError("", "", "", "accepted");
}

}  // namespace twill::test
