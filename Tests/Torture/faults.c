// Preloaded into a program, this fails one call of it: the call number FAULT_NUMBER of the function FAULT_CALL, once
// `fault_arm` has been called with 1. Only calls from the program itself count, which the library and its shim are
// linked into, and those of Swift's layer over the C library; not those of libcurl, OpenSSL or Swift's runtime.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_armed, has_fired;
static atomic_int calls;
static const char *fault_call;
static int fault_number;

#define MOST_RANGES 8
static struct { uintptr_t start, end; } ranges[MOST_RANGES];
static int range_count;

static int add_ranges(struct dl_phdr_info *info, size_t size, void *is_first) {
    (void)size;
    bool is_own = *(bool *)is_first || (info->dlpi_name && strstr(info->dlpi_name, "libswiftGlibc"));
    *(bool *)is_first = false;
    for (int i = 0; is_own && i < info->dlpi_phnum && range_count < MOST_RANGES; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
        ranges[range_count].start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        ranges[range_count].end = ranges[range_count].start + info->dlpi_phdr[i].p_memsz;
        range_count++;
    }
    return 0;
}

static bool is_ours(const void *address) {
    for (int i = 0; i < range_count; i++)
        if ((uintptr_t)address >= ranges[i].start && (uintptr_t)address < ranges[i].end) return true;
    return false;
}

static bool fails(const char *call, const void *caller) {
    if (!atomic_load(&is_armed) || !fault_call || strcmp(call, fault_call) || !is_ours(caller)) return false;
    if (atomic_fetch_add(&calls, 1) + 1 != fault_number) return false;
    atomic_store(&has_fired, true);
    return true;
}

void fault_arm(int is_on) {
    if (!range_count) {
        bool is_first = true;
        dl_iterate_phdr(add_ranges, &is_first);
        const char *number = getenv("FAULT_NUMBER");
        fault_call = getenv("FAULT_CALL");
        fault_number = number ? atoi(number) : 0;
    }
    atomic_store(&is_armed, is_on);
}

int fault_has_fired(void) { return atomic_load(&has_fired); }

// MARK: Allocations

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

// The allocations of the program that are alive, by their addresses. A full table counts nothing more.
#define PLACES 65536
static _Atomic(uintptr_t) places[PLACES];
static atomic_int alive;
#define REMOVED 1

static void *noted(void *memory, const void *caller) {
    if (!memory || !is_ours(caller)) return memory;
    size_t start = ((uintptr_t)memory >> 4) % PLACES;
    for (size_t i = 0; i < 64; i++) {
        uintptr_t present = atomic_load(&places[(start + i) % PLACES]);
        if (present > REMOVED) continue;
        if (!atomic_compare_exchange_strong(&places[(start + i) % PLACES], &present, (uintptr_t)memory)) continue;
        atomic_fetch_add(&alive, 1);
        break;
    }
    return memory;
}

static void forget(void *memory) {
    if (!memory || !range_count) return;
    size_t start = ((uintptr_t)memory >> 4) % PLACES;
    for (size_t i = 0; i < 64; i++) {
        uintptr_t present = atomic_load(&places[(start + i) % PLACES]);
        if (!present) return;
        if (present != (uintptr_t)memory) continue;
        if (atomic_compare_exchange_strong(&places[(start + i) % PLACES], &present, REMOVED))
            atomic_fetch_sub(&alive, 1);
        return;
    }
}

int fault_allocations(void) { return atomic_load(&alive); }

#define CALLER __builtin_return_address(0)

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) {
    return fails("malloc", CALLER) ? no_memory() : noted(__libc_malloc(size), CALLER);
}

void *calloc(size_t count, size_t size) {
    return fails("calloc", CALLER) ? no_memory() : noted(__libc_calloc(count, size), CALLER);
}

void *realloc(void *memory, size_t size) {
    if (fails("realloc", CALLER)) return no_memory();
    forget(memory);
    void *moved = __libc_realloc(memory, size);
    // A refused one is still where it was.
    noted(moved ? moved : memory, CALLER);
    return moved;
}

void free(void *memory) {
    forget(memory);
    __libc_free(memory);
}

char *strdup(const char *text) {
    if (fails("strdup", CALLER)) return no_memory();
    size_t size = strlen(text) + 1;
    char *copy = noted(__libc_malloc(size), CALLER);
    return copy ? memcpy(copy, text, size) : NULL;
}

// MARK: Calls of the system

#define REAL(name, result, ...) ((result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

