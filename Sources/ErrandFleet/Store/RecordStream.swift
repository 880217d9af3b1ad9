import Errand

/// A stream of a record's versions, for stores.
package enum RecordStream {
    /// Passes on a version of the record; `nil` if there is none.
    package typealias Pass = @Sendable (FleetRecord?) -> Void

    /// Runs `body`, which passes on each version, in a task that the stream owns: it is canceled when the stream is
    /// dropped or its reader is canceled. The stream ends with what `body` throws. It keeps only the latest version
    /// for a slow reader.
    package static func following(
        _ body: @escaping @Sendable (_ pass: @escaping Pass) async throws(FleetStoreError) -> Void
    ) -> AsyncThrowingStream<FleetRecord?, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: FleetRecord?.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let time: any TimeSource = .system
        let task = time.startTask {
            do throws(FleetStoreError) {
                try await body { _ = continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
