// Customization on the device: weights of the arcs, triangle by triangle, for several metrics at
// once.
//
// Two arcs up from one label, x - y and x - z with z above y, make a triangle with the arc y - z.
// Lower triangles (basic customization): y - z weighs at most the path over x. Upper triangles
// (perfect customization): x - y and x - z weigh at most the paths over the third vertex, where y -
// z has its final distance. Dibbelt, Strasser and Wagner 2016, sections 6 and 7. The CPU's form
// (customize.simd.cpp) gathers by label; here each triangle is found from its lowest label and
// lowers an arc by an atomic, so that a level of the tree is one flat list whatever the degrees:
// some lanes take an arc x - y, and each of them some of the arcs x - z before it. The third sides
// are listed once per structure where there is memory for 4 bytes per triangle; otherwise each is
// found among the arcs of y, which are sorted by depth.
//
// A level is bound by latency, so each lane has kBatch triangles in flight, and the indices of its
// arcs are read before the barrier: after it only weights are read and lowered.
//
// Levels are heights of labels: the arcs of a level have all of their triangles from below. One
// cooperative launch takes them with a barrier over the grid in between. The `crowded` ones at the
// bottom have more arcs than the device has warps, with few triangles each: 8 lanes process each
// arc there, and a full warp above. Levels near the root have few arcs and would be shorter than
// the barrier: a cluster of blocks processes those, with its own barrier.
//
// Macros: those of values.cuh and types.cuh; SIDES values per arc, up and down, or one for both;
// THREADS per block.
// Arrays: arcs[..] {first arc of the label x, this arc, first arc of its head y, arcs of y}, by
// level, without the first arc of each label; third_first[..], alike: the starts of the third sides
// of an arc's triangles in third[triangles], or null; level_first[..] of which the levels from
// `level` to `end` are taken; depth[n_arcs] of heads; weights[metrics][n_arcs][SIDES]; detours
// alike, "no path" at the start; edge[entries] and place[entries], twice the arc plus 1 where it
// leads down; of_edges[metrics][m]; flags[metrics][n_arcs] of customize.hpp.
// Races: atomics of a level lower arcs of later levels, which are not read before a barrier.
// requires: prepared/cuda/values.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/split_barrier.cuh
// requires: cuda/primitives/cluster_barrier.cuh

constexpr int kFewLanes = 8, kManyLanes = 32;  // per arc
constexpr int kBatch = sizeof(value_t) == 4 ? 4 : 2;  // triangles per lane
constexpr int kTight = 1, kNeeded = 4;  // of customize.hpp

// Lowers *to. Floats are not negative, so they have the order of their bits.
__device__ __forceinline__ void lower(uint32* to, uint32 x) { atomicMin(to, x); }
__device__ __forceinline__ void lower(uint64* to, uint64 x) { atomicMin(to, x); }
__device__ __forceinline__ void lower(long long* to, long long x) { atomicMin(to, x); }
__device__ __forceinline__ void lower(float* to, float x) {
  atomicMin(reinterpret_cast<int*>(to), __float_as_int(x));
}
__device__ __forceinline__ void lower(double* to, double x) {
  atomicMin(reinterpret_cast<long long*>(to), __double_as_longlong(x));
}

extern "C" __global__ void weigh_edges(const int* edge, const int* place, long long entries, const out_t* of_edges,
                                       long long m, value_t* weights, long long n_arcs) {
  weights += blockIdx.y * n_arcs * SIDES;
  of_edges += blockIdx.y * m;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < entries; i += stride)
    lower(weights + (SIDES == 2 ? place[i] : place[i] >> 1), static_cast<value_t>(of_edges[edge[i]]));
}

