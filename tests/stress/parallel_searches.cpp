// Delta-stepping and breadth-first search on several cores under load, for the sanitizers: without
// Python, with busy loops on the same cores, helpers suspended for milliseconds, and exceptions
// during searches. Built and run by tests/cpu/test_stress.py.
//
//   stress LOOPS ROUNDS
//
// Every answer is compared with that of a plain search. Prints counts of the events; exits with 1
// on a wrong answer.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <queue>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/breadth_first/breadth_first.hpp"
#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/threads/worker_pool.hpp"

// Two of the many types, because compiling all of them with a sanitizer takes minutes.
#undef NEARFAR_FOR_EACH_CSR
#undef NEARFAR_FOR_EACH_BARE
#define NEARFAR_FOR_EACH_CSR(X) X(int32_t, int32_t) X(int32_t, double)
#define NEARFAR_FOR_EACH_BARE(X)
#include "algorithms/delta_stepping/parallel.cpp"

namespace {

std::atomic<int> looks_left{-1};  // checks for a signal before one throws; never if negative

}  // namespace

namespace nearfar {

// Replaces cpu/threads/interrupt.cpp, which calls Python.
Interrupt::Interrupt() : stop_(nullptr), holds_call_(true), next_(0) {}
Interrupt::Interrupt(const std::atomic<bool>& given_up)
    : stop_(&given_up), holds_call_(false), next_(0) {}

void Interrupt::look() {
  work_ = 0;
  if (!holds_call_) {
    if (stop_->load(std::memory_order_relaxed)) throw GivenUp{};
  } else if (looks_left >= 0 && --looks_left < 0) {
    throw 7;
  }
}

}  // namespace nearfar

namespace {

using namespace nearfar;

constexpr int kThreads[] = {2, 3, 8};

struct Totals {
  uint64_t solves = 0, wrong = 0, thrown = 0, rounds = 0, raised = 0, steals = 0, together = 0;
};

template <class W>
struct Made {
  std::vector<std::vector<std::pair<int32_t, W>>> rows;
  std::vector<int32_t> indptr, indices;
  std::vector<W> weights;
  std::vector<PackedEdge<W>> edges;
  bool dead_ends = false;

  explicit Made(std::mt19937& random) {
    switch (random() % 6) {
      case 0:
        grid(random, 60);
        break;
      case 1:
        dense(random);
        break;
      case 2:
        hubs(random);
        break;
      case 3:
        star(random);
        break;
      case 4:
        path(random);
        break;
      default:
        rings(random);
    }
    finish();
  }

  Made(std::mt19937& random, std::size_t side) {
    grid(random, side);
    finish();
  }

  void finish() {
    indptr.push_back(0);
    for (const auto& row : rows) {
      for (const auto& [head, weight] : row) append(head, weight);
      indptr.push_back(static_cast<int32_t>(indices.size()));
    }
    for (int i = 0; i < 64; ++i) append(0, 0);  // loads may pass the end
  }

  void append(int32_t head, W weight) {
    indices.push_back(head);
    weights.push_back(weight);
    const bool marked = dead_ends && rows[static_cast<std::size_t>(head)].empty();
    edges.push_back({marked ? head | std::numeric_limits<int32_t>::min() : head, weight});
  }

  void join(std::mt19937& random, std::size_t a, std::size_t b) {
    const auto weight = static_cast<W>(random() % 1000);
    rows[a].push_back({static_cast<int32_t>(b), weight});
    rows[b].push_back({static_cast<int32_t>(a), weight});
  }

  void grid(std::mt19937& random, std::size_t side) {
    rows.resize(side * side);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) {
        if (i != 0) join(random, i * side + j, (i - 1) * side + j);
        if (j != 0) join(random, i * side + j, i * side + j - 1);
      }
  }

  void dense(std::mt19937& random) {
    const std::size_t n = 200 + random() % 4000;
    rows.resize(n);
    for (std::size_t e = n * (1 + random() % 40); e != 0; --e)
      join(random, random() % n, random() % n);
  }

