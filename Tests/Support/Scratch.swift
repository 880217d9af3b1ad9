import Foundation

/// A folder for one test, which is deleted with this object.
package final class Scratch: Sendable {
    package let folder: String

    package init() throws {
        folder = NSTemporaryDirectory() + "errand-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    package func path(_ name: String) -> String { "\(folder)/\(name)" }

    package func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    package func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        try setMode(0o600, of: name)
    }

    package func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    package func read(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    package func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
        guard let mode = attributes[.posixPermissions] as? Int else { throw CocoaError(.fileReadUnknown) }
        return mode
    }

    /// The paths of the files in a folder whose names end so.
    package func files(in name: String, _ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name)).filter { $0.hasSuffix(ending) }
            .map { path("\(name)/\($0)") }
    }

    deinit {
        // A folder that cannot be removed is left to the system, which cleans its temporary folder.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
