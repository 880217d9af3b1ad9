// What the files of the shim share.
#ifndef CCURL_LIBRARY_H
#define CCURL_LIBRARY_H

#include "ccurl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

typedef struct {
    int age;
    const char *version;
    unsigned version_num;
} ccurl_version_info;

typedef struct {
    int msg;
    void *easy;
    union {
        void *whatever;
        ccurl_code result;
    } data;
} ccurl_message;

// libcurl's functions, once it is open.
struct ccurl_api {
    ccurl_code (*global_init)(long);
    ccurl_version_info *(*version_info)(int);
    void *(*easy_init)(void);
    void (*easy_reset)(void *);
    void (*easy_cleanup)(void *);
    ccurl_code (*easy_setopt)(void *, ccurl_option, ...);
    ccurl_code (*easy_getinfo)(void *, ccurl_info, ...);
    ccurl_code (*easy_pause)(void *, int);
    const char *(*easy_strerror)(ccurl_code);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_setopt)(void *, ccurl_multi_option, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_socket_action)(void *, int, int, int *);
    ccurl_message *(*multi_info_read)(void *, int *);
    // Those of the TLS libraries that libcurl may be built with; NULL for the others.
    int (*openssl_has_pending)(const void *);
    size_t (*gnutls_pending)(void *);
};

extern struct ccurl_api ccurl_api;

// Microseconds of the monotonic clock.
int64_t ccurl_now(void);

// Whether this libcurl frees the headers of a handle's last answer and then writes to them, when the next answer's
// first header line begins with a space (curl's issue 11101: in 7.83.0, mended in 8.1.0). A distribution may have
// mended it in an older version; that cannot be told.
int ccurl_has_header_fault(void);

// Whether libcurl takes a transfer away without waiting for the thread that looks up its host: since 7.87, if it is
// asked to.
int ccurl_leaves_lookups(void);

// What the loop knows of a socket.
typedef struct {
    // What libcurl wants to be told of, and what epoll tells, as events of epoll.
    uint32_t wanted, watched;
    // Whether it was opened here, and so is known until it is closed; whether that was for a request over TLS.
    int is_own, is_encrypted;
    // Its ports, once they have been asked for: libcurl names a connection by them.
    int to_port, from_port;
    // Whether HTTP/1 is spoken on it: then nothing may come while no request waits for it. The frames of HTTP/2 belong
    // to streams, and some come that nobody has asked for.
    int is_http1;
    // Who is at the other end, as a hash of the address.
    uint64_t server;
    // Whether new requests are kept away from it: another like it has died under a request, or a request waited on it
    // in vain. Something that comes shows that it is well.
    int is_doubtful;
    // When something last came, in microseconds.
    int64_t heard;
    // The request that is on its way on it, if it was kept; and how many bytes the other side had acknowledged before.
    ccurl_transfer *user;
    int64_t acknowledged;
} ccurl_watch;

// How many events are taken at once.
#define CCURL_MOST_EVENTS 256
#define CCURL_MOST_HTTP1_ORIGINS 64

struct ccurl_loop {
    void *multi;
    int epoll, alarm;
    // When libcurl wants to be called at the latest, in microseconds; -1 if it does not.
    int64_t due;
    // By descriptor.
    ccurl_watch *watches;
    size_t capacity;
    int count;
    struct epoll_event events[CCURL_MOST_EVENTS];
    // The requests with a body whose response has begun, and when to look at them at the latest; -1 for no such time.
    ccurl_transfer *answered;
    int64_t look_due;
    // How many handles were let go during their lookup.
    int orphans;
    // See ccurl_loop_watch.
    atomic_uint turn;
    atomic_int worked_on;
    pthread_mutex_t guard;
    atomic_int has_clock;
    clockid_t clock;
    unsigned watched_turn;
    int64_t watched_from;
    // The bytes of bodies since a turn was last counted.
    size_t taken;
    // The origins that have asked for HTTP/1.1. One too many displaces the oldest, which can ask again.
    uint64_t http1_origins[CCURL_MOST_HTTP1_ORIGINS];
    size_t http1_count;
};

// The watch of a socket; NULL if there is no memory for one.
ccurl_watch *ccurl_watch_of(ccurl_loop *loop, int socket);
// Has epoll tell of these events. 0 if the system will not have it.
int ccurl_loop_have_watched(ccurl_loop *loop, int socket, ccurl_watch *watch, uint32_t events);
// Has the sockets of the transfer opened and closed by the loop.
void ccurl_loop_adopt(ccurl_loop *loop, ccurl_transfer *transfer);
// Notes that bytes of a body have come: then the loop's thread has not worked in vain.
void ccurl_loop_note_body(ccurl_loop *loop, size_t count);
// Lets go of what becomes of the transfer's connection.
void ccurl_loop_release(ccurl_loop *loop, ccurl_transfer *transfer);
// Notes what the transfer, which has ended, leaves behind: a connection that may be used again.
void ccurl_loop_keep(ccurl_loop *loop, ccurl_transfer *transfer);
// Whether the kept connection that the transfer is to go out on is not to be used again. If it is, the loop watches
// what becomes of it.
int ccurl_loop_is_stale(ccurl_loop *loop, ccurl_transfer *transfer);
// Takes note that the request is about to be sent again, which is not to be done.
void ccurl_transfer_refuse_repetition(ccurl_transfer *transfer);
// Has a transfer whose connection is stale begin anew on a new one.
void ccurl_transfer_refresh(ccurl_transfer *transfer);
// Notes that the response of the transfer has begun, and whether its status is not 2xx.
void ccurl_upload_note_response(ccurl_transfer *transfer, int is_error);
// Takes the transfer off the list of those whose response has begun.
void ccurl_upload_forget(ccurl_transfer *transfer);
// Whether what has come is the response, although that is libcurl's result.
int ccurl_upload_is_response(ccurl_transfer *transfer, ccurl_code result);
// A transfer that need not send the rest of its body, for its response is complete; NULL if there is none.
ccurl_transfer *ccurl_upload_next_complete(ccurl_loop *loop);
// Leaves the transfer's handle to itself: it can neither open a connection nor use one, and knows the transfer no more.
void ccurl_transfer_orphan(ccurl_transfer *transfer);

#endif