// Returns the arc that leads to a depth, which exists among `count` sorted ones from `first` on.
__device__ __forceinline__ int arc_to(const int* depth, int first, int count, int wanted) {
  while (count > 1) {
    const int half = count >> 1;
    if (depth[first + half] <= wanted) {
      first += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return first;
}

extern "C" __global__ void list_third_sides(const int4* arcs, const int* third_first, int count, const int* depth,
                                            int* third) {
  const int stride = gridDim.x * blockDim.x / kFewLanes;
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / kFewLanes; i < count; i += stride) {
    const int4 arc = arcs[i];
    for (int j = arc.x + static_cast<int>(threadIdx.x) % kFewLanes; j < arc.y; j += kFewLanes)
      third[third_first[i] + j - arc.x] = arc_to(depth, arc.z, arc.w, depth[j]);
  }
}

struct Structure {
  const int4* arcs;
  const int* third_first;
  const int* third;
  const int* depth;
};

// An arc x - y of a level, for one metric; arc.x >= arc.y: none.
struct Item {
  int metric, third;  // start of its third sides
  int4 arc;
};

// kBatch triangles over the arc x - y: the arcs x - z and y - z, the latter -1 where there are fewer.
struct Batch {
  int xz[kBatch], yz[kBatch];
};

// The items of a level from a given one on, every `groups`-th.
struct Level {
  int begin, end;

  __device__ __forceinline__ long long items(int metrics) const { return static_cast<long long>(end - begin) * metrics; }
  __device__ __forceinline__ Item item(const Structure& s, int metrics, long long t) const {
    Item item{0, 0, make_int4(0, 0, 0, 0)};
    if (t >= items(metrics)) return item;
    item.metric = metrics == 1 ? 0 : static_cast<int>(t % metrics);
    const int at = begin + static_cast<int>(metrics == 1 ? t : t / metrics);
    item.arc = s.arcs[at];
    if (s.third != nullptr) item.third = s.third_first[at];
    return item;
  }
};

// Returns the triangles of a lane, from its arc `first` of x on.
template <int Lanes>
__device__ __forceinline__ Batch triangles(const Structure& s, const Item& item, int first) {
  Batch batch;
#pragma unroll
  for (int u = 0; u < kBatch; ++u) {
    const int j = first + Lanes * u;
    batch.xz[u] = j;
    batch.yz[u] = -1;
    if (j < item.arc.y)
      batch.yz[u] = s.third != nullptr ? s.third[item.third + j - item.arc.x]
                                       : arc_to(s.depth, item.arc.z, item.arc.w, s.depth[j]);
  }
  return batch;
}

// Processes `steps` levels from `level` on, up or down, with Lanes lanes per arc. Calls
// f.begin(metric, arc), f.take(batch) for the triangles of the arc, and f.end<Lanes>(), by all
// lanes of the arc. The arcs of a level are fetched a level ahead.
template <int Lanes, class Barrier, class F>
__device__ __forceinline__ void for_levels(const Structure& s, const int* level_first, int level, int steps, int by,
                                           int metrics, Barrier& barrier, F& f) {
  const int member = threadIdx.x % Lanes;
  const long long group = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) / Lanes;
  const long long groups = static_cast<long long>(gridDim.x) * THREADS / Lanes;
  auto bounds = [&](int step) {
    Level found{0, 0};
    if (step < steps) found = Level{level_first[level + by * step], level_first[level + by * step + 1]};
    return found;
  };
  Level now = bounds(0), next = bounds(1);
  Item coming = now.item(s, metrics, group);
  for (int step = 0; step < steps; ++step) {
    Item item = coming;
    coming = next.item(s, metrics, group);
    const Level later = bounds(step + 2);
    Batch batch = triangles<Lanes>(s, item, item.arc.x + member);
    barrier.wait();
    for (long long t = group; t < now.items(metrics); t += groups) {
      if (t > group) {
        item = now.item(s, metrics, t);
        batch = triangles<Lanes>(s, item, item.arc.x + member);
      }
      f.begin(item.metric, item.arc.y);
      for (int first = item.arc.x + member; first < item.arc.y; first += Lanes * kBatch) {
        const Batch some = batch;
        batch = triangles<Lanes>(s, item, first + Lanes * kBatch);
        f.take(some);
      }
      f.template end<Lanes>();
    }
    barrier.arrive();
    now = next;
    next = later;
  }
}

