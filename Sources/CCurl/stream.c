#define _GNU_SOURCE

#include "ccurl_stream.h"

#if defined(__linux__)

#include "library.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// As much as TLS encrypts at once.
enum { BUFFER_SIZE = 16 << 10 };

struct ccurl_stream {
    void *easy;
    int descriptor;
    // What was taken and is not written: from `start` to `end`. TLS libraries want to be given the same bytes, at the
    // same address, when they are asked to write again what they could not.
    char buffer[BUFFER_SIZE];
    size_t start, end;
};

// As libcurl lays it out.
typedef struct {
    int family, type, protocol;
    unsigned length;
    struct sockaddr address;
} socket_address;

// A program that is started while the connection is open must not keep it.
static int open_socket(void *context, int purpose, socket_address *address) {
    (void)context, (void)purpose;
    return socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
}

static void block_pipe_signal(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static ccurl_code prepare(void *easy, const char *url, long milliseconds, const char *authorities) {
    ccurl_code (*set)(void *, ccurl_option, ...) = ccurl_api.easy_setopt;
    const char *trusted = authorities ? authorities : ccurl_system_trust();
    set(easy, CCURLOPT_NOSIGNAL, 1L);
    set(easy, CCURLOPT_PROTOCOLS, (long)CCURLPROTO_HTTPS);
    set(easy, CCURLOPT_CONNECT_ONLY, 1L);
    set(easy, CCURLOPT_CONNECTTIMEOUT_MS, milliseconds);
    set(easy, CCURLOPT_TCP_KEEPALIVE, 1L);
    // What the protocol is follows from the port.
    set(easy, CCURLOPT_SSL_ENABLE_ALPN, 0L);
    set(easy, CCURLOPT_PROXY, "");
    set(easy, CCURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (trusted) {
        ccurl_code result = set(easy, CCURLOPT_CAINFO, trusted);
        // Otherwise the system's folder of certificates would be trusted too.
        if (result != CCURLE_OK || (authorities && set(easy, CCURLOPT_CAPATH, NULL) != CCURLE_OK)) return result;
    }
    return set(easy, CCURLOPT_URL, url);
}

ccurl_stream *ccurl_stream_open(
    const char *url, long milliseconds, const char *authorities, ccurl_code *result, char words[CCURL_ERROR_SIZE]) {
    words[0] = 0;
    *result = CCURLE_NOT_BUILT_IN;
    if (!ccurl_api.easy_perform || !ccurl_api.easy_recv || !ccurl_api.easy_send) return NULL;
    *result = CCURLE_OUT_OF_MEMORY;
    ccurl_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    stream->easy = ccurl_api.easy_init();
    if (stream->easy) {
        block_pipe_signal();
        ccurl_api.easy_setopt(stream->easy, CCURLOPT_ERRORBUFFER, words);
        *result = prepare(stream->easy, url, milliseconds, authorities);
        if (*result == CCURLE_OK) *result = ccurl_api.easy_perform(stream->easy);
        ccurl_api.easy_setopt(stream->easy, CCURLOPT_ERRORBUFFER, NULL);
        stream->descriptor = CCURL_SOCKET_BAD;
        if (*result == CCURLE_OK)
            *result = ccurl_api.easy_getinfo(stream->easy, CCURLINFO_ACTIVESOCKET, &stream->descriptor);
        if (*result == CCURLE_OK && stream->descriptor != CCURL_SOCKET_BAD) return stream;
        if (*result == CCURLE_OK) *result = CCURLE_COULDNT_CONNECT;
    }
    ccurl_stream_close(stream);
    return NULL;
}

void ccurl_stream_close(ccurl_stream *stream) {
    if (stream->easy) ccurl_api.easy_cleanup(stream->easy);
    free(stream);
}

int ccurl_stream_descriptor(const ccurl_stream *stream) { return stream->descriptor; }

bool ccurl_stream_has_unwritten(const ccurl_stream *stream) { return stream->start < stream->end; }

ptrdiff_t ccurl_stream_read(ccurl_stream *stream, void *bytes, size_t count) {
    size_t received = 0;
    ccurl_code result = ccurl_api.easy_recv(stream->easy, bytes, count, &received);
    if (result == CCURLE_AGAIN) return CCURL_STREAM_BLOCKED;
    return result == CCURLE_OK && received > 0 ? (ptrdiff_t)received : CCURL_STREAM_ENDED;
}

// Writes what was taken. Returns 0 when nothing is left.
static ptrdiff_t flush(ccurl_stream *stream) {
    while (stream->start < stream->end) {
        size_t sent = 0, count = stream->end - stream->start;
        ccurl_code result = ccurl_api.easy_send(stream->easy, stream->buffer + stream->start, count, &sent);
        if (result == CCURLE_AGAIN) return CCURL_STREAM_BLOCKED;
        if (result != CCURLE_OK) return CCURL_STREAM_ENDED;
        stream->start += sent;
    }
    stream->start = stream->end = 0;
    return 0;
}

ptrdiff_t ccurl_stream_write(ccurl_stream *stream, const void *bytes, size_t count) {
    ptrdiff_t flushed = flush(stream);
    if (flushed < 0) return flushed;
    size_t taken = count < BUFFER_SIZE ? count : BUFFER_SIZE;
    if (taken == 0) return 0;
    memcpy(stream->buffer, bytes, taken);
    stream->end = taken;
    return flush(stream) == CCURL_STREAM_ENDED ? CCURL_STREAM_ENDED : (ptrdiff_t)taken;
}

#endif
