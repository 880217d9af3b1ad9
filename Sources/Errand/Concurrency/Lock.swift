#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import Synchronization

/// A value that only one thread at a time can access.
///
/// It is a `Mutex`. In a debug build on Linux it reports each acquire and release to the thread sanitizer, which does
/// not see into `Mutex` there and would report every access to a protected value as a race.
package struct Lock<State: Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>

    package init(_ state: consuming State) {
        mutex = Mutex(state)
    }

    /// Runs `body` with exclusive access to the value.
    package borrowing func withLock<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if os(Linux) && DEBUG
        guard let detector = RaceDetector.present else {
            return try mutex.withLock { state throws(Failure) in try body(&state) }
        }
        return try withUnsafePointer(to: mutex) { pointer throws(Failure) in
            let address = UnsafeMutableRawPointer(mutating: pointer)
            return try mutex.withLock { state throws(Failure) in
                detector.acquire(address)
                defer { detector.release(address) }
                return try body(&state)
            }
        }
        #elseif LOCK_STATISTICS
        return try mutex.withCountedLock { state throws(Failure) in try body(&state) }
        #else
        return try mutex.withLock { state throws(Failure) in try body(&state) }
        #endif
    }

    /// Runs `body` with exclusive access to the value, unless another thread has it: then returns `nil`.
    package borrowing func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        #if os(Linux) && DEBUG
        guard let detector = RaceDetector.present else { return mutex.withLockIfAvailable { body(&$0) } }
        return withUnsafePointer(to: mutex) { pointer in
            let address = UnsafeMutableRawPointer(mutating: pointer)
            return mutex.withLockIfAvailable { state in
                detector.acquire(address)
                defer { detector.release(address) }
                return body(&state)
            }
        }
        #else
        return mutex.withLockIfAvailable { body(&$0) }
        #endif
    }
}

#if os(Linux) && DEBUG
/// The thread sanitizer, in a program that was built with it.
private struct RaceDetector: Sendable {
    typealias Note = @convention(c) (UnsafeMutableRawPointer) -> Void

    static let present = RaceDetector()

    let acquire: Note
    let release: Note

    private init?() {
        guard let program = dlopen(nil, RTLD_NOW), let acquire = dlsym(program, "__tsan_acquire"),
            let release = dlsym(program, "__tsan_release")
        else { return nil }
        self.acquire = unsafeBitCast(acquire, to: Note.self)
        self.release = unsafeBitCast(release, to: Note.self)
    }
}
#endif
