// An emitted kernel beside its reference in double precision, and its time: what main() does.
//
// A Kernel has kTensors, run(data of each tensor, sizes, stream) and reference(load, store, n).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/hopper/slots/host.hpp"
#include "gpu/hopper/slots/reference.hpp"
#include "gpu/hopper/slots/tables.hpp"

namespace twill::gpu {

/// e4m3: no infinity, and one NaN of each sign.
inline double number_of_f8(unsigned char bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const double x =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (bits & 0x80) != 0 ? -x : x;
}
/// Rounded to nearest even; what is too large becomes the largest, 448.
inline unsigned char f8_of(double x) {
  const double size = std::fmin(std::fabs(x), 448);
  unsigned char nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned char bits = 0; bits < 0x7F; ++bits) {
    const double off = std::fabs(number_of_f8(bits) - size);
    if (off < least || (off == least && bits % 2 == 0)) least = off, nearest = bits;
  }
  return static_cast<unsigned char>(nearest | (std::signbit(x) ? 0x80 : 0));
}

inline double number_at(const std::vector<unsigned char>& bytes, Number type, std::size_t i) {
  if (type == Number::f32) {
    float x;
    std::memcpy(&x, bytes.data() + 4 * i, 4);
    return static_cast<double>(x);
  }
  if (type == Number::f8) return number_of_f8(bytes[i]);
  unsigned short x;
  std::memcpy(&x, bytes.data() + 2 * i, 2);
  return static_cast<double>(type == Number::f16 ? __half2float(__ushort_as_half(x))
                                                 : __bfloat162float(__ushort_as_bfloat16(x)));
}
inline void set_number(std::vector<unsigned char>& bytes, Number type, std::size_t i, float x) {
  if (type == Number::f32) {
    std::memcpy(bytes.data() + 4 * i, &x, 4);
    return;
  }
  if (type == Number::f8) {
    bytes[i] = f8_of(static_cast<double>(x));
    return;
  }
  const unsigned short bits = type == Number::f16 ? __half_as_ushort(__float2half_rn(x))
                                                  : __bfloat16_as_ushort(__float2bfloat16_rn(x));
  std::memcpy(bytes.data() + 2 * i, &bits, 2);
}

/// Factor of the inputs' ranges. At 7 scores of attention differ so much from tile to tile that a
/// maximum that is not the latest overflows; at 1 any maximum gives the right result.
inline float input_factor = 1;

/// Bytes of each tensor, outputs all NaN, or zero where they are added to.
template <class Kernel>
std::vector<std::vector<unsigned char>> make_tensors(const Sizes& sizes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<unsigned char>> all;
  for (const TensorInfo& tensor : Kernel::kTensors) {
    const std::size_t count = sizes.elements(tensor);
    std::vector<unsigned char> bytes(count * bytes_of(tensor.type), tensor.added ? 0x00 : 0xFF);
    std::uniform_real_distribution<float> draw(input_factor * static_cast<float>(tensor.low),
                                               input_factor * static_cast<float>(tensor.high));
    for (std::size_t i = 0; i < count && !tensor.output; ++i)
      set_number(bytes, tensor.type, i, draw(random));
    all.push_back(std::move(bytes));
  }
  return all;
}

/// Runs the kernel once: outputs are read back.
template <class Kernel>
void run_once(std::vector<std::vector<unsigned char>>& tensors, const Sizes& sizes) {
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<void*> data;
  for (const std::vector<unsigned char>& bytes : tensors) {
    memory.push_back(std::make_unique<DeviceMemory>(bytes.size()));
    memory.back()->upload(bytes.data());
    data.push_back(memory.back()->data());
  }
  Kernel::run(data.data(), sizes, nullptr);
#ifndef TWILL_GPU_EMULATED
  check_cuda(cudaDeviceSynchronize(), "running the kernel");
#endif
  for (std::size_t t = 0; t < tensors.size(); ++t) memory[t]->download(tensors[t].data());
}

