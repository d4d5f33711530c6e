// Runs the text of CUDA kernels on the CPU: one block at a time, one fiber for each thread.
//
// Kernels without barriers are plain loops. With barriers a fiber runs until it waits; a barrier
// opens when all threads of the block wait at the same place, a warp operation when all lanes of
// its mask do. What a GPU would not notice is an error here: threads that wait at different
// barriers, a barrier after some threads have returned, shuffles from lanes that take no part.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <utility>
#undef INFINITY  // NVRTC does not know these: the two front ends are to be equally strict
#undef NAN
#undef M_PI

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after another: one copy is right
#define __align__(n) alignas(n)
#define __restrict__ __restrict

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
#define SIM_VECTOR(T, N)                                                        \
  struct alignas(sizeof(T) * 2) N##2 { T x, y; };                               \
  struct alignas(sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4) N##4 { T x, y, z, w; };
SIM_VECTOR(float, float) SIM_VECTOR(double, double) SIM_VECTOR(int, int)
SIM_VECTOR(unsigned, uint) SIM_VECTOR(short, short) SIM_VECTOR(unsigned short, ushort)
SIM_VECTOR(long long, longlong)

namespace sim {
extern "C" void sim_switch(void **save, void *to);
asm(R"(.text
.globl sim_switch
.hidden sim_switch
.type sim_switch,@function
sim_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size sim_switch,.-sim_switch
)");

enum { MOST_THREADS = 1024, STACK = 192 << 10 };
enum State { READY, WAITS_FOR_BLOCK, WAITS_FOR_WARP, DONE };
struct Fiber {
  void *sp;
  uint3 tid;
  unsigned lane, warp, mask, partners;  // partners: who took part in the last warp operation
  State state;
  int line, barrier;
};
static Fiber fibers[MOST_THREADS];
static Fiber *current;
static void *main_sp;
static char *stacks;
static dim3 grid_dim, block_dim;
static uint3 block_id;
static unsigned threads;
static void (*entry)(void **);
static void **entry_args;
static uint64_t mailbox[MOST_THREADS], snapshot[MOST_THREADS];
static unsigned order[MOST_THREADS];
static char failure[256];

static inline void to_main() { sim_switch(&current->sp, main_sp); }
static void fail(const char *what, int line) {
  if (!failure[0])
    snprintf(failure, sizeof failure, "%s (block %u,%u,%u, line %d)", what, block_id.x, block_id.y,
             block_id.z, line);
}
[[noreturn]] static void stop(const char *what, int line) {  // inside a fiber
  fail(what, line);
  current->state = DONE;
  for (;;) to_main();
}
static void fiber_main() {
  entry(entry_args);
  current->state = DONE;
  for (;;) to_main();
}
static void arm(Fiber &f, unsigned i) {
  // Staggered: stacks at equal distances would share the sets of the first cache.
  uintptr_t top = (((uintptr_t)stacks + (uintptr_t)(i + 1) * STACK) & ~(uintptr_t)63) - (i & 127) * 448;
  void **sp = (void **)top;
  *--sp = nullptr;
  *--sp = (void *)fiber_main;
  for (int k = 0; k < 6; k++) *--sp = nullptr;
  f.sp = sp;
  f.state = READY;
}
// The order of n things: 0 forward, 1 backward, else mixed up.
static void arrange(unsigned *out, unsigned n, int sched, unsigned salt) {
  for (unsigned k = 0; k < n; k++) out[k] = sched == 1 ? n - 1 - k : k;
  if (sched < 2) return;
  unsigned s = 2654435761u * (sched + salt);
  for (unsigned k = n - 1; k > 0 && n; k--) {
    s = s * 1664525u + 1013904223u;
    std::swap(out[k], out[(s >> 8) % (k + 1)]);
  }
}
static void place(Fiber &f, unsigned i) {
  f.tid = {i % block_dim.x, i / block_dim.x % block_dim.y, i / (block_dim.x * block_dim.y)};
  f.lane = i & 31;
  f.warp = i >> 5;
}
static void drive_warp(unsigned lo, unsigned hi) {  // until all lanes are done or wait for the block
  for (;;) {
    for (unsigned k = lo; k < hi; k++) {
      Fiber &f = fibers[lo + order[k]];
      if (f.state == READY) { current = &f; sim_switch(&main_sp, f.sp); }
    }
    unsigned arrived = 0, live = 0;
    bool released = false;
    for (unsigned i = lo; i < hi; i++) {
      if (fibers[i].state != DONE) live |= 1u << (i - lo);
      if (fibers[i].state == WAITS_FOR_WARP) arrived |= 1u << (i - lo);
    }
    if (!arrived) return;
    for (unsigned i = lo; i < hi; i++)
      if (fibers[i].state == WAITS_FOR_WARP && !((fibers[i].mask & live) & ~arrived)) {
        snapshot[i] = mailbox[i];
        fibers[i].partners = arrived;
        fibers[i].state = READY;
        released = true;
      }
    if (!released) return;
  }
}
static void run_block(int sched) {
  if (!stacks)
    stacks = (char *)mmap(0, (size_t)STACK * MOST_THREADS, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  unsigned warps = (threads + 31) / 32;
  for (unsigned i = 0; i < threads; i++) { arm(fibers[i], i); place(fibers[i], i); }
  for (unsigned w = 0; w < warps; w++)
    arrange(order + w * 32, w * 32 + 32 < threads ? 32 : threads - w * 32, sched, w);
  while (!failure[0]) {
    for (unsigned k = 0; k < warps; k++) {
      unsigned w = sched == 1 ? warps - 1 - k : k, lo = w * 32;
      drive_warp(lo, lo + 32 < threads ? lo + 32 : threads);
    }
    unsigned done = 0, waiting = 0;
    const Fiber *first = nullptr;
    for (unsigned i = 0; i < threads; i++) {
      if (fibers[i].state == DONE) done++;
      if (fibers[i].state != WAITS_FOR_BLOCK) continue;
      waiting++;
      if (!first) first = &fibers[i];
      else if (first->barrier != fibers[i].barrier)
        return fail("threads wait at different __syncthreads", fibers[i].line);
    }
    if (done == threads) return;
    if (waiting + done != threads) return fail("deadlock: a barrier or shuffle that not all reach", first ? first->line : 0);
    if (done) return fail("__syncthreads after some threads of the block returned", first->line);
    for (unsigned i = 0; i < threads; i++) fibers[i].state = READY;
  }
}
static inline void barrier(int id, int line) {
  current->state = WAITS_FOR_BLOCK;
  current->line = line;
  current->barrier = id;
  to_main();
}
static inline void warp_barrier(unsigned mask, int line) {
  current->state = WAITS_FOR_WARP;
  current->mask = mask;
  current->line = line;
  to_main();
}
template <class T> static inline T shuffle(unsigned mask, T v, int from, int line) {  // -1: its own
  static_assert(sizeof(T) <= 8, "");
  unsigned base = current->warp * 32;
  uint64_t word = 0;
  memcpy(&word, &v, sizeof(T));
  mailbox[base + current->lane] = word;
  if (!(mask >> current->lane & 1)) stop("shuffle by a lane outside its own mask", line);
  warp_barrier(mask, line);
  if (from < 0) return v;
  if (!(mask & current->partners & 1u << from))
    stop("shuffle from a lane that takes no part", line);
  memcpy(&v, &snapshot[base + from], sizeof(T));
  return v;
}
static inline int lane() { return current->lane; }
static inline int from_xor(int o, int w = 32) { int t = lane() ^ o; return t / w > lane() / w ? -1 : t; }
static inline int from_down(int o, int w = 32) { return lane() % w + o < w ? lane() + o : -1; }
static inline int from_up(int o, int w = 32) { return lane() % w - o >= 0 ? lane() - o : -1; }
static inline int from_lane(int l, int w = 32) { return lane() / w * w + (l & (w - 1)); }
static inline unsigned ballot(unsigned mask, int p, int line) {
  unsigned base = current->warp * 32, found = 0;
  mailbox[base + current->lane] = p ? 1 : 0;
  warp_barrier(mask, line);
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1 && base + i < threads && snapshot[base + i]) found |= 1u << i;
  return found;
}
static inline unsigned all_lanes(unsigned mask = 0xffffffffu) { return mask; }

template <class F> struct Call;
template <class... A> struct Call<void (*)(A...)> {
  template <void (*K)(A...), size_t... I> static void go(void **a, std::index_sequence<I...>) {
    K(*(A *)a[I]...);
  }
  template <void (*K)(A...)> static void run(void **a) { go<K>(a, std::index_sequence_for<A...>{}); }
};
static unsigned *block_order;
static const char *launch(void (*kernel)(void **), const unsigned *size, void **args, int sched,
                          int plain) {
  grid_dim = dim3(size[0], size[1], size[2]);
  block_dim = dim3(size[3], size[4], size[5]);
  threads = size[3] * size[4] * size[5];
  unsigned blocks = size[0] * size[1] * size[2];
  entry = kernel;
  entry_args = args;
  failure[0] = 0;
  block_order = (unsigned *)realloc(block_order, sizeof(unsigned) * (blocks + 1));
  arrange(block_order, blocks, sched, 7);
  if (plain) arrange(order, threads, sched, 3);
  for (unsigned k = 0; k < blocks && !failure[0]; k++) {
    unsigned b = block_order[k];
    block_id = {b % size[0], b / size[0] % size[1], b / (size[0] * size[1])};
    if (!plain) { run_block(sched); continue; }
    current = &fibers[0];
    for (unsigned i = 0; i < threads; i++) { place(*current, order[i]); kernel(args); }
  }
  return failure[0] ? failure : nullptr;
}
}  // namespace sim

