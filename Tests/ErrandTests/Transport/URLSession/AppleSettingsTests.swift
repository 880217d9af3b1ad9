@testable import Errand
import ErrandTestSupport
import Testing

/// How a session is configured on Apple's platforms, with what stands for Foundation's types here.
@Suite("The settings of a session on Apple's platforms") struct AppleSettingsTests {
    private final class Configuration: AppleConfiguration {
        var allowsCellularAccess = true
        var allowsExpensiveNetworkAccess = true
        var allowsConstrainedNetworkAccess = true
        var waitsForConnectivity = true

        var allowed: [Bool] { [allowsCellularAccess, allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess] }
    }

    private struct Request: AppleRequest {
        var assumesHTTP3Capable = true
    }

    @Test("each kind of network is excluded by its own setting, and the session waits for none")
    func networks() {
        func allowed(_ change: (inout NetworkAccess) -> Void) -> [Bool] {
            let configuration = Configuration()
            var access = NetworkAccess.any
            change(&access)
            configuration.apply(access)
            #expect(!configuration.waitsForConnectivity)
            return configuration.allowed
        }
        #expect(allowed { _ in } == [true, true, true])
        #expect(allowed { $0.allowsCellular = false } == [false, true, true])
        #expect(allowed { $0.allowsExpensive = false } == [true, false, true])
        #expect(allowed { $0.allowsConstrained = false } == [true, true, false])
    }

    @Test(
        "HTTP/3 is assumed where it is known, and never without encryption",
        arguments: [
            (true, "https://a.test/x", true), (false, "https://a.test/x", false), (true, "http://a.test/x", false),
        ])
    func http3(isKnown: Bool, url: String, isAssumed: Bool) throws {
        var request = Request()
        request.assumeHTTP3(isKnown, at: try HTTPURL(url))
        #expect(request.assumesHTTP3Capable == isAssumed)
    }

    @Test("the closure of the app judges a server, by its trust object and its host")
    func judged() {
        let verdicts = [true, false].map { isTrusted in
            ServerVerdict(on: "trust", of: "a.test") { trust, host in
                #expect(trust == "trust" && host == "a.test")
                return isTrusted
            }
        }
        #expect(verdicts == [.trusted, .refused])
    }

    @Test("the system judges a server without such a closure, and answers what is not about a server")
    func leftToSystem() {
        #expect(ServerVerdict(on: "trust", of: "a.test", by: nil) == .leftToSystem)
        #expect(ServerVerdict(on: String?.none, of: "a.test") { _, _ in false } == .leftToSystem)
    }

    @Test("only a refused server is an error, which is not tried again")
    func errors() {
        #expect(ServerVerdict.trusted.error == nil && ServerVerdict.leftToSystem.error == nil)
        let error = ServerVerdict.refused.error
        #expect(error?.isTransient == false)
        guard case .transport(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.kind == .untrustedCertificate)
    }
}
