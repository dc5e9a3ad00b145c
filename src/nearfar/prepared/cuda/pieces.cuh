// A piece of the elimination tree, as pieces.cpp cuts it.
//
// Rows of its matrix are the boundary, then the members themselves. Columns are members; an entry is the distance over
// paths within the piece.
// requires: prepared/cuda/values.cuh
#pragma once

struct Piece {
  int members, count;            // the first of them, and how many, a multiple of kUnit
  int boundary, boundary_count;  // alike, a multiple of kDeep
  int low, high;                 // labels in the subtrees of the members lie between
  int matrix;                    // in units of kUnit * kDeep values
  int is_top;
};

// A part of a piece: kUnit members from `first` on.
struct alignas(16) Part {
  int members, count, boundary, boundary_count, low, high, matrix;  // of the piece
  int first;
};

constexpr int kUnit = 16, kDeep = 8;  // of pieces.cpp

template <class PieceOrPart>
__device__ __forceinline__ long long matrix_of(const PieceOrPart& piece) {
  return static_cast<long long>(piece.matrix) * (kUnit * kDeep);
}
