// The minimal libcurl program: a multi loop on one thread with a number of concurrent transfers, whose responses are
// collected, each in memory of its own, and discarded. Everything that a client costs beyond this is its own overhead.
#include "allocations.h"
#include "peer.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct answer {
    char *bytes;
    size_t length, capacity;
} answer;

static size_t collect(char *bytes, size_t size, size_t count, void *context) {
    answer *answer = context;
    size_t more = size * count;
    if (answer->length + more > answer->capacity) {
        answer->capacity = (answer->length + more) * 2;
        answer->bytes = realloc(answer->bytes, answer->capacity);
    }
    memcpy(answer->bytes + answer->length, bytes, more);
    answer->length += more;
    return more;
}

typedef struct {
    int msg;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} multi_message;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int peer_loop(const char *url, int transfers, double seconds, const char *authorities, bool counts_allocations) {
    // The same libcurl as the client that it is compared with.
    const char *chosen = getenv("ERRAND_LIBCURL");
    void *library = dlopen(chosen && *chosen ? chosen : "libcurl.so.4", RTLD_NOW);
    if (!library) return 1;
    int (*global_init)(long) = dlsym(library, "curl_global_init");
    void *(*easy_init)(void) = dlsym(library, "curl_easy_init");
    int (*set)(void *, int, ...) = dlsym(library, "curl_easy_setopt");
    int (*get)(void *, int, ...) = dlsym(library, "curl_easy_getinfo");
    void *(*multi_init)(void) = dlsym(library, "curl_multi_init");
    int (*add)(void *, void *) = dlsym(library, "curl_multi_add_handle");
    int (*drop)(void *, void *) = dlsym(library, "curl_multi_remove_handle");
    int (*perform)(void *, int *) = dlsym(library, "curl_multi_perform");
    int (*poll)(void *, void *, unsigned, int, int *) = dlsym(library, "curl_multi_poll");
    multi_message *(*next)(void *, int *) = dlsym(library, "curl_multi_info_read");
    global_init(3);
    void *multi = multi_init();
    answer *answers = calloc((size_t)transfers, sizeof *answers);
    for (int i = 0; i < transfers; i++) {
        void *easy = easy_init();
        set(easy, 10002 /* URL */, url);
        set(easy, 99 /* NOSIGNAL */, 1L);
        if (authorities) set(easy, 10065 /* CAINFO */, authorities);
        set(easy, 20011 /* WRITEFUNCTION */, collect);
        set(easy, 10001 /* WRITEDATA */, &answers[i]);
        set(easy, 10103 /* PRIVATE */, &answers[i]);
        add(multi, easy);
    }
    long calls = 0;
    if (counts_allocations) allocations_begin();
    double start = now(), end = start + seconds;
    int running = 0;
    while (calls == 0 || now() < end) {
        perform(multi, &running);
        multi_message *message;
        int left;
        while ((message = next(multi, &left))) {
            if (message->data.result != 0) return 1;
            void *easy = message->easy;
            answer *answer;
            get(easy, 0x100015 /* PRIVATE */, &answer);
            // Each answer has memory of its own, as with any client that hands it over.
            free(answer->bytes);
            *answer = (struct answer){0};
            calls++;
            drop(multi, easy);
            add(multi, easy);
        }
        poll(multi, NULL, 0, 1000, NULL);
    }
    long allocations = counts_allocations ? allocations_end() : 0;
    printf("%ld %f %ld %ld\n", calls, now() - start, allocations, clock_readings());
    return 0;
}

#endif
