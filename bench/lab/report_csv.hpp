// The data of a report as CSV: a header line each, texts quoted where they must be.
#pragma once

#include <string>
#include <vector>

#include "bench/lab/rows.hpp"
#include "bench/lab/score.hpp"
#include "bench/lab/significance.hpp"

namespace twill::bench {

std::string scores_csv(const Scores& scores, const Significance& comparison);
/// Every contestant's times on what it solved, ascending.
std::string cactus_csv(const Scores& scores);
std::string pairs_csv(const Scores& scores, const Significance& comparison);
std::string ranks_csv(const Scores& scores, const Significance& comparison);
std::string choices_csv(const Significance& comparison);
/// Every row, nested keys joined by dots, columns in the order in which they first occur.
std::string rows_csv(const std::vector<Row>& rows);

}  // namespace twill::bench
