// Delta-stepping on many cores, with little synchronisation.
//
// Each worker runs the loop of one core on its part of the pending entries: it has its own bucket
// ring, whose width adapts, and pushes every vertex that it improves into that ring. There is no
// common bucket and no barrier. Moving entries between workers keeps the order approximately right:
// - a worker whose bucket has more than a few entries offers half of it on its shelf, where others
//   may take them, and later takes back the rest;
// - before its next bucket, a worker checks the other shelves and takes half of one that is a
//   bucket nearer; an idle worker takes from the nearest shelf.
// This is Wasp's scheme [1]: asynchronous work on priority levels, chunks stolen by priority.
// Departures: entries are copied, so that buckets stay contiguous and are prefetched as on one core
// (relax.hpp); entries with neighbouring vertex ids are moved together, so that workers share few
// cache lines; levels are distances, so that each worker may have its own width; distances are
// lowered by stores, not compare-and-swap. Continuing with entries that fall into the current
// bucket is bucket fusion [2].
//
// Correctness. A worker that lowers a distance pushes an entry with it, or records a dead end in
// its log. Lowering is a load, a comparison and a store, so a store may overwrite a lesser distance
// that another worker stored after the load. The lesser distance still has an entry: its holder, on
// processing it, finds the vertex above the entry and stores the distance again. Processed entries
// stay in a log until every worker has since been between two parts of its work (eras.hpp). By then
// no worker is between such a load and store, and later loads return this distance or a lesser one;
// an entry whose vertex is above it is processed again. So the least distance ever stored for a
// vertex becomes its distance, its edges are relaxed with it, and the distances end at the only
// fixed point. An entry above its vertex's distance is stale.
//
// Termination. `active` counts the workers that hold entries, in bucket, ring, shelf or log. It
// starts with the leader, which holds the source. A worker leaves the count when it holds none and
// joins it before it takes from a shelf, so a counted worker holds every entry at every moment. The
// worker that brings the count to zero ends the search. Entries could return from logs forever only
// if stores overwrote each other forever.
//
// Long rows. A row of very many edges is postponed, and its worker and those looking for entries
// take pieces of it, one row at a time: the nearest of a worker's first, and the rest of a row is
// dropped once its vertex is nearer. Its worker holds it until the last piece is taken; a worker
// that takes a piece is counted and has lowered its level, as with entries from a shelf.
//
// Single worker. While no helper runs and the leader's shelf is empty, no other worker can raise a
// distance: the leader keeps no log and uses the bucket width of one core. If other programs keep
// the other cores busy, that is the whole search.
//
// Targets. The search may end when all targets are nearer than every pending entry. A worker's
// level is a lower bound of what it holds: it rises only when a nearer bucket is empty and the log
// has nothing nearer, and a worker that takes entries lowers its own level and counts the theft
// before the owner can miss them. So if the counts of thefts are the same before and after all
// levels are read, no entry moved past the reader, and the least level is a lower bound of all
// pending entries. A distance below it cannot be raised.
//
// Data races. Distances are relaxed atomics, and shelves are used under their lock. Ring, bucket,
// log and counters have one owner; the leader reads the counters when the workers have left the
// crew.
//
// Memory order. Loads and stores of one distance have one order on all cores; nothing depends on
// the order of two distances. Entries move between workers under a shelf's lock, which releases and
// acquires, so the taker sees the distance that was pushed or a later one. For eras, see eras.hpp.
// `active` is changed with acquire and release: the worker that brings it to zero has seen all work
// of the others. The sizes of shelves, `offers`, `hungry` and, without targets, levels are relaxed
// hints: a stale one costs a check or a theft. With targets, levels and counts of thefts are
// sequentially consistent: a thief lowers its level, counts, and only then unlocks the shelf whose
// owner raises its level, so a reader of the raised level reads the count afterwards. A leaving
// helper publishes its last stores by a release of `inside`, which the leader acquires before it
// continues as the single worker.
//
// Busy cores. A helper that starts late finds shelves or nothing; no worker waits for it. One that
// runs on the leader's own core leaves: all other cores are busy, and two workers taking turns on
// one core, each waiting for the other, take three times as long as one. It is requested again
// later (cpu/threads/backoff.hpp).
//
// [1] Marco D'Antonio, Son Thai Mai, Philippas Tsigas and Hans Vandierendonck. "Wasp: efficient
//     asynchronous single-source shortest path on multicore systems via work stealing." SC, 2025.
// [2] Yunming Zhang, Ajay Brahmakshatriya, Xinyi Chen, Laxman Dhulipala, Shoaib Kamil, Saman
//     Amarasinghe and Julian Shun. "Optimizing ordered graph algorithms with GraphIt." CGO, 2020.
#include <algorithm>
#include <exception>

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "algorithms/delta_stepping/worker.hpp"
#include "cpu/memory/aligned.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/threads/worker_pool.hpp"

