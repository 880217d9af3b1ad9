#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One download while it runs, in the task of its caller.
///
/// All its requests belong to one call, so the call's deadline, `cancelAll()` and `shutdown()` reach it between two
/// requests too, and the session is the same from the first request to the last. The attempts of the call count from
/// the last progress on: what limits them is a server that brings next to nothing, not the number of times a connection
/// breaks.
struct RunningDownload {
    private let client: APIClient
    private let call: Call
    private let order: DownloadOrder
    private let part: PartFile

    private var endpoint: UntypedEndpoint
    /// Whether the endpoint has been sent, so that a closure is asked for the next one.
    private var isUsed = false
    /// Whether the server has begun to send the file.
    private var hasBegun = false
    private var writer: PartWriter
    private var state = DownloadState()
    /// The digest that the server names for the version of the file.
    private var digest: FileDigest?
    private var origin = DownloadOrigin()
    /// The headers of the last request, as they were sent.
    private var sentHeaders: HTTPHeaders = [:]
    /// The number of bytes that an earlier download has left.
    private var resumedAfter = 0
    /// The most bytes that there had been of a version at the last progress.
    private var best = (bytes: 0, version: FileVersion?.none)
    /// How often the version has changed while the file came.
    private var changes = 0
    private var throttle = ProgressThrottle()

    /// Runs a download, from the check of its target to the file in place.
    static func run(
        _ order: DownloadOrder, _ endpoint: UntypedEndpoint, as call: Call, of client: APIClient
    ) async throws(ServiceError) -> DownloadedFile {
        try order.check()
        let path = order.path
        let part = try await call.onDisk(at: path) { () throws(ServiceError) in try PartFile(of: path) }
        var download = RunningDownload(order, endpoint, part, call, client)
        do throws(ServiceError) {
            let file = try await download.run()
            await call.finishOnDisk(at: path) { part.release() }
            return file
        } catch {
            await download.leave(after: error)
            throw download.hasBegun ? error.markedAsSent(call.settings.method) : error
        }
    }

    private init(
        _ order: DownloadOrder, _ endpoint: UntypedEndpoint, _ part: PartFile, _ call: Call, _ client: APIClient
    ) {
        (self.client, self.call, self.order, self.part, self.endpoint) = (client, call, order, part, endpoint)
        writer = PartWriter(part, of: call)
    }

    private mutating func run() async throws(ServiceError) -> DownloadedFile {
        while true {
            try await askForEndpoint()
            let response: HTTPResponse
            do throws(ServiceError) {
                response = try await send()
            } catch {
                try await pause(after: error, isRefused: true)
                continue
            }
            var breakOff: ServiceError?
            switch state.step(after: response.status, response.headers) {
            case .append where !isOfPart(response), .complete where !isOfPart(response):
                forgetPart()
                continue
            case .append(let end):
                try await goOn(with: response)
                breakOff = try await receive(response.body, upTo: end)
            case .beginAgain(let total):
                try await beginAgain(with: response, total: total)
                breakOff = try await receive(response.body, upTo: total)
            case .requestWhole:
                state.ignoresRanges = true
                continue
            case .refuse(let coding): throw .compressed(by: coding)
            case .complete: return try await finish(with: response)
            case .fail: throw .unexpected(response.status)
            }
            if breakOff == nil, state.total ?? state.offset == state.offset { return try await finish(with: response) }
            try await pause(after: breakOff ?? .brokenOff(after: state.offset, of: state.total), isRefused: false)
        }
    }

    /// Keeps what a later download can go on after, and removes the rest.
    private func leave(after error: ServiceError) async {
        // No later session may go on after the bytes of one that is over.
        let isOver = error.isEndOfSession && (hasBegun || resumedAfter > 0)
        // What is there from another download is not touched until the file begins to come.
        let isOfUse = (!hasBegun || state.isKept) && !error.isDigestMismatch && !isOver
        await call.finishOnDisk(at: order.path) { [part] in
            if !isOfUse || part.length == 0 { part.remove() }
            part.release()
        }
    }

    private var byteLimit: Int { order.byteLimit ?? .max }

