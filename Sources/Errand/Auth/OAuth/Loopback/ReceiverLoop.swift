#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// Serves the connections of a receiver, on its thread.
///
/// A connection is reading its request, then writing the response, then waiting for the browser to close it: if it were
/// closed before, the system might drop a page that the browser has not read yet. The connection that brings the answer
/// waits for the end of the sign-in before its response.
struct ReceiverLoop: Sendable {
    private struct Connection {
        let socket: ReceiverSocket
        var head: [UInt8] = []
        /// What is left of the response; `nil` before there is one.
        var response: ArraySlice<UInt8>?
        /// When it is closed.
        var end: Instant
        var isAnswer = false
        /// Whether it waits for the end of the sign-in.
        var isWaiting = false
    }

    let address: ReceiverAddress
    let input: CInt?
    let wakeUp: WakeUpPipe
    let limits: ReceiverLimits
    let isAnswer: @Sendable (String) -> Bool
    /// How the sign-in ends; `nil` if the page does not wait for that.
    var outcome: SignInOutcome?
    /// Takes the answer while the page waits.
    var find: @Sendable (String) -> Void = { _ in }
    /// Shows a message to whoever pastes lines.
    let tell: @Sendable (String) -> Void

    /// Serves connections until there is an answer, and returns its address; `nil` when it is woken.
    func run(_ listeners: inout [ReceiverSocket]) -> String? {
        var input = input
        var connections: [Connection] = []
        var line: [UInt8] = []
        var answer: String?
        while true {
            // After the answer it stays only to deliver the page.
            if answer != nil, !connections.contains(where: \.isAnswer) { return answer }
            let entries = entries(listeners, input, connections)
            guard let ready = wait(for: entries, until: connections.map(\.end).min()) else { return answer }
            if ready[0] {
                guard answer != nil, outcome?.hasSucceeded != nil else { return answer }
                wakeUp.lower()
            }
            connections = serve(connections, ready.suffix(connections.count), &answer)
            if answer != nil {
                listeners = []
                input = nil
            }
            for (index, listener) in listeners.enumerated() where ready[index + 1] {
                while let socket = listener.accepted() {
                    // The oldest one has had the most time.
                    if connections.count >= limits.connections { connections.removeFirst() }
                    connections.append(
                        Connection(socket: socket, end: SystemClock.now.advanced(by: limits.connectionTimeout)))
                }
            }
            if let descriptor = input, ready[listeners.count + 1] {
                switch pasted(from: descriptor, &line) {
                case .some(.some(let found)): return found
                case .some(.none): break
                case .none: input = nil
                }
            }
        }
    }

    private func entries(
        _ listeners: [ReceiverSocket], _ input: CInt?, _ connections: [Connection]
    ) -> [pollfd] {
        func entry(_ descriptor: CInt, _ events: Int32 = POLLIN) -> pollfd {
            pollfd(fd: descriptor, events: Int16(events), revents: 0)
        }
        return [entry(wakeUp.descriptor)] + listeners.map { entry($0.descriptor) } + (input.map { [entry($0)] } ?? [])
            + connections.map { connection in
                let isWriting = connection.response?.isEmpty == false
                return entry(connection.socket.descriptor, isWriting ? POLLOUT : POLLIN)
            }
    }