namespace nearfar::delta_stepping {
namespace {

constexpr std::size_t kFill = std::size_t{1} << 14;  // distances set at a time
constexpr std::size_t kKeep = 32;                    // entries that a worker does not share
constexpr std::size_t kChunk = 128;                  // entries between two checks of the shelves
constexpr uint64_t kRow = 4;        // edges per entry for which these three numbers hold
constexpr std::size_t kGrain = 16;  // entries that are worth a theft
constexpr std::size_t kAtOnce = std::size_t{1} << 16;  // vertices from which helpers start at once
constexpr int64_t kPatience = 30'000;                  // ns of search before sleep
constexpr int64_t kNap = 100'000;        // ns that the leader or a waiting worker sleeps
constexpr int64_t kSleep = 100'000'000;  // ns that others sleep
constexpr uint64_t kLook = 16;           // parts between two clock reads by the leader
constexpr int64_t kRing = 50'000;        // ns between two wake-ups by a worker
constexpr int64_t kAskAgain = 500'000;   // ns

template <class C>
class Team {
 public:
  using Weight = typename C::Weight;
  using One = Worker<C>;
  using Work = typename Own<C>::Work;
  using Ring = typename Work::Ring;
  using Bits = BitsOf<Weight>;

  Team(const C& csr, Weight* distances, StopRule<Weight> stop, const DeltaPlan& plan, int threads,
       Interrupt& interrupt, One* workers)
      : csr(csr),
        distances(distances),
        stop(stop),
        plan(plan),
        threads(threads),
        interrupt(interrupt),
        workers(workers) {}

  Crew* crew = nullptr;

  // Runs the leader's part; does not throw.
  void lead(Index source) {
    One& me = workers[0];
    if (static_cast<std::size_t>(csr.n) >= kAtOnce) ask_helpers(steady_ns());
    fill();
    all_filled.wait_change(0);
    distances[source] = 0;
    try {
      make_own(me);
      come(me);
      me.own->work.stats.pushes = 1;
      me.own->work.ring.push({source, 0});
      search(me, 0);
    } catch (...) {
      me.error = std::current_exception();
    }
    finish();
    const int64_t now = steady_ns();
    for (int i = 1; i < threads; ++i) {
      One& one = workers[i];
      if (!one.asked) continue;
      if (__atomic_load_n(&one.declined, __ATOMIC_RELAXED) != 0)
        crew->backoff(i).declined(now);
      else
        crew->backoff(i).reset();
      crew->take_back(i);
    }
  }

  void help(int i) {
    One& me = workers[i];
    if (in_the_way(me)) return;
    __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
    try {
      make_own(me);
      fill();
      if (look_for_work(me, i, false)) search(me, i);
      me.stats += me.own->work.stats;
      me.stats.last_threshold = me.own->work.ring.reach();
      me.widths += me.own->widths;
      delete me.own;  // all workers free theirs in parallel
      me.own = nullptr;
    } catch (...) {
      me.error = std::current_exception();
      finish();
    }
    __atomic_fetch_sub(&inside, 1, __ATOMIC_RELEASE);
  }

