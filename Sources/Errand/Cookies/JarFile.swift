#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The private file of a jar. All methods block: they are called on a thread for the disk.
struct JarFile: Sendable {
    /// A cookie that outlives the program.
    struct Entry: Codable, Sendable {
        var cookie: Cookie
        var owner: UUID?
    }

    private struct Document: Codable {
        var version: Int
        var cookies: [Entry]
    }

    private struct Header: Codable {
        var version: Int
    }

    private static let version = 1

    private let file: PrivateFile

    init(_ path: String) {
        // The cookies of a full jar, and what JSON adds to them.
        file = PrivateFile(path: path, content: "the cookie file", largest: 8 << 20)
    }

    var path: String { file.path }

    /// Returns the saved cookies; none if there is no file. A file that is damaged, or that a later version has
    /// written, is moved aside.
    func read() throws(StorageError) -> [Entry] {
        guard let data = try file.read() else { return [] }
        let kind: StorageError.Kind
        do {
            if try JSONDecoder().decode(Header.self, from: data).version > Self.version {
                kind = .futureVersion
            } else {
                let entries = try JSONDecoder().decode(Document.self, from: data).cookies
                // What no server could have set was not written by a jar.
                if entries.allSatisfy({ $0.cookie.problem == nil }) { return entries }
                kind = .damaged
            }
        } catch {
            kind = .damaged
        }
        let words = kind == .damaged ? "is damaged" : "was written by a later version of the program"
        throw file.setAside(kind, words)
    }

    /// Writes the cookies, completely or not at all; without any, there is no file.
    func write(_ entries: [Entry]) throws(StorageError) {
        guard !entries.isEmpty else { return try file.remove() }
        guard let data = try? JSONEncoder().encode(Document(version: Self.version, cookies: entries)) else {
            throw file.failure(.unwritable, "cannot be encoded")
        }
        try file.write(data)
    }
}

extension StorageError {
    /// Whether the content that could not be read was moved aside, so that another can take its place.
    var isKeptAside: Bool { kind == .damaged || kind == .futureVersion }
}
