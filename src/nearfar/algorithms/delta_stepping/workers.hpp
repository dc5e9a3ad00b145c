// What every worker of parallel delta-stepping does: see parallel.simd.cpp, which has the leader.
//
// Included by it only; lives in the namespace of the instruction set.
#pragma once

#include <algorithm>
#include <exception>

#include "algorithms/delta_stepping/relax.hpp"
#include "cpu/waiting.hpp"

namespace nearfar::NEARFAR_ISA {

constexpr std::size_t kChunk = 128;                  // entries taken at a time, at most
constexpr std::size_t kFuse = 512;                   // entries that a worker goes on with alone
constexpr std::size_t kFill = std::size_t{1} << 14;  // distances set at a time

enum class Step : uint32_t { round, deal, widen, leave };

template <class C>
struct Workers {
  using Weight = typename C::Weight;
  using Work = Relaxer<C, SharedUpdate<Weight>>;
  using Ring = typename Work::Ring;
  using Bucket = typename Work::Bucket;

  // What a helper says when it arrives, in the cache line of the signal.
  struct alignas(64) Report {
    Signal arrived;  // how many times
    bool stop = false;
    bool has_low = false;
    Weight low = 0;  // least pending distance, where asked for or in the far pile
    uint64_t first = Ring::kEmpty;
    uint64_t rows = 0;  // these three since the last report
    uint64_t repeated = 0;
    uint64_t effort = 0;  // in edges, roughly
  };

  struct Order {
    Step step = Step::leave;
    int workers = 1;  // in the team, with the leader
    uint64_t turn = 0;
    uint64_t number = 0;   // of the bucket
    uint64_t holders = 0;  // bit i % 64: worker i may have entries of it
    double delta = 0;
    Weight low = 0;
  };

  // What the leader says to a helper, in the cache line of the signal.
  struct alignas(64) Call {
    Signal called;  // how many times
    Order order;
  };

  struct alignas(128) Member {
    Member(const C& csr, Weight* distances, Weight limit, const DeltaPlan& plan)
        : work(csr, distances, limit, plan.delta) {}

    bool here() const { return report.arrived.read() == calls + 1; }

    Report report;
    alignas(128) uint64_t cursor = 0;  // next entry of the segment that nobody has taken
    alignas(64) uint64_t ready = 0;    // turn for which the segment is on offer
    alignas(128) Call call;
    Bucket segment;
    Bucket fresh;
    Work work;
    uint64_t rows = 0, repeated = 0, effort = 0;  // that were reported
    std::exception_ptr error;
    // The leader's alone, but that a helper reads `entry` when it enters.
    uint32_t calls = 0;
    uint32_t entry = 0;  // `calls` when it was asked to come
    bool asked = false;
    bool in_team = false;
    bool late = false;
  };

  Workers(const C& csr, Weight* distances, StopRule<Weight> stop, int threads, Member* members)
      : csr(csr), distances(distances), stop(stop), threads(threads), members(members) {}

  const C& csr;
  Weight* const distances;
  StopRule<Weight> stop;
  const int threads;
  Member* const members;
  // Of the first phase.
  alignas(128) uint64_t to_fill = 0;  // first distance that nobody is setting
  uint64_t filled = 0;
  Signal all_filled;

  // Chunks of one worker's segment, until there are none left.
  void take_chunks(Member& me, Member& owner, int among) {
    const std::size_t size = owner.segment.size;
    const std::size_t share = size / (4 * static_cast<std::size_t>(among)) + 1;
    const std::size_t chunk = share < 32 ? 32 : share > kChunk ? kChunk : share;
    for (;;) {
      const uint64_t from = __atomic_fetch_add(&owner.cursor, chunk, __ATOMIC_RELAXED);
      if (from >= size) return;
      me.work.relax(owner.segment, from, from + chunk < size ? from + chunk : size, me.fresh);
    }
  }

