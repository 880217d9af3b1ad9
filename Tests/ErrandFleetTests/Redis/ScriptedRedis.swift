#if os(Linux)
@testable import ErrandFleet
@testable import ErrandSimulation
import ErrandTestSupport
import Foundation

/// A server that reads commands as Redis does, and answers them as a test says.
final class ScriptedRedis: Sendable {
    /// What becomes of a command.
    enum Action: Sendable {
        case answer(String)
        /// The same, one byte at a time.
        case pieces(String)
        case silence
        /// The connection is closed.
        case close
    }

    /// A command, the number of its connection, and the number of the commands that came before on that.
    struct Command: Sendable {
        let words: [String]
        let connection: Int
        let index: Int

        var name: String { words.first ?? "" }
    }

    static let greeting =
        "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:3\r\n"
        + "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"

    let commands = Noted<[Command]>([])
    /// The connections that were opened, and those that the store has closed.
    let opened = Noted(0), closed = Noted(0)
    let port: Int
    private let listener: LoopbackSocket
    private let sockets = Noted<[LoopbackSocket]>([])

    var address: String { "redis://127.0.0.1:\(port)" }

    init(_ act: @escaping @Sendable (Command) -> Action) throws {
        guard let (listener, port) = LoopbackSocket.bound(counting: LoopbackTraffic()), listener.listens() else {
            throw NotReady(what: "a port for a server")
        }
        (self.listener, self.port) = (listener, port)
        Thread.detachNewThread { [listener, commands, opened, closed, sockets] in
            while let socket = listener.accepted() {
                opened.update { $0 += 1 }
                sockets.update { $0.append(socket) }
                let number = opened.value
                Thread.detachNewThread {
                    Self.serve(socket, number, commands, act)
                    closed.update { $0 += 1 }
                }
            }
        }
    }

    /// Answers the greeting, and everything else as a test says.
    static func greeted(_ act: @escaping @Sendable (Command) -> Action) throws -> ScriptedRedis {
        try ScriptedRedis { $0.name == "HELLO" ? .answer(greeting) : act($0) }
    }

    /// The number of commands with that name.
    func count(of name: String) -> Int { commands.value.count { $0.name == name } }

    /// Sends something on a connection unasked.
    func send(_ text: String, on connection: Int = 1) { _ = sockets.value[connection - 1].write(Data(text.utf8)) }

    private static func serve(
        _ socket: LoopbackSocket, _ number: Int, _ commands: Noted<[Command]>, _ act: (Command) -> Action
    ) {
        var (parser, index) = (RedisParser(), 0)
        while true {
            let bytes = socket.read()
            guard !bytes.isEmpty, let values = try? parser.read(bytes[...]) else { return }
            for case .list(let words) in values {
                let command = Command(words: words.map { $0.text ?? "" }, connection: number, index: index)
                index += 1
                commands.update { $0.append(command) }
                switch act(command) {
                case .answer(let text): _ = socket.write(Data(text.utf8))
                case .pieces(let text):
                    for byte in text.utf8 { _ = socket.write(Data([byte])) }
                case .silence: break
                case .close: return socket.shut()
                }
            }
        }
    }

    deinit {
        listener.shut()
        for socket in sockets.value { socket.shut() }
    }
}
#endif
