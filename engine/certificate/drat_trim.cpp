#include "engine/certificate/drat_trim.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "graph/error.hpp"
#include "graph/io/file.hpp"

extern char** environ;

namespace twill {
namespace {

// A temporary file with a name.
class NamedFile {
 public:
  NamedFile() {
    path_ = (std::filesystem::temp_directory_path() / "twill-proof-XXXXXX").string();
    const int number = ::mkstemp(path_.data());
    if (number < 0) throw InputError("temporary file", "proof", path_, "cannot be created");
    ::close(number);
  }
  ~NamedFile() { std::remove(path_.c_str()); }
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string text_of(const DratProof& proof) {
  std::string text;
  for (const DratProof::Step& step : proof.steps) {
    if (step.deletes) text += "d ";
    for (const int l : proof.clause(step)) text += std::to_string(l) + " ";
    text += "0\n";
  }
  return text;
}

}  // namespace

std::optional<std::string> find_drat_trim() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/drat-trim";
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

bool drat_trim_verifies(const std::string& program, const std::string& cnf_path,
                        const DratProof& proof) {
  const NamedFile steps, output;
  write_file(steps.path(), text_of(proof));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.path().c_str(), O_WRONLY, 0);
  std::string arguments[] = {program, cnf_path, steps.path(), "-t", "1000000"};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), arguments[4].data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw InputError(program, "program", "", "cannot be run");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return read_file(output.path()).find("s VERIFIED") != std::string::npos;
}

}  // namespace twill