 private:
  const C& csr;
  Weight* const distances;
  StopRule<Weight> stop;
  const DeltaPlan& plan;
  const int threads;
  Interrupt& interrupt;  // the leader's
  One* const workers;
  int64_t asked_at = 0;
  int leaders_core = -1;
  uint64_t polled = 0;               // edges
  uint64_t polls = 0;                // parts
  alignas(128) uint32_t active = 1;  // workers that hold entries
  alignas(128) Era era;
  alignas(128) uint32_t hungry = 0;  // workers that look for entries
  alignas(128) uint32_t offers = 0;  // shelves that hold some
  LongRow<C> long_row;
  alignas(128) uint32_t is_over = 0;  // the search has ended, or was given up
  uint32_t inside = 0;                // helpers that came
  alignas(128) Signal bell;           // new entries on a shelf, or the end of the search
  alignas(128) uint64_t to_fill = 0;  // first distance that no worker is setting
  uint64_t filled = 0;
  Signal all_filled;

  void make_own(One& me) {
    if (me.own == nullptr) me.own = new Own<C>(csr, distances, stop.limit, plan);
  }

  // Whether this helper, which holds nothing, runs on the leader's core because the others are
  // busy: it then leaves, because taking turns takes longer, and is requested again later.
  bool in_the_way(One& me) const {
    const int core = this_core();
    if (core < 0 || core != __atomic_load_n(&leaders_core, __ATOMIC_RELAXED)) return false;
    __atomic_store_n(&me.declined, 1, __ATOMIC_RELEASE);
    return true;
  }

  bool over() const { return __atomic_load_n(&is_over, __ATOMIC_ACQUIRE) != 0; }
  void finish() {
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    Signal::full_fence();
    if (bell.anybody_asleep()) bell.next();
  }

  // Called by a worker before it reads a distance.
  void come(One& me) {
    era.come(me.era);
    me.own->open(me.era, page_size());
  }

  // Called between two parts: processes entries again whose distance another worker overwrote.
  void check(One& me, bool ask) {
    Own<C>& own = *me.own;
    ask |= own.page->entries.size >= own.ask_at;
    if (!era.next(me.era, ask, threads, [&](int i) { return &workers[i].era; })) {
      if (ask) own.ask_at = own.page->entries.size + page_size() / 4;
      return;
    }
    own.open(me.era, page_size());
    auto& old = own.pages[(me.era + 1) % Own<C>::kPages];
    for (std::size_t k = 0; k < old.entries.size; ++k) {
      const auto entry = old.entries.data[k];
      if (SharedUpdate<Weight>::load(distances + entry.vertex) <= entry.distance) [[likely]]
        continue;
      own.now.push(entry);
      own.low = std::min(own.low, entry.distance);
    }
    old.entries.size = 0;
    old.least = unreached<Weight>();
    own.page->least = own.low;
  }

  // Entries after which a worker asks for the next era: with targets, logged entries keep the
  // search from ending.
  std::size_t page_size() const { return stop.n_targets == 0 ? kEra : kEra / 16; }

  // `low`: a lower bound of the entries to be processed next. With targets, the level is one of all
  // that the worker holds, entries to be checked included.
  void set_level(One& me, Weight low) {
    Own<C>& own = *me.own;
    own.low = low;
    if (stop.n_targets == 0) return me.shelf.set_level(low, false);
    own.page->least = std::min(own.page->least, low);
    me.shelf.set_level(std::min(low, own.least_to_check()), true);
  }

