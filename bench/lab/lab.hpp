// The encodings laboratory: subcommands of `twill bench` that compare encodings on the same
// questions. `instances` writes the questions, `run` takes them through the solver one row a
// process (`chain` one loop's lengths), `check` proves the rows, `report` makes tables and plots of
// them, `export` and `import` take the questions to other solvers and back, `list` says what there
// is.
#pragma once

#include "engine/cli/cli.hpp"

namespace twill::bench {

cli::Command list_command(CLI::App& bench);
cli::Command instances_command(CLI::App& bench);
cli::Command run_command(CLI::App& bench);
cli::Command trial_command(CLI::App& bench);
cli::Command chain_command(CLI::App& bench);
cli::Command check_command(CLI::App& bench);
cli::Command report_command(CLI::App& bench);
cli::Command export_command(CLI::App& bench);
cli::Command import_command(CLI::App& bench);

}  // namespace twill::bench
