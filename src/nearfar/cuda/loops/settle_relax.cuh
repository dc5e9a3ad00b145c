// The relax step on adjacency lists, by successors and by predecessors, and the start of a run.
//
// relax_successors: Martin et al. (2009), Fig. 3, relax_F; Ortega-Arranz et al. (2015), Alg. 2
// left: the thread of a frontier vertex lowers its unsettled successors by an atomic minimum,
// unconditionally, as printed. relax_predecessors: relax_U, the thread of an unsettled vertex
// reads its frontier predecessors; it needs the transposed graph. Departures: target and weight
// are one record (edges.cuh), sums saturate, work is counted.
//
// Arrays: offsets[n + 1], edges[m], the state of settle.cuh.
// Launch: one thread per vertex, whole warps.
// Races: in relax_successors threads lower one distance together, by atomics, and no thread
// reads it: they read distances of frontier vertices, which are settled and no longer change.
// In relax_predecessors a thread writes its own distance and reads settled ones.
//
// requires: cuda/primitives/edges.cuh
// requires: cuda/loops/settle.cuh
#pragma once

extern "C" __global__ void settle_start(long long n, long long source, weight_t* distance,
                                        flag_t* frontier, flag_t* unsettled) {
  const long long i = global_thread();
  if (i >= n) return;
  distance[i] = i == source ? weight_t(0) : unreached();
  frontier[i] = i == source;
  unsettled[i] = i != source;
}

// lower(target's distance, sum): action of a form on a sum.
template <class Lower>
__device__ __forceinline__ void relax_successors_by(const Lower& lower, long long n,
                                                    const offset_t* offsets, const Edge* edges,
                                                    weight_t* distance, const flag_t* frontier,
                                                    const flag_t* unsettled,
                                                    SettleCounts* counts) {
  const long long i = global_thread();
  const bool working = i < n && frontier[i];
  offset_t begin = 0, end = 0;
  if (working) {
    begin = offsets[i];
    end = offsets[i + 1];
    const weight_t d = distance[i];
    for (offset_t e = begin; e < end; ++e) {
      const Edge edge = load_edge(edges, e);
      if (unsettled[edge.target])
        lower(&distance[edge.target], add_saturating(d, edge_weight(edge)));
    }
  }
  count_work(counts, working, uint64(end - begin));
}

struct LowerByAtomic {
  __device__ void operator()(weight_t* p, weight_t sum) const { atomic_minimum(p, sum); }
};

extern "C" __global__ void relax_successors(long long n, const offset_t* offsets, const Edge* edges,
                                            weight_t* distance, const flag_t* frontier,
                                            const flag_t* unsettled, SettleCounts* counts) {
  relax_successors_by(LowerByAtomic{}, n, offsets, edges, distance, frontier, unsettled, counts);
}

extern "C" __global__ void relax_predecessors(long long n, const offset_t* offsets,
                                              const Edge* edges, weight_t* distance,
                                              const flag_t* frontier, const flag_t* unsettled,
                                              SettleCounts* counts) {
  const long long i = global_thread();
  const bool working = i < n && unsettled[i];
  offset_t begin = 0, end = 0;
  if (working) {
    begin = offsets[i];
    end = offsets[i + 1];
    const weight_t before = distance[i];
    weight_t best = before;
    for (offset_t e = begin; e < end; ++e) {
      const Edge edge = load_edge(edges, e);
      if (frontier[edge.target]) {
        const weight_t sum = add_saturating(distance[edge.target], edge_weight(edge));
        best = sum < best ? sum : best;
      }
    }
    if (best < before) distance[i] = best;
  }
  count_work(counts, working, uint64(end - begin));
}
