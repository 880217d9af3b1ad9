// The functions that allocate memory, and the one that reads a clock, with counters. What is defined in a program takes
// the place of the C library's own, in all libraries of the process; glibc offers those for memory under other names.
#define _GNU_SOURCE
#include "allocations.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// A sanitizer defines these functions itself.
#define HAS_SANITIZER
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)
static _Atomic int is_counting;
static _Atomic long count, readings;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);

static void note(void) {
    if (is_counting) count++;
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*_Atomic system)(clockid_t, struct timespec *);
    if (!system) system = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (is_counting) readings++;
    return system(clock, time);
}

int allocations_begin(void) {
    count = readings = 0;
    is_counting = 1;
    return 1;
}

long allocations_end(void) {
    is_counting = 0;
    return count;
}

long clock_readings(void) { return readings; }
#else
int allocations_begin(void) { return 0; }
long allocations_end(void) { return 0; }
long clock_readings(void) { return 0; }
#endif
