// When the near set is empty: split the far pile by the new threshold.
//
// split: an entry whose vertex has a distance below the old threshold has been settled and is dropped; one
// below the new threshold goes to the near set; the others are kept, in the other far array. A vertex has at
// most one entry (in_far), so there are no duplicates. Returns at once unless the previous traversal
// requested it. Paper: Davidson et al. 2014, section IV.C, "Near-Far Pile"; departure: the paper lets
// duplicates into the pile and removes them here, which needs room for as many entries as improvements.
// Launch: blocks of 256, any grid. Compiled with FAR only.
// requires: papers/davidson_2014/near_far/relax.cuh

extern "C" __global__ void __launch_bounds__(kBlock) split(Frame f, uint32 iteration) {
  Control& c = *f.control;
  if (!c.split) return;
  Sweep s = begin_sweep(f, iteration);
  const weight_t floor = c.floor;
  const int from = s.side;
  const uint64 size = c.far_size[from];
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  s.side ^= 1;
  for (uint64 base = static_cast<uint64>(blockIdx.x) * kBlock; base < size; base += stride) {
    const uint64 i = base + threadIdx.x;
    uint32 near_bit = 0, far_bit = 0;
    vertex_t entry[1] = {0};
    if (i < size) {
      entry[0] = far_pile(f, from)[i];
      const weight_t d = load_relaxed(f.distance + entry[0]);
      if (!(d < s.threshold)) {
        far_bit = 1;
        if (d < s.far_min) s.far_min = d;
      } else {
        near_bit = !(d < floor);
        f.in_far[entry[0]] = 0;
      }
    }
    append(f, s, entry, near_bit, far_bit);
  }
  block_minimum(s.far_min, &c.far_min);
  if (last_block(&c.split_ticket) && threadIdx.x == 0) {
    c.far_size[from] = 0;
    c.side = s.side;
    c.split = 0;
    ++c.splits;
  }
}
