// tensor_map.cpp on a stand-in for the driver (emulator/driver.cpp): what TMA copies by its maps is
// compared with the tensor element by element, for strides in every order, ragged lengths and
// single heads. Then what the driver refuses, and maps that are wrong, which must be noticed.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gpu/api/error.hpp"
#include "gpu/emulator/hopper.hpp"
#include "gpu/hopper/tensor_map.hpp"

using namespace twill::gpu;

namespace {

int failed = 0, ran = 0;

void expect(bool right, const std::string& what) {
  ++ran;
  if (!right) std::printf("FAILED: %s\n", what.c_str()), ++failed;
}

struct Shape {
  TensorShape tensor;
  bool heads_outside;  ///< [batch][head][sequence][head_dim]
  int box_rows, box_panels;
};

/// Elements 1, 2, 3 .. in the tensor's order.
struct Tensor {
  std::vector<std::uint16_t> elements;
  twill_gpu_tensor at{};
  explicit Tensor(const Shape& shape) {
    const TensorShape& t = shape.tensor;
    const std::int64_t row = t.head_dim, head = row * t.length, all = row * t.heads;
    at = {nullptr, all * t.length, shape.heads_outside ? row : all,
          shape.heads_outside ? head : row};
    elements.resize(static_cast<std::size_t>(all * t.length * t.batch));
    for (std::size_t k = 0; k < elements.size(); ++k)
      elements[k] = static_cast<std::uint16_t>(k % 65521 + 1);
    at.data = elements.data();
  }
};

std::uint16_t bits_at(std::uint32_t address) {
  return static_cast<std::uint16_t>(load_shared(address & ~3U) >> (8 * (address & 2)));
}

/// Every box of every head: loaded, and compared with the tensor; "" if it is that.
std::string wrong_copy(const Shape& shape, const Tensor& tensor, const CUtensorMap& map) {
  const TensorShape& t = shape.tensor;
  std::string wrong;
  emulator::Launch launch;
  launch.threads = 32;
  const auto thread = [&] {
    if (threadIdx.x != 0) return;
    barrier_init(0, 1);
    barrier_init_fence();
    std::uint32_t parity = 0;
    for (int b = 0; b < t.batch; ++b)
      for (int h = 0; h < t.heads; ++h)
        for (int first = 0; first < t.length; first += shape.box_rows)
          for (int panel = 0; panel < t.head_dim / 64; panel += shape.box_panels) {
            barrier_expect(0, static_cast<std::uint32_t>(shape.box_rows * shape.box_panels * 128));
            tma_load(1024, &map, first, panel, h, b, 0);
            barrier_wait(0, parity);
            parity ^= 1;
            for (int p = 0; p < shape.box_panels; ++p)
              for (int r = 0; r < shape.box_rows; ++r)
                for (int c = 0; c < 64; ++c) {
                  const std::uint32_t line = static_cast<std::uint32_t>(p * shape.box_rows + r);
                  const std::uint32_t at = 1024 + line * 128 +
                                           ((static_cast<std::uint32_t>(c) / 8 ^ line % 8) << 4) +
                                           static_cast<std::uint32_t>(c) % 8 * 2;
                  std::uint16_t right = 0;
                  if (first + r < t.length)
                    right = tensor.elements[static_cast<std::size_t>(
                        b * tensor.at.batch_stride + h * tensor.at.head_stride +
                        (first + r) * tensor.at.sequence_stride + std::int64_t{panel + p} * 64 +
                        c)];
                  if (wrong.empty() && bits_at(at) != right)
                    wrong = "batch " + std::to_string(b) + " head " + std::to_string(h) + " row " +
                            std::to_string(first + r) + " panel " + std::to_string(panel + p) +
                            " column " + std::to_string(c);
                }
            fence_async_shared();
          }
  };
  try {
    emulator::run(launch, thread);
  } catch (const emulator::Error& error) {
    return error.what();
  }
  return wrong;
}

std::string copy(const Shape& shape) {
  const Tensor tensor(shape);
  return wrong_copy(
      shape, tensor,
      tensor_map(tensor.at, shape.tensor, TWILL_GPU_F16, shape.box_rows, shape.box_panels));
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Refusal& refusal) {
    return refusal.text;
  }
  return "";
}

/// fp32 values that TMA adds by float_tensor_map: each box adds its number to what is there.
std::string added(int batch, int rows, int columns, int box_rows, int box_columns, int shift) {
  std::vector<float> sum(static_cast<std::size_t>(batch * rows * columns), 0.5F);
  const CUtensorMap map = float_tensor_map(sum.data(), batch, rows, columns, box_rows, box_columns);
  emulator::Launch launch;
  launch.threads = 32;
  const int row_boxes = (rows + box_rows - 1) / box_rows;
  emulator::run(launch, [&] {
    if (threadIdx.x != 0) return;
    float number = 1;
    for (int b = 0; b < batch; ++b)
      for (int r = 0; r < row_boxes; ++r)
        for (int p = 0; p < columns / 32; p += box_columns / 32, ++number) {
          for (int at = 0; at < box_rows * box_columns * 4; at += 16)
            store_shared_4(1024 + static_cast<std::uint32_t>(at), number, number, number, number);
          fence_async_shared();
          tma_add_start(&map, 1024, r * box_rows + shift, p, 0, b);
          bulk_wait_read();
        }
    bulk_wait_done();
  });
  const int boxes = columns / box_columns;
  std::size_t at = 0;
  for (int b = 0; b < batch; ++b)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        const int number = 1 + (b * row_boxes + r / box_rows) * boxes + c / box_columns;
        if (sum[at++] != 0.5F + static_cast<float>(number))
          return "batch " + std::to_string(b) + " row " + std::to_string(r) + " column " +
                 std::to_string(c);
      }
  return "";
}

}  // namespace

