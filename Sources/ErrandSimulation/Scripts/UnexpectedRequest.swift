import Errand

extension TestFailure {
    /// Creates the failure of a request that no script expects. It shows how the nearest script differs.
    init(unexpected sent: ScriptedTransport.Sent, scripts: [Script]) {
        // Of several that are equally near, the first that could still respond.
        let ranked = scripts.enumerated().map { offset, script in
            let differences = script.expected.differences(sent)
            return Candidate(
                script: script, differences: differences, offset: offset,
                distance: differences.reduce(0) { $0 + $1.weight })
        }.sorted { $0.rank < $1.rank }
        var lines = ["No script expects \(sent.request)."]
        guard let nearest = ranked.first else {
            lines.append("The transport has no scripts: add one with on(_:_:_:).")
            self.init(lines.joined(separator: "\n"))
            return
        }
        if nearest.differences.isEmpty {
            lines.append("\(nearest.script) has been \(nearest.script.usage).")
        } else {
            let usage = nearest.script.isUsedUp ? ", which has been \(nearest.script.usage)," : ""
            lines.append("\(nearest.script)\(usage) differs (- expected, + sent):")
            lines += nearest.differences.flatMap(\.lines)
        }
        let others = ranked.dropFirst()
        let shown = others.prefix(4).map { other in
            "    \(other.script.expected) at \(other.script.location), \(other.script.usage)"
        }
        if !shown.isEmpty { lines += [others.count == 1 ? "The other script:" : "Other scripts:"] + shown }
        if others.count > shown.count { lines.append("    and \(others.count - shown.count) more") }
        let isMeant = nearest.script.expected.isMeant(by: sent.request)
        self.init(lines.joined(separator: "\n"), at: isMeant ? nearest.script.location : nil)
        nearestScript = nearest.offset
    }

    private struct Candidate {
        let script: Script
        let differences: [Difference]
        let offset: Int
        let distance: Int

        /// Smaller for a script that is more likely to have been meant.
        var rank: (Int, Int, Int) { (distance, script.isUsedUp ? 1 : 0, offset) }
    }
}
