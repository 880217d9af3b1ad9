// The parts of a loop, for what knows several of them: loop.c, turn.c and callbacks.c.
#ifndef CCURL_PARTS_H
#define CCURL_PARTS_H

#include "early.h"
#include "fairness.h"
#include "flood.h"
#include "handles.h"
#include "lookups.h"
#include "origins.h"
#include "sockets.h"

#include <sys/epoll.h>

// How many events are taken at once.
enum { CCURL_MOST_EVENTS = 256 };

struct ccurl_loop {
    int number;
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
    ccurl_early early;
    ccurl_fairness fairness;
    int count;
    struct epoll_event events[CCURL_MOST_EVENTS];
    ccurl_lookups lookups;
    ccurl_flood flood;
    // Whether the system has refused to watch a socket.
    bool has_unwatched;
    // Whether a caller's thread works in place of the loop's, which waits. It opens no connections.
    bool is_on_callers_thread;
    // Those with responses larger than CCURL_SMALL_READ.
    ccurl_origins large;
};

#endif
