#include "tests/fuzz/mutate.hpp"

#include <cstdlib>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "graph/problem_io.hpp"
#include "tests/fuzz/certificate_bundle.hpp"

namespace twill::fuzz {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// What stands for much in some format, or just beyond a limit.
const std::vector<std::string> kTokens = [] {
  std::vector<std::string> tokens = words_of(
      "0 -1 1 2 1e9 1.0 1e999 -0 0.5 2147483648 4294967296 9223372036854775807 "
      "9223372036854775808 -9223372036854775808 18446744073709551616 1000000001 10001 null true "
      "false \"\" {} [] { } [ ] , : \" \\ \\u0000 \\ud800 \xff \xef\xbb\xbf \xc0\x80 \xed\xa0\x80 "
      "[[0,1,1]] # + T F x % [[[[[[[[[[[[[[[[");
  for (const char* blank : {"\n", "\r", "\t", " ", "s UNSATISFIABLE", "d 1 0"})
    tokens.emplace_back(blank);
  tokens.emplace_back(1, '\0');
  return tokens;
}();

const std::vector<std::int64_t> kNumbers = [] {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : words_of(
           "0 -1 1 2 3 4 7 8 16 24 31 32 33 63 64 65 100 127 128 216 240 255 256 1000 1001 4096 "
           "9999 10000 10001 16384 65535 65536 1000000 999999999 1000000000 1000000001 2147483647 "
           "2147483648 -2147483648 4294967296 999999999999 1000000000000 1000000000001 "
           "10000000000000 100000000000000000 4611686018427387904 9223372036854775807 "
           "-9223372036854775808"))
    numbers.push_back(std::stoll(word));
  return numbers;
}();

const std::vector<std::string> kKeys = words_of(
    "format version name id ops edges units memories warps pins cycle_unit reservation "
    "registers memory spill width variable_latency streaming from to delay distance blocking "
    "hold op warp not_warp cycle same_warp_as capacity rings kind shape type operand_type "
    "cost result alias_of traffic doc resident chunks columns count accumulate unit cycles "
    "occupancy latency aliases bandwidth register_file vector_copies layouts slots rules "
    "sources measure factor rate rates less at_least at_most times reduces asynchronous "
    "granule min max conflict ring_depths goals lower_bound engine options status search ");

std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random() % limit);
}

template <class T>
const T& one_of(const std::vector<T>& all, Random& random) {
  return all[below(random, all.size())];
}

template <class Node>  // Json, const Json
void collect(Node& node, std::vector<Node*>& all) {
  if (all.size() > 100'000) return;
  all.push_back(&node);
  if (node.is_structured())
    for (Node& child : node) collect(child, all);
}

Json some_value(Random& random) {
  switch (below(random, 9)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return "";
    case 3: return std::string(below(random, 300), 'x');
    case 4: return Json::array();
    case 5: return Json::object();
    case 6: return 1.5;
    case 7: return std::numeric_limits<std::uint64_t>::max();
    default: return one_of(kNumbers, random);
  }
}

void change_number(Json& node, Random& random) {
  const bool whole = node.is_number_integer();
  const std::int64_t n = whole ? node.get<std::int64_t>() : 0;
  switch (below(random, 6)) {
    case 0: node = whole && n < 1'000'000'000'000 ? n + 1 : n; break;
    case 1: node = whole && n > -1'000'000'000'000 ? n - 1 : n; break;
    case 2: node = static_cast<std::int64_t>(below(random, 12)); break;
    case 3: node = whole && std::abs(n / 2) < 1'000'000'000'000 ? n * 2 : n; break;
    default: node = one_of(kNumbers, random);
  }
}

std::string text_of(const std::vector<Json*>& all, Random& random) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Json& node = *one_of(all, random);
    if (node.is_string()) return node.get<std::string>();
    if (node.is_object() && !node.empty())
      return std::next(node.begin(), static_cast<std::ptrdiff_t>(below(random, node.size()))).key();
  }
  return one_of(kKeys, random);
}

void change_array(Json& node, Random& random, const std::vector<const Json*>& lent) {
  const auto some = [&] {
    return node.begin() + static_cast<std::ptrdiff_t>(below(random, node.size()));
  };
  if (node.empty() || below(random, 5) == 0) {
    node.push_back(Json(*one_of(lent, random)));
    return;
  }
  switch (below(random, 4)) {
    case 0: node.erase(some()); break;
    case 1: {
      Json copy = *some();
      node.push_back(std::move(copy));
      break;
    }
    case 2: {
      Json copy = *some();
      for (std::size_t n = below(random, 30); n > 0; --n) node.push_back(copy);
      break;
    }
    default: std::swap(*some(), *some());
  }
}