  void hubs(std::mt19937& random) {
    constexpr std::size_t n = 3000;
    rows.resize(n);
    std::uniform_real_distribution<double> any(0, 1);
    for (int e = 0; e < 30'000; ++e)
      join(random, static_cast<std::size_t>(n * std::pow(any(random), 6)), random() % n);
  }

  void star(std::mt19937& random) {
    // Up to four middles, whose rows are shared by all workers if there are enough leaves.
    const std::size_t middles = 1 + random() % 4, n = middles + 1 + random() % 20'000;
    rows.resize(n);
    for (std::size_t v = 1; v < n; ++v) join(random, v, v < middles ? v - 1 : v % middles);
  }

  void path(std::mt19937& random) {
    const std::size_t n = 2 + random() % 5000;
    rows.resize(n);
    for (std::size_t v = 1; v < n; ++v) join(random, v - 1, v);
  }

  // Cycles of weight 0, joined by other edges, each with a dead end attached.
  void rings(std::mt19937& random) {
    constexpr std::size_t n = 3000, size = 30;
    rows.resize(2 * n);
    for (std::size_t v = 0; v < n; ++v) {
      rows[v].push_back({static_cast<int32_t>(v / size * size + (v + 1) % size), 0});
      rows[v].push_back({static_cast<int32_t>(n + v), static_cast<W>(random() % 9)});
      rows[v].push_back({static_cast<int32_t>(random() % n), static_cast<W>(random() % 99)});
      rows[v].push_back({static_cast<int32_t>(n + random() % n), static_cast<W>(random() % 99)});
    }
    dead_ends = true;
  }

  Csr<W> csr() const {
    Csr<W> view;
    view.n = static_cast<int32_t>(rows.size());
    view.m = indptr.back();
    view.indptr = indptr.data();
    view.indices = indices.data();
    view.weights = weights.data();
    view.edges = edges.data();
    view.has_dead_ends = dead_ends;
    return view;
  }

  std::vector<W> distances() const {
    std::vector<W> found(rows.size(), unreached<W>());
    using Entry = std::pair<W, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    found[0] = 0;
    queue.push({0, 0});
    while (!queue.empty()) {
      const auto [distance, vertex] = queue.top();
      queue.pop();
      if (distance != found[vertex]) continue;
      for (const auto& [head, weight] : rows[vertex]) {
        const auto sum = static_cast<W>(distance + weight);
        W& old = found[static_cast<std::size_t>(head)];
        if (sum < old) queue.push({old = sum, static_cast<std::size_t>(head)});
      }
    }
    return found;
  }
};

template <class W>
void solve_graphs(unsigned seed, int rounds, Totals& totals) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const Made<W> made(random);
    const Csr<W> csr = made.csr();
    const std::vector<W> wanted = made.distances();
    for (int turn = 0; turn < 9; ++turn) {
      const int threads = kThreads[turn % 3];
      const double given = 1.0 + random() % 300;
      DeltaPlan plan = plan_for(csr, random() % 3 ? std::nullopt : std::optional<double>(given));
      plan.claim = random() % 2 != 0;
      std::vector<W> found(wanted.size());
      Interrupt interrupt;
      looks_left = random() % 10 == 0 ? static_cast<int>(random() % 3) : -1;
      // Half of the searches end at a target: nearer vertices then have their distances.
      const int64_t target = static_cast<int64_t>(random() % wanted.size());
      StopRule<W> stop;
      if (turn % 2 != 0) stop.targets = &target, stop.n_targets = 1;
      ++totals.solves;
      try {
        const SearchStats stats =
            delta_stepping::parallel(csr, 0, found.data(), stop, plan, threads, interrupt);
        const W far =
            stop.n_targets == 0 ? unreached<W>() : wanted[static_cast<std::size_t>(target)];
        bool wrong = false;
        for (std::size_t v = 0; v < wanted.size(); ++v)
          wrong |= wanted[v] <= far ? found[v] != wanted[v] : found[v] < wanted[v];
        totals.wrong += wrong;
        totals.rounds += stats.iterations;
        totals.raised += stats.raised;
        totals.steals += stats.steals;
      } catch (int) {
        ++totals.thrown;
      }
    }
  }
}

// Solves a graph until a worker has taken entries of another, which depends on the scheduler. Gives
// up after a thousand attempts.
void solve_until_one_steals(Totals& totals) {
  std::mt19937 random(5);
  const Made<int32_t> made(random, 300);
  const auto csr = made.csr();
  const std::vector<int32_t> wanted = made.distances();
  std::vector<int32_t> found(wanted.size());
  looks_left = -1;
  for (int turn = 0; turn < 1000 && totals.steals == 0; ++turn) {
    Interrupt interrupt;
    const SearchStats stats = delta_stepping::parallel(csr, 0, found.data(), StopRule<int32_t>{},
                                                       plan_for(csr, std::nullopt), 3, interrupt);
    totals.wrong += found != wanted;
    totals.steals += stats.steals;
  }
}

// Graphs without weights whose levels are wide enough to be shared.
struct Wide {
  std::vector<std::vector<int32_t>> rows, sources;  // edges out of and into each vertex

