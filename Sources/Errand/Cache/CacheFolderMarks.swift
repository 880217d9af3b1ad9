#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The marks in the folder of a cache: empty files whose names lead from what a removal names, and the place of a
/// response does not say, to the file of the response. So a removal takes no longer with many responses than with few.
///
/// A mark is there before its response, and a response without its marks is not found: so nothing is found that was
/// removed, whatever happens to the marks. When a response is gone or has changed, its marks stay until the folder is
/// counted; until then, they can only have too much removed.
extension CacheFolder {
    /// The name of a mark, and where it leads. All marks whose numbers begin with the same three digits are in one
    /// folder: a few of 100,000.
    struct Mark: Sendable {
        static let folder = "m"
        private static let digits = 16

        let number: UInt64
        /// The file of the response.
        let file: String

        init(number: UInt64, file: String) {
            (self.number, self.file) = (number, file)
        }

        init?(reading name: String) {
            guard name.utf8.count > Self.digits, let number = UInt64(name.prefix(Self.digits), radix: 16) else {
                return nil
            }
            self.init(number: number, file: String(name.dropFirst(Self.digits)).replacing("+", with: "/"))
        }

        var name: String { Self.text(number) + file.replacing("/", with: "+") }
        var path: String { "\(Self.folder(of: number))/\(name)" }

        static func folder(of number: UInt64) -> String { "\(folder)/\(text(number).prefix(3))" }

        private static func text(_ number: UInt64) -> String {
            let text = String(number, radix: 16)
            return String(repeating: "0", count: digits - text.count) + text
        }
    }

    /// Marks a file that is about to be written.
    func mark(_ file: String, _ fields: CacheEntryFile.Fields, _ secret: CacheFolderKey) throws(SystemError) {
        for number in fields.numbers(isNamed: CachePlace.isNamed(file), by: secret) {
            let mark = Mark(number: number, file: file)
            do throws(SystemError) {
                try touch(mark)
            } catch {
                guard error == .noSuchFile else { throw error }
                try FileSystem.ensureFolder(path(of: Mark.folder))
                try FileSystem.ensureFolder(path(of: Mark.folder(of: number)))
                try touch(mark)
            }
        }
    }

    /// Whether a file has all of its marks.
    func isMarked(
        _ file: String, _ fields: CacheEntryFile.Fields, _ secret: CacheFolderKey
    ) throws(SystemError) -> Bool {
        for number in fields.numbers(isNamed: CachePlace.isNamed(file), by: secret) {
            if try length(of: Mark(number: number, file: file).path) == nil { return false }
        }
        return true
    }

    /// Creates a mark, or says that it has just been looked at.
    private func touch(_ mark: Mark) throws(SystemError) {
        let opened = try OpenFile(path(of: mark.path), .updating)
        try FileSystem.touch(opened.descriptor)
        try opened.close()
    }

    /// Removes the responses to which marks with those numbers lead, in that folder of a session or in all.
    func removeMarked(_ numbers: Set<UInt64>, in area: String? = nil) throws(SystemError) -> Extent {
        var change = Extent()
        for folder in Set(numbers.map(Mark.folder(of:))) {
            for name in try names(in: folder) {
                guard let mark = Mark(reading: name), numbers.contains(mark.number) else { continue }
                if area.map({ mark.file.hasPrefix("\($0)/") }) ?? true { change += try remove(mark.file) }
            }
        }
        return change
    }

    /// Removes a mark that leads nowhere, or to what does not have it any more. What cannot be looked at stays.
    func removeIfOld(_ name: String) {
        let path = path(of: name)
        guard let mark = Mark(reading: String(name.split(separator: "/").last ?? "")), let status = status(of: name)
        else {
            try? FileSystem.remove(path)
            return
        }
        // What is being written in another process has a mark, and no file yet.
        guard isLeftover(status) else { return }
        do throws(SystemError) {
            guard try length(of: mark.file) != nil else { return try FileSystem.remove(path) }
            // Otherwise nothing has changed in the file since it was marked.
            guard let marked = self.status(of: mark.file), marked.modified.total > status.modified.total,
                let secret = try key()
            else { return }
            let isNamed = CachePlace.isNamed(mark.file)
            let has = try entry(mark.file, secret, hasBody: false) { fields in
                fields.numbers(isNamed: isNamed, by: secret).contains(mark.number)
            }
            if has != nil { try touch(mark) } else { try FileSystem.remove(path) }
        } catch {
            note(error.words)
        }
    }
}

extension CacheEntryFile.Fields {
    /// The numbers of what a removal may name, and the place of the response does not say.
    fileprivate func numbers(isNamed: Bool, by secret: CacheFolderKey) -> [UInt64] {
        let groups = CacheGroups.names(in: headers.values("Cache-Groups"))
        return tags.map { secret.number(of: ["tag", $0]) }
            + groups.map { secret.number(of: ["group", origin.description, $0]) } + (isNamed ? [url] : [])
    }
}

extension CacheRemoval {
    /// The number of the marks that lead to what it covers; `nil` if the place of a response says that.
    func number(by secret: CacheFolderKey) -> UInt64? {
        switch self {
        case .tag(let tag): secret.number(of: ["tag", tag])
        case .group(let name, let origin): secret.number(of: ["group", origin.description, name])
        case .resource(.url(let url)): secret.number(of: url)
        case .resource(.named), .own, .below, .session, .everything: nil
        }
    }
}
