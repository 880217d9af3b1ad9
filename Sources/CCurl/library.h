// libcurl's functions, once the library is open, and what depends on its version.
#ifndef CCURL_LIBRARY_H
#define CCURL_LIBRARY_H

#include "ccurl.h"

// The shim's own mistakes end a test, but not a user's process.
#if !defined(DEBUG) && !defined(NDEBUG)
#define NDEBUG
#endif
#include <assert.h>

// As libcurl lays it out, as far as it is read.
typedef struct {
    int age;
    const char *version;
    unsigned version_num;
    const char *host;
    int features;
    const char *ssl_version;
    long ssl_version_num;
    const char *libz_version;
    const char *const *protocols;
    const char *ares;
    int ares_num;
    const char *libidn;
    int iconv_ver_num;
    const char *libssh_version;
    unsigned brotli_ver_num;
    const char *brotli_version;
    unsigned nghttp2_ver_num;
    const char *nghttp2_version, *quic_version;
    // Since CCURLVERSION_SEVENTH.
    const char *cainfo, *capath;
} ccurl_version_info;

// As libcurl lays it out.
typedef struct {
    int msg;
    void *easy;
    union {
        void *whatever;
        ccurl_code result;
    } data;
} ccurl_message;

// As GnuTLS lays it out.
typedef struct {
    const unsigned char *bytes;
    unsigned length;
} ccurl_datum;

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
    int (*multi_wakeup)(void *);
    int (*multi_setopt)(void *, ccurl_multi_option, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_socket_action)(void *, int, int, int *);
    ccurl_message *(*multi_info_read)(void *, int *);
    void *(*share_init)(void);
    int (*share_setopt)(void *, ccurl_share_option, ...);
    int (*share_cleanup)(void *);
    // Those for a connection that is none of HTTP; NULL if this libcurl lacks them.
    ccurl_code (*easy_perform)(void *);
    ccurl_code (*easy_recv)(void *, void *, size_t, size_t *);
    ccurl_code (*easy_send)(void *, const void *, size_t, size_t *);
    // Those of the TLS libraries that libcurl may be built with; NULL for the others.
    int (*openssl_init)(uint64_t, const void *);
    int (*openssl_has_pending)(const void *);
    void (*openssl_alpn)(const void *, const unsigned char **, unsigned *);
    size_t (*gnutls_pending)(void *);
    int (*gnutls_alpn)(void *, ccurl_datum *);
};

extern struct ccurl_api ccurl_api;

// Returns microseconds of the monotonic clock.
int64_t ccurl_now(void);

// Whether this libcurl frees the headers of a handle's last response and then writes to them when the first header
// line of the next response begins with a space: issue 11101 of curl, from 7.83.0 to before 8.1.0. A distribution may
// have fixed it in an older version; nothing shows that.
bool ccurl_has_header_fault(void);

// Whether libcurl does not believe that a socket which it is given is connected (7.88).
bool ccurl_ignores_connected(void);

// Whether libcurl may hide from a request of plain http the TLS session of the proxy that it goes through.
bool ccurl_hides_proxy_sessions(void);

// Whether libcurl loses what it has kept of a paused response if the transfer is removed while others use its
// connection.
bool ccurl_leaks_paused(void);

// Whether libcurl can remove a transfer without waiting for the thread that looks up its host (7.87 and later).
bool ccurl_leaves_lookups(void);
// Returns the system's file of trusted certificates, if libcurl was built for a system that has it elsewhere; NULL if
// what was built in is there, if libcurl does not say, and if no file is where such files usually are.
const char *ccurl_system_trust(void);
// Whether the system's file of certificates, which libcurl names, is there: once it was, it stays.
bool ccurl_has_file(const char *file);
// Whether libcurl keeps the trusted certificates in memory (7.87 and later).
bool ccurl_keeps_certificates(void);

#endif
