// Makes a program's clocks show the processor time that it has used, so that a program with one
// thread that times itself can be compared on a machine where other programs run:
//
//     cc -O2 -shared -fPIC processor_clock.c -o processor_clock.so
//     LD_PRELOAD=./processor_clock.so gap-sssp ...
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  (void)clock;
  return (int)syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, now);
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec used;
  const int failed = clock_gettime(CLOCK_REALTIME, &used);
  now->tv_sec = used.tv_sec;
  now->tv_usec = used.tv_nsec / 1000;
  return failed;
}
