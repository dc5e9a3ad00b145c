// The step before a traversal: keeps the valid entries of the near set, and numbers their edges.
//
// queue0 (raw) -> queue1 (compacted) and starts. An entry is dropped when another slot owns its vertex
// (OWNERS) or its vertex has no edges, and moved to the far pile when its distance is not below the
// threshold (HYBRID, after the threshold fell). One 64-bit atomic per block reserves both slots and
// edge numbers, so the starts ascend with the slots in any order of the blocks. Paper:
// Davidson et al. 2014, section IV.C, "Workfront Sweep", and IV.B. Launch: blocks of 256, any grid.
// requires: papers/davidson_2014/near_far/relax.cuh

extern "C" __global__ void __launch_bounds__(kBlock) gather(Frame f, uint32 iteration) {
  if (f.control->done) return;
  __shared__ uint64 scratch[33];
  __shared__ uint64 reserved;
  Sweep s = begin_sweep(f, iteration);
  const uint64 size = f.control->near_size[iteration & 1];
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  for (uint64 base = static_cast<uint64>(blockIdx.x) * kBlock; base < size; base += stride) {
    const uint64 i = base + threadIdx.x;
    uint64 degree = 0;
    vertex_t v = 0;
    bool valid = i < size;
    if (valid) {
      v = f.queue0[i];
      valid = !OWNERS || f.owner[v] == static_cast<offset_t>(i);
    }
#if HYBRID
    uint32 put_off = 0;
    if (valid) {
      const weight_t d = load_relaxed(f.distance + v);
      if (!(d < s.threshold)) {
        valid = false;
        if (d < s.far_min) s.far_min = d;
        put_off = claim(f.in_far + v, 1);
      }
    }
    const vertex_t only[1] = {v};
    append(f, s, only, 0, put_off);
#endif
    if (valid) degree = f.offsets[v + 1] - f.offsets[v];
    const uint64 mine = degree ? (1ull << kEdgeBits) + degree : 0;
    uint64 total;
    const uint64 before = block_exclusive_sum(mine, scratch, &total);
    if (total) {
      if (threadIdx.x == 0) reserved = atomicAdd(&f.control->gathered, total);
      __syncthreads();
      if (mine) {
        const uint64 place = reserved + before;
        const uint64 slot = place >> kEdgeBits;
        f.queue1[slot] = v;
        if (f.starts) f.starts[slot] = static_cast<offset_t>(place & ((1ull << kEdgeBits) - 1));
      }
      __syncthreads();
    }
  }
#if HYBRID
  block_minimum(s.far_min, &f.control->far_min);
#endif
}
