// What somebody who mistyped a name may have meant.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twill::cli {

/// Insertions, deletions, replacements and swaps of two neighbours that make one word the other, no
/// part edited twice (Damerau 1964; the distance of optimal string alignment). Bytes.
std::size_t edits(std::string_view one, std::string_view other);

/// The name that takes the fewest edits, the first of these; none that takes more than a third of
/// the letters of the longer word.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> names);

/// "; did you mean hopper?", or "".
std::string meant(std::string_view word, std::span<const std::string> names);

/// Of a command line that `program` could not parse: the word that is no command, or no option of
/// the command that was called, with the nearest right one. "" where it is another fault.
std::string unknown_word(const CLI::App& program, std::span<const std::string> commands,
                         std::span<const char* const> words);

}  // namespace twill::cli
