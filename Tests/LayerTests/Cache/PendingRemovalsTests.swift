@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("Removals that wait for the disk") struct PendingRemovalsTests {
    private func waiting(_ removals: PendingRemoval...) -> PendingRemovals {
        var pending = PendingRemovals()
        for removal in removals { pending.add(removal) }
        return pending
    }

    private func covers(_ pending: PendingRemovals, _ path: String = "/x", tags: Set<String> = []) -> Bool {
        pending.covers(CacheSample.response(path, tags: tags), at: CacheSample.key(path))
    }

    @Test("K9: what waits is not found, and nothing else is missed")
    func coverage() {
        let key = CacheSample.key("/x")
        #expect(!covers(waiting()))
        #expect(covers(waiting(.removal(.resource(key.resource)))))
        #expect(!covers(waiting(.removal(.resource(key.resource))), "/y"))
        #expect(covers(waiting(.removal(.tag("t"))), tags: ["t"]))
        #expect(!covers(waiting(.removal(.tag("t"))), tags: ["u"]))
        #expect(covers(waiting(.removal(.everything)), "/y"))
        #expect(covers(waiting(.variant(.none, key, nil))))
        #expect(!covers(waiting(.variant(.none, key, nil)), "/y"))
        let response = CacheSample.response("/x")
        let pending = waiting(.variant(.none, key, response.identity))
        #expect(pending.covers(response, at: key))
        #expect(!pending.covers(CacheSample.response("/x", at: 9), at: key))
        // Once more, with an equal response that was read again.
        #expect(pending.covers(CacheSample.response("/x"), at: key))
        // The URL of what is found by a name is not in its file.
        let named = CacheSample.named("n")
        #expect(waiting(.removal(.resource(key.resource))).covers(response, at: named))
        #expect(!waiting(.removal(.tag("t"))).covers(response, at: named))
    }

    @Test("K9: what is asked for again while it is carried out is carried out again")
    func settling() throws {
        let key = CacheSample.key("/x")
        for removal in [PendingRemoval.removal(.resource(key.resource)), .variant(.none, key, nil)] {
            var pending = waiting(removal)
            let first = try #require(pending.entries.first)
            pending.add(removal)
            #expect(pending.entries.count == 1)
            pending.settle(first)
            let second = try #require(pending.entries.first)
            #expect(covers(pending) && second.number > first.number)
            pending.settle(second)
            #expect(pending.isEmpty && !covers(pending))
        }
    }

    @Test("K9: many removals of variants become removals of their resources, and many of these one of everything")
    func collapse() {
        var pending = PendingRemovals()
        let key = CacheSample.key("/x")
        for number in 0..<PendingRemovals.most {
            pending.add(.variant(.none, key, CacheSample.response("/x", at: Double(number)).identity))
        }
        #expect(pending.entries.count == PendingRemovals.most)
        pending.add(.removal(.tag("t")))
        #expect(pending.entries.count == 2 && covers(pending) && !covers(pending, "/y"))
        for number in 0..<PendingRemovals.most { pending.add(.removal(.tag("\(number)"))) }
        #expect(pending.entries.count <= 3 && covers(pending, "/y"))
    }
}
