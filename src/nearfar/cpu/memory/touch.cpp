// Fresh memory, touched by all threads before they write to it.
//
// Memory that the system has just handed out has no pages yet: the first write to one makes it, and
// clears it. A huge page that several threads write to at the same time is made and cleared by each
// of them, and all but one throw theirs away. Rows of a result are shorter than a huge page, and
// workers begin with neighbouring rows, so they would do just that.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/huge_pages.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

// Makes each huge page, and what lies before the first whole one.
void touch(const Array& array, int threads) {
  const auto first = reinterpret_cast<std::uintptr_t>(array.data()), last = first + array.nbytes();
  const nb::gil_scoped_release release;
  spread(static_cast<int64_t>(last / kHugePage - first / kHugePage + 1), threads,
         [&](BatchCounter& counter, Interrupt& interrupt) {
           for (int64_t page; (page = counter.take()) >= 0;) {
             interrupt.poll(uint64_t{1} << 14);  // a system may take milliseconds to make one
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