  // One bucket number.
  void round(int worker, const Order& order) {
    Member& me = members[worker];
    auto& ring = me.work.ring;
    me.segment.size = 0;
    if (me.report.first != order.number) {
      ring.advance(order.number);
    } else {
      ring.take(order.number, me.segment);
      __atomic_store_n(&me.cursor, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&me.ready, order.turn, __ATOMIC_RELEASE);
      take_chunks(me, me, order.workers);
    }
    for (int i = 1; i < threads; ++i) {
      const int at = (worker + i) % threads;
      if ((order.holders >> (at % 64) & 1) == 0) continue;
      Member& other = members[at];
      // It was called just now; if it was asleep, its share is left to it.
      for (int spin = 0; spin < 200; ++spin)
        if (__atomic_load_n(&other.ready, __ATOMIC_ACQUIRE) == order.turn) break;
      if (__atomic_load_n(&other.ready, __ATOMIC_ACQUIRE) == order.turn)
        take_chunks(me, other, order.workers);
    }
    std::size_t done = 0;
    while (done < me.fresh.size && me.fresh.size - done < kFuse) {
      const std::size_t size = me.fresh.size;
      me.work.relax(me.fresh, done, size, me.fresh);
      done = size;
    }
    put_back(me, order.number, me.fresh, done);
  }

  static void put_back(Member& me, uint64_t number, Bucket& from, std::size_t done) {
    for (std::size_t i = done; i < from.size; ++i) me.work.ring.push(number, from.data[i]);
    from.size = 0;
  }

  void act(int worker, const Order& order) {
    Member& me = members[worker];
    auto& ring = me.work.ring;
    if (order.step == Step::deal) {
      // A worker with an empty ring and an empty far pile has nothing to deal, but moves its base.
      ring.deal(order.low, false);
      return;
    }
    if (order.step == Step::widen) {
      ring.advance(order.number);
      ring.widen(ring.lower_end(), order.delta);
      return;
    }
    round(worker, order);
    renew_bound(me);
  }

  void renew_bound(Member& me) {
    // A look at all distances takes about as long as a sixteenth as many edges.
    if (me.work.renew_bound()) me.effort -= static_cast<uint64_t>(csr.n) / 16;
  }

  // What is pending, for a report.
  void find_next(Member& me) {
    auto& ring = me.work.ring;
    Report& out = me.report;
    out.first = ring.next(false);
    out.has_low = false;
    if (out.first == Ring::kEmpty) {
      out.has_low = ring.far_least(out.low);
    } else if (stop.n_targets != 0) {
      out.low = ring.least_of(out.first);
      out.has_low = true;
    }
  }

  void write_report(Member& me) {
    find_next(me);
    const SearchStats& stats = me.work.stats;
    Report& out = me.report;
    const uint64_t effort = stats.edges_relaxed + 4 * (stats.vertices_processed + stats.stale);
    out.rows = stats.vertices_processed - me.rows;
    out.repeated = me.work.repeated - me.repeated;
    out.effort = effort - me.effort;
    me.rows = stats.vertices_processed;
    me.repeated = me.work.repeated;
    me.effort = effort;
  }

  // The first phase, by whoever is there.
  void fill() {
    const auto n = static_cast<uint64_t>(csr.n);
    for (;;) {
      const uint64_t from = __atomic_fetch_add(&to_fill, kFill, __ATOMIC_RELAXED);
      if (from >= n) return;
      const uint64_t end = from + kFill < n ? from + kFill : n;
      std::fill(distances + from, distances + end, unreached<Weight>());
      if (__atomic_add_fetch(&filled, end - from, __ATOMIC_ACQ_REL) == n) all_filled.set(1);
    }
  }

  void help(int worker) {
    Member& me = members[worker];
    uint32_t seen = me.entry;
    try {
      fill();
      write_report(me);
    } catch (...) {
      fail(me);
    }
    for (;;) {
      me.report.arrived.set(seen + 1);
      seen = me.call.called.wait_change(seen);
      if (me.call.order.step == Step::leave) return;
      try {
        act(worker, me.call.order);
        write_report(me);
      } catch (...) {
        fail(me);
      }
    }
  }

  void fail(Member& me) {
    me.error = std::current_exception();
    me.report.stop = true;
  }
};

}  // namespace nearfar::NEARFAR_ISA
