#include "engine/certificate/tiles_manifest.hpp"

#include "graph/io/json_reader.hpp"
#include "graph/io/json_writer.hpp"

namespace twill {
namespace {

constexpr const char* kTilesFormat = "twill.tiles-certificate";
constexpr int kTilesVersion = 1;
// As many as lower_tiles() can give, with the layouts of a machine file.
constexpr std::size_t kMostChoices = 1'000'000;

void say_pairs(JsonWriter& json, const std::vector<std::pair<std::string, std::string>>& values) {
  json.begin_array();
  for (const auto& [name, value] : values) json.value(std::vector<std::string>{name, value});
  json.end_array();
}

std::vector<std::pair<std::string, std::string>> read_pairs(const JsonValue& value) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const JsonValue& pair : value.elements_up_to(kMaxParameterValues)) {
    const auto both = pair.elements(2);
    values.emplace_back(both[0].text(), both[1].text());
  }
  return values;
}

const char* reading_text(Reading reading) {
  return reading == Reading::of_file ? "of file"
                                     : (reading == Reading::paper ? "paper" : "machine");
}

void say_options(JsonWriter& json, const LowerOptions& options) {
  json.begin_object();
  json.key("values");
  say_pairs(json, options.values);
  json.member("layout", options.layout);
  json.key("set");
  say_pairs(json, options.set);
  json.member("reading", reading_text(options.reading));
  if (options.holds) json.member("holds", *options.holds);
  if (options.rings) json.member("rings", *options.rings);
  json.member("choose_registers", options.choose_registers);
  json.end_object();
}

LowerOptions read_options(const JsonValue& value) {
  value.check_keys({"values", "layout", "set", "reading", "choose_registers"}, {"holds", "rings"});
  LowerOptions options;
  options.values = read_pairs(value.at("values"));
  options.layout = value.at("layout").text();
  options.set = read_pairs(value.at("set"));
  constexpr Reading kReadings[] = {Reading::of_file, Reading::paper, Reading::machine};
  options.reading = kReadings[value.at("reading").choice({"of file", "paper", "machine"})];
  if (const auto holds = value.find("holds")) options.holds = holds->boolean();
  if (const auto rings = value.find("rings")) options.rings = rings->boolean();
  options.choose_registers = value.at("choose_registers").boolean();
  return options;
}

}  // namespace

std::string choice_folder(std::size_t number) {
  return "choices/" + std::to_string(number);
}

std::string tiles_manifest_text(const TilesManifest& manifest) {
  JsonWriter json;
  json.begin_object();
  json.member("format", kTilesFormat);
  json.member("version", kTilesVersion);
  json.member("kernel_sha256", manifest.kernel);
  json.member("machine_sha256", manifest.machine);
  json.key("options");
  say_options(json, manifest.options);
  json.member("work_unit", manifest.work_unit);
  if (manifest.best) json.member("best", *manifest.best);
  json.key("choices");
  json.begin_array();
  for (const TilesManifest::Choice& choice : manifest.choices) {
    json.begin_object();
    json.key("values");
    say_pairs(json, choice.values);
    json.member("layout", choice.layout);
    json.member("work", choice.work);
    if (choice.misfit.empty())
      json.member("manifest_sha256", choice.manifest);
    else
      json.member("cannot_hold", choice.misfit);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).file_text(kTilesFile);
}

TilesManifest parse_tiles_manifest(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  root.check_format(kTilesFormat, kTilesVersion);
  root.check_keys(
      {"format", "version", "kernel_sha256", "machine_sha256", "options", "work_unit", "choices"},
      {"best"});
  TilesManifest manifest;
  manifest.kernel = root.at("kernel_sha256").text();
  manifest.machine = root.at("machine_sha256").text();
  manifest.options = read_options(root.at("options"));
  manifest.work_unit = root.at("work_unit").text();
  for (const JsonValue& value : root.at("choices").elements_up_to(kMostChoices)) {
    value.check_keys({"values", "layout", "work"}, {"manifest_sha256", "cannot_hold"});
    TilesManifest::Choice choice;
    choice.values = read_pairs(value.at("values"));
    choice.layout = value.at("layout").text();
    choice.work = value.at("work").integer(1, kMaxAmount);
    if (value.has("manifest_sha256") == value.has("cannot_hold"))
      value.fail("must have either manifest_sha256 or cannot_hold");
    if (value.has("cannot_hold")) {
      choice.misfit = value.at("cannot_hold").text();
      if (choice.misfit.empty()) value.at("cannot_hold").fail("must not be empty");
    } else {
      choice.manifest = value.at("manifest_sha256").text();
    }
    manifest.choices.push_back(std::move(choice));
  }
  if (const auto best = root.find("best"))
    manifest.best = static_cast<std::size_t>(
        best->integer(0, static_cast<std::int64_t>(manifest.choices.size()) - 1));
  return manifest;
}

}  // namespace twill
