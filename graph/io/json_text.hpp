// Text of JSON files inside messages: quoted values, JSON pointers, valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace twill {

/// Is this well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates)?
bool valid_utf8(std::string_view text);

/// `text` with its control characters as JSON escapes and what is no UTF-8 as '?'.
std::string one_line(std::string_view text);

/// `text` as a JSON string with its quotes, on one line; more than about 80 bytes are cut to "...".
/// Bytes that are no UTF-8 are shown as '?'.
std::string quote(std::string_view text);

/// One reference token of a JSON pointer with its leading slash (RFC 6901: ~ is ~0, / is ~1).
/// Control characters are written as JSON escapes, so that a message stays on one line.
std::string pointer_token(std::string_view key);
std::string pointer_token(std::size_t index);

/// "must be an integer from LOW to HIGH": the one wording of a range rule.
std::string range_rule(long long low, long long high);

/// The root's "format", which tells the kinds of files apart: "" where it has none, or the text is
/// no JSON up to there. Nothing after it is read.
std::string json_format(std::string_view text);

}  // namespace twill
