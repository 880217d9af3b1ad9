#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Appends chunks of any size to a part, in large pieces, on a thread for the disk.
struct PartWriter {
    /// Large enough that the way to the thread and the call of the system cost next to nothing.
    private static let piece = 256 << 10
    /// The longest time that bytes wait for more to come: if the process is killed, they are fetched again.
    private static let longestDelay = Duration.seconds(1)

    private let part: PartFile
    private let call: Call
    /// The number of bytes on the disk.
    private(set) var offset = 0
    private var pending = Data()
    private var lastWrite: Instant
    /// The hash of the bytes on the disk, as far as they were written here.
    private var hash: SHA256?

    init(_ part: PartFile, of call: Call) {
        self.part = part
        self.call = call
        lastWrite = call.time.now
    }

    /// The number of bytes, with those that are not on the disk yet.
    var end: Int { offset + pending.count }

    /// Goes on after that many bytes, which are on the disk.
    mutating func goOn(after offset: Int) {
        self.offset = offset
        (pending, hash) = (Data(), nil)
    }

    /// Begins again with an empty part. With a hash, the file need not be read once more at the end.
    mutating func beginAgain(hashing: Bool) async throws(ServiceError) {
        try await call.onDisk(at: part.target) { [part] () throws(ServiceError) in try part.empty() }
        goOn(after: 0)
        hash = hashing ? SHA256() : nil
    }

    /// Appends a chunk.
    mutating func add(_ chunk: Data) async throws(ServiceError) {
        // A large chunk is written as it is: joined to another, it would be copied.
        if chunk.count >= Self.piece { try await flush() }
        if pending.isEmpty { pending = chunk } else { pending += chunk }
        guard pending.count < Self.piece, lastWrite.duration(to: call.time.now) < Self.longestDelay else {
            return try await flush()
        }
    }

    /// Writes what waits, even if the call has ended.
    mutating func flush() async throws(ServiceError) {
        lastWrite = call.time.now
        guard !pending.isEmpty else { return }
        do throws(ServiceError) {
            hash = try await call.onDiskWithGrace(at: part.target) {
                [part, pending, offset, hash] () throws(ServiceError) -> SHA256? in
                try part.write(pending, at: offset)
                guard var hash, hash.count == offset else { return nil }
                hash.append(pending)
                return hash
            }
        } catch {
            // Some of the bytes may have been written. If that is not known, the part does not end here, and its next
            // write is refused.
            let length = try? await call.onDisk(at: part.target) { [part] () throws(ServiceError) in part.length }
            offset = max(offset, length ?? 0)
            pending = Data()
            throw error
        }
        offset += pending.count
        pending = Data()
    }

    /// Returns the SHA-256 of all bytes on the disk. Between two pieces, calls `check`, which may throw.
    func digest(checking check: () throws(ServiceError) -> Void) async throws(ServiceError) -> [UInt8] {
        if let hash, hash.count == offset { return hash.finalized() }
        var hash = SHA256()
        while hash.count < offset {
            try check()
            let before = hash
            hash = try await call.onDisk(at: part.target) { [part, before] () throws(ServiceError) -> SHA256 in
                var hash = before
                hash.append(try part.read(from: before.count, upTo: Self.piece))
                return hash
            }
            guard hash.count > before.count else {
                throw .unusableFile("\(part.target).part was truncated during the download")
            }
        }
        return hash.finalized()
    }
}
