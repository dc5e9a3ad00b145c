// Least costs over a raster: tiles relaxed in shared memory, a full search in one cooperative
// launch.
//
// A worker (a warp in two dimensions, a block in three) loads a tile with a halo of its neighbours'
// cells, relaxes it to its fixed point (flat_tile.cuh, volume_tile.cuh) and stores it. It passes to
// each neighbour the least distance that could lower a cell there, as a key, and the face
// concerned. A phase takes the tiles whose key is within `delta` of the least key; delta adapts to
// their number. A worker whose tile affects only one other tile, while nothing else is pending,
// continues with that one, so a passage needs no round of the grid per tile. After `patience` visits,
// one after the other, in phases of few tiles the search stops, and cuda.py hands it over. Any order
// ends at the fixed point of d[v] = min(d[u] + w(u, v)), so the bits are those of the CPU's engine
// (raster/tile.hpp), which also defines how a step's cost is rounded: products are never
// contracted.
//
// cost: barriers are inf, NaN or the dtype's maximum. distance: set at the sources, else unreached.
// key: one per tile, the least distance that waits for it, or unreached. marks: one per tile, faces
// by which something came since its last visit, and above these the phase of that visit + 1. queue:
// one entry per tile. state: 4 x (queue size, entries taken), [8] phases, [9] tile visits, [10] 1 if
// tiles were left waiting, [16] 4 x the most visits of a worker in a phase of few tiles, [32] the
// barrier, which waiting blocks read all the time. least: 4 least keys of all that waits, then 4
// of the tiles that a phase left waiting.
// Races: a tile is solved once in a phase, by the worker that first writes the phase to its mark,
// so only that worker stores its cells. A neighbour's border may be read while it is stored. The
// owner then writes the face, after its cells and a fence, and the key. The worker that solves the
// tile takes the faces before it loads cells, so it sees the cells of each face that it takes. Keys
// are read between two barriers of the grid: there is one for each face that was not taken, and one
// whose face was taken costs only a check.
// Launch: cooperative, whole warps, at most THREADS, with shared memory for the cells of each
// worker (kCells, twice or, with slopes, three times). One large block per multiprocessor: few
// blocks then wait at a barrier.
// requires: cuda/primitives/types.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/split_barrier.cuh
// requires: raster/kernels/steps.cuh
// requires: raster/kernels/flat_tile.cuh
// requires: raster/kernels/volume_tile.cuh

constexpr int kMarkBits = 8;
constexpr uint32 kFew = DIMS == 2 ? 1 : 4;  // tiles per worker that keep the device busy
constexpr uint32 kThin = 32;                // tiles of a phase that a CPU solves sooner

#if DIMS == 2
__device__ __forceinline__ void worker_sync() { __syncwarp(); }
__device__ __forceinline__ int worker_count(bool one) { return __popc(__ballot_sync(kAll, one)); }
#else
__device__ __forceinline__ void worker_sync() { __syncthreads(); }
__device__ __forceinline__ int worker_count(bool one) { return __syncthreads_count(one); }
#endif

// Next work of a worker: a tile, the faces that received updates, and its next entry of the queue.
struct NextUp {
  int tile;
  uint32 faces, entry;
};