int main() {
  const Shape shapes[] = {
      {{1, 1, 1, 64}, false, 64, 1},  {{2, 70, 3, 128}, false, 64, 2},
      {{2, 70, 3, 128}, true, 64, 2}, {{1, 130, 2, 256}, false, 64, 2},
      {{3, 16, 1, 64}, true, 80, 1},  {{1, 129, 4, 128}, true, 128, 1},
  };
  for (const Shape& shape : shapes) {
    const std::string wrong = copy(shape);
    expect(wrong.empty(), "a copy differs: " + wrong);
  }

  // Wrong maps are noticed: each number of the map, changed.
  const Shape shape = shapes[1];
  const Tensor tensor(shape);
  const CUtensorMap right = tensor_map(tensor.at, shape.tensor, TWILL_GPU_F16, 64, 2);
  const auto noticed = [&](const char* what, const std::function<void(emulator::Map&)>& change) {
    emulator::Map m;
    std::memcpy(&m, &right, sizeof m);
    change(m);
    CUtensorMap map{};
    std::memcpy(&map, &m, sizeof m);
    expect(!wrong_copy(shape, tensor, map).empty(), std::string("not noticed: ") + what);
  };
  noticed("the stride of rows", [](emulator::Map& m) { m.strides[1] -= 8; });
  noticed("the stride of panels", [](emulator::Map& m) { m.strides[2] = 128; });
  noticed("the stride of heads", [](emulator::Map& m) { m.strides[3] *= 2; });
  noticed("the stride of batches", [](emulator::Map& m) { m.strides[4] -= 8; });
  noticed("a row too few", [](emulator::Map& m) { --m.dims[1]; });
  noticed("a row too many", [](emulator::Map& m) { ++m.dims[1]; });
  noticed("a panel too few", [](emulator::Map& m) { --m.dims[2]; });
  noticed("a head too few", [](emulator::Map& m) { --m.dims[3]; });
  noticed("a batch too few", [](emulator::Map& m) { --m.dims[4]; });
  noticed("the rows of a box", [](emulator::Map& m) { m.box[1] = 32; });
  noticed("the panels of a box", [](emulator::Map& m) { m.box[2] = 1; });

  // What the driver refuses.
  const auto refused = [&](const char* what, int rows, int panels,
                           const std::function<void(twill_gpu_tensor&, TensorShape&)>& change) {
    twill_gpu_tensor at = tensor.at;
    TensorShape t = shape.tensor;
    change(at, t);
    expect(refusal([&] {
             tensor_map(at, t, TWILL_GPU_F16, rows, panels);
           }).find("cuTensorMapEncodeTiled failed") == 0,
           std::string("not refused: ") + what);
  };
  refused("an address of 8 bytes", 64, 2, [](twill_gpu_tensor& at, TensorShape&) {
    at.data = static_cast<std::uint16_t*>(at.data) + 4;
  });
  refused("a stride of 8 bytes", 64, 2,
          [](twill_gpu_tensor& at, TensorShape&) { at.sequence_stride += 4; });
  refused("a stride of 2^40 bytes", 64, 2,
          [](twill_gpu_tensor& at, TensorShape&) { at.batch_stride = std::int64_t{1} << 39; });
  refused("no rows", 64, 2, [](twill_gpu_tensor&, TensorShape& t) { t.length = 0; });
  refused("a box of 257 rows", 257, 2, [](twill_gpu_tensor&, TensorShape&) {});
  // A dimension of length 1 has no stride.
  Shape single = shapes[0];
  Tensor one(single);
  one.at.sequence_stride = 3;
  // (Where nobody takes the map, GCC 12 does not align the place for it: tensor_map.cpp must.)
  const std::string why = refusal([&] { tensor_map(one.at, single.tensor, TWILL_GPU_F16, 64, 1); });
  expect(why.empty(), "a stride that is never used is refused: " + why);

  for (const int columns : {32, 64, 128}) {
    const std::string wrong = added(2, 70, columns, 64, columns, 0);
    expect(wrong.empty(), "a sum differs: " + wrong);
  }
  expect(added(2, 70, 128, 32, 64, 0).empty(), "a sum of many boxes differs");
  expect(!added(1, 70, 64, 64, 64, 1).empty(), "not noticed: rows added one too low");
  std::printf("%d of %d checks failed\n", failed, ran);
  return failed != 0;
}
