#include "tests/fuzz/certificate_bundle.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "graph/io/file.hpp"

namespace twill::fuzz {

namespace fs = std::filesystem;

std::string bundle_text(const Bundle& bundle) {
  std::string text;
  for (const auto& [name, bytes] : bundle)
    text += name + " " + std::to_string(bytes.size()) + "\n" + bytes;
  return text;
}

Bundle parse_bundle(std::string_view text) {
  Bundle bundle;
  while (!text.empty() && bundle.size() < 32) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view head = text.substr(0, end);
    const std::size_t blank = std::min(head.rfind(' '), head.size());
    std::size_t size = 0;
    if (blank < head.size())
      std::from_chars(head.data() + blank + 1, head.data() + head.size(), size);
    text.remove_prefix(std::min(end + 1, text.size()));
    size = std::min(size, text.size());
    std::string name(head.substr(0, blank));
    const bool plain =
        !name.empty() && name.size() < 100 &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-./") == std::string::npos &&
        name.find("..") == std::string::npos && name.front() != '/' && name.back() != '/' &&
        std::count(name.begin(), name.end(), '/') <= 1;
    if (plain) bundle.emplace_back(std::move(name), std::string(text.substr(0, size)));
    text.remove_prefix(size);
  }
  return bundle;
}

Bundle read_bundle(const std::string& folder) {
  Bundle bundle;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      bundle.emplace_back(fs::relative(entry.path(), folder).string(),
                          read_file(entry.path().string()));
  std::sort(bundle.begin(), bundle.end());
  return bundle;
}

void write_bundle(const Bundle& bundle, const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::create_directories(folder);
  for (const auto& [name, bytes] : bundle) {
    const fs::path path = fs::path(folder) / name;
    fs::create_directories(path.parent_path(), ignored);
    std::ofstream(path, std::ios::binary) << bytes;  // quicker than write_file(), which flushes
  }
}

}  // namespace twill::fuzz
