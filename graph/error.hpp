// The one error type for bad input: file, place (JSON pointer), value found, rule broken.
#pragma once

#include <stdexcept>
#include <string>

namespace twill {

/// Thrown by everything that reads or checks input. what() is the whole message on one line:
/// "FILE: PLACE: found VALUE: RULE". The program exits with code 2 on it.
class InputError : public std::runtime_error {
 public:
  InputError(std::string file, std::string place, std::string value, std::string rule);
  const std::string& file() const { return file_; }
  const std::string& place() const { return place_; }
  const std::string& value() const { return value_; }
  const std::string& rule() const { return rule_; }

 private:
  std::string file_, place_, value_, rule_;
};

}  // namespace twill
