// `bench row` and `bench ask` run as processes of their own, and what came back.
#pragma once

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/process.hpp"
#include "engine/include/twill.hpp"

namespace twill::bench {

/// A measurement: the JSON object that the process printed, "{}" when it printed none, with
/// wall_seconds, cpu_seconds and peak_bytes of the process added; "failure" says what went wrong
/// when the process did not end as it should.
using Measured = nlohmann::ordered_json;

/// Runs `twill ARGUMENTS` under `options` (threads, seed, encoding, limits). A process that
/// does not keep its time limit is ended a minute after it. Throws InputError with the process's
/// message when it refused its input.
Measured measure(const std::vector<std::string>& arguments, const Options& options,
                 const std::stop_token& stop);

/// The machines a built-in kernel is written for: the built-in machine whose name its own begins
/// with, as hopper for hopper-bwd; "" when there is none.
std::string usual_machine(const std::string& kernel);

/// The built-in attention kernels that are written for a built-in machine.
std::vector<std::string> attention_kernels();

/// The layouts of `machine` that can hold `kernel`, in the machine file's order. Both are built-in
/// names or files. Throws InputError.
std::vector<std::string> layouts_of(const std::string& kernel, const std::string& machine);

}  // namespace twill::bench
