import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Choices that can grow", .timeLimit(.minutes(10)))
struct ChoiceTests {
    private func check<Choice: Hashable & CustomStringConvertible>(
        _ choices: [Choice], print names: [String], _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(choices.map { "\($0)" } == names, sourceLocation: location)
        #expect(Set(choices).count == names.count, sourceLocation: location)
        for (index, choice) in choices.enumerated() {
            #expect(choices.firstIndex(of: choice) == index, sourceLocation: location)
        }
    }

    @Test("each choice equals itself only, and prints its name")
    func choices() {
        check([CallOptions.Authentication.required, .optional, .none], print: ["required", "optional", "none"])
        check(
            [CallOptions.IdempotencyKey.unique, .fixed("a"), .fixed("b")],
            print: ["unique", #"fixed("a")"#, #"fixed("b")"#])
        check(
            [OfflineRule.fail, .wait(upTo: .seconds(1)), .wait(upTo: .seconds(2))],
            print: ["fail", "wait(upTo: 1.0 seconds)", "wait(upTo: 2.0 seconds)"])
        check([TransportContext.Delivery.whole, .stream], print: ["whole", "stream"])
        check([OAuth.Credentials.inHeader, .inBody, .idOnly], print: ["inHeader", "inBody", "idOnly"])
        let bytes = Data("abc".utf8)
        check(
            [
                LoopbackReply.Step.write(bytes), .drip(bytes, every: .seconds(1)), .pause(.seconds(1)),
                .repeatForever(bytes), .readBody, .silence, .close, .reset,
            ],
            print: [
                "write(3 bytes)", "drip(3 bytes, every: 1.0 seconds)", "pause(1.0 seconds)", "repeatForever(3 bytes)",
                "readBody", "silence", "close", "reset",
            ])
        #if os(Linux)
        check(
            [CurlTransport.Options.Proxy.environment, .none, .url("http://u:p@proxy.test:3128")],
            print: ["environment", "none", "http://proxy.test:3128"])
        #endif
    }
}
