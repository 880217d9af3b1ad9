import Errand
import ErrandFleet

/// The store of a walk, and what was done to it.
///
/// Only one walk uses it, so a write whose response the store itself has lost can be repeated: its outcome is the same.
struct WalkStore {
    static let limitKey = "walk/limits/api"
    /// How often a store may fail by itself, as on a machine that is too busy.
    private static let mostFailures = 10

    private let store: any FleetStore
    private(set) var written: [FleetRevision: [UInt8]] = [:]
    /// All requests.
    private(set) var requests = 0
    /// The writes of the limit's record.
    private(set) var writes = 0

    init(_ store: any FleetStore) {
        self.store = store
    }

    static func key(of id: String) -> String { "walk/nodes/\(id)" }

    mutating func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        requests += 1
        var failures = 0
        while true {
            do throws(FleetStoreError) {
                return try await store.read(key)
            } catch {
                failures += 1
                if failures == Self.mostFailures { throw error }
            }
        }
    }

    mutating func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        requests += 1
        var failures = 0
        while true {
            do throws(FleetStoreError) {
                let outcome = try await store.write(bytes, to: key, replacing: revision)
                if failures > 0, case .changed(let record) = outcome, record?.bytes == bytes {
                    return note(.written(record?.revision), bytes, key)
                }
                return note(outcome, bytes, key)
            } catch {
                failures += 1
                if failures == Self.mostFailures { throw error }
            }
        }
    }

    private mutating func note(_ outcome: FleetWrite, _ bytes: [UInt8]?, _ key: String) -> FleetWrite {
        guard key == Self.limitKey, case .written(let revision?) = outcome else { return outcome }
        writes += 1
        written[revision] = bytes
        return outcome
    }
}
