// The relax step of delta-stepping: the edges of a bucket's entries, with two prefetch stages in
// front.
//
// Prefetch. While an entry is relaxed, the edges of the entry `ahead_` later are fetched, and the
// row bounds and the distance of one nearly twice as far ahead. Shorter rows take less time and
// need more of them in between. On graphs that do not fit the caches this hides most of the
// latency. The neighbours' distances need no stage: short rows have no branch that waits for one,
// so the processor runs ahead to those of the next rows by itself. With several workers, most lines
// of distances were last written by another one. Where most edges improve their target, as in trees
// and sparse random graphs, it pays to claim the lines a few rows ahead, to write to them; where
// few do, workers would take lines from each other in vain. Searches compare both (widths.py).
//
// No branch per edge. A branch on whether an edge improves its target would be mispredicted half of
// the time, so each candidate is written to a list whose length grows only if it improves; its
// entries are pushed together. The sum is always stored, too, but to a dummy if it is no
// improvement, because the distance's cache line would have to be written back or taken from
// another worker. One comparison decides both (count_less).
//
// Long rows. Until every vertex is reached, relax_long() relaxes the edges of a block, eight at a
// time while few improve their target (eights.hpp), or else after it has fetched the targets'
// distances. After that no distance exceeds the greatest, so sift() keeps only the few edges whose
// sum is below that bound, and relax_sifted() relaxes them once enough are collected for their
// memory to have arrived. Where all distances fit a near cache, looking them up is as fast,
// except with weights of one or two bytes.
//
// Chains. With a few entries there is nothing to prefetch, and pushing, bucketing and rereading
// each would take longer than its row. So follow() continues at the one vertex that a row improves,
// in registers and with branches, which are predictable along a chain.
//
// With several workers, rows of very many edges are postponed and shared (parallel.cpp).
//
// The Update policy defines how a distance is read and lowered: by one worker or by several.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "algorithms/delta_stepping/adapter.hpp"
#include "cpu/search/bucket_ring.hpp"
#include "cpu/search/eights.hpp"
#include "cpu/search/search.hpp"

