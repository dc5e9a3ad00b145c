// Keeps the device busy for some time, so that the host can queue launches meanwhile: see kernel_times.py.
//
// Launch: one thread. No arrays, no races.
// requires: cuda/primitives/memory.cuh

extern "C" __global__ void pause_for(unsigned long long nanoseconds) {
  const unsigned long long began = clock_nanoseconds();
  while (clock_nanoseconds() - began < nanoseconds) {
  }
}
