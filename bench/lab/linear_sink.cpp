#include "bench/lab/linear_sink.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace twill::bench {
namespace {

constexpr std::size_t kTermsALine = 16;  // LP readers allow lines of some hundred characters

}  // namespace

void LinearSink::add(Constraint constraint) {
  if (constraints_.size() % 1024 == 0 && budget_.spent()) throw Budget::Spent{};
  constraints_.push_back(std::move(constraint));
}

void LinearSink::add_clause(std::span<const int> literals) {
  Constraint c{{}, 1};
  for (const int l : literals) c.terms.emplace_back(1, l);
  if (literals.empty()) c = {{{1, 1}}, 2};  // never
  add(std::move(c));
}

bool LinearSink::add_sum(std::span<const int> literals, std::span<const std::int64_t> weights,
                         std::int64_t bound) {
  Constraint c{{}, -bound};
  for (std::size_t i = 0; i < literals.size(); ++i) c.terms.emplace_back(-weights[i], literals[i]);
  add(std::move(c));
  return true;
}

std::string LinearSink::opb(const std::vector<std::string>& comments) const {
  std::string out = "* #variable= " + std::to_string(variables_) +
                    " #constraint= " + std::to_string(constraints_.size()) + "\n";
  for (const std::string& line : comments) out += "* " + line + "\n";
  for (const Constraint& c : constraints_) {
    for (const auto& [weight, literal] : c.terms)
      out += (weight < 0 ? "" : "+") + std::to_string(weight) + (literal < 0 ? " ~x" : " x") +
             std::to_string(std::abs(literal)) + " ";
    out += ">= " + std::to_string(c.right) + " ;\n";
  }
  return out;
}

std::string LinearSink::ilp(const std::vector<std::string>& comments) const {
  std::string out;
  for (const std::string& line : comments) out += "\\ " + line + "\n";
  out += "Minimize\n obj: 0 x1\nSubject To\n";
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    const Constraint& c = constraints_[i];
    out += " c" + std::to_string(i + 1) + ":";
    std::int64_t right = c.right;
    std::map<int, std::int64_t> weights;  // readers refuse a variable that a row has twice
    for (const auto& [weight, literal] : c.terms) {
      if (literal < 0) right -= weight;
      weights[std::abs(literal)] += literal < 0 ? -weight : weight;
    }
    std::size_t written = 0;
    for (const auto& [variable, weight] : weights) {
      if (written > 0 && written % kTermsALine == 0) out += "\n ";
      ++written;
      out += (weight < 0 ? " - " : " + ") + std::to_string(std::abs(weight)) + " x" +
             std::to_string(variable);
    }
    out += " >= " + std::to_string(right) + "\n";
  }
  out += "Binary\n";
  // x1 stands in the objective, and in a clause without literals.
  for (int v = 1; v <= std::max(1, variables_); ++v) out += " x" + std::to_string(v) + "\n";
  return out + "End\n";
}

}  // namespace twill::bench