namespace nearfar::delta_stepping {

constexpr uint64_t kEdgesAhead = 48;      // edges that are fetched ahead, on average
constexpr std::size_t kClaim = 4;         // rows whose targets' distances are claimed ahead
constexpr std::size_t kLines = 32;        // cache lines of a row that are fetched ahead
constexpr std::size_t kShort = 32;        // edges of a row that is relaxed without branches
constexpr std::size_t kHold = 128;        // improvements that are pushed together
constexpr std::size_t kNear = 1 << 18;    // bytes of distances that a near cache holds
constexpr std::size_t kFew = 4;           // entries that are followed along chains
constexpr std::size_t kChain = 1 << 10;   // rows of a chain that are relaxed together
constexpr std::size_t kShared = 1 << 12;  // edges of a row that workers share

// Reads and lowers distances by relaxed atomics: they cost nothing with a single writer, and keep
// the compiler from turning the conditional store into a branch.
template <class Weight>
struct AnyUpdate {
  using Bits = BitsOf<Weight>;
  static NEARFAR_INLINE Weight load(const Weight* at) {
    return from_ordered_bits<Weight>(
        __atomic_load_n(reinterpret_cast<const Bits*>(at), __ATOMIC_RELAXED));
  }
  static NEARFAR_INLINE void store(Weight* at, Weight d) {
    __atomic_store_n(reinterpret_cast<Bits*>(at), ordered_bits(d), __ATOMIC_RELAXED);
  }
  static NEARFAR_INLINE bool lower(Weight* at, SumOf<Weight> sum, Weight& old) {
    old = load(at);
    if (!improves(sum, old)) return false;
    store(at, static_cast<Weight>(sum));
    return true;
  }
};

// A single worker, the only one that writes distances.
template <class Weight>
struct PlainUpdate : AnyUpdate<Weight> {
  static constexpr bool shared = false;  // others may write meanwhile
  static constexpr bool raised = false;  // a distance may be above that of an entry for it
};

// One of several workers while the others are away. Entries may date from before they left.
template <class Weight>
struct AloneUpdate : AnyUpdate<Weight> {
  static constexpr bool shared = false;
  static constexpr bool raised = true;
};

// Several workers. A store instead of a compare-and-swap, which would wait for its cache line: a
// lesser distance stored by another worker between the load and the store is lost, and restored by
// that worker, which holds an entry for it. It stores the distance again when it processes the
// entry, and checks once more when no worker can be between such a load and store (eras.hpp).
template <class Weight>
struct SharedUpdate : AnyUpdate<Weight> {
  static constexpr bool shared = true;
  static constexpr bool raised = true;
};

// Adds 1 to `n` if sum < old, and returns where to store the sum: `at` if so, else `nowhere`. Uses
// one comparison of bit patterns and no branch, which compilers do not generate themselves.
template <class Weight>
NEARFAR_INLINE Weight* count_less(SumOf<Weight> sum, Weight old, Weight* at, Weight* nowhere,
                                  std::size_t& n) {
  const auto low = std::bit_cast<BitsOf<Weight>>(sum);
  const auto high = ordered_bits(old);
#if defined(__x86_64__)
  __asm__("cmp %[high], %[low]\n\tcmovae %[nowhere], %[at]\n\tadc $0, %[n]"
          : [at] "+r"(at), [n] "+r"(n)
          : [low] "r"(low), [high] "r"(high), [nowhere] "r"(nowhere)
          : "cc");
  return at;
#else
  uintptr_t less = low < high;
  __asm__("" : "+r"(less));  // hides the value from the compiler
  n += less;
  const auto from = reinterpret_cast<uintptr_t>(nowhere);
  return reinterpret_cast<Weight*>(from + ((reinterpret_cast<uintptr_t>(at) - from) & (0 - less)));
#endif
}

// Bit i: weights[i] <= most, for 32 weights in a row.
NEARFAR_INLINE uint32_t at_most(const uint8_t* weights, uint8_t most) {
#if defined(__SSE2__)
  const __m128i top = _mm_set1_epi8(static_cast<char>(most));
  uint32_t bits = 0;
  for (int i = 0; i < 2; ++i) {
    const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights) + i);
    const int half = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(w, top), w));
    bits |= static_cast<uint32_t>(half) << (16 * i);
  }
  return bits;
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < 32; ++i) bits |= uint32_t{weights[i] <= most} << i;
  return bits;
#endif
}
NEARFAR_INLINE uint32_t at_most(const uint16_t* weights, uint16_t most) {
#if defined(__SSE2__)
  const __m128i top = _mm_set1_epi16(static_cast<short>(most)), none = _mm_setzero_si128();
  const auto kept = [&](int i) {
    const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights) + i);
    return _mm_cmpeq_epi16(_mm_subs_epu16(w, top), none);
  };
  uint32_t bits = 0;
  for (int i = 0; i < 2; ++i) {
    const int half = _mm_movemask_epi8(_mm_packs_epi16(kept(2 * i), kept(2 * i + 1)));
    bits |= static_cast<uint32_t>(half) << (16 * i);
  }
  return bits;
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < 32; ++i) bits |= uint32_t{weights[i] <= most} << i;
  return bits;
#endif
}

template <class C, class Update>
class Relaxer {
 public:
  using Weight = typename C::Weight;
  using Ring = BucketRing<C>;
  using Entry = typename Ring::Entry;
  using Bucket = typename Ring::Bucket;

  Relaxer(const C& csr, Weight* distances, Weight limit, const DeltaPlan& plan)
      : ring(plan.delta),
        csr_(csr),
        distances_(distances),
        limit_(limit),
        claim_(Update::shared && plan.claim),
        sifts_(Narrow<C> || static_cast<std::size_t>(csr.n) * sizeof(Weight) > kNear),
        ahead_(std::clamp<uint64_t>(kEdgesAhead * static_cast<uint64_t>(csr.n) / (n_edges() + 1), 6,
                                    14)) {}

