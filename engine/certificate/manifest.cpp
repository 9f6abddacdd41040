#include "engine/certificate/manifest.hpp"

#include <algorithm>
#include <set>

#include "graph/io/json_reader.hpp"
#include "graph/io/json_writer.hpp"

namespace twill {
namespace {

constexpr const char* kFormat = "twill.certificate";
// Goes up with the format, and with the encoders: formulas are made again from the problem.
constexpr int kVersion = 14;
constexpr const char* kAbout[] = {"problem", "serial problem", "one iteration"};  // of About
// What a stranger can ask for is bounded, so that no arithmetic about it leaves 64 bits.
constexpr Amount kMostShare = 1'000'000;
constexpr std::int64_t kMostRefinements = 1'000'000'000;
constexpr Cycle kMostInterval = 4 * kMaxInterval;  // serial_ii() is no more
constexpr Cycle kMostStages = kMaxStart;
constexpr Cycle kMostLength = kMaxStart + kMaxCycles;

std::string name_of(const Refutation& r, std::vector<RegisterCounts>& corners) {
  std::string corner;
  if (!r.counts.empty()) {
    const auto found = std::find(corners.begin(), corners.end(), r.counts);
    corner = "split-" + std::to_string(found - corners.begin() + 1) + "-";
    if (found == corners.end()) corners.push_back(r.counts);
  }
  if (r.about == About::serial) return corner + "serial";
  if (r.about == About::alone) corner += "alone-";
  std::string name = "interval-" + std::to_string(r.ii);
  if (r.deadline >= 0)
    name = "length-" + std::to_string(r.deadline) + "-at-" + std::to_string(r.ii);
  if (!r.limits.empty()) name = "goal-" + std::to_string(r.limits.size());
  return corner + name;
}

int slot_of(const Problem& problem, const JsonValue& name) {
  const auto w = std::find_if(problem.warps.begin(), problem.warps.end(),
                              [&](const WarpSlot& s) { return s.name == name.text(); });
  if (w == problem.warps.end()) name.fail("must be the name of a warp slot of the problem");
  return static_cast<int>(w - problem.warps.begin());
}

void say_refutation(JsonWriter& json, const std::string& name, const Refutation& r) {
  json.begin_object();
  json.member("name", name);
  json.member("about", kAbout[static_cast<std::size_t>(r.about)]);
  json.member("initiation_interval", r.ii);
  if (!r.counts.empty()) json.member("registers", r.counts);
  if (r.deadline >= 0) json.member("length_at_most", r.deadline);
  if (!r.limits.empty()) {
    json.key("at_most");
    json.begin_object();
    for (const auto& [goal, most] : r.limits) json.member(goal, most);
    json.end_object();
  }
  json.member("encoding", r.encoding);
  json.member("engine", r.by_order() ? "order" : "time_indexed");
  json.key("formula");
  json.begin_object();
  if (const auto* o = std::get_if<OrderRequest>(&r.request)) {
    json.member("ii_low", o->ii_low);
    json.member("ii_high", o->ii_high);
    json.member("stages", o->stages);
    json.member("pinned", o->pinned);
    json.member("share", o->share);
    json.member("at_once", o->at_once);
    json.member("handover", o->handover);
    json.member("exchange", o->exchange);
    if (!o->further_exchanges.empty()) json.member("further_exchanges", o->further_exchanges);
    if (o->full_units.ii > 0) {
      json.member("full_units_at", o->full_units.ii);
      json.member("full_units_after", o->full_units.after);
    }
  } else {
    const auto& m = std::get<ModuloRequest>(r.request);
    json.member("stages", m.stages);
    json.member("length_low", m.length_low);
    json.member("length_high", m.length_high);
    json.member("pinned", m.pinned);
    json.member("detail", m.detail);
    json.member("lifetimes", m.lifetimes);
    json.member("handover", m.handover);
  }
  json.end_object();
  json.end_object();
}

void say_split(JsonWriter& json, const Problem& problem, const RegisterSplit& split) {
  json.begin_object();
  json.key("shares");
  json.begin_array();
  for (const RegisterPool::Share& share : split.pool.shares) {
    json.begin_object();
    json.key("slots");
    json.begin_array();
    for (const int w : share.slots) json.value(problem.warps[static_cast<std::size_t>(w)].name);
    json.end_array();
    json.member("warpgroups", share.warpgroups);
    json.end_object();
  }
  json.end_array();
  json.member("granule", split.pool.granule);
  json.member("min", split.pool.min);
  json.member("max", split.pool.max);
  json.member("launch", split.pool.launch);
  json.member("resident", split.pool.resident);
  json.member("counts", split.counts);
  json.member("corners", split.corners);
  json.end_object();
}

RegisterCounts read_counts(const JsonValue& json, const RegisterSplit& split) {
  RegisterCounts counts;
  for (const JsonValue& count : json.elements(split.pool.shares.size()))
    counts.push_back(count.integer(0, kMaxAmount));
  return counts;
}

RegisterSplit read_split(const Problem& problem, const JsonValue& json) {
  json.check_keys({"shares", "granule", "min", "max", "launch", "resident", "counts", "corners"});
  RegisterSplit split;
  for (const JsonValue& share : json.at("shares").elements()) {
    share.check_keys({"slots", "warpgroups"});
    split.pool.shares.emplace_back();
    for (const JsonValue& slot : share.at("slots").elements())
      split.pool.shares.back().slots.push_back(slot_of(problem, slot));
    split.pool.shares.back().warpgroups = share.at("warpgroups").small(1, 1'000'000);
  }
  split.pool.granule = json.at("granule").integer(1, kMaxAmount);
  split.pool.min = json.at("min").integer(0, kMaxAmount);
  split.pool.max = json.at("max").integer(0, kMaxAmount);
  split.pool.launch = json.at("launch").integer(0, kMaxAmount);
  split.pool.resident = json.at("resident").integer(0, kMaxAmount);
  const JsonValue counts = json.at("counts");
  if (!counts.elements().empty()) split.counts = read_counts(counts, split);
  for (const JsonValue& corner : json.at("corners").elements())
    split.corners.push_back(read_counts(corner, split));
  return split;
}

Refutation read_refutation(const Problem& problem, const std::optional<RegisterSplit>& split,
                           const JsonValue& json) {
  json.check_keys({"name", "about", "initiation_interval", "encoding", "engine", "formula"},
                  {"registers", "length_at_most", "at_most"});
  Refutation r;
  if (const auto counts = json.find("registers")) {
    if (!split) counts->fail("needs a register split");
    r.counts = read_counts(*counts, *split);
  }
  r.about = static_cast<About>(json.at("about").choice({kAbout[0], kAbout[1], kAbout[2]}));
  r.ii = json.at("initiation_interval").integer(1, kMostInterval);
  r.deadline = json.integer_or("length_at_most", -1, 0, kMostLength);
  if (const auto limits = json.find("at_most"))
    for (const auto& [goal, most] : limits->members()) {
      parse_goal(problem, goal);
      r.limits.emplace_back(goal, most.integer(0, kMostLength));
    }
  r.encoding = json.at("encoding").text();
  const JsonValue formula = json.at("formula");
  const int ops = static_cast<int>(problem.ops.size());
  if (json.at("engine").choice({"order", "time_indexed", "cnf"}) == 0) {
    formula.check_keys(
        {"ii_low", "ii_high", "stages", "pinned", "share", "at_once", "handover", "exchange"},
        {"further_exchanges", "full_units_at", "full_units_after"});
    OrderRequest o;
    o.ii_low = formula.at("ii_low").integer(1, kMostInterval);
    o.ii_high = formula.at("ii_high").integer(1, kMostInterval);
    o.stages = formula.at("stages").integer(0, kMostStages);
    o.pinned = formula.at("pinned").small(-1, ops - 1);
    o.share = formula.at("share").integer(1, kMostShare);
    o.at_once = formula.at("at_once").boolean();
    o.deadline = r.deadline >= 0;
    o.handover = formula.at("handover").boolean();
    for (const JsonValue& image : formula.at("exchange").elements())
      o.exchange.push_back(image.small(0, ops - 1));
    if (formula.find("full_units_at")) {
      o.full_units.ii = formula.at("full_units_at").integer(1, kMostInterval);
      o.full_units.after = formula.at("full_units_after").integer(0, kMostRefinements);
    }
    if (const auto further = formula.find("further_exchanges"))
      for (const JsonValue& exchange : further->elements()) {
        std::vector<int>& images = o.further_exchanges.emplace_back();
        for (const JsonValue& image : exchange.elements())
          images.push_back(image.small(0, ops - 1));
      }
    r.request = std::move(o);
  } else {
    formula.check_keys(
        {"stages", "length_low", "length_high", "pinned", "detail", "lifetimes", "handover"});
    ModuloRequest m;
    m.ii = r.ii;
    m.stages = formula.at("stages").integer(1, kMostStages);
    m.length_low = formula.at("length_low").integer(0, kMostLength);
    m.length_high = formula.at("length_high").integer(-1, kMostLength);
    m.pinned = formula.at("pinned").small(-1, ops - 1);
    m.detail = formula.at("detail").small(0, 64);
    m.lifetimes = formula.at("lifetimes").boolean();
    m.handover = formula.at("handover").boolean();
    r.request = std::move(m);
  }
  return r;
}

// A name is made from what is refuted, so that it cannot say anything else, nor be a path.
void check_names(const Manifest& manifest, const JsonValue& refutations) {
  const std::vector<std::string> expected = refutation_names(manifest.refutations);
  std::set<std::string> seen;
  std::size_t i = 0;
  for (const JsonValue& refutation : refutations.elements()) {
    const JsonValue name = refutation.at("name");
    if (name.text() != expected[i]) name.fail("must be \"" + expected[i] + "\", what it refutes");
    if (!seen.insert(expected[i++]).second) name.fail("names must be unique");
  }
}

}  // namespace

std::string Manifest::hash_of(const std::string& file) const {
  for (const auto& [name, hash] : files)
    if (name == file) return hash;
  return "";
}

std::vector<std::string> refutation_names(std::span<const Refutation> refutations) {
  std::vector<std::string> names;
  std::vector<RegisterCounts> corners;  // numbered in the order of their refutations
  for (const Refutation& r : refutations) names.push_back(name_of(r, corners));
  return names;
}

std::string manifest_text(const Problem& problem, const Manifest& manifest) {
  JsonWriter json;
  json.begin_object();
  json.member("format", kFormat);
  json.member("version", kVersion);
  json.key("claims");
  json.begin_array();
  for (const Claim& claim : manifest.claims) {
    json.begin_object();
    json.member("says", claim.says);
    json.member("because", claim.because);
    json.end_object();
  }
  json.end_array();
  if (manifest.split) {
    json.key("register_split");
    say_split(json, problem, *manifest.split);
  }
  json.key("refutations");
  json.begin_array();
  for (std::size_t i = 0; i < manifest.refutations.size(); ++i)
    say_refutation(json, manifest.names[i], manifest.refutations[i]);
  json.end_array();
  json.key("sha256");
  json.begin_object();
  for (const auto& [name, hash] : manifest.files) json.member(name, hash);
  json.end_object();
  json.end_object();
  return std::move(json).file_text("manifest.json");
}

std::string problem_hash_of_manifest(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  document.root().check_format(kFormat, kVersion);
  return document.root().at("sha256").at("problem.json").text();
}

Manifest parse_manifest(const Problem& problem, std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  root.check_format(kFormat, kVersion);
  root.check_keys({"format", "version", "claims", "refutations", "sha256"}, {"register_split"});
  Manifest manifest;
  for (const JsonValue& claim : root.at("claims").elements()) {
    claim.check_keys({"says", "because"});
    manifest.claims.push_back({claim.at("says").text(), claim.at("because").text()});
  }
  if (const auto split = root.find("register_split")) manifest.split = read_split(problem, *split);
  for (const JsonValue& refutation : root.at("refutations").elements()) {
    manifest.refutations.push_back(read_refutation(problem, manifest.split, refutation));
    manifest.names.push_back(refutation.at("name").text());
  }
  check_names(manifest, root.at("refutations"));
  for (const auto& [name, hash] : root.at("sha256").members())
    manifest.files.emplace_back(name, hash.text());
  return manifest;
}

}  // namespace twill
