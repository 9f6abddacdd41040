// Files are read whole and written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace twill {

/// The bytes of a regular file, or of what is open already: "-" = standard input, /dev/stdin,
/// /dev/fd/N. Throws InputError when it cannot be read, is a folder, a device or a named pipe
/// (which might never end or begin), or is larger than 256 MiB.
std::string read_file(const std::string& path);

/// Writes a temporary file beside `path`, flushes it and renames it over `path`, so that a reader
/// sees the old content or the new, never a part. An existing file's permissions are kept, a
/// symbolic link is followed, and what is no regular file (/dev/stdout, a pipe) is written to
/// directly. Throws InputError when that fails; the temporary file is then removed.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace twill
