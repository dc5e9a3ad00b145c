// Watches the buckets go by and says when delta should change, and by how much.
//
// Included by *.simd.cpp only; lives in the namespace of the instruction set.
#pragma once

#include <cstdint>

#include "cpu/arithmetic.hpp"

namespace nearfar::NEARFAR_ISA {

class Adapter {
 public:
  explicit Adapter(bool on) : on_(on) {}

  // Factor for delta after a bucket of `rows` processed vertices of which `repeated` were so again.
  double after_bucket(uint64_t rows, uint64_t repeated) {
    if (!on_) return 1;
    (void)rows;
    (void)repeated;
    return 1;
  }

 private:
  bool on_;
};

}  // namespace nearfar::NEARFAR_ISA
