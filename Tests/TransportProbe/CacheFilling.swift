#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Calls that use a cache on a disk, in a process that may be killed, or is not alone.
struct CacheFilling {
    private static let tasks = 8
    private static let resources = 200

    let folder: String
    let calls: Int

    func report() async {
        let cache = HTTPCache.disk(folder, megabytes: 1)
        let client = APIClient("https://api.test") {
            $0.transport = Network()
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.cache = cache
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<Self.tasks {
                group.addTask {
                    var made = 0
                    repeat {
                        await call(client, Int.random(in: 0..<Self.resources))
                        if task == 0, made == 0 { Self.say("begun") }
                        made += 1
                    } while calls == 0 || made < calls
                }
            }
        }
        Self.say("hits \(cache.statistics.hits)")
    }

    private func call(_ client: APIClient, _ number: Int) async {
        do {
            switch Int.random(in: 0..<100) {
            case 0: try await client.run(.put("\(number)"))
            case 1: await client.configuration.cache?.invalidate(tag: "\(number)")
            case 2: await client.configuration.cache?.remove("https://api.test/\(number)")
            default:
                var endpoint = Endpoint<Data>.get("\(number)").tags("\(number)")
                if Bool.random() { endpoint = endpoint.cache(.reload) }
                if number % 3 == 0 { endpoint = endpoint.header("Accept-Language", "de") }
                if try await client.run(endpoint) != Self.body(number) { Self.say("wrong \(number)") }
            }
        } catch {
            Self.say("failed \(error)")
        }
    }

    /// What belongs to a resource: mostly little, and sometimes more than is written at once.
    private static func body(_ number: Int) -> Data {
        let size = number % 10 == 0 ? 100_000 : 2000 + number
        // No power of two, so that a piece at another place is not the same.
        let block = Data((0..<251).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ number) })
        var body = Data(capacity: size)
        while body.count < size { body += block.prefix(size - body.count) }
        return body
    }

    private struct Network: Transport {
        var connectivity: Connectivity { .always }
        var identity: String? { "" }

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            guard request.method == .get else { return HTTPResponse(status: 204) }
            let number = Int(request.url.path.dropFirst()) ?? 0
            var headers: HTTPHeaders = ["Cache-Control": "max-age=3600"]
            if number % 2 == 0 { headers["Vary"] = "Accept-Language" }
            return HTTPResponse(status: 200, headers: headers, body: .bytes(CacheFilling.body(number)))
        }

        func shutdown() async {}
    }

    /// Prints at once: a process that is killed cannot flush a buffer.
    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
#endif