  // Runs the first phase, with all running workers.
  void fill() {
    const auto n = static_cast<uint64_t>(csr.n);
    for (;;) {
      const uint64_t from = __atomic_fetch_add(&to_fill, kFill, __ATOMIC_RELAXED);
      if (from >= n) return;
      const uint64_t end = from + kFill < n ? from + kFill : n;
      fill_numbers(distances + from, end - from, unreached<Weight>());
      if (__atomic_add_fetch(&filled, end - from, __ATOMIC_ACQ_REL) == n) all_filled.set(true);
    }
  }

  void search(One& me, int i) {
    while (next_bucket(me, i)) work_off(me, i);
  }

  // Fills me.own->now with the nearest entries, its own or another's; returns false at the end.
  bool next_bucket(One& me, int i) {
    auto& ring = me.own->work.ring;
    for (;;) {
      if (over()) return false;
      if (me.own->now.size != 0) return true;  // just taken
      const uint64_t number = ring.next();
      if (number == Ring::kEmpty) {
        Weight low;
        if (ring.far_least(low)) {
          ring.deal(low);
          continue;
        }
        return look_for_work(me, i, true);
      }
      const Weight begin = ring.begin_of(number);
      if (take_piece(me, 0, begin) || steal_nearer(me, i, begin)) return true;
      ring.take(number, me.own->now);
      set_level(me, stop.n_targets == 0 ? begin : Ring::least(me.own->now));
      me.own->full.order(me.own->now, distances, me.own->work.stats, &me.own->page->entries);
      if (i == 0 && stop.n_targets != 0 && targets_reached()) {
        finish();
        return false;
      }
      return true;
    }
  }

  bool alone(const One& me, int i) const {
    return i == 0 && __atomic_load_n(&inside, __ATOMIC_ACQUIRE) == 0 && me.shelf.size() == 0;
  }

  // Relaxes a piece of a long row whose vertex is at a distance in [low, limit).
  bool take_piece(One& me, Weight low, Weight limit) {
    typename LongRow<C>::Piece piece;
    const bool got = long_row.take(piece, [&](auto& row) {
      const Weight d = row.distance;
      if (me.own->work.stale(row)) {
        row.begin = row.end;
        return false;
      }
      if (d < low || !(d < limit)) return false;
      if (d < me.own->low || ordered_bits(d) < me.shelf.level()) set_level(me, d);
      __atomic_fetch_add(&me.taken, 1, __ATOMIC_SEQ_CST);
      me.own->work.ring.go_back(d);
      return true;
    });
    if (got) me.own->work.relax_piece(piece, me.own->now);
    return got;
  }

  // Relaxes postponed rows in pieces, with the help of workers that look for entries.
  void share_rows(One& me, int i) {
    auto& work = me.own->work;
    const auto go_on = [&] {
      check(me, false);
      if (i == 0) poll(me);
      return !over();
    };
    while (work.put_off.size != 0) {
      auto* const rows = work.put_off.data;
      auto& last = rows[work.put_off.size - 1];
      std::swap(*std::min_element(rows, &last + 1,
                                  [](auto& a, auto& b) { return a.distance < b.distance; }),
                last);
      auto row = last;  // the nearest
      --work.put_off.size;
      someone_else(i);
      while (row.begin != row.end && !work.stale(row)) {
        if (long_row.put(row)) {
          if (bell.anybody_asleep()) ring_bell(me);
          const Weight low = std::min(row.distance, work.ring.lower_end());
          while (take_piece(me, low, unreached<Weight>()))
            if (!go_on()) return;
          break;
        }
        auto piece = row;  // while another row is shared
        piece.end = row.begin = std::min(row.end, row.begin + LongRow<C>::kPiece);
        work.relax_piece(piece, me.own->now);
        if (!go_on()) return;
      }
    }
  }