// Fails with that error, instead of calling the function with these parameters.
#define FAIL(name, error, result, parameters, types, ...) \
    result name parameters { \
        if (fails(#name, CALLER)) { \
            errno = error; \
            return -1; \
        } \
        return ((result(*) types)dlsym(RTLD_NEXT, #name))(__VA_ARGS__); \
    }

// Returns that error, as the functions of threads do.
#define REFUSE(name, error, parameters, types, ...) \
    int name parameters { \
        if (fails(#name, CALLER)) return error; \
        return ((int(*) types)dlsym(RTLD_NEXT, #name))(__VA_ARGS__); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        if (fails("open", CALLER)) { \
            errno = EMFILE; \
            return -1; \
        } \
        return REAL(#name, int, const char *, int, mode_t)(path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
FAIL(stat, EIO, int, (const char *path, struct stat *status), (const char *, struct stat *), path, status)
FAIL(lstat, EIO, int, (const char *path, struct stat *status), (const char *, struct stat *), path, status)
FAIL(fstat, EIO, int, (int file, struct stat *status), (int, struct stat *), file, status)
FAIL(read, EIO, ssize_t, (int file, void *bytes, size_t count), (int, void *, size_t), file, bytes, count)
FAIL(write, EIO, ssize_t, (int file, const void *bytes, size_t count), (int, const void *, size_t), file, bytes, count)
FAIL(pread, EIO, ssize_t, (int file, void *bytes, size_t count, off_t at), (int, void *, size_t, off_t), file, bytes,
     count, at)
FAIL(pwrite, ENOSPC, ssize_t, (int file, const void *bytes, size_t count, off_t at),
     (int, const void *, size_t, off_t), file, bytes, count, at)
FAIL(ftruncate, EIO, int, (int file, off_t length), (int, off_t), file, length)
FAIL(fsync, EIO, int, (int file), (int), file)
FAIL(fchmod, EPERM, int, (int file, mode_t mode), (int, mode_t), file, mode)
FAIL(flock, EIO, int, (int file, int how), (int, int), file, how)
FAIL(rename, EIO, int, (const char *from, const char *to), (const char *, const char *), from, to)
FAIL(link, EIO, int, (const char *from, const char *to), (const char *, const char *), from, to)
FAIL(unlink, EIO, int, (const char *path), (const char *), path)
FAIL(mkdir, EIO, int, (const char *path, mode_t mode), (const char *, mode_t), path, mode)
FAIL(socket, EMFILE, int, (int family, int type, int protocol), (int, int, int), family, type, protocol)
FAIL(getsockname, ENOBUFS, int, (int file, struct sockaddr *address, socklen_t *length),
     (int, struct sockaddr *, socklen_t *), file, address, length)
FAIL(getpeername, ENOBUFS, int, (int file, struct sockaddr *address, socklen_t *length),
     (int, struct sockaddr *, socklen_t *), file, address, length)
FAIL(getsockopt, ENOBUFS, int, (int file, int level, int name, void *value, socklen_t *length),
     (int, int, int, void *, socklen_t *), file, level, name, value, length)
FAIL(recv, EIO, ssize_t, (int file, void *bytes, size_t count, int flags), (int, void *, size_t, int), file, bytes,
     count, flags)
FAIL(shutdown, ENOTCONN, int, (int file, int how), (int, int), file, how)
FAIL(epoll_create1, EMFILE, int, (int flags), (int), flags)
FAIL(epoll_ctl, ENOMEM, int, (int file, int change, int other, struct epoll_event *event),
     (int, int, int, struct epoll_event *), file, change, other, event)
FAIL(epoll_wait, EINTR, int, (int file, struct epoll_event *events, int count, int milliseconds),
     (int, struct epoll_event *, int, int), file, events, count, milliseconds)
FAIL(eventfd, EMFILE, int, (unsigned value, int flags), (unsigned, int), value, flags)
FAIL(sem_init, ENOSPC, int, (sem_t *semaphore, int is_shared, unsigned value), (sem_t *, int, unsigned), semaphore,
     is_shared, value)
FAIL(sem_wait, EINTR, int, (sem_t *semaphore), (sem_t *), semaphore)
FAIL(sem_timedwait, EINTR, int, (sem_t *semaphore, const struct timespec *end), (sem_t *, const struct timespec *),
     semaphore, end)
FAIL(clock_gettime, EINVAL, int, (clockid_t clock, struct timespec *now), (clockid_t, struct timespec *), clock, now)
REFUSE(pthread_create, EAGAIN,
       (pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context),
       (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), thread, attributes, body, context)
REFUSE(pthread_mutex_init, ENOMEM, (pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes),
       (pthread_mutex_t *, const pthread_mutexattr_t *), mutex, attributes)
REFUSE(pthread_getcpuclockid, ENOENT, (pthread_t thread, clockid_t *clock), (pthread_t, clockid_t *), thread, clock)
REFUSE(pthread_sigmask, EINVAL, (int how, const sigset_t *set, sigset_t *old), (int, const sigset_t *, sigset_t *), how,
       set, old)

// The file is closed all the same, as by the system.
int close(int file) {
    int result = REAL("close", int, int)(file);
    if (!fails("close", CALLER)) return result;
    errno = EIO;
    return -1;
}

void *dlopen(const char *name, int flags) {
    return fails("dlopen", CALLER) ? NULL : REAL("dlopen", void *, const char *, int)(name, flags);
}
