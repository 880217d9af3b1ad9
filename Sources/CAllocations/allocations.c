// The functions that allocate memory, with a counter. What is defined in a program takes the place of the C library's
// own, in all libraries of the process; glibc offers its own under other names.
#include "allocations.h"
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// A sanitizer defines these functions itself.
#define HAS_SANITIZER
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)
static _Atomic int is_counting;
static _Atomic long count;

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

int allocations_begin(void) {
    count = 0;
    is_counting = 1;
    return 1;
}

long allocations_end(void) {
    is_counting = 0;
    return count;
}
#else
int allocations_begin(void) { return 0; }
long allocations_end(void) { return 0; }
#endif
