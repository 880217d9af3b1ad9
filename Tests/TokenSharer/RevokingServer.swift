import Errand
import Foundation

/// A server whose state is a file that all processes share: one valid refresh token, and a log of those that were used.
///
/// Like a real server, it takes the second use of a refresh token for theft, and revokes the whole session.
struct RevokingServer {
    let path: String

    func refresh(_ old: Token) async throws -> Token {
        // As on a network, other processes can run between the request and the response.
        try await Task.sleep(for: .milliseconds(Int.random(in: 1...20)))
        let next = try locked { () throws -> Int in
            let log = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            let came = log.split(separator: "\n").map(String.init)
            let used = old.refreshToken ?? "none"
            try (came + [used]).joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            guard used == "refresh.\(came.count)" else { throw ServiceError.rejected(Rejection(status: 400)) }
            return came.count + 1
        }
        // Again: the response is on its way.
        try await Task.sleep(for: .milliseconds(Int.random(in: 1...20)))
        return Token(accessToken: "access.\(next)", refreshToken: "refresh.\(next)")
    }

    private struct Unlocked: Error {}

    private func locked<Value>(_ body: () throws -> Value) throws -> Value {
        let descriptor = open("\(path).lock", O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else { throw Unlocked() }
        return try body()
    }
}
