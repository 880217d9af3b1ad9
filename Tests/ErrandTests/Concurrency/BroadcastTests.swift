@testable import Errand
import ErrandTestSupport
import Testing

@Suite("Broadcast", .timeLimit(.minutes(10))) struct BroadcastTests {
    @Test("each listener gets everything that is sent after it began to listen, in order")
    func order() async {
        let broadcast = Broadcast<Int>()
        broadcast.send(0)
        let first = broadcast.stream()
        broadcast.send(1)
        let second = broadcast.stream(first: 10)
        for element in 2...4 { broadcast.send(element) }
        broadcast.finish()
        #expect(await first.reduce(into: []) { $0.append($1) } == [1, 2, 3, 4])
        #expect(await second.reduce(into: []) { $0.append($1) } == [10, 2, 3, 4])
    }

    @Test("C99: in a cancellation handler, a broadcast can be used while the canceled tasks are sent an element")
    func cancellation() async throws {
        let broadcast = Broadcast<Int>()
        let isFree = try await LockedTask.canUse {
            broadcast.send(1)
        } ends: {
            for await _ in broadcast.stream() { return }
        } _: {
            _ = broadcast.stream()
        }
        #expect(isFree)
    }

    @Test("if it begins with an element, each listener begins with the latest one")
    func latest() async {
        let broadcast = Broadcast(0)
        let first = broadcast.stream()
        broadcast.send(1)
        let second = broadcast.stream()
        broadcast.send(2)
        broadcast.finish()
        #expect(await first.reduce(into: []) { $0.append($1) } == [0, 1, 2])
        #expect(await second.reduce(into: []) { $0.append($1) } == [1, 2])
        #expect(await broadcast.stream().reduce(into: []) { $0.append($1) } == [2])
    }

    @Test("the streams end with the broadcast")
    func release() async {
        let stream = Broadcast<Int>().stream(first: 1)
        #expect(await stream.reduce(into: []) { $0.append($1) } == [1])
    }

    @Test("a slow listener misses the oldest beyond its capacity")
    func capacity() async {
        let broadcast = Broadcast<Int>()
        let latest = broadcast.stream(first: 0, capacity: 1)
        for element in 1...9 { broadcast.send(element) }
        broadcast.finish()
        #expect(await latest.reduce(into: []) { $0.append($1) } == [9])
    }

    @Test("a listener that ends is removed; one that begins after the end gets an empty stream")
    func leaves() async {
        let broadcast = Broadcast<Int>()
        #expect(!broadcast.hasListeners)
        do {
            let stream = broadcast.stream()
            #expect(broadcast.hasListeners)
            _ = stream
        }
        #expect(!broadcast.hasListeners)
        broadcast.finish()
        #expect(await broadcast.stream(first: 1).reduce(0, +) == 0)
        #expect(!broadcast.hasListeners)
    }

    @Test("each element that many threads send arrives once at each listener")
    func threads() async {
        let broadcast = Broadcast<Int>()
        let streams = (0..<3).map { _ in broadcast.stream() }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 { group.addTask { broadcast.send(index) } }
        }
        broadcast.finish()
        for stream in streams {
            #expect(await stream.reduce(into: []) { $0.append($1) }.sorted() == Array(0..<200))
        }
    }
}
