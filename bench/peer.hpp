// Another solver, run on a question: one written as SMT-LIB 2, a problem file with I and L, or the
// modulo-scheduling program as a linear program.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/process.hpp"
#include "graph/problem.hpp"

namespace twill::bench {

struct Peer {
  enum class Reads {
    smtlib,         ///< a file
    problem,        ///< a problem file, I and L; prints the schedule
    linear_program  ///< a file, the smallest L at I under dependences and units
  };
  std::string name;                  ///< yices-smt2, z3, cp-sat, cbc
  std::vector<std::string> command;  ///< what to run; empty = not found
  std::string version;               ///< the line of what the program prints that has it
  Reads reads = Reads::smtlib;
};

/// Yices, Z3 and CBC where they are on the PATH, and CP-SAT where its Python package is installed
/// and this program's source folder, which holds the script cp_sat.py, is still there.
std::vector<Peer> find_peers(const std::stop_token& stop);

struct PeerAnswer {
  /// sat, unsat or unknown, as the solver said; "optimal N" of a linear program; else limit,
  /// stopped, "out of memory" or "failed: WHY".
  std::string verdict;
  double seconds = 0, cpu_seconds = 0;
  std::int64_t peak_bytes = 0;
  std::string model;  ///< the second line that a peer which reads problems prints: the schedule
  bool decided() const {
    return verdict == "sat" || verdict == "unsat" || verdict.starts_with("optimal ");
  }
};

/// The peer's answer to what the arguments name; everything from its start to its end counts.
PeerAnswer ask_peer(const Peer& peer, const std::vector<std::string>& arguments,
                    const ProcessLimits& limits, const std::stop_token& stop);

/// Puts the schedule that a peer printed before verify(): "" = it is one, no longer than `length`
/// at `ii`; else what is wrong with it.
std::string refusal_of(const PeerAnswer& answer, const Problem& problem, Cycle ii, Cycle length);

nlohmann::ordered_json to_json(const Peer& peer, const PeerAnswer& answer);

}  // namespace twill::bench
