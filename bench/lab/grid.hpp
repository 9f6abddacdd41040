// Sets of encodings by pattern, all from the one table of encodings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twill::bench {

/// "start=order|direct,pb=*;amo=ladder": patterns separated by ';', each the product of its keys'
/// values ('|' between them, '*' = all of the table), as full texts of encoding_text(), without
/// repeats, in the order given. "quick" and "default" are the built-in grids. Throws InputError.
std::vector<std::string> expand_encodings(std::string_view text);

/// The patterns of a built-in grid.
std::string grid_patterns(std::string_view grid);

}  // namespace twill::bench
