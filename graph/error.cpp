#include "graph/error.hpp"

#include <utility>

namespace twill {
namespace {
std::string compose(const std::string& file, const std::string& place, const std::string& value,
                    const std::string& rule) {
  std::string text = file;
  if (!place.empty()) text += ": " + place;
  if (!value.empty()) text += ": found " + value;
  return text + ": " + rule;
}
}  // namespace

InputError::InputError(std::string file, std::string place, std::string value, std::string rule)
    : std::runtime_error(compose(file, place, value, rule)),
      file_(std::move(file)),
      place_(std::move(place)),
      value_(std::move(value)),
      rule_(std::move(rule)) {}

}  // namespace twill
