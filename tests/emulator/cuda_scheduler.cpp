// The scheduler of cuda_emulation.hpp: blocks as threads, CUDA threads as fibers, and their
// meetings.
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda_emulation.hpp"

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;
__thread unsigned emulation_lane;

namespace emulation {
namespace {

extern "C" void emulation_switch(void** save, void* load);
asm(R"(
.text
.type emulation_switch, @function
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "CUDA emulation: %s\n", what);
  std::abort();
}

struct Meeting {  // one barrier or collective; two buffers, so that the next can begin at once
  unsigned mask = 0, generation = 0;
  unsigned long long arrived[2] = {0, 0};  // lanes (a warp) or a count (the block)
  uint64_t value[2][32] = {};
  unsigned nonzero[2] = {0, 0};  // lanes
  int sum[2] = {0, 0};
  bool all[2] = {true, true};
};

struct Fiber {
  void* stack_pointer = nullptr;
  std::unique_ptr<char[]> stack;
  unsigned thread = 0;
  uint3 place{};  // threadIdx
  bool spinning = false;
};

constexpr unsigned char kFresh = 0xA5;  // contents of unwritten memory; as in fake_cupy.py

// Dynamic shared memory that ends at a protected page, so that an access beyond its end stops the
// program.
class Dynamic {
 public:
  Dynamic() = default;
  Dynamic(const Dynamic&) = delete;
  Dynamic& operator=(const Dynamic&) = delete;
  ~Dynamic() { release(); }

  void make(size_t bytes) {
    if (bytes > room_ || !pages_) {
      release();
      const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
      room_ = (bytes + page - 1) / page * page;
      mapped_ = room_ + page;
      void* const found =
          mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (found == MAP_FAILED) fail("no memory for a block");
      pages_ = static_cast<char*>(found);
      if (mprotect(pages_ + room_, page, PROT_NONE)) fail("no page can be closed");
    }
    begin_ = pages_ + room_ - bytes;
    std::memset(begin_, kFresh, bytes);
  }
  char* begin() const { return begin_; }
  bool has(const char* at) const { return begin_ <= at && at < pages_ + room_; }

 private:
  void release() {
    if (pages_) munmap(pages_, mapped_);
  }

