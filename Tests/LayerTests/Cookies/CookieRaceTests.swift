import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("Many calls share a jar", .timeLimit(.minutes(10))) struct CookieRaceTests {
    @Test("J5: a hundred calls at once that set and send cookies: each sees a whole jar", arguments: UInt64(1)...20)
    func calls(seed: UInt64) async {
        let clock = TestClock(seed: seed)
        let network = scripted()
        let counter = Noted(0)
        // Each response sets the same number in three cookies. A request with different numbers has seen half of it.
        network.onAny { request in
            try await clock.sleep(for: .milliseconds(Int64(clock.random() % 50)))
            counter.update { $0 += 1 }
            let number = counter.value
            let lines = ["a", "b", "c"].shuffled().map { name in
                HTTPHeaders.Field(name: "Set-Cookie", value: "\(name)=\(number); Path=/")
            }
            return .status(clock.random() % 10 == 0 ? 503 : 204, headers: HTTPHeaders(lines))
        }
        let jar = CookieJar()
        let tokens = TokenStore(time: clock)
        let client = testClient(network, clock) {
            $0.cookies = jar
            $0.tokens = tokens
            $0.rateLimit = .requests(20, per: .seconds(1))
        }
        await tokens.signIn(Token(accessToken: "ann"))
        await clock.run {
            await withTaskGroup(of: Void.self) { calls in
                for number in 0..<100 {
                    calls.addTask {
                        let call = Endpoint<NoContent>.get("x")
                        _ = try? await client.run(number.isMultiple(of: 3) ? call.authentication(.none) : call)
                    }
                }
                calls.addTask {
                    try? await clock.sleep(for: .seconds(2))
                    await tokens.signOut()
                    await tokens.signIn(Token(accessToken: "bob"))
                }
            }
        }
        var withCookies = 0
        for sent in network.sent {
            guard let header = sent.request.headers["Cookie"] else { continue }
            withCookies += 1
            let pairs = header.split(separator: "; ").map { $0.split(separator: "=") }
            #expect(Set(pairs.map { $0[1] }).count == 1, "\(header)")
            #expect(Set(pairs.map { $0[0] }) == ["a", "b", "c"], "\(header)")
        }
        // The calls of the first user that had not been sent when that user signed out were not sent.
        #expect(withCookies > 30)
    }

    @Test("J5: on many threads too, what one response sets is seen as a whole")
    func threads() async throws {
        let jar = CookieJar()
        let url = try HTTPURL("https://api.test/")
        let halves = await withTaskGroup(of: Int.self) { tasks in
            for task in 0..<100 {
                tasks.addTask {
                    var halves = 0
                    for step in 0..<200 {
                        let number = task * 1000 + step
                        _ = jar.store(["a=\(number)", "b=\(number)"], from: url, of: nil, by: .system)
                        let pairs = jar.header(for: url, of: nil, by: .system)?.split(separator: "; ") ?? []
                        if pairs.count != 2 || pairs[0].dropFirst(2) != pairs[1].dropFirst(2) { halves += 1 }
                    }
                    return halves
                }
            }
            return await tasks.reduce(0, +)
        }
        #expect(halves == 0)
    }
}
