// Unweighted betweenness from eight sources at once: each source has a lane of a vector register.
//
// In a graph of small diameter, the distances from eight nearby sources to a vertex take few
// values: two or three in a social network. One visit to a vertex and its edges therefore serves
// several sources, and each operation of a visit is one instruction on eight numbers. A batch of up
// to 64 sources is first searched with one bit per source (Then et al. 2014), which lists the
// visits: for each distance, the vertices at that distance from some sources, and from which. Then,
// for each group of eight sources, path counts are pulled along the visits and shares in the
// reverse order, as in level_passes.hpp:
//   paths(v) = sum of paths(u) over edges from u to v in lanes where u is one nearer,
//   share(v) = ends(v) / paths(v) + sum of share(w) over edges from v to w where w is one farther.
// Visits of one distance are ordered by vertex number, and numbers fall with the degree
// (compact.hpp), so the processor predicts where rows end; this saves a third of the time.
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

// Rows of kept vertices, of outgoing and incoming edges.
struct LaneGraph {
  int32_t n;
  const int32_t *first, *heads;
  const int32_t *in_first, *tails;
  const LaneEnds* ends;
};

// The visits of one batch, or of eight of its sources. Level k is first[k] up to first[k + 1].
template <class Mask>
struct Visits {
  Buffer<int32_t> vertex;
  Buffer<Mask> lanes;
  Buffer<std::size_t> first;
};

// Memory of one worker. Everything but x is zero between calls.
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
  double* x;             // eight lanes per vertex: path counts, then shares
  uint64_t *seen, *met;  // sources that have reached a vertex; that reach it on this level
  uint8_t* now;          // lanes in which a vertex is on the current level
  Visits<uint64_t> batch;
  Visits<uint8_t> group;
};

}  // namespace nearfar::measures

namespace nearfar {

// lane_visits finds the visits of up to 64 distinct sources. lane_passes adds the paths, times the
// weights of the sources, through each vertex, and over each edge unless that is null, from the
// sources `from` onwards. It returns false and adds nothing if the path counts overflow a double.
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
