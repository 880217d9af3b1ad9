#if URLSession || canImport(Darwin)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("A configuration of the sessions of one's own", .serialized, .timeLimit(.minutes(10)))
struct SessionConfigurationTests {
    private func outcome(
        of url: String, _ change: (inout URLSessionTransport.Options) -> Void
    ) async -> Result<Int, ServiceError> {
        var options = URLSessionTransport.Options()
        change(&options)
        let client = APIClient(url) { [options] in
            $0.transport = URLSessionTransport(options)
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        let result = await Result(of: { () async throws(ServiceError) in try await client.run(Endpoint<Int>.get("x")) })
        await client.shutdown()
        return result
    }

    @Test("a change that is the system's business is made once, and calls run")
    func changes() async throws {
        let (server, count) = (try LoopbackServer(), Noted(0))
        server.onAny(.json("1").always)
        let result = await outcome(of: server.baseURL) {
            $0.configure = { configuration in
                configuration.timeoutIntervalForResource = 600
                count.update { $0 += 1 }
            }
        }
        #expect(try result.get() == 1 && count.value == 1)
    }

    @Test("what the client does itself is refused with the name of its setting, and nothing is sent")
    func refused() async throws {
        let server = try LoopbackServer()
        let changes: [(setting: String, change: @Sendable (URLSessionConfiguration) -> Void)] = [
            ("Configuration.cache", { $0.urlCache = URLCache.shared }),
            ("Configuration.cachePolicies", { $0.requestCachePolicy = .returnCacheDataElseLoad }),
            ("Configuration.cookies", { $0.httpCookieStorage = HTTPCookieStorage.shared }),
            ("Configuration.cookies", { $0.httpShouldSetCookies = true }),
            ("Configuration.credentials", { $0.urlCredentialStorage = URLCredentialStorage.shared }),
            ("Configuration.headers", { $0.httpAdditionalHeaders = ["Authorization": "Bearer t"] }),
        ]
        for (setting, change) in changes {
            let error = await outcome(of: server.baseURL) { $0.configure = change }.failure
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .configuration && invalid.reason.contains(setting))
        }
        #expect(server.received.isEmpty)
    }

    #if os(Linux)
    @Test("a development certificate is refused where URLSession does not ask, at its hosts only")
    func certificate() async throws {
        let server = try LoopbackServer()
        server.onAny(.json("1").always)
        for (host, isRefused) in [("127.0.0.1", true), ("staging.test", false)] {
            let error = await outcome(of: server.baseURL) {
                $0.developmentCertificate = .publicKey(String(repeating: "A", count: 43) + "=", hosts: [host])
            }.failure
            if case .invalidRequest(let invalid) = error {
                #expect(isRefused && invalid.reason.contains("CurlTransport"))
            } else {
                #expect(error == nil && !isRefused)
            }
        }
    }
    #endif
}
#endif
