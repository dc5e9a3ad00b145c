// Bucketing with a far pile: assigning updated vertices to buckets, and taking the lowest bucket.
//
// The buckets are one array of keys, bucket << kKeyShift | vertex, that the host keeps sorted with
// CuPy's radix sort. classify writes the keys of the vertices that a traversal updated (or,
// from_far, of the far pile's), and puts those beyond the last bucket on the far pile; take turns
// the leading keys of one bucket into the next near set. A key is stale when its vertex's distance
// has left the bucket: dropped by take, as are equal neighbours. Paper: Davidson et al. 2014,
// section IV.C, "Bucketing with Far Pile"; departure: the merge of the sorted newcomers into the
// bucket array is one sort of both, since a radix sort costs less than a comparing merge at these
// sizes. Macros: KEY_T (unsigned int for n <= 2^28, else unsigned long long), BUCKET_COUNT. Launch:
// blocks of 256, any grid.
// requires: papers/davidson_2014/near_far/relax.cuh

typedef KEY_T bucket_key;
constexpr int kKeyShift = sizeof(bucket_key) == 4 ? 28 : 60;

// Returns the bucket of a distance; BUCKET_COUNT means the far pile. Monotone in d, so equal
// buckets stay equal.
__device__ __forceinline__ int bucket_of(weight_t d, weight_t base, weight_t delta) {
  if (d < base) return 0;
  const weight_t whole = (d - base) / delta;
  return whole < weight_t(BUCKET_COUNT) ? static_cast<int>(whole) : BUCKET_COUNT;
}

extern "C" __global__ void __launch_bounds__(kBlock) classify(Frame f, uint32 iteration,
                                                              bucket_key* keys, weight_t base,
                                                              weight_t old_base, uint32 from_far) {
  Control& c = *f.control;
  Sweep s = begin_sweep(f, iteration);
  const int from = s.side;
  const uint64 size = from_far ? c.far_size[from] : c.near_size[(iteration + 1) & 1];
  const vertex_t* const entries = from_far ? far_pile(f, from) : near_output(f, iteration);
  if (from_far) s.side ^= 1;
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  for (uint64 start = static_cast<uint64>(blockIdx.x) * kBlock; start < size; start += stride) {
    const uint64 i = start + threadIdx.x;
    vertex_t entry[1] = {0};
    int bucket = -1;
    weight_t d = 0;
    if (i < size) {
      entry[0] = entries[i];
      d = load_relaxed(f.distance + entry[0]);
      const bool duplicate = OWNERS && !from_far && f.owner[entry[0]] != static_cast<offset_t>(i);
      const bool settled = from_far && bucket_of(d, old_base, c.delta) < BUCKET_COUNT;
      bucket = settled || duplicate ? -1 : bucket_of(d, base, c.delta);
      if (from_far && bucket < BUCKET_COUNT) f.in_far[entry[0]] = 0;
    }
    const bool far = bucket == BUCKET_COUNT;
    if (far && d < s.far_min) s.far_min = d;
    append(f, s, entry, 0, far && (from_far || claim(f.in_far + entry[0], 1)));
    const bool near = bucket >= 0 && !far;
    const uint32 lanes = __ballot_sync(kAllLanes, near);
    uint64 slot = 0;
    if (lane_id() == 0 && lanes) slot = atomicAdd(&c.keys, static_cast<uint64>(__popc(lanes)));
    slot = __shfl_sync(kAllLanes, slot, 0) + __popc(lanes & ((1u << lane_id()) - 1));
    if (near)
      keys[slot] = static_cast<bucket_key>(bucket) << kKeyShift | static_cast<bucket_key>(entry[0]);
  }
  block_minimum(s.far_min, &c.far_min);
  if (last_block(&c.split_ticket) && threadIdx.x == 0) {
    if (from_far) {
      c.far_size[from] = 0;
      c.side = s.side;
      ++c.splits;
    } else {
      c.near_size[(iteration + 1) & 1] = 0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock) take(Frame f, uint32 iteration,
                                                          const bucket_key* keys, uint64 count,
                                                          weight_t base) {
  const Sweep s = begin_sweep(f, iteration);
  const weight_t delta = f.control->delta;
  const bucket_key lowest = keys[0] >> kKeyShift;
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  for (uint64 start = static_cast<uint64>(blockIdx.x) * kBlock; start < count; start += stride) {
    const uint64 i = start + threadIdx.x;
    uint32 valid = 0;
    vertex_t entry[1] = {0};
    if (i < count && keys[i] >> kKeyShift == lowest) {
      const bucket_key mask = (static_cast<bucket_key>(1) << kKeyShift) - 1;
      entry[0] = static_cast<vertex_t>(keys[i] & mask);
      const weight_t d = load_relaxed(f.distance + entry[0]);
      valid = bucket_of(d, base, delta) == static_cast<int>(lowest) && (i == 0 || keys[i - 1] != keys[i]);
      if (i + 1 == count || keys[i + 1] >> kKeyShift != lowest) f.control->taken = i + 1;
    }
    append(f, s, entry, valid, 0);
  }
}
