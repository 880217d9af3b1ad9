#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
#if URLSession && os(Linux)
// FoundationNetworking brings this along, and to the compiler it then owns the types of pthread.
import CDispatch
#endif

/// A thread that may wait: the tasks of a test are many, and the threads they run on are few.
enum LoopbackThread {
    private final class Work {
        let body: @Sendable () -> Void
        let ended: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void, _ ended: @escaping @Sendable () -> Void) {
            self.body = body
            self.ended = ended
        }
    }

    /// Runs `body` on a thread of its own, and then, when it has let go of all that it held, `ended`. Its stack is
    /// small, so that hundreds of them cost little. If the system has no thread left, `ended` is called at once, and
    /// the result is `false`.
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

    /// Does the work and lets go of it; what is left is to say so.
    private static func run(_ context: UnsafeMutableRawPointer) -> @Sendable () -> Void {
        let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
        work.body()
        return work.ended
    }
}
