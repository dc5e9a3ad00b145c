// Delta-stepping on several workers that share each bucket.
//
// Meyer and Sanders 2003; the shape is that of shared-memory codes since: every worker has a bucket
// ring of its own, so that pushing needs no lock. A round works off the entries of one bucket
// number:
//   1. each worker reports the number of its first bucket in use to the leader, which is the
//      caller's thread; the leader decides what comes next and tells the others;
//   2. a worker that has such a bucket offers it as a segment and takes chunks of it through a
//      cursor; then it takes chunks of the others' segments, so that uneven shares even out;
//   3. what fell into the current bucket meanwhile it works off itself while that is little
//      (bucket fusion, Zhang et al. 2020), and leaves for another round otherwise.
//
// The cores may be busy with other programs, so the leader does not rely on its helpers:
//   - It starts alone. A helper that comes joins at the next round with an empty ring, and takes
//     its first entries out of the others' segments. One that never comes is not waited for.
//   - A helper that was taken off its core in the middle of a round has to be waited for, because
//     what it found is in its ring. But when it comes at last, the leader may let it go
//     (cpu/attendance.hpp): it takes over all that is pending in the helper's ring, goes on without
//     it, and asks for it again after a while.
// So busy cores cost a time slice now and then, and not one per round.
//
// Why there is no data race. Distances are lowered by compare and swap while there are helpers; an
// entry that lost a race is stale and dropped. Everything else has one owner at a time. A helper
// owns its Member from the leader's call to its own arrival, the leader from the arrival to the
// next call; both are a release store that the other one acquires. What a helper may read of
// another Member is the segment, once its owner has released `ready` for this turn. The owner
// changes the segment again only when called for the next turn, and by then all workers have
// arrived, so that nobody reads it. A helper joins and leaves only between its arrival and a call.
// workers.hpp has what every worker does, this file the leader; tests/cpu/test_stress.py runs both
// under the sanitizers.
#include <algorithm>
#include <exception>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "algorithms/delta_stepping/workers.hpp"
#include "cpu/worker_pool.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 14;  // edges before a lone leader looks around

template <class C>
struct Team : Workers<C> {
  using Base = Workers<C>;
  using Base::csr, Base::distances, Base::stop, Base::threads, Base::members;
  using typename Base::Member;
  using typename Base::Order;
  using typename Base::Report;
  using typename Base::Ring;
  using typename Base::Weight;

  Team(const C& csr, Weight* distances, StopRule<Weight> stop, int threads, bool adapt,
       Interrupt& interrupt, Member* members)
      : Base(csr, distances, stop, threads, members),
        interrupt(interrupt),
        adapter(adapt, 32 * static_cast<uint64_t>(threads)),
        part(kPart / static_cast<std::size_t>(csr.m / csr.n + 4) + 1) {}

  Interrupt& interrupt;
  Adapter adapter;
  const std::size_t part;  // entries before it looks around
  Crew* crew = nullptr;
  int workers = 1;  // in the team, with the leader
  int64_t began = 0;
  uint64_t polled = 0;  // edges

  // The leader's part; it does not throw, because helpers would wait for ever.
  void lead(int64_t source) {
    Member& me = members[0];
    began = steady_ns();
    for (int i = 1; i < threads; ++i) ask(i, began);
    this->fill();
    this->all_filled.wait_change(0);
    distances[source] = 0;
    Order order;
    for (uint64_t turn = 1;; ++turn) {
      try {
        this->write_report(me);
        gather();
        order = decide();
      } catch (...) {
        this->fail(me);
        order.step = Step::leave;
      }
      if (order.step == Step::leave) break;
      order.turn = turn;
      post(order);
      try {
        if (order.step == Step::round && workers == 1) {
          round_alone(order.number);
          this->renew_bound(me);
        } else {
          this->act(0, order);
        }
        if (order.step != Step::round) continue;
        ++me.work.stats.iterations;
        poll();
      } catch (...) {
        this->fail(me);
      }
    }
    dismiss();
  }

