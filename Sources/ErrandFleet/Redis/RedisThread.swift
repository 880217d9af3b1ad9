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

/// The thread of a store.
enum RedisThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a thread that is not waited for. Returns `false` if the system has no thread left.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let work = Unmanaged.passRetained(Work(body)).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(
            &thread, &attributes,
            { context in
                RedisThread.run(context)
                return nil
            }, work)
        #elseif canImport(Android)
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { context in
                RedisThread.run(context)
                // A result is not optional there; it is not read.
                return context
            }, work)
        #else
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                RedisThread.run(context)
                return nil
            }, work)
        #endif
        if result != 0 { Unmanaged<Work>.fromOpaque(work).release() }
        return result == 0
    }

    private static func run(_ context: UnsafeMutableRawPointer) {
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    }
}

/// Wakes the thread of a store while it waits.
final class RedisWakeUp: Sendable {
    let descriptor: CInt
    private let writer: CInt

    /// Returns `nil` if the process has no descriptor left.
    init?() {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A full pipe has woken the thread already.
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        (descriptor, writer) = (ends[0], ends[1])
    }

    func raise() {
        _ = write(writer, [0], 1)
    }

    /// Takes back what has woken the thread.
    func lower() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) == bytes.count {}
    }

    deinit {
        _ = close(descriptor)
        _ = close(writer)
    }
}
