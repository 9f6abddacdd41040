#include "graph/bounds/channel_bounds.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cassert>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "graph/accepted.hpp"
#include "graph/index.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

// Denominators are anything up to kMaxAmount, so that a sum's can have as many digits as there are
// ops. (Boost, because exact rationals of any size are not what this project is about.)
using Whole = boost::multiprecision::cpp_int;

// What passes through a channel, over one denominator.
struct Moved {
  Whole numerator = 0, denominator = 1;
};

Moved moved(const Problem& problem, int channel) {
  std::map<Amount, Wide> by_denominator;  // 10,000 amounts of 10^12 are no more than 128 bits
  for (const Op& op : problem.ops)
    for (const Traffic& t : op.traffic)
      if (t.channel == channel) by_denominator[t.amount.denominator] += t.amount.numerator;
  Moved sum;
  // Of a large and a small number the greatest common divisor is found after one division.
  for (const auto& [denominator, numerator] : by_denominator) {
    const auto rest = static_cast<Amount>(sum.denominator % denominator);
    const Amount common = std::gcd(rest, denominator);
    sum.denominator *= denominator / common;
  }
  for (const auto& [denominator, numerator] : by_denominator)
    sum.numerator += Whole(numerator) * (sum.denominator / denominator);
  return sum;
}

// "2 x 65536 + 1/3": equal amounts are counted, larger ones first.
std::string sum_text(const Problem& problem, int channel) {
  std::map<std::pair<Amount, Amount>, int> counts;
  for (const Op& op : problem.ops)
    for (const Traffic& t : op.traffic)
      if (t.channel == channel && t.amount.numerator > 0)
        ++counts[{t.amount.numerator, t.amount.denominator}];
  std::vector<std::pair<Fraction, int>> terms;
  for (const auto& [amount, count] : counts)
    terms.push_back({{amount.first, amount.second}, count});
  std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return Wide{a.first.numerator} * b.first.denominator >
           Wide{b.first.numerator} * a.first.denominator;
  });
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, terms.size()); ++i)
    text += (i == 0 ? "" : " + ") +
            (terms[i].second > 1 ? std::to_string(terms[i].second) + " x " : std::string()) +
            fraction_text(terms[i].first);
  if (terms.size() > kShown) text += " + " + std::to_string(terms.size() - kShown) + " more";
  return text;
}

}  // namespace

std::vector<ChannelUse> channel_uses(const Problem& problem) {
  assert(consistent(problem));
  std::vector<ChannelUse> uses;
  for (int c = 0; c < static_cast<int>(problem.channels.size()); ++c) {
    const Channel& channel = problem.channels[at(c)];
    const Moved sum = moved(problem, c);
    if (sum.numerator == 0) continue;
    const Whole amount = sum.numerator * channel.rate.denominator;
    const Whole per_cycle = sum.denominator * channel.rate.numerator;
    const Whole least = (amount + per_cycle - 1) / per_cycle;
    // Beyond what an interval can be, one more says the same: none.
    const Cycle value = least > kMaxInterval ? kMaxInterval + 1 : static_cast<Cycle>(least);
    std::string text = sum_text(problem, c);
    if (sum.denominator == 1 && text != sum.numerator.str()) text += " = " + sum.numerator.str();
    uses.push_back({c, value, text + " at " + fraction_text(channel.rate) + " a cycle"});
  }
  return uses;
}

std::vector<Bound> channel_bounds(const Problem& problem) {
  std::vector<Bound> bounds;
  for (const ChannelUse& use : channel_uses(problem))
    bounds.push_back({use.least, "channel",
                      problem.channels[at(use.channel)].name + ": " + use.sum + ": at least " +
                          std::to_string(use.least) + " cycles"});
  return bounds;
}

Cycle least_by_channels(const Problem& problem) {
  Cycle least = 1;
  for (const Bound& bound : channel_bounds(problem)) least = std::max(least, bound.value);
  return least;
}

double channel_load(const Problem& problem, int channel, Cycle ii) {
  const Fraction rate = problem.channels[at(channel)].rate;
  double sum = 0;
  for (const Op& op : problem.ops)
    for (const Traffic& t : op.traffic)
      if (t.channel == channel)
        sum += static_cast<double>(t.amount.numerator) / static_cast<double>(t.amount.denominator);
  return sum * static_cast<double>(rate.denominator) /
         (static_cast<double>(rate.numerator) * static_cast<double>(ii));
}

}  // namespace twill
