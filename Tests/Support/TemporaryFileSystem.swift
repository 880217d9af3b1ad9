#if os(Linux)
import Foundation

/// A small file system in memory, which is unmounted with this object.
package final class TemporaryFileSystem: Sendable {
    private let scratch: Scratch
    private let size: String

    package init(bytes: Int) throws {
        scratch = try Scratch()
        size = "size=\(bytes)"
        guard mount("tmpfs", scratch.folder, "tmpfs", 0, size) == 0 else { throw POSIXError(.EPERM) }
    }

    /// Forbids or allows to write. Nothing changes while a file is open for writing.
    package func setReadOnly(_ isReadOnly: Bool) {
        // MS_REMOUNT and MS_RDONLY, which the C libraries declare with different types.
        _ = mount("tmpfs", scratch.folder, "tmpfs", 32 | (isReadOnly ? 1 : 0), size)
    }

    package static var isAllowed: Bool { (try? TemporaryFileSystem(bytes: 4096)) != nil }

    package var folder: String { scratch.folder }

    package func path(_ name: String) -> String { scratch.path(name) }

    deinit { umount2(scratch.folder, Int32(MNT_DETACH)) }
}
#endif
