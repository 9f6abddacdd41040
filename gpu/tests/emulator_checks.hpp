// What tests of the emulated multiprocessor say: a kernel is refused with a text, or accepted.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "gpu/emulator/machine.hpp"

namespace twill::gpu::emulator {

inline int checks_failed = 0, checks_ran = 0;

/// What is wrong with `thread`, "" if nothing.
inline std::string error_of(const Launch& launch, const std::function<void()>& thread) {
  try {
    run(launch, thread);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
inline void check_refused(const char* text, const Launch& launch,
                          const std::function<void()>& thread) {
  ++checks_ran;
  const std::string error = error_of(launch, thread);
  if (error.find(text) != std::string::npos) return;
  std::printf("FAILED: expected \"%s\", got \"%s\"\n", text, error.c_str());
  ++checks_failed;
}
inline void check_accepted(const char* what, const Launch& launch,
                           const std::function<void()>& thread) {
  ++checks_ran;
  const std::string error = error_of(launch, thread);
  if (error.empty()) return;
  std::printf("FAILED: %s is refused: %s\n", what, error.c_str());
  ++checks_failed;
}

}  // namespace twill::gpu::emulator