/// The largest error of all outputs, relative to the largest number of each (at least 1); NaN where
/// one is wrong altogether.
template <class Kernel>
double largest_error(const std::vector<std::vector<unsigned char>>& got, const Sizes& sizes) {
  using reference::Array;
  std::vector<std::vector<double>> want(got.size());
  std::size_t t = 0;
  for (const TensorInfo& tensor : Kernel::kTensors) {
    for (std::size_t i = 0; i < sizes.elements(tensor); ++i)
      want[t].push_back(tensor.added ? 0 : tensor.output ? NAN : number_at(got[t], tensor.type, i));
    ++t;
  }
  for (int batch = 0; batch < sizes.batch; ++batch)
    for (int block = 0; block < sizes.blocks[0] * sizes.blocks[1]; ++block) {
      const int blocks[2] = {block % sizes.blocks[0], block / sizes.blocks[0]};
      const auto each = [&](int which, int part, int iteration, Array& tile, bool store) {
        const TensorInfo& tensor = Kernel::kTensors[which];
        const auto begin = [&](const AxisInfo& axis, int size) {
          return axis.kind == AxisInfo::whole  ? 0
                 : axis.kind == AxisInfo::loop ? iteration * size
                                               : blocks[axis.dimension] * size;
        };
        const int row = begin(tensor.axis[0], tensor.axis[0].tile) +
                        part * (tensor.axis[0].tile / tensor.parts);
        const int column = tensor.rank == 2 ? begin(tensor.axis[1], tensor.axis[1].tile) : 0;
        for (int r = 0; r < tile.rows; ++r)
          for (int c = 0; c < tile.columns; ++c) {
            const std::size_t at =
                (static_cast<std::size_t>(batch) * static_cast<std::size_t>(sizes.rows(tensor)) +
                 static_cast<std::size_t>(row + r)) *
                    static_cast<std::size_t>(sizes.columns(tensor)) +
                static_cast<std::size_t>(column + c);
            double& x = want[static_cast<std::size_t>(which)].at(at);
            if (store)
              x = tile.at(r, c) + (tensor.added ? x : 0);
            else
              tile.at(r, c) = x;
          }
      };
      const reference::Load load = [&](int which, int part, int iteration) {
        const TensorInfo& tensor = Kernel::kTensors[which];
        Array tile(tensor.rank, tensor.axis[0].tile / tensor.parts,
                   tensor.rank == 2 ? tensor.axis[1].tile : 1, 0);
        each(which, part, iteration, tile, false);
        return tensor.vectors ? reference::picked_row(tile, 0) : tile;
      };
      const reference::Store store = [&](int which, int part, int iteration, const Array& tile) {
        Array copy = tile;
        each(which, part, iteration, copy, true);
      };
      Kernel::reference(load, store, sizes.n);
    }
  double error = 0;
  t = 0;
  for (const TensorInfo& tensor : Kernel::kTensors) {
    double largest = 1, difference = 0;
    for (std::size_t i = 0; i < want[t].size() && tensor.output; ++i) {
      const double right = want[t][i], value = number_at(got[t], tensor.type, i);
      if (std::isfinite(right)) largest = std::fmax(largest, std::fabs(right));
      if (right == value) continue;
      if (std::isnan(right) && std::isnan(value)) continue;
      difference = std::isfinite(right - value) ? std::fmax(difference, std::fabs(right - value))
                                                : std::numeric_limits<double>::infinity();
    }
    error = std::fmax(error, difference / largest);
    ++t;
  }
  return error;
}

/// Errors up to this are roundings of 16-bit results; a wrong tile is off by 0.1 and more.
inline constexpr double kAllowedError = 8e-3;

template <class Kernel>
bool check_sizes(const Sizes& sizes, unsigned seed) {
  std::vector<std::vector<unsigned char>> tensors = make_tensors<Kernel>(sizes, seed);
  run_once<Kernel>(tensors, sizes);
  const double error = largest_error<Kernel>(tensors, sizes);
  const bool right = error <= kAllowedError;
  std::printf("n = %d, %d x %d blocks, batch %d: largest error %.2e, %s\n", sizes.n,
              sizes.blocks[0], sizes.blocks[1], sizes.batch, error, right ? "right" : "WRONG");
  return right;
}

/// `blocks` along the last dimension of the grid, 1 along the other.
template <class Kernel>
Sizes spread(int batch, int n, int blocks) {
  Sizes sizes;
  sizes.batch = batch;
  sizes.n = n;
  for (int k = 0; k < Kernel::kBlockAxes; ++k)
    sizes.blocks[k] = k + 1 == Kernel::kBlockAxes ? blocks : 1;
  return sizes;
}

/// Reads NAME.in of every input and writes NAME.out of every output in a folder, raw elements.
template <class Kernel>
void run_files(const std::string& folder, const Sizes& sizes) {
  std::vector<std::vector<unsigned char>> tensors = make_tensors<Kernel>(sizes, 0);
  std::size_t t = 0;
  for (const TensorInfo& tensor : Kernel::kTensors) {
    const auto size = static_cast<std::streamsize>(tensors[t].size());
    if (!tensor.output) {
      std::ifstream file(folder + "/" + tensor.name + ".in", std::ios::binary);
      file.read(reinterpret_cast<char*>(tensors[t].data()), size);
      if (file.gcount() != size) throw std::runtime_error("an input file is too short");
    }
    ++t;
  }
  run_once<Kernel>(tensors, sizes);
  t = 0;
  for (const TensorInfo& tensor : Kernel::kTensors) {
    if (tensor.output) {
      std::ofstream file(folder + "/" + tensor.name + ".out", std::ios::binary);
      file.write(reinterpret_cast<const char*>(tensors[t].data()),
                 static_cast<std::streamsize>(tensors[t].size()));
    }
    ++t;
  }
}

