// The watch against connections that keep the loop's thread, or another that works in its place, for too long.
//
// libcurl reads a connection until nothing is left on it. A server that sends HTTP/2 frames without meaning, faster
// than they can be read, keeps the thread there for as long as it likes: no cancel, no timeout and no other server gets
// a turn. Only another thread can end that: once the connection is shut down, there is nothing left to read. What
// counts is the thread's own time, so a busy machine does no harm.
#ifndef CCURL_FLOOD_H
#define CCURL_FLOOD_H

#include "watches.h"

#include <stdatomic.h>
#include <time.h>

typedef struct {
    // What the thread has worked on, counted, and what it works on now: a socket, or one of the numbers in flood.c.
    atomic_uint turn;
    atomic_int worked_on;
    // The clock of the time that the thread itself has used. What comes before a turn is counted belongs to that turn.
    atomic_int clock;
    // For the thread that watches: the turn that it has seen, and when, by that clock.
    unsigned watched_turn;
    int64_t watched_from;
    // Whether it has asked in that turn what is read.
    bool has_asked;
    // The bytes of bodies since a turn was last counted.
    size_t taken;
    // How many transfers over TLS are not connected yet, which transfer.c counts.
    int connecting;
    // When the first of them was connected, since when libcurl has the certificates; 0 before.
    int64_t has_certificates;
} ccurl_flood;

void ccurl_flood_init(ccurl_flood *flood);
// The thread begins to work on a socket, or on what libcurl's timers ask for: CCURL_SOCKET_TIMEOUT.
void ccurl_flood_begin(ccurl_flood *flood, const ccurl_sockets *sockets, int socket);
void ccurl_flood_end(ccurl_flood *flood);
// Notes that bytes of a body have come: the loop's thread has not worked in vain.
void ccurl_flood_note_body(ccurl_flood *flood, size_t count);
// A new connection over TLS has begun; libcurl has the certificates in memory, if it keeps any.
void ccurl_flood_note_certificates(ccurl_flood *flood);
// See ccurl_loop_watch.
bool ccurl_flood_watch(ccurl_flood *flood, ccurl_sockets *sockets);

#endif
