#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file that is sent as a body, or as a part of one.
///
/// Its length is announced before any of it is sent, and a retry sends it again. So the file has to stay as it was when
/// the call began: each time it is sent, the reader compares the file with that moment when it opens it and before it
/// hands out the last bytes. If the file has changed, the body fails before it is complete, so a server never takes a
/// mixture for the whole (D10, D11).
struct BodyFile: Sendable {
    let path: String
    /// The file as it was when the call began.
    private let original: FileStatus

    /// Looks at the file, which blocks. Throws `.invalidRequest` if it cannot be read, or if its length is not known.
    init(_ place: FilePlace) throws(ServiceError) {
        path = try place.path
        do throws(StorageError) {
            let file = try SentFile(path)
            defer { file.close() }
            original = try file.status()
            // The files of `/proc` have bytes, but no length, and those of `/sys` have fewer than their length says.
            guard try file.hasBytes(at: max(0, original.length - 1)) == (original.length > 0) else {
                throw StorageError(.notAFile, "\(HTTPSyntax.quoted(path)) has no known length; send it as a stream")
            }
        } catch {
            throw .badFile(error.message)
        }
    }

    /// The number of bytes.
    var length: Int { original.length }

    /// The content of the file, read when it is sent and in pieces, by the threads for files.
    func body(time: any TimeSource) -> HTTPBody {
        guard length > 0 else { return .empty }
        var body = HTTPBody.stream(length: length) {
            let reader = BodyFileReader(self)
            return HTTPBody.Chunks {
                try await DiskThreads.run(by: time, at: path) { () throws(ServiceError) in try reader.next() }
            }
        }
        body.source = .init(
            file: (
                path,
                {
                    try await DiskThreads.run(by: time, at: path) { () throws(ServiceError) in
                        try translating { () throws(StorageError) in try open().close() }
                    }
                }
            ))
        return body
    }

    /// Runs `body`, and translates what is wrong with the file while it is sent.
    fileprivate func translating<Value>(_ body: () throws(StorageError) -> Value) throws(ServiceError) -> Value {
        do throws(StorageError) {
            return try body()
        } catch {
            throw .unusableFile("\(error.message). The body of the request was not sent completely")
        }
    }

    fileprivate func open() throws(StorageError) -> SentFile {
        let file = try SentFile(path)
        try check(file)
        return file
    }

    fileprivate func check(_ file: SentFile) throws(StorageError) {
        let status = try file.status()
        guard status.links > 0 else {
            throw StorageError(sending: path, "was deleted or replaced while it was sent")
        }
        guard status.isUnchanged(since: original) else { throw .changed(path) }
    }
}

/// Reads a file in pieces, for one reader.
///
/// Two buffers alternate, because new memory for each piece would be kept by each of the threads that read. A buffer
/// whose piece is still being sent is copied before it is written to, like any `Data`.
private final class BodyFileReader: Sendable {
    private struct State {
        var opened: SentFile?
        var position = 0
        var buffers = [Data(), Data()]
        var current = 0
    }

    private let file: BodyFile
    private let state = Lock(State())

    init(_ file: BodyFile) {
        self.file = file
    }

    /// Returns the next piece; `nil` at the end. Blocks while it reads, with a lock that only this reader takes.
    func next() throws(ServiceError) -> Data? {
        try state.withLock { state -> Result<Data?, ServiceError> in
            do throws(ServiceError) {
                return .success(try file.translating { () throws(StorageError) in try next(&state) })
            } catch {
                return .failure(error)
            }
        }.get()
    }

    private func next(_ state: inout State) throws(StorageError) -> Data? {
        let count = min(HTTPBody.pieceSize, file.length - state.position)
        guard count > 0 else { return nil }
        let opened = if let opened = state.opened { opened } else { try file.open() }
        state.opened = opened
        state.current = 1 - state.current
        try opened.read(count, at: state.position, into: &state.buffers[state.current])
        state.position += count
        if state.position == file.length { try file.check(opened) }
        return state.buffers[state.current].prefix(count)
    }
}

extension StorageError {
    fileprivate init(_ kind: Kind = .unreadable, sending path: String, _ what: String) {
        self.init(kind, "the file \(HTTPSyntax.quoted(path)) \(what)")
    }

    fileprivate static func changed(_ path: String) -> StorageError {
        StorageError(sending: path, "has changed since the call began")
    }

    /// Runs `body`, and translates an error of the system.
    fileprivate static func translating<Value>(
        _ what: String, _ path: String, _ body: () throws(SystemError) -> Value
    ) throws(StorageError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw StorageError(sending: path, "\(what): \(error.words)")
        }
    }
}

extension FileStatus {
    /// Whether the file is still the one that it was.
    fileprivate func isUnchanged(since original: FileStatus) -> Bool {
        identity == original.identity && modified == original.modified && length == original.length
    }
}

/// An open file that is sent.
private struct SentFile {
    private let file: OpenFile

    init(_ path: String) throws(StorageError) {
        file = try StorageError.translating("cannot be opened", path) { () throws(SystemError) in
            try OpenFile(path, .reading)
        }
    }

    /// Closes the file, from which nothing was written that this could lose.
    func close() {
        try? file.close()
    }

    /// Whether there is anything to read at that position.
    func hasBytes(at position: Int) throws(StorageError) -> Bool {
        try StorageError.translating("cannot be read", file.path) { () throws(SystemError) in
            try !file.read(upTo: 1, at: position).isEmpty
        }
    }

    func status() throws(StorageError) -> FileStatus {
        let status = try StorageError.translating("cannot be read", file.path) { () throws(SystemError) in
            try file.status()
        }
        let name = HTTPSyntax.quoted(file.path)
        switch status.kind {
        case .file: return status
        case .folder: throw StorageError(.notAFile, "\(name) is a folder, not a file")
        case .link, .other:
            throw StorageError(.notAFile, "\(name) is not a regular file, so its length is not known; stream it")
        }
    }

    /// Reads exactly that many bytes into the beginning of the buffer, which it enlarges if necessary.
    func read(_ count: Int, at position: Int, into buffer: inout Data) throws(StorageError) {
        if buffer.count < count { buffer = Data(count: count) }
        let filled = try StorageError.translating("cannot be read", file.path) { () throws(SystemError) in
            try buffer.withUnsafeMutableBytes { bytes -> Result<Int, SystemError> in
                let room = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
                return Result { () throws(SystemError) in try file.fill(room, at: position) }
            }.get()
        }
        guard filled == count else { throw .changed(file.path) }
    }
}
