// The Hopper forward kernel as a system of threads for the search, and the data flow of its
// registers: both from the statements that the kernel executes (forward/program.hpp).
#pragma once

#include <string>
#include <vector>

#include "gpu/hopper/forward/program.hpp"
#include "gpu/model/search.hpp"

namespace twill::gpu::model {

/// What is run: query tiles one after the other, each with its number of key blocks. With 2 blocks
/// of a cluster every K and V buffer has two halves, each loaded for both by one of them.
struct ForwardCase {
  std::vector<int> key_blocks;
  int cluster = 1;
  int consumers =
      2;  ///< of each block, at most 3; 1 keeps the clusters' search small (one-slot schedules)
  bool queries = true;     ///< Q tiles and O stores too
  bool own_output = true;  ///< O has buffers of its own, Q is free after the last product with it
};

namespace detail {

/// Numbers of barriers and buffers, the kernel's layout.
class ForwardNames {
 public:
  ForwardNames(const ForwardCase& c, int ring) : case_(c), ring_(ring) {}
  int k_full(int block, int index) const { return at(block, 0, index); }
  int k_free(int block, int index) const { return at(block, 1, index); }
  int v_full(int block, int index) const { return at(block, 2, index); }
  int v_free(int block, int index) const { return at(block, 3, index); }
  int q_full(int block, int w) const { return queries(block) + w; }
  int q_free(int block, int w) const { return queries(block) + case_.consumers + w; }
  int barriers() const { return case_.cluster * per_block(); }
  /// Buffers: halves of K and V, then Q tiles.
  int buffer(int block, bool v, int index, int half) const {
    return ((block * 2 + v) * ring_ + index) * case_.cluster + half;
  }
  int q_buffer(int block, int w) const {
    return case_.cluster * 2 * ring_ * case_.cluster + block * case_.consumers + w;
  }
  int o_buffer(int block, int w) const {
    return q_buffer(block, w) + (case_.own_output ? case_.cluster * case_.consumers : 0);
  }
  int buffers() const { return o_buffer(case_.cluster - 1, case_.consumers - 1) + 1; }

