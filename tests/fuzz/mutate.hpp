// Inputs out of inputs: bytes at random, and JSON as a tree, which stays well formed and so gets
// behind the parser: numbers at the ends of their range, other types, keys that are gone, doubled
// or another's, pieces of other files.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>

namespace twill::fuzz {

using Random = std::mt19937_64;

/// One to four edits of bytes: a byte, a token, a number, a piece copied, removed or cut off.
std::string mutate_text(std::string text, Random& random);

/// One to four edits of the tree; `other` lends pieces. Text edits where `text` is no JSON, and now
/// and then anyway. What it gives is written as this project writes files.
std::string mutate_json(std::string_view text, std::string_view other, Random& random);
/// The same of what has been parsed already; both may be discarded ones.
std::string mutate_json(std::string_view text, const nlohmann::ordered_json& parsed,
                        const nlohmann::ordered_json& other, Random& random);

/// A certificate as one text (certificate_bundle.hpp): one of its files is mutated, and mostly the
/// hashes of the manifest follow.
std::string mutate_certificate(std::string_view bundle, Random& random);

}  // namespace twill::fuzz
