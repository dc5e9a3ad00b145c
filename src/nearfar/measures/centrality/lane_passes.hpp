// Betweenness from eight sources at once, without weights: a lane of a vector register per source.
//
// In a graph of small diameter, the distances from eight sources near each other to a vertex take
// few values: two or three in a social network. So a visit to a vertex and its edges serves several
// sources, and what a visit does to eight numbers is one instruction. A batch of up to 64 sources
// is searched first, with a bit per source (Then et al. 2014); it yields the visits: by distance,
// each vertex that some sources are so far from, and which. Then for each eight of the sources
// numbers of paths are pulled along the visits and shares against them, as in level_passes.hpp:
//   paths(v) = sum of paths(u) over edges from u to v in lanes where u is one nearer,
//   share(v) = ends(v) / paths(v) + sum of share(w) over edges from v to w where w is one farther.
// The visits of one distance go by the numbers of the vertices, which fall with their degree
// (compact.hpp), so that a processor foresees where rows end: a third off the time.
// Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB 8(4), 2014.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/instructions/isa.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/memory/huge_block.hpp"

namespace nearfar::measures {

constexpr int kLanes = 8;
constexpr int kMostLanes = 64;  // of a batch

struct LaneEnds {
  double all, behind;
};

// Rows of kept vertices, along edges and against them.
struct LaneGraph {
  int32_t n;
  const int32_t *first, *heads;
  const int32_t *in_first, *tails;
  const LaneEnds* ends;
};

// The visits of one batch, or of eight of its sources. Level k is first[k] to first[k + 1].
template <class Mask>
struct Visits {
  Buffer<int32_t> vertex;
  Buffer<Mask> lanes;
  Buffer<std::size_t> first;
};

// Memory of one worker. Between calls all but x is zeros.
struct LaneSpace {
  explicit LaneSpace(std::size_t n)
      : blocks{HugeBlock(n * kLanes * sizeof(double)), HugeBlock(n * sizeof(uint64_t)),
               HugeBlock(n * sizeof(uint64_t)), HugeBlock(n)},
        x(reinterpret_cast<double*>(blocks[0].data())),
        seen(reinterpret_cast<uint64_t*>(blocks[1].data())),
        met(reinterpret_cast<uint64_t*>(blocks[2].data())),
        now(reinterpret_cast<uint8_t*>(blocks[3].data())) {
    std::memset(x, 0, n * kLanes * sizeof(double));
    std::memset(seen, 0, n * sizeof(uint64_t));
    std::memset(met, 0, n * sizeof(uint64_t));
    std::memset(now, 0, n);
  }
  HugeBlock blocks[4];
  double* x;             // eight lanes per vertex: paths, then share
  uint64_t *seen, *met;  // sources that have come to a vertex, and that come to it now
  uint8_t* now;          // lanes in which a vertex is on the level that is read
  Visits<uint64_t> batch;
  Visits<uint8_t> group;
};

}  // namespace nearfar::measures

namespace nearfar {

// lane_visits finds the visits of up to 64 sources, none of them twice. lane_passes adds what
// passes through each vertex, and over each edge unless that is null, from sources `from` and on of
// them, times their weights; false, and nothing is added, when there are too many paths for a
// double.
#define NEARFAR_DECLARE_LANE_PASSES(level)                                                 \
  namespace level {                                                                        \
  void lane_visits(const measures::LaneGraph& graph, measures::LaneSpace& space,           \
                   const int32_t* sources, int count);                                     \
  bool lane_passes(const measures::LaneGraph& graph, measures::LaneSpace& space, int from, \
                   const double* weights, double* vertices, double* edges);                \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_LANE_PASSES)
#undef NEARFAR_DECLARE_LANE_PASSES

}  // namespace nearfar
