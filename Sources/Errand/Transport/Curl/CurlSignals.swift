#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The signals that the thread of a loop receives.
///
/// No handler of the program's own should run while libcurl works, except those of faults and of profilers. When the
/// thread resumes a task, Dispatch may start another, which inherits what is blocked: a fault on it would end the
/// process without a word, if no handler could run. A broken connection is an error that libcurl reports; as a signal,
/// it would end the process.
///
/// While the thread runs code of the program, it has the signals of the thread that has created the loops: a process
/// that such code starts inherits them, and one that blocks `SIGTERM` could not be ended. Only `SIGPIPE` stays blocked
/// where libcurl may have caused it: it would come as soon as it is not.
struct CurlSignals: Sendable {
    private var own = sigset_t()
    private var blocked = sigset_t()

    /// Reads the signals of this thread.
    init() {
        pthread_sigmask(SIG_SETMASK, nil, &own)
        sigfillset(&blocked)
        for signal in [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGPROF] { sigdelset(&blocked, signal) }
        if ccurl_raises_pipe_signal() { sigaddset(&own, SIGPIPE) } else { sigdelset(&blocked, SIGPIPE) }
    }

    func block() {
        withUnsafePointer(to: blocked) { _ = pthread_sigmask(SIG_SETMASK, $0, nil) }
    }

    func allow() {
        withUnsafePointer(to: own) { _ = pthread_sigmask(SIG_SETMASK, $0, nil) }
    }
}
#endif
