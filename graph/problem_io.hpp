// Problem files (twill.problem, version 1, or 2 with pins): strict reading, canonical writing.
#pragma once

#include <string>
#include <string_view>

#include "graph/error.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Parses and check()s a problem. Throws InputError with `source` as the file, the JSON pointer of
/// the offending value, the value and the rule: unknown or missing key, wrong type, number out of
/// range, dangling name, duplicate id, and everything check() refuses.
Problem parse_problem(std::string_view text, const std::string& source = "problem");

/// parse_problem on a file's bytes.
Problem read_problem(const std::string& path);

/// The canonical text: the key order of the format, two-space indent, newline at the end, every
/// key written (only a slot's `variable_latency` is left out where it is false, as in the format's
/// examples, and `pins` where there are none: the file is then of version 1).
/// parse_problem(problem_text(p)) == p for every p that check() accepts whose reservations are
/// grouped by unit. Throws InputError when a text is not valid UTF-8.
std::string problem_text(const Problem& problem);

/// Lower-case hex SHA-256 (FIPS 180-4) of bytes: what `problem_sha256` holds.
std::string sha256(std::string_view bytes);

}  // namespace twill