  // Starts another search in the same memory, at the first width: the sparse ends of searches widen
  // buckets, and widths would grow from search to search. `touched`: null, or a list to which every
  // lowered vertex is appended.
  void start(Weight* distances, Buffer<Index>* touched, double delta) {
    ring.restart(delta);
    distances_ = distances;
    touched_ = touched;
    bound = unreached<Weight>();
    long_edges_ = 0;
    repeated = {};
    n_sifted_ = 0;
  }

  // Relaxes the edges of from[begin .. end). Entries for the current bucket go to `fresh`, which
  // may be `from` itself, others to the ring. `How`: AloneUpdate while no other worker runs.
  template <class How = Update>
  void relax(Bucket& from, std::size_t begin, std::size_t end, Bucket& fresh) {
    if constexpr (C::packed) {
      if (csr_.has_dead_ends) return relax_as<How, true>(from, begin, end, fresh);
    }
    relax_as<How, false>(from, begin, end, fresh);
  }

  // A part of a postponed row, processed by one worker at a time.
  struct Piece {
    Index vertex;
    Weight distance;
    std::size_t begin, end;
  };
  // Whether a worker has found a shorter path to the vertex since the row was postponed.
  bool stale(const Piece& piece) const {
    return Update::load(distances_ + piece.vertex) < piece.distance;
  }
  void relax_piece(const Piece& piece, Bucket& fresh) {
    if constexpr (C::packed) {
      if (csr_.has_dead_ends) return relax_piece_as<true>(piece, fresh);
    }
    relax_piece_as<false>(piece, fresh);
  }
  Buffer<Piece> put_off;  // rows of at least kShared edges, among workers, for the caller

  // Once every vertex is reached, most edges of long rows lead beyond the greatest distance and are
  // dropped without looking up their target. Finding that distance costs about as much as one such
  // edge per vertex, and less while some vertex is unreached. Distances lowered meanwhile only make
  // the bound looser.
  void renew_bound() {
    const auto n = static_cast<std::size_t>(csr_.n);
    if (long_edges_ < n) return;
    long_edges_ = 0;
    constexpr std::size_t kLanes = 32;
    Weight most[kLanes] = {};
    std::size_t v = 0;
    while (v + kLanes <= n) {
      const std::size_t stop = std::min(n, v + kHold * kLanes);
      for (; v + kLanes <= stop; v += kLanes)
        for (std::size_t i = 0; i < kLanes; ++i) {
          const Weight d = Update::shared ? Update::load(distances_ + v + i) : distances_[v + i];
          most[i] = d > most[i] ? d : most[i];
        }
      for (const Weight d : most)
        if (d == unreached<Weight>()) return;
    }
    for (; v < n; ++v) most[0] = std::max(most[0], Update::load(distances_ + v));
    bound = *std::max_element(most, most + kLanes);
  }

  uint64_t n_edges() const { return static_cast<uint64_t>(csr_.m); }

  Ring ring;
  Bucket* log = nullptr;               // with several workers: distances believed final
  Weight bound = unreached<Weight>();  // no distance is greater, so no longer sum can improve one
  SearchStats stats;
  Repeated repeated;  // repeats in the current bucket

 private:
  struct Sifted {
    std::size_t edge;
    Weight distance;
  };

