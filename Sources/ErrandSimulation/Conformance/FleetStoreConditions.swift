import Errand
import ErrandFleet

extension FleetStoreConformance {
    /// What a write does when the record has another revision.
    static let conditions: [Case] = [
        Case("S6", "a write changes nothing if the record has another revision, and returns the record") { scene in
            let key = scene.key()
            let first = try await scene.write([1], to: key, replacing: nil)
            let second = try await scene.write([2], to: key, replacing: first, at: scene.other)
            let record = FleetRecord(bytes: [2], revision: second)
            let unknown = FleetRevision(second.number + 1000)
            for revision in [first, unknown, nil] {
                for bytes in [[3], nil] as [[UInt8]?] {
                    let what = "\(bytes == nil ? "removing" : "writing") with \(revision.map { "\($0)" } ?? "none")"
                    let written = try await scene.store.write(bytes, to: key, replacing: revision)
                    try scene.expect(what, written, is: .changed(record))
                    try scene.expect("the record after \(what)", try await scene.other.read(key), is: record)
                }
            }
        },
        Case("S7", "a write with a revision changes nothing where there is no record") { scene in
            let key = scene.key()
            let revision = try await scene.write([1], to: key, replacing: nil)
            try await scene.remove(key, replacing: revision)
            try scene.expect("a removed record", try await scene.other.read(key), is: nil)
            for bytes in [[2], nil] as [[UInt8]?] {
                let written = try await scene.other.write(bytes, to: key, replacing: revision)
                try scene.expect("a write with the removed revision", written, is: .changed(nil))
            }
            try scene.expect("the record", try await scene.store.read(key), is: nil)
        },
        Case("S8", "revisions grow with each write, also when the record was removed or is the same") { scene in
            let key = scene.key()
            var last: FleetRevision?
            for round in 0..<20 {
                let node = scene.nodes[round % scene.nodes.count]
                let first = try await scene.write([1], to: key, replacing: nil, at: node)
                let second = try await scene.write([1], to: key, replacing: first, at: scene.other)
                try scene.expect(
                    "growing revisions", first < second && last.map { $0 < first } ?? true,
                    seen: [last, first, second] as [FleetRevision?])
                last = second
                try await scene.remove(key, replacing: second, at: node)
            }
        },
        Case("S9", "of many writers that know one revision, one succeeds, and the others learn its record") { scene in
            let key = scene.key()
            var revision: FleetRevision?
            for round in 0..<20 {
                let known = revision
                let outcomes = try await withThrowingTaskGroup(of: (UInt8, FleetWrite).self) { group in
                    for writer in 0..<12 {
                        let node = scene.nodes[writer % scene.nodes.count]
                        group.addTask {
                            (
                                UInt8(writer),
                                try await node.write([UInt8(round), UInt8(writer)], to: key, replacing: known)
                            )
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                var winners: [FleetRecord] = []
                for case (let writer, .written(let next?)) in outcomes {
                    winners.append(FleetRecord(bytes: [UInt8(round), writer], revision: next))
                }
                try scene.expect("one writer succeeds", winners.count == 1, seen: outcomes)
                for case (_, .changed(let seen)) in outcomes {
                    try scene.expect("what a loser finds", seen, is: winners.first)
                }
                try scene.expect("the record", try await scene.store.read(key), is: winners.first)
                revision = winners.first?.revision
            }
        },
        Case("S10", "no update is lost: a number that many increase is the sum") { scene in
            let key = scene.key()
            try await withThrowingTaskGroup { group in
                for writer in 0..<8 {
                    group.addTask {
                        for _ in 0..<10 {
                            try await scene.increment(key, at: scene.nodes[writer % scene.nodes.count])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let sum = FleetStoreScene.number(in: try await scene.store.read(key))
            try scene.expect("the number after 80 increments", sum, is: 80)
        },
        Case("S11", "a reader sees each write that has ended before it began, whichever node has made it") { scene in
            let key = scene.key()
            var revision: FleetRevision?
            for round in 0..<30 {
                let (writer, reader) = (scene.nodes[round % 3], scene.nodes[(round + 1) % 3])
                revision = try await scene.write([UInt8(round)], to: key, replacing: revision, at: writer)
                try scene.expect("the record", try await reader.read(key)?.revision, is: revision)
            }
        },
        Case("S12", "of many that remove a record and write another, one succeeds each time") { scene in
            let key = scene.key()
            let created = try await withThrowingTaskGroup(of: Int.self) { group in
                for node in scene.nodes {
                    group.addTask {
                        var created = 0
                        for _ in 0..<10 {
                            if let record = try await node.read(key) {
                                guard try await node.write(nil, to: key, replacing: record.revision) == .written(nil)
                                else { continue }
                                created -= 1
                            } else {
                                guard case .written = try await node.write([1], to: key, replacing: nil) else {
                                    continue
                                }
                                created += 1
                            }
                        }
                        return created
                    }
                }
                return try await group.reduce(0, +)
            }
            let count = try await scene.store.read(key) == nil ? 0 : 1
            try scene.expect("records that were created and not removed", created, is: count)
        },
    ]
}
