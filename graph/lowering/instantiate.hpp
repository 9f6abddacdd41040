// A kernel file with parameters, and the plain kernel that it is at some values of them. Private to
// graph/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/io/json_reader.hpp"
#include "graph/lowering/expression.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/tiles.hpp"

namespace twill {

/// One value of each parameter, by its index.
using ParameterIndices = std::vector<std::size_t>;

/// A plain kernel, and where in the file its parts come from.
struct KernelInstance {
  Kernel kernel;
  /// Of each element of "ops", "edges", "chunks" and "pins" its JSON pointer in the file.
  std::vector<std::pair<std::string, std::vector<std::string>>> origins;
  std::string values;  ///< "rows = 128, keys = 176"

  /// The error with the place in the file and the values.
  InputError placed(const InputError& error) const;
};

/// Is it a kernel file with parameters? Throws InputError where it is no kernel file.
bool has_parameters(const JsonDocument& document);

class KernelTemplate {
 public:
  /// Of a file with parameters: reads them, and the kernel at their defaults. Throws InputError.
  explicit KernelTemplate(JsonDocument document);

  const KernelParameters& parameters() const { return parameters_; }
  const std::string& source() const { return document_.source(); }

  /// The indices of `values`, of the default where a parameter is not named. Throws InputError on a
  /// name or a value that the file has not.
  ParameterIndices indices(const ParameterValues& values) const;
  ParameterValues values(const ParameterIndices& indices) const;

  /// Are all conditions met ("where")? Throws InputError where one has no value.
  bool allowed(const ParameterIndices& indices) const;
  /// Of an iteration. Throws InputError where it is not from 1 to kMaxAmount.
  Amount work(const ParameterIndices& indices) const;
  /// The plain kernel. A function of the file and the values alone. Throws InputError.
  KernelInstance instantiate(const ParameterIndices& indices) const;

 private:
  void read_parameters();
  Scope scope(const ParameterIndices& indices) const;

  JsonDocument document_;
  KernelParameters parameters_;
};

}  // namespace twill
