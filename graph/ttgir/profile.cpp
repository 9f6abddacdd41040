#include "graph/ttgir/profile.hpp"

#include "graph/io/json_reader.hpp"

namespace twill::ttgir {

std::map<std::string, Measured> parse_profile(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  root.check_format("twill.profile", 1);
  root.check_keys({"format", "version", "ops"}, {"doc"});
  root.text_or("doc", "");
  std::map<std::string, Measured> profile;
  for (const auto& [name, value] : root.at("ops").members()) {
    if (name.empty()) value.fail("must be keyed by a node, an op or a kind");
    Measured measured;
    if (value.is_object()) {
      value.check_keys({"cycles"}, {"occupancy", "latency"});
      measured.cycles = value.at("cycles").integer(1, kMaxCycles);
      measured.occupancy = value.integer_or("occupancy", measured.cycles, 1, measured.cycles);
      measured.latency = value.integer_or("latency", measured.cycles, 0, kMaxCycles);
    } else {
      measured.cycles = measured.occupancy = measured.latency = value.integer(1, kMaxCycles);
    }
    profile[name] = measured;
  }
  return profile;
}

}  // namespace twill::ttgir
