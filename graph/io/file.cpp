// POSIX files. A file is replaced by rename(2), the only way in which a reader never sees a part.
#include "graph/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "graph/error.hpp"

namespace twill {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw InputError(path, "", "", what + ": " + std::generic_category().message(error));
}

/// An open file, closed on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDERR_FILENO) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  /// close(2) with its error: some file systems report a failed write only here.
  int close() {
    const int number = number_;
    number_ = -1;
    return ::close(number);
  }

 private:
  int number_;
};

/// All bytes into `file`; 0 or the error.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Flushes a file or a directory to its medium; not every file system can, and that is no error.
int flush(int file) {
  while (::fsync(file) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
  }
  return 0;
}

/// Creates a new file in `directory` with the permissions that the umask leaves. The name does not
/// depend on the target's, which may already be as long as the file system allows.
int create_beside(const std::filesystem::path& directory, std::string& name) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    name = (directory / (".twill-" + std::to_string(::getpid()) + "-" +
                         std::to_string(counter.fetch_add(1)) + ".tmp"))
               .string();
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Is this one of the process's own descriptors by name, as a shell's <(COMMAND) gives it?
bool is_open_already(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

const char* file_kind(mode_t mode) {
  return S_ISFIFO(mode) ? "a named pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/// A device or a pipe cannot be replaced: it is written to.
void write_through(const std::string& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) fail(path, "cannot be written", errno);
  if (const int error = write_all(file.number(), bytes)) fail(path, "cannot be written", error);
}

}  // namespace

std::string read_file(const std::string& path) {
  const bool standard_input = path == "-";
  // A named pipe that nobody writes to is opened at once only so; files do not care.
  const Descriptor file(standard_input
                            ? STDIN_FILENO
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const std::string shown = standard_input ? "standard input" : path;
  if (file.number() < 0) fail(shown, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail(shown, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) fail(shown, "cannot be read", EISDIR);
  if (!standard_input && !S_ISREG(status.st_mode)) {
    if (!is_open_already(path))
      throw InputError(shown, "", file_kind(status.st_mode),
                       "must be a regular file; - reads standard input");
    const int flags = ::fcntl(file.number(), F_GETFL);
    if (flags < 0 || ::fcntl(file.number(), F_SETFL, flags & ~O_NONBLOCK) != 0)
      fail(shown, "cannot be read", errno);
  }
  std::string bytes;
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    if (static_cast<std::uintmax_t>(status.st_size) > kMaxBytes)
      throw InputError(shown, "", std::to_string(status.st_size) + " bytes",
                       "files must be at most 256 MiB");
    bytes.reserve(static_cast<std::size_t>(status.st_size));
  }
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.number(), block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(shown, "cannot be read", errno);
    if (count == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(count) > kMaxBytes)
      throw InputError(shown, "", "more", "files must be at most 256 MiB");
    bytes.append(block, static_cast<std::size_t>(count));
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  namespace fs = std::filesystem;
  // Through a symbolic link the file it points to is replaced, not the link.
  std::error_code ignored;
  fs::path target = path;
  if (fs::is_symlink(target, ignored)) {
    const fs::path resolved = fs::weakly_canonical(target, ignored);
    if (!ignored) target = resolved;
  }
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) fail(path, "cannot be written", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) return write_through(path, bytes);

  const fs::path directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::string temporary;
  Descriptor file(create_beside(directory, temporary));
  if (file.number() < 0) fail(path, "cannot create a file in its directory", errno);
  int error = write_all(file.number(), bytes);
  if (error == 0 && exists && ::fchmod(file.number(), old.st_mode & 07777) != 0) error = errno;
  if (error == 0) error = flush(file.number());
  if (file.close() != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail(path, "cannot be written", error);
  }
  // The new name survives a power cut only once the directory is flushed. The file itself is
  // complete by now, so a directory that cannot be opened for this is no failure.
  const Descriptor entry(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (entry.number() >= 0) flush(entry.number());
}

}  // namespace twill
