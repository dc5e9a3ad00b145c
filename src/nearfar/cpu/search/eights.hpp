// Looking at eight edges of a long row before a branch.
//
// Where few edges of long rows are of use, as in dense graphs, one branch on whether any of eight
// is costs less than handling each of them. Where one of eight often is, the look is in vain; it
// stops when the eights looked at in vain exceed the others by too much.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

class Eights {
 public:
  bool pay() const { return credit_ >= 0; }

  // Calls take(e) for each e of [begin, end), except for eights without any e that is useful(e).
  template <class Useful, class Take>
  NEARFAR_INLINE void each(std::size_t begin, std::size_t end, const Useful& useful,
                           const Take& take) {
    std::size_t e = begin;
    int64_t credit = credit_;
    while (credit >= 0 && e + kEdges <= end) {
      bool any = false;
#pragma GCC unroll 8
      for (std::size_t i = e; i < e + kEdges; ++i) any |= useful(i);
      e += kEdges;
      ++credit;
      if (!any) continue;
      credit -= kLoss;
      for (std::size_t i = e - kEdges; i < e; ++i) take(i);
    }
    credit_ = credit;
    for (; e < end; ++e) take(e);
  }

  // Lets the look be tried again after some calls.
  void retry() { credit_ = std::min(credit_ + 1, kCredit); }

 private:
  static constexpr std::size_t kEdges = 8;
  static constexpr int64_t kCredit = 64, kLoss = 4;
  int64_t credit_ = kCredit;
};

}  // namespace nearfar