  char *pages_ = nullptr, *begin_ = nullptr;
  size_t room_ = 0, mapped_ = 0;
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<std::vector<std::unique_ptr<Meeting>>> warps;
  std::vector<Meeting*> last;         // last meeting that a lane of each warp reached
  std::vector<unsigned> live, ready;  // lanes of each warp that have not ended; lanes not waiting
  Meeting all;
  unsigned live_threads = 0;
  void* scheduler = nullptr;
  Fiber* current = nullptr;
  void (*body)(void*) = nullptr;
  void* given = nullptr;
  Dynamic dynamic;
  uint32_t random = 1;
  long long meetings = 0;
  // State of the round: the running warp, its remaining lanes, and the number of warps left.
  unsigned warp = 0, turn = 0, warps_left = 0;
  bool upwards = true, progress = false, spins = false;
};

__thread Block* running = nullptr;  // block run by this thread
constexpr size_t kStack = 64 * 1024;

// Returns the next fiber to run, or null at the end of a round.
Fiber* next(Block& block) {
  const auto warps = static_cast<unsigned>(block.warps.size());
  while (true) {
    block.turn &= block.ready[block.warp];
    if (block.turn) break;
    if (!block.warps_left) return nullptr;
    --block.warps_left;
    block.warp = (block.warp + (block.upwards ? 1 : warps - 1)) % warps;
    block.turn = block.ready[block.warp];
  }
  const int lane = block.upwards ? __builtin_ctz(block.turn) : 31 - __builtin_clz(block.turn);
  block.turn &= ~(1u << lane);
  return &block.fibers[32 * block.warp + static_cast<unsigned>(lane)];
}

// Switches to the next fiber; `save` receives this stack pointer.
void go_on(Block& block, void** save) {
  Fiber* const fiber = next(block);
  if (!fiber) {
    if (save != &block.scheduler) emulation_switch(save, block.scheduler);
    return;
  }
  block.current = fiber;
  threadIdx = fiber->place;
  emulation_lane = fiber->thread & 31;
  emulation_switch(save, fiber->stack_pointer);
}

void yield(Block& block) {
  Fiber& me = *block.current;
  (me.spinning ? block.spins : block.progress) = true;
  go_on(block, &me.stack_pointer);
  me.spinning = false;
}
void wait(Block& block) {
  block.ready[block.current->thread >> 5] &= ~(1u << emulation_lane);
  yield(block);
}

void release_warp(Block& block, unsigned warp, Meeting& m) {
  const unsigned now = m.generation & 1, live = block.live[warp];
  if ((m.arrived[now] & m.mask & live) == (m.mask & live) && m.arrived[now]) {
    m.arrived[now ^ 1] = 0;
    for (; m.nonzero[now ^ 1]; m.nonzero[now ^ 1] &= m.nonzero[now ^ 1] - 1)
      m.value[now ^ 1][__builtin_ctz(m.nonzero[now ^ 1])] = 0;
    ++m.generation;
    block.ready[warp] |= static_cast<unsigned>(m.arrived[now]) & live;
  }
}

void release_block(Block& block) {
  Meeting& m = block.all;
  const unsigned now = m.generation & 1;
  if (m.arrived[now] && m.arrived[now] == block.live_threads) {
    m.arrived[now ^ 1] = 0;
    m.sum[now ^ 1] = 0;
    m.all[now ^ 1] = true;
    ++m.generation;
    block.ready = block.live;
  }
}

void fiber_main() {
  Block& block = *running;
  block.body(block.given);
  const unsigned warp = block.current->thread >> 5;
  block.live[warp] &= ~(1u << emulation_lane);
  --block.live_threads;
  for (auto& m : block.warps[warp]) release_warp(block, warp, *m);
  release_block(block);
  wait(block);
  fail("a finished fiber runs on");
}

void run_block(Block& block, unsigned index, dim3 grid, dim3 threads, size_t shared) {
  const unsigned count = threads.x * threads.y * threads.z;
  block.dynamic.make(shared);
  block.random = index * 2654435761u + 12345u;
  if (block.fibers.size() < count) block.fibers.resize(count);
  block.warps.clear();
  block.warps.resize((count + 31) / 32);
  block.last.assign(block.warps.size(), nullptr);
  block.live.assign(block.warps.size(), 0);
  block.live_threads = count;
  block.all = Meeting{};
  blockDim = threads;
  gridDim = grid;
  blockIdx = {index % grid.x, index / grid.x % grid.y, index / grid.x / grid.y};
  for (unsigned t = 0; t < count; ++t) {
    Fiber& f = block.fibers[t];
    if (!f.stack) f.stack.reset(new char[kStack]);
    f.thread = t;
    f.place = {t % threads.x, t / threads.x % threads.y, t / threads.x / threads.y};
    f.spinning = false;
    block.live[t >> 5] |= 1u << (t & 31);
    char* top = f.stack.get() + kStack;
    top -= reinterpret_cast<uintptr_t>(top) & 15;
    void** frame = reinterpret_cast<void**>(top) - 8;  // six registers, the entry, a null return
    std::memset(frame, 0, 8 * sizeof(void*));
    frame[6] = reinterpret_cast<void*>(&fiber_main);
    f.stack_pointer = frame;
  }
  block.ready = block.live;
  unsigned idle_rounds = 0;
  while (block.live_threads) {
    block.random = block.random * 1664525u + 1013904223u;
    block.upwards = block.random >> 31;
    block.warps_left = static_cast<unsigned>(block.warps.size());
    block.warp = (block.random >> 8) % block.warps_left;
    block.turn = 0;
    block.progress = block.spins = false;
    go_on(block, &block.scheduler);
    if (!block.progress && !block.spins && block.live_threads)
      fail("deadlock: not all threads reach a barrier or a collective");
    // The block waits for another, whose thread may need this core.
    idle_rounds = block.progress ? 0 : idle_rounds + 1;
    if (idle_rounds > 50)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    else if (idle_rounds)
      sched_yield();
  }
}

// Finished blocks, whose stacks the next launch reuses.
std::mutex idle_lock;
std::vector<std::unique_ptr<Block>> idle;

std::unique_ptr<Block> take_block() {
  const std::lock_guard lock(idle_lock);
  if (idle.empty()) return std::make_unique<Block>();
  std::unique_ptr<Block> block = std::move(idle.back());
  idle.pop_back();
  return block;
}
void give_back(std::unique_ptr<Block> block) {
  const std::lock_guard lock(idle_lock);
  idle.push_back(std::move(block));
}

std::atomic<long> unwritten{0};  // loads of unwritten global memory

// Only full words are checked: smaller loads are skipped, and a value equal to four bytes of kFresh
// is reported wrongly. Shared and local memory may be loaded before it is written if the value is
// unused.
void look(const void* from, size_t bytes) {
  const char* const at = static_cast<const char*>(from);
  if (running) {
    const char* const stack = running->current->stack.get();
    if (running->dynamic.has(at) || (stack <= at && at < stack + kStack)) return;
  }
  unsigned word, fresh;
  std::memset(&fresh, kFresh, sizeof fresh);
  for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
    std::memcpy(&word, at + i, sizeof word);
    if (word != fresh) continue;
    if (unwritten++ == 0)
      std::fprintf(
          stderr, "CUDA emulation: thread %u of block %u reads %zu bytes that nobody has written\n",
          threadIdx.x, blockIdx.x, bytes);
    return;
  }
}

}  // namespace

