#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response whose body is read while it arrives.
///
///     let response = try await client.stream(.get("logs/today"))
///     for try await chunk in response.chunks { file.write(chunk) }
///
/// The call lasts until the body has been read to its end or the last copy of the response is released. Until then it
/// counts in ``APIClient/activity``, its deadline applies, and ``APIClient/cancelAll()`` and ``APIClient/shutdown()``
/// end it; when the user signs out, it ends with `.sessionExpired`. While the body is not read, the connection is not
/// read either, so a body of any length takes little memory.
public struct StreamedResponse: Sendable {
    /// The status: from 200 to 299, or one that the endpoint accepts. Any other status is thrown as an error.
    public let status: Int
    /// The header fields.
    public let headers: HTTPHeaders
    /// The number of attempts.
    public let attempts: Int
    /// What the cache has done; `nil` without a cache. A stream is answered from it if a response is stored that may be
    /// used at once. A stream is never stored.
    public let cache: CacheStatus?
    /// The body as it arrives.
    public let chunks: Chunks
    let decoding: StreamDecoding
    /// The session that signed the request.
    let session: UUID?
    /// The origin that has sent the response, perhaps after redirects.
    let origin: Origin

    /// The number of bytes in the body; `nil` if the server has not announced it, or has announced that of a compressed
    /// body, which is decompressed.
    public var length: Int? { headers.bodyLength }
}

extension StreamedResponse {
    /// The body of a response, as an asynchronous sequence of chunks of any size.
    ///
    /// It can be iterated once; a second iterator throws `.invalidRequest`. An error ends the sequence: a connection
    /// that breaks off is `.transport` of the kind `.truncated`, a wait for a chunk that is longer than the endpoint's
    /// `timeout` is `.timedOut`.
    public struct Chunks: AsyncSequence, Sendable {
        let stream: ResponseStream

        /// Creates the iterator that reads the body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(stream: stream, isFirst: stream.take())
        }

        /// Reads a body chunk by chunk.
        public struct Iterator: AsyncIteratorProtocol {
            let stream: ResponseStream
            let isFirst: Bool
            private var share = ReadingShare()

            init(stream: ResponseStream, isFirst: Bool) {
                (self.stream, self.isFirst) = (stream, isFirst)
            }

            /// Returns the next chunk as soon as it arrives; `nil` at the end, and after an error.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(ServiceError) -> Data? {
                guard isFirst else { throw stream.naming(.alreadyRead) }
                let chunk = try await stream.next()
                if share.needsLook(afterChunkOf: chunk?.count ?? 0), share.isUsedUp(at: stream.time.now) {
                    await Task.yield()
                }
                return chunk
            }

            /// Ends the call with an error of the reader. Returns the error, which names the call.
            func fail(with error: ServiceError) -> ServiceError {
                isFirst ? stream.fail(with: error) : error
            }
        }
    }
}

extension APIClient {
    /// Runs the call, and returns as soon as the head of the response has arrived.
    ///
    /// Until then it is a call like any other: with a permit, a token, redirects and retries. A status that is neither
    /// 2xx nor accepted by the endpoint is thrown as an error, with the server's message. The endpoint's `timeout`
    /// limits the wait for the head and each wait for a chunk, its `deadline` the whole call, including the time that
    /// you spend between two chunks. ``Configuration/responseByteLimit`` does not apply.
    @concurrent
    public nonisolated func stream<Response>(
        _ endpoint: Endpoint<Response>
    ) async throws(ServiceError) -> StreamedResponse {
        try await open(endpoint.untyped)
    }

    /// Runs the call, and returns as soon as the head of the response has arrived.
    ///
    /// With this overload `.get("logs")` needs no type.
    @concurrent
    public nonisolated func stream(_ endpoint: Endpoint<Data>) async throws(ServiceError) -> StreamedResponse {
        try await open(endpoint.untyped)
    }

    /// Opens the stream, after a pause if it is opened again. Redirects may take the identifier of its last event
    /// along as far as `reach` says.
    nonisolated func open(
        _ endpoint: UntypedEndpoint, acceptsCached: Bool = true, after pause: StreamPause? = nil,
        eventIDs reach: EventIDReach = .ownOrigin
    ) async throws(ServiceError) -> StreamedResponse {
        let call = try begin(endpoint, delivery: .stream, acceptsCached: acceptsCached, eventIDs: reach)
        do throws(ServiceError) {
            let sent = try await configuration.time.run { () async throws(ServiceError) in
                bind(call, to: pause?.session)
                if let pause { try await call.pause(until: call.beginPause(of: pause.duration, after: pause.reason)) }
                return try await send(endpoint, as: call, in: pause?.session)
            }
            let response = sent.response
            guard call.rules.accepts(response.status) else { throw error(of: response, to: call) }
            let stream = ResponseStream(response.body.chunks, of: call) { [calls] in calls.end(call, reporting: $0) }
            return StreamedResponse(
                status: response.status, headers: response.headers, attempts: call.attempts,
                cache: response.provenance.cache, chunks: StreamedResponse.Chunks(stream: stream),
                decoding: StreamDecoding(
                    interpreter: interpreter, decoder: endpoint.ownOptions?.decoder, status: response.status
                ) { self.redactor(for: call) },
                session: sent.session, origin: (response.redirectedTo ?? sent.url).origin)
        } catch {
            throw end(call, with: error)
        }
    }
}

extension ServiceError {
    fileprivate static var alreadyRead: ServiceError {
        let reason = "the body of a streamed response can be read only once; send the request again to read it again"
        return .invalidRequest(InvalidRequest(.bodyAlreadyRead, reason, mayHaveReachedServer: true))
    }
}

/// The pause before a stream is opened again, and why it ended.
struct StreamPause: Sendable {
    let duration: Duration
    let reason: ClientEvent.RetryReason
    /// The session of the stream: it goes on in no other.
    let session: UUID?
}
