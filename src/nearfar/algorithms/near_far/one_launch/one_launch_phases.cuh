// Decisions of a search over edges taken when due: the next step and its thresholds.
//
// For one_launch_ranges.cuh and partitioned.cuh: equal results of a step give the same next step on
// every block and device.
// requires: algorithms/near_far/one_launch/one_launch_pull.cuh
#pragma once

enum Phase : uint32 { kTake, kAdvance, kLearn, kPullOpen, kFindAgain, kEnd };

// The progress of a search; every device computes the same.
struct Progress {
  weight_t low, high;  // settled vertices relaxed sums below `low` before the last split; the threshold
  weight_t pending;    // the least waiting sum
  weight_t limit;
  double delta, eager_growth;
  uint64 edges, reachable;  // of the whole graph
  uint64 reached, degrees, looked_at;
  long long pull_share;  // 0: never
  long long steps, splits, pulls;
  uint32 phase, eager;
};

// Returns the range of sums that are due in a step.
__device__ __forceinline__ Range due_in(const Progress& now) {
  return Range{now.phase == kAdvance ? now.low : weight_t(0), now.eager ? unreached() : now.high};
}

// Returns the destination of vertices that the next step takes.
__device__ __forceinline__ Targets next_queue(const Solve& solve, long long step, weight_t high) {
  const Sink sink{solve.near_queue[(step + 1) & 1], &solve.control->near_count[(step + 1) & 3],
                  nullptr, static_cast<count_t>(solve.capacity)};
  return Targets{sink, sink, &solve.control->heavy_count[step & 3], high};
}

// Returns the phase after `now`, given the number of near vertices and `found`, added up over all
// devices. `before_pull` precedes a pull; kPullOpen where nothing precedes it.
__device__ __forceinline__ Progress after(Progress now, uint64 near, const Tally& found,
                                          Phase before_pull) {
  if (now.phase == kEnd) return now;
  now.reached += found.reached;
  now.degrees += found.degrees;
  now.looked_at += found.edges;
  now.pending = found.pending < now.pending ? found.pending : now.pending;
  ++now.steps;
  if (near != 0) {
    now.phase = kTake;
  } else if (now.phase == kLearn) {
    now.phase = kPullOpen;
  } else if (!(now.pending < unreached()) || now.pending > now.limit ||
             (!now.eager && now.reached >= now.reachable)) {
    now.phase = kEnd;
    --now.steps;
  } else {
    const uint64 open = now.degrees < now.edges ? now.edges - now.degrees : 0;
    const bool pull = !now.eager && now.pull_share != 0 &&
                      open * static_cast<uint64>(now.pull_share) < now.edges;
    if (pull) now.delta *= now.eager_growth;
    now.low = now.high;
    now.high = threshold_above(now.pending < now.high ? now.high : now.pending, now.delta);
    now.pending = unreached();
    now.degrees = 0;
    now.phase = now.eager ? kFindAgain : pull ? before_pull : kAdvance;
    ++now.splits;
  }
  if (now.phase == kPullOpen) {
    now.eager = 1;
    ++now.pulls;
  }
  return now;
}
