// Arcs of labels that a warp goes through one after the other, on their way to shared memory before they are followed.
//
// Registers would not do: a load that is waited for is waited for together with later ones that share its scoreboard, of
// which a warp has six. Copies past the registers are waited for in the order in which they began.
//
// Shared memory per warp: kRingBytes.
// requires: prepared/values.cuh
// requires: cuda/copy_async.cuh
#pragma once

constexpr int kAhead = 8;  // labels whose arcs are on their way

// `Row` arcs per label; those beyond are not copied.
template <int Row>
struct ArcRing {
  static constexpr int kBytes = kAhead * Row * (sizeof(value_t) + sizeof(int));
  value_t* weights;
  int* depths;

  // memory: kBytes for this warp
  __device__ __forceinline__ explicit ArcRing(char* memory)
      : weights(reinterpret_cast<value_t*>(memory)),
        depths(reinterpret_cast<int*>(memory + kAhead * Row * sizeof(value_t))) {}

  // Begins the copies for the `number`-th label, and ends a group of copies: one per label, also where there is none.
  __device__ __forceinline__ void issue(int number, const int* head_depth, const value_t* weight, int first, int count) {
    const int lane = threadIdx.x & 31, slot = number % kAhead * Row;
#pragma unroll
    for (int base = 0; base < Row; base += 32) {
      if (base >= count) break;
      const int j = base + lane;
      if (j < count) {
        copy_async_value(depths + slot + j, head_depth + first + j);
        copy_async_value(weights + slot + j, weight + first + j);
      }
    }
    copy_async_commit();
  }
  // Waits for the copies of the label that comes first, kAhead - 1 groups having begun; all lanes see them afterwards.
  __device__ __forceinline__ void wait() const {
    copy_async_wait_but<kAhead - 2>();
    __syncwarp();
  }
};
