#include <oneapi/tbb/version.h>

#include <algorithm>
#include <boost/version.hpp>
#include <string>

#include "engine/cadical.hpp"
#include "engine/cli/cli.hpp"

namespace twill::cli {

std::string version_text() {
  std::string boost = BOOST_LIB_VERSION;  // "1_74"
  std::replace(boost.begin(), boost.end(), '_', '.');
#if defined(__clang__)
  const std::string compiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
  const std::string compiler = "GCC " __VERSION__;
#else
  const std::string compiler = "another compiler";
#endif
  return std::string("Twill ") + version() + "\nCaDiCaL " + cadical_version() + "\nBoost " + boost +
         "\noneTBB " + TBB_runtime_version() + "\nCompiler " + compiler;
}

}  // namespace twill::cli
