// The numbers of libcurl's interface, for the shim and for Swift. They are part of its stable ABI (libcurl.so.4), so
// libcurl's headers are not needed to build. Each has libcurl's own name with a C in front: the two can meet in one
// program.
#ifndef CCURL_NUMBERS_H
#define CCURL_NUMBERS_H

// The options of an easy handle.
typedef enum {
    CCURLOPT_NOBODY = 44,
    CCURLOPT_POST = 47,
    CCURLOPT_FRESH_CONNECT = 74,
    CCURLOPT_FORBID_REUSE = 75,
    CCURLOPT_HTTPGET = 80,
    CCURLOPT_HTTP_VERSION = 84,
    CCURLOPT_BUFFERSIZE = 98,
    CCURLOPT_NOSIGNAL = 99,
    CCURLOPT_CONNECT_ONLY = 141,
    CCURLOPT_CONNECTTIMEOUT_MS = 156,
    CCURLOPT_HTTP_CONTENT_DECODING = 158,
    CCURLOPT_PROTOCOLS = 181,
    CCURLOPT_TCP_KEEPALIVE = 213,
    CCURLOPT_SSL_ENABLE_ALPN = 226,
    CCURLOPT_PATH_AS_IS = 234,
    CCURLOPT_PIPEWAIT = 237,
    CCURLOPT_SSL_VERIFYPEER = 64,
    CCURLOPT_SUPPRESS_CONNECT_HEADERS = 265,
    CCURLOPT_UPLOAD_BUFFERSIZE = 280,
    CCURLOPT_HTTP09_ALLOWED = 285,
    CCURLOPT_QUICK_EXIT = 322,
    CCURLOPT_WRITEDATA = 10001,
    CCURLOPT_URL = 10002,
    CCURLOPT_PROXY = 10004,
    CCURLOPT_READDATA = 10009,
    CCURLOPT_ERRORBUFFER = 10010,
    CCURLOPT_POSTFIELDS = 10015,
    CCURLOPT_HTTPHEADER = 10023,
    CCURLOPT_SSLCERT = 10025,
    CCURLOPT_HEADERDATA = 10029,
    CCURLOPT_CUSTOMREQUEST = 10036,
    CCURLOPT_CAINFO = 10065,
    CCURLOPT_SSLKEY = 10087,
    CCURLOPT_CAPATH = 10097,
    CCURLOPT_SHARE = 10100,
    CCURLOPT_PRIVATE = 10103,
    CCURLOPT_SOCKOPTDATA = 10149,
    CCURLOPT_OPENSOCKETDATA = 10164,
    CCURLOPT_NOPROXY = 10177,
    CCURLOPT_CLOSESOCKETDATA = 10209,
    CCURLOPT_PINNEDPUBLICKEY = 10230,
    CCURLOPT_UNIX_SOCKET_PATH = 10231,
    CCURLOPT_PROXY_CAINFO = 10246,
    CCURLOPT_REQUEST_TARGET = 10266,
    CCURLOPT_PREREQDATA = 10313,
    CCURLOPT_WRITEFUNCTION = 20011,
    CCURLOPT_READFUNCTION = 20012,
    CCURLOPT_HEADERFUNCTION = 20079,
    CCURLOPT_SOCKOPTFUNCTION = 20148,
    CCURLOPT_OPENSOCKETFUNCTION = 20163,
    CCURLOPT_CLOSESOCKETFUNCTION = 20208,
    CCURLOPT_PREREQFUNCTION = 20312,
    CCURLOPT_POSTFIELDSIZE_LARGE = 30120,
} ccurl_option;

// What can be asked of an easy handle.
typedef enum {
    CCURLINFO_PRIVATE = 0x100015,
    CCURLINFO_CAINFO = 0x10003D,
    CCURLINFO_HEADER_SIZE = 0x20000B,
    CCURLINFO_REQUEST_SIZE = 0x20000C,
    CCURLINFO_OS_ERRNO = 0x200019,
    CCURLINFO_NUM_CONNECTS = 0x20001A,
    CCURLINFO_HTTP_VERSION = 0x20002E,
    CCURLINFO_USED_PROXY = 0x200042,
    CCURLINFO_TLS_SSL_PTR = 0x40002D,
    CCURLINFO_ACTIVESOCKET = 0x50002C,
    CCURLINFO_SIZE_UPLOAD_T = 0x600007,
    CCURLINFO_SIZE_DOWNLOAD_T = 0x600008,
    CCURLINFO_TOTAL_TIME_T = 0x600032,
    CCURLINFO_NAMELOOKUP_TIME_T = 0x600033,
    CCURLINFO_CONNECT_TIME_T = 0x600034,
    CCURLINFO_APPCONNECT_TIME_T = 0x600038,
} ccurl_info;

