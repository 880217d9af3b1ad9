// The fields of a loop, for loop.c and turn.c only.
#ifndef CCURL_TURN_H
#define CCURL_TURN_H

#include "flood.h"
#include "loop.h"
#include "origins.h"
#include "lookups.h"

#include <sys/epoll.h>

// How many events are taken at once.
enum { CCURL_MOST_EVENTS = 256 };

struct ccurl_loop {
    void *multi;
    // Wakes the thread when it waits.
    int alarm;
    // When libcurl wants to be called at the latest, in microseconds; -1 if it does not.
    int64_t due;
    // When those who wait for a connection that is being made stop waiting, in microseconds; -1 if there are none.
    int64_t handshake_due;
    // Until when the thread waits, if nothing wakes it, in microseconds; INT64_MAX if that does not matter.
    int64_t waits_until;
    ccurl_sockets sockets;
    ccurl_handles *handles;
    ccurl_answered answered;
    ccurl_fairness fairness;
    int count;
    struct epoll_event events[CCURL_MOST_EVENTS];
    ccurl_lookups lookups;
    ccurl_flood flood;
    // Whether the system's file of certificates was there.
    atomic_bool has_file;
    // Whether the system has refused to watch a socket.
    bool has_unwatched;
    // Whether another thread works in place of the loop's, which waits.
    bool is_on_callers_thread;
    // Those that asked for HTTP/1.1. A server sends HTTP_1_1_REQUIRED where it cannot serve a request over HTTP/2 (RFC
    // 9113, 7), for instance one for which it needs the client's certificate.
    ccurl_origins http1;
    // Those with responses larger than SMALL_READ.
    ccurl_origins large;
};

#endif
