// Order of the sources in columns if rows are written tile by tile (tiles.cuh).
//
// Memory is written in sectors of 32 bytes, rows begin at any byte, and rows that are kApart apart
// begin at the same offset within a sector. The COLUMNS adjacent columns of a thread are therefore
// sources kApart apart: of each 32 * COLUMNS sources, the u-th thread has u % kApart + kApart *
// (COLUMNS * (u / kApart) + i).
#pragma once

constexpr int kApart = 8;

__device__ __forceinline__ long long source_of_column(long long column, int columns) {
  const int in = static_cast<int>(column % (32 * columns)), unit = in / columns, i = in % columns;
  return column - in + unit % kApart + kApart * (columns * (unit / kApart) + i);
}