// Weights of an arc in both directions; two values of 32 bits come in one load.
struct Sides {
  value_t x[SIDES];
};
__device__ __forceinline__ Sides load_sides(const value_t* values, int arc) {
  union {
    Sides sides;
    uint64 bits;
  } both;
  if (sizeof(Sides) == 8 && SIDES == 2) {
    both.bits = load_relaxed(reinterpret_cast<const uint64*>(values) + arc);
  } else {
#pragma unroll
    for (int i = 0; i < SIDES; ++i) both.sides.x[i] = load_relaxed(values + SIDES * arc + i);
  }
  return both.sides;
}

struct LowerTriangles {
  value_t* all_weights;
  long long n_arcs;
  value_t* weights;
  Sides xy;

  __device__ __forceinline__ void begin(int metric, int arc) {
    weights = all_weights + metric * n_arcs * SIDES;
    xy = load_sides(weights, arc);
  }
  __device__ __forceinline__ void take(const Batch& batch) {
    Sides from_x[kBatch], now[kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
      if (batch.yz[u] >= 0) {
        from_x[u] = load_sides(weights, batch.xz[u]);
        now[u] = load_sides(weights, batch.yz[u]);
      }
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
#pragma unroll
      for (int i = 0; i < SIDES; ++i)
        if (batch.yz[u] >= 0) {
          const value_t sum = xy.x[SIDES - 1 - i] + from_x[u].x[i];  // y - x - z: down to x, then up from it
          if (sum < now[u].x[i]) lower(weights + SIDES * batch.yz[u] + i, sum);
        }
  }
  template <int>
  __device__ __forceinline__ void end() {}
};

struct UpperTriangles {
  const value_t* all_weights;
  value_t* all_detours;
  long long n_arcs;
  const value_t* weights;
  value_t* detours;
  int arc;
  Sides xy, best;  // arc x - y, and the shortest detour