// The options of a multi handle.
typedef enum {
    CCURLMOPT_PIPELINING = 3,
    CCURLMOPT_MAXCONNECTS = 6,
    CCURLMOPT_MAX_CONCURRENT_STREAMS = 16,
    CCURLMOPT_RESOLVE_THREADS_MAX = 20,
    CCURLMOPT_QUICK_EXIT = 21,
    CCURLMOPT_SOCKETDATA = 10002,
    CCURLMOPT_TIMERDATA = 10005,
    CCURLMOPT_SOCKETFUNCTION = 20001,
    CCURLMOPT_TIMERFUNCTION = 20004,
} ccurl_multi_option;

// The options of a share: what several handles have in common.
typedef enum {
    CCURLSHOPT_SHARE = 1,
    CCURLSHOPT_LOCKFUNC = 3,
    CCURLSHOPT_UNLOCKFUNC = 4,
    CCURLSHOPT_USERDATA = 5,
} ccurl_share_option;

// The kinds of shared data, each with a lock of its own, and their number.
enum { CCURL_LOCK_DATA_DNS = 3, CCURL_LOCK_DATA_SSL_SESSION = 4, CCURL_LOCK_DATA_LAST = 8 };

// The results of a transfer. libcurl may give others that are not listed here.
typedef enum {
    CCURLE_OK = 0,
    CCURLE_UNSUPPORTED_PROTOCOL = 1,
    CCURLE_NOT_BUILT_IN = 4,
    CCURLE_COULDNT_RESOLVE_PROXY = 5,
    CCURLE_COULDNT_RESOLVE_HOST = 6,
    CCURLE_COULDNT_CONNECT = 7,
    CCURLE_WEIRD_SERVER_REPLY = 8,
    CCURLE_HTTP2 = 16,
    CCURLE_PARTIAL_FILE = 18,
    CCURLE_WRITE_ERROR = 23,
    CCURLE_OUT_OF_MEMORY = 27,
    CCURLE_OPERATION_TIMEDOUT = 28,
    CCURLE_SSL_CONNECT_ERROR = 35,
    CCURLE_BAD_FUNCTION_ARGUMENT = 43,
    CCURLE_GOT_NOTHING = 52,
    CCURLE_SSL_ENGINE_NOTFOUND = 53,
    CCURLE_SSL_ENGINE_SETFAILED = 54,
    CCURLE_SEND_ERROR = 55,
    CCURLE_RECV_ERROR = 56,
    CCURLE_SSL_CERTPROBLEM = 58,
    CCURLE_SSL_CIPHER = 59,
    CCURLE_PEER_FAILED_VERIFICATION = 60,
    CCURLE_BAD_CONTENT_ENCODING = 61,
    CCURLE_SEND_FAIL_REWIND = 65,
    CCURLE_SSL_ENGINE_INITFAILED = 66,
    CCURLE_SSL_CACERT_BADFILE = 77,
    CCURLE_AGAIN = 81,
    CCURLE_SSL_CRL_BADFILE = 82,
    CCURLE_SSL_ISSUER_ERROR = 83,
    CCURLE_SSL_PINNEDPUBKEYNOTMATCH = 90,
    CCURLE_SSL_INVALIDCERTSTATUS = 91,
    CCURLE_HTTP2_STREAM = 92,
    CCURLE_HTTP3 = 95,
    CCURLE_QUIC_CONNECT_ERROR = 96,
    CCURLE_PROXY = 97,
    CCURLE_SSL_CLIENTCERT = 98,
    CCURLE_TOO_LARGE = 100,
} ccurl_code;

// The versions of HTTP: those that can be asked for, and those that a transfer has used.
enum {
    CCURL_HTTP_VERSION_1_0 = 1,
    CCURL_HTTP_VERSION_1_1 = 2,
    CCURL_HTTP_VERSION_2_0 = 3,
    CCURL_HTTP_VERSION_2TLS = 4,
    CCURL_HTTP_VERSION_3 = 30,
    CCURL_HTTP_VERSION_3ONLY = 31,
};

