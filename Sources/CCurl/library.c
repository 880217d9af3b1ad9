// For secure_getenv.
#define _GNU_SOURCE

#include "ccurl.h"

#if defined(__linux__)

#include "functions.h"
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// What is known of the library. A failure that may pass, such as a lack of descriptors, leaves it CLOSED: the next one
// who needs it tries again. What is REFUSED is missing or too old, and would be found so again.
typedef enum { CLOSED = 0, OPEN, REFUSED } opening;
static atomic_int state;
// Held while the library is opened.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
// Why it is REFUSED.
static char refusal[768];
// What the last ccurl_open of this thread has found.
static _Thread_local char problem[sizeof refusal];
static _Thread_local bool lacks_resources;
static ccurl_version_info *version;

struct ccurl_api ccurl_api;

// Where Linux systems have the file of the certificates that they trust: Debian and Alpine, Fedora and Red Hat before
// and since 2025, openSUSE, and others.
static const char *const trust_files[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
};
static const char *system_trust;

// A libcurl that was built for another system names a place that this one does not have, and refuses every server.
static const char *find_system_trust(void) {
    if (version->age < CCURLVERSION_SEVENTH || (!version->cainfo && !version->capath)) return NULL;
    if (version->cainfo && access(version->cainfo, R_OK) == 0) return NULL;
    if (version->capath && access(version->capath, R_OK | X_OK) == 0) return NULL;
    for (size_t i = 0; i < sizeof trust_files / sizeof *trust_files; i++)
        if (access(trust_files[i], R_OK) == 0) return trust_files[i];
    return NULL;
}

static const char too_old[] = "libcurl is older than 7.68: install a newer one";

#define FUNCTIONS(FUNCTION) \
    FUNCTION(ccurl_api.global_init, curl_global_init) \
    FUNCTION(ccurl_api.version_info, curl_version_info) \
    FUNCTION(ccurl_api.easy_init, curl_easy_init) \
    FUNCTION(ccurl_api.easy_reset, curl_easy_reset) \
    FUNCTION(ccurl_api.easy_cleanup, curl_easy_cleanup) \
    FUNCTION(ccurl_api.easy_setopt, curl_easy_setopt) \
    FUNCTION(ccurl_api.easy_getinfo, curl_easy_getinfo) \
    FUNCTION(ccurl_api.easy_pause, curl_easy_pause) \
    FUNCTION(ccurl_api.easy_strerror, curl_easy_strerror) \
    FUNCTION(ccurl_api.multi_init, curl_multi_init) \
    FUNCTION(ccurl_api.multi_cleanup, curl_multi_cleanup) \
    FUNCTION(ccurl_api.multi_wakeup, curl_multi_wakeup) \
    FUNCTION(ccurl_api.multi_setopt, curl_multi_setopt) \
    FUNCTION(ccurl_api.multi_add_handle, curl_multi_add_handle) \
    FUNCTION(ccurl_api.multi_remove_handle, curl_multi_remove_handle) \
    FUNCTION(ccurl_api.multi_socket_action, curl_multi_socket_action) \
    FUNCTION(ccurl_api.multi_info_read, curl_multi_info_read) \
    FUNCTION(ccurl_api.share_init, curl_share_init) \
    FUNCTION(ccurl_api.share_setopt, curl_share_setopt) \
    FUNCTION(ccurl_api.share_cleanup, curl_share_cleanup)
FUNCTIONS(CCURL_DECLARE)

// Those for a connection that is none of HTTP. No transfer needs them.
#define STREAM_FUNCTIONS(FUNCTION) \
    FUNCTION(ccurl_api.easy_perform, curl_easy_perform) \
    FUNCTION(ccurl_api.easy_recv, curl_easy_recv) \
    FUNCTION(ccurl_api.easy_send, curl_easy_send)
STREAM_FUNCTIONS(CCURL_DECLARE_OPTIONAL)

