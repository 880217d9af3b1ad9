import Errand
import Foundation
import Testing

/// A folder for one test, which is deleted with this object.
final class Scratch: Sendable {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "errand-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        try setMode(0o600, of: name)
    }

    func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    func read(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }

    deinit {
        // A folder that cannot be removed is left to the system, which cleans its temporary folder.
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// Returns the kind of error that a persistence threw while it waited; `nil` if it threw none.
func waitProblem(_ body: () async throws -> Void) async -> TokenPersistenceError.Kind? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}

/// Returns the kind of error that a persistence threw; `nil` if it threw none.
func problem<Value>(_ body: () async throws -> Value) async -> TokenPersistenceError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? TokenPersistenceError)?.kind
    }
}