    /// Whether a request may be sent again, and for a part of the file. For other methods ranges are not defined (RFC
    /// 9110, 14.2).
    private var isRepeatable: Bool { endpoint.method == .get && endpoint.body == nil }
}

// MARK: What is there

extension RunningDownload {
    /// Looks for what an earlier download of the same has left.
    private mutating func findPart() async throws(ServiceError) {
        guard order.isResuming, isRepeatable else { return }
        let (record, length) = try await call.onDisk(at: order.path) { [part] () throws(ServiceError) in
            (part.savedRecord(), part.length)
        }
        guard let record, let version = record.version, length > 0, length <= record.total ?? .max,
            max(length, record.total ?? 0) <= byteLimit, origin.resume(record)
        else { return }
        state = DownloadState(offset: length, version: version, total: record.total)
        writer.goOn(after: length)
        (digest, resumedAfter, best) = (record.digest, length, (length, version))
    }

    private func isOfPart(_ response: HTTPResponse) -> Bool {
        origin.includes(response, to: sentHeaders)
    }

    /// Begins again with the next response, because what is there may belong to another file. It stays on the disk
    /// until that response arrives.
    private mutating func forgetPart() {
        state = DownloadState(ignoresRanges: state.ignoresRanges)
        (digest, resumedAfter) = (nil, 0)
        origin.forget()
        if !hasBegun { best = (0, nil) }
    }
}

// MARK: Requests

extension RunningDownload {
    /// Asks for the endpoint of the next attempt. What the closure throws is final: its own calls have had their
    /// retries.
    private mutating func askForEndpoint() async throws(ServiceError) {
        defer { isUsed = true }
        if isUsed { endpoint = try await order.endpoint(of: call) }
    }

    /// Sends the next request. An error status is thrown.
    private mutating func send() async throws(ServiceError) -> HTTPResponse {
        let transmission = call.beginTransmission()
        var request = try await nextRequest(in: transmission)
        request.headers.merge(isRepeatable ? state.headers : DownloadState().headers)
        let response = try await client.send(request, in: transmission)
        sentHeaders = transmission.sentHeaders
        guard response.isSuccess || state.step(after: response.status, response.headers) != .fail else {
            throw client.error(of: response, to: call)
        }
        return response
    }

    /// Builds the next request, and finds out whether what is there belongs to it.
    private mutating func nextRequest(in transmission: Transmission) async throws(ServiceError) -> HTTPRequest {
        let date = call.time.date
        let request = try await client.request(for: endpoint, as: call)
        try await client.sign(request, in: transmission)
        guard request.headers["Range"] == nil else {
            throw .invalidRequest(InvalidRequest(.header, "a download sets the header Range by itself"))
        }
        let session = transmission.session
        let again = try await client.requestLikeNextCall(for: endpoint, as: call)
        let next = DownloadSource(
            of: endpoint, as: request, and: again, session: session, isQueryCounted: !order.isAsking,
            at: date...max(date, call.time.date))
        switch origin.request(next, at: request.url) {
        case true?: break
        case false?: forgetPart()
        case nil: try await findPart()
        }
        return request
    }

    /// Waits before the next attempt; throws the error if there is none.
    ///
    /// An error status and a connection that cannot be made have had their retries, so they are final, unless the
    /// address of the file has expired.
    private mutating func pause(after error: ServiceError, isRefused: Bool) async throws(ServiceError) {
        if state.isProgress(after: best.bytes) {
            best.bytes = state.offset
            // A file that changes for ever would never come to its end.
            if changes < call.rules.retry.attempts { call.noteProgress() }
        }
        guard isRepeatable, isRefused ? hasBegun && mayHaveExpired(error) : error.isWorthReconnecting,
            let pause = call.pause(after: call.attemptsInVain)
        else { throw error }
        try await call.pause(until: call.beginPause(of: pause, after: .failure(error)))
    }

    private func mayHaveExpired(_ error: ServiceError) -> Bool {
        if case .rejected = error { order.isAsking } else { false }
    }
}

// MARK: Bodies

