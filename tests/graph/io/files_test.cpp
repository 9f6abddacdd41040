// Files as bytes: reading and writing whole files, SHA-256, and JSON syntax.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/io/sha256.hpp"
#include "graph/problem_io.hpp"
#include "graph/random.hpp"
#include "tests/support/file_samples.hpp"
#include "tests/support/temporary_directory.hpp"

namespace files_test {

using namespace twill;
using test::refusal;
using test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// Standard input from elsewhere, for as long as this lives.
class Input {
 public:
  explicit Input(int file) : saved_(::dup(STDIN_FILENO)) {
    REQUIRE(file >= 0);
    REQUIRE(::dup2(file, STDIN_FILENO) == STDIN_FILENO);
    ::close(file);
  }
  explicit Input(const std::string& path) : Input(::open(path.c_str(), O_RDONLY)) {}
  ~Input() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

 private:
  int saved_;
};

}  // namespace

TEST_CASE("sha256: vectors of FIPS 180-4 and NIST's examples") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
               "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu") ==
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(sha256(std::string(1, '\xbd')) ==
        "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

TEST_CASE("sha256: portable code and instructions agree, block by block") {
  Sha256Words start{};
  std::vector<unsigned char> data(9 * kSha256Block);
  SplitMix64 random(3);
  for (std::size_t blocks = 0; blocks <= 9; ++blocks) {
    CAPTURE(blocks);
    for (std::uint32_t& word : start) word = static_cast<std::uint32_t>(random.next());
    for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.next());
    Sha256Words portable = start, fast = start;
    sha256_blocks_portable(portable, data.data(), blocks);
    CHECK((portable == start) == (blocks == 0));
    if (!has_sha256_instructions()) {
      MESSAGE("this processor has no SHA extensions: skipped");
      return;
    }
    sha256_blocks_x86(fast, data.data(), blocks);
    CHECK(fast == portable);
  }
  // A million times "a": FIPS 180-4's third example, by the portable code alone.
  Sha256Words hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::vector<unsigned char> text(1'000'000 + kSha256Block, 0);
  std::fill_n(text.begin(), 1'000'000, 'a');
  text[1'000'000] = 0x80;
  for (std::size_t i = 0; i < 4; ++i)
    text[text.size() - 1 - i] = static_cast<unsigned char>(8'000'000 >> (8 * i) & 0xff);
  sha256_blocks_portable(hash, text.data(), text.size() / kSha256Block);
  CHECK(hash[0] == 0xcdc76e5c);
  CHECK(hash[7] == 0xc7112cd0);
}