// Those of the TLS libraries that it may be built with.
#define TLS_FUNCTIONS(FUNCTION) \
    FUNCTION(ccurl_api.openssl_init, OPENSSL_init_crypto) \
    FUNCTION(ccurl_api.openssl_has_pending, SSL_has_pending) \
    FUNCTION(ccurl_api.openssl_alpn, SSL_get0_alpn_selected) \
    FUNCTION(ccurl_api.gnutls_pending, gnutls_record_check_pending) \
    FUNCTION(ccurl_api.gnutls_alpn, gnutls_alpn_get_selected_protocol)
TLS_FUNCTIONS(CCURL_DECLARE_OPTIONAL)

// Whether an error of the system's loader is about one of these.
static bool is_about(const char *error, const int *reasons, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(error, strerror(reasons[i]))) return true;
    return false;
}

static opening refuse(const char *reason) {
    snprintf(problem, sizeof problem, "%s", reason);
    return REFUSED;
}

// Notes why the library cannot be opened.
static opening note_failure(const char *error, bool is_chosen) {
    static const int passing[] = {EMFILE, ENFILE, ENOMEM}, lasting[] = {ENOENT};
    lacks_resources = is_about(error, passing, sizeof passing / sizeof *passing);
    bool is_missing = is_about(error, lasting, sizeof lasting / sizeof *lasting);
    // It may be missing, but so may a library that it needs itself: the reason says which. A copy, because the next
    // call takes the text away.
    char own[256];
    snprintf(own, sizeof own, "%s", error);
    // With musl, a static program cannot open anything, not even itself.
    const char *advice = lacks_resources ? "a later request tries again"
                         : is_chosen     ? "the environment variable ERRAND_LIBCURL names this file"
                         : dlopen(NULL, RTLD_LAZY)
                             ? "install it, on Debian and Ubuntu with `apt install libcurl4`, on Fedora with `dnf "
                               "install libcurl`, on Alpine with `apk add libcurl`"
                             : "this program is linked statically, and cannot open any library; enable Errand's "
                               "package trait LinkedCurl, which links libcurl as well";
    snprintf(problem, sizeof problem, "libcurl cannot be opened (%s): %s", own, advice);
    return is_missing ? REFUSED : CLOSED;
}

static opening open_file(void **library) {
    // For a machine with several. A program that runs with the rights of another user ignores its environment.
    const char *chosen = secure_getenv("ERRAND_LIBCURL");
    bool is_chosen = chosen && *chosen;
    // Lazily: most functions of its thirty libraries are never called, and to look them all up takes a millisecond.
    *library = dlopen(is_chosen ? chosen : "libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (*library) return OPEN;
    const char *error = dlerror();
    return note_failure(error ? error : "libcurl.so.4", is_chosen);
}

static opening find_functions(void) {
    const ccurl_function functions[] = {FUNCTIONS(CCURL_ENTRY)};
    const ccurl_function others[] = {STREAM_FUNCTIONS(CCURL_ENTRY) TLS_FUNCTIONS(CCURL_ENTRY)};
    void *library = NULL;
    if (!ccurl_take_linked(functions, sizeof functions / sizeof *functions)) {
        opening found = open_file(&library);
        if (found != OPEN) return found;
        if (!ccurl_look_up(library, functions, sizeof functions / sizeof *functions)) return refuse(too_old);
    }
    // Linked libraries are part of a static program, and open in another one.
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!ccurl_take_linked(&others[i], 1)) ccurl_look_up(library, &others[i], 1);
    return OPEN;
}

