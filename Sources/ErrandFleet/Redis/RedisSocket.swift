import Errand
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// A TCP connection to a server, which never blocks.
final class RedisSocket: RedisStream {
    #if canImport(Glibc)
    private static let stream = CInt(SOCK_STREAM.rawValue)
    #else
    private static let stream = SOCK_STREAM
    #endif
    #if canImport(Darwin)
    private static let sendFlags: CInt = 0
    #else
    // A server that has closed the connection causes an error, not a signal that ends the process.
    private static let sendFlags = CInt(MSG_NOSIGNAL)
    #endif

    let descriptor: CInt

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        set(CInt(IPPROTO_TCP), TCP_NODELAY)
        set(SOL_SOCKET, SO_KEEPALIVE)
        #if canImport(Darwin)
        set(SOL_SOCKET, SO_NOSIGPIPE)
        #endif
    }

    private func set(_ level: CInt, _ option: CInt) {
        var on: CInt = 1
        _ = setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit { _ = close(descriptor) }

    // MARK: Connecting

    /// An address that a name stands for.
    private struct Place {
        let family: CInt
        let bytes: [UInt8]
    }

    /// Connects to one of the addresses of a server. Each gets an equal part of the time that is left.
    ///
    /// The lookup blocks, as long as the system likes. Everything else ends early if `isOver` is true after the thread
    /// was woken.
    static func connected(
        to address: RedisAddress, until deadline: Instant, _ wakeUp: WakeUpPipe, isOver: () -> Bool
    ) throws(FleetStoreError) -> RedisSocket {
        let places = try places(of: address)
        var words = "it has no address"
        for (index, place) in places.enumerated() {
            let now = SystemTime.system.now
            let share = now.duration(to: deadline) / (places.count - index)
            switch connected(to: place, until: now.advanced(by: share), wakeUp, isOver) {
            case .success(let socket): return socket
            case .failure(let failure): words = failure.words
            }
            if isOver() { break }
        }
        throw FleetStoreError(.unreachable, "\(address) cannot be reached: \(words)")
    }

    private static func places(of address: RedisAddress) throws(FleetStoreError) -> [Place] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = stream
        var first: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(address.host, "\(address.port)", &hints, &first)
        guard result == 0 else {
            throw FleetStoreError(
                .unreachable, "\(address) cannot be reached: \(String(cString: gai_strerror(result)))")
        }
        defer { freeaddrinfo(first) }
        var places: [Place] = []
        var next = first
        while let entry = next?.pointee {
            if let bytes = UnsafeRawPointer(entry.ai_addr) {
                let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(entry.ai_addrlen))
                places.append(Place(family: entry.ai_family, bytes: Array(buffer)))
            }
            next = entry.ai_next
        }
        return places
    }

    private struct Failure: Error {
        let words: String

        init(_ words: String) {
            self.words = words
        }

        init(code: CInt) {
            words = String(cString: strerror(code))
        }
    }

    private static func connected(
        to place: Place, until deadline: Instant, _ wakeUp: WakeUpPipe, _ isOver: () -> Bool
    ) -> Result<RedisSocket, Failure> {
        let descriptor = socket(place.family, stream, 0)
        guard descriptor >= 0 else { return .failure(Failure(code: errno)) }
        let socket = RedisSocket(descriptor)
        let result = place.bytes.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bound -> CInt in
                guard let pointer = bound.baseAddress else { return -1 }
                return connect(descriptor, pointer, socklen_t(bytes.count))
            }
        }
        if result == 0 { return .success(socket) }
        guard errno == EINPROGRESS || errno == EINTR else { return .failure(Failure(code: errno)) }
        // What has woken the thread meanwhile has to wake it again: it is not done yet.
        var wasWoken = false
        defer { if wasWoken { wakeUp.raise() } }
        while true {
            let left = SystemTime.system.now.duration(to: deadline)
            guard left > .zero else { return .failure(Failure("no answer to the attempt to connect")) }
            let ready = RedisPoll.wait(for: [(wakeUp.descriptor, false), (descriptor, true)], within: left)
            if ready[0] {
                wakeUp.lower()
                wasWoken = true
                if isOver() { return .failure(Failure("the store is closed")) }
            }
            guard ready[1] else { continue }
            var code: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
                return .failure(Failure(code: code == 0 ? errno : code))
            }
            return .success(socket)
        }
    }

    // MARK: Reading and writing

    var hasUnwritten: Bool { false }

    func read(into bytes: inout [UInt8], upTo limit: Int) -> RedisProgress {
        var result = 0
        bytes += [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
            result = recv(descriptor, buffer.baseAddress, limit, 0)
            filled = max(0, result)
        }
        return Self.progress(result)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> RedisProgress {
        Self.progress(bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) })
    }

    private static func progress(_ count: Int) -> RedisProgress {
        if count > 0 { return .bytes(count) }
        guard count < 0 else { return .ended(nil) }
        let code = errno
        if code == EAGAIN || code == EWOULDBLOCK || code == EINTR { return .blocked }
        return .ended(String(cString: strerror(code)))
    }
}

/// Waits for descriptors.
enum RedisPoll {
    /// Waits until one of them can be read, or written if that is asked for. Returns for each whether something can be
    /// done. `nil` waits without limit.
    static func wait(for entries: [(descriptor: CInt, isWriting: Bool)], within pause: Duration?) -> [Bool] {
        var polled = entries.map { entry in
            pollfd(fd: entry.descriptor, events: Int16(entry.isWriting ? POLLIN | POLLOUT : POLLIN), revents: 0)
        }
        // Rounded up, so that the time has come when it returns.
        let milliseconds = pause.map { pause -> CInt in
            let (seconds, attoseconds) = max(.zero, min(pause, .seconds(3600))).components
            return CInt(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        }
        guard poll(&polled, nfds_t(polled.count), milliseconds ?? -1) > 0 else { return entries.map { _ in false } }
        return polled.map { $0.revents != 0 }
    }
}
