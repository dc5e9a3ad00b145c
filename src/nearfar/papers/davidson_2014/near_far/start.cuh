// The beginning of a run: distances, marks, control block, and the source in the near set.
//
// Launch: any grid, grid-stride. No races: one thread per vertex.
// requires: papers/davidson_2014/near_far/state.cuh

extern "C" __global__ void start(Frame f, long long source, weight_t delta, weight_t threshold,
                                 weight_t limit, uint64 saturation) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long v = me; v < f.n; v += stride) {
    f.distance[v] = v == source ? weight_t(0) : unreached();
    if (f.stamp) f.stamp[v] = 0;
    if (f.in_far) f.in_far[v] = 0;
    if (f.last_label) f.last_label[v] = v == source ? 0u : 0xffffffffu;
  }
  if (me == 0) {
    Control c = {};
    c.near_size[0] = 1;
    c.saturation = saturation;
    c.threshold = threshold;
    c.floor = 0;
    c.delta = delta;
    c.near_min = c.far_min = unreached();
    c.limit = limit;
    *f.control = c;
    f.queue0[0] = static_cast<vertex_t>(source);
    if (f.owner) f.owner[source] = 0;
  }
}
