// One pass over an array by several threads, each with one range.
//
// Uses its own threads instead of the pool: the pool serves one call at a time, and building a
// graph should not wait for another thread's solve.
#pragma once

#include <cstddef>
#include <functional>

namespace nearfar {

// Calls part(range, from, to) for as many ranges of [0, size) as there are threads, numbered from
// 0; a small array is one range on the calling thread. `part` must not throw on other threads.
void in_ranges(std::size_t size, int threads,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& part);

}  // namespace nearfar
