import Foundation

/// A folder for one test, which is deleted with this object.
final class FleetScratch: Sendable {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "errand-fleet-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// The paths of the files in a folder whose names end so.
    func files(in name: String, _ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name)).filter { $0.hasSuffix(ending) }
            .map { path("\(name)/\($0)") }
    }

    deinit {
        // A folder that cannot be removed is left to the system, which cleans its temporary folder.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