extension RunningDownload {
    private mutating func beginAgain(with response: HTTPResponse, total: Int?) async throws(ServiceError) {
        if let total, total > byteLimit { throw .bodyTooLarge(byteLimit, option: "byteLimit") }
        state = state.begun(again: response.headers, total: total, isRepeatable: isRepeatable)
        if let version = state.version, version != best.version {
            // Every byte of a new version is progress, also if there were more of the last.
            if hasBegun, best.bytes > 0 { changes += 1 }
            best = (0, version)
        }
        (digest, resumedAfter, hasBegun) = (FileDigest(of: response.status, response.headers), 0, true)
        try await writer.beginAgain(hashing: digest != nil || order.digest != nil)
        origin.keep(response)
        try await saveRecord(of: response)
    }

    private mutating func goOn(with response: HTTPResponse) async throws(ServiceError) {
        hasBegun = true
        origin.keep(response)
        digest = FileDigest(of: response.status, response.headers) ?? digest
        guard state.total == nil,
            case .part(_, let total?)? = response.headers["Content-Range"].flatMap(ContentRange.init)
        else { return }
        if total > byteLimit { throw tooLarge() }
        state.total = total
        try await saveRecord(of: response)
    }

    private mutating func saveRecord(of response: HTTPResponse) async throws(ServiceError) {
        guard let version = state.version,
            let record = origin.newRecord(
                of: response, to: sentHeaders, version: version, total: state.total, digest: digest,
                key: "\(call.time.randomUUID())")
        else { return }
        try await call.onDisk(at: order.path) { [part] () throws(ServiceError) in try part.save(record) }
    }

    /// Gives up what is there: what is larger than the limit is not wanted.
    private mutating func tooLarge() -> ServiceError {
        state.version = nil
        return .bodyTooLarge(byteLimit, option: "byteLimit")
    }

    /// Receives a body, which ends at that offset. Returns the error with which it broke off; `nil` if it did not.
    private mutating func receive(_ body: HTTPBody, upTo end: Int?) async throws(ServiceError) -> ServiceError? {
        defer { state.offset = writer.offset }
        var breakOff: ServiceError?
        do throws(ServiceError) {
            let stream = ResponseStream(body.chunks, of: call) { _ in }
            while let chunk = try await stream.next() {
                guard writer.end + chunk.count <= end ?? .max else {
                    // What came before belongs to the same mistake.
                    state.version = nil
                    throw .tooMuch(for: end)
                }
                guard writer.end + chunk.count <= byteLimit else { throw tooLarge() }
                try await writer.add(chunk)
                reportProgress()
            }
        } catch {
            breakOff = error
        }
        // What has arrived is kept, whatever comes next.
        try await writer.flush()
        return breakOff
    }

    private mutating func finish(with response: HTTPResponse) async throws(ServiceError) -> DownloadedFile {
        let expected = [order.digest, digest].compactMap { $0?.bytes }
        if !expected.isEmpty {
            let found = try await writer.digest { () throws(ServiceError) in try call.throwIfStopped() }
            if let other = expected.first(where: { $0 != found }) {
                throw .wrongDigest(found, not: other, of: order.path)
            }
        }
        try call.throwIfStopped()
        // Apart, so that a call that ends while the disk is busy does not put the file in place later.
        try await call.onDisk(at: order.path) { [part] () throws(ServiceError) in try part.sync() }
        // Its outcome counts, also if the call ends now: a file that is in place has arrived.
        try await call.onDiskWithGrace(at: order.path) { [part, state] () throws(ServiceError) in
            try part.putInPlace(state.offset)
        }
        state.total = state.offset
        reportProgress(isEnd: true)
        return DownloadedFile(
            path: order.path, bytes: state.offset, resumedAfter: resumedAfter, attempts: call.attempts,
            isVerified: !expected.isEmpty, status: response.status, headers: response.headers)
    }

    private mutating func reportProgress(isEnd: Bool = false) {
        guard let onProgress = order.onProgress, throttle.allows(at: call.time.now) || isEnd else { return }
        onProgress(TransferProgress(bytes: writer.end, total: state.total, attempt: call.attempts))
    }
}