  __device__ __forceinline__ void begin(int metric, int xy_arc) {
    weights = all_weights + metric * n_arcs * SIDES;
    detours = all_detours + metric * n_arcs * SIDES;
    arc = xy_arc;
    xy = load_sides(weights, arc);
#pragma unroll
    for (int i = 0; i < SIDES; ++i) best.x[i] = far_value();
  }
  __device__ __forceinline__ void take(const Batch& batch) {
    Sides detour[kBatch], direct[kBatch], from_x[kBatch], now[kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
      if (batch.yz[u] >= 0) {
        detour[u] = load_sides(detours, batch.yz[u]);
        now[u] = load_sides(detours, batch.xz[u]);
        from_x[u] = load_sides(weights, batch.xz[u]);
        direct[u] = load_sides(weights, batch.yz[u]);
      }
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
      if (batch.yz[u] >= 0) {
        value_t over[SIDES];  // arc between y and z
#pragma unroll
        for (int i = 0; i < SIDES; ++i) over[i] = detour[u].x[i] < direct[u].x[i] ? detour[u].x[i] : direct[u].x[i];
#pragma unroll
        for (int i = 0; i < SIDES; ++i) {
          const value_t around = from_x[u].x[i] + over[SIDES - 1 - i], to_z = xy.x[i] + over[i];
          best.x[i] = around < best.x[i] ? around : best.x[i];
          if (to_z < now[u].x[i]) lower(detours + SIDES * batch.xz[u] + i, to_z);
        }
      }
  }
  // Merges the results of the lanes of an arc; one of them lowers it.
  template <int Lanes>
  __device__ __forceinline__ void end() {
    const uint32 all = 0xffffffffu >> (32 - Lanes) << (threadIdx.x & 31) / Lanes * Lanes;
#pragma unroll
    for (int i = 0; i < SIDES; ++i) {
#pragma unroll
      for (int by = Lanes / 2; by > 0; by /= 2) {
        const value_t other = __shfl_xor_sync(all, best.x[i], by);
        best.x[i] = other < best.x[i] ? other : best.x[i];
      }
      if (threadIdx.x % Lanes == 0 && best.x[i] < far_value()) lower(detours + SIDES * arc + i, best.x[i]);
    }
  }
};

// Processes the levels from `level` to `end`, upwards and downwards.
template <class Barrier>
__device__ __forceinline__ void lower_levels(const Structure& s, const int* level_first, int level, int end, int crowded,
                                             int metrics, uint32* arrivals, LowerTriangles work) {
  Barrier barrier(arrivals);
  crowded = min(max(crowded, level), end);
  for_levels<kFewLanes>(s, level_first, level, crowded - level, 1, metrics, barrier, work);
  for_levels<kManyLanes>(s, level_first, crowded, end - crowded, 1, metrics, barrier, work);
}
template <class Barrier>
__device__ __forceinline__ void upper_levels(const Structure& s, const int* level_first, int level, int end, int crowded,
                                             int metrics, uint32* arrivals, UpperTriangles work) {
  Barrier barrier(arrivals);
  crowded = min(max(crowded, level), end);
  for_levels<kManyLanes>(s, level_first, end - 1, end - crowded, -1, metrics, barrier, work);
  for_levels<kFewLanes>(s, level_first, crowded - 1, crowded - level, -1, metrics, barrier, work);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    lower_triangles(const int4* arcs, const int* third_first, const int* third, const int* level_first, int level,
                    int end, int crowded, const int* depth, value_t* weights, long long n_arcs, int metrics,
                    uint32* arrivals) {
  lower_levels<SplitBarrier>(Structure{arcs, third_first, third, depth}, level_first, level, end, crowded, metrics,
                             arrivals, LowerTriangles{weights, n_arcs});
}
extern "C" __global__ void ONE_CLUSTER(CLUSTER) __launch_bounds__(THREADS)
    lower_triangles_near_root(const int4* arcs, const int* third_first, const int* third, const int* level_first,
                              int level, int end, int crowded, const int* depth, value_t* weights, long long n_arcs,
                              int metrics, uint32* arrivals) {
  lower_levels<ClusterBarrier>(Structure{arcs, third_first, third, depth}, level_first, level, end, crowded, metrics,
                               arrivals, LowerTriangles{weights, n_arcs});
}

extern "C" __global__ void __launch_bounds__(THREADS)
    upper_triangles(const int4* arcs, const int* third_first, const int* third, const int* level_first, int level,
                    int end, int crowded, const int* depth, const value_t* weights, value_t* detours, long long n_arcs,
                    int metrics, uint32* arrivals) {
  upper_levels<SplitBarrier>(Structure{arcs, third_first, third, depth}, level_first, level, end, crowded, metrics,
                             arrivals, UpperTriangles{weights, detours, n_arcs});
}
extern "C" __global__ void ONE_CLUSTER(CLUSTER) __launch_bounds__(THREADS)
    upper_triangles_near_root(const int4* arcs, const int* third_first, const int* third, const int* level_first,
                              int level, int end, int crowded, const int* depth, const value_t* weights,
                              value_t* detours, long long n_arcs, int metrics, uint32* arrivals) {
  upper_levels<ClusterBarrier>(Structure{arcs, third_first, third, depth}, level_first, level, end, crowded, metrics,
                               arrivals, UpperTriangles{weights, detours, n_arcs});
}

__device__ __forceinline__ bool is_far(value_t x) {
  return x >= (SIGNED_VALUES ? far_value() / 2 : far_value());
}

// Flags of arcs: whether an arc carries the distance between its ends, and whether queries need it; with `ties`, an arc that
// only equals a detour is not needed.
extern "C" __global__ void mark_arcs(const value_t* weights, const value_t* detours, long long count, int ties,
                                     unsigned char* flags) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    int known = 0;
#pragma unroll
    for (int s = 0; s < SIDES; ++s) {
      const value_t weight = weights[SIDES * i + s], way = detours[SIDES * i + s];
      if (is_far(weight) || way < weight) continue;
      known |= kTight << s;
      if (!ties || weight < way) known |= kNeeded << s;
    }
    flags[i] = static_cast<unsigned char>(known);
  }
}
