// Another solver, run on a question: one written as SMT-LIB 2, or a problem file with I and L.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/process.hpp"

namespace twill::bench {

struct Peer {
  std::string name;                  ///< yices-smt2, z3, cp-sat
  std::vector<std::string> command;  ///< what to run; empty = not found
  std::string version;               ///< the first line that --version prints
  bool reads_smtlib = true;          ///< else: problem file, I and L
};

/// Yices and Z3 where they are on the PATH, and CP-SAT where its Python package is installed and
/// this program's source folder, which holds the script cp_sat.py, is still there.
std::vector<Peer> find_peers(const std::stop_token& stop);

struct PeerAnswer {
  /// sat, unsat or unknown, as the solver said; else limit, stopped, "out of memory" or "failed:
  /// WHY".
  std::string verdict;
  double seconds = 0, cpu_seconds = 0;
  std::int64_t peak_bytes = 0;
  bool decided() const { return verdict == "sat" || verdict == "unsat"; }
};

/// The peer's answer to what the arguments name; everything from its start to its end counts.
PeerAnswer ask_peer(const Peer& peer, const std::vector<std::string>& arguments,
                    const ProcessLimits& limits, const std::stop_token& stop);

nlohmann::ordered_json to_json(const Peer& peer, const PeerAnswer& answer);

}  // namespace twill::bench
