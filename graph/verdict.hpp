// What is said of a question: is there a model, a schedule?
#pragma once

namespace twill {

/// unknown = a limit or the stop token came first.
enum class Verdict { sat, unsat, unknown };

inline const char* to_string(Verdict verdict) {
  if (verdict == Verdict::sat) return "sat";
  return verdict == Verdict::unsat ? "unsat" : "unknown";
}

}  // namespace twill
