/// What a node cannot do now because of the store, and what it reports of that.
///
/// A failure belongs to the requests that have failed, and is over when the next of them succeeds: that a user may read
/// says nothing about writing, and a store without space is still read. So what is known changes, and is reported, once
/// for each change, however often the store responds to something else.
struct StoreTroubles: Sendable {
    /// The requests that fail and succeed together.
    enum Part: Hashable, Sendable {
        /// Those that keep this node alive.
        case renewals
        /// The looks at other nodes.
        case inspections
        /// Those for the record under a key.
        case reads(String)
        case writes(String)
    }

    private var failures: [Part: FleetStoreError] = [:]

    /// Notes a failure. Returns whether it is news.
    mutating func fail(_ part: Part, _ error: FleetStoreError) -> Bool {
        let isKnown = failures.values.contains { $0.message == error.message }
        failures[part] = error
        return !isKnown
    }

    /// Notes a success. Returns whether it has ended the last failure.
    mutating func succeed(_ part: Part) -> Bool {
        failures.removeValue(forKey: part) != nil && failures.isEmpty
    }

    /// Why the record under a key cannot be read or written, until somebody does something about it.
    func lasting(_ key: String) -> FleetStoreError? {
        [failures[.reads(key)], failures[.writes(key)]].compactMap(\.self).first(where: \.isPermanent)
    }

    /// Whether the last attempts in that part have failed until somebody does something about it.
    func isLasting(_ part: Part) -> Bool { failures[part]?.isPermanent ?? false }

    /// Why the node cannot use the store, except for what only a person can mend about the record of a limit.
    var ofNode: FleetStoreError? {
        failures[.renewals] ?? failures[.inspections]
            ?? failures.values.filter { !$0.isPermanent }.min { $0.message < $1.message }
    }
}

/// What keeps a part of the fleet from working.
struct FleetProblem: Hashable, Sendable {
    let message: String
    /// Whether it lasts until somebody does something about it.
    var isPermanent = false

    init(_ message: String) {
        self.message = message
    }

    init(_ error: FleetStoreError) {
        message = error.message
        isPermanent = error.isPermanent
    }
}

extension FleetStoreError {
    /// Whether it lasts until somebody does something about it.
    var isPermanent: Bool {
        switch kind {
        case .refused, .damaged, .invalid: true
        default: false
        }
    }
}
