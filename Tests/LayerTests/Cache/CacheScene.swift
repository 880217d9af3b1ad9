@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

/// A server, and clients with a cache.
struct CacheScene: Sendable {
    let clock = TestClock()
    let network = scripted()
    /// A cache in memory.
    let cache = HTTPCache.memory(megabytes: 1)
    let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    /// The folder of the caches on a disk.
    var folder: String { scratch.path("cache") }

    /// A new cache. One on a disk is that of a new process, which has what the last one has stored.
    func cache(_ kind: CacheKind) -> HTTPCache {
        switch kind {
        case .memory: .memory(megabytes: 1)
        case .disk: .disk(folder, megabytes: 1)
        }
    }

    func client(_ cache: HTTPCache? = nil, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) {
            $0.cache = cache ?? self.cache
            configure(&$0)
        }
    }

    /// Has the server repeat what it was sent.
    func answer(_ headers: HTTPHeaders = ["Cache-Control": "max-age=600"]) {
        network.onAny { request in
            let sent = String(decoding: request.body?.bytes ?? Data(), as: UTF8.self)
            let text = "\(request.method) \(request.url.path) \(sent)"
            let body = HTTPBody.bytes(Data("\"\(text.filter { $0 != "\"" })\"".utf8))
            return .response(HTTPResponse(status: 200, headers: headers, body: body))
        }
    }

    /// Makes a call, and returns what the cache has done.
    func kind(_ client: APIClient, _ endpoint: Endpoint<String>) async throws -> CacheStatus.Kind? {
        try await client.reply(to: endpoint).cache?.kind
    }
}
