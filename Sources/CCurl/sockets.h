// The sockets that libcurl uses: which of those that it keeps are fit for another request, and what became of one that
// died.
#ifndef CCURL_SOCKETS_H
#define CCURL_SOCKETS_H

#include "ccurl.h"

#include <pthread.h>

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
    // The request for which the connection was made, while it runs.
    ccurl_transfer *maker;
    // The request that runs on it, if the connection was kept; and how many bytes the other side had acknowledged
    // before, if that was asked.
    ccurl_transfer *user;
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
    // When libcurl is to read on where there may be something unread, in microseconds; -1 if there is nothing.
    int64_t unread_due;
    // How many waits the loop has begun, and the number of the last one after which it learned of all that had come.
    uint64_t waits, looked;
    // Held while a socket is closed, and while what another thread reads of a watch is written: a descriptor that the
    // thread looks at does not become another file while it looks.
    pthread_mutex_t guard;
} ccurl_sockets;

// The connection on which libcurl has begun to send a request, where it says so (7.80 and later).
typedef enum { CCURL_UNCONNECTED = 0, CCURL_ON_NEW_CONNECTION, CCURL_ON_KEPT_CONNECTION } ccurl_connection_kind;

// What is known of a transfer's connection.
typedef struct {
    ccurl_connection_kind kind;
    // How many sockets were opened for it, and the errno with which the system refused one; 0 if it did not.
    int opened, refusal;
    // When the first of them was, in microseconds; 0 if none was.
    int64_t opened_at;
    // The ports of the connection on which the request was sent last, where libcurl names them.
    int to_port, from_port;
    // The descriptor of the connection that was made for it, plus one; 0 if that is not known. Whether other requests
    // use it too, or might.
    int made_socket;
    bool is_joined;
    // The descriptor of the kept HTTP/1 connection that it runs on, plus one; 0 if there is none.
    int kept_socket;
    // Whether it ran on one.
    bool was_kept;
    // Whether the kept connection that it runs on is one of HTTP/1, or may be.
    bool may_be_http1;
    // Whether the server has certainly seen nothing of the request, although it was sent.
    bool is_unseen;
} ccurl_connection;

// The number of lists.
enum { CCURL_PORTS = 65536 };

// Returns the watch of a socket; NULL if there is no memory for one.
ccurl_watch *ccurl_watch_of(ccurl_sockets *sockets, int socket);
// Has epoll watch for these events. Returns false if the system refuses.
bool ccurl_sockets_watch(ccurl_sockets *sockets, int socket, ccurl_watch *watch, uint32_t events);
// Ends a connection that cannot be watched, so that libcurl finds it ended.
void ccurl_sockets_give_up(ccurl_sockets *sockets, int socket);
// Has libcurl open and close the transfer's sockets through the shim.
void ccurl_sockets_adopt(ccurl_sockets *sockets, ccurl_transfer *transfer);
// Notes that the transfer has ended with its connection. libcurl may keep one of HTTP/3 nevertheless.
void ccurl_sockets_note_end(ccurl_sockets *sockets, ccurl_transfer *transfer);
// Separates the transfer from what becomes of its connection.
void ccurl_sockets_release(ccurl_sockets *sockets, ccurl_transfer *transfer);
// Notes which connection a transfer that has ended leaves for the next.
void ccurl_sockets_keep(ccurl_sockets *sockets, ccurl_transfer *transfer);
// Notes which new connection the transfer is about to be sent on, and whether it is certainly one of HTTP/1.
void ccurl_sockets_note_made(ccurl_sockets *sockets, ccurl_transfer *transfer, bool is_http1);
// Notes that libcurl has given another request the connection with these ports, which was made for an earlier one.
void ccurl_sockets_note_joined(ccurl_sockets *sockets, int to_port, int from_port);
// Whether the kept connection that the transfer is about to use must not be used again. If it may, the loop watches
// what becomes of it.
bool ccurl_sockets_is_stale(ccurl_sockets *sockets, ccurl_transfer *transfer);
// Whether the connection on which the transfer is about to be sent is one of HTTP/3.
bool ccurl_sockets_is_http3(ccurl_sockets *sockets, ccurl_transfer *transfer);
// See ccurl_loop_has_http3.
bool ccurl_sockets_have_http3(const ccurl_sockets *sockets, uint64_t origin);
// Whether a connection to that origin that was used again before is open and unused, as far as the loop knows.
bool ccurl_sockets_have_idle(const ccurl_sockets *sockets, uint64_t origin);
// Notes that bytes of a response have come on the transfer's connection: libcurl may read them before epoll reports
// them.
void ccurl_sockets_hear(ccurl_sockets *sockets, ccurl_transfer *transfer);
// See ccurl_loop_note_timeout.
bool ccurl_sockets_note_timeout(ccurl_sockets *sockets, ccurl_transfer *transfer, int64_t limit);
// Returns the connection with the most unread bytes: a flood comes faster than it can be read. -1 if there is none.
// Another thread calls it, and holds the guard.
int ccurl_sockets_fullest(const ccurl_sockets *sockets);
// Returns the connection of which the most bytes have been read since this was asked last; -1 if they are few, or if
// the system does not know. Another thread calls it, and holds the guard.
int ccurl_sockets_most_read(ccurl_sockets *sockets);

#endif
