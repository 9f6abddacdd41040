#include "tests/support/random_tiles.hpp"

#include "tests/support/random_loop.hpp"

namespace twill::test {

const char* const kTileMachine = R"({
  "format": "twill.machine", "version": 1, "name": "m",
  "units": {"U": 1, "V": 2},
  "memories": {},
  "spill": {"base": 1, "per_line": 1, "line_bytes": 512},
  "layouts": [
    {"name": "two", "slots": [{"name": "w0", "width": 4, "registers": 6},
                              {"name": "w1", "width": 4, "registers": 6}]},
    {"name": "one", "slots": [{"name": "w0", "width": 4, "registers": 9}]},
    {"name": "less", "slots": [{"name": "w0", "width": 4, "registers": 5},
                               {"name": "w1", "width": 4, "registers": 3}]}],
  "rules": {"none": {"width": 4, "result": "none"}}})";

namespace {

std::string number(Random& random, bool copies) {
  std::string a = random.percent(50) ? "x" : "y";
  switch (random.range(0, copies ? 5 : 4)) {
    case 0: return std::to_string(random.range(1, 3));
    case 1: return a;
    case 2: return a + " + " + std::to_string(random.range(0, 2));
    case 3: return "max(x, y)";
    case 4: return "min(x + 1, 2 * y)";
    default: return "i + 1";
  }
}

std::string op(Random& random, const std::string& id, bool copies) {
  std::string text = "{\"id\": \"" + id + "\", \"cost\": {\"unit\": \"" +
                     (random.percent(50) ? "U" : "V") + "\", \"cycles\": \"" +
                     number(random, copies) + "\"}, \"width\": 4";
  if (random.percent(70))
    text += ", \"result\": \"registers\", \"registers\": \"" + number(random, copies) + "\"";
  return text + "}";
}

}  // namespace

std::string random_tile_kernel(std::uint64_t seed) {
  Random random(seed);
  const bool third = random.percent(50);
  std::string text = R"({"format": "twill.kernel", "version": 3, "name": "k", "parameters": {
    "x": {"values": [)" +
                     std::string(third ? "1, 2, 4" : "3, 1") +
                     R"(], "default": 1}, "y": {"values": [1, 2], "default": 1},
    "n": {"values": [)" +
                     std::string(random.percent(50) ? "1, 2" : "2, 1") + R"(], "default": 1}},)";
  if (random.percent(40)) text += R"("where": ["x + n <= 4"],)";
  const char* const works[] = {"x * y * n", "x + y", "n * (x + 1)", "12", "x * n"};
  text +=
      "\"work\": \"" + std::string(works[random.range(0, 4)]) + "\", \"work_unit\": \"things\",";
  const std::int64_t lone = random.range(1, 2), group = random.range(1, 3);
  text += "\"ops\": [";
  for (std::int64_t v = 0; v < lone; ++v) text += op(random, "a" + std::to_string(v), false) + ", ";
  text += R"({"for_each": {"i": "n"}, "ops": [)";
  for (std::int64_t v = 0; v < group; ++v)
    text += (v > 0 ? ", " : "") + op(random, "g{i}_" + std::to_string(v), true);
  text += "]}], \"edges\": [";
  for (std::int64_t v = 1; v < lone; ++v)
    text +=
        R"({"from": "a)" + std::to_string(v - 1) + R"(", "to": "a)" + std::to_string(v) + "\"}, ";
  if (random.percent(60)) text += R"({"from": "a0", "to": "a0", "distance": "y"}, )";
  text += R"({"for_each": {"i": "n"}, "edges": [{"from": "a)" + std::to_string(lone - 1) +
          R"(", "to": "g{i}_0"})";
  for (std::int64_t v = 1; v < group; ++v)
    text += R"(, {"from": "g{i}_)" + std::to_string(v - 1) + R"(", "to": "g{i}_)" +
            std::to_string(v) + "\"" + (random.percent(30) ? R"(, "blocking": true)" : "") +
            (random.percent(30) ? R"(, "hold": "y - 1")" : "") + "}";
  if (random.percent(50))
    text += ", {\"from\": \"g{i}_" + std::to_string(group - 1) +
            "\", \"to\": \"a0\", \"distance\": \"max(1, x - 1)\"}";
  return text + "]}]}";
}

}  // namespace twill::test
