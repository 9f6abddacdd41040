// Attributes put into a module's text; everything else stays byte for byte.
//
// A region whose terminator the printer leaves out (an scf.for or scf.if without results) has no op
// that an attribute could be put on: it gets its scf.yield written out, on a line of its own.
#pragma once

#include <map>
#include <set>
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

  /// Takes an attribute off an op; one that is not there is none. What is set is there all the
  /// same.
  void remove(int op, const std::string& name) { removed_[op].insert(name); }

  /// Writes out the scf.yield of a region that is printed without one, with one attribute.
  void terminate(int region, const std::string& name, const std::string& value);

  /// The module's text with all that was set; of a file with several modules, this one's alone.
  std::string text() const;

 private:
  bool is_removed(int op, const Attribute& attribute) const;

  const Module& m_;
  std::map<int, std::vector<std::pair<std::string, std::string>>> added_;  ///< per op, in order
  std::map<int, std::set<std::string>> removed_;                           ///< per op
  std::map<int, std::string> yields_;  ///< per region: the attribute as written
};

}  // namespace twill::ttgir
