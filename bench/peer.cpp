#include "bench/peer.hpp"

#include <cmath>
#include <cstdlib>

#include "graph/io/json_text.hpp"
#include "graph/schedule.hpp"
#include "graph/verify.hpp"

namespace twill::bench {
namespace {

constexpr double kVersionSeconds = 60;  // Python packages load slowly on a busy machine
constexpr const char* kCpSat = TWILL_BENCH_FOLDER "/cp_sat.py";

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// The first line with `part`, from there on; "" = none has it.
std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  return at == std::string::npos ? "" : first_line(text.substr(at));
}

/// What CBC says of a linear program: "optimal N", "unsat" or "".
std::string optimum_of(const std::string& out) {
  if (contains(out, "Result - Problem proven infeasible")) return "unsat";
  const std::string name = "Objective value:", line = line_with(out, name);
  if (!contains(out, "Result - Optimal solution found") || line.empty()) return "";
  return "optimal " + std::to_string(std::llround(std::atof(line.c_str() + name.size())));
}

std::string verdict_of(const Peer& peer, const ProcessResult& process) {
  std::string line = first_line(process.out);
  if (peer.reads == Peer::Reads::linear_program) {
    line = optimum_of(process.out);
    if (!line.empty()) return line;
    // It minds a limit of CPU time itself, as far as it notices.
    if (contains(process.out, "Result - Stopped on time limit")) return "limit";
    line = line_with(process.out, "Result - ");
  }
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
  using Reads = Peer::Reads;
  std::vector<Peer> peers = {{"yices-smt2", {find_program("yices-smt2")}, ""},
                             {"z3", {find_program("z3")}, ""},
                             {"cp-sat", {find_program("python3"), kCpSat}, "", Reads::problem},
                             {"cbc", {find_program("cbc")}, "", Reads::linear_program}};
  for (Peer& peer : peers) {
    std::vector<std::string> line = peer.command;
    // CBC has no --version: it greets whatever it is asked.
    line.emplace_back(peer.reads == Reads::linear_program ? "-quit" : "--version");
    ProcessLimits limits;
    limits.wall_seconds = kVersionSeconds;
    ProcessResult told;
    if (!line.front().empty()) told = run_process(line, limits, stop);
    peer.version = one_line(first_line(told.out));
    if (const std::string at = line_with(told.out, "Version: ");
        peer.reads == Reads::linear_program && !at.empty())
      peer.version = "CBC " + one_line(at.substr(at.find(' ') + 1));
    peer.version.erase(peer.version.find_last_not_of(' ') + 1);
    const bool runs = told.end == ProcessResult::End::exited && told.code == 0;
    if (line.front().empty() || !runs) peer.command.clear();
  }
  return peers;
}

PeerAnswer ask_peer(const Peer& peer, const std::vector<std::string>& arguments,
                    const ProcessLimits& limits, const std::stop_token& stop) {
  std::vector<std::string> line = peer.command;
  line.insert(line.end(), arguments.begin(), arguments.end());
  // No gap may be left: the smallest L is asked for.
  if (peer.reads == Peer::Reads::linear_program)
    for (const char* word : {"-ratioGap", "0", "-allowableGap", "0", "-solve", "-quit"})
      line.emplace_back(word);
  const ProcessResult process = run_process(line, limits, stop);
  PeerAnswer answer{verdict_of(peer, process), process.seconds, process.cpu_seconds,
                    process.peak_bytes, ""};
  const std::size_t second = process.out.find('\n');
  if (peer.reads == Peer::Reads::problem && second != std::string::npos)
    answer.model = first_line(process.out.substr(second + 1));
  return answer;
}

std::string refusal_of(const PeerAnswer& answer, const Problem& problem, Cycle ii, Cycle length) {
  const auto json = nlohmann::json::parse(answer.model, nullptr, false);
  if (!json.is_object() || !json.contains("ops") || !json["ops"].is_array() ||
      json["ops"].size() != problem.ops.size())
    return "no schedule of every op: " + quote(answer.model);
  Schedule schedule;
  schedule.initiation_interval = ii;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const auto& op = json["ops"][v];
    if (!op.is_object() || !op.contains("id") || op["id"] != problem.ops[v].id ||
        !op.contains("start") || !op["start"].is_number_integer() || !op.contains("warp"))
      return "no start and slot of " + quote(problem.ops[v].id) + ": " + quote(op.dump());
    schedule.start.push_back(op["start"].get<Cycle>());
    int slot = -1;  // verify() refuses what is no slot
    for (std::size_t w = 0; w < problem.warps.size(); ++w)
      if (op["warp"] == problem.warps[w].name) slot = static_cast<int>(w);
    schedule.warp.push_back(slot);
  }
  schedule.length = schedule_length(problem, schedule.start);
  if (const auto violation = verify(problem, schedule))
    return violation->rule + ": " + violation->text;
  if (schedule.length > length)
    return "length " + std::to_string(schedule.length) + " > " + std::to_string(length);
  return "";
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
