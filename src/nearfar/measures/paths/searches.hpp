// Searches from many sources on many workers, each followed by a computation on its result.
//
// Workers process blocks of sources (ordered_sums.hpp). Unlimited weighted searches use
// delta-stepping, which takes the next source by itself; a search with a limit only touches the
// vertices it reaches. A prepared graph computes rows of distances faster than a search: they are
// requested from Python one batch at a time (over_rows). A policy processes each finished search.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"
#include "measures/centrality/ordered_sums.hpp"

namespace nearfar::measures {

// Python's progress(done, total).
using Progress = std::optional<nb::callable>;

// Reports the number of finished sources at most ten times a second, from the thread that made the
// call.
class Report {
 public:
  Report(const Progress& progress, std::size_t total)
      : progress_(progress), total_(static_cast<int64_t>(total)) {}

  // Called by any worker, without the GIL.
  void finished(int64_t sources) {
    const int64_t done = done_.fetch_add(sources, std::memory_order_relaxed) + sources;
    if (!progress_ || std::this_thread::get_id() != caller_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    nb::gil_scoped_acquire held;
    (*progress_)(done, total_);
  }

 private:
  const Progress& progress_;
  const int64_t total_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_{};  // used only by the calling thread
  std::atomic<int64_t> done_{0};
};

struct Sources {
  const int64_t* vertices;
  std::size_t count;
  Report* report;

  int64_t block() const { return block_size(count); }
  int64_t blocks() const { return (static_cast<int64_t>(count) + block() - 1) / block(); }
};

// A worker's callbacks for a block of sources, from start to done.
class BlockPolicy {
 public:
  virtual ~BlockPolicy() = default;
  virtual void start(int64_t /*block*/) {}
  virtual void done(int64_t /*block*/) {}
};

// Adds the callback after the search from source number i; `touched` lists the vertices that a
// limited search reached.
template <class Weight>
class SearchPolicy : public BlockPolicy {
 public:
  virtual void search(int64_t i, Index source, const Weight* distances,
                      const Buffer<Index>* touched) = 0;
};

template <class C>
using PolicyOf = SearchPolicy<typename C::Weight>;

// Hands out source numbers block by block; `shift` is the number of the counter's first block.
class SourceQueue {
 public:
  SourceQueue(const Sources& sources, BatchCounter& counter, BlockPolicy& policy, int64_t shift = 0)
      : sources_(sources), counter_(counter), policy_(policy), shift_(shift) {}

  // Returns the number of the next source, or -1 if there is none.
  int64_t next() {
    if (at_ == end_) {
      if (block_ >= 0) {
        policy_.done(block_);
        sources_.report->finished(end_ - block_ * sources_.block());
      }
      block_ = counter_.take();
      if (block_ < 0) return -1;
      block_ += shift_;
      at_ = block_ * sources_.block();
      end_ = std::min(at_ + sources_.block(), static_cast<int64_t>(sources_.count));
      policy_.start(block_);
    }
    return at_++;
  }

 private:
  const Sources& sources_;
  BatchCounter& counter_;
  BlockPolicy& policy_;
  const int64_t shift_;
  int64_t block_ = -1, at_ = 0, end_ = 0;
};

// One worker's weighted searches.
template <class C>
class WeightedSearches {
 public:
  using Weight = typename C::Weight;

  WeightedSearches(const C& csr, const Sources& sources, Weight limit, BatchCounter& counter,
                   PolicyOf<C>& policy, Interrupt& interrupt)
      : csr_(csr),
        sources_(sources),
        limit_(limit),
        policy_(policy),
        interrupt_(interrupt),
        queue_(sources, counter, policy),
        distances_(new Weight[static_cast<std::size_t>(csr.n)]) {
    if (limited()) clear_all();
  }

  // A search may stop once all of `targets` are settled.
  void run(const DeltaPlan& plan, const int64_t* targets = nullptr, std::size_t count = 0) {
    StopRule<Weight> stop;
    stop.limit = limit_;
    stop.targets = targets;
    stop.n_targets = count;
    const auto next = [this](Index& source, Weight*& distances) {
      finish();
      now_ = queue_.next();
      if (now_ < 0) return false;
      source = static_cast<Index>(sources_.vertices[now_]);
      if (!limited()) clear_all();
      distances = distances_.get();
      return true;
    };
    const DeltaFeed<C> feed{next, limited() ? &touched_ : nullptr};
    delta_stepping::sequential(csr_, feed, stop, plan, interrupt_);
  }

 private:
  bool limited() const { return limit_ != unreached<Weight>(); }
  void clear_all() {
    std::fill_n(distances_.get(), static_cast<std::size_t>(csr_.n), unreached<Weight>());
  }

  void finish() {
    if (now_ < 0) return;
    const auto source = static_cast<Index>(sources_.vertices[now_]);
    if (limited()) touched_.push(source);
    policy_.search(now_, source, distances_.get(), limited() ? &touched_ : nullptr);
    if (!limited()) return;
    for (std::size_t i = 0; i < touched_.size; ++i)
      distances_[touched_.data[i]] = unreached<Weight>();
    touched_.size = 0;
  }

  const C& csr_;
  const Sources& sources_;
  const Weight limit_;
  PolicyOf<C>& policy_;
  Interrupt& interrupt_;
  SourceQueue queue_;
  std::unique_ptr<Weight[]> distances_;
  Buffer<Index> touched_;
  int64_t now_ = -1;
};

// Python's rows(sources): the distances to all vertices, one row per source.
using RowsOf = std::optional<nb::callable>;

// Calls work(counter, shift, row_of, interrupt) on workers until all blocks are done; row_of(i)
// returns the distances from source number i. `names`: the sources' numbers in Python. Called
// without the GIL.
template <class Weight, class Work>
void over_rows(const nb::callable& rows, const Sources& sources, const int64_t* names,
               std::size_t n, int threads, const Work& work) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;  // of a batch of rows
  const int64_t block = sources.block();
  const auto fitting = static_cast<int64_t>(kBytes / (n * sizeof(Weight) + 1)) / block;
  const int64_t step = std::max<int64_t>(1, fitting);
  for (int64_t first = 0; first < sources.blocks(); first += step) {
    const int64_t blocks = std::min(step, sources.blocks() - first);
    const auto low = static_cast<std::size_t>(first * block);
    const std::size_t high =
        std::min(sources.count, low + static_cast<std::size_t>(blocks * block));
    ConstArray found;
    {
      nb::gil_scoped_acquire held;
      found = nb::cast<ConstArray>(rows(as_numpy(std::vector<int64_t>(names + low, names + high))));
    }
    if (found.dtype() != nb::dtype<Weight>() || found.size() != (high - low) * n)
      throw std::runtime_error("rows of distances: wrong dtype or size");
    const auto* const distances = static_cast<const Weight*>(found.data());
    const auto row_of = [=](int64_t i) {
      return distances + (static_cast<std::size_t>(i) - low) * n;
    };
    spread(blocks, threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      work(counter, first, row_of, interrupt);
    });
    nb::gil_scoped_acquire held;
    found = ConstArray();
  }
}

}  // namespace nearfar::measures
