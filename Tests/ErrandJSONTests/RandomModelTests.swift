import ErrandJSON
import Foundation
import Testing

@Suite("Random models and documents, decoded by both decoders")
struct RandomModelTests {
    @Test("a random model gets the same values and errors of a random document")
    func sameOutcome() throws {
        let (first, count) = Self.seeds
        var worst = 0
        for seed in first..<first + count {
            var random = RandomJSON(seed: seed)
            let (document, script, strategies) = (random.document(), random.script(), random.strategies())
            let outcome = ScriptedModel.$script.withValue(script) {
                Outcome.both(ScriptedModel.self, Data(document), strategies)
            }
            guard outcome.ours != outcome.theirs, !Self.hasZeroWithExponent(document) else { continue }
            worst += 1
            Issue.record(
                """
                seed \(seed), \(strategies)
                \(String(decoding: document, as: UTF8.self))
                \(script)
                ours:   \(outcome.ours)
                theirs: \(outcome.theirs)
                """)
            if worst == 5 { return }
        }
    }

    /// JSONDecoder refuses some of those, such as `0e5`; only damaged documents have them.
    private static func hasZeroWithExponent(_ document: [UInt8]) -> Bool {
        String(decoding: document, as: UTF8.self).contains(/0[.0]*[eE][-+]?[0-9]*[1-9]/)
    }

    /// `JSON_MODELS=1000000` runs as many as that, `JSON_SEED` is the first.
    private static var seeds: (first: UInt64, count: UInt64) {
        let environment = ProcessInfo.processInfo.environment
        return (
            environment["JSON_SEED"].flatMap { UInt64($0) } ?? 1,
            environment["JSON_MODELS"].flatMap { UInt64($0) } ?? 3000
        )
    }
}
