#if os(Linux)
/// The mounts of a system, and the disk that a path leads to by its text: no disk is asked.
struct MountTable: Sendable {
    private struct Mount {
        let point: [UInt8]
        let disk: String
    }

    /// The longest points first, and of equal ones the last, which hides the others.
    private let mounts: [Mount]

    /// Reads the text of `/proc/self/mountinfo`: a line for each mount, whose third word is the number of the device,
    /// and whose fifth is the path.
    init(_ text: String = "") {
        let all = text.split(separator: "\n").compactMap { line -> Mount? in
            let words = line.split(separator: " ", maxSplits: 5)
            guard words.count > 5 else { return nil }
            let point = Self.unescaped(words[4].utf8)
            return Mount(point: point == [UInt8(ascii: "/")] ? [] : point, disk: String(words[2]))
        }
        mounts = all.reversed().enumerated().sorted {
            ($1.element.point.count, $0.offset) < ($0.element.point.count, $1.offset)
        }.map(\.element)
    }

    /// Returns the disk on which a path lies that begins with a slash; `nil` if it is unknown.
    func disk(of path: String) -> String? {
        let path = path.utf8
        return mounts.first { mount in
            guard path.starts(with: mount.point) else { return false }
            let next = path.dropFirst(mount.point.count).first
            return next == nil || next == UInt8(ascii: "/")
        }?.disk
    }

    /// A space, a tab, a line's end and a backslash are three octal digits after a backslash.
    private static func unescaped(_ text: Substring.UTF8View) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), text[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let code = UInt8(String(Substring(rest.prefix(3))), radix: 8) else {
                bytes.append(byte)
                continue
            }
            bytes.append(code)
            rest = rest.dropFirst(3)
        }
        return bytes
    }
}
#endif