  // Processes me.own->now, entries improved within the same bucket, and those left on the shelf.
  void work_off(One& me, int i) {
    auto& work = me.own->work;
    auto& stats = work.stats;
    auto& now = me.own->now;
    if (now.size == 0) return;  // the piece improved nothing within its bucket
    bool plain = alone(me, i);
    const uint64_t rows = stats.vertices_processed;
    const uint64_t edges = stats.edges_relaxed;
    work.repeated = {};
    const std::size_t keep = grain(me, kKeep), chunk = grain(me, kChunk);
    std::size_t done = 0;
    for (;;) {
      if (done == now.size) {
        now.size = done = 0;
        if (plain || !me.shelf.take_back(now, std::max(keep, me.shelf.size() / 2), offers)) break;
      }
      const std::size_t left = now.size - done;
      if (left > keep && someone_else(i) && me.shelf.size() == 0 && worth_sharing(me, i)) {
        me.shelf.put(now, split(now.data, done, now.size), offers);
        plain = false;
        Signal::full_fence();
      }
      if (bell.anybody_asleep() && me.shelf.size() != 0) ring_bell(me);
      const std::size_t end = now.size - done < chunk ? now.size : done + chunk;
      if (plain)
        work.template relax<AloneUpdate<Weight>>(now, done, end, now);
      else
        work.relax(now, done, end, now);
      done = end;
      if (work.put_off.size != 0) {
        plain = false;
        share_rows(me, i);
      }
      check(me, false);
      if (i == 0) poll(me);
      if (over()) return;
      if (me.own->adapter.hopeless(stats.vertices_processed - rows, stats.edges_relaxed - edges,
                                   work.repeated))
        break;
    }
    while (me.shelf.take_back(now, Shelf<C>::kMost, offers)) {
    }
    work.renew_bound();
    ++stats.iterations;
    me.own->widths.note(stats.vertices_processed - rows, work.ring.delta());
    const double factor = me.own->adapter.after_bucket(
        stats.vertices_processed - rows, stats.edges_relaxed - edges, work.repeated,
        plain ? 0 : kThin, work.ring.delta(), plain ? kBuckets : kSoon);
    // With nothing beyond the bucket a wider one would be the same; the next search begins with it.
    if (factor < 1 || (factor > 1 && !work.ring.empty()))
      work.ring.widen(work.ring.lower_end(), work.ring.delta() * factor);
    for (std::size_t k = done; k < now.size; ++k) work.ring.push(now.data[k]);
    now.size = 0;
  }

  // Returns `entries`, or fewer if this worker's rows are longer than kRow: edges take the time.
  std::size_t grain(const One& me, std::size_t entries) const {
    const SearchStats& stats = me.own->work.stats;
    const uint64_t full = stats.vertices_processed * kRow;
    if (stats.edges_relaxed <= full) return entries;
    return std::max<std::size_t>(1, entries * full / stats.edges_relaxed);
  }

  // Wakes a sleeper, but not for every offer: waking takes as long as a small bucket, and sleepers
  // sleep because offers were gone before they arrived.
  void ring_bell(One& me) {
    const int64_t now = steady_ns();
    if (now - me.rang_at < kRing) return;
    me.rang_at = now;
    bell.next();
  }

  // Whether a helper can take entries from a shelf; requests helpers if none runs yet.
  bool someone_else(int i) {
    if (i == 0 && asked_at == 0) ask_helpers(steady_ns());
    return i != 0 || __atomic_load_n(&inside, __ATOMIC_RELAXED) != 0;
  }

  // Whether some worker is idle or ahead of this worker's bucket: if all are busy at about the same
  // distances, offering entries and taking them back costs more than it gains.
  bool worth_sharing(const One& me, int i) const {
    if (__atomic_load_n(&hungry, __ATOMIC_RELAXED) != 0) return true;
    const Bits limit = ordered_bits(me.own->work.ring.upper_end());
    for (int k = 0; k < threads; ++k) {
      if (k == i) continue;
      const Bits level = workers[k].shelf.level();
      if (level >= limit && level != Shelf<C>::nothing()) return true;
    }
    return false;
  }