// The size of the buffer for CCURLOPT_ERRORBUFFER.
enum { CCURL_ERROR_SIZE = 256 };
// Flags for curl_global_init.
enum { CCURL_GLOBAL_ALL = 3 };
// A flag for OPENSSL_init_crypto.
enum { CCURL_OPENSSL_INIT_NO_ATEXIT = 0x80000 };
// The layout of the answer of curl_version_info that is read of it: that of 7.70. The answer says which it has.
enum { CCURLVERSION_SEVENTH = 6 };
// Bits of the features in that answer.
enum { CCURL_VERSION_HTTP3 = 1 << 25 };
// Bits of CCURLOPT_PROTOCOLS.
enum { CCURLPROTO_HTTP = 1, CCURLPROTO_HTTPS = 2 };
// A value of CCURLMOPT_PIPELINING: HTTP/2 streams share a connection.
enum { CCURLPIPE_MULTIPLEX = 2 };
// TLS libraries that libcurl may be built with.
enum { CCURLSSLBACKEND_OPENSSL = 1, CCURLSSLBACKEND_GNUTLS = 2 };

// What callbacks return in place of a count or a socket, and what the one before a request returns.
enum {
    CCURL_SOCKET_BAD = -1,
    CCURL_SOCKOPT_OK = 0,
    CCURL_SOCKOPT_ALREADY_CONNECTED = 2,
    CCURL_PREREQFUNC_OK = 0,
    CCURL_PREREQFUNC_ABORT = 1,
    CCURL_READFUNC_ABORT = 0x10000000,
    CCURL_READFUNC_PAUSE = 0x10000001,
    CCURL_WRITEFUNC_PAUSE = 0x10000001,
};

// The directions that curl_easy_pause pauses; without any, it resumes both.
enum { CCURLPAUSE_CONT = 0, CCURLPAUSE_SEND = 4 };
// What libcurl wants to know of a socket.
enum { CCURL_POLL_IN = 1, CCURL_POLL_OUT = 2 };
// What curl_multi_socket_action is told of a socket, and the socket that stands for the timers.
enum { CCURL_CSELECT_IN = 1, CCURL_CSELECT_OUT = 2, CCURL_SOCKET_TIMEOUT = -1 };
// The one kind of message of curl_multi_info_read: a transfer has ended.
enum { CCURLMSG_DONE = 1 };

// The versions of libcurl that make a difference, as curl_version_info gives them: 0x074400 is 7.68.0.
enum {
    // The oldest that the shim works with. All functions that it calls are older.
    CCURL_VERSION_OLDEST = 0x074400,
    // CCURLOPT_PREREQFUNCTION: a callback before a request is sent.
    CCURL_VERSION_WITH_PREREQ = 0x075000,
    // CCURLOPT_QUICK_EXIT.
    CCURL_VERSION_WITH_QUICK_EXIT = 0x075700,
    CCURL_VERSION_WITH_KEPT_CERTIFICATES = 0x075700,
    // From the first to before the second, a handle that has had a response is not safe to use again.
    CCURL_VERSION_WITH_HEADER_FAULT = 0x075300,
    CCURL_VERSION_WITHOUT_HEADER_FAULT = 0x080100,
    // From the first to before the second, a socket that is said to be connected is connected once more, and fails.
    CCURL_VERSION_IGNORING_CONNECTED = 0x075800,
    CCURL_VERSION_BELIEVING_CONNECTED = 0x080000,
    // What its TLS libraries write goes through libcurl.
    CCURL_VERSION_WITHOUT_PIPE_SIGNAL = 0x075800,
    // What it has kept of a paused response is freed with the transfer, also if others use its connection.
    CCURL_VERSION_WITHOUT_PAUSE_LEAK = 0x080700,
    // From the first to before the second, the TLS session of a proxy is hidden from a request of plain http: 8.16.0
    // hides it, and 8.12.1 and 8.19.0 do not.
    CCURL_VERSION_WITH_HIDDEN_SESSIONS = 0x080d00,
    CCURL_VERSION_WITHOUT_HIDDEN_SESSIONS = 0x081300,
    // HTTP/3 as it is used here. Before 7.88, CCURL_HTTP_VERSION_3 means HTTP/3 without a fallback to TCP, and
    // CCURL_HTTP_VERSION_3ONLY is unknown; up to 8.22 there are known faults that a server can exploit over HTTP/3.
    CCURL_VERSION_WITH_HTTP3 = 0x081700,
};

#endif
