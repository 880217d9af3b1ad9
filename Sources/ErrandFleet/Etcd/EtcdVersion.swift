/// The version of a member.
struct EtcdVersion: Hashable {
    let major, minor, patch: Int

    /// Reads a version such as `3.5.13` or `3.6.0-rc.1`; `nil` if it is none.
    init?(_ text: String) {
        let numbers = text.split(separator: "-", maxSplits: 1).first?.split(separator: ".").map { Int($0) } ?? []
        guard numbers.count == 3, let major = numbers[0], let minor = numbers[1], let patch = numbers[2] else {
            return nil
        }
        (self.major, self.minor, self.patch) = (major, minor, patch)
    }

    /// What is wrong with the version, as the end of a sentence; `nil` if nothing is known.
    var warning: String? {
        switch (major, minor) {
        case (...2, _), (3, ..<4): "which is not supported; use 3.4.31, 3.5.13 or later"
        case (3, 4) where patch < 31: "which can lose the events of a watch; update it to 3.4.31 or later"
        case (3, 5) where patch < 13: "which can lose the events of a watch; update it to 3.5.13 or later"
        default: nil
        }
    }
}