  // Returns the shelf with the nearest entries below `limit`, or -1.
  int nearest_shelf(int i, Bits limit) const {
    int best = -1;
    if (__atomic_load_n(&offers, __ATOMIC_RELAXED) == 0) return best;
    for (int k = 1; k < threads; ++k) {
      const int at = (i + k) % threads;
      const Shelf<C>& shelf = workers[at].shelf;
      if (shelf.size() == 0) continue;
      const Bits level = shelf.level();
      if (level >= limit) continue;
      limit = level;
      best = at;
    }
    return best;
  }

  bool steal(One& me, int victim) {
    const bool got =
        workers[victim].shelf.take(me.own->now, grain(me, kGrain), offers, [&](Weight low) {
          set_level(me, low);
          __atomic_fetch_add(&me.taken, 1, __ATOMIC_SEQ_CST);
          me.own->work.ring.go_back(low);
        });
    if (got) ++me.own->work.stats.steals;
    return got;
  }

  bool steal_nearer(One& me, int i, Weight begin) {
    const double limit = static_cast<double>(begin) - me.own->work.ring.delta();
    if (!(limit > 0)) return false;
    const int victim = nearest_shelf(i, ordered_bits(static_cast<Weight>(limit)));
    return victim >= 0 && steal(me, victim);
  }

  // Waits for entries in me.own->now or the end of the search. `holds`: the worker is counted, and
  // stays so until it has nothing to check.
  bool look_for_work(One& me, int i, bool holds) {
    __atomic_fetch_add(&hungry, 1, __ATOMIC_RELAXED);
    const bool found = wait_for_entries(me, i, holds);
    __atomic_fetch_sub(&hungry, 1, __ATOMIC_RELAXED);
    return found;
  }

  bool wait_for_entries(One& me, int i, bool holds) {
    int64_t since = 0;
    if (holds) set_level(me, unreached<Weight>());
    for (uint32_t turn = 1;; ++turn) {
      if (over()) return false;
      if (holds) {
        check(me, true);
        if (me.own->now.size != 0) {
          const Weight low = Ring::least(me.own->now);
          set_level(me, low);
          me.own->work.ring.go_back(low);
          return true;
        }
        if (me.own->nothing_to_check()) {
          holds = false;
          me.shelf.set_level(unreached<Weight>(), true);
          if (leave_count(me)) return false;
        }
      }
      if (i != 0 && !holds && in_the_way(me)) return false;
      const uint32_t rung = bell.read();
      const int victim = nearest_shelf(i, Shelf<C>::nothing());
      if (victim >= 0 || long_row.open()) {
        if (!holds) enter(me);
        if (take_piece(me, 0, unreached<Weight>()) || (victim >= 0 && steal(me, victim)))
          return true;
        if (!holds && leave_count(me)) return false;
      }
      for (int k = 0; k < 8; ++k) pause_thread();
      if (turn % 16 != 0) continue;
      const int64_t now = steady_ns();
      if (since == 0) since = now;
      if (i == 0) {
        interrupt.poll(uint64_t{1} << 12);
        if (stop.n_targets != 0 && targets_reached()) finish();
      }
      if (over()) return false;
      if (now - since < kPatience) continue;
      bell.sleep_while(rung, holds || i == 0 ? kNap : kSleep, [&] {
        return !over() && !long_row.open() && nearest_shelf(i, Shelf<C>::nothing()) < 0;
      });
    }
  }

  void enter(One& me) {
    __atomic_add_fetch(&active, 1, __ATOMIC_ACQ_REL);
    come(me);
  }

  // Called by a worker that holds nothing; returns true if that ends the search.
  bool leave_count(One& me) {
    Era::go(me.era);
    if (__atomic_sub_fetch(&active, 1, __ATOMIC_ACQ_REL) != 0) return false;
    finish();
    return true;
  }

  // Further duties of the leader.

