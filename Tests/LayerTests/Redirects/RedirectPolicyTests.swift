import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Redirects that a client or an endpoint refuses")
struct RedirectPolicyTests {
    private let network = scripted()

    @Test("none: the redirect is the response, even one without a target", arguments: ["/b", nil])
    func none(location: String?) async throws {
        network.on(.get, "/a") { ScriptedReply.status(302, headers: location.map { ["Location": $0] } ?? [:]).times(2) }
        let client = testClient(network) { $0.redirects = .never }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.get("a")) }
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        #expect(rejection.status == 302)
        #expect(rejection.description.contains("not followed"))
        let reply = try await client.reply(to: Endpoint<NoContent>.get("a").accepting(302))
        #expect(reply.headers["Location"] == location)
        #expect(reply.url.absoluteString == "https://api.test/a")
    }

    @Test("an endpoint overrides its client, in both directions")
    func endpoints() async throws {
        network.on(.get, "/a") { ScriptedReply.status(301, headers: ["Location": "/b"]).times(2) }
        network.on(.get, "/b", .json("1"))
        let refusing = testClient(network) { $0.redirects = .never }
        #expect(try await refusing.run(Endpoint<Int>.get("a").redirects(.all)) == 1)
        let following = testClient(network)
        let error = await #expect(throws: ServiceError.self) { try await following.run(.get("a").redirects(.never)) }
        #expect(error?.status == 301)
    }

    @Test("a closure is asked about each redirect, and ends the chain where it refuses")
    func asking() async throws {
        network.on(.post, "/a", .status(302, headers: ["Location": "/b"]))
        network.on(.get, "/b", .status(308, headers: ["Location": "https://other.test/c"]))
        let asked = Noted<[Redirect]>([])
        let client = testClient(network) {
            $0.redirects = .following { redirect in
                asked.update { $0.append(redirect) }
                return !redirect.leavesOrigin
            }
        }
        let reply = try await client.reply(to: Endpoint<NoContent>.post("a").accepting(308))
        #expect(reply.url.absoluteString == "https://api.test/b")
        #expect(asked.value.map(\.number) == [1, 2])
        #expect(asked.value.map(\.status) == [302, 308])
        #expect(asked.value.map(\.method) == [.get, .get])
        #expect(asked.value.map(\.source.path) == ["/a", "/b"])
        #expect(asked.value.map(\.target.absoluteString) == ["https://api.test/b", "https://other.test/c"])
        #expect(asked.value.map(\.leavesOrigin) == [false, true])
    }

    @Test("a closure is not asked about what is not followed in any case")
    func hopeless() async throws {
        network.on(.get, "/a", .status(302, headers: ["Location": "http://api.test/b"]))
        let asked = Noted<[Redirect]>([])
        let client = testClient(network) {
            $0.redirects = .following { redirect in
                asked.update { $0.append(redirect) }
                return true
            }
        }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.get("a")) }
        #expect(error.map { "\($0)" }?.contains("https to plain http") == true)
        #expect(asked.value.isEmpty)
    }

    @Test("reply.url is the address that has sent the response, also another server's; it shows no secret")
    func finalURL() async throws {
        network.on(.get, "/a", .status(302, headers: ["Location": "https://other.test/c?token=hunter2"]))
        network.on(.get, "https://other.test/c", .json("1"))
        let client = testClient(network)
        let reply = try await client.reply(to: Endpoint<Int>.get("a", query: ["q": "x"]))
        #expect(reply.url.absoluteString == "https://other.test/c?token=hunter2")
        var shown = ""
        dump(reply, to: &shown)
        #expect(!"\(reply) \(shown)".contains("hunter2"))
    }

    @Test("without a redirect, reply.url is the address of the request")
    func ownURL() async throws {
        network.on(.get, "/a", .json("1"))
        let reply = try await testClient(network).reply(to: Endpoint<Int>.get("a", query: ["q": "x"]))
        #expect(reply.url.absoluteString == "https://api.test/a?q=x")
    }
}
