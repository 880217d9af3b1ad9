import Errand
import Foundation

/// A file in a folder or on the server.
struct Entry: Codable, Sendable, Hashable {
    /// The path in the folder.
    var path: String
    var size: Int
    var sha256: String
}

/// How many files were copied, and those that were not.
struct Summary: Sendable {
    var copied = 0
    var bytes = 0
    var failures: [(path: String, error: ServiceError)] = []
}

/// Copies a folder to a server and back. What is there already, by its digest, is not copied again, so a run that was
/// killed goes on with the next.
struct Backup: Sendable {
    /// How many files are read or sent at once.
    static let width = 8

    let client: APIClient
    let folder: String

    /// Sends the files that the server does not have, or has in another version.
    func send(_ report: @escaping @Sendable (TransferProgress) -> Void) async throws(ServiceError) -> Summary {
        let there = Set(try await client.run(Endpoint<[Entry]>.get("files")))
        let entries = try await client.runAll(files(), atMost: Self.width) { path in
            let size = try FileManager.default.attributesOfItem(atPath: place(path))[.size] as? Int
            return Entry(path: path, size: size ?? 0, sha256: "\(try await FileDigest.sha256(ofFile: place(path)))")
        }
        return await copy(entries.filter { !there.contains($0) }, report) { entry, report in
            let upload = Endpoint<NoContent>.put("files/\(entry.path)", body: .file(place(entry.path)))
            try await client.run(upload.digest(.representation), onProgress: report)
        }
    }

    /// Fetches the files that the folder does not have, or has in another version.
    func fetch(_ report: @escaping @Sendable (TransferProgress) -> Void) async throws(ServiceError) -> Summary {
        let entries = try await client.run(Endpoint<[Entry]>.get("files"))
        let missing = try await client.runAll(entries, atMost: Self.width) { entry -> Entry? in
            guard isInside(entry.path) else { throw BackupError.outside(entry.path) }
            guard FileManager.default.fileExists(atPath: place(entry.path)) else { return entry }
            return try await FileDigest.sha256(ofFile: place(entry.path)) == .sha256(entry.sha256) ? nil : entry
        }
        return await copy(missing.compactMap(\.self), report) { entry, report in
            let parent = URL(filePath: place(entry.path)).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            _ = try await client.download(
                .get("files/\(entry.path)"), to: place(entry.path), expecting: .sha256(entry.sha256),
                onProgress: report)
        }
    }

    private func copy(
        _ entries: [Entry], _ report: @escaping @Sendable (TransferProgress) -> Void,
        _ copy: @escaping @Sendable (Entry, @escaping @Sendable (TransferProgress) -> Void) async throws -> Void
    ) async -> Summary {
        let progress = CombinedProgress(total: entries.reduce(0) { $0 + $1.size }, report)
        let results = await client.results(of: entries, atMost: Self.width) { try await copy($0, progress.part()) }
        var summary = Summary()
        for (entry, result) in zip(entries, results) {
            switch result {
            case .success:
                summary.copied += 1
                summary.bytes += entry.size
            case .failure(let error): summary.failures.append((entry.path, error))
            }
        }
        return summary
    }

    private func place(_ path: String) -> String { "\(folder)/\(path)" }

    /// Whether a path that the server names is one in the folder.
    private func isInside(_ path: String) -> Bool {
        !path.hasPrefix("/") && !path.split(separator: "/").contains("..") && !path.contains("\0")
    }

    /// The paths of the files in the folder, without those that a download has begun.
    private func files() -> [String] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: place(name), isDirectory: &isFolder) && !isFolder.boolValue
                && !name.hasSuffix(".part") && !name.hasSuffix(".part.json")
        }.sorted()
    }
}

enum BackupError: Error, LocalizedError {
    case outside(String)

    var errorDescription: String? {
        switch self {
        case .outside(let path): "The server names a file outside of the folder: \(path)"
        }
    }
}