  static NEARFAR_INLINE void fetch_row(const C& csr, const Weight* distances, Index v) {
    prefetch(csr.indptr + v);
    prefetch(distances + v);
  }
  NEARFAR_INLINE void fetch_edges(const C& csr, Index v) const {
    const auto row = static_cast<std::size_t>(csr.indptr[v]);
    const auto row_end = static_cast<std::size_t>(csr.indptr[v + 1]);
    if constexpr (C::packed) {
      fetch_lines(csr.edges + row, row_end - row);
    } else if constexpr (Narrow<C>) {
      fetch_lines(csr.small + row, row_end - row);
      if (bound == unreached<Weight>()) fetch_lines(csr.indices + row, row_end - row);
    } else {
      fetch_lines(csr.indices + row, row_end - row);
      fetch_lines(csr.weights + row, row_end - row);
    }
  }
  // Prefetches the distances of a short row's targets to write to them.
  template <bool kMarked>
  NEARFAR_INLINE void claim_targets(const Entry& entry) const {
    const auto row = static_cast<std::size_t>(csr_.indptr[entry.vertex]);
    const auto row_end = static_cast<std::size_t>(csr_.indptr[entry.vertex + 1]);
    if (row_end - row > kShort) return;
    for (std::size_t e = row; e < row_end; ++e)
      prefetch_to_write(distances_ + csr_.template edge<kMarked>(e).target);
  }
  // Prefetches the first lines of a row, and more of a long one, where the hardware prefetcher
  // starts late.
  template <class T>
  NEARFAR_INLINE void fetch_lines(const T* first, std::size_t count) const {
    const char* line = reinterpret_cast<const char*>(first);
    const std::size_t bytes = count * sizeof(T);
    prefetch(line);
    prefetch(line + 64);
    if (bytes > 128) [[unlikely]] {
      const std::size_t most = bytes < kLines * 64 ? bytes : kLines * 64;
      for (std::size_t at = 128; at < most; at += 64) prefetch(line + at);
    }
  }

  template <class How, bool kMarked>
  NEARFAR_INLINE void relax_as(Bucket& from, std::size_t begin, std::size_t end, Bucket& fresh) {
    if (end - begin > kFew) return relax_rows<How, kMarked>(from, begin, end, fresh);
    Entry few[kFew];  // `fresh` may grow while they are followed
    std::copy_n(from.data + begin, end - begin, few);
    for (std::size_t i = 0; i < end - begin; ++i) follow<How, kMarked>(few[i], fresh);
  }

  // Relaxes the row of an entry, and continues with the next row while it improves one vertex
  // within the bucket. Branches are predictable along a chain, so the next row is read before the
  // distances are compared.
  template <class How, bool kMarked>
  __attribute__((noinline)) void follow(Entry entry, Bucket& fresh) {
    const C csr = csr_;
    Weight* const distances = distances_;
    const Weight high = ring.upper_end();
    const bool all = touched_ != nullptr;
    uint64_t rows = 0, edges = 0, pushes = 0;
    Repeated near;
    Entry improved[kShort];
    Weight olds[kShort];
    Index v = entry.vertex;  // not in an Entry, which would be kept in memory
    Weight d = entry.distance;
    while (true) {
      const auto row = static_cast<std::size_t>(csr.indptr[v]);
      const auto row_end = static_cast<std::size_t>(csr.indptr[v + 1]);
      const Weight seen = How::load(distances + v);
      if (seen < d) {
        ++stats.stale;
        near.edges -= static_cast<int64_t>(row_end - row);
        break;
      }
      if (How::raised && seen != d) [[unlikely]] {
        How::store(distances + v, d);
        ++stats.raised;
      }
      if constexpr (How::shared) log->push(Entry{v, d});
      ++rows;
      edges += row_end - row;
      if (row_end - row > kShort) {
        relax_many<How, kMarked>(v, d, row, row_end, high, fresh, near, pushes);
        if (n_sifted_ != 0) relax_sifted<How, kMarked>(high, fresh, near, pushes);
        break;
      }
      std::size_t n = 0;
      Index to = v;
      Weight reached = d;
      for (std::size_t e = row; e < row_end; ++e) {
        const auto edge = csr.template edge<kMarked>(e);
        const auto sum = candidate(d, edge.weight);
        Weight old;
        if (!How::lower(distances + edge.target, sum, old)) continue;
        if (edge.dead_end && !all) {
          if constexpr (How::shared) log->push(Entry{edge.target, static_cast<Weight>(sum)});
          continue;
        }
        to = edge.target;
        reached = static_cast<Weight>(sum);
        improved[n] = Entry{to, reached};
        olds[n++] = old;
      }
      pushes += n;
      if (n != 1 || !(reached < high) || reached > limit_ || rows == kChain) {
        near += enqueue(improved, olds, n, high, fresh);
        break;
      }
      near.rows += olds[0] < high;
      if (all) note(improved, 1);
      v = to;
      d = reached;
    }
    stats.edges_relaxed += edges;
    stats.vertices_processed += rows;
    stats.pushes += pushes;
    repeated += near;
  }