static opening open_library(void) {
    opening found = find_functions();
    if (found != OPEN) return found;
    // When a program ends, OpenSSL frees what the threads of transports may still use, and the program crashes. It must
    // be told before it is set up, which libcurl does.
    if (ccurl_api.openssl_init) ccurl_api.openssl_init(CCURL_OPENSSL_INIT_NO_ATEXIT, NULL);
    if (ccurl_api.global_init(CCURL_GLOBAL_ALL) != 0) {
        lacks_resources = true;
        snprintf(problem, sizeof problem, "libcurl could not be set up: there is no memory left");
        return CLOSED;
    }
    version = ccurl_api.version_info(CCURLVERSION_SEVENTH);
    if (version->version_num < CCURL_VERSION_OLDEST) return refuse(too_old);
    system_trust = find_system_trust();
    return OPEN;
}

bool ccurl_open(void) {
    if (atomic_load_explicit(&state, memory_order_acquire) == OPEN) return true;
    lacks_resources = false;
    pthread_mutex_lock(&guard);
    opening found = atomic_load_explicit(&state, memory_order_relaxed);
    if (found == CLOSED) {
        found = open_library();
        if (found == REFUSED) memcpy(refusal, problem, sizeof refusal);
        atomic_store_explicit(&state, found, memory_order_release);
    }
    if (found == REFUSED) memcpy(problem, refusal, sizeof problem);
    pthread_mutex_unlock(&guard);
    return found == OPEN;
}

const char *ccurl_problem(void) { return problem; }
bool ccurl_lacks_resources(void) { return lacks_resources; }
const char *ccurl_version(void) { return version ? version->version : ""; }
const char *ccurl_describe(ccurl_code code) { return ccurl_api.easy_strerror(code); }
const char *ccurl_system_trust(void) { return system_trust; }
bool ccurl_tells_connected(void) { return version->version_num >= CCURL_VERSION_WITH_PREREQ; }

bool ccurl_raises_pipe_signal(void) {
    static const char *const quiet[] = {"OpenSSL/", "GnuTLS/"};
    if (version->version_num < CCURL_VERSION_WITHOUT_PIPE_SIGNAL) return true;
    if (!version->ssl_version) return false;
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
        if (strncmp(version->ssl_version, quiet[i], strlen(quiet[i])) == 0) return false;
    return true;
}

bool ccurl_speaks_http3(void) {
    return version->version_num >= CCURL_VERSION_WITH_HTTP3 && (version->features & CCURL_VERSION_HTTP3);
}

bool ccurl_environment_has_proxy(void) {
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *proxy = getenv(names[i]);
        if (proxy && *proxy) return true;
    }
    return false;
}

bool ccurl_leaves_lookups(void) { return version->version_num >= CCURL_VERSION_WITH_QUICK_EXIT; }

bool ccurl_leaks_paused(void) { return version->version_num < CCURL_VERSION_WITHOUT_PAUSE_LEAK; }

bool ccurl_keeps_certificates(void) { return version->version_num >= CCURL_VERSION_WITH_KEPT_CERTIFICATES; }

bool ccurl_has_header_fault(void) {
    return version->version_num >= CCURL_VERSION_WITH_HEADER_FAULT &&
           version->version_num < CCURL_VERSION_WITHOUT_HEADER_FAULT;
}

bool ccurl_ignores_connected(void) {
    return version->version_num >= CCURL_VERSION_IGNORING_CONNECTED &&
           version->version_num < CCURL_VERSION_BELIEVING_CONNECTED;
}

bool ccurl_hides_proxy_sessions(void) {
    return version->version_num >= CCURL_VERSION_WITH_HIDDEN_SESSIONS &&
           version->version_num < CCURL_VERSION_WITHOUT_HIDDEN_SESSIONS;
}

bool ccurl_has_descriptors(void) {
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

bool ccurl_has_file(const char *file) {
    static atomic_bool was_there;
    if (atomic_load_explicit(&was_there, memory_order_relaxed)) return true;
    if (access(file, R_OK) != 0) return false;
    atomic_store_explicit(&was_there, true, memory_order_relaxed);
    return true;
}

int64_t ccurl_now_suspended(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t ccurl_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

#endif