void change_object(Json& node, Random& random, const std::vector<Json*>& all,
                   const std::vector<const Json*>& lent) {
  auto& members = node.get_ref<Json::object_t&>();
  const auto some = [&]() -> auto& {
    return *std::next(members.begin(), static_cast<std::ptrdiff_t>(below(random, members.size())));
  };
  if (members.empty() || below(random, 4) == 0) {
    const std::string key = random() % 2 == 0 ? one_of(kKeys, random) : text_of(all, random);
    if (random() % 2 == 0 && !lent.empty())
      node[key] = Json(*one_of(lent, random));
    else
      node[key] = some_value(random);
    return;
  }
  switch (below(random, 4)) {
    case 0: node.erase(std::string(some().first)); break;
    case 1: {
      const std::string from = some().first, to = text_of(all, random);
      Json value = node[from];
      node.erase(from);
      node[to] = std::move(value);
      break;
    }
    case 2: {
      Json copy = some().second;
      some().second = std::move(copy);
      break;
    }
    default: {  // a key twice
      auto copy = some();
      members.push_back(std::move(copy));
    }
  }
}

void edit(Json& root, const Json& other, Random& random) {
  std::vector<Json*> all;
  std::vector<const Json*> lent;
  collect(root, all);
  collect(other, lent);
  Json& node = *one_of(all, random);
  const std::size_t dice = below(random, 12);
  if (dice == 0) {
    node = some_value(random);
  } else if (dice == 1) {
    Json piece = random() % 2 == 0 ? *one_of(all, random) : *one_of(lent, random);
    if (piece.size() < 50 || !node.is_structured()) node = std::move(piece);
  } else if (node.is_number()) {
    change_number(node, random);
  } else if (node.is_string()) {
    node = random() % 4 == 0 ? Json(one_of(kKeys, random)) : Json(text_of(all, random));
  } else if (node.is_boolean()) {
    node = !node.get<bool>();
  } else if (node.is_array()) {
    change_array(node, random, lent);
  } else if (node.is_object()) {
    change_object(node, random, all, lent);
  }
}

std::string written(const Json& json, Random& random) {
  const auto keep = nlohmann::json::error_handler_t::ignore;
  return random() % 4 == 0 ? json.dump(-1, ' ', false, keep)
                           : json.dump(2, ' ', false, keep) + "\n";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string mutate_text(std::string text, Random& random) {
  for (std::size_t edits = 1 + below(random, 4); edits > 0; --edits) {
    if (text.empty()) return one_of(kTokens, random);
    const std::size_t at = below(random, text.size()), length = 1 + below(random, 40);
    switch (below(random, 8)) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.insert(at, one_of(kTokens, random)); break;
      case 2: text.insert(below(random, text.size()), text.substr(at, length)); break;
      case 3: text.erase(at, length); break;
      case 4: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = text.find_first_not_of("0123456789", digit);
        text.replace(
            digit, (end == std::string::npos ? text.size() : end) - digit,
            random() % 2 == 0 ? one_of(kTokens, random) : std::to_string(one_of(kNumbers, random)));
        break;
      }
      case 5: {  // a line twice, or gone
        const std::size_t begin = text.rfind('\n', at) + 1;
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        if (end <= begin) break;
        const std::string line = text.substr(begin, end - begin);
        if (random() % 2 == 0)
          text.erase(begin, end - begin);
        else
          for (std::size_t n = below(random, 8); n > 0; --n) text.insert(begin, line);
        break;
      }
      case 6: text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8))); break;
      default:
        if (below(random, 8) == 0) text.resize(at);
    }
    if (text.size() > 65'536) text.resize(65'536);
  }
  return text;
}

std::string mutate_json(std::string_view text, std::string_view other, Random& random) {
  return mutate_json(text, Json::parse(text, nullptr, false), Json::parse(other, nullptr, false),
                     random);
}

std::string mutate_json(std::string_view text, const Json& parsed, const Json& other,
                        Random& random) {
  if (parsed.is_discarded() || below(random, 16) == 0)
    return mutate_text(std::string(text), random);
  Json root = parsed;
  const Json nothing = nullptr;
  for (std::size_t edits = 1 + below(random, 4); edits > 0; --edits)
    edit(root, other.is_discarded() ? nothing : other, random);
  std::string result = written(root, random);
  return result.size() > 262'144 ? std::string(text) : result;
}

std::string mutate_certificate(std::string_view text, Random& random) {
  Bundle bundle = parse_bundle(text);
  if (bundle.empty()) return mutate_text(std::string(text), random);
  for (std::size_t files = 1 + below(random, 2); files > 0; --files) {
    auto& [name, bytes] = bundle[below(random, bundle.size())];
    const std::string old = sha256(bytes);
    if (name.ends_with(".json"))
      bytes = mutate_json(bytes, bundle[below(random, bundle.size())].second, random);
    else
      bytes = mutate_text(bytes, random);
    if (below(random, 10) == 0) continue;
    const std::string now = sha256(bytes);
    for (auto& [other, content] : bundle)
      if (other == "manifest.json" || other == "schedule.json") replace_all(content, old, now);
  }
  if (below(random, 20) == 0)
    bundle.erase(bundle.begin() + static_cast<std::ptrdiff_t>(below(random, bundle.size())));
  return bundle_text(bundle);
}

}  // namespace twill::fuzz