  void poll() {
    const uint64_t edges = members[0].work.stats.edges_relaxed;
    interrupt.poll(edges - polled + 64);
    polled = edges;
  }

  void ask(int worker, int64_t now) {
    Member& one = members[worker];
    if (!crew->attendance(worker).wanted(now)) return;
    one.entry = one.calls;
    one.asked = crew->call(worker);
  }

  // Waits until all of the team have arrived, and lets helpers in and out.
  void gather() {
    if (workers > 1) {
      for (int i = 1; i < threads; ++i) {
        Member& one = members[i];
        if (!one.in_team || one.here() || one.report.arrived.spin_for(one.calls + 1)) continue;
        wait_for_late();
        break;
      }
    }
    if (workers < threads) let_in();
  }

  NEARFAR_COLD void wait_for_late() {
    const int64_t from = steady_ns();
    const auto effort = static_cast<double>(members[0].effort + 1);
    const double each = static_cast<double>(from - began) / effort;  // ns; waiting included
    Signal::full_fence();
    for (int i = 1; i < threads; ++i) {
      Member& one = members[i];
      one.late = one.in_team && !one.here();
      if (one.late) one.call.called.wake_sleepers();
    }
    const int helpers = threads - 1;
    for (int i = 1; i < threads; ++i) {
      Member& one = members[i];
      if (!one.late) continue;
      while (!one.here()) one.report.arrived.wait_change(one.calls);
      const int64_t now = steady_ns();
      const auto owed = static_cast<int64_t>(each * static_cast<double>(one.report.effort));
      if (!crew->attendance(i).late(now, now - from, owed, helpers)) continue;
      members[0].work.ring.absorb(one.work.ring);
      one.in_team = false;
      --workers;
      ++members[0].work.stats.let_go;
      send_away(one);
      this->find_next(members[0]);
    }
  }

  void let_in() {
    int64_t now = 0;
    for (int i = 1; i < threads; ++i) {
      Member& one = members[i];
      if (one.in_team || (one.asked && !one.here())) continue;
      if (now == 0) now = steady_ns();
      if (!one.asked) {
        ask(i, now);
      } else {
        one.work.ring.follow(members[0].work.ring);
        crew->attendance(i).joined(now);
        one.in_team = true;
        ++workers;
      }
    }
  }

  bool someone_came() {
    for (int i = 1; i < threads; ++i) {
      if (!members[i].asked)
        ask(i, steady_ns());
      else if (members[i].here())
        return true;
    }
    return false;
  }

  Order decide() {
    Report all;
    for (int i = 0; i < threads; ++i) {
      if (i != 0 && !members[i].in_team) continue;
      const Report& one = members[i].report;
      all.stop |= one.stop;
      all.rows += one.rows;
      all.repeated += one.repeated;
      if (one.first < all.first) all.first = one.first;
    }
    Order order;
    order.workers = workers;
    order.number = all.first;
    // Least distance among those who hold the least bucket, or among all far piles.
    for (int i = 0; i < threads; ++i) {
      if (i != 0 && !members[i].in_team) continue;
      const Report& one = members[i].report;
      if (one.first != all.first) continue;
      order.holders |= uint64_t{1} << (i % 64);
      if (!one.has_low) continue;
      order.low = !all.has_low || one.low < order.low ? one.low : order.low;
      all.has_low = true;
    }
    if (all.stop) return order;
    if (all.first == Ring::kEmpty) {
      if (all.has_low) order.step = Step::deal;
      return order;
    }
    if (stop.n_targets != 0 && stop.reached_all(distances, order.low)) return order;
    const double delta = members[0].work.ring.delta();
    const double factor = adapter.after_bucket(all.rows, all.repeated, delta);
    order.delta = delta * factor;
    order.step = factor == 1 ? Step::round : Step::widen;
    return order;
  }

  void post(const Order& order) {
    if (workers == 1) return;
    for (int i = 1; i < threads; ++i) {
      Member& one = members[i];
      if (!one.in_team) continue;
      one.call.order = order;
      one.call.called.store(++one.calls);
    }
    // Without a fence one may be missed that is just falling asleep: wait_for_late() looks again.
    for (int i = 1; i < threads; ++i)
      if (members[i].in_team) members[i].call.called.wake_sleepers();
  }

