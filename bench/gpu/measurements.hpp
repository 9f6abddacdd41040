// The writer of measurements (twill.measurements, version 1: graph/schema/measurements.schema.json)
// for `twill machines --fit`. Plain C++ without the CUDA Toolkit, so that a test of the CPU builds
// it too.
#pragma once

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace twill::gpu::bench {

/// A JSON file as text, a sample a line. Texts are as the driver gives them: what JSON would have
/// to escape becomes a blank.
class MeasurementFile {
 public:
  MeasurementFile(const std::string& device, int clock_mhz, const std::string& toolkit,
                  const std::string& date) {
    text_ = "{\"format\": \"twill.measurements\", \"version\": 1, \"device\": " + quoted(device) +
            ",\n \"clock_mhz\": " + std::to_string(clock_mhz) +
            ", \"toolkit\": " + quoted(toolkit) + ", \"date\": " + quoted(date) +
            ",\n \"samples\": [";
  }

  /// Today, as the format has it.
  static std::string today() {
    char text[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
  }

  /// A part of a rule: "cycles", "occupancy" or "latency". `shape` as "64, 128"; `operands`: their
  /// element type where it is not that of the result.
  void rule(const std::string& kind, const std::string& part, const std::string& shape,
            const std::string& type, const std::vector<double>& cycles,
            const std::string& operands = "", int width = 0) {
    add("\"rule\": " + quoted(kind) + ", \"part\": " + quoted(part) + ", \"shape\": [" + shape +
            "], \"type\": " + quoted(type) +
            (operands.empty() ? "" : ", \"operand_type\": " + quoted(operands)) +
            (width == 0 ? "" : ", \"width\": " + std::to_string(width)),
        cycles);
  }

  void channel(const std::string& name, long long amount, const std::vector<double>& cycles) {
    add("\"channel\": " + quoted(name) + ", \"amount\": " + std::to_string(amount), cycles);
  }

  /// A result of so many bytes in registers, handed over.
  void handover(long long bytes, const std::vector<double>& cycles) {
    add("\"handover\": \"registers\", \"bytes\": " + std::to_string(bytes), cycles);
  }

  /// The signal for a result that lies in a memory.
  void signal(const std::vector<double>& cycles) { add("\"handover\": \"memory\"", cycles); }

  std::string text() const { return text_ + "\n]}\n"; }

 private:
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) result += c < ' ' || c > '~' || c == '"' || c == '\\' ? ' ' : c;
    return result + "\"";
  }

  void add(const std::string& what, const std::vector<double>& cycles) {
    text_ += std::string(any_ ? "," : "") + "\n  {" + what + ", \"cycles\": [";
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      char number[32];
      std::snprintf(number, sizeof number, "%.3f", cycles[i]);
      text_ += (i > 0 ? ", " : "") + std::string(number);
    }
    text_ += "]}";
    any_ = true;
  }

  std::string text_;
  bool any_ = false;
};

}  // namespace twill::gpu::bench