#define threadIdx (sim::current->tid)
#define blockIdx (sim::block_id)
#define blockDim (sim::block_dim)
#define gridDim (sim::grid_dim)
#define warpSize 32
#define __syncthreads() sim::barrier(__COUNTER__, __LINE__)
#define __syncwarp(...) sim::warp_barrier(sim::all_lanes(__VA_ARGS__), __LINE__)
#define __shfl_xor_sync(m, v, ...) sim::shuffle((m), (v), sim::from_xor(__VA_ARGS__), __LINE__)
#define __shfl_down_sync(m, v, ...) sim::shuffle((m), (v), sim::from_down(__VA_ARGS__), __LINE__)
#define __shfl_up_sync(m, v, ...) sim::shuffle((m), (v), sim::from_up(__VA_ARGS__), __LINE__)
#define __shfl_sync(m, v, ...) sim::shuffle((m), (v), sim::from_lane(__VA_ARGS__), __LINE__)
#define __ballot_sync(m, p) sim::ballot((m), (p), __LINE__)
#define __any_sync(m, p) (sim::ballot((m), (p), __LINE__) != 0)
#define __all_sync(m, p) (sim::ballot((m), !(p), __LINE__) == 0)
#define __threadfence() ((void)0)
#define __ldg(p) (*(p))