  void send_away(Member& one) {
    one.call.order.step = Step::leave;
    one.call.called.set(++one.calls);
    one.asked = false;
  }

  void dismiss() {
    const int64_t now = steady_ns();
    for (int i = 1; i < threads; ++i) {
      Member& one = members[i];
      if (one.in_team) crew->attendance(i).left(now);
      if (one.asked && !crew->take_back(i)) send_away(one);
    }
  }

  // A bucket by the leader without helpers: nobody else lowers distances, and nobody waits, until
  // one comes and gets its share of what is left.
  void round_alone(uint64_t number) {
    Member& me = members[0];
    const uint64_t rows = me.work.stats.vertices_processed, repeated = me.work.repeated;
    me.segment.size = 0;
    me.work.ring.take(number, me.segment);
    std::size_t done = 0;
    while (done < me.segment.size) {
      const std::size_t left = me.segment.size - done;
      const std::size_t end = left < part ? me.segment.size : done + part;
      me.work.template relax<PlainUpdate<Weight>>(me.segment, done, end, me.segment);
      done = end;
      poll();
      if (adapter.hopeless(me.work.stats.vertices_processed - rows, me.work.repeated - repeated) ||
          someone_came())
        break;
    }
    this->put_back(me, number, me.segment, done);
  }
};

}  // namespace

template <class C>
SearchStats delta_parallel(const C& csr, typename C::Index source, typename C::Weight* distances,
                           StopRule<typename C::Weight> stop, DeltaPlan plan, WorkerPool& pool,
                           int threads, Interrupt& interrupt) {
  using T = Team<C>;
  using Member = typename T::Member;
  struct Members {
    Member* data;
    int built = 0;
    ~Members() {
      while (built > 0) data[--built].~Member();
      std::free(data);
    }
  } members{static_cast<Member*>(
      std::aligned_alloc(alignof(Member), sizeof(Member) * static_cast<std::size_t>(threads)))};
  if (members.data == nullptr) throw std::bad_alloc();
  for (; members.built < threads; ++members.built)
    new (members.data + members.built) Member(csr, distances, stop.limit, plan);
  T team(csr, distances, stop, threads, plan.adapt, interrupt, members.data);
  members.data[0].work.stats.pushes = 1;
  members.data[0].work.ring.push({source, 0});
  if (threads == 1) {
    team.lead(source);
  } else {
    const std::function<void(int)> help = [&team](int worker) { team.help(worker); };
    Crew crew(pool, threads, help);
    team.crew = &crew;
    team.lead(source);
  }
  SearchStats stats = members.data[0].work.stats;
  stats.delta = members.data[0].work.ring.delta();
  stats.delta_changes = members.data[0].work.ring.changes();
  for (int i = 0; i < threads; ++i) {
    if (members.data[i].error) std::rethrow_exception(members.data[i].error);
    if (i == 0) continue;
    const SearchStats& one = members.data[i].work.stats;
    stats.vertices_processed += one.vertices_processed;
    stats.edges_relaxed += one.edges_relaxed;
    stats.pushes += one.pushes;
    stats.stale += one.stale;
  }
  return stats;
}

#define NEARFAR_INSTANTIATE(I, W)                                                                 \
  template SearchStats delta_parallel<Csr<I, W>>(const Csr<I, W>&, I, W*, StopRule<W>, DeltaPlan, \
                                                 WorkerPool&, int, Interrupt&);
NEARFAR_FOR_EACH_CSR(NEARFAR_INSTANTIATE)

#define NEARFAR_INSTANTIATE_BARE(C)                                                          \
  template SearchStats delta_parallel<C>(const C&, int32_t, C::Weight*, StopRule<C::Weight>, \
                                         DeltaPlan, WorkerPool&, int, Interrupt&);
NEARFAR_FOR_EACH_BARE(NEARFAR_INSTANTIATE_BARE)

}  // namespace nearfar::NEARFAR_ISA