TEST_CASE("sha256: around the lengths where the padding takes another block") {
  // Values of coreutils' sha256sum.
  const std::pair<std::size_t, const char*> cases[] = {
      {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
      {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
      {57, "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"},
      {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
      {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
      {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
      {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
      {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"}};
  for (const auto& [length, expected] : cases) {
    CAPTURE(length);
    CHECK(sha256(std::string(length, 'a')) == expected);
  }
}

TEST_CASE("sha256: in parts of any lengths") {
  SplitMix64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    Sha256 hash;
    for (Cycle parts = random.range(0, 8); parts > 0; --parts) {
      std::string part(static_cast<std::size_t>(random.range(0, 150)), '\0');
      for (char& c : part) c = static_cast<char>(random.range(0, 255));
      hash.add(part);
      bytes += part;
    }
    CAPTURE(bytes.size());
    CHECK(hash.hex() == sha256(bytes));
  }
}

TEST_CASE("read_file: bytes, empty files, the missing and the unreadable") {
  const TemporaryDirectory directory;
  const std::string bytes = std::string("a\0b\r\n\xff", 6) + std::string(200'000, 'x');
  std::ofstream(directory / "some", std::ios::binary) << bytes;
  std::ofstream(directory / "empty", std::ios::binary) << "";
  CHECK(read_file(directory / "some") == bytes);
  CHECK(read_file(directory / "empty").empty());
  const InputError missing = refusal([&] { read_file(directory / "missing"); });
  CHECK(missing.file() == (directory / "missing"));
  CHECK(missing.rule() == "cannot be opened: No such file or directory");
  CHECK(refusal([&] { read_file(directory / ""); }).rule() == "cannot be read: Is a directory");
  CHECK(refusal([&] { read_problem(directory / "missing"); }).file() == (directory / "missing"));
}

TEST_CASE("read_file: standard input") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "input", std::ios::binary) << "from elsewhere";
  const Input input(directory / "input");
  CHECK(read_file("/dev/stdin") == "from elsewhere");
  CHECK(read_file("-") == "from elsewhere");
  CHECK(read_file("-").empty());  // still open, at its end
}

TEST_CASE("read_file: what is no regular file is refused at once, but what is open already") {
  const TemporaryDirectory directory;
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  const std::string rule = "must be a regular file; - reads standard input";
  const InputError pipe = refusal([&] { read_file(directory / "pipe"); });  // nobody writes to it
  CHECK(pipe.value() == "a named pipe");
  CHECK(pipe.rule() == rule);
  const InputError zero = refusal([] { read_file("/dev/zero"); });
  CHECK(zero.value() == "a device");
  CHECK(zero.rule() == rule);

  // As a shell's <(COMMAND), whose bytes come when they come.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([&] {
    for (const char* part : {"half ", "and half"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      CHECK(::write(ends[1], part, std::strlen(part)) > 0);
    }
    ::close(ends[1]);
  });
  const Input standard_input(ends[0]);
  CHECK(read_file("/dev/fd/0") == "half and half");
  writer.join();
}

TEST_CASE("read_file: 256 MiB are the limit, for files and for streams") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "large") << "";
  fs::resize_file(directory / "large", (256u << 20) + 1);  // sparse
  const InputError large = refusal([&] { read_file(directory / "large"); });
  CHECK(large.value() == "268435457 bytes");
  CHECK(large.rule() == "files must be at most 256 MiB");
  const Input zeros("/dev/zero");
  CHECK(refusal([] { read_file("-"); }).rule() == "files must be at most 256 MiB");
  fs::resize_file(directory / "large", 256u << 20);
  CHECK(read_file(directory / "large").size() == 256u << 20);
}

TEST_CASE("write_file: new files, replaced files, links and permissions") {
  const TemporaryDirectory directory;
  const std::string bytes = std::string("x\0y\n", 4) + std::string(300'000, 'z');
  write_file(directory / "new", bytes);
  CHECK(read_file(directory / "new") == bytes);
  ::chmod((directory / "new").c_str(), 0640);
  write_file(directory / "new", "shorter");
  CHECK(read_file(directory / "new") == "shorter");
  struct stat status {};
  REQUIRE(::stat((directory / "new").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  fs::create_symlink("new", directory / "link");
  write_file(directory / "link", "");
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(read_file(directory / "new").empty());
  write_file(directory / std::string(255, 'n'), "the longest name");
  CHECK(directory.entries() == 3);  // nothing temporary stays
  write_file("/dev/null", "swallowed");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("write_file: a reader that has the file open keeps the old content") {
  const TemporaryDirectory directory;
  write_file(directory / "file", "old");
  std::ifstream reader(directory / "file");
  write_file(directory / "file", "newer");
  std::string content;
  std::getline(reader, content);
  CHECK(content == "old");
}

TEST_CASE("write_file: on failure the old file stays and nothing else does") {
  const TemporaryDirectory directory;
  write_file(directory / "file", "old content");
  // No file may grow beyond 64 KiB: the write of the temporary file fails halfway.
  struct rlimit limit {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  struct rlimit small = limit;
  small.rlim_cur = 64 << 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const InputError full =
      refusal([&] { write_file(directory / "file", std::string(1 << 20, 'n')); });
  const InputError absent =
      refusal([&] { write_file(directory / "other", std::string(1 << 20, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(full.file() == (directory / "file"));
  CHECK(full.rule() == "cannot be written: File too large");
  CHECK(absent.file() == (directory / "other"));
  CHECK(read_file(directory / "file") == "old content");
  CHECK(directory.entries() == 1);

  fs::create_directory(directory / "folder");
  CHECK(refusal([&] { write_file(directory / "folder", "x"); }).rule() ==
        "cannot be written: Is a directory");
  CHECK(refusal([&] { write_file(directory / "no/file", "x"); }).rule() ==
        "cannot create a file in its directory: No such file or directory");
  CHECK(refusal([&] { write_file("", "x"); }).rule().find("cannot be written") == 0);
  CHECK(directory.entries() == 2);
}

TEST_CASE("messages: quoting, pointers and UTF-8") {
  CHECK(quote("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
  CHECK(quote("\xff") == "\"?\"");
  CHECK(quote("\u00e9\u20ac") == "\"\u00e9\u20ac\"");
  CHECK(quote(std::string(80, 'x')) == '"' + std::string(80, 'x') + '"');
  CHECK(quote(std::string(81, 'x')) == '"' + std::string(80, 'x') + "...\"");
  CHECK(quote(std::string(79, 'x') + "\u20ac") == '"' + std::string(79, 'x') + "...\"");
  CHECK(pointer_token("a/b~c\t") == "/a~1b~0c\\u0009");
  CHECK(pointer_token(std::size_t{12}) == "/12");
  for (const char* good :
       {"", "a", "\x7f", "\u00e9", "\u20ac", "\U0001F9F5", "\ud7ff", "\ue000", "\U0010ffff"})
    CHECK_MESSAGE(valid_utf8(good), good);
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xc3", "\xc3(", "\xe2\x82("})
    CHECK_MESSAGE(!valid_utf8(bad), quote(bad));
}

TEST_CASE("JSON: what is not JSON is refused with line and column") {
  struct Case {
    std::string text, place, value, rule;
  };
  const std::string deep_array(100'000, '[');
  const std::string nested64 = std::string(64, '[') + std::string(64, ']');
  std::string deep_object, in_arrays, in_objects;
  for (int i = 0; i < 100'000; ++i) deep_object += "{\"a\":";
  for (int i = 0; i < 64; ++i) in_arrays += "/0", in_objects += "/a";
  // The wording after "not JSON: " is the JSON library's.
  const std::string not_json = "not JSON: ", repeated = "key is repeated in this object";
  const std::vector<Case> cases = {
      {"", "line 1, column 1", "", not_json},
      {" \n", "line 2, column 1", "", not_json},
      {"{", "line 1, column 2", "\"{\"", not_json},
      {"{\n  \"a\": 1,\n  \"b\" 2}", "line 3, column 7", "\"  \\\"b\\\" 2\"", not_json},
      {"{\"a\": 1,}", "line 1, column 9", "\"{\\\"a\\\": 1,}\"", not_json},
      {"{} x", "line 1, column 4", "\"{} x\"", not_json},
      {"{} // c", "line 1, column 4", "\"{} /\"", not_json},
      {"{\"a\": 01}", "line 1, column 8", "\"{\\\"a\\\": 01\"", not_json},
      {"{\"a\": NaN}", "line 1, column 7", "\"{\\\"a\\\": N\"", not_json},
      {"{'a': 1}", "line 1, column 2", "\"{'\"", not_json},
      {"{\"a\": \"\xff\"}", "line 1, column 8", "\"{\\\"a\\\": \\\"?\"", not_json},
      {"{\"a\": \"\xed\xa0\x80\"}", "line 1, column 9", "\"{\\\"a\\\": \\\"??\"", not_json},
      {"{\"\": \"\\ud800\"}", "line 1, column 13", "\"{\\\"\\\": \\\"\\\\ud800\\\"\"", not_json},
      {"{\"a\": \"x\ny\"}", "line 1, column 9", "", not_json},
      {std::string("{}\0{}", 5), "line 1, column 3", "", "not JSON: NUL byte"},
      {std::string("{\"a\n\0\"}", 7), "line 2, column 1", "", "not JSON: NUL byte"},
      {"[-1e999]", "line 1, column 7", "\"[-1e999\"", "numbers must be in the range of a double"},
      {"{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}", "/b/c", "", repeated},
      {"{\"x/y\": [{}, {\"k\": 1, \"\\u006b\": 1}]}", "/x~1y/1/k", "", repeated},
      {deep_array, in_arrays, "", "nested deeper than 64 levels"},
      {deep_object, in_objects, "", "nested deeper than 64 levels"},
      {nested64, "", "an array of 1 values", "must be an object"},
  };
  for (const Case& c : cases) {
    CAPTURE(quote(c.text));
    const InputError error = refusal([&] { parse_problem(c.text, "x.json"); });
    CHECK(error.file() == "x.json");
    CHECK(error.place() == c.place);
    CHECK(error.value() == c.value);
    CHECK((c.rule == not_json ? error.rule().substr(0, 10) : error.rule()) == c.rule);
  }
}

}  // namespace files_test