    /// Waits until something can be done. Returns for each entry whether it is ready; `nil` if the system fails.
    private func wait(for entries: [pollfd], until end: Instant?) -> [Bool]? {
        var entries = entries
        // Rounded up, so that the time has come when it returns.
        let milliseconds = end.map { SystemClock.now.duration(to: $0) }.map { pause -> CInt in
            let (seconds, attoseconds) = pause.components
            return CInt(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
        }
        while poll(&entries, nfds_t(entries.count), milliseconds ?? -1) < 0 {
            guard errno == EINTR else { return nil }
        }
        return entries.map { $0.revents != 0 }
    }

    /// Returns the connections that are left.
    private func serve(
        _ connections: [Connection], _ ready: ArraySlice<Bool>, _ answer: inout String?
    ) -> [Connection] {
        let now = SystemClock.now
        return zip(connections, ready).compactMap { connection, isReady in
            var connection = connection
            if connection.isWaiting, let page = page(at: now, of: connection) {
                return respond(page, to: &connection) ? connection : nil
            }
            guard connection.end > now, !isReady || advance(&connection, &answer) else { return nil }
            return connection
        }
    }

    /// Returns what to show on the page that waits for the end of the sign-in; `nil` if that is not known yet.
    private func page(at now: Instant, of connection: Connection) -> ReceiverPage? {
        switch outcome?.hasSucceeded {
        case .some(true): .done
        case .some(false): .failed
        // The program takes longer than anybody looks at an empty page.
        case .none: connection.end <= now ? .goesOn : nil
        }
    }

    /// Does what can be done with a connection. Returns `false` when it is over.
    private func advance(_ connection: inout Connection, _ answer: inout String?) -> Bool {
        if let response = connection.response, !response.isEmpty { return write(response, to: &connection) }
        let progress = connection.socket.read(into: &connection.head, upTo: limits.head)
        guard case .bytes = progress else { return progress == .blocked }
        guard connection.response == nil, !connection.isWaiting else {
            // What comes after the request is of no interest.
            connection.head = []
            return true
        }
        guard let request = ReceiverRequest(connection.head) else {
            guard connection.head.count >= limits.head else { return true }
            return respond(.tooLarge, to: &connection)
        }
        guard request.method == "GET", request.host == address.authority, request.path == address.path else {
            return respond(.notFound, to: &connection)
        }
        let url = "http://\(address.authority)\(request.target)"
        guard answer == nil, isAnswer(url) else { return respond(.notFound, to: &connection) }
        answer = url
        connection.isAnswer = true
        guard outcome != nil else { return respond(.goesOn, to: &connection) }
        (connection.isWaiting, connection.head) = (true, [])
        connection.end = SystemClock.now.advanced(by: limits.result)
        find(url)
        return true
    }

    private func respond(_ page: ReceiverPage, to connection: inout Connection) -> Bool {
        (connection.head, connection.isWaiting) = ([], false)
        connection.end = SystemClock.now.advanced(by: limits.farewell)
        return write(page.bytes[...], to: &connection)
    }

    private func write(_ response: ArraySlice<UInt8>, to connection: inout Connection) -> Bool {
        switch connection.socket.write(response) {
        case .bytes(let count):
            connection.response = response.dropFirst(count)
            if count == response.count { connection.socket.finishWriting() }
        case .blocked: connection.response = response
        case .ended: return false
        }
        return true
    }

    /// Reads what was pasted. Returns the answer; an inner `nil` if there is none yet, and `nil` at the end of the
    /// input.
    private func pasted(from descriptor: CInt, _ line: inout [UInt8]) -> String?? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = Self.read(descriptor, &chunk)
        guard count > 0 else { return nil }
        line += chunk.prefix(count)
        while let end = line.firstIndex(of: UInt8(ascii: "\n")) {
            let words = line[..<end].split { $0 <= 0x20 }
            let text = String(decoding: words.first ?? [], as: UTF8.self)
            line.removeSubrange(...end)
            if isAnswer(text) { return text }
            if !text.isEmpty { tell("That is not the address of this sign-in.") }
        }
        // Nobody pastes that much.
        if line.count > limits.head { line = [] }
        return .some(nil)
    }

    private static func read(_ descriptor: CInt, _ chunk: inout [UInt8]) -> Int {
        #if canImport(Glibc)
        Glibc.read(descriptor, &chunk, chunk.count)
        #elseif canImport(Musl)
        Musl.read(descriptor, &chunk, chunk.count)
        #elseif canImport(Android)
        Android.read(descriptor, &chunk, chunk.count)
        #else
        Darwin.read(descriptor, &chunk, chunk.count)
        #endif
    }
}
