// Another solver, run on a question written as SMT-LIB 2.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/process.hpp"

namespace twill::bench {

struct Peer {
  std::string name;     ///< yices-smt2, z3
  std::string path;     ///< "" = not on the PATH
  std::string version;  ///< the first line that --version prints
};

/// Yices and Z3, wherever they are on the PATH.
std::vector<Peer> find_peers(const std::stop_token& stop);

struct PeerAnswer {
  /// sat, unsat or unknown, as the solver said; else limit, stopped, "out of memory" or "failed:
  /// WHY".
  std::string verdict;
  double seconds = 0, cpu_seconds = 0;
  std::int64_t peak_bytes = 0;
  bool decided() const { return verdict == "sat" || verdict == "unsat"; }
};

/// The peer's answer on a file; everything from its start to its end counts.
PeerAnswer ask_peer(const Peer& peer, const std::string& file, const ProcessLimits& limits,
                    const std::stop_token& stop);

nlohmann::ordered_json to_json(const Peer& peer, const PeerAnswer& answer);

}  // namespace twill::bench
