// The random numbers of every generator, also used as hashes: value i is a hash of (key, i), so it
// does not depend on earlier ones.
//
// random(key, i) is output i of the splitmix64 generator (Steele, Lea, Flood: "Fast splittable
// pseudorandom number generators", OOPSLA 2014, figure 16) whose state starts at the key. Only
// 64-bit integer arithmetic is used, so the same numbers come out on every machine, in any order
// and on any number of threads.
#pragma once

#include <cstdint>

namespace nearfar::generators {

constexpr uint64_t golden = 0x9e3779b97f4a7c15ull;

inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

inline uint64_t random(uint64_t key, uint64_t counter) {
  return mix(key + (counter + 1) * golden);
}

// Uniform in 0 .. range-1 by the high half of a product; its bias is below range / 2^64.
inline uint64_t below(uint64_t bits, uint64_t range) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
}

}  // namespace nearfar::generators
