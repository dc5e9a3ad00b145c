// The pseudo-code of Martin et al. (2009) and of Ortega-Arranz et al. (2015) as a plain loop nest,
// nothing shared with the library: what its CPU forms are compared with (plain_loops.py).
//
// Usage: plain_loops FILE SOURCE ROUNDS. FILE: int64 n, int64 m, int32 indptr[n + 1], indices[m],
// weights[m], then the same three arrays transposed. Prints one line a form: name, iterations, sum
// of distances, seconds.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct List {
  std::vector<int> indptr, indices, weights;
};

static int n, m, source;
static List forward, backward;
static std::vector<int> distance_, lightest;
static std::vector<unsigned char> frontier, unsettled;

static int add(int d, int w) {
  return d > INT_MAX - w ? INT_MAX : d + w;
}

static int solve(bool predecessors, bool crauser) {
  std::fill(distance_.begin(), distance_.end(), INT_MAX);
  std::fill(frontier.begin(), frontier.end(), 0);
  std::fill(unsettled.begin(), unsettled.end(), 1);
  distance_[source] = 0;
  frontier[source] = 1;
  unsettled[source] = 0;
  int iterations = 0, threshold = 0;
  while (threshold != INT_MAX) {
    if (predecessors) {
      for (int i = 0; i < n; ++i)
        if (unsettled[i])
          for (int e = backward.indptr[i]; e < backward.indptr[i + 1]; ++e) {
            const int j = backward.indices[e];
            if (frontier[j])
              distance_[i] = std::min(distance_[i], add(distance_[j], backward.weights[e]));
          }
    } else {
      for (int i = 0; i < n; ++i)
        if (frontier[i])
          for (int e = forward.indptr[i]; e < forward.indptr[i + 1]; ++e) {
            const int j = forward.indices[e];
            if (unsettled[j])
              distance_[j] = std::min(distance_[j], add(distance_[i], forward.weights[e]));
          }
    }
    threshold = INT_MAX;
    for (int i = 0; i < n; ++i)
      if (unsettled[i])
        threshold =
            std::min(threshold, crauser && distance_[i] != INT_MAX ? add(distance_[i], lightest[i])
                                                                   : distance_[i]);
    if (threshold != INT_MAX)
      for (int i = 0; i < n; ++i) {
        frontier[i] = 0;
        if (unsettled[i] && distance_[i] <= threshold) {
          unsettled[i] = 0;
          frontier[i] = 1;
        }
      }
    ++iterations;
  }
  return iterations;
}

static void read(std::FILE* file, List& list) {
  list.indptr.resize(n + 1);
  list.indices.resize(m);
  list.weights.resize(m);
  for (auto* array : {&list.indptr, &list.indices, &list.weights})
    if (std::fread(array->data(), 4, array->size(), file) != array->size()) std::exit(2);
}

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  std::FILE* file = std::fopen(argv[1], "rb");
  int64_t size[2];
  if (!file || std::fread(size, 8, 2, file) != 2) return 2;
  n = static_cast<int>(size[0]);
  m = static_cast<int>(size[1]);
  source = std::atoi(argv[2]);
  read(file, forward);
  read(file, backward);
  distance_.resize(n);
  frontier.resize(n);
  unsettled.resize(n);
  lightest.assign(n, INT_MAX);
  for (int i = 0; i < n; ++i)
    for (int e = forward.indptr[i]; e < forward.indptr[i + 1]; ++e)
      lightest[i] = std::min(lightest[i], forward.weights[e]);
  const char* names[] = {"frontier_successors", "frontier_predecessors", "crauser_successors",
                         "crauser_predecessors"};
  for (int form = 0; form < 4; ++form)
    for (int round = 0; round < std::atoi(argv[3]); ++round) {
      const auto began = std::chrono::steady_clock::now();
      const int iterations = solve(form & 1, form >= 2);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      long long sum = 0;
      for (int d : distance_) sum += d == INT_MAX ? 0 : d;
      std::printf("%s %d %lld %.9f\n", names[form], iterations, sum, took.count());
    }
}
