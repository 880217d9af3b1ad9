// What the files of the shim share.
#ifndef CCURL_LIBRARY_H
#define CCURL_LIBRARY_H

#include "ccurl.h"

#include <stdint.h>

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
        int result;
    } data;
} ccurl_message;

// libcurl's functions, once it is open.
struct ccurl_api {
    int (*global_init)(long);
    ccurl_version_info *(*version_info)(int);
    void *(*easy_init)(void);
    void (*easy_reset)(void *);
    void (*easy_cleanup)(void *);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    int (*easy_pause)(void *, int);
    const char *(*easy_strerror)(int);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_setopt)(void *, int, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_socket_action)(void *, int, int, int *);
    ccurl_message *(*multi_info_read)(void *, int *);
};

extern struct ccurl_api ccurl_api;

// Microseconds of the monotonic clock.
int64_t ccurl_now(void);

// Has the sockets of the transfer opened and closed by the loop.
void ccurl_loop_adopt(ccurl_loop *loop, ccurl_transfer *transfer);
// Whether bytes have come on a kept connection between these ports.
int ccurl_loop_has_surplus(ccurl_loop *loop, int to_port, int from_port);
// Has a transfer whose connection is stale begin anew on a new one.
void ccurl_transfer_refresh(ccurl_transfer *transfer);

#endif
