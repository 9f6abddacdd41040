// Where the operands of a program's ops lie: its meaning seen through its storages. For the
// executor and for whoever joins a meaning to a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/program/program.hpp"

namespace twill::program {

struct Links {
  std::vector<std::vector<int>> values;  ///< per op, those it runs, each after what it uses
  std::vector<int> result;               ///< per op, the last of them: what its storages hold
  std::vector<int> runner;               ///< per value of the loop, the op; -1 = it is a view
};

/// Why the program cannot be executed; nullopt = it can, and `links` is filled. It has no meaning,
/// an op has none, an operand is in no storage that the op reads, or a storage has not the bytes.
/// Of the program valid indices are assumed, of its meaning what read_meaning() sees to.
std::optional<std::string> link(const Program& program, Links& links);

/// Storages among the reads of `op` that hold what op `from` made `distance` iterations before.
std::vector<int> storages_read(const Program& program, int op, int from, int distance);

/// Bytes of a copy: tensor memory has 128 lanes of 4 bytes a column, other memories count bytes.
Amount bytes_of(const Program& program, const Storage& storage);

}  // namespace twill::program
