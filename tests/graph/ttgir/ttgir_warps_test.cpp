// Layouts share out tiles over as many warps as execute their ops: the module's, or the
// partition's.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "graph/error.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/modules.hpp"
#include "graph/ttgir/warp_counts.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_warps_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

/// What is said of the first loop; "" = nothing.
std::string said(const std::string& text) {
  const Module module = parse_one_module(text, "test", std::nullopt);
  try {
    check_warp_counts(module, list_loops(module).front().op);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// A loop in a partition of `partition` warps, beside a default region; layouts of 4 and of 8.
std::string partitioned(const std::string& partition, const std::string& inside,
                        const std::string& outside = "#four") {
  return R"(#four = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#eight = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
#rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [2, 4], order = [1, 0]}>
#linear = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64], [128]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %o = arith.constant dense<1> : tensor<256xi32, )" +
         outside + R"(>
    ttg.warp_specialize(%n, %c0, %c1)
    default {
      %d = arith.constant dense<1> : tensor<256xi32, #four>
      ttg.warp_yield
    }
    // a comment: num_warps(64)
    partition0(%m: i32, %a: i32, %b: i32) num_warps()" +
         partition + R"() {
      scf.for %i = %a to %m step %b  : i32 {
        %x = arith.constant dense<2> : tensor<256xi32, )" +
         inside + R"(>
        %y = arith.addi %x, %x : tensor<256xi32, )" +
         inside + R"(>
      }
      ttg.warp_return
    } : (i32, i32, i32) -> ()
    tt.return
  }
}
)";
}

}  // namespace

TEST_CASE("a partition has its own count; everything else the module's") {
  CHECK(said(partitioned("8", "#eight")).empty());
  CHECK(said(partitioned("8", "#linear")).empty());
  CHECK(said(partitioned("8", "#ttg.slice<{dim = 1, parent = #rows}>")).empty());
  CHECK(said(partitioned("4", "#four")).empty());
  for (const char* const inside : {"#eight", "#linear", "#ttg.slice<{dim = 1, parent = #rows}>"}) {
    const std::string why = said(partitioned("4", inside));
    CHECK(why.find("on 8 warps") != std::string::npos);
    CHECK(why.find("4 warps execute") != std::string::npos);
  }
  CHECK(said(partitioned("8", "#four")).find("on 4 warps") != std::string::npos);
  CHECK(said(partitioned("8", "#eight", "#eight")).find("line 9") != std::string::npos);
}

TEST_CASE("the modules of the tree say nothing, and each does with another number of warps") {
  int changed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TWILL_TEST_DATA "/ttgir/")) {
    if (entry.path().extension() != ".ttgir") continue;
    CAPTURE(entry.path().filename().string());
    std::string text = read_file(entry.path().string());
    if (text.find("scf.for") == std::string::npos) continue;  // (a loop of scf.while)
    CHECK(said(text).empty());
    const std::string key = "\"ttg.num-warps\" = ";
    const std::size_t at = text.find(key);
    if (at == std::string::npos || text.find("warpsPerCTA") == std::string::npos) continue;
    text.replace(at + key.size(), text.find(' ', at + key.size()) - at - key.size(), "16");
    CHECK(said(text).find("16 warps execute") != std::string::npos);
    ++changed;
  }
  CHECK(changed > 80);
}

}  // namespace ttgir_warps_test
