// The method that section 4.3 of Martin et al. (2009) refutes: two distance arrays and no atomics.
//
// Harish and Narayanan (2007): the threads of marked vertices lower `updated`, a copy of
// `distance`, with a plain comparison and store; a second kernel copies lowered entries to
// `distance` and marks those vertices. The copy keeps a reader from seeing a half-done sweep
// (read after write), but two marked vertices with a common successor both find their sum
// smaller, and the last store remains, whichever it is (write after write). The better sum is lost,
// since its vertex is not marked again. Kept to show this error; registered as unsafe.
//
// Arrays: distance[n], updated[n] (weight_t), marked[n] (one byte), *any: set to 1 when a
// vertex was marked.
// Launch: one thread per vertex.
//
// requires: cuda/primitives/edges.cuh
// requires: cuda/loops/settle.cuh

extern "C" __global__ void two_arrays_start(long long n, long long source, weight_t* distance,
                                            weight_t* updated, flag_t* marked) {
  const long long i = global_thread();
  if (i >= n) return;
  distance[i] = updated[i] = i == source ? weight_t(0) : unreached();
  marked[i] = i == source;
}

extern "C" __global__ void two_arrays_relax(long long n, const offset_t* offsets, const Edge* edges,
                                            const weight_t* distance, weight_t* updated,
                                            flag_t* marked, SettleCounts* counts) {
  const long long i = global_thread();
  const bool working = i < n && marked[i];
  offset_t begin = 0, end = 0;
  if (working) {
    marked[i] = 0;
    begin = offsets[i];
    end = offsets[i + 1];
    const weight_t d = distance[i];
    for (offset_t e = begin; e < end; ++e) {
      const Edge edge = load_edge(edges, e);
      const weight_t sum = add_saturating(d, edge_weight(edge));
      if (updated[edge.target] > sum) updated[edge.target] = sum;  // the race
    }
  }
  count_work(counts, working, uint64(end - begin));
}

extern "C" __global__ void two_arrays_update(long long n, weight_t* distance, weight_t* updated,
                                             flag_t* marked, uint32* any) {
  const long long i = global_thread();
  if (i >= n) return;
  if (distance[i] > updated[i]) {
    distance[i] = updated[i];
    marked[i] = 1;
    *any = 1;
  }
  updated[i] = distance[i];
}