// Called by compiled code before each load and store, with the flags of `checked_loads`.
extern "C" {
long emulation_unwritten() {
  return unwritten.exchange(0);
}
void __asan_load1_noabort(const void*) {}
void __asan_load2_noabort(const void*) {}
void __asan_load4_noabort(const void* from) {
  look(from, 4);
}
void __asan_load8_noabort(const void* from) {
  look(from, 8);
}
void __asan_load16_noabort(const void* from) {
  look(from, 16);
}
void __asan_loadN_noabort(const void* from, size_t bytes) {
  look(from, bytes);
}
void __asan_store1_noabort(void*) {}
void __asan_store2_noabort(void*) {}
void __asan_store4_noabort(void*) {}
void __asan_store8_noabort(void*) {}
void __asan_store16_noabort(void*) {}
void __asan_storeN_noabort(void*, size_t) {}
void __asan_handle_no_return() {}
}

void spin() {
  if (!running) return;
  running->current->spinning = true;
  yield(*running);
}

void* dynamic_shared() {
  return running->dynamic.begin();
}

long long meetings() {
  return running->meetings;
}

Meeting& meeting_of(std::vector<std::unique_ptr<Meeting>>& meetings, unsigned mask) {
  for (auto& known : meetings)
    if (known->mask == mask) return *known;
  meetings.push_back(std::make_unique<Meeting>());
  meetings.back()->mask = mask;
  return *meetings.back();
}

Met meet(unsigned mask, uint64_t value) {
  Block& block = *running;
  ++block.meetings;
  const unsigned warp = block.current->thread >> 5, bit = 1u << emulation_lane;
  if (!(mask & bit)) fail("a lane outside its own mask calls a warp collective");
  Meeting*& last = block.last[warp];
  if (!last || last->mask != mask) last = &meeting_of(block.warps[warp], mask);
  Meeting* const m = last;
  const unsigned generation = m->generation, now = generation & 1;
  m->arrived[now] |= bit;
  m->value[now][emulation_lane] = value;
  if (value) m->nonzero[now] |= bit;
  release_warp(block, warp, *m);
  if (m->generation == generation) wait(block);
  return {m->value[now], static_cast<unsigned>(m->arrived[now]), m->nonzero[now]};
}

Voted block_meet(bool value) {
  Block& block = *running;
  ++block.meetings;
  Meeting& m = block.all;
  const unsigned generation = m.generation, now = generation & 1;
  ++m.arrived[now];
  m.sum[now] += value;
  m.all[now] = m.all[now] && value;
  release_block(block);
  if (m.generation == generation) wait(block);
  return {m.sum[now], m.all[now]};
}

void run(const unsigned* shape, unsigned shared, bool cooperative, void (*body)(void*),
         void* given) {
  const dim3 grid{shape[0], shape[1], shape[2]}, threads{shape[3], shape[4], shape[5]};
  const unsigned blocks = grid.x * grid.y * grid.z;
  const unsigned workers = cooperative ? blocks : blocks < 3 ? blocks : 3;
  std::atomic<unsigned> next{0};
  std::vector<std::thread> pool;
  for (unsigned w = 0; w < workers; ++w)
    pool.emplace_back([&] {
      std::unique_ptr<Block> block = take_block();
      block->body = body;
      block->given = given;
      running = block.get();
      for (unsigned b; (b = next++) < blocks;) run_block(*block, b, grid, threads, shared);
      running = nullptr;
      give_back(std::move(block));
    });
  for (auto& worker : pool) worker.join();
}

}  // namespace emulation
