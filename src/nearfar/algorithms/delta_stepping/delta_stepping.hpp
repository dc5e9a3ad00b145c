// Delta-stepping on one core (sequential.cpp) and on several (parallel.cpp).
#pragma once

#include <functional>

#include "cpu/memory/buffer.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {

// Initial width of a bucket, and whether it may change.
struct DeltaPlan {
  double delta = 1;
  bool adapt = true;
  bool claim = false;  // whether workers claim distances ahead (relax.hpp)
};

// Edges that are neither packed nor validated, and edges with weights of one or two bytes.
using BareCsr = SplitCsr<double>;
using ByteCsr = NarrowCsr<uint8_t>;
using ShortCsr = NarrowCsr<uint16_t>;

// Sources for one worker, which searches from one after another in the same memory.
template <class C>
struct DeltaFeed {
  // Called before each search: sets the source and the n distances, all unreached. False ends the
  // run.
  std::function<bool(Index& source, typename C::Weight*& distances)> next;
  // Null, or a list to which lowered vertices are appended, possibly repeatedly; it makes the cost
  // of a search proportional to what it visits instead of n.
  Buffer<Index>* touched = nullptr;
};

namespace delta_stepping {

// Searches from one source; the log may be null.
template <class C>
SearchStats sequential(const C& csr, Index source, typename C::Weight* distances,
                       StopRule<typename C::Weight> stop, DeltaPlan plan, Interrupt& interrupt,
                       IterationLog* log);

// Searches from every source of a feed; returns the sums of the counters.
template <class C>
SearchStats sequential(const C& csr, const DeltaFeed<C>& feed, StopRule<typename C::Weight> stop,
                       DeltaPlan plan, Interrupt& interrupt);

// Searches from one source with two or more workers.
template <class C>
SearchStats parallel(const C& csr, Index source, typename C::Weight* distances,
                     StopRule<typename C::Weight> stop, DeltaPlan plan, int threads,
                     Interrupt& interrupt);

// Searches from one source with the given number of workers.
template <class C>
SearchStats by_workers(const C& csr, Index source, typename C::Weight* distances,
                       StopRule<typename C::Weight> stop, DeltaPlan plan, int threads,
                       Interrupt& interrupt) {
  if (threads > 1) return parallel(csr, source, distances, stop, plan, threads, interrupt);
  SearchStats stats = sequential(csr, source, distances, stop, plan, interrupt, nullptr);
  stats.workers = 1;
  return stats;
}

}  // namespace delta_stepping

// Instantiations in addition to NEARFAR_FOR_EACH_WEIGHT.
#define NEARFAR_FOR_EACH_BARE(X) X(BareCsr) X(ByteCsr) X(ShortCsr)

}  // namespace nearfar