#ifndef TWILL_GPU_EMULATED

/// Milliseconds of a launch, the middle of 20 rounds.
template <class Kernel>
void time_it() {
  const Sizes sizes = spread<Kernel>(16, 64, 16);
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<void*> data;
  for (const std::vector<unsigned char>& bytes : make_tensors<Kernel>(sizes, 1)) {
    memory.push_back(std::make_unique<DeviceMemory>(bytes.size()));
    memory.back()->upload(bytes.data());
    data.push_back(memory.back()->data());
  }
  cudaEvent_t begin, end;
  check_cuda(cudaEventCreate(&begin), "making an event");
  check_cuda(cudaEventCreate(&end), "making an event");
  std::vector<float> times;
  for (int round = 0; round < 25; ++round) {
    check_cuda(cudaEventRecord(begin), "recording");
    Kernel::run(data.data(), sizes, nullptr);
    check_cuda(cudaEventRecord(end), "recording");
    check_cuda(cudaEventSynchronize(end), "running the kernel");
    float time = 0;
    check_cuda(cudaEventElapsedTime(&time, begin, end), "timing");
    if (round >= 5) times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  std::printf("n = %d, %d x %d blocks, batch %d: %.3f ms\n", sizes.n, sizes.blocks[0],
              sizes.blocks[1], sizes.batch, static_cast<double>(times[times.size() / 2]));
}

#endif

/// main() of an emitted file. Without arguments: checks, then times. [--files FOLDER] [--n N]
/// [--batch B] [--blocks X Y] [--seed S] [--peaks]: one run of these sizes; on the emulator
/// [--at-once] [--held WARPGROUP] [--held-loads FROM TO] [--late-stores], too. Ends with 1 where a
/// result is wrong, 77 where there is no such GPU.
template <class Kernel>
int check_and_time(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
#ifndef TWILL_GPU_EMULATED
  int device = 0, major = 0, wanted = 9;
  if constexpr (requires { Kernel::kCapability; }) wanted = Kernel::kCapability;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      major != wanted) {
    std::printf("no GPU of compute capability %d.0 here: nothing was run\n", wanted);
    return 77;
  }
#endif
  Sizes one;
  std::string folder;
  bool single = false;
  unsigned seed = 1;
  for (int k = 1; k < argc; ++k) {
    const std::string flag = argv[k];
    const auto number = [&] { return k + 1 < argc ? std::atoi(argv[++k]) : 0; };
    if (flag == "--files" && k + 1 < argc) {
      folder = argv[++k];
    } else if (flag == "--n") {
      one.n = number(), single = true;
    } else if (flag == "--batch") {
      one.batch = number(), single = true;
    } else if (flag == "--blocks") {
      one.blocks[0] = number(), one.blocks[1] = number(), single = true;
    } else if (flag == "--peaks") {
      input_factor = 7;
    } else if (flag == "--seed") {
      seed = static_cast<unsigned>(number());
#ifdef TWILL_GPU_EMULATED
      emulated_launch.seed = seed;
    } else if (flag == "--held") {
      emulated_launch.held = number();
    } else if (flag == "--held-loads") {
      emulated_launch.held_from = static_cast<std::uint32_t>(number());
      emulated_launch.held_to = static_cast<std::uint32_t>(number());
    } else if (flag == "--late-stores") {
      emulated_launch.late_stores = true;
    } else if (flag == "--at-once") {
      emulated_launch.when = emulator::When::at_once;
#endif
    } else {
      std::fprintf(stderr, "unknown argument %s\n", flag.c_str());
      return 2;
    }
  }
  try {
    if (!folder.empty()) {
      run_files<Kernel>(folder, one);
      return 0;
    }
    if (single) return check_sizes<Kernel>(one, seed) ? 0 : 1;
    bool right = true;
    for (const int n : {0, 1, 2, 3, 7}) {
      Sizes sizes;
      sizes.n = n;
      right = check_sizes<Kernel>(sizes, seed) && right;
    }
    right = check_sizes<Kernel>(spread<Kernel>(2, 2, 2), seed) && right;
    if (!right) return 1;
#ifndef TWILL_GPU_EMULATED
    time_it<Kernel>();
#endif
    return 0;
#ifdef TWILL_GPU_EMULATED
  } catch (const emulator::Error& error) {
    std::printf("refused: %s\n", error.what());
#else
  } catch (const Refusal& error) {
    std::printf("refused: %s\n", error.text.c_str());
#endif
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
  }
  return 1;
}

}  // namespace twill::gpu
