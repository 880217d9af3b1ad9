#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
#if URLSession
// FoundationNetworking imports this module, which then owns the types of pthread for the compiler.
import CDispatch
#endif
#else
import Dispatch
#endif

/// A thread that is not waited for: on Linux one of its own, elsewhere one of Dispatch's.
package enum SystemThread {
    #if os(Linux)
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a thread. Returns `false` if the system has none left.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        if result != 0 { work.release() }
        return result == 0
    }
    #else
    /// Runs `body` on a thread. Returns `false` if the system has none left.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        DispatchQueue.global().async(execute: body)
        return true
    }
    #endif
}

#if os(Linux)
/// A semaphore of the system, on which threads without work wait.
///
/// `@unchecked Sendable`: `sem_t` is made for use by several threads, and lives at one address as long as this object.
final class WakeUps: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(semaphore, 0, 0)
    }

    func raise() {
        sem_post(semaphore)
    }

    func wait() {
        while sem_wait(semaphore) != 0, errno == EINTR {}
    }

    /// Waits for that long. Returns whether the semaphore was raised.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while sem_timedwait(semaphore, &end) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
}
#else
/// The thread is not waited for: Dispatch keeps threads without work.
struct WakeUps: Sendable {
    func raise() {}
}
#endif
