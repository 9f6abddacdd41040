// The loops of TTGIR modules as problems: as they are, sub-tiled, unrolled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cli/workload.hpp"

namespace twill::bench {

struct ModuleLoops {
  std::vector<std::string> inputs;        ///< TTGIR modules, and folders of them
  std::vector<int> subtiles = {1, 2, 4};  ///< ways along M
  std::vector<int> unrolls = {1, 2, 4};   ///< iterations in one
  bool outer = true;                      ///< loops around others too
  bool all_layouts = false;               ///< else the first of the machine that holds the loop
  std::vector<std::string> only;          ///< names; empty = all
};

/// A loop on a layout.
struct ModuleLoop {
  /// MODULE of the loop that is taken by default, MODULE@N of loop N; then +subtile2, +x4 (unrolled
  /// four times), and :LAYOUT where all layouts are asked.
  std::string name;
  Lowered lowered;
};

/// The modules of the source tree, where that is still there.
std::string module_folder();

/// Each loop, in the order of names of modules, then as in the module, then by sub-tiles, then by
/// copies; `refused` gets the name and the reason of those that cannot be lowered so. Ends where
/// `take` says false. Throws InputError for what is no TTGIR module.
void each_module_loop(const ModuleLoops& which, const std::function<bool(ModuleLoop)>& take,
                      const std::function<void(const std::string&, const std::string&)>& refused);

}  // namespace twill::bench
