// Arrays of both kernels of betweenness, and the backward pass from the farthest vertices.
//
// Brandes 2001: with sigma the numbers of shortest paths from s, the share of all paths from s that lead
// through v is delta(v) = sum over successors w of sigma(v) / sigma(w) * (1 + delta(w)). A vertex stores
// (1 + delta) / sigma in place of sigma, and reads it from its successors, so no addition needs an atomic
// and every sum has one order (group_rows.cuh). `order` has the vertices by level, each after all its
// predecessors; the successors of a level are done when it begins. The order within a level does not
// matter. A source's addition to a sum is an atomic only because no result of it is needed; barriers keep
// the additions of the block's sources in order.
//
// Macros: EDGES (1: betweenness of edges, else of vertices).
// requires: measures/centrality/path_numbers.cuh
// requires: measures/centrality/group_rows.cuh
#pragma once

struct PathSums {
  const double* ends;            // 2 n: paths that end at a vertex and at what is folded onto it, and at the
                                 // latter alone; null: one at each vertex
  const double* weights;         // per source: how many sources it stands for; null: one
  int* order;                    // per block n: vertices by level
  int* bounds;                   // per block n + 2: where each level begins
  Count* values;                 // per block n: numbers of paths, then shares
  double* sums;                  // per block `width`, added to
  long long width;               // n, or m with EDGES
  int* reached;                  // per source: vertices, the source too
  unsigned char* status;         // per source, see below; 0 at first
  long long n;
  long long sources;
  long long endpoints;     // 1: a path counts for its ends too
  long long forward_only;  // 1: only numbers of paths
};

constexpr unsigned char kTooManyPaths = 1, kZeroCycle = 2, kSaturated = 4;

// The block's part of PathSums.
struct BlockSums {
  int* order;
  int* bounds;
  Count* values;
  double* sums;

  __device__ __forceinline__ explicit BlockSums(const PathSums& all)
      : order(all.order + blockIdx.x * all.n),
        bounds(all.bounds + blockIdx.x * (all.n + 2)),
        values(all.values + blockIdx.x * all.n),
        sums(all.sums + blockIdx.x * all.width) {}
};

// A policy of walk_groups. Next describes successors: Item, load(at), leads(item, at, &target, &edge).
template <class Next>
struct Shares {
  typedef typename Next::Item Item;
  struct Seen {
    Count part;
    offset_t edge;
    bool leads;
  };
  const Next& next;
  const PathSums& all;
  const BlockSums& mine;
  double weight;
  int* ended;  // shared: paths that end at a vertex
  int vertex;  // of this lane's row
  int v;
  Count paths, sum;

  template <int Lanes>
  __device__ __forceinline__ void open(int owner, offset_t) {
    v = of_owner<Lanes>(vertex, owner);
    paths = mine.values[v];
    sum = Count{};
  }
  __device__ __forceinline__ Item load(offset_t at) { return next.load(at); }
  __device__ __forceinline__ Seen look(bool there, offset_t at, const Item& item) {
    Seen seen{};
    int target = 0;
    seen.leads = there && next.leads(item, at, &target, &seen.edge);
    if (seen.leads) seen.part = mine.values[target];
    return seen;
  }
  template <int Lanes>
  __device__ __forceinline__ void take(bool, offset_t, const Item&, const Seen& seen) {
    sum = sum_of(sum, seen.part);
#if EDGES
    if (seen.leads) atomicAdd(mine.sums + seen.edge, product_of(paths, seen.part));
#endif
  }
  template <int Lanes>
  __device__ __forceinline__ void close(bool there, bool first) {
    sum = group_sum<Lanes>(sum);
    if (!there || !first) return;
    const double ends = all.ends ? all.ends[2 * v] : 1;
    mine.values[v] = sum_of(quotient_of(ends, paths), sum);
#if !EDGES
    const double through = product_of(paths, sum) + (all.ends ? all.ends[2 * v + 1] : 0);
    atomicAdd(mine.sums + v, weight * (all.endpoints ? through + ends : through));
    if (all.ends && all.endpoints && ends != 0) atomicAdd(ended, static_cast<int>(ends));
#endif
  }
};

// Adds the source, after all other vertices.
__device__ __forceinline__ void add_source(const PathSums& all, const BlockSums& mine, int reached,
                                           int ended) {
#if !EDGES
  if (threadIdx.x == 0 && all.endpoints)
    mine.sums[mine.order[0]] += all.ends ? ended : reached - 1;
#endif
}

// Adds all blocks' sums, block by block.
extern "C" __global__ void add_block_sums(const double* sums, double* total, long long width,
                                          int blocks) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < width;
       i += step) {
    double sum = total[i];
    for (int b = 0; b < blocks; ++b) sum += sums[b * width + i];
    total[i] = sum;
  }
}
