/// Hashes a file on the threads for the disk.
///
/// A job hashes a few pieces and then gives its place to others: one for a whole file would count as stuck, and keep
/// other work on the disk waiting.
struct FileHash: Sendable {
    /// The pieces of a job: 8 MiB, which take some tens of milliseconds.
    private static let piecesOfJob = 16

    private let file: OpenFile
    /// The file as it was when it was opened.
    private let original: FileStatus
    private var hash = SHA256()
    private(set) var isAtEnd = false

    /// Returns the SHA-256 of the file at that place. When the task is canceled, it leaves the job that runs behind.
    static func sha256(
        of place: FilePlace, time: any TimeSource = .system
    ) async throws(ServiceError) -> [UInt8] {
        let path = try place.path
        var state = try await DiskThreads.run(by: time, at: path) { () throws(ServiceError) in try FileHash(path) }
        while !state.isAtEnd {
            if Task.isCancelled { throw .cancelled }
            state = try await DiskThreads.run(by: time, at: path) { [state] () throws(ServiceError) in
                try state.continued()
            }
        }
        return state.hash.finalized()
    }

    init(_ path: String) throws(ServiceError) {
        do throws(SystemError) {
            file = try OpenFile(path, .reading)
            original = try file.status()
        } catch {
            throw .badFile("the file \(HTTPSyntax.quoted(path)) cannot be opened: \(error.words)")
        }
        switch original.kind {
        case .file: break
        case .folder: throw .badFile("\(HTTPSyntax.quoted(path)) is a folder, not a file")
        case .link, .other: throw .badFile("\(HTTPSyntax.quoted(path)) is not a regular file")
        }
    }

    /// Returns the state after the next pieces. Blocks while it reads.
    func continued() throws(ServiceError) -> FileHash {
        do throws(SystemError) {
            let next = try read()
            guard next.isAtEnd else { return next }
            let status = try file.status()
            // The files of `/proc` have bytes, but no length.
            let isWhole = original.length == 0 || original.length == next.hash.count
            if isWhole, status.version == original.version, status.length == original.length { return next }
        } catch {
            throw .badFile("the file \(HTTPSyntax.quoted(file.path)) cannot be read: \(error.words)")
        }
        throw .unusableFile("the file \(HTTPSyntax.quoted(file.path)) has changed while its digest was computed")
    }

    private func read() throws(SystemError) -> FileHash {
        var next = self
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: HTTPBody.pieceSize, alignment: 16)
        defer { piece.deallocate() }
        for _ in 0..<Self.piecesOfJob where !next.isAtEnd {
            let count = try file.fill(piece, at: next.hash.count)
            next.hash.append(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            next.isAtEnd = count < piece.count
        }
        return next
    }
}
