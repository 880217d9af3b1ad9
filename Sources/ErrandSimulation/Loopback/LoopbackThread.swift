#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif
#if URLSession && os(Linux)
// FoundationNetworking imports this module, which then owns the types of pthread for the compiler.
import CDispatch
#endif

/// A thread that may block: a test has many tasks, and they share few threads.
enum LoopbackThread {
    private final class Work {
        let body: @Sendable () -> Void
        let ended: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void, _ ended: @escaping @Sendable () -> Void) {
            self.body = body
            self.ended = ended
        }
    }

    /// Runs `body` on a thread of its own and then, when everything that `body` held has been released, `ended`. The
    /// stack is small, so that hundreds of threads cost little. If the system has no thread left, calls `ended` at once
    /// and returns `false`.
    static func start(_ body: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let work = Unmanaged.passRetained(Work(body, ended)).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(
            &thread, &attributes,
            { context in
                LoopbackThread.run(context)()
                return nil
            }, work)
        #elseif canImport(Android)
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { context in
                LoopbackThread.run(context)()
                // A result is not optional there; it is not read.
                return context
            }, work)
        #else
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                LoopbackThread.run(context)()
                return nil
            }, work)
        #endif
        guard result == 0 else {
            Unmanaged<Work>.fromOpaque(work).release()
            ended()
            return false
        }
        return true
    }

    /// Runs the work and releases it. Returns the closure to call then.
    private static func run(_ context: UnsafeMutableRawPointer) -> @Sendable () -> Void {
        let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
        work.body()
        return work.ended
    }
}
