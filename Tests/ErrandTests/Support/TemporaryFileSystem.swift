#if os(Linux)
import Foundation

/// A small file system in memory, which is unmounted with this object.
final class TemporaryFileSystem: Sendable {
    private let scratch: Scratch

    init(bytes: Int) throws {
        scratch = try Scratch()
        guard mount("tmpfs", scratch.folder, "tmpfs", 0, "size=\(bytes)") == 0 else { throw POSIXError(.EPERM) }
    }

    static var isAllowed: Bool { (try? TemporaryFileSystem(bytes: 4096)) != nil }

    var folder: String { scratch.folder }

    func path(_ name: String) -> String { scratch.path(name) }

    deinit { umount2(scratch.folder, Int32(MNT_DETACH)) }
}
#endif
