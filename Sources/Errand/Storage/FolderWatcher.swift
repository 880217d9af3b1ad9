#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
#if URLSession
// FoundationNetworking imports this module, which then owns types of the C library for the compiler.
import CDispatch
#endif

/// Reports changes of folders, with `inotify`.
///
/// The watches of a process share one descriptor and one thread, however many stores there are: a system allows a user
/// few descriptors of this kind. Both are there while anything is watched, and a few seconds longer. The thread waits
/// for the system, and does no work while nothing changes.
///
/// To watch a folder, the system has to look at the disk, which may hang. So that is done without the lock, on the
/// caller's thread. Paths to one folder share a watch of the system's, and another caller may end that just before this
/// one joins it. So each end counts, and a caller that finds one more than before watches the folder again.
///
/// States of the thread: not there (`descriptor` is `nil`), waiting for changes, waiting for new watches. It ends only
/// if there is no watch and no caller is about to add one. When the last watch goes, the system reports that, which
/// wakes the thread.
final class FolderWatcher: Sendable {
    private struct State {
        var descriptor: CInt?
        /// The callers that are about to add a watch.
        var adding = 0
        /// The number of watches of the system's that have ended.
        var ends = 0
        /// Those who want to know, by the system's number of the watch.
        var listeners: [CInt: [Int: FolderChange.Report]] = [:]
        var lastNumber = 0
    }

    typealias Event = (watch: CInt, kinds: UInt32, name: String)

    static let shared = FolderWatcher()

