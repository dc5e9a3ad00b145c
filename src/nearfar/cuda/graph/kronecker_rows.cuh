// A device's rows of the graph of generators/kronecker.py: the same edges, without an edge list.
//
// A value of the generator is a hash of a key and a counter, so every device draws all edges of the
// graph, twice, and keeps those that begin at its own vertices: kronecker_degrees counts them, and
// kronecker_rows writes them, in an order that differs from run to run.
//
// Arrays, [first, last) the own vertices: degrees[last - first] (uint64, 0), cursors[last - first]
// (uint64: where each row begins; afterwards, where it ends), edges.
// Launch: any grid, grid-stride over the drawn edges; each is stored in both directions, a
// self-loop once.
// requires: cuda/primitives/edges.cuh

struct Kronecker {
  uint64 key, scramble_key, weight_key;
  uint64 limits[3];  // a, a + b, a + b + c, times 2^32
  uint64 drawn;      // edges
  long long scale;
  long long scrambled;
  long long low, range;  // of the weights: low .. low + range - 1
  long long first, last;
};

__device__ __forceinline__ uint64 random_word(uint64 key, uint64 counter) {
  uint64 z = key + (counter + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// As struct Scramble in generators/scale_free.cpp.
struct Scramble {
  uint64 mask, multiply[3], add[3];
  int shift;

  __device__ explicit Scramble(const Kronecker& k) {
    mask = (1ull << k.scale) - 1;
    shift = k.scale > 1 ? static_cast<int>((k.scale + 1) / 2) : 1;
    for (int i = 0; i < 3; ++i) {
      multiply[i] = random_word(k.scramble_key, 2 * i) | 1;
      add[i] = random_word(k.scramble_key, 2 * i + 1);
    }
  }

  __device__ uint64 operator()(uint64 x) const {
    for (int i = 0; i < 3; ++i) {
      x = (x * multiply[i] + add[i]) & mask;
      x ^= x >> shift;
    }
    return x;
  }
};

// Calls keep(source, target, edge) for both directions of every drawn edge whose source belongs to
// the device.
template <class Keep>
__device__ __forceinline__ void draw_edges(const Kronecker& k, const Keep& keep) {
  const Scramble scramble(k);
  const uint64 hashes = (k.scale + 1) / 2, stride = static_cast<uint64>(gridDim.x) * blockDim.x;
  for (uint64 e = static_cast<uint64>(blockIdx.x) * blockDim.x + threadIdx.x; e < k.drawn; e += stride) {
    uint64 s = 0, t = 0;
    for (uint64 h = 0; h < hashes; ++h) {
      const uint64 bits = random_word(k.key, e * hashes + h);
      const int levels = h + 1 == hashes && (k.scale & 1) ? 1 : 2;
      for (int half = 0; half < levels; ++half) {
        const uint64 draw = half ? bits >> 32 : bits & 0xffffffffu;
        const uint64 past_a = draw >= k.limits[0], past_b = draw >= k.limits[1];
        const uint64 past_c = draw >= k.limits[2];
        s = (s << 1) | past_b;
        t = (t << 1) | ((past_a ^ past_b) | past_c);
      }
    }
    const long long one = k.scrambled ? scramble(s) : s, other = k.scrambled ? scramble(t) : t;
    if (one >= k.first && one < k.last) keep(one - k.first, other, e);
    if (other != one && other >= k.first && other < k.last) keep(other - k.first, one, e);
  }
}

extern "C" __global__ void kronecker_degrees(Kronecker kronecker, uint64* degrees) {
  draw_edges(kronecker, [&](long long row, long long, uint64) { atomicAdd(degrees + row, 1ull); });
}

extern "C" __global__ void kronecker_rows(Kronecker kronecker, uint64* cursors, Edge* edges) {
  draw_edges(kronecker, [&](long long row, long long target, uint64 e) {
    Edge edge;
    edge.target = static_cast<vertex_t>(target);
#if WEIGHTED
    const uint64 drawn = __umul64hi(random_word(kronecker.weight_key, e), kronecker.range);
    edge.weight = static_cast<weight_t>(kronecker.low + static_cast<long long>(drawn));
#endif
    edges[atomicAdd(cursors + row, 1ull)] = edge;
  });
}