  template <class How, bool kMarked>
  void relax_rows(Bucket& from, std::size_t begin, std::size_t end, Bucket& fresh) {
    const std::size_t edge_ahead = ahead_, row_ahead = 2 * edge_ahead - 2;
    const C csr = csr_;  // local copies, which no store can change
    Weight* const distances = distances_;
    for (std::size_t i = begin; i < begin + row_ahead && i < end; ++i)
      fetch_row(csr, distances, from.data[i].vertex);
    for (std::size_t i = begin; i < begin + edge_ahead && i < end; ++i)
      fetch_edges(csr, from.data[i].vertex);
    Entry improved[kHold + kShort];
    Weight olds[kHold + kShort];                              // the distances before
    Entry ends[How::shared && kMarked ? kHold + kShort : 1];  // dead ends that were lowered
    std::size_t n = 0, n_ends = 0;
    Weight nowhere;  // receives sums that improve nothing
    const Weight high = ring.upper_end();
    const bool all = touched_ != nullptr;  // dead ends have to be noted, too
    uint64_t edges = 0, rows = 0, pushes = 0;
    Repeated near, again;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + row_ahead < end) fetch_row(csr, distances, from.data[i + row_ahead].vertex);
      if (i + edge_ahead < end) fetch_edges(csr, from.data[i + edge_ahead].vertex);
      if constexpr (How::shared) {
        if (claim_ && i + kClaim < end) claim_targets<kMarked>(from.data[i + kClaim]);
      }
      const Entry entry = from.data[i];
      const Weight d = entry.distance;
      const auto row = static_cast<std::size_t>(csr.indptr[entry.vertex]);
      const auto row_end = static_cast<std::size_t>(csr.indptr[entry.vertex + 1]);
      const Weight seen = How::load(distances + entry.vertex);
      if (seen < d) {
        near.edges -= static_cast<int64_t>(row_end - row);
        continue;
      }
      if (How::raised && seen != d) [[unlikely]] {
        How::store(distances + entry.vertex, d);
        ++stats.raised;
      }
      if constexpr (How::shared) log->push(entry);
      ++rows;
      edges += row_end - row;
      if (row_end - row <= kShort) {
        for (std::size_t e = row; e < row_end; ++e) {
          const auto edge = csr.template edge<kMarked>(e);
          const auto sum = candidate(d, edge.weight);
          Weight* at = distances + edge.target;
          const Weight old = How::load(at);
          improved[n] = Entry{edge.target, static_cast<Weight>(sum)};
          olds[n] = old;
          std::size_t better = 0;
          at = count_less(sum, old, at, &nowhere, kMarked ? better : n);
          How::store(at, static_cast<Weight>(sum));
          if constexpr (kMarked) n += better & (all | !edge.dead_end);
          if constexpr (How::shared && kMarked) {
            ends[n_ends] = Entry{edge.target, static_cast<Weight>(sum)};
            n_ends += better & edge.dead_end;
          }
        }
      } else {
        relax_many<How, kMarked>(entry.vertex, d, row, row_end, high, fresh, again, pushes);
      }
      if (n >= kHold) {
        near += enqueue(improved, olds, n, high, fresh);
        pushes += n;
        n = 0;
      }
      if (How::shared && n_ends >= kHold) {
        for (std::size_t k = 0; k < n_ends; ++k) log->push(ends[k]);
        n_ends = 0;
      }
    }
    if (n_sifted_ != 0) relax_sifted<How, kMarked>(high, fresh, again, pushes);
    near += enqueue(improved, olds, n, high, fresh);
    pushes += n;
    for (std::size_t k = 0; k < n_ends; ++k) log->push(ends[k]);
    stats.edges_relaxed += edges;
    stats.vertices_processed += rows;
    stats.stale += end - begin - rows;
    stats.pushes += pushes;
    repeated += near;
    repeated += again;
  }

  // Relaxes a row of more than kShort edges.
  template <class How, bool kMarked>
  NEARFAR_INLINE void relax_many(Index v, Weight d, std::size_t row, std::size_t row_end,
                                 Weight high, Bucket& fresh, Repeated& again, uint64_t& pushes) {
    long_edges_ += row_end - row;
    if (bound != unreached<Weight>() && sifts_)
      sift<How, kMarked>(d, row, row_end, high, fresh, again, pushes);
    else if (Update::shared && row_end - row >= kShared) [[unlikely]]
      put_off.push(Piece{v, d, row, row_end});
    else
      relax_long<How, kMarked>(d, row, row_end, high, fresh, again, pushes);
  }

  template <bool kMarked>
  void relax_piece_as(const Piece& piece, Bucket& fresh) {
    relax_long<Update, kMarked>(piece.distance, piece.begin, piece.end, ring.upper_end(), fresh,
                                repeated, stats.pushes);
  }

  // Relaxes a row of many edges, block by block. Out of line, so that the loops have all registers.
  template <class How, bool kMarked>
  __attribute__((noinline)) void relax_long(Weight d, std::size_t row, std::size_t row_end,
                                            Weight high, Bucket& fresh, Repeated& again,
                                            uint64_t& pushes) {
    for (std::size_t first = row; first < row_end; first += kHold) {
      const std::size_t count = row_end - first < kHold ? row_end - first : kHold;
      relax_block<How, kMarked>(
          count, [&](std::size_t i) { return Sifted{first + i, d}; }, high, fresh, again, pushes);
    }
  }

  // Relaxes a row of many edges once there is a bound: keeps only edges whose sum is below it,
  // until enough are collected for their memory to have arrived.
  template <class How, bool kMarked>
  __attribute__((noinline)) void sift(Weight d, std::size_t row, std::size_t row_end, Weight high,
                                      Bucket& fresh, Repeated& again, uint64_t& pushes) {
    const C csr = csr_;
    Sifted* const sifted = sifted_;
    std::size_t n = n_sifted_;
    const auto relax_if_many = [&]() __attribute__((always_inline)) {
      if (n < kHold) return;
      n_sifted_ = n;
      relax_sifted<How, kMarked>(high, fresh, again, pushes);
      n = 0;
    };
    if constexpr (Narrow<C>) {
      using Small = typename C::Small;
      const Weight room = bound - d;  // weights must be below it
      if (room <= 0) return;
      constexpr Weight kMost = std::numeric_limits<Small>::max();
      const auto most = static_cast<Small>(room > kMost ? kMost : room - 1);
      for (std::size_t first = row; first < row_end; first += 32) {
        uint32_t bits = at_most(csr.small + first, most);
        if (row_end - first < 32) bits &= (uint32_t{1} << (row_end - first)) - 1;
        for (; bits != 0; bits &= bits - 1) {
          const std::size_t e = first + static_cast<std::size_t>(__builtin_ctz(bits));
          prefetch(csr.indices + e);
          sifted[n++] = Sifted{e, d};
        }
        relax_if_many();
      }
    } else {
      for (std::size_t first = row; first < row_end; first += kHold) {
        const std::size_t stop = row_end - first < kHold ? row_end : first + kHold;
        for (std::size_t e = first; e < stop; ++e) {
          sifted[n] = Sifted{e, d};
          n += improves(candidate(d, csr.weight(e)), bound);
        }
        relax_if_many();
      }
    }
    n_sifted_ = n;
  }

  template <class How, bool kMarked>
  __attribute__((noinline)) void relax_sifted(Weight high, Bucket& fresh, Repeated& again,
                                              uint64_t& pushes) {
    const std::size_t count = n_sifted_;
    n_sifted_ = 0;
    relax_block<How, kMarked>(
        count, [this](std::size_t i) { return sifted_[i]; }, high, fresh, again, pushes);
  }

  // Relaxes the edges one(0) to one(count - 1), at most 2 * kHold.
  template <class How, bool kMarked, class One>
  NEARFAR_INLINE void relax_block(std::size_t count, const One& one, Weight high, Bucket& fresh,
                                  Repeated& again, uint64_t& pushes) {
    const C csr = csr_;
    Weight* const distances = distances_;
    const bool all = touched_ != nullptr;
    Entry improved[2 * kHold];
    Weight olds[2 * kHold];
    Weight nowhere;
    std::size_t n = 0;
    if (!eights_.pay())
      for (std::size_t i = 0; i < count; ++i)
        prefetch(distances + csr.template edge<kMarked>(one(i).edge).target);
    const auto improving = [&](std::size_t i) __attribute__((always_inline)) {
      const auto [from, d] = one(i);
      const auto edge = csr.template edge<kMarked>(from);
      return improves(candidate(d, edge.weight), How::load(distances + edge.target));
    };
    eights_.each(0, count, improving, [&](std::size_t i) __attribute__((always_inline)) {
      const auto [from, d] = one(i);
      const auto edge = csr.template edge<kMarked>(from);
      const auto sum = candidate(d, edge.weight);
      Weight* at = distances + edge.target;
      const Weight old = How::load(at);
      improved[n] = Entry{edge.target, static_cast<Weight>(sum)};
      olds[n] = old;
      std::size_t better = 0;
      at = count_less(sum, old, at, &nowhere, kMarked ? better : n);
      How::store(at, static_cast<Weight>(sum));
      if constexpr (kMarked) {
        const std::size_t goes_on = better & (all | !edge.dead_end);
        if constexpr (How::shared) {
          if (better != goes_on) log->push(improved[n]);
        }
        n += goes_on;
      }
    });
    eights_.retry();
    again += enqueue(improved, olds, n, high, fresh);
    pushes += n;
  }

  // Pushes the collected improvements within the limit. Returns the counts of vertices already in
  // the current bucket, with `olds` below `high`. The entries are not const only because GCC would
  // warn that those after n are not initialised.
  NEARFAR_INLINE Repeated enqueue(Entry* improved, const Weight* olds, std::size_t n, Weight high,
                                  Bucket& fresh) {
    Repeated near;
    if (touched_ != nullptr) [[unlikely]]
      note(improved, n);
    for (std::size_t i = 0; i < n; ++i) {
      if (olds[i] < high) [[unlikely]] {
        const auto v = improved[i].vertex;
        ++near.rows;
        near.edges += static_cast<int64_t>(csr_.indptr[v + 1] - csr_.indptr[v]);
      }
      if (improved[i].distance > limit_) [[unlikely]]
        continue;
      ring.push(improved[i], fresh);
    }
    return near;
  }

  NEARFAR_COLD void note(Entry* improved, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) touched_->push(improved[i].vertex);
  }

  const C& csr_;
  Weight* distances_;
  Weight limit_;
  const bool claim_;         // whether distances are claimed ahead
  const bool sifts_;         // whether looking up a target's distance takes long
  const std::size_t ahead_;  // rows whose edges are fetched ahead
  Eights eights_;
  uint64_t long_edges_ = 0;  // in long rows, since the greatest distance was last computed
  Buffer<Index>* touched_ = nullptr;
  std::size_t n_sifted_ = 0;
  Sifted sifted_[2 * kHold];  // edges whose sum was below the bound, not relaxed yet
};

}  // namespace nearfar::delta_stepping