// Takes a tile for this phase; returns the faces that received updates, 0 if it was already taken.
__device__ __forceinline__ uint32 take_tile(uint32* mark, uint32 phase) {
  constexpr uint32 faces = (1u << kMarkBits) - 1;
  const uint32 before = atomicExch(mark, (phase + 1) << kMarkBits);
  if (before >> kMarkBits == phase + 1) {
    atomicOr(mark, before & faces);
    return 0;
  }
  __threadfence();
  return before & faces;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    relax_tiles(const weight_t* cost, const weight_t* elevation, const weight_t* factors, const weight_t* inverses,
                const weight_t* table, weight_t low, weight_t scale, weight_t last, weight_t* distance, weight_t* key,
                uint32* marks, int* queue, uint32* state, weight_t* least, long long planes, long long rows,
                long long columns, weight_t limit, weight_t delta, unsigned int patience) {
  extern __shared__ __align__(16) weight_t cells[];
  __shared__ NextUp next_ups[32];
  const int in_block = DIMS == 2 ? threadIdx.x / 32 : 0, lane = threadIdx.x % 32, rank = DIMS == 2 ? lane : threadIdx.x;
  const uint32 in_each = DIMS == 2 ? blockDim.x / 32 : 1;
  const uint32 worker = in_block * gridDim.x + blockIdx.x, workers = gridDim.x * in_each;
  const Grid g = {planes, rows, columns, static_cast<int>((planes + DEPTH - 1) / DEPTH),
                  static_cast<int>((rows + SIDE - 1) / SIDE), static_cast<int>((columns + SIDE - 1) / SIDE)};
  const int tiles = g.z * g.y * g.x;
  const int stride = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
  constexpr int size_of_cells = (RULE == 2 ? 3 : 2) * kCells;
  weight_t* const mine = cells + in_block * size_of_cells;
#if RULE == 2
  const Cells t = {mine, mine + kCells, mine + 2 * kCells};
#else
  const Cells t = {mine, mine + kCells};
#endif
  NextUp& next_up = next_ups[in_block];
  Factors f;
#pragma unroll
  for (int k = 0; k < STEPS; ++k) {
    f.length[k] = factors[k];
#if RULE == 2
    f.inverse[k] = inverses[k];
#endif
  }
  f.slopes = {table, low, scale, last};
  for (int i = rank; i < size_of_cells; i += DIMS == 2 ? 32 : blockDim.x) mine[i] = unreached();
  SplitBarrier barrier(state + 32);
  weight_t threshold = delta;  // tiles of the sources have small keys
  uint32 visits = 0, thin = 0;
  for (uint32 phase = 0;; ++phase) {
    uint32* const size = state + 2 * (phase & 3);
    uint32* const longest = state + 16 + (phase & 3);
    weight_t* const next_least = least + (phase & 3);
    weight_t waiting = unreached();
    for (int first = me - lane; first < tiles; first += stride) {  // the same for all lanes
      const int i = first + lane;
      const weight_t waits = i < tiles ? load_relaxed(key + i) : unreached();
      const bool now = waits != unreached() && waits <= limit && waits <= threshold;
      if (now) store_relaxed_weight(key + i, unreached());
      if (!now && waits <= limit && waits < waiting) waiting = waits;
      const uint32 who = __ballot_sync(kAll, now);
      if (who == 0) continue;
      uint32 at = lane == 0 ? atomicAdd(size, static_cast<uint32>(__popc(who))) : 0;
      at = __shfl_sync(kAll, at, 0) + __popc(who & ((1u << lane) - 1));
      if (now) queue[at] = i;
    }
    waiting = least_of_warp(waiting);
    if (lane == 0 && waiting < unreached()) {
      atomic_minimum(next_least, waiting);
      atomic_minimum(next_least + 4, waiting);
    }
    barrier.meet();
    const uint32 queued = load_relaxed(size);
    if (me == 0) {  // the slot after next; all workers have left the phase that used it
      state[2 * ((phase + 2) & 3)] = 0;
      state[2 * ((phase + 2) & 3) + 1] = 0;
      state[16 + ((phase + 2) & 3)] = 0;
      least[(phase + 2) & 3] = unreached();
      least[4 + ((phase + 2) & 3)] = unreached();
    }
    for (uint32 entry = worker; entry < queued;) {
      if (rank == 0) {
        const int tile = load_relaxed(queue + entry);
        next_up = {tile, take_tile(marks + tile, phase), workers + atomicAdd(size + 1, 1u)};
      }
      worker_sync();
      entry = next_up.entry;
      const uint32 before = visits;
      while (next_up.faces != 0) {
        const int tile = next_up.tile;
        const weight_t given = solve_tile(t, f, g, tile, next_up.faces, cost, elevation, distance);
        ++visits;
        const bool nothing_waits = load_relaxed(next_least) == unreached();
        __threadfence();
        const bool gives = rank < 27 && given < unreached();
        const bool alone = worker_count(gives) == 1 && visits - before <= patience;
        if (rank == 0) next_up.faces = 0;
        worker_sync();
        weight_t left = unreached();
        if (gives) {
          // Cells outside the raster receive nothing, so the tile exists.
          const int other = tile_at(g, tile, rank);
          atomicOr(marks + other, face_towards(rank));
          const bool follows = alone && nothing_waits && given <= limit;
          const uint32 faces = follows ? take_tile(marks + other, phase) : 0;
          if (faces != 0) {
            next_up.tile = other;
            next_up.faces = faces;
          } else {
            atomic_minimum(key + other, given);
            left = given;
          }
        }
        left = least_of_warp(left);
        if (rank == 0 && left < unreached()) atomic_minimum(next_least, left);
        worker_sync();
      }
      if (rank == 0 && queued < kThin) atomicMax(longest, visits - before);
      worker_sync();
    }
    barrier.meet();
    const weight_t first = load_relaxed(next_least);
    if (first == unreached() || first > limit) {
      if (me == 0) state[8] = phase + 1;
      break;
    }
    thin = queued < kThin ? thin + load_relaxed(longest) : 0;
    if (thin > patience) {
      if (me == 0) {
        state[8] = phase + 1;
        state[10] = 1;
      }
      break;
    }
    // A wider window helps only where tiles were left waiting while workers were idle.
    if (queued < kFew * workers / 4 && load_relaxed(next_least + 4) != unreached()) delta = add_saturating(delta, delta);
    if (queued > kFew * workers) delta = delta / 2 > weight_t(0) ? delta / 2 : delta;
    threshold = add_saturating(first, delta);
  }
  if (rank == 0) atomicAdd(state + 9, visits);
}
