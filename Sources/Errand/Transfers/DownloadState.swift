/// How far a download has come, and what to do with the next response: a pure value, without files and connections.
///
/// Bytes are appended only if the response says exactly that they follow those that are there, in the same version of
/// the same file (`D2`). Anything else begins again.
struct DownloadState: Sendable, Hashable {
    /// The number of bytes on the disk.
    var offset = 0
    /// The version that they belong to; `nil` if the server names none that is certain.
    var version: FileVersion?
    /// The number of bytes in the whole file; `nil` if it is not known.
    var total: Int?
    /// Whether the server has answered a request for a range with something that does not fit. Then it is asked for no
    /// other.
    var ignoresRanges = false

    /// What to do with a response.
    enum Step: Sendable, Hashable {
        /// Append the body, which ends at that offset.
        case append(upTo: Int)
        /// Write the body, which is the whole file, from the beginning. `total` is `nil` if its length is not known.
        case beginAgain(total: Int?)
        /// The response is of no use: request the whole file.
        case requestWhole
        /// The body is in that coding, although the file was requested as it is: an offset in it says nothing about one
        /// in the file, and its length does not show whether it is complete (`D16`).
        case refuse(coding: String)
        /// The file is complete.
        case complete
        /// The response is an error.
        case fail
    }

    /// The least progress, 4 KiB, and a thousandth of a small file: a server that sends a byte on each connection would
    /// be asked for ever.
    private static let leastProgress = 4 << 10

    /// Returns whether enough has come since there were that many bytes, on one connection or several.
    func isProgress(after earlier: Int) -> Bool {
        offset - earlier >= max(1, min(Self.leastProgress, (total ?? .max) / 1000))
    }

    /// Whether the bytes that are there can be kept, and the rest be requested.
    var isResumable: Bool { offset > 0 && version != nil && !ignoresRanges }

    /// Whether a later download can go on after the bytes that are there.
    var isKept: Bool { offset > 0 && version != nil }

    /// Returns the state at the beginning of a whole body with those headers.
    func begun(again headers: HTTPHeaders, total: Int?, isRepeatable: Bool) -> DownloadState {
        let version = isRepeatable ? FileVersion(headers) : nil
        return DownloadState(version: version, total: total, ignoresRanges: ignoresRanges)
    }

    /// The header fields of the next request.
    ///
    /// Never compressed: an offset in compressed bytes says nothing about an offset in the file.
    var headers: HTTPHeaders {
        guard isResumable, let version else { return ["Accept-Encoding": "identity"] }
        return ["Accept-Encoding": "identity", "Range": "bytes=\(offset)-", "If-Range": version.condition]
    }

    /// Returns what to do with the response to such a request.
    func step(after status: Int, _ headers: HTTPHeaders) -> Step {
        switch status {
        case 206:
            guard let part = part(headers) else { return isResumable ? .requestWhole : .fail }
            return isResumable ? .append(upTo: part.end) : .beginAgain(total: part.total)
        // What they bring, if anything, is about the request: it is accepted, or there is nothing (RFC 9110, 15.3).
        case 202, 204, 205: return .fail
        case 200..<300 where !headers.hasPlainBody: return .refuse(coding: headers.codings.joined(separator: ", "))
        case 200..<300: return .beginAgain(total: headers.bodyLength)
        case 416 where isResumable: return isWhole(headers) ? .complete : .requestWhole
        default: return .fail
        }
    }

    /// The end of the part that the response holds, and the length of the whole file; `nil` if the part does not fit.
    private func part(_ headers: HTTPHeaders) -> (end: Int, total: Int)? {
        // Several parts in one body have no Content-Range; that of a body which also has one is not to be trusted.
        guard headers["Content-Type"].map({ MediaType($0).isNamed("multipart/byteranges") }) != true,
            headers.hasPlainBody, headers.values("Content-Range").count == 1,
            let text = headers["Content-Range"],
            case .part(let range, let length?)? = ContentRange(text), range.lowerBound == (isResumable ? offset : 0),
            headers.bodyLength ?? range.count == range.count
        else { return nil }
        guard isResumable else { return (range.upperBound, length) }
        guard version?.matchesPart(with: headers) == true, total ?? length == length else { return nil }
        return (range.upperBound, length)
    }

    /// Whether a 416 says that nothing is missing.
    private func isWhole(_ headers: HTTPHeaders) -> Bool {
        // Not with the tag of another version; it may have none.
        if case .tag(let tag)? = version, !headers.values("ETag").allSatisfy({ $0 == tag }) { return false }
        guard let text = headers["Content-Range"] else { return total == offset }
        return ContentRange(text) == .unsatisfied(length: offset) && total ?? offset == offset
    }
}