  explicit Wide(std::mt19937& random) {
    const std::size_t n = 20'000 + random() % 40'000;
    rows.resize(n), sources.resize(n);
    const auto join = [&](std::size_t a, std::size_t b) {
      rows[a].push_back(static_cast<int32_t>(b));
      sources[b].push_back(static_cast<int32_t>(a));
    };
    std::uniform_real_distribution<double> any(0, 1);
    const auto skewed = [&] { return static_cast<std::size_t>(n * std::pow(any(random), 3)); };
    switch (random() % 4) {
      case 0:  // stars around a few hubs
        for (std::size_t e = 0; e < 2 * n; ++e) {
          const std::size_t hub = random() % 4, v = random() % n;
          join(hub, v), join(v, hub);
        }
        break;
      case 1:
        for (std::size_t e = 0; e < 6 * n; ++e) join(random() % n, random() % n);
        break;
      case 2:
        for (std::size_t e = 0; e < 6 * n; ++e) join(skewed(), skewed());
        break;
      default:  // a path into layers that lead from one to the next
        for (std::size_t v = 0; v < 100; ++v) join(v, v + 1);
        for (std::size_t e = 0; e < 8 * n; ++e) {
          const std::size_t v = 100 + random() % (n - 100), size = n / 8;
          join(v, std::min(n - 1, (v / size + 1) * size + random() % size));
        }
    }
  }

  std::vector<int32_t> levels() const {
    std::vector<int32_t> found(rows.size(), unreached<int32_t>()), queue{0};
    found[0] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto v = static_cast<std::size_t>(queue[i]);
      for (const int32_t head : rows[v]) {
        int32_t& level = found[static_cast<std::size_t>(head)];
        if (level != unreached<int32_t>()) continue;
        level = found[v] + 1;
        queue.push_back(head);
      }
    }
    return found;
  }
};

struct Arrays {
  std::vector<int32_t> indptr{0}, indices;

  explicit Arrays(const std::vector<std::vector<int32_t>>& rows) {
    for (const auto& row : rows) {
      indices.insert(indices.end(), row.begin(), row.end());
      indptr.push_back(static_cast<int32_t>(indices.size()));
    }
  }
  Csr<int32_t> csr() const {
    Csr<int32_t> view;
    view.n = static_cast<int32_t>(indptr.size() - 1);
    view.m = indptr.back();
    view.indptr = indptr.data();
    view.indices = indices.data();
    return view;
  }
};

void search_breadth_first(unsigned seed, int rounds, Totals& totals) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const Wide wide(random);
    const Arrays out(wide.rows), in(wide.sources);
    const auto csr = out.csr(), reverse = in.csr();
    const std::vector<int32_t> wanted = wide.levels();
    std::vector<int32_t> found(wanted.size());
    for (int turn = 0; turn < 9; ++turn) {
      Interrupt interrupt;
      looks_left = random() % 10 == 0 ? static_cast<int>(random() % 3) : -1;
      breadth_first::Search search(csr, turn % 2 ? &reverse : nullptr, found.data(),
                                   kThreads[turn % 3], interrupt);
      ++totals.solves;
      try {
        const SearchStats stats = search.run(0, {});
        totals.wrong += found != wanted;
        totals.together += stats.workers > 1;
      } catch (int) {
        ++totals.thrown;
      }
    }
  }
}

// Suspends the thread that receives this signal, in one case of eight for a few time slices.
// Sometimes it has just read a distance that it is about to lower.
void be_away(int) {
  static std::atomic<unsigned> times{0};
  const timespec slices{0, times++ % 8 == 0 ? 12'000'000 : 300'000};
  nanosleep(&slices, nullptr);
}

// Suspends a thread now and then, except the leader and its own.
void send_away(const std::atomic<bool>& stop) {
  std::mt19937 random(3);
  const long own = syscall(SYS_gettid), first = getpid();
  while (!stop.load(std::memory_order_relaxed)) {
    std::vector<long> others;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const long id = std::atol(task.path().filename().c_str());
      if (id != own && id != first) others.push_back(id);
    }
    if (!others.empty()) syscall(SYS_tgkill, first, others[random() % others.size()], SIGUSR1);
    const timespec pause{0, 300'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

int main(int count, char** words) {
  const int loops = count > 1 ? std::atoi(words[1]) : 2,
            rounds = count > 2 ? std::atoi(words[2]) : 5;
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < loops; ++i)
    busy.emplace_back([&stop] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  std::signal(SIGUSR1, be_away);
  busy.emplace_back([&stop] { send_away(stop); });
  Totals totals;
  solve_graphs<int32_t>(1, rounds, totals);
  solve_graphs<double>(2, rounds, totals);
  search_breadth_first(3, rounds, totals);
  stop = true;
  for (std::thread& one : busy) one.join();
  solve_until_one_steals(totals);
  std::printf("solves %lu wrong %lu thrown %lu rounds %lu raised %lu steals %lu together %lu\n",
              totals.solves, totals.wrong, totals.thrown, totals.rounds, totals.raised,
              totals.steals, totals.together);
  return totals.wrong != 0;
}