    private static let kinds = UInt32(
        IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
    /// Room for many events: one takes 16 bytes and a name of up to 256.
    private static let bufferSize = 16 << 10

    private let idleTime: CInt
    private let state = Lock(State())

    /// Creates a watcher whose thread ends after that many milliseconds without a watch.
    init(idleMilliseconds: CInt = 5000) {
        idleTime = idleMilliseconds
    }

    /// The number of folders that are watched.
    var count: Int { state.withLock { $0.listeners.count } }

    /// Whether the thread is there, and its descriptor is open.
    var isRunning: Bool { state.withLock { $0.descriptor != nil } }

    /// Watches a folder. May block, like everything that looks at a disk.
    fileprivate func add(
        _ folder: String, _ changed: @escaping FolderChange.Report
    ) throws(SystemError) -> Registration {
        let descriptor = try begin()
        defer { state.withLock { $0.adding -= 1 } }
        while true {
            let ends = state.withLock { $0.ends }
            let watch = inotify_add_watch(descriptor, folder, Self.kinds)
            guard watch >= 0 else { throw SystemError(errno) }
            let number: Int? = state.withLock { state in
                guard state.ends == ends else { return nil }
                state.lastNumber += 1
                state.listeners[watch, default: [:]][state.lastNumber] = changed
                return state.lastNumber
            }
            if let number { return Registration(watch: watch, number: number) }
        }
    }

    /// Ends a watch, unless the system has ended it already.
    fileprivate func remove(_ registration: Registration) {
        // Released outside the lock.
        var removed: FolderChange.Report?
        state.withLock { state in
            removed = state.listeners[registration.watch]?.removeValue(forKey: registration.number)
            guard state.listeners[registration.watch]?.isEmpty ?? false else { return }
            state.listeners[registration.watch] = nil
            end(registration.watch, &state)
        }
        withExtendedLifetime(removed) {}
    }

    private func end(_ watch: CInt, _ state: inout State) {
        state.ends += 1
        // Fails if the folder is gone, and its watch with it.
        if let descriptor = state.descriptor { _ = inotify_rm_watch(descriptor, watch) }
    }

    /// Returns the descriptor, which stays open until `adding` is counted down, and starts the thread if necessary.
    private func begin() throws(SystemError) -> CInt {
        try state.withLock { state -> Result<CInt, SystemError> in
            if let descriptor = state.descriptor {
                state.adding += 1
                return .success(descriptor)
            }
            let descriptor = inotify_init1(CInt(IN_CLOEXEC))
            guard descriptor >= 0 else { return .failure(SystemError(errno)) }
            guard SystemThread.start({ self.run(descriptor) }) else {
                _ = close(descriptor)
                return .failure(SystemError(EAGAIN))
            }
            state.descriptor = descriptor
            state.adding += 1
            return .success(descriptor)
        }.get()
    }

    // MARK: The thread

    private func run(_ descriptor: CInt) {
        while true {
            let isIdle = state.withLock { $0.listeners.isEmpty }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            switch poll(&entry, 1, isIdle ? idleTime : -1) {
            case 1...: report(events(from: descriptor))
            case 0 where mayEnd():
                _ = close(descriptor)
                return
            // A signal has interrupted the wait, or a watch was added.
            default: continue
            }
        }
    }

    private func mayEnd() -> Bool {
        state.withLock { state in
            guard state.listeners.isEmpty, state.adding == 0 else { return false }
            state.descriptor = nil
            return true
        }
    }

    private func events(from descriptor: CInt) -> [Event] {
        withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 8) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            return count > 0 ? Self.events(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])) : []
        }
    }

    /// Reads a sequence of `inotify_event`: the watch, the kinds, a cookie, the length of the name, and the name, which
    /// zeros follow.
    private static func events(in bytes: UnsafeRawBufferPointer) -> [Event] {
        var events: [Event] = []
        var rest = bytes[...]
        while rest.count >= 16 {
            let head = UnsafeRawBufferPointer(rebasing: rest.prefix(16))
            let length = Int(head.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
            let name = rest.dropFirst(16).prefix(length).prefix { $0 != 0 }
            events.append(
                (
                    head.loadUnaligned(fromByteOffset: 0, as: CInt.self),
                    head.loadUnaligned(fromByteOffset: 4, as: UInt32.self), String(decoding: name, as: UTF8.self)
                ))
            rest = rest.dropFirst(16 + length)
        }
        return events
    }

    /// Calls those who want to know of these events.
    func report(_ events: [Event]) {
        for event in events {
            let kinds = CInt(truncatingIfNeeded: event.kinds)
            if kinds & IN_Q_OVERFLOW != 0 {
                let all = state.withLock { $0.listeners.values.flatMap(\.values) }
                for changed in all { changed(.something) }
                continue
            }
            let isGone = kinds & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED) != 0
            let isOver = kinds & IN_IGNORED != 0
            let listeners = state.withLock { state in
                let listeners = state.listeners[event.watch].map { Array($0.values) }
                if isOver {
                    if state.listeners.removeValue(forKey: event.watch) != nil { state.ends += 1 }
                } else if listeners == nil {
                    // Nobody has it, or its caller has not come to note it, and will watch again.
                    end(event.watch, &state)
                }
                return listeners ?? []
            }
            // A new file may not be complete. One that is comes by a rename.
            let isNoise = kinds & IN_CREATE != 0 && kinds & IN_ISDIR == 0
            if isNoise { continue }
            let entry = FolderChange.entry(event.name, isGone: kinds & (IN_MOVED_FROM | IN_DELETE) != 0)
            for changed in listeners { changed(isGone ? .gone : entry) }
        }
    }
}

/// A place in the table of the watcher.
private struct Registration: Sendable {
    let watch: CInt
    let number: Int
}

/// A watch of a folder, which lasts until it is released.
final class FolderWatch: Sendable {
    private let watcher: FolderWatcher
    private let registration: Registration

    /// Begins to watch a folder. May block.
    init(
        _ folder: String, by watcher: FolderWatcher = .shared, _ changed: @escaping FolderChange.Report
    ) throws(SystemError) {
        self.watcher = watcher
        registration = try watcher.add(folder, changed)
    }

    deinit {
        watcher.remove(registration)
    }
}
#endif