  void poll(One& me) {
    const uint64_t edges = me.own->work.stats.edges_relaxed;
    interrupt.poll(edges - polled + 64);
    polled = edges;
    if (asked_at == 0 || ++polls % kLook != 0) return;
    const int64_t now = steady_ns();
    if (now - asked_at > kAskAgain) ask_helpers(now);
  }

  void ask_helpers(int64_t now) {
    asked_at = now;
    __atomic_store_n(&leaders_core, this_core(), __ATOMIC_RELAXED);
    for (int i = 1; i < threads; ++i) {
      One& one = workers[i];
      if (__atomic_load_n(&one.declined, __ATOMIC_ACQUIRE) != 0) {
        one.declined = 0;
        one.asked = false;
        crew->backoff(i).declined(now);
      }
      if (!one.asked && crew->backoff(i).over(now)) one.asked = crew->call(i);
    }
  }

  bool targets_reached() {
    uint64_t before = 0, after = 0;
    for (int i = 0; i < threads; ++i)
      before += __atomic_load_n(&workers[i].taken, __ATOMIC_SEQ_CST);
    Bits low = Shelf<C>::nothing();
    for (int i = 0; i < threads; ++i) low = std::min(low, workers[i].shelf.level());
    for (int i = 0; i < threads; ++i) after += __atomic_load_n(&workers[i].taken, __ATOMIC_SEQ_CST);
    if (before != after) return false;
    return stop.reached_all(from_ordered_bits<Weight>(low),
                            [&](int64_t v) { return SharedUpdate<Weight>::load(distances + v); });
  }
};

}  // namespace

template <class C>
SearchStats parallel(const C& csr, Index source, typename C::Weight* distances,
                     StopRule<typename C::Weight> stop, DeltaPlan plan, int threads,
                     Interrupt& interrupt) {
  using One = Worker<C>;
  struct Workers {
    One* data;
    int built = 0;
    ~Workers() {
      while (built > 0) data[--built].~One();
      AlignedDelete<alignof(One)>()(data);
    }
  } workers{static_cast<One*>(
      aligned_block<alignof(One)>(sizeof(One) * static_cast<std::size_t>(threads)))};
  for (; workers.built < threads; ++workers.built) new (workers.data + workers.built) One;
  Team<C> team(csr, distances, stop, plan, threads, interrupt, workers.data);
  {  // and until all helpers have left
    const std::function<void(int)> help = [&team](int worker) { team.help(worker); };
    Crew crew(WorkerPool::shared(), threads, help);
    team.crew = &crew;
    team.lead(source);
  }
  for (int i = 0; i < threads; ++i)
    if (workers.data[i].error) std::rethrow_exception(workers.data[i].error);
  const auto& first = workers.data[0].own->work;
  SearchStats stats = first.stats;
  stats.delta_changes = first.ring.changes();
  stats.last_threshold = first.ring.reach();
  stats.workers = 1;
  MeanWidth widths = workers.data[0].own->widths;
  for (int i = 1; i < threads; ++i) {
    widths += workers.data[i].widths;
    stats.workers += workers.data[i].stats.vertices_processed != 0;
    stats += workers.data[i].stats;
  }
  stats.delta = plan.adapt ? widths.mean(first.ring.delta()) : first.ring.delta();
  return stats;
}

#define NEARFAR_INSTANTIATE(W) \
  template SearchStats parallel(const Csr<W>&, Index, W*, StopRule<W>, DeltaPlan, int, Interrupt&);
NEARFAR_FOR_EACH_WEIGHT(NEARFAR_INSTANTIATE)

#define NEARFAR_INSTANTIATE_BARE(C)                                                            \
  template SearchStats parallel(const C&, int32_t, C::Weight*, StopRule<C::Weight>, DeltaPlan, \
                                int, Interrupt&);
NEARFAR_FOR_EACH_BARE(NEARFAR_INSTANTIATE_BARE)

}  // namespace nearfar::delta_stepping
