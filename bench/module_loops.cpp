#include "bench/module_loops.hpp"

#include <algorithm>
#include <filesystem>

#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> module_files(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    if (!fs::exists(input))
      throw InputError("command line", "FILE", input, "must be a file or a folder that exists");
    if (!fs::is_directory(input)) {
      files.push_back(input);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(input))
      if (entry.path().extension() == ".ttgir") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    return std::pair(fs::path(a).stem(), a) < std::pair(fs::path(b).stem(), b);
  });
  return files;
}

/// A loop of a module: its number, and the name that it has here.
struct NamedLoop {
  int number = 0;
  std::string name;
};

/// The loop that is taken by default, then those around others.
std::vector<NamedLoop> named_loops(const std::string& file, bool outer) {
  const std::string stem = fs::path(file).stem().string();
  const ttgir::Module module = ttgir::parse_module(read_file(file), file);
  const std::vector<ttgir::LoopInfo> loops = ttgir::list_loops(module);
  const int usual = static_cast<int>(ttgir::choose_loop(module, loops, std::nullopt));
  std::vector<NamedLoop> named = {{usual, stem}};
  for (int n = 0; n < static_cast<int>(loops.size()) && outer; ++n)
    if (n != usual && !loops[static_cast<std::size_t>(n)].innermost)
      named.push_back({n, stem + "@" + std::to_string(n)});
  return named;
}

std::string name_of(const NamedLoop& loop, int subtile, int copies) {
  return loop.name + (subtile > 1 ? "+subtile" + std::to_string(subtile) : "") +
         (copies > 1 ? "+x" + std::to_string(copies) : "");
}

}  // namespace

std::string module_folder() {
  return TWILL_BENCH_FOLDER "/../graph/kernels/triton";
}

void each_module_loop(const ModuleLoops& which, const std::function<bool(ModuleLoop)>& take,
                      const std::function<void(const std::string&, const std::string&)>& refused) {
  const auto wanted = [&](const std::string& name) {
    const std::string loop = name.substr(0, name.find(':'));
    return which.only.empty() ||
           std::any_of(which.only.begin(), which.only.end(),
                       [&](const std::string& only) { return only == name || only == loop; });
  };
  const auto loops_of = [&](const std::string& file) {
    try {
      return named_loops(file, which.outer);
    } catch (const InputError& error) {
      refused(fs::path(file).stem().string(), error.what());
      return std::vector<NamedLoop>{};
    }
  };
  for (const std::string& file : module_files(which.inputs))
    for (const NamedLoop& loop : loops_of(file))
      for (const int subtile : which.subtiles)
        for (const int copies : which.unrolls) {
          const std::string name = name_of(loop, subtile, copies);
          const bool some =
              which.only.empty() ||
              std::any_of(which.only.begin(), which.only.end(),
                          [&](const auto& only) { return only.substr(0, only.find(':')) == name; });
          if (!some) continue;
          cli::WorkloadFlags flags;
          flags.input = file;
          flags.ttgir.loop = loop.number;
          flags.ttgir.subtile = std::to_string(subtile);
          flags.unroll = copies;
          std::vector<Lowered> problems;
          try {
            problems = cli::load(flags).problems;
          } catch (const InputError& error) {
            refused(name, error.what());
            continue;
          }
          if (!which.all_layouts) problems.resize(1);
          for (Lowered& lowered : problems) {
            const std::string full = name + (which.all_layouts ? ":" + lowered.layout : "");
            if (wanted(full) && !take({full, std::move(lowered)})) return;
          }
        }
}

}  // namespace twill::bench
