/// The progress of several transfers as one.
///
///     let progress = CombinedProgress(total: total) { show($0.fraction ?? 0) }
///     let files = try await client.runAll(names, atMost: 8) { name in
///         try await client.download(.get("files/\(name)"), to: name, onProgress: progress.part())
///     }
///
/// It reports as often as its parts do, one report after the other and on no actor. When a part begins again, the bytes
/// of its last attempt are no longer counted, so the sum may go back.
public final class CombinedProgress: Sendable {
    private struct State {
        /// The bytes of each part.
        var parts: [Int] = []
        var bytes = 0
        var attempt = 1
        /// Whether a part is reporting. It also reports what the other parts add until it is done.
        var isReporting = false
        var hasChanged = false
    }

    private let state = Lock(State())
    private let total: Int?
    private let report: @Sendable (TransferProgress) -> Void

    /// Creates the progress of no transfer yet.
    ///
    /// - Parameters:
    ///   - total: The bytes of all transfers; `nil`, not known, by default.
    ///   - report: Receives the bytes of all parts, with the number of attempts of the part that has needed the most.
    public init(total: Int? = nil, _ report: @escaping @Sendable (TransferProgress) -> Void) {
        self.total = total
        self.report = report
    }

    /// Adds a part. Pass what this returns to one transfer, as `onProgress`.
    public func part() -> @Sendable (TransferProgress) -> Void {
        let number = state.withLock { state in
            state.parts.append(0)
            return state.parts.count - 1
        }
        return { [self] in note($0, ofPart: number) }
    }

    private func note(_ progress: TransferProgress, ofPart number: Int) {
        let mustReport = state.withLock { state in
            state.bytes += progress.bytes - state.parts[number]
            state.parts[number] = progress.bytes
            state.attempt = max(state.attempt, progress.attempt)
            state.hasChanged = true
            defer { state.isReporting = true }
            return !state.isReporting
        }
        guard mustReport else { return }
        while let progress = next() { report(progress) }
    }

    /// Returns what has changed since the last report; `nil` if nothing has, which ends the reporting.
    private func next() -> TransferProgress? {
        state.withLock { state in
            guard state.hasChanged else {
                state.isReporting = false
                return nil
            }
            state.hasChanged = false
            return TransferProgress(bytes: state.bytes, total: total, attempt: state.attempt)
        }
    }
}
