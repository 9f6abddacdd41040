// Attributes put into a module's text; everything else stays byte for byte.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

class Editor {
 public:
  explicit Editor(const Module& module) : m_(module) {}

  /// Sets an attribute of an op; value "" = a unit attribute. One that is there is replaced.
  void set(int op, const std::string& name, const std::string& value);

  /// The module's text with all that was set.
  std::string text() const;

 private:
  const Module& m_;
  std::map<int, std::vector<std::pair<std::string, std::string>>> added_;  ///< per op, in order
};

}  // namespace twill::ttgir
