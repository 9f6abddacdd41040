// twill bench list: what an experiment can be made of.
#include <iostream>
#include <memory>

#include "bench/lab/grid.hpp"
#include "bench/lab/lab.hpp"
#include "encoders/choose.hpp"
#include "engine/cadical.hpp"
#include "engine/include/twill.hpp"
#include "engine/include/twill_catalogue.hpp"
#include "graph/io/builtin.hpp"

namespace twill::bench {

cli::Command list_command(CLI::App& bench) {
  auto json = std::make_shared<bool>(false);
  CLI::App* app = bench.add_subcommand("list", "Encodings, grids and kernels to experiment with");
  app->add_flag("--json", *json, "As one JSON object");
  return {app, [json] {
            nlohmann::ordered_json all;
            all["twill"] = version();
            all["solver"] = {{"name", "cadical"}, {"version", cadical_version()}};
            all["encodings"] = nlohmann::ordered_json::parse(encodings_json());
            for (const char* grid : {"quick", "default"})
              all["grids"][grid] = {{"patterns", grid_patterns(grid)},
                                    {"encodings", expand_encodings(grid)}};
            all["kernels"] = builtin_kernels();
            all["machines"] = builtin_machines();
            if (*json) {
              std::cout << all.dump(2) << "\n";
              return static_cast<int>(cli::kDone);
            }
            for (const EncodingInfo& row : encoding_table()) {
              std::cout << row.key << "=" << row.value << "  [" << row.family << "]";
              if (!row.citation.empty()) std::cout << "  " << row.citation;
              if (!row.claim.empty()) std::cout << "; " << row.claim;
              if (!row.size.empty()) std::cout << "; " << row.size;
              std::cout << "\n";
            }
            for (const char* grid : {"quick", "default"})
              std::cout << "grid " << grid << ": " << expand_encodings(grid).size()
                        << " encodings, " << grid_patterns(grid) << "\n";
            return static_cast<int>(cli::kDone);
          }};
}

}  // namespace twill::bench