 private:
  int per_block() const { return 4 * ring_ + 2 * case_.consumers; }
  int at(int block, int kind, int index) const {
    return block * per_block() + kind * ring_ + index;
  }
  int queries(int block) const { return block * per_block() + 4 * ring_; }
  const ForwardCase& case_;
  int ring_;
};

// Contents: every block of every tile has its own tag.
inline int tag(int number, bool v) {
  return 2 * number + v;
}
inline int query_tag(int tile, int w) {
  return 1000 + 6 * tile + w;
}
inline int output_tag(int tile, int w) {
  return 1000 + 6 * tile + 3 + w;
}

}  // namespace detail

/// The kernel's threads: per block the loader of K and V, the loader of Q, the consumers.
inline System forward_system(const Schedule& schedule, const ForwardCase& c) {
  using Kind = Event::Kind;
  const int ring = schedule.ring;
  const detail::ForwardNames name(c, ring);
  System system;
  system.late_loads = c.cluster > 1;
  system.buffers = name.buffers();
  system.named = 2 * c.cluster;
  system.mbarriers.assign(static_cast<std::size_t>(name.barriers()), 1);
  const auto barrier = [](Kind kind, int which, int count = 0, int parity = 0) {
    Event e;
    e.kind = kind;
    e.barrier = which;
    e.count = count;
    e.parity = parity;
    return e;
  };
  for (int block = 0; block < c.cluster; ++block) {
    for (int i = 0; i < ring; ++i)
      for (const int free : {name.k_free(block, i), name.v_free(block, i)})
        system.mbarriers[static_cast<std::size_t>(free)] = 4 * c.consumers * c.cluster;

    Thread loader;  // K one block ahead of V
    const auto load = [&](bool v, int number) {
      const int index = number % ring, parity = number / ring & 1;
      loader.push_back(barrier(
          Kind::wait, v ? name.v_free(block, index) : name.k_free(block, index), 0, parity ^ 1));
      loader.push_back(barrier(
          Kind::expect, v ? name.v_full(block, index) : name.k_full(block, index), c.cluster));
      for (int to = 0; to < c.cluster; ++to) {  // its half, to both
        Event e = barrier(Kind::load, v ? name.v_full(to, index) : name.k_full(to, index));
        e.buffer = name.buffer(to, v, index, block);
        e.tag = detail::tag(number, v);
        loader.push_back(e);
      }
    };
    int before = 0;
    for (const int blocks : c.key_blocks) {
      for (int t = 0; t <= blocks; ++t) {
        if (t < blocks) load(false, before + t);
        if (t > 0) load(true, before + t - 1);
      }
      before += blocks;
    }
    system.threads.push_back(loader);
    system.names.push_back("K/V loader of block " + std::to_string(block));

    if (c.queries) {
      Thread queries;
      for (int tile = 0; tile < static_cast<int>(c.key_blocks.size()); ++tile)
        for (int w = 0; w < c.consumers; ++w) {
          queries.push_back(barrier(Kind::wait, name.q_free(block, w), 0, (tile & 1) ^ 1));
          queries.push_back(barrier(Kind::expect, name.q_full(block, w), 1));
          Event e = barrier(Kind::load, name.q_full(block, w));
          e.buffer = name.q_buffer(block, w);
          e.tag = detail::query_tag(tile, w);
          queries.push_back(e);
        }
      system.threads.push_back(queries);
      system.names.push_back("Q loader of block " + std::to_string(block));
    }

    for (int w = 0; w < c.consumers; ++w) {
      Thread consumer;
      const int slot = schedule.slots == 1 ? 0 : w;
      const bool turns = schedule.slots > 1;
      const SlotProgram program = slot_program(schedule, slot);
      const auto turn = [&](int of) { return 2 * block + of; };
      if (turns && w != first_turn(schedule))
        consumer.push_back(barrier(Kind::named_arrive, turn(1 - w)));
      before = 0;
      int tile = 0;
      const auto free = [&](bool v, int index) {
        for (int to = 0; to < c.cluster; ++to)
          consumer.push_back(
              barrier(Kind::arrive, v ? name.v_free(to, index) : name.k_free(to, index), 4));
      };
      int last = 0;  // steady iteration of the tile
      const auto free_queries = [&] {
        if (c.queries && c.own_output)
          consumer.push_back(barrier(Kind::arrive, name.q_free(block, w), 1));
      };
      const auto run = [&](Phase phase, int t) {
        const Program& p = program.phase(phase);
        for (int a = 0; a < p.count; ++a) {
          if (phase == Phase::steady && a == p.cut && t == last) free_queries();
          const Action& action = p.action[a];
          const int iteration = t - action.lag, number = before + iteration;
          const int index = number < 0 ? 0 : number % ring;
          const int parity = number < 0 ? 0 : number / ring & 1;
          switch (action.what) {
            case Do::wait_k:
              consumer.push_back(barrier(Kind::wait, name.k_full(block, index), 0, parity));
              break;
            case Do::wait_v:
              consumer.push_back(barrier(Kind::wait, name.v_full(block, index), 0, parity));
              break;
            case Do::take_turn: consumer.push_back(barrier(Kind::named_sync, turn(w))); break;
            case Do::give_turn: consumer.push_back(barrier(Kind::named_arrive, turn(1 - w))); break;
            case Do::issue_qk:
            case Do::issue_pv: {
              const bool v = action.what == Do::issue_pv;
              Event e = barrier(Kind::issue, -1);
              e.buffer = name.buffer(block, v, index, 0);
              e.tag = detail::tag(number, v);
              if (c.cluster > 1) {
                e.buffer2 = name.buffer(block, v, index, 1);
                e.tag2 = e.tag;
              } else if (!v && c.queries) {
                e.buffer2 = name.q_buffer(block, w);
                e.tag2 = detail::query_tag(tile, w);
              }
              consumer.push_back(e);
              break;
            }
            case Do::wait_groups:
              consumer.push_back(barrier(Kind::wait_groups, -1, action.pending));
              break;
            case Do::end_qk: free(false, index); break;
            case Do::end_pv:
              if (action.lag < 2 || iteration >= 0) free(true, index);
              break;
            case Do::mask:
            case Do::compute: break;
          }
        }
      };
      for (const int blocks : c.key_blocks) {
        if (c.queries) consumer.push_back(barrier(Kind::wait, name.q_full(block, w), 0, tile & 1));
        last = blocks - 1;
        run(Phase::prologue, 0);
        if (blocks == 1) free_queries();
        for (int t = 1; t < blocks; ++t) run(Phase::steady, t);
        run(Phase::epilogue, blocks);
        before += blocks;
        if (c.queries) {  // O through its own buffer or that of Q
          Event write = barrier(Kind::write, -1);
          write.buffer = name.o_buffer(block, w);
          write.tag = detail::output_tag(tile, w);
          consumer.push_back(write);
          Event store = barrier(Kind::issue, -1);
          store.buffer = write.buffer;
          store.tag = write.tag;
          consumer.push_back(store);
          consumer.push_back(barrier(Kind::wait_groups, -1, 0));
          if (!c.own_output) consumer.push_back(barrier(Kind::arrive, name.q_free(block, w), 1));
        }
        ++tile;
      }
      if (turns && w == first_turn(schedule))
        consumer.push_back(barrier(Kind::named_sync, turn(w)));
      system.threads.push_back(consumer);
      system.names.push_back("consumer " + std::to_string(w) + " of block " +
                             std::to_string(block));
    }
  }
  return system;
}

/// Follows the values in the registers of one slot over `blocks` iterations: every step must find
/// the operands of its own iteration, and no register is written while wgmma uses it. Returns what
/// is wrong, or "".
inline std::string register_flow(const Schedule& schedule, int slot, int blocks) {
  const SlotProgram program = slot_program(schedule, slot);
  // The iteration of each value; -1 = the initial one. What was done to it is part of the name.
  int s = -9, s_masked = -9, top = -9, top_scaled = -9, m = -1, m_before = -9, difference = -9;
  int alpha = -9, shifted = -9, e = -9, sum = -9, p = -9, l = -1, l_scaled = -9, o = -1;
  int o_scaled = -9;
  bool qk_flies = false, pv_flies = false;
  std::string error;
  const auto need = [&](bool right, const char* what, int iteration) {
    if (!right && error.empty())
      error = std::string(what) + " of iteration " + std::to_string(iteration);
  };
  const auto run = [&](Phase phase, int t) {
    const Program& statements = program.phase(phase);
    for (int a = 0; a < statements.count; ++a) {
      const Action& action = statements.action[a];
      const int i = t - action.lag;
      if (action.what == Do::issue_qk) {
        need(!qk_flies, "qk", i);
        s = i, qk_flies = true, s_masked = -9;
      } else if (action.what == Do::end_qk) {
        need(s == i, "end of qk", i);
        qk_flies = false;
      } else if (action.what == Do::mask) {
        need(s == i && !qk_flies, "mask", i);
        s_masked = i;
      } else if (action.what == Do::issue_pv) {
        need(p == i && o_scaled == i && !pv_flies, "pv", i);
        o = i, pv_flies = true;
      } else if (action.what == Do::end_pv) {
        need(i < 0 || o == i, "end of pv", i);
        pv_flies = false;
      } else if (action.what == Do::compute) {
        const char* name = op_name(action.op);
        need(i >= 0 && i < blocks, name, i);
        switch (action.op) {
          case Op::row_max: need(s_masked == i && !qk_flies, name, i), top = i; break;
          case Op::mul_m: need(top == i, name, i), top_scaled = i; break;
          case Op::max_m:
            need(top_scaled == i && m == i - 1, name, i);
            m_before = m, m = i;
            break;
          case Op::sub_m: need(m == i && m_before == i - 1, name, i), difference = i; break;
          case Op::exp_a: need(difference == i, name, i), alpha = i; break;
          case Op::mul_s: need(s_masked == i && !qk_flies, name, i); break;
          case Op::sub_s:
            need(s_masked == i && !qk_flies && m == i, name, i);
            shifted = i, e = -9;
            break;
          case Op::exp_p: need(shifted == i, name, i), e = i; break;
          case Op::row_sum: need(e == i, name, i), sum = i; break;
          case Op::trunc_p: need(e == i && !pv_flies, name, i), p = i; break;
          case Op::mul_l: need(l == i - 1 && alpha == i, name, i), l_scaled = i; break;
          case Op::add_l: need(l_scaled == i && sum == i, name, i), l = i; break;
          case Op::mul_acc:
            need(o == i - 1 && alpha == i && !pv_flies, name, i);
            o_scaled = i;
            break;
          default: need(false, name, i);
        }
      }
    }
  };
  run(Phase::prologue, 0);
  for (int t = 1; t < blocks; ++t) run(Phase::steady, t);
  run(Phase::epilogue, blocks);
  need(o == blocks - 1 && l == blocks - 1 && m == blocks - 1 && !pv_flies && !qk_flies, "end",
       blocks);
  return error;
}

}  // namespace twill::gpu::model
