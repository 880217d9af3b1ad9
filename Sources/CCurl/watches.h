// The sockets that libcurl uses, by descriptor, and what is known of each.
#ifndef CCURL_WATCHES_H
#define CCURL_WATCHES_H

#include "ccurl_decisions.h"
#include "connection.h"
#include "origins.h"

#include <pthread.h>

// The number of lists by ports.
enum { CCURL_PORTS = 65536 };
// Of how many origins the connection that was used again last is known. Of two that share an entry, it is of one.
enum { CCURL_REUSED = 64 };

// What the loop knows of a socket.
typedef struct {
    // What libcurl waits for, and what epoll watches for, as events of epoll.
    uint32_t wanted, watched;
    // Whether the shim opened it, and so knows it until it is closed; whether that was for a request over TLS.
    bool is_own, is_encrypted;
    // The socket's own number, which no other open file has: the descriptor may be another file by now.
    uint64_t inode;
    // Its ports, once the system has been asked for them: libcurl names a connection by them.
    int to_port, from_port;
    // The next socket of the list that it is in, plus one; 0 at the end.
    int next;
    // Whether it is one of UDP, and so of HTTP/3; whether that has ended, which libcurl may not notice; its origin, and
    // the next of those, likewise.
    bool is_http3, has_ended;
    uint64_t origin;
    int next_http3;
    // Whether it carries HTTP/1: then nothing may come while no request waits for it. The frames of HTTP/2 belong to
    // streams, and some come unasked.
    bool is_http1;
    // The number of the loop's last wait that had begun when the end of its last request was noted, or 0 if that is not
    // noted yet; and of the last one when a request used it again.
    uint64_t idle_since, used_in;
    // How many requests have begun on it; and when the first was turned away because it may have no more, in
    // microseconds, or 0.
    int64_t requests, spent;
    // The server, as a hash of its address.
    uint64_t server;
    // Whether it takes no new requests: another connection to its server has died under a request, or a request waited
    // on it in vain. Bytes of a response end that.
    bool is_excluded;
    // When bytes last came, and when bytes of a response did, in microseconds.
    int64_t heard, answered;
    // How many of its bytes had been read when the watch against floods asked last (see flood.h).
    int64_t read;
    // When the thread last worked on it, in microseconds, and whether that took long.
    int64_t served;
    bool is_busy;
    // Whether its TLS library may have more of it than libcurl has read (see unread.h).
    bool may_have_unread;
    // What belongs to the request for which the connection was made, while it runs.
    ccurl_connection *maker;
    // What belongs to the request that runs on it, if the connection was kept; and how many bytes the other side had
    // acknowledged before, or CCURL_NOT_ASKED.
    ccurl_connection *user;
    int64_t acknowledged;
} ccurl_watch;

// The sockets of a loop, by descriptor.
typedef struct {
    int epoll;
    ccurl_watch *watches;
    size_t capacity;
    // Those that the shim opened, in lists by their own port; each entry is a descriptor plus one. The first list is
    // of those whose port is not known yet: they are few, since it is known as soon as they are connected.
    int *lists;
    // The first of those of HTTP/3, plus one; 0 if there is none.
    int http3;
    // The kept connections that were used last, by their origins; each entry is a descriptor plus one.
    int reused[CCURL_REUSED];
    // Those that have refused requests, and how many each takes on a connection of HTTP/2.
    ccurl_origins refusing;
    ccurl_turnover turnovers[CCURL_ORIGINS];
    // When libcurl is to read on where there may be something unread, in microseconds; -1 if there is nothing.
    int64_t unread_due;
    // How many waits the loop has begun, and the number of the last one after which it learned of all that had come.
    uint64_t waits, looked;
    // Held while a socket is closed, and while what another thread reads of a watch is written: a descriptor that the
    // thread looks at does not become another file while it looks.
    pthread_mutex_t guard;
} ccurl_sockets;

// Returns the watch of a socket; NULL if there is no memory for one.
ccurl_watch *ccurl_watch_of(ccurl_sockets *sockets, int socket);
// Has epoll watch for these events. Returns false if the system refuses.
bool ccurl_sockets_watch(ccurl_sockets *sockets, int socket, ccurl_watch *watch, uint32_t events);

#endif
