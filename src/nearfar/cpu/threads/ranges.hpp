// One pass over an array by several threads, a range each.
//
// Threads of its own, not those of the pool: the pool serves one call at a time, and to build a
// graph should not wait until another thread's solve has ended.
#pragma once

#include <cstddef>
#include <functional>

namespace nearfar {

// Calls part(range, from, to) for as many ranges of [0, size) as there are threads, which are
// numbered from 0; small arrays are one range on the caller's thread. `part` must not throw on
// others.
void in_ranges(std::size_t size, int threads,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& part);

}  // namespace nearfar
