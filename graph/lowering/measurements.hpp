// Measurements of a device (twill.measurements, version 1): how many cycles known work took, each
// repetition apart. bench/gpu's gpu_bench_costs writes them.
//
//   {"format": "twill.measurements", "version": 1, "device": "NVIDIA H200", "clock_mhz": 1980,
//    "toolkit": "CUDA 13.0", "date": "2026-11-23",
//    "samples": [
//      {"rule": "exp2", "part": "cycles", "shape": [64, 128], "type": "f32", "cycles": [512, 515]},
//      {"channel": "SMEM", "amount": 65536, "cycles": [520, 519]},
//      {"handover": "registers", "bytes": 16384, "cycles": [322, 330]},
//      {"handover": "memory", "cycles": [31, 30]}]}
//
// A sample is of a rule's part (cycles, occupancy or latency) for a tile on the rule's width or its
// own, of a channel that moved an amount, or of a hand-over to another slot: of a result in
// registers, of so many bytes in all threads, or of the signal for a result that lies in a memory.
// Schema: graph/schema/measurements.schema.json. Private to graph/*.cpp and the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lowering/kernel.hpp"

namespace twill {

struct Sample {
  enum Kind { rule, channel, handover, signal } kind = rule;
  std::string name;               ///< of the rule or the channel
  std::string part;               ///< of a rule: "cycles", "occupancy", "latency"
  Tile tile;                      ///< of a rule
  std::optional<int> width = {};  ///< of a rule: hardware warps; unset = the rule's
  std::int64_t amount = 0;        ///< of a channel; bytes of a hand-over
  std::vector<double> cycles;     ///< of each repetition, > 0, ascending
};

struct Measurements {
  std::string source;  ///< file name for messages
  std::string device, toolkit;
  std::string date;             ///< YYYY-MM-DD
  std::int64_t clock_mhz = 0;   ///< of the SMs while it was measured
  std::vector<Sample> samples;  ///< at least one
};

/// Strict reading; throws InputError with the JSON pointer, the value and the rule.
Measurements parse_measurements(std::string_view text, const std::string& source);

}  // namespace twill
