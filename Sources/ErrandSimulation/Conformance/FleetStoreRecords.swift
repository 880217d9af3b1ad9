import Errand
import ErrandFleet

extension FleetStoreConformance {
    /// What a record is, and which keys there are.
    static let records: [Case] = [
        Case("S1", "a key without a record has none, and a written record is what was written") { scene in
            let key = scene.key()
            try scene.expect("a record that nobody has written", try await scene.store.read(key), is: nil)
            let revision = try await scene.write([1, 2, 3], to: key, replacing: nil)
            let record = FleetRecord(bytes: [1, 2, 3], revision: revision)
            try scene.expect("the record", try await scene.store.read(key), is: record)
            try scene.expect("the record at another node", try await scene.other.read(key), is: record)
        },
        Case("S2", "a record holds any bytes, from none to 512 KB") { scene in
            let key = scene.key()
            let largest = (0..<512 << 10).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            var revision: FleetRevision?
            for bytes in [[], [0], [10], Array(0...255), Array("\"\\\n\u{0}é\u{1F600}".utf8), largest] {
                revision = try await scene.write(bytes, to: key, replacing: revision)
                let read = try await scene.other.read(key)
                try scene.expect(
                    "a record of \(bytes.count) bytes", read?.bytes == bytes,
                    seen: read.map { "\($0.bytes.count) bytes" } ?? "none")
            }
        },
        Case("S3", "keys differ in each character, and none is a part of another") { scene in
            let long = String(repeating: "k", count: FleetRecordRules.longestKey - scene.key("").utf8.count)
            let names =
                ["a", "A", "a/b", "a/B", "a.b", "a-b", "a_b", "a/", "a//b", "..", "0", long] + ["\(long.dropLast())l"]
            for (index, name) in names.enumerated() {
                try await scene.write([UInt8(index)], to: scene.key(name), replacing: nil)
            }
            for (index, name) in names.enumerated() {
                try scene.expect(
                    "the record of \(name)", try await scene.other.read(scene.key(name))?.bytes, is: [UInt8(index)])
            }
        },
        Case("S4", "keys and records that no store keeps are refused as invalid") { scene in
            let prefix = scene.key("")
            let long = String(repeating: "k", count: FleetRecordRules.longestKey)
            for key in ["", "\(prefix)a b", "\(prefix)é", "\(prefix)a\n", "\(prefix)%2F", prefix + long] {
                try await scene.expect(.invalid, of: "reading \(key.debugDescription)") { () throws(FleetStoreError) in
                    try await scene.store.read(key)
                }
                try await scene.expect(.invalid, of: "writing \(key.debugDescription)") { () throws(FleetStoreError) in
                    try await scene.store.write([1], to: key, replacing: nil)
                }
            }
            let bytes = [UInt8](repeating: 0, count: FleetRecordRules.largestRecord + 1)
            try await scene.expect(.invalid, of: "a record that is too large") { () throws(FleetStoreError) in
                try await scene.store.write(bytes, to: scene.key(), replacing: nil)
            }
        },
        Case("S5", "a canceled task reads and writes nothing") { scene in
            let key = scene.key()
            let revision = try await scene.write([1], to: key, replacing: nil)
            let task = Task {
                // Begun before the cancellation, perhaps; checked after it.
                while !Task.isCancelled { await Task.yield() }
                try await scene.expect(.cancelled, of: "reading in a canceled task") { () throws(FleetStoreError) in
                    try await scene.store.read(key)
                }
                try await scene.expect(.cancelled, of: "writing in a canceled task") { () throws(FleetStoreError) in
                    try await scene.store.write([2], to: key, replacing: revision)
                }
            }
            task.cancel()
            try await task.value
            try scene.expect("the record", try await scene.store.read(key)?.bytes, is: [1])
        },
    ]
}
