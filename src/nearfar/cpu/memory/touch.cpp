// All threads touch fresh memory before writing results to it.
//
// The first write to a page of fresh memory makes the system allocate and clear it. If several
// threads write to the same huge page at once, each allocates and clears one, and all but one are
// discarded. Rows of a result are shorter than a huge page and workers start with adjacent rows, so
// that would happen.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/huge_pages.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

// Writes a zero byte to each huge page, and to the part before the first aligned one.
void touch(const Array& array, int threads) {
  const auto first = reinterpret_cast<std::uintptr_t>(array.data()), last = first + array.nbytes();
  const nb::gil_scoped_release release;
  spread(static_cast<int64_t>(last / kHugePage - first / kHugePage + 1), threads,
         [&](BatchCounter& counter, Interrupt& interrupt) {
           for (int64_t page; (page = counter.take()) >= 0;) {
             interrupt.poll(uint64_t{1} << 14);  // a system may take milliseconds per page
             const auto begin = (first / kHugePage + static_cast<std::uintptr_t>(page)) * kHugePage;
             const std::uintptr_t at = begin < first ? first : begin;
             if (at < last) make_page(at, last);
           }
         });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("touch", &touch, nb::arg("array"), nb::arg("threads"));
}

}  // namespace nearfar