static inline float __int_as_float(int i) { float f; memcpy(&f, &i, 4); return f; }
static inline int __float_as_int(float f) { int i; memcpy(&i, &f, 4); return i; }
static inline double __longlong_as_double(long long i) { double f; memcpy(&f, &i, 8); return f; }
static inline long long __double_as_longlong(double f) { long long i; memcpy(&i, &f, 8); return i; }
// C leaves open which zero is the greater one; a GPU does not.
#define SIM_MAXIMUM(T, f)                                                              \
  static inline T sim_fmax##f(T a, T b) { return a == b ? (signbit(a) ? b : a) : fmax##f(a, b); } \
  static inline T sim_fmin##f(T a, T b) { return a == b ? (signbit(a) ? a : b) : fmin##f(a, b); }
SIM_MAXIMUM(float, f) SIM_MAXIMUM(double, )
#define fmaxf sim_fmaxf
#define fminf sim_fminf
#define fmax sim_fmax
#define fmin sim_fmin
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
template <class T> static inline T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }
template <class T> static inline T atomicMax(T *p, T v) { T old = *p; if (v > old) *p = v; return old; }
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }

#define SIM_EXPORT(K)                                                                          \
  extern "C" const char *sim_launch_##K(const unsigned *size, void **args, int sched, int plain) { \
    return sim::launch(&sim::Call<decltype(&K)>::template run<&K>, size, args, sched, plain);  \
  }
