import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StreamedResponse {
    /// The body as lines of text, without their line ends (LF or CRLF). A byte order mark is left out, and bytes that
    /// are not UTF-8 are replaced.
    ///
    ///     for try await line in try await client.stream(.get("logs")).lines { print(line) }
    ///
    /// Like ``chunks``, the body can be iterated once.
    public var lines: Lines { lines(maximumLength: Self.lineLimit) }

    private static let lineLimit = 1 << 20

    /// Returns the body as lines of text of at most `limit` bytes, 1 MiB by default. A longer line is `.transport` of
    /// the kind `.tooLarge`.
    public func lines(maximumLength limit: Int) -> Lines {
        Lines(chunks: chunks, limit: limit)
    }

    /// Returns the body as values, each of which is a line of JSON (JSON Lines, NDJSON). Empty lines are skipped.
    ///
    ///     for try await row in try await client.stream(.get("export")).decoded(Row.self) { add(row) }
    ///
    /// The decoder is that of the endpoint or the client. A line that does not match is `.decodingFailed`, and ends the
    /// sequence.
    public func decoded<Row: Decodable & Sendable>(_ type: Row.Type) -> Rows<Row> {
        Rows(lines: lines, decoding: decoding)
    }

    /// The lines of a body, as an asynchronous sequence.
    public struct Lines: AsyncSequence, Sendable {
        let chunks: Chunks
        let limit: Int

        /// Creates the iterator that reads the body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(chunks: chunks.makeAsyncIterator(), splitter: LineSplitter(limit: limit))
        }

        /// Reads a body line by line.
        public struct Iterator: AsyncIteratorProtocol {
            private var chunks: Chunks.Iterator
            private var splitter: LineSplitter
            private var isFirst = true
            private var isOver = false
            private var share = ReadingShare()

            init(chunks: Chunks.Iterator, splitter: LineSplitter) {
                self.chunks = chunks
                self.splitter = splitter
            }

            /// Returns the next line as soon as it is complete; `nil` at the end, and after an error.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(ServiceError) -> String? {
                try await nextBytes(isolation: actor).map { CombiningMarks.sorted(String(decoding: $0, as: UTF8.self)) }
            }

            mutating func nextBytes(
                isolation actor: isolated (any Actor)?
            ) async throws(ServiceError) -> ArraySlice<UInt8>? {
                guard !isOver else { return nil }
                do throws(ServiceError) {
                    while true {
                        if let line = try splitter.next() {
                            if share.needsLook(afterLineOf: line.count), share.isUsedUp(at: chunks.stream.time.now) {
                                await Task.yield()
                            }
                            return withoutMark(line)
                        }
                        guard let chunk = try await chunks.next(isolation: actor) else { break }
                        splitter.append(chunk)
                    }
                } catch {
                    throw fail(with: error)
                }
                isOver = true
                return splitter.rest().map { withoutMark($0) }
            }

            /// Ends the call with an error of the lines. Returns the error, which names the call.
            mutating func fail(with error: ServiceError) -> ServiceError {
                isOver = true
                return chunks.fail(with: error)
            }

            private mutating func withoutMark(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
                defer { isFirst = false }
                return isFirst && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
            }
        }
    }

    /// The values in the lines of a body, as an asynchronous sequence.
    public struct Rows<Row: Decodable & Sendable>: AsyncSequence, Sendable {
        let lines: Lines
        let decoding: StreamDecoding

        /// Creates the iterator that reads the body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(lines: lines.makeAsyncIterator(), decoding: decoding)
        }

        /// Reads a body value by value.
        public struct Iterator: AsyncIteratorProtocol {
            private var lines: Lines.Iterator
            private let decoding: StreamDecoding
            private var number = 0

            init(lines: Lines.Iterator, decoding: StreamDecoding) {
                self.lines = lines
                self.decoding = decoding
            }

            /// Returns the next value; `nil` at the end, and after an error.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(ServiceError) -> Row? {
                while let line = try await lines.nextBytes(isolation: actor) {
                    number += 1
                    if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
                    do throws(ServiceError) {
                        return try decoding.value(Row.self, in: Data(line), of: { _ in "line \(number)" })
                    } catch {
                        throw lines.fail(with: error)
                    }
                }
                return nil
            }
        }
    }
}
