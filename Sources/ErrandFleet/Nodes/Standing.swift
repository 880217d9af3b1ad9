import Errand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Member {
    /// The name of a node, and until when it may use what it owns under that name.
    struct Standing: Hashable, Sendable {
        let id: String
        var end = Instant(nanoseconds: .min)

        /// Creates the standing of a node with a new name, which begins with that label.
        init(under label: String) {
            let random = SystemRandom.text().prefix(8)
            id = "\(label)\(label.isEmpty ? "" : ".")\(ProcessInfo.processInfo.processIdentifier).\(random)"
        }
    }
}
