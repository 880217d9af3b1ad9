// Which of the sockets that libcurl keeps are fit for another request, and what became of one that died.
#ifndef CCURL_SOCKETS_H
#define CCURL_SOCKETS_H

#include "ccurl_decisions.h"
#include "watches.h"

// What a new socket is for.
typedef struct {
    uint64_t origin;
    bool is_encrypted, is_http3;
    // Whether it is a Unix socket, which has no ports: it is never used again, so nothing looks for it.
    bool is_local;
    // The address of the server.
    const void *address;
    size_t length;
} ccurl_purpose;

// What is known of a request that is about to use a kept connection.
typedef struct {
    // Whether all that is sent is its head, of which libcurl knows the length: the system can be asked later how much
    // the other side has acknowledged.
    bool can_ask_later;
    // Whether it only reads.
    bool is_safe;
    bool is_on_callers_thread;
} ccurl_use;

// Notes that the shim has opened a socket. Returns false if there is no memory: then the socket is not known.
bool ccurl_sockets_add(ccurl_sockets *sockets, int socket, const ccurl_purpose *purpose);
// Returns the record of the request that uses the kept connection; NULL if none does.
ccurl_connection *ccurl_sockets_user(const ccurl_sockets *sockets, int socket);
// Notes that a kept connection has died under its request: with another error than EPIPE, and after so many bytes of
// the request were sent.
void ccurl_sockets_note_death(ccurl_sockets *sockets, int socket, bool has_other_error, int64_t sent);
// Closes a socket, and forgets it. Returns what the system does.
int ccurl_sockets_close(ccurl_sockets *sockets, int socket);
// Ends a connection that cannot be watched, so that libcurl finds it ended.
void ccurl_sockets_give_up(ccurl_sockets *sockets, int socket);

// Notes which new connection of that origin a request is about to be sent on, and whether it is certainly one of
// HTTP/1.
void ccurl_sockets_note_made(
    ccurl_sockets *sockets, ccurl_connection *connection, uint64_t origin, bool is_http1);
// Notes that libcurl has given another request the connection with these ports, which was made for an earlier one.
void ccurl_sockets_note_joined(ccurl_sockets *sockets, int to_port, int from_port);
// Notes that libcurl is about to send a request again that was sent to that origin on a connection of HTTP/2.
void ccurl_sockets_note_repetition(ccurl_sockets *sockets, const ccurl_connection *connection, uint64_t origin);
// Whether the kept connection that a request is about to use must not be used again. If it may, what becomes of it is
// noted.
bool ccurl_sockets_is_stale(ccurl_sockets *sockets, ccurl_connection *connection, ccurl_use use);
// Whether the connection on which a request is about to be sent is one of HTTP/3.
bool ccurl_sockets_is_http3(ccurl_sockets *sockets, const ccurl_connection *connection);
// Notes that the connection has ended. It must be one of HTTP/3, which libcurl may keep nevertheless.
void ccurl_sockets_note_end(ccurl_sockets *sockets, const ccurl_connection *connection);
// Notes that a response over HTTP/1 has ended on that socket, and leaves it for the next request.
void ccurl_sockets_keep(ccurl_sockets *sockets, const ccurl_connection *connection, int socket);
// Separates a request from what becomes of its connection.
void ccurl_sockets_release(ccurl_sockets *sockets, ccurl_connection *connection);

// See ccurl_loop_has_http3.
bool ccurl_sockets_have_http3(const ccurl_sockets *sockets, uint64_t origin);
// Whether a connection to that origin that was used again before is open and unused, as far as the loop knows.
bool ccurl_sockets_have_idle(const ccurl_sockets *sockets, uint64_t origin, int64_t now);
// Notes that the connection to that origin that was used again last is not idle.
void ccurl_sockets_forget_idle(ccurl_sockets *sockets, uint64_t origin);
// Notes that bytes of a response have come on the connection: libcurl may read them before epoll reports them.
void ccurl_sockets_hear(ccurl_sockets *sockets, const ccurl_connection *connection, int64_t now);
// Excludes the connection from further requests if nothing of a response has come on it for too long; see
// ccurl_was_silent. Returns whether that is so.
bool ccurl_sockets_exclude_silent(
    ccurl_sockets *sockets, const ccurl_connection *connection, int64_t now, int64_t started, int64_t limit);

#endif
