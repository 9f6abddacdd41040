// The files of a certificate as one text: "NAME SIZE\n" and the bytes, one after the other.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill::fuzz {

using Bundle = std::vector<std::pair<std::string, std::string>>;  // name and bytes

std::string bundle_text(const Bundle& bundle);
/// As far as the text is one; names are cut to what is a file inside the folder.
Bundle parse_bundle(std::string_view text);
Bundle read_bundle(const std::string& folder);
void write_bundle(const Bundle& bundle, const std::string& folder);

}  // namespace twill::fuzz
