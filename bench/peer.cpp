#include "bench/peer.hpp"

#include "graph/json_text.hpp"

namespace twill::bench {
namespace {

constexpr double kVersionSeconds = 10;
constexpr const char* kCpSat = TWILL_BENCH_FOLDER "/cp_sat.py";

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

std::string verdict_of(const ProcessResult& process) {
  std::string line = first_line(process.out);
  if (line == "sat" || line == "unsat") return line;
  if (process.end == ProcessResult::End::limit) return "limit";
  if (process.end == ProcessResult::End::stopped) return "stopped";
  for (const std::string* text : {&process.out, &process.err}) {
    if (contains(*text, "memory") || contains(*text, "bad_alloc")) return "out of memory";
  }
  if (line == "unknown") return line;
  if (process.end == ProcessResult::End::signalled) {
    return "failed: signal " + std::to_string(process.code);
  }
  const std::string why = line.empty() ? first_line(process.err) : line;
  return "failed: " + (why.empty() ? "exit code " + std::to_string(process.code) : one_line(why));
}

}  // namespace

std::vector<Peer> find_peers(const std::stop_token& stop) {
  std::vector<Peer> peers = {{"yices-smt2", {find_program("yices-smt2")}, ""},
                             {"z3", {find_program("z3")}, ""},
                             {"cp-sat", {find_program("python3"), kCpSat}, "", false}};
  for (Peer& peer : peers) {
    std::vector<std::string> line = peer.command;
    line.emplace_back("--version");
    ProcessLimits limits;
    limits.wall_seconds = kVersionSeconds;
    ProcessResult told;
    if (!line.front().empty()) told = run_process(line, limits, stop);
    peer.version = one_line(first_line(told.out));
    const bool runs = told.end == ProcessResult::End::exited && told.code == 0;
    if (line.front().empty() || !runs) peer.command.clear();
  }
  return peers;
}

PeerAnswer ask_peer(const Peer& peer, const std::vector<std::string>& arguments,
                    const ProcessLimits& limits, const std::stop_token& stop) {
  std::vector<std::string> line = peer.command;
  line.insert(line.end(), arguments.begin(), arguments.end());
  const ProcessResult process = run_process(line, limits, stop);
  return {verdict_of(process), process.seconds, process.cpu_seconds, process.peak_bytes};
}

nlohmann::ordered_json to_json(const Peer& peer, const PeerAnswer& answer) {
  return {{"solver", peer.name},
          {"version", peer.version},
          {"verdict", answer.verdict},
          {"wall_seconds", answer.seconds},
          {"cpu_seconds", answer.cpu_seconds},
          {"peak_bytes", answer.peak_bytes}};
}

}  // namespace twill::bench
