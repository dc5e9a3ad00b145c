// Kernels of Crauser's criteria: the lightest edges, minimum and update for each criterion.
//
// Ortega-Arranz et al. (2015), section 3: the precomputation of the lightest out-edges, the
// minimum with one addition per thread before the reduction, and Alg. 2 right. settle_relax.cuh
// holds the relax kernels, which are those of the frontier family. The in-criterion and the
// union are Crauser et al. (1998).
//
// Launch: minimum_* with ceil(n / 2b) blocks of b threads, the others with one thread per vertex.
// Races: none (settle.cuh).
//
// requires: cuda/loops/settle_relax.cuh
// requires: papers/ortega_arranz_2015/crauser/policy.cuh

// lightest[v]: weight of the lightest edge of row v, unreached() for an empty row.
extern "C" __global__ void lightest_edges(long long n, const offset_t* offsets, const Edge* edges,
                                          weight_t* lightest) {
  const long long i = global_thread();
  if (i >= n) return;
  weight_t least = unreached();
  for (offset_t e = offsets[i]; e < offsets[i + 1]; ++e) {
    const weight_t weight = edge_weight(load_edge(edges, e));
    least = weight < least ? weight : least;
  }
  lightest[i] = least;
}

// Both kernels of a criterion take both arrays, so that the host launches all criteria alike.

extern "C" __global__ void minimum_out(long long n, const weight_t* distance,
                                       const flag_t* unsettled, weight_t* partial,
                                       const weight_t* lightest_out, const weight_t* lightest_in) {
  settle_minimum(OutCriterion{lightest_out}, n, distance, unsettled, partial);
}

extern "C" __global__ void update_out(long long n, const weight_t* distance, flag_t* frontier,
                                      flag_t* unsettled, SettleCounts* counts, weight_t first,
                                      weight_t second, const weight_t* lightest_out,
                                      const weight_t* lightest_in) {
  settle_update(OutCriterion{lightest_out}, n, distance, frontier, unsettled, counts, first,
                second);
}

extern "C" __global__ void minimum_in(long long n, const weight_t* distance,
                                      const flag_t* unsettled, weight_t* partial,
                                      const weight_t* lightest_out, const weight_t* lightest_in) {
  settle_minimum(InCriterion{lightest_in}, n, distance, unsettled, partial);
}

extern "C" __global__ void update_in(long long n, const weight_t* distance, flag_t* frontier,
                                     flag_t* unsettled, SettleCounts* counts, weight_t first,
                                     weight_t second, const weight_t* lightest_out,
                                     const weight_t* lightest_in) {
  settle_update(InCriterion{lightest_in}, n, distance, frontier, unsettled, counts, first, second);
}

extern "C" __global__ void minimum_in_out(long long n, const weight_t* distance,
                                          const flag_t* unsettled, weight_t* partial,
                                          const weight_t* lightest_out,
                                          const weight_t* lightest_in) {
  settle_minimum(InOutCriterion{{lightest_out}, {lightest_in}}, n, distance, unsettled, partial);
}

extern "C" __global__ void update_in_out(long long n, const weight_t* distance, flag_t* frontier,
                                         flag_t* unsettled, SettleCounts* counts, weight_t first,
                                         weight_t second, const weight_t* lightest_out,
                                         const weight_t* lightest_in) {
  settle_update(InOutCriterion{{lightest_out}, {lightest_in}}, n, distance, frontier, unsettled,
                counts, first, second);
}
